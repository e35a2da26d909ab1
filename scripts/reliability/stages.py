"""The stages: what each builds, how one slice of it runs, and how much of it a size asks for."""

import pathlib
import re

from reliability import parse

SIZES = ("push", "night", "release")
CRASH_TESTS = "build/crashsim/bin/braid_crash_tests"


class Slice:
    """What a piece of a stage did."""

    def __init__(self, done=0, counts=None, next_seed=None, failures=(), skipped=""):
        self.curves = {}
        self.done = done
        self.counts = counts or {}
        self.next_seed = next_seed
        self.failures = list(failures)
        self.skipped = skipped


class Stage:
    """`targets`: by size, None where the size does not ask for it. `minimum`: counts that are
    wanted besides, by size. A slice knows its seed and about how many seconds it may take."""

    seeded = True  # after a failure, more seeds would mostly tell the same

    def __init__(self, name, title, unit, targets, builds, minimum=None):
        self.name, self.title, self.unit = name, title, unit
        self.targets = dict(zip(SIZES, targets))
        self.builds = builds
        self.minimum = {key: dict(zip(SIZES, numbers)) for key, numbers in (minimum or {}).items()}

    def target(self, size, _run):
        return self.targets[size]

    def share(self, size, target, done, counts):
        """How much of the target is done, 0 to 1 and above."""
        parts = [done / target]
        for key, numbers in self.minimum.items():
            if numbers[size]:
                parts.append(counts.get(key, 0) / numbers[size])
        return min(parts)

    def slice(self, run, seed, done, seconds):
        raise NotImplementedError


def judged(command, output, done, counts, next_seed=None):
    """A slice from a gtest program's run: what failed, and that anything was done at all."""
    tests = parse.gtest(output.text)
    failures = list(tests["failed"])
    if output.code != 0 and not failures:
        failures = [f"{pathlib.Path(command[0]).name} {output.ending}"]
    if not done and not failures:
        failures = [f"{pathlib.Path(command[0]).name}: the output has no count of what was done"]
    return Slice(done, counts, next_seed, failures)


class Timed(Stage):
    """Tests that go on for BRAID_TEST_SECONDS each."""

    def __init__(self, *arguments, command, tests, read):
        super().__init__(*arguments)
        self.command, self.tests, self.read = command, tests, read

    def slice(self, run, seed, done, seconds):
        each = max(3, int(seconds / self.tests))
        output = run.program(self, self.command, seed, {"BRAID_TEST_SECONDS": each},
                             seconds=each * self.tests)
        if self.read is None:  # the unit is the second
            number, counts = each * parse.gtest(output.text)["passed"], {}
        else:
            number, counts = self.read(output.text)
        return judged(self.command, output, number, counts)


class Repeated(Stage):
    """Tests that do a fixed amount: the size for a push again and again, each time another seed."""

    def __init__(self, *arguments, command, read):
        super().__init__(*arguments)
        self.command, self.read = command, read

    def slice(self, run, seed, done, seconds):
        output = run.program(self, self.command, seed, size="push")
        return judged(self.command, output, *self.read(output.text))


class Crash(Stage):
    command = [CRASH_TESTS, "--gtest_filter=Workloads/CrashTest.*"]

    def slice(self, run, seed, done, seconds):
        output = run.program(self, self.command, seed, {"BRAID_CRASH_SECONDS": round(seconds, 1)},
                             seconds=seconds)
        return judged(self.command, output, *parse.crash(output.text, seed))


class Listed(Stage):
    """All tests of a program once, some at a time."""

    seeded = False

    def __init__(self, *arguments, program, at_a_time, read=None, test_filter="*"):
        super().__init__(*arguments)
        self.program, self.at_a_time, self.read = program, at_a_time, read
        self.filter = test_filter
        self.names = None
        self.text = ""

    def target(self, size, run):
        if self.names is None:
            listing = [self.program, "--gtest_list_tests", f"--gtest_filter={self.filter}"]
            self.names = parse.gtest_names(run.listing(listing))
        return len(self.names)

    def slice(self, run, seed, done, seconds):
        names = self.names[done:done + self.at_a_time]
        command = [self.program, f"--gtest_filter={':'.join(names)}"]
        output = run.program(self, command, seed)
        self.text = output.text
        tests = parse.gtest(output.text)
        counts = {"skipped here": tests["skipped"], **(self.read(output.text) if self.read else {})}
        result = judged(command, output, len(names), counts)
        seen = tests["passed"] + tests["skipped"] + len(tests["failed"])
        if seen != len(names) and not result.failures:
            result.failures = [f"{len(names) - seen} of {len(names)} tests did not run"]
        return result


