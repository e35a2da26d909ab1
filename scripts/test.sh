#!/usr/bin/env bash
# Runs tests and ends in one line: N passed, M failed. Exits 1 when anything failed, was not built,
# or did not run.
#   test.sh             everything a push must pass
#   test.sh crash       the crash simulator's tests     (BRAID_TEST_SIZE=night for the long run)
#   test.sh mutants     seeded faults that the crash tests must find
#   test.sh vm          braid in a virtual machine with persistent memory (docs/vm-tests.md)
#   test.sh hadoop      braid-hadoop's tests, by Maven (BRAID_TEST_SIZE=night for the long ones, too)
#   test.sh java        the Java binding's tests, by Maven
#   test.sh python      the Python binding's tests, and plyvel's
#   test.sh asan|tsan|ubsan|debug|release    all tests of one preset
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

jobs=${BRAID_JOBS:-$(nproc)}
results=build/test-results
mkdir -p "$results" || exit 1
rm -f "$results"/*
export BRAID_TEST_SIZE=${BRAID_TEST_SIZE:-push}

# Scratch data goes to memory where there is room, and is gone afterwards whatever happens.
scratch_base=${BRAID_TMP:-}
if [ -z "$scratch_base" ]; then
  scratch_base=${TMPDIR:-/tmp}
  free_kib=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
  [ "${free_kib:-0}" -gt $((2 * 1024 * 1024)) ] && [ -w /dev/shm ] && scratch_base=/dev/shm
fi
BRAID_TMP=$(mktemp -d "$scratch_base/braid-tests-XXXXXX") || {
  echo "test.sh: can't make a scratch folder; set BRAID_TMP to a writable folder." >&2
  exit 1
}
export BRAID_TMP
trap 'rm -rf "$BRAID_TMP"' EXIT

say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }

# Records one outcome that ctest does not know of: record <name> <exit code> <log file>.
record() { python3 scripts/count_tests.py --record "$results/$1.xml" "$1" "$2" "$3"; }

# Builds a preset: build <step> <preset> [target...]. A failed build counts as a failed test.
build() {
  local step=$1 preset=$2 log="$results/$1-build.log"
  shift 2
  say "$step: building"
  if bash scripts/build.sh "$preset" "$@" >"$log" 2>&1 </dev/null; then
    return 0
  fi
  tail -n 40 "$log"
  say "$step: the build failed; all of it is in $log"
  record "$step-build" 1 "$log"
  return 1
}

# Runs the tests of a built preset: run <step> <preset> [ctest option...].
run() {
  local step=$1 preset=$2 code=0
  shift 2
  say "$step: testing"
  ctest --test-dir "build/$preset" --parallel "$jobs" --timeout 900 --no-tests=error \
    --output-on-failure --output-junit "$PWD/$results/$step.xml" "$@" \
    >"$results/$step.log" 2>&1 </dev/null || code=$?
  if [ ! -s "$results/$step.xml" ]; then
    tail -n 20 "$results/$step.log"
    record "$step-run" 1 "$results/$step.log"
    return
  fi
  say "$step: $(python3 scripts/count_tests.py --step "$results/$step.xml")"
  # ctest can fail although each test passed (for example when none could be listed).
  if [ "$code" -ne 0 ] && ! grep -q '<failure' "$results/$step.xml"; then
    tail -n 20 "$results/$step.log"
    record "$step-run" 1 "$results/$step.log"
  fi
}

# Runs a script of ours as one test: script <step> <script> [argument...].
script() {
  local step=$1 code=0
  shift
  say "$step: checking"
  bash "$@" >"$results/$step.log" 2>&1 </dev/null || code=$?
  [ "$code" -eq 0 ] || tail -n 20 "$results/$step.log"
  say "$step: $(tail -n 1 "$results/$step.log" | grep . || echo clean)"
  record "$step" "$code" "$results/$step.log"
}

# Runs tests that Maven or pytest counts one by one: counted <step> <script> [argument...].
counted() {
  local step=$1 code=0 log="$results/$1.log"
  shift
  say "$step: testing"
  bash "$@" "$results" >"$log" 2>&1 </dev/null || code=$?
  if compgen -G "$results/$step-*.xml" >/dev/null; then
    say "$step: $(python3 scripts/count_tests.py --step "$results/$step"-*.xml)"
  fi
  # A failure that is not a test's: the build's, or a package index out of reach.
  if [ "$code" -ne 0 ] && ! grep -qsE '<(failure|error)[ >/]' "$results/$step"-*.xml; then
    tail -n 20 "$log"
    say "$step: the build failed; all of it is in $log"
    record "$step-build" 1 "$log"
  fi
}

step() {
  case "$1" in
    format) script format scripts/check.sh --format ;;
    crash) build crash crashsim && run crash crashsim -L '^(crash|unit)$' ;;
    mutants) build mutants crashsim && script mutants scripts/mutants.sh ;;
    tsan-concurrency)
      build tsan-concurrency tsan braid_concurrency_tests && run tsan-concurrency tsan -L concurrency
      ;;
    asan-model)
      build asan-model asan braid_unit_tests braid_model_tests &&
        run asan-model asan -L '^(unit|model)$'
      ;;
    fuzz) script fuzz scripts/fuzz.sh push ;;
    vm) script vm scripts/vm-test.sh ;;
    hadoop) counted hadoop scripts/hadoop-test.sh ;;
    java) counted java scripts/java.sh test ;;
    python) counted python scripts/python.sh test ;;
    asan | tsan | ubsan | debug | release) build "$1" "$1" && run "$1" "$1" ;;
    *)
      echo "test.sh: unknown part '$1': use crash, mutants, fuzz, vm, hadoop, java, python, asan, tsan, ubsan, debug or release" >&2
      exit 2
      ;;
  esac
}

[ $# -gt 0 ] || set -- format release crash mutants asan-model tsan-concurrency java python hadoop
for part in "$@"; do step "$part"; done
say "done; logs are in $results"
python3 scripts/count_tests.py "$results"/*.xml
