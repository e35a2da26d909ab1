# CXL type-3 memory: a region is made at each boot, the namespace once.
drivers cxl_acpi cxl_pci cxl_mem cxl_port cxl_pmem nd_pmem
sleep 1
cxl create-region -m -d decoder0.0 -w 1 -g 1024 mem0 >/tmp/region 2>&1 ||
  { echo "@problem cxl create-region"; cat /tmp/region; }
if [ "$VM_fresh" = 1 ]; then
  ndctl create-namespace -m fsdax -M mem >/tmp/ndctl 2>&1 ||
    { echo "@problem ndctl create-namespace"; cat /tmp/ndctl; }
fi
if wait_for_device /dev/pmem0; then
  mount_device ext4 /dev/pmem0 /mnt/cxl dax=always
  [ "$VM_fresh" = 1 ] || echo "@kept $(braid get /mnt/cxl/pool key 2>&1)"
  describe cxl /mnt/cxl/pool
fi
