#!/usr/bin/env bash
# The checks that need no run: layout, those of tests/style, clang with its checks of locks, clang-tidy. All of them, then the verdict.
#   check.sh                everything
#   check.sh --format       only whether the layout is clang-format's
#   check.sh --fix-format   lay the files out
#   check.sh --clang FILE.. whether clang compiles these, and finds each lock held where it must be
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=${BRAID_JOBS:-$(nproc)}

# Our C and C++ files below those of the given folders that are there.
sources() {
  local folder folders=()
  for folder in "$@"; do [ ! -d "$folder" ] || folders+=("$folder"); done
  find "${folders[@]}" -type f \( -name '*.cc' -o -name '*.h' -o -name '*.c' \) | sort
}
all_sources() { sources include src tools bench tests fuzz examples bindings; }

if [ "${1:-}" = --fix-format ]; then
  all_sources | xargs -r -P "$jobs" -n 16 clang-format -i
  exit 0
fi

# Whether clang compiles the files that it is given, a line each.
clang_takes() {
  xargs -r -P "$jobs" -n 4 clang++ -std=c++20 -march=x86-64-v2 -fsyntax-only -Wall -Wextra \
    -Wthread-safety -Werror -I src -I include
}

if [ "${1:-}" = --clang ]; then
  shift
  printf '%s\n' "$@" | clang_takes
  echo "check: clang compiles $# files, and finds each lock held."
  exit
fi

failed=()

if ! all_sources | xargs -r -P "$jobs" -n 16 clang-format --dry-run -Werror; then
  echo "check: run 'make format' to lay the files named above out." >&2
  failed+=(clang-format)
fi
if [ "${1:-}" = --format ]; then
  [ ${#failed[@]} -eq 0 ]
  exit
fi

for name in asserts classes heads layers limits links names words; do
  python3 -B "tests/style/check_$name.py" || failed+=("$name")
done
python3 -B scripts/weave_faults.py --check || failed+=(faults)

sources src | grep '\.cc$' | grep -v '_test\.cc$' | clang_takes || failed+=(clang)

# Each file alone: a build by gcc has options and headers that clang can't read.
if cmake --preset tidy >/dev/null; then
  if ! sources src tools bench/verb | grep '\.cc$' | grep -v '_test\.cc$' |
    xargs -r -P "$jobs" -n 1 clang-tidy --quiet -p build/tidy 2>/dev/null; then
    failed+=(clang-tidy)
  fi
else
  failed+=(configure)
fi

if [ ${#failed[@]} -gt 0 ]; then
  echo "check: failed: ${failed[*]}" >&2
  exit 1
fi
echo "check: layout, style, locks and clang-tidy are clean."
