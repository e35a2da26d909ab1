# Persistent memory that the host backs with its page cache: no synchronous mapping.
drivers virtio_pci virtio_pmem nd_pmem
if wait_for_device /dev/pmem0; then
  mount_device ext4 /dev/pmem0 /mnt/virtio dax=always
  describe virtio-pmem /mnt/virtio/pool
fi
