"""The cluster as the demo sees it: started and ended through cluster.sh, and its processor time."""

import os
import pathlib
import subprocess

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "cluster.sh"
TICKS = os.sysconf("SC_CLK_TCK")


class Failure(Exception):
    """What went wrong, for the user; no trace is shown."""


class Cluster:
    """Used by one thread, but for cpu_seconds() and start_client()."""

    def __init__(self, name, nodes, slots, block):
        self.name = name
        self.nodes = nodes
        self.slots = slots
        self.environment = dict(
            os.environ, BRAID_CLUSTER_ID=name, BRAID_CLUSTER_NODES=str(nodes),
            BRAID_CLUSTER_SLOTS=str(slots), BRAID_CLUSTER_BLOCK=str(block))
        scratch = os.environ.get("BRAID_TMP") or os.environ.get("TMPDIR") or "/tmp"
        self.home = pathlib.Path(scratch) / f"braid-hadoop-{name}"

    def start(self):
        if self._script("start").returncode != 0:
            raise Failure("the cluster did not start; the reason is above")

    def stop(self):
        self._script("stop", stdout=subprocess.DEVNULL)

    def limit(self, host, cores):
        """Holds a worker and its containers at so many cores."""
        if self._script("limit", host, str(cores)).returncode != 0:
            raise Failure(f"{host} can't be slowed down; the reason is above")

    def throttled(self, host):
        """In how many periods a limited worker used up its time, and how many there were."""
        told = self._script("throttled", host, stdout=subprocess.PIPE, text=True)
        if told.returncode != 0:
            raise Failure(f"it can't be said how {host} was slowed down; the reason is above")
        some, _, every = told.stdout.split()
        return int(some), int(every)

    def network(self):
        """"namespaces", or "single" when all daemons share one host."""
        state = (self.home / "state").read_text().split()
        return dict(line.split("=", 1) for line in state)["network"]

    def start_client(self, *words, **options):
        """A command on the master, as a Popen; a group of its own, so that it can be ended whole."""
        return subprocess.Popen([SCRIPT, "run", *map(str, words)], env=self.environment,
                                start_new_session=True, **options)

    def run(self, *words, **options):
        """A short command on the master; its output, as text. Fails when it does."""
        client = self.start_client(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL, text=True, **options)
        out, errors = client.communicate()
        if client.returncode != 0:
            raise Failure(f"'{' '.join(map(str, words))}' failed:\n{errors[-2000:]}")
        return out

    def cpu_seconds(self):
        """Processor time of the daemons and of all containers so far. A container's time is seen in
        its own process while it lives and in its NodeManager's account of children afterwards, so
        its start-up is counted, which Hadoop's own counter misses."""
        parents, ticks = _processes()
        ours = {int(line.split()[0]) for line in (self.home / "daemons").read_text().splitlines()}
        total = 0
        for process in parents:
            ancestor = process
            while ancestor in parents and ancestor not in ours:
                ancestor = parents[ancestor]
            if ancestor in ours:
                total += ticks[process]
        return total / TICKS

    def _script(self, *words, **options):
        return subprocess.run([SCRIPT, *words], env=self.environment, stdin=subprocess.DEVNULL,
                              check=False, **options)


def _processes():
    """Of every process: its parent, and its clock ticks with those of the children it waited for."""
    parents, ticks = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = pathlib.Path("/proc", entry, "stat").read_text()
        except OSError:
            continue  # it has ended since
        # The command's name, in brackets, may itself have blanks and brackets.
        fields = stat[stat.rindex(")") + 2:].split()
        parents[int(entry)] = int(fields[1])
        ticks[int(entry)] = sum(int(field) for field in fields[11:15])
    return parents, ticks
