"""Runs jobs on the cluster and says what each took."""

import hashlib
import os
import re
import signal
import subprocess
import threading
import time

from comparison import jobs
from comparison.cluster import Failure
from comparison.reads import Reads

COUNTERS = {
    "maps": "Launched map tasks",
    "reduces": "Launched reduce tasks",
    "local_maps": "Data-local map tasks",
    "counted_cpu_ms": "CPU time spent (ms)",
    "map_ms": "Total time spent by all map tasks (ms)",
    "local_bytes": "LOCAL_BYTES",
    "remote_bytes": "REMOTE_BYTES",
}


class Runner:
    """Starts the clients. One job at a time, or two through together()."""

    def __init__(self, cluster, jar, source, size, seconds):
        self.cluster = cluster
        self.jar = jar
        self.source = source
        self.size = size
        self.seconds = seconds  # how long a job may take
        self.number = 0
        # Where all daemons share a host, each read is local.
        self.reads = Reads(cluster, source) if cluster.network() == "namespaces" else None
        if jar:  # Sort looks its input format up where -libjars does not reach
            cluster.environment["HADOOP_CLASSPATH"] = str(jar)

    def alone(self, job, mode):
        """One job; its measurements as a dictionary."""
        if self.reads:
            self.reads.since()
        before = self.cluster.cpu_seconds()
        run = self._start(job, mode)
        run.wait()
        if self.reads:
            run.facts["read_local"], run.facts["read_remote"] = self.reads.since()
        # The account is taken when the job ended; of grep's second, tiny job nothing is in it.
        run.facts["cpu_s"] = round(run.cpu_at_end - before, 2)
        run.facts["output"] = self._checksum(run.target)
        return run.facts

    def together(self, first, second, mode):
        """Two jobs started at the same moment; the seconds of each."""
        runs = [self._start(job, mode) for job in (first, second)]
        for run in runs:
            run.wait()
        for run in runs:
            self._remove(run.target)
        return [run.facts["job_s"] for run in runs]

    def _start(self, job, mode):
        self.number += 1
        target = f"/out/{job}-{self.number}"
        words = jobs.command(job, mode, self.jar, self.source, target, self.size,
                             self.cluster.nodes * self.cluster.slots)
        return Run(self.cluster, job, mode, words, target, self.seconds)

    def _checksum(self, target):
        """Of the output's lines in order, whatever reducer wrote them; the output is removed."""
        sort = subprocess.Popen(["sort"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                env=dict(os.environ, LC_ALL="C"))
        cat = self.cluster.start_client("hdfs", "dfs", "-cat", f"{target}/part-*",
                                        stdin=subprocess.DEVNULL, stdout=sort.stdin,
                                        stderr=subprocess.DEVNULL)
        sort.stdin.close()
        digest, empty = hashlib.sha256(), True
        while part := sort.stdout.read(1 << 20):
            digest.update(part)
            empty = False
        if cat.wait() != 0 or sort.wait() != 0 or empty:
            raise Failure(f"the output in {target} can't be read, or is empty")
        self._remove(target)
        return digest.hexdigest()

    def _remove(self, target):
        self.cluster.run("hdfs", "dfs", "-rm", "-r", "-skipTrash", target)


class Run:
    """One client, read by a thread of its own until it ends."""

    def __init__(self, cluster, job, mode, words, target, seconds):
        self.cluster = cluster
        self.job = job
        self.target = target
        self.seconds = seconds
        self.facts = {"job": job, "mode": mode.name}
        self.cpu_at_end = None
        self.lines = []
        self.started = time.monotonic()
        self.client = cluster.start_client(*words, stdin=subprocess.DEVNULL,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                           text=True, errors="replace")
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def wait(self):
        """Until the client has ended; then facts are complete."""
        self.reader.join(max(0.1, self.seconds - (time.monotonic() - self.started)))
        if self.reader.is_alive():
            os.killpg(self.client.pid, signal.SIGKILL)
            self.reader.join()
            raise Failure(f"{self.job} ({self.facts['mode']}) did not end in {self.seconds} s:\n"
                          + self._last_lines())
        if self.client.wait() != 0 or self.cpu_at_end is None:
            raise Failure(f"{self.job} ({self.facts['mode']}) failed:\n" + self._last_lines())

    def _last_lines(self):
        return "".join(self.lines[-40:])

    def _read(self):
        """Follows the client. The first job it runs is the one that is measured."""
        measured = uber = False
        for line in self.client.stderr:
            self.lines.append(line)
            if self.cpu_at_end is None:
                uber = uber or "running in uber mode : true" in line
            if "put together into" in line or "is not coalesced" in line:
                self.facts.setdefault("plan", line.partition("SplitCoalescer: ")[2].strip())
            if self.cpu_at_end is None and re.search(r"Job job_\S+ completed successfully", line):
                self.facts["job_s"] = round(time.monotonic() - self.started, 2)
                self.cpu_at_end = self.cluster.cpu_seconds()
                self.facts["job_id"] = re.search(r"job_\d+_\d+", line).group()
                measured = True
            elif measured and "=" in line:
                self._note_counter(line)
            elif "Running job:" in line and self.cpu_at_end is not None:
                measured = False  # grep's second job
        self.facts["containers"] = self._containers(uber)

    def _note_counter(self, line):
        name, _, value = line.strip().partition("=")
        for key, counter in COUNTERS.items():
            if name == counter:
                self.facts.setdefault(key, int(value))

    def _containers(self, uber):
        tasks = self.facts.get("maps", 0) + self.facts.get("reduces", 0)
        return 1 if uber else tasks + 1  # and the application master's
