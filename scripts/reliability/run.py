"""Runs stages slice by slice, and keeps on disk what was done, so that a stop loses one slice."""

import contextlib
import dataclasses
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from reliability import parse

SLICE_SECONDS = 240
FIRST_SLICE_SECONDS = 20  # while the rate is not known
# Over what a slice was given: tests end a round, sanitizers are slow, machines are shared.
PATIENCE_SECONDS = 3600
KEPT_FAILURES = 20


def write_atomically(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(json.dumps(content, indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


@contextlib.contextmanager
def scratch_folder(name, usual):
    """A folder for one slice, in the place that the environment names. It goes with what a program
    that was killed has left there."""
    place = os.environ.get(name) or (usual if os.access(usual, os.W_OK) else None)
    folder = tempfile.mkdtemp(prefix="braid-reliability-", dir=place)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclasses.dataclass
class Output:
    code: int
    text: str
    ending: str


class Run:
    """One call of reliability.py: where things are, and the state of size `size`."""

    def __init__(self, root, size, jobs, cap=None, restart=False):
        self.root, self.size, self.jobs, self.cap = root, size, jobs, cap
        self.folder = root / "build/reliability"
        self.logs = self.folder / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / f"state-{size}.json"
        self.log = None
        self.state = {"size": size, "begun": now(), "revisions": [], "cap": None, "stages": {}}
        if self.path.exists() and not restart:
            self.state = json.loads(self.path.read_text())

    def save(self):
        self.state["ended"] = now()
        write_atomically(self.path, self.state)

    def progress_of(self, stage):
        return self.state["stages"].setdefault(
            stage.name, {"done": 0, "target": None, "share": 0, "counts": {}, "seed": 1,
                         "seconds": 0, "failures": [], "failure_count": 0, "skipped": ""})

    # ---- Processes ----------------------------------------------------------------------------

    def environment(self, more):
        names = {"BRAID_SEED", "BRAID_TEST_SIZE", "BRAID_TEST_SECONDS", "BRAID_CRASH_SECONDS",
                 "BRAID_CRASH_REPLAY", "BRAID_MUTANT"}
        kept = {key: value for key, value in os.environ.items() if key not in names}
        suppressions = self.root / "cmake/tsan.supp"
        kept.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
        kept.setdefault("TSAN_OPTIONS", f"second_deadlock_stack=1 suppressions={suppressions}")
        return {**kept, "BRAID_JOBS": str(self.jobs), **more}

    def execute(self, command, log, more, limit):
        """Runs it, its output in a file; a stop or a hang takes all its children along."""
        with open(log, "wb") as file:
            process = subprocess.Popen(command, cwd=self.root, env=self.environment(more),
                                       stdin=subprocess.DEVNULL, stdout=file,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            ending = ""
            try:
                process.wait(limit)
            except subprocess.TimeoutExpired:
                ending = f"hangs: not finished after {limit:.0f} s"
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        text = log.read_text(encoding="utf-8", errors="replace")
        return Output(process.returncode, text, ending or f"ends with code {process.returncode}")

    def program(self, stage, command, seed, more=None, seconds=0, size=None):
        """One run of a slice. `seed`: None where the program takes none."""
        settings = {"BRAID_TEST_SIZE": size or self.size}
        settings |= {key: str(value) for key, value in (more or {}).items()}
        if seed is not None:
            settings["BRAID_SEED"] = str(seed)
        at = self.progress_of(stage)["done"] if seed is None else seed
        self.log = self.logs / f"{self.size}-{stage.name}-{at}.log"
        self.replay = " ".join([*(f"{key}={value}" for key, value in settings.items()),
                                *map(shlex.quote, command)])
        with scratch_folder("BRAID_TMP", "/dev/shm") as memory, \
                scratch_folder("BRAID_TMP_FILE", "/var/tmp") as file:
            places = {"BRAID_TMP": memory, "BRAID_TMP_FILE": file}
            return self.execute(command, self.log, {**settings, **places},
                                seconds * 4 + PATIENCE_SECONDS)

    def listing(self, command):
        return subprocess.run(command, cwd=self.root, env=self.environment({}), check=True,
                              text=True, stdout=subprocess.PIPE).stdout

    def build(self, stage, built):
        """Builds what is not built yet. What went wrong, or an empty text."""
        for preset, targets in stage.builds:
            if (preset, *targets) in built:
                continue
            say(f"{stage.name}: building {preset} {' '.join(targets)}")
            log = self.logs / f"build-{preset}-{stage.name}.log"
            output = self.execute(["bash", "scripts/build.sh", preset, *targets], log, {}, None)
            if output.code != 0:
                sys.stderr.write("\n".join(output.text.splitlines()[-20:]) + "\n")
                return f"the build of {preset} failed: scripts/build.sh {preset} shows why"
            built.add((preset, *targets))
        return ""

    # ---- Stages -------------------------------------------------------------------------------

    def stage(self, stage, built, clock=time.monotonic):
        """Runs a stage until its target, its time or a failure. True when nothing failed."""
        progress = self.progress_of(stage)
        progress["skipped"] = ""
        failures_before = progress["failure_count"]
        problem = self.build(stage, built)
        target = None
        if not problem:
            try:
                target = stage.target(self.size, self)
            except (OSError, subprocess.CalledProcessError) as error:
                problem = f"what there is to run can't be listed: {error}"
        if not problem and target is None:
            progress["skipped"] = f"not in size {self.size}"
            self.save()
            return True
        if not target:
            self.note_failure(stage, progress, [problem or "there is nothing to run"], "", None)
            self.save()
            return False
        progress["target"] = target
        begin = clock()
        while stage.share(self.size, target, progress["done"], progress["counts"]) < 1:
            left = SLICE_SECONDS if self.cap is None else self.cap - (clock() - begin)
            if left < 1:
                break
            before = clock()
            result = stage.slice(self, progress["seed"], progress["done"],
                                 self.slice_seconds(progress, left))
            took = clock() - before
            if result.skipped:
                progress["skipped"] = result.skipped
                say(f"{stage.name}: skipped: {result.skipped}")
                break
            self.add(stage, progress, result, took)
            self.save()
            self.show(stage, progress)
            if result.failures and (stage.seeded or not result.done):
                break
        self.save()
        return progress["failure_count"] == failures_before

    @staticmethod
    def slice_seconds(progress, left):
        """A slice at most; near the end only what is missing, at the rate so far."""
        seconds = min(left, SLICE_SECONDS)
        if 0 < progress["share"] < 1 and progress["seconds"] > 0:
            missing = progress["seconds"] * (1 - progress["share"]) / progress["share"]
            seconds = min(seconds, missing * 1.1 + 2)
        elif progress["seconds"] == 0:
            seconds = min(seconds, FIRST_SLICE_SECONDS)
        return max(seconds, 2)

    def add(self, stage, progress, result, took):
        progress["done"] += result.done
        progress["seconds"] = round(progress["seconds"] + took, 1)
        for key, number in result.counts.items():
            progress["counts"][key] = progress["counts"].get(key, 0) + number
        if result.curves:
            progress.setdefault("curves", {}).update(result.curves)
        progress["seed"] = result.next_seed or progress["seed"] + 1
        progress["share"] = stage.share(self.size, progress["target"], progress["done"],
                                        progress["counts"])
        if result.failures:
            text = self.log.read_text(errors="replace") if self.log else ""
            self.note_failure(stage, progress, result.failures, text, self.log)
        elif self.log is not None:
            self.log.unlink(missing_ok=True)

    def note_failure(self, stage, progress, failures, text, log):
        replays = parse.replays(text) or ([f"replay: {self.replay}"] if log else [])
        progress["failure_count"] += len(failures)
        room = KEPT_FAILURES - len(progress["failures"])
        progress["failures"] += [{"what": what, "replay": replays[:3]}
                                 for what in failures[:max(room, 0)]]
        for what in failures:
            say(f"{stage.name}: FAILED: {what}")
        for line in replays[:3]:
            say(f"{stage.name}: {line}")
        if log is not None:
            say(f"{stage.name}: the log is {log.relative_to(self.root)}")

    def show(self, stage, progress):
        share, seconds = progress["share"], progress["seconds"]
        left = f"{duration(seconds * (1 - share) / share)} left" if 0 < share < 1 else (
            "done" if share >= 1 else "no rate yet")
        say(f"{stage.name}: {progress['done']:,} of {progress['target']:,} {stage.unit}, "
            f"{share * 100:.1f} %, {left}")


def duration(seconds):
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def say(text):
    print(text, file=sys.stderr, flush=True)
