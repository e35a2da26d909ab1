#!/usr/bin/env bash
# Configures and builds one preset: build.sh <preset> [target...]. Quiet when there is nothing to say.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:?usage: build.sh <preset> [target...]}
shift
mkdir -p "build/$preset"
if ! cmake --preset "$preset" >"build/$preset/configure.log" 2>&1; then
  cat "build/$preset/configure.log" >&2
  echo "build.sh: cmake could not configure preset '$preset'; the reason stands above." >&2
  exit 1
fi
grep -E '^-- braid-compare: without' "build/$preset/configure.log" || true
cmake --build "build/$preset" --parallel "${BRAID_JOBS:-$(nproc)}" ${1:+--target "$@"}
