#!/usr/bin/env bash
# Makes the Debian packages and the bill of materials: package.sh [build directory, default
# build/package]. Prints their paths.
# A build of its own, since a package's libraries lie elsewhere than those of 'make install': in the
# folder of the machine's architecture below /usr/lib. ccache makes it nearly free after 'make build'.
#   BRAID_MAINTAINER   name and address that the packages carry: "Jo Doe <jo@example.org>"
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=${1:-$source_dir/build/package}

for tool in dpkg-deb:dpkg dpkg-shlibdeps:dpkg-dev fakeroot:fakeroot cpack:cmake gzip:gzip; do
  if ! command -v "${tool%%:*}" >/dev/null 2>&1; then
    echo "package.sh: ${tool%%:*} is missing. Install it: apt-get install ${tool##*:}" >&2
    exit 2
  fi
done
# Fixed times make two packages of one commit equal.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$source_dir" log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

mkdir -p "$build_dir"
log=$build_dir/package.log
quietly() {
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    echo "package.sh: '$1' failed; what it said stands above." >&2
    exit 1
  fi
}
quietly cmake -S "$source_dir" -B "$build_dir" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_INSTALL_PREFIX=/usr -DBRAID_BUILD_TESTS=OFF \
  ${BRAID_MAINTAINER:+-DCPACK_PACKAGE_CONTACT="$BRAID_MAINTAINER"}
quietly cmake --build "$build_dir" --parallel "${BRAID_JOBS:-$(nproc)}" \
  --target braid braid_static braid_command
rm -rf "$build_dir/packages"
# cpack warns of nothing we can help; what matters is judged by tests/package/deb_test.py.
(cd "$build_dir" && quietly fakeroot cpack -G DEB)
python3 -B "$source_dir/scripts/sbom.py" --library "$build_dir/lib/libbraid.so" \
  --command "$build_dir/bin/braid" --out "$build_dir/packages/braid.spdx.json"
find "$build_dir/packages" -maxdepth 1 \( -name '*.deb' -o -name '*.json' \) | sort
