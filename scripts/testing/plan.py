"""What a test run does: its steps, in two lanes side by side, and the verdict.

The first lane compiles C++ and runs its tests, a preset after the other. The second runs what spends
its time in Maven, pip and small clusters, as soon as the release library is there: it fills the
moments in which a link, a download or a waiting test leaves a processor idle."""

import os
import pathlib
import re
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree

import count_tests
from testing import budget as budgets
from testing import choice as choices
from testing import gtest_programs, machine, mutant_share, processes

# Programs whose tests share processes; those of all others look at the whole process.
SHARING = ("unit", "tools", "conformance", "crash", "model", "concurrency")
PROGRAMS = SHARING + ("kill", "faults", "limits", "damage", "command", "complaints", "budget")
PRESETS = ("release", "debug", "asan", "tsan", "ubsan")
FIRST_LANE = ("format", "release", "crash", "mutants", "tsan-concurrency", "asan-model")
SECOND_LANE = ("java", "python", "hadoop")
PARTS = FIRST_LANE + SECOND_LANE + ("fuzz", "vm") + PRESETS[1:]
PROGRESS_SECONDS = 60
# Shares of a run that is in time: testing/budget.py makes them smaller.
ONE_CRASH_TEST_IN = 3
ONE_SANITIZED_TEST_IN = {"tsan-concurrency": 2, "asan-model": 3}
# Of the work of random tests, whose seed is new in each run, and of crash images.
ONE_TRIAL_IN = 6
ONE_IMAGE_IN = 4


