#!/usr/bin/env bash
# What braid does, on this machine's own package database, in under two minutes: load, look up,
# scan, kill a writer and lose nothing, verify, compare with other stores. `make demo` builds first.
# Every step checks its result; the exit code is 0 only when all was as it should be.
#   BRAID_BIN_DIR   folder of the programs, when it is not build/release/bin
#   BRAID_TMP       where the scratch folder goes; it is removed at the end
set -uo pipefail
export LC_ALL=C

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 1
bin_dir=${BRAID_BIN_DIR:-$source_dir/build/release/bin}
if [ ! -x "$bin_dir/braid" ]; then
  echo "demo: there is no $bin_dir/braid: run 'make demo', which builds it first." >&2
  exit 1
fi
bin_dir=$(cd "$bin_dir" && pwd)
export PATH="$bin_dir:$PATH"

scratch_base=${BRAID_TMP:-${TMPDIR:-/tmp}}
work=$(mktemp -d "$scratch_base/braid-demo-XXXXXX") || {
  echo "demo: can't make a scratch folder in $scratch_base: set BRAID_TMP to a writable folder." >&2
  exit 1
}
writer_pid=
clean_up() {
  [ -z "$writer_pid" ] || kill -KILL "$writer_pid" 2>/dev/null
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$work" || exit 1

bold= dim= plain=
if [ -t 1 ] && [ "${TERM:-dumb}" != dumb ]; then
  bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
fi

heading() { printf '\n%s== %s ==%s\n\n' "$bold" "$*" "$plain"; }
say() { printf '%s\n' "$*"; }
check() { printf '%s   checked: %s%s\n' "$dim" "$*" "$plain"; }
fail() {
  printf 'demo: FAILED: %s\n' "$*" >&2
  exit 1
}
# Shows a command and runs it; its output stays in $output, too.
run() {
  printf '%s$ %s%s\n' "$bold" "$*" "$plain"
  output=$("$@") || fail "'$*' ended with exit code $?"
  [ -z "$output" ] || printf '%s\n' "$output"
}
# The same for commands whose output is long: shows the first lines only.
run_head() {
  local lines=$1 total
  shift
  printf '%s$ %s%s\n' "$bold" "$*" "$plain"
  output=$("$@") || fail "'$*' ended with exit code $?"
  printf '%s\n' "$output" | sed -n "1,${lines}p"
  total=$(printf '%s\n' "$output" | wc -l)
  [ "$total" -le "$lines" ] || printf '%s... and %d more lines%s\n' "$dim" $((total - lines)) "$plain"
}
grouped() { printf '%s' "$1" | sed -e ':a' -e 's/\([0-9]\)\([0-9]\{3\}\)\($\|,\)/\1,\2\3/;ta'; }
json_number() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }

# ---- Input: status (Debian control format) and files.tsv (key TAB value) ------------------------

# A file's key is "file", its path, "//" and its package. No path holds "//", so the prefix
# "file/usr/bin/dpkg//" finds the owners of one file, and "file/usr/share/doc/" all below a folder.
input_from_dpkg() {
  cp /var/lib/dpkg/status status || return 1
  dpkg-query -W -f '${binary:Package}\t${Version}\n' >versions || return 1
  awk -F '\t' '
    FILENAME == "versions" { version[$1] = $2; next }
    FNR == 1 { package = FILENAME; sub(/.*\//, "", package); sub(/\.list$/, "", package) }
    $0 != "" && $0 != "/." && !/\t|\/\// && package in version {
      print "file" $0 "//" package "\t" version[package]
    }' versions /var/lib/dpkg/info/*.list | sed 's/\\/\\\\/g' >files.tsv
}

input_generated() {
  awk 'BEGIN {
    for (p = 0; p < 2000; ++p) {
      printf "Package: tool-%04d\nVersion: 1.%d\nDescription: generated package\n", p, p % 9 > "status"
      printf " number %d of 2000\n\n", p > "status"
      for (f = 0; f < 50; ++f) {
        folder = f == 0 ? "/usr/bin" : f < 10 ? "/usr/share/doc/tool-" p : "/usr/lib/tool-" p
        name = f == 0 ? sprintf("tool-%04d", p) : sprintf("part-%02d", f)
        printf "file%s/%s//tool-%04d\t1.%d\n", folder, name, p, p % 9 > "files.tsv"
      }
    }
  }'
}

