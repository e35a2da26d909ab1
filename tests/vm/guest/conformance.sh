# The conformance tests, each medium of a test on another DAX mount.
mount_nvdimms
export BRAID_TMP=/mnt/ext4 BRAID_TMP_FILE=/mnt/xfs
[ "$VM_fs" = ext4 ] || export BRAID_TMP=/mnt/xfs BRAID_TMP_FILE=/mnt/ext4
braid_conformance_tests --gtest_brief=1 "--gtest_filter=$VM_filter" >/tmp/conformance 2>&1
code=$?
tail -n 30 /tmp/conformance
echo "@conformance code=$code $(grep -c FAILED /tmp/conformance) failed lines"