class Run:
    def __init__(self, root, scratch):
        self.root = root
        self.scratch = scratch
        self.begin = time.monotonic()
        self.results = root / "build/test-results"
        self.jobs = machine.jobs()
        full = os.environ.get("BRAID_TEST_SHARE", "push") == "full"
        self.choice = choices.Choice.of_environment(full)
        self.budget = budgets.Budget(full)
        self.pieces = 1  # that shares are cut into, in the step of the first lane that runs
        self.steps = []  # name, seconds, how busy the processors were
        self.lock = threading.Lock()
        self.library_built = threading.Event()

    # ---- What it says ------------------------------------------------------------------------

    def say(self, text):
        with self.lock:
            print(f"[{time.monotonic() - self.begin:4.0f}s] {text}", flush=True)

    def timed(self, name, work):
        begin, ticks = time.monotonic(), machine.processor_ticks()
        try:
            return work()
        finally:
            with self.lock:
                self.steps.append((name, time.monotonic() - begin, machine.busy_share(ticks)))

    def record(self, step, failed, log):
        """One outcome of a step that counts no tests of its own."""
        count_tests.record(str(self.results / f"{step}.xml"), step, "1" if failed else "0", str(log))

    def fail(self, step, log, why):
        text = log.read_text(errors="replace") if log.exists() else ""
        self.say(f"{step}: {why}; all of it is in {log.relative_to(self.root)}")
        print("\n".join(text.splitlines()[-40:]), flush=True)
        self.record(step, True, log)

    # ---- Shares ------------------------------------------------------------------------------

    def look_at_the_time(self, step):
        """Behind the step's build: makes its share as large as there is time for."""
        self.pieces = self.budget.pieces_of_share(step, time.monotonic() - self.begin)
        if self.pieces > 1:
            self.say(f"{step}: 1/{self.pieces} of its share, to end within "
                     f"{self.budget.seconds // 60} minutes (BRAID_TEST_MINUTES)")

    def one_in(self, usual):
        return usual * self.pieces

    # ---- Commands ----------------------------------------------------------------------------

    def command(self, arguments, log, progress=None):
        """Runs a command with its output in a file; tells progress(text) now and then. Returns its
        exit code."""
        told = time.monotonic()
        environment = dict(os.environ, BRAID_JOBS=str(self.jobs))
        if not self.choice.full:
            environment["BRAID_CHOICE"] = str(self.choice.seed)

        def tick():
            nonlocal told
            if progress and time.monotonic() - told > PROGRESS_SECONDS:
                told = time.monotonic()
                progress(log.read_text(errors="replace")[-4000:])

        with open(log, "wb") as out:
            code, stuck = processes.run([str(argument) for argument in arguments], out,
                                        environment, tick)
        if stuck:
            with open(log, "ab") as out:
                out.write(f"\n{stuck}\n".encode())
        return code

    def build(self, step, preset, *targets):
        log = self.results / f"{step}-build.log"

        def progress(text):
            found = re.findall(r"^\[(\d+)/(\d+)\]", text, re.MULTILINE)
            if found:
                self.say(f"{step}: building, {found[-1][0]} of {found[-1][1]}")

        self.say(f"{step}: building")
        code = self.timed(f"{step}: build", lambda: self.command(
            ["bash", "scripts/build.sh", preset, *targets], log, progress))
        if code != 0:
            self.fail(f"{step}-build", log, "the build failed")
        return code == 0

    def script(self, step, *arguments):
        """Runs a script of ours as one test."""
        log = self.results / f"{step}.log"
        self.say(f"{step}: checking")
        code = self.timed(step, lambda: self.command(["bash", *arguments], log))
        if code != 0:
            self.fail(step, log, "failed")
            return
        self.record(step, False, log)
        lines = log.read_text(errors="replace").splitlines()
        self.say(f"{step}: {lines[-1] if lines else 'clean'}")

    def counted(self, step, script, *arguments):
        """Runs tests that Maven or pytest counts one by one."""
        log = self.results / f"{step}.log"
        self.say(f"{step}: testing")
        code = self.timed(step, lambda: self.command(
            ["bash", script, *arguments, self.results.relative_to(self.root)], log))
        reports = sorted(self.results.glob(f"{step}-*.xml"))
        if reports:
            self.say(f"{step}: {count_tests.in_short(reports)}")
        # A failure that is not a test's: the build's, or a package index out of reach.
        if code != 0 and not any(re.search(r"<(failure|error)[ >/]", report.read_text())
                                 for report in reports):
            self.fail(f"{step}-build", log, "failed")

    # ---- GoogleTest and ctest ------------------------------------------------------------------

    def programs(self, preset, labels):
        environment = {"UBSAN_OPTIONS": "print_stacktrace=1"}
        if preset == "tsan":
            environment["TSAN_OPTIONS"] = \
                f"second_deadlock_stack=1 suppressions={self.root}/cmake/tsan.supp"
        found = []
        for label in labels:
            path = self.root / f"build/{preset}/bin/braid_{label}_tests"
            found.append(gtest_programs.Program(path, label, label not in SHARING,
                                                tuple({**environment, **self.part_of(label)}
                                                      .items())))
        return found

    def part_of(self, label):
        """How much of its random work a program does in a push, and which, unless set for all."""
        if self.choice.full:
            return {}
        usual = ONE_IMAGE_IN if label == "crash" else self.one_in(ONE_TRIAL_IN)
        part = {"BRAID_TEST_PART": str(usual)}
        if label == "crash":  # all other programs draw one of their own
            part["BRAID_SEED"] = str(self.choice.seed + 1)
        return {name: value for name, value in part.items() if name not in os.environ}

    def chosen(self, program, names):
        if program.label == "conformance":
            return self.choice.one_way_each(names)
        if program.label == "crash":
            stores = [name for name in names if "_" in gtest_programs.parameter_of(name)]
            taken = set(self.choice.share(stores, self.one_in(ONE_CRASH_TEST_IN)))
            return [name for name in names if name in taken or name not in set(stores)]
        return names

    def run_programs(self, step, preset, labels, names_of=None):
        """Runs the tests of the programs, or those that names_of(program, all) chooses."""
        work, left_out = [], 0
        for program in self.programs(preset, labels):
            if not program.path.exists():
                self.record(f"{step}-{program.label}", True, f"{program.path} was not built")
                continue
            names = gtest_programs.list_tests(program)
            taken = (names_of or self.chosen)(program, names)
            left_out += len(names) - len(taken)
            work.append((program, taken))
        total = sum(len(names) for _, names in work)
        note = f", {left_out} left to other runs" if left_out else ""
        self.say(f"{step}: testing, {total} tests{note}")
        done = [0, time.monotonic()]

        def tell(result):
            with self.lock:
                done[0] += 1
                late = time.monotonic() - done[1] > PROGRESS_SECONDS
                if late:
                    done[1] = time.monotonic()
            if late:
                self.say(f"{step}: {done[0]} of {total}")
            if result.outcome == "failed":
                self.say(f"{step}: FAILED {result.name}")
                print(result.output[-6000:], flush=True)

        runner = gtest_programs.Runner(self.jobs, self.scratch, tell)
        results = self.timed(f"{step}: run", lambda: runner.run(work))
        write_junit(self.results / f"{step}.xml", step, results)
        self.say(f"{step}: {count_tests.in_short([self.results / f'{step}.xml'])}")

    def run_ctest(self, step, preset, *choose):
        """Runs what is no GoogleTest program: scripts, C programs, replays."""
        log, report = self.results / f"{step}.log", self.results / f"{step}.xml"
        code = self.timed(f"{step}: run", lambda: self.command(
            ["ctest", "--test-dir", f"build/{preset}", "--parallel", self.jobs, "--timeout", 900,
             "--no-tests=error", "--output-on-failure", "--output-junit", report, *choose], log))
        if not report.exists():
            self.fail(f"{step}-run", log, "ctest could not run")
            return
        self.say(f"{step}: {count_tests.in_short([report])}")
        if code != 0:
            if "<failure" not in report.read_text(errors="replace"):
                # ctest can fail although each test passed (for example when none could be listed).
                self.record(f"{step}-run", True, log)
            print("\n".join(log.read_text(errors="replace").splitlines()[-60:]), flush=True)

    # ---- Steps -----------------------------------------------------------------------------------

    def step(self, part):
        if part == "format":
            self.script("format", "scripts/check.sh", "--format")
        elif part == "crash":
            if self.build("crash", "crashsim", "braid_crash_tests", "braid_unit_tests",
                          "braid_tools_tests"):
                self.look_at_the_time(part)
                self.run_programs("crash", "crashsim", ["crash", "unit", "tools"])
                self.run_ctest("crash-scripts", "crashsim", "-R", "^crash/wide_loads$")
        elif part == "mutants":
            self.mutants()
        elif part == "tsan-concurrency":
            self.sanitize(part, "concurrency")
        elif part == "asan-model":
            self.sanitize(part, "unit", "model")
        elif part in PRESETS:
            built = self.build(part, part)
            self.library_built.set()
            if built:
                if part in budgets.PLANNED:
                    self.look_at_the_time(part)
                labels = [label for label in PROGRAMS if label != "crash"]
                self.run_programs(part, part, labels)
                self.run_ctest(f"{part}-scripts", part, "-LE", f"^({'|'.join(PROGRAMS)})$")
        elif part == "fuzz":
            self.script("fuzz", "scripts/fuzz.sh", "push")
        elif part == "vm":
            self.script("vm", "scripts/vm-test.sh")
        elif part == "hadoop":
            self.counted("hadoop", "scripts/hadoop-test.sh")
        else:
            self.counted(part, f"scripts/{part}.sh", "test")

    def sanitize(self, part, *labels):
        if not self.budget.has_time_for(part, time.monotonic() - self.begin, self.choice.seed):
            self.say(f"{part}: left to other runs: this one has taken too long")
            return
        preset = part.split("-", 1)[0]
        if self.build(part, preset, *(f"braid_{label}_tests" for label in labels)):
            self.look_at_the_time(part)
            one_in = self.one_in(ONE_SANITIZED_TEST_IN[part])
            self.run_programs(part, preset, labels,
                              lambda _, names: self.choice.share(names, one_in))

    def mutants(self):
        if not self.build("mutants", "crashsim", "braid_crash_tests"):
            return
        self.look_at_the_time("mutants")
        share = mutant_share.Share(self.root, self.choice, self.one_in(mutant_share.ONE_IN))
        targets = share.programs()
        if self.build("mutants", "crashsim", *targets):
            self.say(f"mutants: {len(share.names)} of {share.total}")
            # Else the script builds all that any fault needs.
            os.environ["BRAID_CRASH_TESTS"] = "build/crashsim/bin/braid_crash_tests"
            self.script("mutants", "scripts/mutants.sh", *share.arguments())

    def lane(self, parts):
        for part in parts:
            try:
                self.step(part)
            except Exception as error:  # pylint: disable=broad-except
                log = self.results / f"{part}-error.log"
                log.write_text(f"{type(error).__name__}: {error}\n")
                self.fail(part, log, "the step itself failed")
            if part == "release":
                self.library_built.set()


    def lanes(self, parts):
        """Runs the parts that were named one by one, else all in two lanes."""
        if parts:
            self.library_built.set()
            self.lane(parts)
            return
        first = FIRST_LANE
        if self.choice.full:
            first = [{"tsan-concurrency": "tsan", "asan-model": "asan"}.get(part, part)
                     for part in FIRST_LANE]
        second = threading.Thread(target=lambda: (self.library_built.wait(),
                                                  self.lane(SECOND_LANE)))
        second.start()
        try:
            self.lane(first)
        except BaseException:
            processes.end_all()
            raise
        finally:
            self.library_built.set()
            second.join()


