"""How much a machine can do at once."""

import os


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


if __name__ == "__main__":
    print(jobs())
