# What class braid sees on each medium of the standard machine.
mount_nvdimms
describe ext4-dax /mnt/ext4/pool
describe xfs-dax /mnt/xfs/pool
describe tmpfs /dev/shm/pool
node_of pmem0
node_of pmem1
umount /mnt/xfs
mount -t xfs -o dax=never /dev/pmem1 /mnt/xfs
describe xfs-without-dax /mnt/xfs/pool
drivers virtio_pci virtio_blk
if wait_for_device /dev/vda; then
  mount_device ext4 /dev/vda /mnt/disk defaults
  describe ext4-on-disk /mnt/disk/pool
fi