heading "1. Load the machine's package database"
if [ -r /var/lib/dpkg/status ] && command -v dpkg-query >/dev/null && input_from_dpkg &&
  [ -s files.tsv ]; then
  say "The input: $(grouped "$(grep -c '^Package:' status)") packages (status) and" \
    "$(grouped "$(wc -l <files.tsv)") files with their owners (files.tsv)."
  package=dpkg
  file=$(grep -m 1 -o -E '^file(/usr)?/bin/(ls|dpkg)//' files.tsv | sed 's/^file//; s/..$//')
else
  say "This machine has no dpkg database: the demo generates 2,000 packages and 100,000 files."
  input_generated || fail "can't write the input below $work"
  package=tool-0042
  file=/usr/bin/tool-0042
fi
[ -n "$file" ] || fail "found no file to look up in files.tsv"
say
packages=$(grep -i '^Package:' status | sort -u | wc -l)
files=$(cut -f 1 files.tsv | sort -u | wc -l)
run braid load demo.pool status --format deb822 --prefix package/
run braid load demo.pool files.tsv
run braid count demo.pool
[ "$output" -eq $((packages + files)) ] ||
  fail "the pool has $output keys, the input $((packages + files))"
check "every one of the $(grouped $((packages + files))) different keys of the input is there"

heading "2. Where the data lies, and what a write survives"
run braid info demo.pool
printf '%s\n' "$output" | grep -q '^promise  *[^ ]' || fail "info gives no promise"

heading "3. Look up a package"
run_head 8 braid get demo.pool "package/$package"
expected=$(awk -v RS= -v name="Package: $package" 'index($0 "\n", name "\n") == 1' status)
[ "$output" = "$expected" ] || fail "the value is not the stanza of the input"
check "it is the stanza of the input, byte for byte"

heading "4. Find by prefix: who owns a file, how many lie below a folder"
run braid scan demo.pool --prefix "file$file//"
expected=$(grep -F "file$file//" files.tsv | grep "^file$file//" | sort)
[ -n "$output" ] && [ "$output" = "$expected" ] || fail "the owners of $file are not those of the input"
run braid count demo.pool --prefix file/usr/share/doc/
expected=$(grep -c '^file/usr/share/doc/' files.tsv)
[ "$output" -eq "$expected" ] || fail "the input has $expected files there"
check "the input says the same"

# ---- Kill a writer --------------------------------------------------------------------------------

# Records without end: those of the pool again and again, below a prefix for each pass.
endless_records() {
  awk -v top="kill-$1" '{ record[NR] = $0 }
    END { for (pass = 1; ; ++pass) for (i = 1; i <= NR; ++i)
            printf "%s/pass-%06d/%s\n", top, pass, record[i] }' records.tsv 2>/dev/null
}

