#!/usr/bin/env python3
"""Runs braid on emulated persistent memory: a stock Debian kernel in QEMU, without KVM.

docs/vm-tests.md says what is tested, how long it takes, and what it does not prove.
"""

import argparse
import os
import pathlib
import shutil
import sys

import guest_image
import scenarios
from guest_image import Unavailable
from machine import QEMU
from results import Results

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUEST_PROGRAMS = ["braid", "braid_conformance_tests"]


class Guest:
    """What every boot of one kernel shares."""

    def __init__(self, meta_package, folder, programs):
        self.folder = folder
        self.kernel = guest_image.Kernel(meta_package, folder / "kernels")
        tree = guest_image.Initramfs(folder / "initramfs", self.kernel)
        for program in GUEST_PROGRAMS:
            if not (programs / program).exists():
                raise Unavailable(f"{programs / program} is not built: run scripts/build.sh release")
            tree.add_program(programs / program)
        self.initrd = tree.write(folder / f"initramfs-{self.kernel.version}.cpio")
        shutil.rmtree(tree.tree)


PARTS = {
    "classes": scenarios.classes,
    "eadr": scenarios.eadr,
    "unarmed": scenarios.read_only,
    "virtio": scenarios.virtio_pmem,
    "cxl": scenarios.cxl,
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
    results = Results()
    try:
        guest_image.find_tool(QEMU)
        guest = Guest(guest_image.CLOUD_KERNEL, folder, arguments.programs)
        for name, part in PARTS.items():
            if name in arguments.parts or not arguments.parts:
                part(results, guest)
    except Unavailable as error:
        if arguments.require:
            results.check("everything that is needed is there", False, str(error))
        else:
            results.skip("the tests in a virtual machine", str(error))
    results.write(folder / "vm.json")
    print(results.summary())
    return 1 if results.count("FAIL") else 0


if __name__ == "__main__":
    sys.exit(main())
