"""Cycles of power cuts. A writer in the guest acknowledges each operation over the serial line; the
host ends the machine at a random moment and boots it again; what was acknowledged must be there.

Two kinds of cut. Killing QEMU keeps every store of the guest, also those in its caches: that proves
the mount, open and recovery path, and not one flush or fence. The cut of the plugin keeps what the
guest flushed and fenced, and a random share of the rest.
"""

import dataclasses
import pathlib
import random
import re
import shutil
import subprocess
import time

import guest_image
import machine
from guest_image import Unavailable
from machine import Machine

THREADS = 2
# Operations a thread makes before it closes the pool: more than it gets to before the cut.
ENDLESS = 1_000_000
MOMENTS = ("booting", "opening", "writing", "writing", "writing", "closing")
FIRST_MOMENTS = ("writing", "opening", "closing")
BOOT_SECONDS = 120


@dataclasses.dataclass
class Cycle:
    """What the host knows after a cut."""
    moment: str
    problem: str = ""
    acknowledged: int = 0
    was_opening: bool = False
    replayed: int = 0


class PowerCuts:
    """One pool on one file system, through all cycles."""

    moments = MOMENTS
    operations_to_close = 2000
    waits = 0  # 1: the guest waits until the host is ready
    # How long after the stage of that name began the cut comes, at most.
    longest = {"opening": 0.05, "writing": 2.5, "closing": 0.3}

    def __init__(self, guest, name, fs, seed):
        self.guest = guest
        self.name = name
        self.fs = fs
        self.random = random.Random(seed)
        self.seed = seed
        self.acked = [0] * THREADS
        self.image = guest.folder / f"{name}.img"
        # What the newest boot found: to look at when that was wrong.
        self.before = guest.folder / f"{name}-before.img"
        self.media_class = None
        self.not_cut = 0  # machines that switched off before the cut came
        self.force = ""

    def devices(self):
        return machine.nvdimm(0, self.image, fixed=True)

    def settings(self, **more):
        return {"fs": self.fs, "seed": self.random.randrange(1, 1 << 48),
                "acked": ",".join(map(str, self.acked)), "operations": ENDLESS,
                "force": self.force, **more}

    def boot(self, **options):
        return Machine(self.guest, "writer", self.devices(), log=f"{self.name}.log", **options)

    def prepare(self):
        """A new image with a new file system. Returns what went wrong."""
        machine.make_image(self.image, 192 if self.fs == "ext4" else 512)
        with self.boot(settings=self.settings(fresh=1, seed=0)) as vm:
            if vm.finish(BOOT_SECONDS) and "@end" in vm.lines and "@mounted" in vm.lines:
                return ""
            return "the file system could not be made: " + vm.console_tail()

    def extra(self):
        """More arguments for QEMU in a cycle that will be cut."""
        return []

    def cut(self, vm):
        """Ends the machine; returns what went wrong."""
        vm.kill()
        return ""

    def cycle(self, moment):
        result = Cycle(moment)
        operations = self.operations_to_close if moment == "closing" else ENDLESS
        settings = self.settings(operations=operations, wait=self.waits)
        machine.copy_image(self.image, self.before)
        with self.boot(settings=settings, extra=self.extra()) as vm:
            self._reach(vm, moment)
            problem = self.cut(vm)
            self._take_notes(vm, result)
            result.problem = result.problem or problem
        return result

    def _reach(self, vm, moment):
        """Reads until the moment of the cut, or until something is wrong."""
        if moment == "booting":
            vm.listen(self.random.uniform(0.5, 6))
            return
        if vm.wait_for(rf"^@(stage {moment}|fail|writer|problem)", BOOT_SECONDS):
            # Short waits more often than long ones: the first steps of a stage matter most.
            vm.listen(self.longest[moment] * self.random.random() ** 2)

    def _take_notes(self, vm, result):
        """What the guest said before it died counts, whatever comes after."""
        before = sum(self.acked)
        stage = ""
        for line in vm.lines:
            if match := re.fullmatch(r"@ack (\d) (\d+)", line):
                self.acked[int(match[1])] = int(match[2])
            elif match := re.fullmatch(r"@resumed (\d+) (\d+)", line):
                self.acked = [int(match[1]), int(match[2])]
                before = sum(self.acked)
            elif match := re.match(r"@opened clean=\d replayed=(\d+) class=(\w+)", line):
                result.replayed = int(match[1])
                self.media_class = match[2]
            elif line.startswith("@stage"):
                stage = line.split()[1]
            elif line.startswith(("@fail", "@problem")):
                result.problem = result.problem or line[1:]
        result.acknowledged = sum(self.acked) - before
        result.was_opening = stage == "opening"
        if not result.problem and result.moment != "booting" and not stage:
            result.problem = "the writer did not start"
        if result.problem:
            result.problem += "\n" + vm.console_tail()

    def last_check(self):
        """A boot that is not cut: opens, checks, writes a little, closes."""
        machine.copy_image(self.image, self.before)
        with self.boot(settings=self.settings(operations=20)) as vm:
            ended = vm.finish(BOOT_SECONDS)
            result = Cycle("not cut")
            self._take_notes(vm, result)
            if not result.problem and not (ended and "@writer code=0" in vm.lines):
                result.problem = "the last check did not end well\n" + vm.console_tail()
            return result

    def remove(self):
        self.image.unlink(missing_ok=True)
        self.before.unlink(missing_ok=True)


