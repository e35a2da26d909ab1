# Pages of the medium fail below a closed pool: one with a value, then one with a pool header. The
# kernel learns of it by its list of bad blocks, and answers the next page fault there with SIGBUS, as
# it does for an error that the device reported.
mount_nvdimms
braid_vm_writer fill /mnt/ext4/pool >/tmp/pages
cat /tmp/pages

fail_page() { # NAME
  umount /mnt/ext4
  sector=$(sed -n "s/^@page $1 .* //p" /tmp/pages)
  echo "$sector 8" >/sys/block/pmem0/badblocks
  echo "@badblocks" $(cat /sys/block/pmem0/badblocks)
  mount -t ext4 -o dax=always /dev/pmem0 /mnt/ext4
}

ask() { # NAME COMMAND...: prints exit code and answer in a line
  name=$1
  shift
  answer=$("$@" 2>&1)
  echo "@$name failed-page code=$?" $answer
}

fail_page data
echo "@info bad-blocks $(braid info --json /mnt/ext4/pool 2>&1)"
ask reads braid_vm_writer read /mnt/ext4/pool
ask verify braid verify /mnt/ext4/pool
ask count braid count /mnt/ext4/pool
fail_page header
ask get braid get /mnt/ext4/pool key00000001
ask info braid info --json /mnt/ext4/pool
