#!/usr/bin/env bash
# Runs the figures of the papers, draws them and writes their page: figures.sh [braid-figures flags]
#   FIGURE=listdb-29,...  some of them (default: all)
#   SCALE=1               factor of the sizes
#   AGAIN=1               run figures again whose results are there
#   EMULATE=off|SPEC      how the medium is slowed down (braid-figures --help)
#   BRAID_TMP             where the data goes; default: /dev/shm when it has room
#   BRAID_BIN_DIR         folder of the programs, when it is not build/release/bin
#   BRAID_FIGURES         folder of the results; default: build/figures
#   BRAID_FIGURES_PAGE    folder of page and pictures; default: docs/evidence/figures, at another scale than
#                         1 the folder of the results
# It goes on where it was stopped: what is measured already, with this commit and these settings,
# is only drawn. `make figures` builds first.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scale=${SCALE:-1}
results=${BRAID_FIGURES:-build/figures}
if [ "$scale" = 1 ]; then
  page=${BRAID_FIGURES_PAGE:-docs/evidence/figures}
else
  page=${BRAID_FIGURES_PAGE:-$results}
fi
program=${BRAID_BIN_DIR:-build/release/bin}/braid-figures
if [ ! -x "$program" ]; then
  echo "figures: there is no $program: run 'make figures', which builds it first." >&2
  exit 2
fi

# Debian's matplotlib belongs to Debian's Python, which need not be the first on the path.
python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import matplotlib' >/dev/null 2>&1; then
    python=$candidate
    break
  fi
done
if [ -z "$python" ]; then
  echo "figures: matplotlib is missing: run 'make figures', or apt-get install python3-matplotlib" >&2
  exit 2
fi

if [ -z "${BRAID_COMMIT:-}" ] && BRAID_COMMIT=$(git rev-parse --short=12 HEAD 2>/dev/null); then
  git diff --quiet HEAD -- src include bench cmake 2>/dev/null || BRAID_COMMIT=$BRAID_COMMIT-changed
  export BRAID_COMMIT
fi

flags=(--scale "$scale" --out "$results")
[ -z "${FIGURE:-}" ] || flags+=(--figure "$FIGURE")
[ -z "${AGAIN:-}" ] || flags+=(--again)
[ -z "${EMULATE:-}" ] || flags+=(--emulate-pmem "$EMULATE")
code=0
"$program" "${flags[@]}" "$@" || code=$?
# 130: it was stopped. Otherwise a figure failed, which was said above, and the others are drawn.
[ "$code" -ne 130 ] || exit "$code"
"$python" -B bench/figures/plot.py "$results" --out "$page"
"$python" -B bench/figures/page.py "$results" --pictures "$page" --out "$page/README.md"
exit "$code"
