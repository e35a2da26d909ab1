"""How large a share of its tests a push takes, so that it ends in time on a slow machine, too."""

import os
from typing import NamedTuple


class Seconds(NamedTuple):
    """What a step takes: its build, what it runs in any case, and what its share adds."""

    build: int
    always: int
    share: int


# The first lane on two quiet cores, nothing compiled before (docs/evidence/testing.md has the minutes).
PLANNED = {
    "format": Seconds(0, 5, 0),
    "release": Seconds(330, 350, 190),
    "crash": Seconds(180, 30, 90),
    "mutants": Seconds(0, 110, 40),
    "tsan-concurrency": Seconds(90, 0, 90),
    "asan-model": Seconds(110, 0, 160),
}
SANITIZERS = ("tsan-concurrency", "asan-model")
MINUTES = 40
# Into how many pieces a share is cut: powers of two, so that what a slow run takes is among what a fast
# one takes that makes the same choice.
PIECES = (1, 2, 4)


class Budget:
    """`full`: everything is taken, however long it takes."""

    def __init__(self, full=False):
        text = os.environ.get("BRAID_TEST_MINUTES", "")
        if text and not (text.isdigit() and int(text) > 0):
            raise SystemExit(f"BRAID_TEST_MINUTES={text}: must be a number of minutes, such as 40")
        self.full = full
        self.seconds = 60 * int(text or MINUTES)
        self._one_by_seed = False

    @staticmethod
    def slowness(step, elapsed, built):
        """How many times as long as planned the run took until `step`, or until the end of its build. Not
        less than 1: what had been compiled before says nothing about the tests."""
        steps = list(PLANNED)
        done = sum(sum(PLANNED[name]) for name in steps[:steps.index(step)])
        done += PLANNED[step].build if built else 0
        return max(1.0, elapsed / done) if done else 1.0

    def pieces_of_share(self, step, elapsed):
        """Into how many pieces the share of `step` is cut, of which it takes one; it has just been built,
        `elapsed` seconds after the run began. The fewest with which all steps to come end in time."""
        if self.full:
            return 1
        steps = list(PLANNED)
        ahead = [PLANNED[name] for name in steps[steps.index(step):]]
        always = sum(each.build + each.always for each in ahead) - PLANNED[step].build
        left = (self.seconds - elapsed) / self.slowness(step, elapsed, True)
        share = sum(each.share for each in ahead)
        return next((pieces for pieces in PIECES if always + share / pieces <= left), PIECES[-1])

    def _end(self, steps, elapsed):
        """When a run that has come to the first of `steps`, and does these, ends: with the smallest shares."""
        seconds = sum(each.build + each.always + each.share / PIECES[-1]
                      for each in map(PLANNED.get, steps))
        return elapsed + self.slowness(steps[0], elapsed, False) * seconds

    def has_time_for(self, step, elapsed, seed):
        """Whether `step`, a sanitizer's, is to be done by this run. Where both would take a run a quarter
        beyond its time, each run does one, by its seed; none that would end behind twice the time."""
        if self.full:
            return True
        number = SANITIZERS.index(step)
        if number == 0:
            self._one_by_seed = self._end(SANITIZERS, elapsed) > 1.25 * self.seconds
        if self._one_by_seed and seed % len(SANITIZERS) != number:
            return False
        return self._end([step], elapsed) <= 2 * self.seconds