class CacheLossCuts(PowerCuts):
    """Cuts by the plugin: caches are lost but for a random share of their lines."""

    moments = [moment for moment in MOMENTS if moment != "booting"]
    operations_to_close = 200
    waits = 1
    longest = {"opening": 0.6, "writing": 8, "closing": 1}

    def __init__(self, guest, name, fs, seed, plugin):
        super().__init__(guest, name, fs, seed)
        self.plugin = plugin
        self.control = guest.folder / f"{name}.cut"
        self.after = guest.folder / f"{name}-after.img"
        self.reports = []

    def extra(self):
        self.control.unlink(missing_ok=True)
        arguments = {"image": self.image, "base": f"{machine.NVDIMM_ADDRESS:x}", "out": self.after,
                     "control": self.control, "keep": self.random.choice((0, 5, 50, 95)),
                     "seed": self.random.randrange(1 << 32)}
        return ["-plugin", ",".join([str(self.plugin), *(f"{name}={value}" for name, value in
                                                         arguments.items())])]

    def order(self, what):
        fresh = self.control.with_suffix(".new")
        fresh.write_text(what + "\n")
        fresh.replace(self.control)

    def _reach(self, vm, moment):
        if vm.wait_for(r"^@mounted", BOOT_SECONDS):
            self.order("arm")
            deadline = time.monotonic() + 30
            while "armed" not in vm.errors() and time.monotonic() < deadline:
                vm.read(0.05)
            vm.say("go")
            super()._reach(vm, moment)

    def cut(self, vm):
        if vm.process.poll() is None:
            self.order(f"cut {self.random.randrange(300)}")
            vm.finish(60)
        vm.kill()
        self.control.unlink(missing_ok=True)
        self.reports.append(vm.errors().strip())
        if vm.process.returncode == 0 and "@end" in vm.lines:
            self.not_cut += 1
            return ""
        if vm.process.returncode != 42:
            return f"the plugin did not cut the power (QEMU's status {vm.process.returncode})"
        self.after.replace(self.image)
        return ""


