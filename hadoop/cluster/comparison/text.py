"""The text that the jobs read: lines of words, some words far more frequent than others. The same
size, seed and stretch always give the same bytes.

Where records are to be uneven, some lines are one long word. Grep's pattern, [a-z]*qu[a-z]*, is tried
at each of its letters and each time up to its end and back, so that such a line costs some hundred
times what others of its length do: 8 ms where lines of words take 4 us. How many of them there are
varies from stretch to stretch."""

import itertools
import math
import random

WORDS = 5000
LINES = 20000
LINES_AT_ONCE = 10000
COSTLY_LETTERS = 1500
COSTLY_PER_MIB = 40  # on average
SPREAD = 1.5  # coefficient of variation of their number, from stretch to stretch


def _lines(rng):
    """A stock of lines; a text of any length is drawn from it."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(3, 9))) for _ in range(WORDS)]
    # The n-th word's frequency goes with 1/n, as in natural languages.
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(WORDS)))
    return [" ".join(rng.choices(words, cum_weights=weights, k=rng.randint(6, 15))) + "\n"
            for _ in range(LINES)]


def _even(rng, lines):
    while True:
        yield b"".join(rng.choices(lines, k=LINES_AT_ONCE))


def _uneven(rng, lines, stretch):
    """A stretch at a time; its length varies a little with its lines'."""
    sigma = math.sqrt(math.log(1 + SPREAD**2))
    # No q: what a costly line costs, it adds nothing to the output.
    costly = "".join(rng.choices("abcdefghijklmnoprstuvwxyz", k=COSTLY_LETTERS)).encode() + b"\n"
    length = sum(map(len, lines)) / len(lines)
    while True:
        factor = math.exp(rng.gauss(0, 1) * sigma - sigma**2 / 2)
        count = min(round(factor * COSTLY_PER_MIB * stretch / 2**20), stretch // len(costly))
        rest = stretch - count * len(costly)
        chosen = [costly] * count + rng.choices(lines, k=round(rest / length))
        rng.shuffle(chosen)
        yield b"".join(chosen)


def write(stream, size, seed=1, stretch=0):
    """Writes exactly size bytes of text to a binary stream; the last line may be cut short. With
    stretches of so many bytes, records are of uneven cost."""
    rng = random.Random(seed)
    lines = [line.encode() for line in _lines(rng)]
    parts = _uneven(rng, lines, stretch) if stretch else _even(rng, lines)
    while size > 0:
        part = next(parts)
        if len(part) >= size:
            part = part[:size - 1] + b"\n"
        stream.write(part)
        size -= len(part)
