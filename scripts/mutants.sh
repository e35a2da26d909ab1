#!/usr/bin/env bash
# Tests the crash tests: switches on one seeded fault after the other (src/base/mutants.h) and expects
# braid_crash_tests to find each. Prints a table, and fails when a mutant survives.
#   mutants.sh                      all of them
#   mutants.sh kRedoNotFlushed ...  these
# Environment: BRAID_JOBS (processes side by side, default: processors), BRAID_CRASH_TESTS (the program,
# default: the one in build/crashsim, which is built first), BRAID_MUTANT_SECONDS (limit a mutant).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

jobs=${BRAID_JOBS:-$(nproc)}
limit=${BRAID_MUTANT_SECONDS:-600}
program=${BRAID_CRASH_TESTS:-}
if [ -z "$program" ]; then
  program=build/crashsim/bin/braid_crash_tests
  bash scripts/build.sh crashsim braid_crash_tests >/dev/null || {
    echo "mutants.sh: the crashsim build failed; run scripts/build.sh crashsim to see why" >&2
    exit 1
  }
fi

if [ $# -gt 0 ]; then
  mutants=("$@")
else
  mapfile -t mutants < <("$program" --list_mutants)
fi
if [ "${#mutants[@]}" -eq 0 ]; then
  echo "mutants.sh: $program lists no mutants; is it the crashsim build?" >&2
  exit 1
fi

results=$(mktemp -d "${BRAID_TMP:-${TMPDIR:-/tmp}}/braid-mutants-XXXXXX") || exit 1
trap 'rm -rf "$results"' EXIT

# One mutant: its line goes to a file, so that lines of parallel runs do not mix.
run_one() {
  local name=$1 code=0
  timeout "$limit" "$program" --mutant="$name" >"$results/$name" 2>"$results/$name.err" || code=$?
  [ "$code" -eq 0 ] && return
  if [ "$code" -eq 1 ] && grep -q '^survived' "$results/$name"; then return; fi
  if [ "$code" -eq 124 ]; then
    echo "failed $name: not finished after $limit s; raise BRAID_MUTANT_SECONDS" >"$results/$name"
  else
    echo "failed $name: exit code $code: $(tail -n 1 "$results/$name.err")" >"$results/$name"
  fi
}
export -f run_one
export program limit results
printf '%s\n' "${mutants[@]}" | xargs -P "$jobs" -I{} bash -c 'run_one {}'

killed=0
bad=0
printf '%-28s %-9s %10s  %s\n' mutant outcome images 'found by'
for name in "${mutants[@]}"; do
  line=$(head -n 1 "$results/$name" 2>/dev/null)
  case "$line" in
    killed*)
      killed=$((killed + 1))
      images=$(sed -E 's/^killed [^ ]+ after ([0-9]+) images.*/\1/' <<<"$line")
      found=$(sed -E 's/^killed [^ ]+ after [0-9]+ images by //' <<<"$line" | cut -c1-110)
      printf '%-28s %-9s %10s  %s\n' "$name" killed "$images" "$found"
      ;;
    survived*)
      bad=$((bad + 1))
      images=$(sed -E 's/^survived [^ ]+: ([0-9]+) images.*/\1/' <<<"$line")
      printf '%-28s %-9s %10s\n' "$name" SURVIVED "$images"
      ;;
    *)
      bad=$((bad + 1))
      printf '%-28s %-9s %10s  %s\n' "$name" FAILED - "${line:-no output}"
      ;;
  esac
done
echo "$killed of ${#mutants[@]} mutants killed, $bad not"
[ "$bad" -eq 0 ]
