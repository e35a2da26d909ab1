"""The text that the jobs read: lines of words, some words far more frequent than others. The same
size and seed always give the same bytes."""

import itertools
import random

WORDS = 5000
LINES = 20000
LINES_AT_ONCE = 10000


def _lines(rng):
    """A stock of lines; a text of any length is drawn from it."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(3, 9))) for _ in range(WORDS)]
    # The n-th word's frequency goes with 1/n, as in natural languages.
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(WORDS)))
    return [" ".join(rng.choices(words, cum_weights=weights, k=rng.randint(6, 15))) + "\n"
            for _ in range(LINES)]


def write(stream, size, seed=1):
    """Writes exactly size bytes of text to a binary stream; the last line may be cut short."""
    rng = random.Random(seed)
    lines = [line.encode() for line in _lines(rng)]
    while size > 0:
        part = b"".join(rng.choices(lines, k=LINES_AT_ONCE))
        if len(part) >= size:
            part = part[:size - 1] + b"\n"
        stream.write(part)
        size -= len(part)
