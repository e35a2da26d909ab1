"""One virtual machine: QEMU's command line, its two serial lines, and how it ends."""

import os
import pathlib
import re
import selectors
import shutil
import subprocess
import time

QEMU = "qemu-system-x86_64"
MIB = 1 << 20


def make_image(path, mib):
    """A sparse file of zeroes: the content of a device that was never used."""
    path.unlink(missing_ok=True)
    with open(path, "wb") as file:
        file.truncate(mib * MIB)
    return path


def copy_image(source, target):
    subprocess.run(["cp", "--sparse=always", str(source), str(target)], check=True)


def backend(ident, path):
    size = pathlib.Path(path).stat().st_size
    return ["-object", f"memory-backend-file,id={ident},mem-path={path},size={size},share=on"]


# Where the first NVDIMM of a machine is mapped, when it is asked to be there.
NVDIMM_ADDRESS = 0x100000000


def nvdimm(number, path, *, node=None, read_only=False, fixed=False):
    """Arguments for an NVDIMM that keeps its content in `path`."""
    device = f"nvdimm,id=nv{number},memdev=m{number}"
    if node is not None:
        device += f",node={node}"
    if fixed:
        device += f",addr={NVDIMM_ADDRESS:#x}"
    if read_only:
        device += ",unarmed=on"
    return backend(f"m{number}", path) + ["-device", device]


def virtio_pmem(path):
    return backend("v0", path) + ["-device", "virtio-pmem-pci,id=vp0,memdev=v0"]


def disk(path):
    """An ordinary block device, for an ordinary file system."""
    return ["-drive", f"if=none,id=d0,format=raw,file={path}", "-device", "virtio-blk-pci,drive=d0"]


def two_nodes():
    return ["-object", "memory-backend-ram,id=r0,size=512M",
            "-object", "memory-backend-ram,id=r1,size=512M",
            "-numa", "node,nodeid=0,cpus=0,memdev=r0", "-numa", "node,nodeid=1,cpus=1,memdev=r1",
            "-numa", "dist,src=0,dst=1,val=21"]


def cxl_memory(path, labels):
    """A CXL type-3 device with persistent memory. Two ports, since QEMU 7.2 loses writes with one;
    a serial number other than 0, since the kernel wants one."""
    return [*backend("cm1", path), *backend("cl1", labels),
            "-device", "pxb-cxl,bus_nr=12,bus=pcie.0,id=cxl.1",
            "-device", "cxl-rp,port=0,bus=cxl.1,id=rp13,chassis=0,slot=2",
            "-device", "cxl-rp,port=1,bus=cxl.1,id=rp14,chassis=0,slot=3",
            "-device", "cxl-type3,bus=rp13,memdev=cm1,lsa=cl1,id=cp0,sn=0xC10000000001",
            "-M", "cxl-fmw.0.targets.0=cxl.1,cxl-fmw.0.size=4G"]


class Machine:
    """A running guest. Its second serial line carries what the scenario says, line by line; the
    first carries the kernel's words and goes to a file."""

    def __init__(self, guest, scenario, devices, *, settings=None, persistence="mem-ctrl",
                 cxl=False, kernel_words=(), extra=(), log="console.log"):
        self.log_path = guest.folder / log
        kind = "cxl=on" if cxl else f"nvdimm=on,nvdimm-persistence={persistence}"
        words = [f"vm.{name}={value}" for name, value in (settings or {}).items()]
        kernel_line = " ".join(["console=ttyS0 panic=-1 quiet", f"vm.scenario={scenario}", *words,
                                *kernel_words])
        command = [shutil.which("nice"), QEMU, "-machine", f"q35,{kind}", "-accel", "tcg",
                   "-cpu", "max", "-smp", "2", "-m", "1G,slots=4,maxmem=16G",
                   "-kernel", str(guest.kernel.image), "-initrd", str(guest.initrd),
                   "-append", kernel_line, "-nodefaults", "-no-user-config", "-display", "none",
                   "-no-reboot", "-serial", f"file:{self.log_path}", "-serial", "stdio",
                   *devices, *extra]
        self.started = time.monotonic()
        self.errors_path = guest.folder / "qemu-errors.log"
        with open(self.errors_path, "wb") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.buffer = b""
        self.lines = []

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.kill()

    def read(self, seconds):
        """Waits up to `seconds` for something to read; new whole lines. None: the guest ended."""
        if not self.selector.select(seconds):
            return []
        try:
            data = os.read(self.process.stdout.fileno(), 1 << 16)
        except BlockingIOError:
            return []
        if not data:
            return None
        *whole, self.buffer = (self.buffer + data).split(b"\n")
        new = [line.decode("utf-8", "replace").rstrip("\r") for line in whole]
        self.lines += new
        return new

    def wait_for(self, pattern, seconds):
        """The match of the first new line that fits `pattern`; None: it ended or took too long."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            new = self.read(min(1.0, max(0.01, deadline - time.monotonic())))
            if new is None:
                return None
            for line in new:
                if match := re.search(pattern, line):
                    return match
        return None

    def say(self, line):
        """Sends a line to a scenario that waits for one."""
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def errors(self):
        return self.errors_path.read_text("utf-8", "replace")

    def listen(self, seconds):
        """Reads for so long, or until the guest ends."""
        deadline = time.monotonic() + seconds
        while (rest := deadline - time.monotonic()) > 0:
            if self.read(rest) is None:
                return

    def finish(self, seconds):
        """Reads to the guest's end; whether it came in time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.read(1.0) is None:
                self.process.wait()
                return True
        self.kill()
        return False

    def drain(self):
        """What had left the machine when it died."""
        while self.read(0.2) is not None:
            pass

    def kill(self):
        """The power cut: nothing of the guest runs on, not even to say good-bye."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.drain()

    def seconds(self):
        return time.monotonic() - self.started

    def console_tail(self, count=15):
        """The end of the kernel's console and of QEMU's own errors, for a report of a failure."""
        text = ""
        for path in (self.errors_path, self.log_path):
            if path.exists():
                text += path.read_text("utf-8", "replace").replace("\r", "")
        return "\n".join((text.splitlines() + self.lines)[-count:])
