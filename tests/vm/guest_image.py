"""The guest's kernel and first file system: a stock Debian kernel, fetched by apt and unpacked
without being installed, and an initramfs of busybox, tools for persistent memory and our programs.
"""

import pathlib
import re
import shutil
import subprocess

GUEST_FILES = pathlib.Path(__file__).resolve().parent / "guest"

# The smallest of Debian's kernels: it has all that is needed, and boots fastest.
META_PACKAGE = "linux-image-cloud-amd64"

MODULES = ["nfit", "nd_e820", "nd_pmem", "nd_btt", "dax_pmem", "device_dax", "virtio_pci", "virtio_pmem",
           "virtio_blk", "cxl_acpi", "cxl_pci", "cxl_mem", "cxl_port", "cxl_pmem", "ext4", "xfs",
           "crc32c_generic"]
TOOLS = ["ndctl", "cxl", "mkfs.ext4", "mkfs.xfs", "modprobe"]
APPLETS = ["sh", "mount", "umount", "cat", "echo", "ls", "sleep", "mkdir", "rm", "grep", "sed",
           "dmesg", "poweroff", "stty", "sync", "cut", "head", "tail", "basename", "uname"]


class Unavailable(Exception):
    """Something that the tests need is not on this machine and cannot be fetched."""


def run(arguments, **options):
    return subprocess.run(arguments, check=True, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options).stdout


def find_tool(name):
    found = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
    if not found:
        raise Unavailable(f"{name} is not installed: run scripts/setup.sh vm")
    return found


class Kernel:
    """An unpacked kernel package below `folder`; fetched when it is not there yet."""

    def __init__(self, folder):
        packages = folder / "packages"
        package = self._resolve(packages)
        self.root = folder / package
        if not self.root.is_dir():
            archive = self._fetch(package, packages)
            unpacked = folder / (package + ".new")
            shutil.rmtree(unpacked, ignore_errors=True)
            run(["dpkg", "-x", str(archive), str(unpacked)])
            unpacked.rename(self.root)
        self.image = next(self.root.glob("boot/vmlinuz-*"))
        self.version = self.image.name.removeprefix("vmlinuz-")
        self.modules = self.root / "lib/modules" / self.version
        if not (self.modules / "modules.dep").exists():
            run([find_tool("depmod"), "-b", str(self.root), self.version])

    @staticmethod
    def _resolve(packages):
        """The package that the meta package stands for: by apt, else one fetched earlier."""
        try:
            text = run(["apt-cache", "depends", META_PACKAGE])
            found = re.search(r"Depends: (linux-image-\S+)", text)
            if found:
                return found.group(1)
        except (OSError, subprocess.CalledProcessError):
            pass
        fetched = sorted(packages.glob("linux-image-*-cloud-amd64_*.deb"))
        if fetched:
            return fetched[-1].name.split("_")[0]
        raise Unavailable(f"apt knows no {META_PACKAGE}: these tests need Debian's kernel")

    @staticmethod
    def _fetch(package, packages):
        packages.mkdir(parents=True, exist_ok=True)
        archives = sorted(packages.glob(package + "_*.deb"))
        if not archives:
            try:
                run(["apt-get", "download", "-qq", package], cwd=packages)
            except (OSError, subprocess.CalledProcessError) as error:
                reason = getattr(error, "stderr", None) or str(error)
                raise Unavailable(f"apt-get download {package} failed: {reason.strip()}") from error
            archives = sorted(packages.glob(package + "_*.deb"))
        return archives[-1]

    def module_files(self):
        """Paths below lib/modules/VERSION of the modules and what they need; none of built-in ones.
        """
        needs = {}
        by_name = {}
        for line in (self.modules / "modules.dep").read_text().splitlines():
            path, _, rest = line.partition(":")
            needs[path] = rest.split()
            by_name[pathlib.Path(path).name.split(".")[0].replace("-", "_")] = path
        wanted = set()
        for name in MODULES:
            if name in by_name:
                wanted |= {by_name[name], *needs[by_name[name]]}
        return sorted(wanted)


def shared_libraries(program):
    """Absolute paths of what the loader maps for `program`; none for a static one."""
    result = subprocess.run(["ldd", str(program)], text=True, capture_output=True, check=False)
    return re.findall(r"(/\S+) \(0x", result.stdout)


class Initramfs:
    """A tree that becomes a cpio archive. Without compression: unpacking it in an emulated
    processor costs more than reading it."""

    def __init__(self, tree, kernel):
        self.tree = tree
        shutil.rmtree(tree, ignore_errors=True)
        for folder in ("bin", "dev", "proc", "sys", "tmp", "mnt", "etc", "run", "usr"):
            (tree / folder).mkdir(parents=True)
        for link in ("sbin", "usr/bin", "usr/sbin"):
            (tree / link).symlink_to("/bin")
        self.add_program(find_tool("busybox"))
        for applet in APPLETS:
            (tree / "bin" / applet).symlink_to("busybox")
        for tool in TOOLS:
            self.add_program(find_tool(tool), tool)
        if pathlib.Path("/etc/mke2fs.conf").exists():
            shutil.copy("/etc/mke2fs.conf", tree / "etc")
        self._add_modules(kernel)
        for script in GUEST_FILES.iterdir():
            if script.name == "init":
                shutil.copy(script, tree / "init")
            else:
                self._copy(script, "scenarios/" + script.name)
        (tree / "init").chmod(0o755)

    def _copy(self, source, target):
        path = self.tree / target.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            shutil.copy(source, path)
        return path

    def add_program(self, program, name=None):
        path = self._copy(program, "bin/" + (name or pathlib.Path(program).name))
        subprocess.run(["strip", "-s", str(path)], check=False, stderr=subprocess.DEVNULL)
        for library in shared_libraries(program):
            self._copy(library, library)

    def _add_modules(self, kernel):
        base = f"lib/modules/{kernel.version}"
        for path in kernel.module_files():
            self._copy(kernel.modules / path, f"{base}/{path}")
        for name in ("modules.builtin", "modules.order", "modules.builtin.modinfo"):
            self._copy(kernel.modules / name, f"{base}/{name}")
        run([find_tool("depmod"), "-b", str(self.tree), kernel.version])

    def write(self, archive):
        names = "\0".join(sorted(str(path.relative_to(self.tree)) for path in
                                 self.tree.rglob("*"))) + "\0"
        with open(archive, "wb") as out:
            subprocess.run([find_tool("cpio"), "--quiet", "-o", "-0", "-H", "newc", "-R", "0:0"],
                           input=names.encode(), stdout=out, cwd=self.tree, check=True)
        return archive
