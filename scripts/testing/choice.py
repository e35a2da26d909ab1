"""What a push leaves out, chosen by a seed that is new in each run and printed, so that the pushes of
some days cover everything; what changed is never left out. SIZE=full leaves nothing out."""

import hashlib
import os
import random
import re
import subprocess


class Choice:
    """The shares of one run. `full`: everything is taken."""

    def __init__(self, seed, full=False):
        self.seed = seed
        self.full = full

    @classmethod
    def of_environment(cls, full):
        text = os.environ.get("BRAID_CHOICE", "")
        if text and not text.isdigit():
            raise SystemExit(f"BRAID_CHOICE={text}: must be a number, as a run prints it")
        return cls(int(text) if text else random.SystemRandom().randrange(1_000_000), full)

    def share(self, items, one_in, always=()):
        """A share of the items, one in so many, in their order. Which share it is hangs on the seed
        alone, so that `one_in` seeds that follow each other take everything; `always` are in it."""
        items = list(items)
        if self.full or one_in <= 1:
            return items
        order = sorted(items, key=lambda item: hashlib.sha256(str(item).encode()).digest())
        taken = set(order[self.seed % one_in::one_in]) | set(always)
        return [item for item in items if item in taken]

    def one_way_each(self, names):
        """Of tests that run for each store in several ways, Suite.Test/STORE_WAY: for each test every
        other store, in one way. Every pair of test and way and of store and way is there, every pair
        of test and store in one of two seeds that follow each other, and every triple in one of twice
        as many seeds as there are ways. Others are all taken."""
        if self.full:
            return list(names)
        tests, stores, ways = {}, {}, {}
        for name in names:
            test, store, way = parts_of(name)
            ways.setdefault((tests.setdefault(test, len(tests)), stores.setdefault(store, len(stores)),
                             bool(way)), []).append(name)
        taken = set()
        for (test, store, has_ways), found in ways.items():
            if not has_ways:
                taken.update(found)
            elif (test + store + self.seed) % 2 == 0:
                taken.add(found[((test + store) // 2 + self.seed // 2) % len(found)])
        return [name for name in names if name in taken]


def parts_of(name):
    """Test, store and way of Suite.Test/STORE_WAY."""
    found = re.fullmatch(r"(.*)/(\w+?)_((?:tiny|default)_(?:background|inline))", name)
    return found.groups() if found else (name, "", "")


def changed_files(root):
    """The files that differ from what is known to others: uncommitted ones, those of commits that
    upstream lacks, else of the last ten commits. BRAID_BASE names another commit."""
    def git(*arguments):
        done = subprocess.run(["git", "-C", root, *arguments], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False)
        return done.stdout.split("\n") if done.returncode == 0 else []

    base = os.environ.get("BRAID_BASE", "")
    if not base:
        ahead = git("rev-list", "--count", "@{upstream}..HEAD")
        base = "@{upstream}" if ahead and ahead[0] not in ("", "0") else "HEAD~10"
    files = set(git("diff", "--name-only", base)) | set(git("ls-files", "--others",
                                                            "--exclude-standard"))
    return files - {""}
