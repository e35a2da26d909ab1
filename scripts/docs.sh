#!/usr/bin/env bash
# Renews the pages below docs/guide that the command makes of itself. Usage: scripts/docs.sh [BRAID]
set -euo pipefail
cd "$(dirname "$0")/.."

braid=${1:-build/release/bin/braid}
if [ ! -x "$braid" ]; then
  echo "docs.sh: no command at '$braid': build it first (make build), or name it" >&2
  exit 2
fi
for page in options metrics; do
  # A page is only replaced by a whole one.
  text=$("$braid" "$page" --markdown)
  printf '%s\n' "$text" >"docs/guide/$page.md"
  echo "docs/guide/$page.md"
done
