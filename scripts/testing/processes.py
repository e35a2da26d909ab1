"""Processes of a test run: each ends, at the latest with the run, together with all it has started.

One that writes nothing for too long is taken for stuck. What its threads do is written behind its
output, and it is asked to abort first: interpreters and sanitizers say then where they are."""

import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

# Each test has a line of its own, and none comes near it.
SILENCE_SECONDS = 900
STUCK = f"no output for {SILENCE_SECONDS} s: ended"

_lock = threading.Lock()
_living = set()
_is_over = False


def run(arguments, output, environment, tick=None, silence_seconds=SILENCE_SECONDS):
    """Runs a program with its output in the file, which only grows, and waits for its end; calls
    tick() every second. Returns its exit code, and STUCK if it had to be ended, else ""."""
    process = _start(arguments, output, environment)
    size, since = -1, time.monotonic()
    try:
        while True:
            try:
                return process.wait(timeout=1), ""
            except subprocess.TimeoutExpired:
                pass
            if tick is not None:
                tick()
            now = os.fstat(output.fileno()).st_size
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since > silence_seconds:
                _write_where(process, output)
                return _end(process), STUCK
    finally:
        with _lock:
            _living.discard(process)
        _kill(process)


def end_all():
    """Ends what is running; nothing can be started after it."""
    global _is_over  # pylint: disable=global-statement
    with _lock:
        _is_over = True
        living = list(_living)
    for process in living:
        _kill(process)


def _start(arguments, output, environment):
    with _lock:
        if _is_over:
            raise RuntimeError("the run is over")
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, env=environment,
                                   start_new_session=True)
        _living.add(process)
        return process


def _write_where(process, output):
    """Writes what each thread of the process waits for, and where it is if there is a debugger."""
    lines = [""]
    for task in sorted(pathlib.Path(f"/proc/{process.pid}/task").glob("*")):
        facts = []
        for name in ("comm", "wchan", "syscall"):
            try:
                facts.append((task / name).read_text().strip() or "-")
            except OSError:  # it has ended, or may not be looked at
                facts.append("?")
        lines.append(f"thread {task.name} ({facts[0]}): waits in {facts[1]}, call {facts[2]}")
    os.write(output.fileno(), ("\n".join(lines) + "\n").encode())
    if shutil.which("gdb") is None:
        return
    try:
        subprocess.run(["gdb", "--batch", "-nx", "-p", str(process.pid), "-ex",
                        "thread apply all backtrace 12"], stdin=subprocess.DEVNULL, stdout=output,
                       stderr=subprocess.DEVNULL, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        pass


def _end(process):
    try:
        os.killpg(process.pid, signal.SIGABRT)
        return process.wait(timeout=10)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        _kill(process)
        return process.wait()


def _kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
