#!/usr/bin/env python3
"""Runs braid on emulated persistent memory: a stock Debian kernel in QEMU, without KVM.

docs/vm-tests.md says what is tested, how long it takes, and what it does not prove.
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
    """What every boot of one kernel shares."""

    def __init__(self, meta_package, folder, programs):
        self.folder = folder
        guest_image.find_tool(QEMU)
        self.kernel = guest_image.Kernel(meta_package, folder / "kernels")
        tree = guest_image.Initramfs(folder / "initramfs", self.kernel)
        for program in GUEST_PROGRAMS:
            if not (programs / program).exists():
                raise Unavailable(f"{programs / program} is not built: run scripts/build.sh release")
            tree.add_program(programs / program)
        self.initrd = tree.write(folder / f"initramfs-{self.kernel.version}.cpio")
        shutil.rmtree(tree.tree)


class Run:
    """What the parts of a run share: results, the guests, the size of the run."""

    def __init__(self, arguments):
        self.results = Results()
        self.folder = ROOT / "build/vm"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.programs = arguments.programs
        self.size = os.environ.get("BRAID_TEST_SIZE", "push")
        if self.size not in SIZES:
            sys.exit(f"BRAID_TEST_SIZE={self.size}: use {', '.join(SIZES)}")
        self.seed = int(os.environ.get("BRAID_SEED") or str(random.randrange(1, 1 << 32)), 0)
        self.guests = {}

    def guest(self, meta_package=guest_image.CLOUD_KERNEL):
        if meta_package not in self.guests:
            self.guests[meta_package] = Guest(meta_package, self.folder, self.programs)
        return self.guests[meta_package]


# In the order they run; a part may use what one before it left in the images.
PARTS = {
    "classes": lambda run: scenarios.classes(run.results, run.guest()),
    "eadr": lambda run: scenarios.eadr(run.results, run.guest()),
    "unarmed": lambda run: scenarios.read_only(run.results, run.guest()),
    "virtio": lambda run: scenarios.virtio_pmem(run.results, run.guest()),
    "cxl": lambda run: scenarios.cxl(run.results, run.guest()),
    "media-error": lambda run: scenarios.media_error(run.results, run.guest()),
    "conformance": lambda run: scenarios.conformance(run.results, run.guest(), run.size, run.seed),
    "kills": lambda run: power_cuts.kills(run.results, run.guest(), run.size, run.seed),
    "cache-loss": lambda run: power_cuts.cache_losses(run.results, run.guest(), run.size, run.seed),
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
    run = Run(arguments)
    print(f"vm: size {run.size}, seed {run.seed} (BRAID_SEED repeats the moments of the cuts)")
    run.results.facts["size"] = run.size
    run.results.facts["seed"] = run.seed
    for name, part in PARTS.items():
        if arguments.parts and name not in arguments.parts:
            continue
        try:
            part(run)
        except Unavailable as error:
            if arguments.require:
                run.results.check(f"{name}: everything that is needed is there", False, str(error))
            else:
                run.results.skip(name, str(error))
    run.results.write(run.folder / "vm.json")
    print(run.results.summary())
    return 1 if run.results.count("FAIL") else 0


if __name__ == "__main__":
    sys.exit(main())
