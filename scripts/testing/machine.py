"""How much a machine can do at once, and how much of it a run takes."""

import os
import threading

SAMPLES_A_SECOND = 2


def available_memory():
    """Bytes that programs can have without swapping; by /proc, and by the cgroup where it is less."""
    amount = 8 << 30
    with open("/proc/meminfo", encoding="ascii") as facts:
        for line in facts:
            if line.startswith("MemAvailable:"):
                amount = int(line.split()[1]) << 10
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(limit, encoding="ascii") as text:
                amount = min(amount, int(text.read()))
        except (OSError, ValueError):
            pass
    return amount


def jobs(each=1_400 << 20):
    """Processes side by side: one a processor, fewer where memory is short (BRAID_JOBS says another
    number). A compiler takes up to `each` bytes, under a sanitizer."""
    asked = os.environ.get("BRAID_JOBS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    processors = len(os.sched_getaffinity(0))
    return max(1, min(processors, available_memory() // each))


class MostMemory:
    """The most that was taken while this was entered, scratch data in memory included: by how much
    less was available than at first."""

    def __enter__(self):
        self.bytes = 0
        self._at_first = available_memory()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def _watch(self):
        while not self._ended.wait(1 / SAMPLES_A_SECOND):
            self.bytes = max(self.bytes, self._at_first - available_memory())


def processor_ticks():
    """Of all processors, since they were started: (busy, all)."""
    with open("/proc/stat", encoding="ascii") as facts:
        ticks = [int(word) for word in facts.readline().split()[1:9]]
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, sum(ticks)


def busy_share(since):
    """Of the time since processor_ticks() was `since`."""
    busy, total = (now - then for now, then in zip(processor_ticks(), since))
    return busy / max(total, 1)


if __name__ == "__main__":
    print(jobs())
