#!/usr/bin/env python3
"""Makes the pools of an old commit, for upgrade_test.py: make_pools.py COMMIT [--braid PROGRAM]

Checks the commit out beside the work tree, builds its command, has that write what old_pools.py says,
and packs the folders into tests/compat/COMMIT/. A pool is made once and never again: what matters
is that it was written by the code of then. --braid takes a command of that commit that is built."""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

import old_pools

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def run(*command, **extra):
    subprocess.run([str(part) for part in command], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, **extra)


def build(commit, folder):
    """The command of a commit, built below `folder`."""
    tree = folder / "tree"
    run("git", "-C", ROOT, "worktree", "add", "--detach", tree, commit)
    run("cmake", "-S", tree, "-B", folder / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
        "-DBRAID_BUILD_TESTS=OFF")
    run("cmake", "--build", folder / "build", "--target", "braid_command")
    return folder / "build" / "bin" / "braid"


def write_tsv(path, records):
    path.write_text("".join(f"{key}\t{value}\n" for key, value in records), encoding="utf-8")


def kill_writer(braid, pool, flags, records, folder):
    """Writes records one by one and kills the writer once it has acknowledged the last."""
    acknowledged = folder / "acknowledged"
    writer = subprocess.Popen([str(braid), "load", str(pool), "-", "--batch", "1", *flags,
                               "--acknowledge", str(acknowledged)],
                              text=True, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    writer.stdin.write("".join(f"{key}\t{value}\n" for key, value in records))
    writer.stdin.flush()  # and not closed: it waits for more
    for _ in range(600):
        if acknowledged.exists() and acknowledged.read_text("utf-8").count("\n") == len(records):
            break
        if writer.poll() is not None:
            raise SystemExit(f"the writer ended by itself with {writer.returncode}")
        time.sleep(0.05)
    else:
        raise SystemExit("the writer does not acknowledge what it was given")
    writer.send_signal(signal.SIGKILL)
    writer.wait()


def make(braid, wanted, pool, folder):
    flags = ["--design", wanted.design]
    tsv = folder / "records.tsv"
    for records in old_pools.stages():
        if records[0][1] is None:
            for key, _ in records:
                run(braid, "delete", pool, key, *flags)
        else:
            write_tsv(tsv, records)
            run(braid, "load", pool, tsv, *flags)
    if wanted.killed:
        kill_writer(braid, pool, flags, old_pools.late(), folder)
    else:
        write_tsv(tsv, old_pools.late())
        run(braid, "load", pool, tsv, "--batch", "1", *flags)


def pack(pool, target):
    """Times and owners are left out: nothing of the machine that made it."""
    def plain(member):
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return member
    with tarfile.open(target, "w:xz", preset=9) as archive:
        archive.add(pool, "pool", filter=plain)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("--braid", type=pathlib.Path)
    arguments = parser.parse_args()
    target = HERE / arguments.commit
    target.mkdir()
    with tempfile.TemporaryDirectory(dir=os.environ.get("BRAID_TMP")) as name:
        folder = pathlib.Path(name)
        try:
            braid = arguments.braid or build(arguments.commit, folder)
            for wanted in old_pools.POOLS:
                pool = folder / wanted.name
                make(braid, wanted, pool, folder)
                pack(pool, target / f"{wanted.name}.tar.xz")
                (folder / "acknowledged").unlink(missing_ok=True)
        finally:
            if (folder / "tree").exists():
                shutil.rmtree(folder / "tree")
                run("git", "-C", ROOT, "worktree", "prune")
    for path in sorted(target.iterdir()):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