def run_cycles(results, cuts, count, title, first=0):
    """Returns whether every acknowledged operation was there after each cut."""
    if problem := cuts.prepare():
        return results.check(title, False, problem)
    done = []
    # A machine that switched off before its cut came does not count: another one is cut.
    while len(done) - cuts.not_cut < count and len(done) < 2 * count + 3:
        # A short run has the important moments too.
        at = first + len(done)
        moment = FIRST_MOMENTS[at] if at < len(FIRST_MOMENTS) else cuts.random.choice(cuts.moments)
        done.append(cuts.cycle(moment))
        if done[-1].problem:
            break
    if not done[-1].problem:
        done.append(cuts.last_check())
    problem = done[-1].problem
    acknowledged = sum(cycle.acknowledged for cycle in done)
    facts = {"cuts": sum(cycle.moment != "not cut" for cycle in done) - cuts.not_cut,
             "not cut in time": cuts.not_cut, "acknowledged": acknowledged, "seed": cuts.seed,
             "while opening": sum(cycle.was_opening for cycle in done),
             "entries replayed": sum(cycle.replayed for cycle in done), "class": cuts.media_class}
    results.facts[title] = facts
    detail = ", ".join(f"{value} {key}" if isinstance(value, int) and key != "seed"
                       else f"{key} {value}" for key, value in facts.items())
    if problem:
        detail = f"boot {len(done)} ({done[-1].moment}), seed {cuts.seed}: {problem}"
    elif cuts.media_class != "cache_line":
        problem = "wrong class"
    elif facts["cuts"] < count:
        problem = "not all cuts came in time"
    elif acknowledged == 0:
        problem = "nothing acknowledged"
    right = results.check(title, not problem,
                          detail if problem in detail else f"{problem}: {detail}")
    if right:
        cuts.remove()
    return right


KILLS = {"push": 3, "night": 50, "release": 1000}
CACHE_LOSSES = {"push": 3, "night": 50, "release": 300}


def halves(count):
    """File system, number of cuts, and how many of the first moments the other one has."""
    return ("ext4", count - count // 2, 0), ("xfs", count // 2, count - count // 2)


def kills(results, guest, size, seed):
    """The cuts by killing QEMU, half on each file system."""
    count = KILLS[size]
    for fs, share, first in halves(count):
        cuts = PowerCuts(guest, f"kill-{fs}", fs, seed)
        run_cycles(results, cuts, share,
                   f"acknowledged writes survive {share} kills of the machine on {fs}", first)
    print("        (A kill of QEMU proves the mount, open and recovery path, and not one flush or "
          "fence.)")


def build_plugin(folder):
    """Compiles the plugin; it fits QEMU 7.2 alone, which gives plugins no registers of its own."""
    version = guest_image.run([machine.QEMU, "--version"])
    if not re.search(r"version 7\.2\.", version):
        raise Unavailable(f"the plugin is for QEMU 7.2, here is {version.splitlines()[0]}")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise Unavailable("no C compiler for the power-cut plugin")
    plugin = folder / "power_cut.so"
    source = pathlib.Path(__file__).resolve().parent / "plugin/power_cut.c"
    subprocess.run([compiler, "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC",
                    "-shared", "-fvisibility=hidden", "-o", str(plugin), str(source)], check=True)
    return plugin


def cache_losses(results, guest, size, seed):
    """The cuts that lose the caches: first a control that must fail, then braid."""
    plugin = build_plugin(guest.folder)
    control_never_flushes(results, guest, plugin, seed)
    count = CACHE_LOSSES[size]
    for fs, share, first in halves(count):
        cuts = CacheLossCuts(guest, f"cache-loss-{fs}", fs, seed, plugin)
        title = f"acknowledged writes survive {share} cuts with loss of the caches on {fs}"
        run_cycles(results, cuts, share, title, first)
        results.facts[title]["each cut"] = cuts.reports


def control_never_flushes(results, guest, plugin, seed):
    """braid itself, told that the caches are safe, flushes nothing: the cut must show it."""
    name = "a writer that never flushes loses acknowledged writes at such a cut"
    cuts = CacheLossCuts(guest, "control", "ext4", seed, plugin)
    cuts.force = "force=byte"
    problem = cuts.prepare()
    cycles = []
    while not problem and len(cycles) < 3:
        cycles.append(cuts.cycle("writing"))
        problem = cycles[-1].problem
    acknowledged = sum(cycle.acknowledged for cycle in cycles)
    first = problem.splitlines()[0] if problem else "nothing was missing"
    caught = acknowledged > 0 and first.startswith(("fail lost", "fail open", "fail verify"))
    results.check(name, caught, f"{acknowledged} acknowledged; then: {first}")
    cuts.remove()
