# What scenarios share.

# Loads drivers; what a kernel has built in is there already.
drivers() {
  for driver in "$@"; do
    modprobe "$driver" 2>/tmp/modprobe || { grep -q 'not found' /tmp/modprobe || cat /tmp/modprobe; }
  done
}

# wait_for_device PATH: until the driver has made it, at most 10 seconds.
wait_for_device() {
  tries=100
  while [ ! -e "$1" ]; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || { echo "@problem no device $1"; return 1; }
    sleep 0.1
  done
}

# Every unused NVDIMM becomes a device that file systems can map directly.
make_fsdax() {
  for space in /sys/bus/nd/devices/namespace*; do
    [ "$(cat "$space/size")" != 0 ] || continue
    [ "$(cat "$space/mode" 2>/dev/null)" != memory ] || continue
    ndctl create-namespace -f -e "$(basename "$space")" -m fsdax -M mem >/tmp/ndctl 2>&1 ||
      { echo "@problem ndctl $(basename "$space")"; cat /tmp/ndctl; }
  done
}

make_filesystem() { # TYPE DEVICE
  case "$1" in
    ext4) mkfs.ext4 -F -q -b 4096 -E lazy_itable_init=0 "$2" ;;
    xfs) mkfs.xfs -q -f -m reflink=0 "$2" ;;
  esac >/tmp/mkfs 2>&1 || { echo "@problem mkfs.$1 $2"; cat /tmp/mkfs; }
}

# mount_device TYPE DEVICE FOLDER OPTIONS: with a new file system when the host says vm.fresh=1.
mount_device() {
  mkdir -p "$3"
  [ "$VM_fresh" != 1 ] || make_filesystem "$1" "$2"
  mount -t "$1" -o "$4" "$2" "$3" || { echo "@problem mount $1 $2"; dmesg | tail -n 5; }
}

# The two NVDIMMs of the standard machine: ext4 on the first, xfs on the second.
mount_nvdimms() {
  drivers nfit nd_pmem xfs
  wait_for_device /dev/pmem0
  make_fsdax
  mount_device ext4 /dev/pmem0 /mnt/ext4 dax=always
  [ ! -e /dev/pmem1 ] || mount_device xfs /dev/pmem1 /mnt/xfs dax=always
}

# describe NAME POOL: makes the pool if need be, and prints what braid says of it.
describe() {
  braid put "$2" key value 2>&1 || echo "@problem put $1"
  echo "@get $1 $(braid get "$2" key 2>&1)"
  echo "@info $1 $(braid info --json "$2" 2>&1)"
}

# Prints the kernel's NUMA node of a block device.
node_of() { echo "@node $1 $(cat "/sys/block/$1/device/numa_node")"; }
