# DRAM that the kernel's command line sets aside (memmap=), which has the class of persistent memory.
drivers nd_e820 nd_pmem
wait_for_device /dev/pmem0
make_fsdax
mount_device ext4 /dev/pmem0 /mnt/ext4 dax=always
describe memmap /mnt/ext4/pool
