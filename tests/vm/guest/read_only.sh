# An NVDIMM that is not armed: the kernel lets nobody write to it.
drivers nfit nd_pmem
wait_for_device /dev/pmem0
mkdir -p /mnt/ext4
mount -t ext4 -o ro,dax=always /dev/pmem0 /mnt/ext4 || echo "@problem mount"
echo "@read-only $(cat /sys/block/pmem0/ro)"
echo "@info unarmed $(braid info --json /mnt/ext4/pool 2>&1)"
for verb in get put; do
  case $verb in get) words="key" ;; put) words="key other" ;; esac
  answer=$(braid $verb /mnt/ext4/pool $words 2>&1)
  echo "@$verb unarmed code=$? $answer"
done