def write_junit(path, suite, results):
    root = ElementTree.Element("testsuite", name=suite)
    for result in results:
        status = {"passed": "run", "failed": "fail", "skipped": "skipped"}[result.outcome]
        case = ElementTree.SubElement(root, "testcase", name=result.name, classname=result.name,
                                      status=status, time=f"{result.seconds:.3f}")
        if result.outcome == "failed":
            failure = ElementTree.SubElement(case, "failure", message="")
            failure.text = re.sub(r"[^\t\n -\ud7ff\ue000-\ufffd]", "?", result.output[-20_000:])
        elif result.outcome == "skipped":
            ElementTree.SubElement(case, "skipped", message="SKIP_REGULAR_EXPRESSION_MATCHED")
    ElementTree.ElementTree(root).write(path)


def run(root, scratch, parts):
    this = Run(root, scratch)
    this.results.mkdir(parents=True, exist_ok=True)
    for old in this.results.iterdir():
        old.unlink()
    share = "everything" if this.choice.full else f"BRAID_CHOICE={this.choice.seed}"
    this.say(f"{this.jobs} side by side; {share}; BRAID_TEST_SIZE="
             f"{os.environ.get('BRAID_TEST_SIZE', 'push')}")
    with machine.MostMemory() as memory:
        try:
            this.lanes(parts)
        finally:
            processes.end_all()
    reports = [str(path) for path in sorted(this.results.glob("*.xml"))]
    print()
    count_tests.print_slowest(reports, 10)
    print("steps: seconds, and how busy the processors were")
    for name, seconds, busy in this.steps:
        print(f"  {seconds:6.0f}  {busy:4.0%}  {name}")
    print(f"the most memory at a time: {memory.bytes / 2**30:.1f} GiB, "
          "with scratch data where that lies in memory")
    this.say(f"done; logs are in {this.results.relative_to(root)}")
    sys.stdout.flush()
    return count_tests.main(reports)
