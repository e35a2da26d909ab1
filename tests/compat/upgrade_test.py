#!/usr/bin/env python3
"""Pools that older versions have written open, read, verify, and can be written on:
upgrade_test.py <folder of the built programs>. make_pools.py says how they were made."""

import contextlib
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

import old_pools

HERE = pathlib.Path(__file__).resolve().parent
BRAID = pathlib.Path(sys.argv[1]).resolve() / "braid"
# Folders are named for the commits whose code wrote them, as git knows them.
COMMITS = sorted(path.name for path in HERE.iterdir() if path.is_dir() and any(path.glob("*.xz")))
MOST_BYTES = 200 * 1024


def braid(*arguments, status=0):
    done = subprocess.run([BRAID, *map(str, arguments)], text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == status, f"braid {arguments}: {done.returncode}\n{done.stderr}"
    return done.stdout


@contextlib.contextmanager
def unpacked(archive):
    """A fresh copy of an old pool."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("BRAID_TMP")) as folder:
        with tarfile.open(archive) as packed:
            # Debian 12's Python has no filters; the archives are our own.
            packed.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        pool = pathlib.Path(folder) / "pool"
        pool.chmod(0o700)
        yield pool


class UpgradeTest(unittest.TestCase):
    def assert_format(self, pool, version):
        self.assertRegex(braid("info", pool), rf"(?m)^format version +{version}$")

    def for_each_pool(self, check):
        """Calls check(old, pool) for each, in a sub-test named for it."""
        self.assertTrue(COMMITS)
        for commit in COMMITS:
            for old in old_pools.POOLS:
                archive = HERE / commit / f"{old.name}.tar.xz"
                with self.subTest(commit=commit, pool=old.name), unpacked(archive) as pool:
                    self.assertLess(archive.stat().st_size, MOST_BYTES)
                    written = old_pools.OLD_FORMATS.get(commit, old_pools.NEWEST_FORMAT)
                    self.assert_format(pool, written)
                    check(old, pool)

    def assert_holds(self, pool, content):
        """A scan shows exactly that; a sample of gets agrees."""
        shown = dict(line.split("\t") for line in braid("scan", pool).splitlines())
        self.assertEqual(shown.keys(), content.keys())
        self.assertEqual(shown, content)
        for key in list(content)[::400]:
            self.assertEqual(braid("get", pool, key), content[key] + "\n")

    def test_it_says_what_it_is_without_being_opened(self):
        def check(old, pool):
            facts = braid("info", pool)
            self.assertRegex(facts, rf"(?m)^design +{old.design}$")
            self.assertRegex(facts, rf"(?m)^closed in order +{'no' if old.killed else 'yes'}")
        self.for_each_pool(check)

    def test_it_verifies_and_holds_what_was_written_then(self):
        content = old_pools.content()

        def check(_, pool):
            braid("verify", pool)
            self.assert_holds(pool, content)
        self.for_each_pool(check)

    def test_it_can_be_written_on_and_opened_again(self):
        def check(_, pool):
            content = old_pools.content()
            records = pool.parent / "records.tsv"
            added = {f"new/{n:05d}": f"{n} " + "y" * (n % 150) for n in range(3000)}
            changed = {key: "changed" for key in list(content)[::5]}
            records.write_text("".join(f"{key}\t{value}\n" for key, value in
                                       (*added.items(), *changed.items())), encoding="utf-8")
            braid("load", pool, records)
            content.update(added)
            content.update(changed)
            for key in list(content)[:3]:
                braid("delete", pool, key)
                del content[key]
            self.assert_holds(pool, content)
            braid("verify", pool)
            self.assert_format(pool, old_pools.NEWEST_FORMAT)
        self.for_each_pool(check)

    def test_it_can_be_repaired(self):
        content = old_pools.content()

        def check(_, pool):
            salvaged = pool.parent / "salvaged"
            braid("repair", pool, salvaged)
            self.assert_holds(salvaged, content)
        self.for_each_pool(check)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
