"""What the test programs say, as numbers. Each function takes the whole output of a run."""

import json
import re

# The crash tests name a workload after its medium; with several threads the order of steps counts.
CRASH_ROWS = ("ADR", "eADR", "page", "threads")

CRASH = re.compile(
    r"^\[ crash +\] (?!all workloads)(\S+) +(\d+) checked, (\d+) pruned \(in recovery (\d+) once, "
    r"(\d+) twice, (\d+) three times;.*?, (\d+) runs,", re.MULTILINE)
CRASH_GOES_ON = re.compile(r"^\[ crash +\] \S+: the time is up;.* BRAID_SEED=(\d+) goes on$",
                           re.MULTILINE)


def total(pattern, text):
    """The sum of a pattern's first group over all its matches."""
    return sum(int(number) for number in re.findall(pattern, text, re.MULTILINE))


def gtest(text):
    """Tests by outcome. A program that died in a test failed it."""
    failed = re.findall(r"^\[  FAILED  \] ([^\s,]+)(?:, where .*)? \(\d+ ms\)$", text, re.MULTILINE)
    return {"passed": len(re.findall(r"^\[       OK \] ", text, re.MULTILINE)),
            "skipped": len(re.findall(r"^\[  SKIPPED \] \S+ \(\d+ ms\)$", text, re.MULTILINE)),
            "failed": failed}


def gtest_names(text):
    """The tests that --gtest_list_tests lists."""
    names, suite = [], ""
    for line in text.splitlines():
        name = line.split("#")[0].rstrip()
        if line.startswith("  "):
            names.append(suite + name.strip())
        elif name.endswith("."):
            suite = name
    return names


def crash_row(workload):
    if workload.startswith("Threads"):
        return "threads"
    return "eADR" if workload.endswith("Eadr") else "page" if workload.endswith("Page") else "ADR"


def crash(text, seed):
    """Images of all workloads, and the first seed that none of them has used."""
    counts = dict.fromkeys((*CRASH_ROWS, "pruned", "crashed once in recovery",
                            "crashed twice in recovery", "crashed three times in recovery"), 0)
    checked, next_seed = 0, seed + 1
    for workload, images, pruned, once, twice, thrice, runs in CRASH.findall(text):
        checked += int(images)
        counts[crash_row(workload)] += int(images)
        counts["pruned"] += int(pruned)
        counts["crashed once in recovery"] += int(once)
        counts["crashed twice in recovery"] += int(twice)
        counts["crashed three times in recovery"] += int(thrice)
        next_seed = max(next_seed, seed + int(runs))
    next_seed = max([next_seed, *map(int, CRASH_GOES_ON.findall(text))])
    return checked, counts, next_seed


def mutants(text):
    """From the JSON that mutants.py writes: faults killed, and the names of the others."""
    rows = json.loads(text)
    alive = [row["name"] for row in rows if row["outcome"] != "killed"]
    return len(rows) - len(alive), alive


def histories(text):
    overlap = total(r"^\[ history  \] \d+ threads: \d+ operations, (\d+) overlap", text)
    return total(r"^\[ history  \] \d+ threads: (\d+) operations", text), {"overlapping": overlap}


def porcupine(text):
    match = re.search(r"^(\d+) histories of (\d+) operations", text, re.MULTILINE)
    return (int(match[1]), {"operations": int(match[2])}) if match else (0, {})


def skipped(text):
    """Why a script did nothing, or an empty text."""
    match = re.search(r"^porcupine: skipped: (.*)$", text, re.MULTILINE)
    match = match or re.search(r"^\[ *\d+s\] skip  all tests in a virtual machine: (.*)$", text,
                               re.MULTILINE)
    return match[1].strip() if match else ""


def kills(text):
    line = (r"^\[ kill     \] (\d+) kills: (\d+) in open, (\d+) in recovery, (\d+) in a merge, "
            r"(\d+) in growth, (\d+) in a flush")
    counts = dict.fromkeys(("in open", "in recovery", "in a merge", "in growth", "in a flush"), 0)
    done = 0
    for match in re.finditer(line, text, re.MULTILINE):
        done += int(match[1])
        for at, key in enumerate(counts):
            counts[key] += int(match[at + 2])
    counts["writes acknowledged"] = total(r"^\[ kill     \] (\d+) writes acknowledged", text)
    return done, counts


def repair(text):
    gave_up = total(r"^\[ repair   \] \d+ trials, (\d+) with nothing left", text)
    return total(r"^\[ repair   \] (\d+) trials", text), {"nothing left": gave_up}


def model(text):
    return total(r"^\[ model    \] (\d+) operations", text), {}


def faults(text):
    return {"runs with a failing call": total(r"^\[ runs     \] (\d+)", text)}


def fuzz(text):
    """From the JSON lines of fuzz.sh: executions, those of each target, and findings."""
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    return (sum(row["execs"] for row in rows), {row["target"]: row["execs"] for row in rows},
            sum(row["findings"] for row in rows))


def fresh(text):
    """Steps that passed, what failed, and why nothing could be run."""
    rows = re.findall(r"^fresh: ([\w -]+?) +\d+ s  (FAILED)?", text, re.MULTILINE)
    needs = re.search(r"^fresh\.py: (needs .*)$", text, re.MULTILINE)
    passed = [name for name, failed in rows if not failed]
    return len(passed), [name for name, failed in rows if failed], needs.group(1) if needs else ""


def vm(text):
    match = re.search(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", text, re.MULTILINE)
    return tuple(map(int, match.groups())) if match else None


AGEING = re.compile(r"^\[ ageing   \] (\w+) (\d+): (\d+) pool (\d+) dram ([\d.]+) us/op "
                    r"([\d.]+) us/p99\.9 ([\d.]+) us/seek$", re.MULTILINE)
AGEING_MEASURES = ("pool", "dram", "op", "p99.9", "seek")


def ageing(text):
    """By pattern and design: what each tenth of the operations has found, by measure."""
    curves = {}
    for name, _, *numbers in AGEING.findall(text):
        curve = curves.setdefault(name, {measure: [] for measure in AGEING_MEASURES})
        for measure, number in zip(AGEING_MEASURES, numbers):
            curve[measure].append(float(number))
    return curves


def replays(text):
    """The lines that say how to see a failure again, each once."""
    return list(dict.fromkeys(line.strip() for line in re.findall(r"\breplay: .*$", text,
                                                                  re.MULTILINE)))


DAMAGE_ANSWERS = ("refused", "reported by verify", "by verify only", "torn ends",
                  "right")


def damage(text):
    """Trials by what the pool answered. Those that were wrong without an error are faults."""
    counts = dict.fromkeys((*DAMAGE_ANSWERS, "silent, crashed or hung"), 0)
    line = r"^\[ damage   \] " + ", ".join(rf"(\d+) {answer}" for answer in DAMAGE_ANSWERS) + r".* "
    for match in re.finditer(line + r"(\d+) faults$", text, re.MULTILINE):
        for answer, number in zip(counts, match.groups()):
            counts[answer] += int(number)
    return sum(counts.values()), counts
