#!/bin/bash
# Runs as root inside a Debian system that has no braid: in_root.sh <folder with the packages>
# <folder outside/>. Installs the packages, builds and runs programs against them, removes them, and
# prints a line for each fact that holds. Ends with an error at the first that does not.
set -euo pipefail
packages=$1
outside=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C HOME=$work CCACHE_DISABLE=1

fail() {
  echo "not ok - $*" >&2
  exit 1
}
library=$(echo "$packages"/libbraid[0-9]*.deb)
name=$(dpkg-deb --field "$library" Package)

! dpkg --status "$name" >/dev/null 2>&1 || fail "$name is installed here already"
# Where packages may put things; elsewhere others may be at work on this machine.
all_files() { find /usr /etc /opt -xdev -print 2>/dev/null | sort; }
all_files >"$work/before"

! dpkg --install "$packages"/libbraid-dev_*.deb >/dev/null 2>&1 ||
  fail "libbraid-dev is configured without $name"
echo "ok - libbraid-dev needs $name"
dpkg --install "$packages"/*.deb >"$work/log" 2>&1 || fail "dpkg --install: $(cat "$work/log")"
for package in "$name" libbraid-dev braid-tools; do
  [ "$(dpkg-query --show --showformat='${Status}' "$package")" = "install ok installed" ] ||
    fail "$package is not installed and configured"
done
echo "ok - dpkg installs the packages, their dependencies met"
ldconfig --print-cache | grep -q 'libbraid\.so\.[0-9]' || fail "ldconfig does not know libbraid.so"
echo "ok - the loader finds the library without being told where"

! dpkg --remove "$name" >/dev/null 2>&1 || fail "$name can be removed while libbraid-dev needs it"

# shellcheck disable=SC2046  # the flags are words
g++ -std=c++20 "$outside/main.cc" -o "$work/cxx" $(pkg-config --cflags --libs braid)
"$work/cxx" "$work/pool" | grep -q media
ldd "$work/cxx" | grep -q '/usr/lib/.*libbraid\.so\.[0-9]' || ldd "$work/cxx" | grep -q 'libbraid\.so\.[0-9].*=> /lib/' ||
  fail "the program runs with another libbraid: $(ldd "$work/cxx")"
echo "ok - a C++ program builds through pkg-config and runs"
# shellcheck disable=SC2046
gcc -std=c99 -pedantic -Wall -Wextra -Werror "$outside/main.c" -o "$work/c" \
  $(pkg-config --cflags --libs braid)
"$work/c" "$work/pool"
echo "ok - a C99 program builds through pkg-config and runs"
# shellcheck disable=SC2046
g++ -std=c++20 "$outside/main.cc" -o "$work/static" $(pkg-config --cflags braid) \
  -Wl,-Bstatic -lbraid -Wl,-Bdynamic $(pkg-config --static --libs-only-l braid | sed 's/-lbraid//')
"$work/static" "$work/pool" | grep -q media
! ldd "$work/static" | grep -q libbraid || fail "the static program still loads libbraid"
echo "ok - a program links the static library through pkg-config --static"
cmake -S "$outside" -B "$work/build" >"$work/log" 2>&1 || fail "cmake: $(cat "$work/log")"
cmake --build "$work/build" >"$work/log" 2>&1 || fail "cmake --build: $(cat "$work/log")"
for program in outside_shared outside_static; do "$work/build/$program" "$work/pool" >/dev/null; done
echo "ok - find_package(braid) gives a shared and a static library that work"

braid put "$work/pool" key value
[ "$(braid get "$work/pool" key)" = value ] || fail "braid get"
braid verify "$work/pool" >/dev/null
rm -rf "$work/pool"
echo "ok - the command stores, reads and verifies"

dpkg --purge braid-tools libbraid-dev "$name" >"$work/log" 2>&1 || fail "dpkg --purge: $(cat "$work/log")"
all_files >"$work/after"
left=$(comm -13 "$work/before" "$work/after" | grep -v '^/etc/ld.so.cache' || true)
[ -z "$left" ] || fail "left behind by the packages: $left"
echo "ok - nothing is left when the packages are purged"
