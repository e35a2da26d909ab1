# The same pools on a machine whose processor caches are inside the power-fail domain.
mount_nvdimms
describe ext4-eadr /mnt/ext4/pool
describe xfs-eadr /mnt/xfs/pool
