#!/usr/bin/env bash
# Runs tests and ends in one line: N passed, M failed (scripts/test.py --help has the parts).
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/test.py" "$@"
