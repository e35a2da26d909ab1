#!/usr/bin/env python3
"""Runs braid on emulated persistent memory: a stock Debian kernel in QEMU, without KVM.

docs/evidence/vm-tests.md says what is tested, how long it takes, and what it does not prove.
"""

import argparse
import os
import pathlib
import random
import shutil
import sys

import guest_image
import power_cuts
import scenarios
from guest_image import Unavailable
from machine import QEMU
from results import Results

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = ("push", "night", "release")
GUEST_PROGRAMS = ["braid", "braid_conformance_tests", "braid_vm_writer"]


class Guest:
    """What every boot shares: the kernel, the first file system, a folder for images."""

    def __init__(self, folder, programs):
        self.folder = folder
        guest_image.find_tool(QEMU)
        self.kernel = guest_image.Kernel(folder / "kernels")
        tree = guest_image.Initramfs(folder / "initramfs", self.kernel)
        for program in GUEST_PROGRAMS:
            if not (programs / program).exists():
                raise Unavailable(f"{program} is not built: run scripts/build.sh release")
            tree.add_program(programs / program)
        self.initrd = tree.write(folder / "initramfs.cpio")
        shutil.rmtree(tree.tree)


class Run:
    """What the parts of a run share: results, the guest, size and seed."""

    def __init__(self, arguments):
        self.results = Results()
        self.require = arguments.require
        self.size = os.environ.get("BRAID_TEST_SIZE", "push")
        if self.size not in SIZES:
            sys.exit(f"BRAID_TEST_SIZE={self.size}: use {', '.join(SIZES)}")
        self.seed = int(os.environ.get("BRAID_SEED") or str(random.randrange(1, 1 << 32)), 0)
        self.results.facts |= {"size": self.size, "seed": self.seed}
        self.guest = None

    def attempt(self, name, action):
        """Does it; what is missing on this machine is skipped, or fails where it is required."""
        try:
            action()
            return True
        except Unavailable as error:
            if self.require:
                self.results.check(f"{name}: what it needs is there", False, str(error))
            else:
                self.results.skip(name, str(error))
            return False


# In the order they run; a part may use what one before it left in the images.
PARTS = {
    "classes": lambda run: scenarios.classes(run.results, run.guest),
    "memmap": lambda run: scenarios.memmap(run.results, run.guest),
    "eadr": lambda run: scenarios.eadr(run.results, run.guest),
    "unarmed": lambda run: scenarios.read_only(run.results, run.guest),
    "regions": lambda run: scenarios.regions(run.results, run.guest),
    "virtio": lambda run: scenarios.virtio_pmem(run.results, run.guest),
    "cxl": lambda run: scenarios.cxl(run.results, run.guest),
    "media-error": lambda run: scenarios.media_error(run.results, run.guest),
    "conformance": lambda run: scenarios.conformance(run.results, run.guest, run.size, run.seed),
    "kills": lambda run: power_cuts.kills(run.results, run.guest, run.size, run.seed),
    "cache-loss": lambda run: power_cuts.cache_losses(run.results, run.guest, run.size, run.seed),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all")
    parser.add_argument("--require", action="store_true", help="fail when something is missing")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/release/bin")
    arguments = parser.parse_args()
    for part in arguments.parts:
        if part not in PARTS:
            parser.error(f"no part '{part}': use {', '.join(PARTS)}")
    return arguments


def main():
    arguments = parse_arguments()
    folder = ROOT / "build/vm"
    folder.mkdir(parents=True, exist_ok=True)
    run = Run(arguments)
    print(f"vm: size {run.size}, seed {run.seed}", flush=True)

    def make_guest():
        run.guest = Guest(folder, arguments.programs)

    if run.attempt("all tests in a virtual machine", make_guest):
        for name, part in PARTS.items():
            if name in arguments.parts or not arguments.parts:
                run.attempt(name, lambda part=part: part(run))
    run.results.write(folder / "vm.json")
    print(run.results.summary())
    return 1 if run.results.count("FAIL") else 0


if __name__ == "__main__":
    sys.exit(main())
