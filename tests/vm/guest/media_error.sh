# A page of the medium fails below a pool. The kernel learns of it by its list of bad blocks, and
# answers the next page fault there with SIGBUS, as it does for an error that the device reported.
mount_nvdimms
page=$(braid_vm_writer fill /mnt/ext4/pool)
echo "$page"
umount /mnt/ext4
echo "${page##* } 8" >/sys/block/pmem0/badblocks
echo "@badblocks $(cat /sys/block/pmem0/badblocks)"
mount -t ext4 -o dax=always /dev/pmem0 /mnt/ext4
answer=$(braid_vm_writer read /mnt/ext4/pool 2>&1)
echo "@reads failed-page code=$? $answer"
for verb in verify count; do
  answer=$(braid $verb /mnt/ext4/pool 2>&1)
  echo "@$verb failed-page code=$?" $answer
done
