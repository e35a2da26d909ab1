#!/usr/bin/env python3
"""Runs the C programs of this folder under valgrind: no bad access, nothing lost.
under_valgrind.py PROGRAM...; exit code 77 without valgrind."""

import os
import re
import shutil
import subprocess
import sys

VALGRIND = ["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full",
            "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"]


# Random operations take fifty times as long here.
ENVIRONMENT = {**os.environ, "BRAID_TEST_PART": "5"}


def main():
    if not shutil.which("valgrind"):
        print("valgrind is not installed: nothing was run")
        return 77
    failed = 0
    for program in sys.argv[1:]:
        done = subprocess.run([*VALGRIND, program], text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, check=False, env=ENVIRONMENT)
        count = re.search(r"^(\d+) passed, 0 failed$", done.stdout, re.MULTILINE)
        fine = done.returncode == 0 and count is not None and int(count.group(1)) > 0
        print(f"{'ok' if fine else 'not ok'} - {program.rsplit('/', 1)[-1]}")
        if not fine:
            print(done.stdout + done.stderr)
            failed += 1
    return 1 if failed or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
