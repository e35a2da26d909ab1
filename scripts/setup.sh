#!/usr/bin/env bash
# Makes sure that the packages of the named groups are there: build, check, bench, figures,
# package, vm, hadoop, python, site, fresh.
# Installs what is missing where it may (root, or sudo without a password, on Debian and its kin);
# elsewhere names what is missing in one line and exits 2. Does nothing, quickly, when all is there.
#   setup.sh --optional GROUP...   what can't be had is said, and is no error
# shellcheck disable=SC2034 # the lists are read by name, ${!needs}
set -euo pipefail

# What to look for, and the Debian package that has it.
#   cmd: a command    pc: a pkg-config module    hdr: a C++ header    py: a Python module
readonly build_needs="
cmd:c++ g++
cmd:make make
cmd:cmake cmake
cmd:ninja ninja-build
cmd:pkg-config pkg-config
cmd:python3 python3
cmd:mold mold
pc:libpmem2 libpmem2-dev
pc:libxxhash libxxhash-dev
pc:liburcu-memb liburcu-dev
pc:gtest libgtest-dev
pc:fmt libfmt-dev
hdr:nlohmann/json.hpp nlohmann-json3-dev
hdr:CLI/CLI.hpp libcli11-dev
pc:libedit libedit-dev"
readonly check_needs="
cmd:clang++ clang
cmd:clang-format clang-format
cmd:clang-tidy clang-tidy
cmd:llvm-cov llvm
clang-rt:fuzzer libclang-rt-14-dev"
readonly bench_needs="
hdr:leveldb/db.h libleveldb-dev
hdr:rocksdb/db.h librocksdb-dev
hdr:lmdb.h liblmdb-dev"
readonly figures_needs="
py:matplotlib python3-matplotlib
cmd:valgrind valgrind"
readonly package_needs="
cmd:dpkg-shlibdeps dpkg-dev
cmd:fakeroot fakeroot
cmd:file file
cmd:readelf binutils"
readonly vm_needs="
cmd:qemu-system-x86_64 qemu-system-x86
cmd:busybox busybox-static
cmd:cpio cpio
cmd:modprobe kmod
cmd:ndctl ndctl
cmd:cxl ndctl
cmd:mkfs.ext4 e2fsprogs
cmd:mkfs.xfs xfsprogs"
readonly hadoop_needs="
jdk:17 openjdk-17-jdk-headless
cmd:mvn maven
cmd:python3 python3
cmd:ip iproute2"
readonly fresh_needs="
cmd:python3 python3
cmd:unshare util-linux
cmd:mmdebstrap mmdebstrap"
readonly site_needs="
py:ensurepip python3-venv
cmd:doxygen doxygen
cmd:javadoc openjdk-17-jdk-headless"
readonly python_needs="
py:ensurepip python3-venv
cmd:python3-config python3-dev"

is_there() {
  case "$1" in
    cmd:*) PATH="$PATH:/usr/sbin:/sbin" command -v "${1#cmd:}" >/dev/null 2>&1 ;;
    pc:*) pkg-config --exists "${1#pc:}" 2>/dev/null ;;
    hdr:*) echo "#include <${1#hdr:}>" | c++ -x c++ -std=c++20 -E - >/dev/null 2>&1 ;;
    py:*)
      # Debian's modules belong to Debian's Python, which need not be the first on the path.
      python3 -c "import ${1#py:}" >/dev/null 2>&1 ||
        /usr/bin/python3 -c "import ${1#py:}" >/dev/null 2>&1
      ;;
    jdk:*)
      local major
      major=$(javac -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p')
      [ "${major:-0}" -ge "${1#jdk:}" ]
      ;;
    clang-rt:*)
      local runtimes
      runtimes=$(clang++ -print-runtime-dir 2>/dev/null) || return 1
      compgen -G "$runtimes/*${1#clang-rt:}*" >/dev/null ||
        compgen -G "$(clang++ -print-resource-dir)/lib/linux/*${1#clang-rt:}*" >/dev/null
      ;;
  esac
}

# Prints the packages of the groups that are missing, each once.
missing_packages() {
  local group needs probe package
  for group in "$@"; do
    needs="${group}_needs"
    while read -r probe package; do
      [ -n "$probe" ] || continue
      is_there "$probe" || echo "$package"
    done <<<"${!needs}"
  done | sort -u
}

optional=
if [ "${1:-}" = --optional ]; then
  optional=yes
  shift
fi
[ $# -gt 0 ] || set -- build check bench hadoop
for group in "$@"; do
  case "$group" in
    build | check | bench | figures | package | vm | hadoop | python | site | fresh) ;;
    *)
      echo "setup.sh: unknown group '$group': use build, check, bench, figures, package, vm, hadoop, python, site or fresh" >&2
      exit 2
      ;;
  esac
done

mapfile -t missing < <(missing_packages "$@")
[ ${#missing[@]} -gt 0 ] || exit 0

# Ends with what can't be had: without it things stop, or, where it is optional, go on.
give_up() {
  echo "setup: $*" >&2
  [ -z "$optional" ] || exit 0
  exit 2
}

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
  else
    as_root=(none)
  fi
fi
if ! command -v apt-get >/dev/null 2>&1 || [ "${as_root[*]-}" = none ]; then
  give_up "missing packages; as root, on Debian 12 or later: apt-get install ${missing[*]}"
fi

log=$(mktemp "${BRAID_TMP:-${TMPDIR:-/tmp}}/braid-setup-XXXXXX")
trap 'rm -f "$log"' EXIT
install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >"$log" 2>&1
}
echo "setup: installing ${missing[*]}"
# The package lists may be old or absent: refresh them once.
if ! install && ! { "${as_root[@]}" apt-get update -qq </dev/null >"$log" 2>&1 && install; }; then
  grep -E '^(E|W|Err):?' "$log" | head -n 5 >&2
  give_up "apt-get could not install ${missing[*]}: is Debian's package registry within reach?" \
    "(What it said stands above.)"
fi

mapfile -t missing < <(missing_packages "$@")
if [ ${#missing[@]} -gt 0 ]; then
  give_up "still missing after the installation: ${missing[*]}; install them by hand"
fi
