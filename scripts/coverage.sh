#!/usr/bin/env bash
# Builds with source coverage, runs the tests and prints the share of lines and branches reached.
# A page for every file: build/coverage/report/index.html.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash scripts/build.sh coverage
profiles=build/coverage/profiles
rm -rf "$profiles"
mkdir -p "$profiles"
# %p: one profile a process, since ctest runs them side by side; %m tells the programs apart.
LLVM_PROFILE_FILE="$PWD/$profiles/%m-%p.profraw" ctest --test-dir build/coverage \
  --parallel "${BRAID_JOBS:-$(nproc)}" -LE '^(style|package)$' --output-on-failure --quiet ||
  echo "coverage: some tests failed (make test names them); what they reached still counts" >&2
find "$profiles" -name '*.profraw' >build/coverage/profiles.txt
llvm-profdata merge -sparse -f build/coverage/profiles.txt -o build/coverage/all.profdata
find "$profiles" -name '*.profraw' -delete

objects=()
for program in build/coverage/bin/*; do
  [ -x "$program" ] && [ -f "$program" ] && objects+=(-object "$program")
done
skip='(_test\.cc|/tests/|/bench/|/examples/|/usr/)'
llvm-cov show -format=html -output-dir=build/coverage/report -ignore-filename-regex="$skip" \
  -instr-profile=build/coverage/all.profdata "${objects[@]}" >/dev/null
llvm-cov report -ignore-filename-regex="$skip" -instr-profile=build/coverage/all.profdata \
  "${objects[@]}"
echo "coverage: a page for every file is in build/coverage/report/index.html"
