#!/usr/bin/env bash
# Records concurrent histories of the store and has Porcupine, a checker in Go, decide whether they
# are linearizable. Doctored histories, which are not, must be rejected.
#   porcupine.sh         BRAID_HISTORY_COUNT histories (default: 3,000; night 100,000)
# BRAID_TEST_SIZE and BRAID_TEST_SECONDS say how much work the recording is, as for every test.
# Without Go it says so and does nothing. The first run fetches the module that go.sum names.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

if ! command -v go >/dev/null; then
  echo "porcupine: skipped: there is no go on the PATH (Debian: apt-get install golang-go)"
  exit 0
fi
default_count=3000
[ "${BRAID_TEST_SIZE:-push}" = push ] || default_count=100000
export BRAID_HISTORY_COUNT=${BRAID_HISTORY_COUNT:-$default_count}
results=build/porcupine
mkdir -p "$results" || exit 1
rm -f "$results/histories.jsonl"

if ! (cd tests/porcupine && go build -o "../../$results/porcupine" .) 2>"$results/go.log"; then
  if grep -qiE 'dial tcp|no such host|module lookup disabled|connection refused|i/o timeout|requires go' \
    "$results/go.log"; then
    echo "porcupine: skipped: the Go module can't be had here; see $results/go.log"
    exit 0
  fi
  cat "$results/go.log" >&2
  exit 1
fi
bash scripts/build.sh release braid_concurrency_tests >"$results/build.log" 2>&1 || {
  tail -n 40 "$results/build.log" >&2
  exit 1
}
BRAID_HISTORY_FILE="$results/histories.jsonl" build/release/bin/braid_concurrency_tests \
  --gtest_filter='*HistoryTest.*' >"$results/record.log" 2>&1 || {
  tail -n 60 "$results/record.log" >&2
  exit 1
}
"$results/porcupine" "$results/histories.jsonl" || {
  echo "porcupine: the histories are in $results/histories.jsonl; $(grep -m1 BRAID_SEED "$results/record.log")" >&2
  exit 1
}
