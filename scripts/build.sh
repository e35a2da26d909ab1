#!/usr/bin/env bash
# Configures and builds one preset: build.sh [--brief] <preset> [target...]. Quiet when there is nothing
# to say; --brief: a line now and then, and the compiler's own words only when it fails.
# BRAID_JOBS: compilers side by side; without it as many as processors and memory allow.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

brief=
if [ "${1:-}" = --brief ]; then
  brief=yes
  shift
fi
preset=${1:?usage: build.sh [--brief] <preset> [target...]}
shift
mkdir -p "build/$preset"
if ! cmake --preset "$preset" >"build/$preset/configure.log" 2>&1; then
  cat "build/$preset/configure.log" >&2
  echo "build.sh: cmake could not configure preset '$preset'; the reason stands above." >&2
  exit 1
fi
grep -E '^-- braid-compare: without' "build/$preset/configure.log" || true
jobs=$(python3 -B scripts/testing/machine.py)
build=(cmake --build "build/$preset" --parallel "$jobs" ${1:+--target "$@"})
if [ -z "$brief" ]; then
  exec "${build[@]}"
fi

log=build/$preset/build.log
"${build[@]}" >"$log" 2>&1 </dev/null &
pid=$!
trap 'kill "$pid" 2>/dev/null || true' EXIT
told=0
while kill -0 "$pid" 2>/dev/null; do
  sleep 1
  [ $((SECONDS - told)) -ge 20 ] || continue
  told=$SECONDS
  step=$(grep -oE '^\[[0-9]+/[0-9]+\]' "$log" | tail -n 1 | tr -d '[]')
  [ -z "$step" ] || echo "  compiled ${step/\// of }, ${SECONDS} s"
done
if ! wait "$pid"; then
  tail -n 40 "$log" >&2
  echo "build.sh: the build failed; all of it is in $log" >&2
  exit 1
fi
echo "  built in $SECONDS s"
