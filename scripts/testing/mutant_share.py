"""Which seeded faults a run switches on: a share that goes round, and those in files that changed."""

import re
import subprocess

import weave_faults
from testing import choice as choices

ONE_IN = 4
# Built for the crash tests anyway. Of the others a push compiles one program.
BUILT_ANYWAY = ("braid_crash_tests", "braid_unit_tests")


class Share:
    """`names` of the faults to switch on, of `total` in all."""

    def __init__(self, root, choice, one_in=ONE_IN):
        listed = subprocess.run([root / "build/crashsim/bin/braid_crash_tests", "--list_mutants"],
                                check=True, text=True, stdout=subprocess.PIPE).stdout
        self.choice = choice
        self.one_in = one_in
        self._program = {}
        for line in listed.splitlines():
            name, _, kind, tests = (line.split("\t") + ["", "", ""])[:4]
            # That of a spare step is the reason why nothing finds it.
            named = tests and kind != "spare"
            self._program[name] = tests.split(" ")[0] if named else BUILT_ANYWAY[0]
        self.total = len(self._program)
        self.names = self._choose(mutants_in(root, choices.changed_files(root)))

    def _choose(self, changed):
        if self.choice.full:
            return list(self._program)
        others = sorted(set(self._program.values()) - set(BUILT_ANYWAY))
        within = set(BUILT_ANYWAY)
        if others:
            within.add(others[self.choice.seed % len(others)])
        share = set(self.choice.share(self._program, self.one_in, changed))
        # All that the one other program finds: a share of them would wait for it too long.
        return [name for name, program in self._program.items()
                if program in within and (name in share or program not in BUILT_ANYWAY)]

    def programs(self):
        """The targets that must be built."""
        return sorted({self._program[name] for name in self.names} | {BUILT_ANYWAY[0]})

    def arguments(self):
        return [] if self.choice.full else self.names


def mutants_in(root, files):
    """The faults that are seeded in the files named: woven into them, or sites of theirs."""
    found = weave_faults.faults_in(root, set(files))
    for file in files:
        if file.startswith("src/") and file.endswith((".cc", ".h")) and \
                file != "src/media/sites.h" and (root / file).is_file():
            text = (root / file).read_text(errors="replace")
            found |= set(re.findall(r"\bSite::(k\w+)", text)) - {"kOutside", "kNone"}
    return found
