"""What the pools of this folder hold: a rule, so that the program that made them and the test that
reads them need not agree on more than this file. Purpose: shared by make_pools.py and upgrade_test.py."""

import dataclasses

# The pools of one commit lie in <commit>/<name>.tar.xz.


@dataclasses.dataclass(frozen=True)
class OldPool:
    name: str
    design: str
    killed: bool  # its last writer was killed: logs, and no mark of an orderly close


POOLS = (OldPool("closed", "braid", False), OldPool("killed", "braid", True),
         OldPool("leaves", "nvskiplist", False))

# The format version of what older commits wrote; all later ones write the newest.
OLD_FORMATS = {"7bcf489": 1}
NEWEST_FORMAT = 2

RECORDS = 2000
LATE = 300  # written last, one by one; by the writer that is killed, if any


def key(number):
    return f"item/{number * 7919 % 100003:06d}"


def first_value(number):
    if number % 500 == 0:
        return f"large {number} " + "braided " * 12000  # in chunks of its own
    return f"value {number} " + "x" * (number % 90)


def stages():
    """What is written, in order: lists of records; a value None stands for a delete."""
    yield [(key(n), first_value(n)) for n in range(RECORDS)]
    yield [(key(n), f"second {n}") for n in range(0, RECORDS, 3)]
    yield [(key(n), None) for n in range(0, RECORDS, 100)]
    yield [(key(n), f"third {n}") for n in range(0, RECORDS, 7)]


def late():
    return [(key(RECORDS + n), f"late {n}") for n in range(LATE)]


def content():
    """All that a pool must hold."""
    held = {}
    for records in (*stages(), late()):
        for name, value in records:
            if value is None:
                held.pop(name, None)
            else:
                held[name] = value
    return held
