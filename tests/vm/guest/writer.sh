# Writes to a pool until the host cuts the power, or until the writer closes the pool.
drivers nfit nd_pmem
[ "$VM_fs" != xfs ] || drivers xfs
if wait_for_device /dev/pmem0; then
  make_fsdax
  mount_device "$VM_fs" /dev/pmem0 /mnt/pool dax=always
  echo "@mounted"
  # The host says when it is ready to cut.
  [ "$VM_wait" != 1 ] || read -r line </dev/ttyS1
  if [ "$VM_seed" != 0 ]; then
    braid_vm_writer write /mnt/pool/pool "$VM_seed" "$VM_acked" "$VM_operations" $VM_force
    echo "@writer code=$?"
  fi
fi