# Compares what was acknowledged with what is there; prints acknowledged, missing and wrong.
compare_with_acknowledged() {
  braid scan demo.pool --prefix "kill-$1/" >found.tsv || return 1
  awk -F '\t' '
    FILENAME == "records.tsv" { value[$1] = $2; next }
    FILENAME == "acknowledged" { if (!($1 in waiting)) { waiting[$1]; ++acknowledged }; next }
    { key = $1; sub(/^kill-[0-9]*\/pass-[0-9]*\//, "", key)
      if (!(key in value) || value[key] != $2) { ++wrong }
      if ($1 in waiting) { delete waiting[$1] } }
    END { for (key in waiting) ++missing
          print acknowledged + 0, missing + 0, wrong + 0 }' records.tsv acknowledged found.tsv
}

kill_a_writer() {
  local round=$1 pause facts acknowledged missing wrong waited=0
  rm -f acknowledged
  braid load demo.pool - --batch 1 --threads 2 --acknowledge acknowledged \
    < <(endless_records "$round") >writer.out 2>&1 &
  writer_pid=$!
  until [ -s acknowledged ]; do
    kill -0 "$writer_pid" 2>/dev/null || fail "the writer ended by itself: $(cat writer.out)"
    [ $((waited += 1)) -lt 600 ] || fail "the writer acknowledged nothing in 30 seconds"
    sleep 0.05
  done
  pause=0.$((RANDOM % 700 + 100))
  sleep "$pause"
  kill -KILL "$writer_pid" 2>/dev/null || fail "the writer ended by itself: $(cat writer.out)"
  wait "$writer_pid" 2>/dev/null
  [ $? -eq 137 ] || fail "the writer was not killed: $(cat writer.out)"
  writer_pid=
  # The kill may have cut the note of the last key; what is cut was not said.
  [ -z "$(tail -c 1 acknowledged)" ] || sed -i '$d' acknowledged
  facts=$(braid stat demo.pool --json) || fail "the pool does not open after the kill"
  read -r acknowledged missing wrong < <(compare_with_acknowledged "$round") ||
    fail "can't read the pool after the kill"
  printf 'killed after %9s acknowledged writes   opened again in %5d.%d ms   missing: %d   wrong: %d\n' \
    "$(grouped "$acknowledged")" \
    $(($(printf '%s' "$facts" | json_number open_micros) / 1000)) \
    $(($(printf '%s' "$facts" | json_number open_micros) / 100 % 10)) "$missing" "$wrong"
  [ "$acknowledged" -gt 0 ] && [ "$missing" -eq 0 ] && [ "$wrong" -eq 0 ] ||
    fail "an acknowledged write is missing or wrong after the kill"
}

heading "5. Kill a writer (SIGKILL) at a random moment, three times"
say "A writer stores these records over and over, and notes each key once it is acknowledged:"
say "${bold}\$ braid load demo.pool - --batch 1 --threads 2 --acknowledge acknowledged${plain}"
say
braid scan demo.pool >records.tsv || fail "can't scan the pool"
for round in 1 2 3; do kill_a_writer "$round"; done
braid scan demo.pool --from file --to file0 >after.tsv
braid scan demo.pool --prefix package/ >>after.tsv
cmp -s records.tsv after.tsv || fail "the records of step 1 changed"
check "every acknowledged write is there with its value, and so is everything of step 1"

heading "6. Verify: read everything, check every checksum and every link"
run braid verify demo.pool
printf '%s\n' "$output" | grep -q 'no problem found' || fail "verify found problems"

heading "7. Beside other stores"
engines=braid
left_out=
built=$(braid-compare --list_engines 2>/dev/null) || built=
for peer in leveldb rocksdb lmdb; do
  if printf '%s\n' "$built" | grep -qx "$peer"; then
    engines+=,$peer
  else
    left_out+=" lib$peer-dev"
  fi
done
if [ "$engines" = braid ]; then
  say "Left out: no other store is installed here (apt-get install$left_out, then 'make demo')."
else
  [ -z "$left_out" ] || say "Without those that are not installed here: apt-get install$left_out."
  say "A small load, to see the order of magnitude; 'make bench' measures."
  mkdir compare || fail "can't make a folder below $work"
  run braid-compare --engines="$engines" --benchmarks=fillrandom,readrandom \
    --num=200000 --threads=4 --value_size=100 --runs=1 --db=compare
  for engine in ${engines//,/ }; do
    printf '%s\n' "$output" | grep -q "$engine" || fail "the table says nothing of $engine"
  done
fi

heading "Done in $SECONDS s: all results were as they should be"
say "Next: 'braid help' lists the verbs; docs/guide/user-guide.md explains them."
