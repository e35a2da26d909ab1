#!/usr/bin/env bash
# Tests the tests: switches on one seeded fault after the other (src/sim/faults.h, src/media/sites.h) and expects the
# crash tests, or another test program, to find each. Prints a table, and fails when one survives.
#   mutants.sh                      all of them
#   mutants.sh kRedoNotFlushed ...  these
#   mutants.sh --json FILE          the table as JSON too
# Environment: BRAID_JOBS (processes side by side, default: processors), BRAID_CRASH_TESTS (the program,
# with the others beside it; default: the one in build/crashsim, which is built first),
# BRAID_MUTANT_SECONDS (limit of one run).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

program=${BRAID_CRASH_TESTS:-}
if [ -z "$program" ]; then
  program=build/crashsim/bin/braid_crash_tests
  bash scripts/build.sh crashsim >/dev/null || {
    echo "mutants.sh: the crashsim build failed; run scripts/build.sh crashsim to see why" >&2
    exit 1
  }
fi
exec python3 scripts/mutants.py --crash-tests "$program" --jobs "${BRAID_JOBS:-$(nproc)}" \
  --seconds "${BRAID_MUTANT_SECONDS:-600}" "$@"
