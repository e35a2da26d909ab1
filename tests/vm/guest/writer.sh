# Writes to a pool until the host cuts the power, or until the writer closes the pool.
mount_nvdimms
echo "@mounted"
mkdir -p "/mnt/$VM_fs"
[ "$VM_seed" = 0 ] ||
  braid_vm_writer write "/mnt/$VM_fs/pool" "$VM_seed" "$VM_acked" "$VM_operations" $VM_force
echo "@writer code=$?"
