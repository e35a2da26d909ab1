#!/usr/bin/env python3
"""Runs the tests and ends in one line: N passed, M failed. Exits 1 when anything failed, was not
built, or did not run.

  test.py                  what a push must pass (SIZE=full: everything, docs/evidence/testing.md has the times)
  test.py PART ...         one or more of:
    format                 whether all sources are laid out
    release                all tests of the release build
    crash                  the crash simulator's tests
    mutants                seeded faults that the tests must find
    asan-model, tsan-concurrency   unit and model tests (clang, with its checks of locks), concurrent
                           ones, under a sanitizer
    java, python, hadoop   the bindings' tests, and braid-hadoop's
    fuzz, vm               the fuzzers for a while; a virtual machine with persistent memory
    asan, tsan, ubsan, debug   all tests of a preset

Environment: BRAID_JOBS (processes side by side), BRAID_TEST_SIZE (push, night, release: how much each
random test does), BRAID_TEST_SHARE (push: a share that changes from run to run; full), BRAID_CHOICE
(the number that a run prints: the same share again), BRAID_TMP (scratch)."""

import os
import pathlib
import shutil
import signal
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from testing import plan  # noqa: E402


def scratch_base():
    """Scratch data goes to memory where there is room."""
    if os.environ.get("BRAID_TMP"):
        return os.environ["BRAID_TMP"]
    shm = pathlib.Path("/dev/shm")
    if shm.is_dir() and os.access(shm, os.W_OK) and shutil.disk_usage(shm).free > 2 << 30:
        return str(shm)
    return tempfile.gettempdir()


def main(arguments):
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0
    os.chdir(ROOT)
    unknown = [part for part in arguments if part not in plan.PARTS]
    if unknown:
        print(f"test.py: unknown part '{unknown[0]}': use {', '.join(plan.PARTS)}",
              file=sys.stderr)
        return 2
    share = os.environ.get("BRAID_TEST_SHARE") or "push"
    if share not in ("push", "full"):
        print(f"test.py: BRAID_TEST_SHARE={share} (make test SIZE={share}): use push or full",
              file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        scratch = tempfile.TemporaryDirectory(prefix="braid-tests-", dir=scratch_base(),
                                              ignore_cleanup_errors=True)
    except OSError as error:
        print(f"test.py: can't make a scratch folder ({error}); set BRAID_TMP to a writable folder.",
              file=sys.stderr)
        return 2
    with scratch as folder:
        os.environ["BRAID_TMP"] = folder
        return plan.run(ROOT, pathlib.Path(folder), arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
