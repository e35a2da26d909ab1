# A pool with a region on each NVDIMM: filled from both nodes, killed, opened again, read from both.
mount_nvdimms
node_of pmem0
node_of pmem1
braid_vm_writer fill-regions /mnt/ext4/pool /mnt/xfs/region
echo "@filled code=$?"
echo "@info regions $(braid info --json /mnt/ext4/pool 2>&1)"
braid_vm_writer read-regions /mnt/ext4/pool
echo "@read code=$?"
umount /mnt/xfs
echo "@unmounted $(braid get /mnt/ext4/pool last 2>&1)"
