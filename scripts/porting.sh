#!/usr/bin/env bash
# Ports a foreign program to braid as docs/guide/leveldb-porting.md says, and runs its own tests: levigo,
# a Go binding of LevelDB's C API.
#
#   porting.sh            fetch, rename, build against build/release, test; first with LevelDB itself,
#                         where its headers are installed
#
# The sources are fetched into a temporary folder (by Go, which checks their sum), and gone after the
# run. Without Go, or where the module can't be had, it says so and does nothing.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

module=github.com/jmhodges/levigo
version=v1.0.0
sum=h1:q5EC36kV79HWeTBWsod3mG11EgStG3qArTKcvlksN1U=

if ! command -v go >/dev/null; then
  echo "porting: skipped: there is no go on the PATH (Debian: apt-get install golang-go)"
  exit 0
fi
library=build/release/lib/libbraid.a
[ -f "$library" ] || bash scripts/build.sh release braid || exit 1

work=$(mktemp -d "${BRAID_TMP:-${TMPDIR:-/tmp}}/braid-porting-XXXXXX") || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export GOPATH=$work/go GOFLAGS=-mod=mod TMPDIR=$work
if ! go mod download -json "$module@$version" >"$work/download.json" 2>"$work/go.log"; then
  echo "porting: skipped: the Go module $module can't be had here"
  tail -n 5 "$work/go.log" "$work/download.json"
  exit 0
fi
grep -q "\"Sum\": \"$sum\"" "$work/download.json" || {
  echo "porting: $module $version is not what it was: its sum differs" >&2
  exit 1
}
fetched=$work/go/pkg/mod/$module@$version

# A copy of the module at $1, whose tests run with the flags of $2 for the C compiler and $3 for the
# linker.
run_tests() {
  (cd "$1" && CGO_ENABLED=1 CGO_CFLAGS=$2 CGO_LDFLAGS=$3 go test -count=1 -v ./...) \
    >"$1.log" 2>&1
  local result=$?
  grep -E '^(---|FAIL|ok|PASS|#)' "$1.log" | sed 's/^/  /'
  [ $result -eq 0 ] || sed 's/^/  | /' "$1.log" >&2
  return $result
}

copy() {
  cp -r "$fetched" "$1" && chmod -R u+w "$1" && rm -rf "$1/examples"
}

if [ -f /usr/include/leveldb/c.h ]; then
  copy "$work/before" || exit 1
  echo "porting: $module $version with LevelDB:"
  run_tests "$work/before" "" "" || echo "porting: it fails with LevelDB, too"
fi

copy "$work/after" || exit 1
# Step 1 of docs/guide/leveldb-porting.md, and step 2 where the program names the library.
find "$work/after" -name '*.go' -exec \
  sed -i 's/\bleveldb_/braid_/g; s#leveldb/c\.h#braid/c.h#; s/-lleveldb\b/-lbraid/' {} +
# The one change by hand: its message says "less than zero", its check says less than one.
sed -i 's/GetLevelDBMajorVersion() <= 0/GetLevelDBMajorVersion() < 0/' "$work/after/leveldb_test.go"
needs=$(sed -n 's/^Requires\.private: //p' build/release/braid.pc)
private=$(sed -n 's/^Libs\.private: //p' build/release/braid.pc)
# shellcheck disable=SC2086
libraries="-L$PWD/build/release/lib -lbraid $(pkg-config --libs $needs) $private"
echo "porting: $module $version with braid; lines that differ: $(
  diff -r "$fetched" "$work/after" | grep -c '^>')"
run_tests "$work/after" "-I$PWD/include" "$libraries"