class Ageing(Listed):
    """Stores that grow old: the curves of the last run of each pattern are kept."""

    def slice(self, run, seed, done, seconds):
        result = super().slice(run, seed, done, seconds)
        result.curves = parse.ageing(self.text)
        return result


class Mutants(Stage):
    seeded = False
    names = None

    def target(self, size, run):
        if self.names is None:
            lines = run.listing([CRASH_TESTS, "--list_mutants"]).splitlines()
            names = [line.split("\t")[0] for line in lines]
            wanted = min(self.targets[size] or len(names), len(names))
            # The list goes by part of the store: a smaller size takes some of each.
            self.names = [names[i * len(names) // wanted] for i in range(wanted)]
        return len(self.names)

    def slice(self, run, seed, done, seconds):
        names = self.names[done:done + 2 * run.jobs]
        report = run.folder / "mutants.json"
        report.unlink(missing_ok=True)
        output = run.program(
            self, ["bash", "scripts/mutants.sh", "--json", str(report), *names], None,
            {"BRAID_CRASH_TESTS": CRASH_TESTS})
        if not report.exists():
            return Slice(len(names), {}, None, [f"scripts/mutants.sh {output.ending}"])
        killed, alive = parse.mutants(report.read_text())
        failures = [f"no test finds {name}" for name in alive]
        if output.code != 0 and not failures:
            failures = re.findall(r"^fails without any fault: .*$", output.text, re.MULTILINE) or [
                f"scripts/mutants.sh {output.ending}"]
        return Slice(len(names), {"killed": killed}, None, failures)


class Porcupine(Stage):
    def slice(self, run, seed, done, seconds):
        # Recording is the smaller half of the work; two tests record, one after the other.
        each = max(3, int(seconds / 4))
        output = run.program(self, ["bash", "scripts/porcupine.sh"], seed,
                             {"BRAID_TEST_SECONDS": each, "BRAID_HISTORY_COUNT": 100_000},
                             seconds=seconds)
        if parse.skipped(output.text):
            return Slice(skipped=parse.skipped(output.text))
        return judged(["scripts/porcupine.sh"], output, *parse.porcupine(output.text))


class Fuzz(Stage):
    def __init__(self, *arguments, programs):
        super().__init__(*arguments)
        self.programs = programs

    def slice(self, run, seed, done, seconds):
        each = max(2, int(seconds / len(self.programs)))
        report = run.root / "build/fuzz-report.jsonl"
        report.unlink(missing_ok=True)
        output = run.program(
            self, ["bash", "scripts/fuzz.sh", "1000000000", *self.programs], None,
            {"BRAID_FUZZ_SECONDS": each}, seconds=seconds)
        if not report.exists():
            return Slice(failures=[f"scripts/fuzz.sh {output.ending}"])
        executions, counts, findings = parse.fuzz(report.read_text())
        result = judged(["scripts/fuzz.sh"], output, executions, counts)
        if findings:
            result.failures = [f"{findings} findings"]
        return result


class Machine(Stage):
    seeded = False

    def slice(self, run, seed, done, seconds):
        output = run.program(self, ["bash", "scripts/vm-test.sh"], seed, seconds=12 * 3600)
        if parse.skipped(output.text):
            return Slice(skipped=parse.skipped(output.text))
        numbers = parse.vm(output.text)
        if numbers is None:
            return Slice(failures=[f"scripts/vm-test.sh {output.ending}"])
        passed, failed, skipped = numbers
        failures = re.findall(r"^\[ *\d+s\] FAIL  (.*)$", output.text, re.MULTILINE)
        if (failed or output.code) and not failures:
            failures = [f"scripts/vm-test.sh {output.ending}"]
        return Slice(1, {"checks passed": passed, "checks skipped": skipped}, None, failures)


class Fresh(Stage):
    """A new user's commands in bare Debian roots."""

    seeded = False

    def slice(self, run, seed, done, seconds):
        output = run.program(self, ["python3", "-B", "scripts/fresh.py"], seed, seconds=4 * 3600)
        steps, failures, reason = parse.fresh(output.text)
        if reason:
            return Slice(skipped=reason)
        if output.code != 0 and not failures:
            failures = [f"scripts/fresh.py {output.ending}"]
        return Slice(1, {"steps passed": steps}, None, failures)


def program(preset, name, test_filter="*"):
    return [f"build/{preset}/bin/{name}", f"--gtest_filter={test_filter}"]


def stress(preset, name, title):
    """The target is time: so many threads for so long."""
    return Timed(f"stress-{preset}", f"stress against a model, {title}", "seconds",
                 (120, 1_800, 28_800), [(preset, [name])],
                 command=program(preset, name, "*ModelStressTest.*"), tests=4, read=None)


def kill(medium, test, targets):
    return Timed(f"kill-{medium}", f"kill -9 of a process, pool {'in' if medium == 'memory' else 'on'} "
                 f"{'memory' if medium == 'memory' else 'a file'}", "kills", targets,
                 [("release", ["braid_kill_tests"])],
                 command=program("release", "braid_kill_tests", f"KillTest.{test}"), tests=1,
                 read=parse.kills)


def all_stages():
    """In the order in which they run: what finds most comes first."""
    concurrency, damage = "braid_concurrency_tests", "braid_damage_tests"
    return [
        Crash("crash", "power-loss images checked", "images", (1_000_000, 50_000_000, 1_000_000_000),
              [("crashsim", ["braid_crash_tests"])],
              {"crashed once in recovery": (50_000, 3_000_000, 50_000_000),
               "crashed twice in recovery": (None, 100_000, 1_000_000)}),
        Mutants("mutants", "seeded faults found by the tests", "faults", (20, None, None),
                [("crashsim", [])]),
        Timed("histories", "linearizable histories", "operations",
              (200_000, 50_000_000, 1_000_000_000), [("release", [concurrency])],
              command=program("release", concurrency, "*HistoryTest.*"), tests=2,
              read=parse.histories),
        Porcupine("porcupine", "histories judged by Porcupine", "histories",
                  (3_000, 100_000, 1_000_000), [("release", [concurrency])]),
        stress("tsan", concurrency, "ThreadSanitizer"),
        stress("asan", concurrency, "AddressSanitizer and UBSan"),
        kill("memory", "AcknowledgedWritesSurviveKillsInMemory", (200, 20_000, 100_000)),
        kill("file", "AcknowledgedWritesSurviveKillsOnAFile", (20, 2_000, 10_000)),
        Machine("vm", "virtual machine: power cuts, DAX, CXL", "runs", (1, 1, 1), []),
        Fresh("fresh", "a new user's commands on a bare Debian", "runs", (None, 1, 1), []),
        Fuzz("fuzz", "malformed pools and files (libFuzzer)", "executions",
             (140_000, 14_000_000, 350_000_000), [],
             programs=["fuzz_pool", "fuzz_log_reader", "fuzz_manifest", "fuzz_loaders"]),
        Fuzz("api-fuzz", "calls of the API (libFuzzer)", "executions",
             (60_000, 6_000_000, 150_000_000), [], programs=["fuzz_api"]),
        Repeated("damage", "damage to a closed pool", "trials", (2_000, 100_000, 1_000_000),
                 [("release", [damage])],
                 command=program("release", damage, "*/DamageTest.*"), read=parse.damage),
        Repeated("repair", "repair of a damaged pool", "trials", (360, 20_000, 200_000),
                 [("release", [damage])],
                 command=program("release", damage, "*/RepairTest.BringsBack*"), read=parse.repair),
        Listed("faults", "the k-th call fails, the pool is full", "tests", (0, 0, 0),
               [("release", ["braid_faults_tests"])],
               program="build/release/bin/braid_faults_tests", at_a_time=4, read=parse.faults),
        Repeated("model", "agreement with std::map", "operations",
                 (1_000_000, 500_000_000, 10_000_000_000), [("release", ["braid_model_tests"])],
                 command=program("release", "braid_model_tests"), read=parse.model),
        Ageing("ageing", "stores that grow old", "patterns", (0, 0, 0),
               [("release", ["braid_complaints_tests"])],
               program="build/release/bin/braid_complaints_tests", at_a_time=5,
               test_filter="*AgeingTest*"),
        Listed("conformance", "every promise of the API", "tests", (0, 0, 0),
               [("release", ["braid_conformance_tests"])],
               program="build/release/bin/braid_conformance_tests", at_a_time=40),
    ]
