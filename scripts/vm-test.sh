#!/usr/bin/env bash
# Runs braid on emulated persistent memory in QEMU (docs/evidence/vm-tests.md). One line a check; ends in
# "N passed, M failed, K skipped", and leaves build/vm/vm.json. What is missing is skipped.
#   vm-test.sh [PART...]     parts: see vm-test.sh --help; default all
#   vm-test.sh --require     what is missing is a failure
# Environment: BRAID_TEST_SIZE (push, night, release), BRAID_SEED.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mkdir -p build/vm
# What could not be installed is named by the check that misses it.
bash scripts/setup.sh vm >build/vm/setup.log 2>&1 || true
if ! bash scripts/build.sh release braid_command braid_conformance_tests braid_vm_writer \
  >build/vm/build.log 2>&1 </dev/null; then
  tail -n 40 build/vm/build.log >&2
  echo "vm-test.sh: the build failed; all of it is in build/vm/build.log" >&2
  exit 1
fi
exec python3 -B tests/vm/run.py "$@"
