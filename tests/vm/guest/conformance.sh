# The conformance tests, those for memory and those for files each on a DAX mount.
mount_nvdimms
if [ "$VM_fs" = ext4 ]; then
  export BRAID_TMP=/mnt/ext4 BRAID_TMP_FILE=/mnt/xfs
else
  export BRAID_TMP=/mnt/xfs BRAID_TMP_FILE=/mnt/ext4
fi
export GTEST_TOTAL_SHARDS=$VM_shards GTEST_SHARD_INDEX=$VM_shard GTEST_BRIEF=1
braid_conformance_tests >/tmp/conformance 2>&1
code=$?
tail -n 30 /tmp/conformance
echo "@conformance code=$code"
