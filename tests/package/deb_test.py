#!/usr/bin/env python3
"""The Debian packages: what they hold, what they depend on, and that a system that has none of
braid can install them, build and run programs with them, and be rid of them again.

deb_test.py --source DIR [--packages DIR] [--root chroot]

Without --packages they are made first, by scripts/package.sh; that compiles everything once more,
so it is left out (exit code 77) unless BRAID_TEST_SIZE=night. The system is, in this
order: the folder given with --root (a Debian root with a compiler, made by mmdebstrap for example),
a copy-on-write view of this machine's (root, unshare, overlayfs), or none: then the packages are
only unpacked, and programs are built against that."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SETTINGS = argparse.Namespace()
SKIPPED = 77

# In a mount namespace of its own: "$1" becomes this machine with changes that go nowhere, or a bind
# mount of the root "$4"; "$2" is seen in it as /mnt. Then runs in_root.sh there.
ENTER = r"""
set -eu
if [ -n "$4" ]; then
  mount --rbind "$4" "$1"
else
  mount -t tmpfs tmpfs "$3"
  mkdir "$3/changes" "$3/work"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$3/changes,workdir=$3/work" "$1"
fi
mount --rbind /proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/tmp"
mount --bind "$2" "$1/mnt"
[ "${5:-}" != probe ] || exec chroot "$1" true
exec chroot "$1" /bin/bash /mnt/in_root.sh /mnt/packages /mnt/outside
"""


def run(command, **extra):
    """Runs a command; a failure shows all it said. Returns its standard output."""
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, check=False, **extra)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\nexit code {done.returncode}\n"
                             f"{done.stdout}{done.stderr}")
    return done.stdout


class DebianPackagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("BRAID_TMP"))
        cls.addClassCleanup(folder.cleanup)
        cls.work = pathlib.Path(folder.name)
        for name in ("root", "view", "changes"):
            (cls.work / name).mkdir()
        packages = sorted(pathlib.Path(SETTINGS.packages).glob("*.deb"))
        cls.by_name = {run(["dpkg-deb", "--field", path, "Package"]).strip(): path
                       for path in packages}
        cls.library = next(name for name in cls.by_name if re.fullmatch(r"libbraid\d+", name))
        cls.view = cls.work / "view"
        shutil.copytree(HERE / "outside", cls.view / "outside")
        shutil.copy(HERE / "in_root.sh", cls.view)
        (cls.view / "packages").mkdir()
        for path in packages:
            shutil.copy(path, cls.view / "packages")
            run(["dpkg-deb", "--extract", path, cls.work / "root"])

    def field(self, package, name):
        return run(["dpkg-deb", "--field", self.by_name[package], name]).strip()

    def files(self, package):
        listing = run(["dpkg-deb", "--contents", self.by_name[package]]).splitlines()
        return {line.split(maxsplit=5)[5].split(" -> ")[0].removeprefix("./")
                for line in listing if not line.startswith("d")}

    def test_there_are_three_packages_and_the_library_is_named_for_its_soname(self):
        self.assertEqual(set(self.by_name), {self.library, "libbraid-dev", "braid-tools"})
        sonames = [name for name in self.files(self.library)
                   if re.search(r"libbraid\.so\.\d+$", name)]
        self.assertEqual(len(sonames), 1)
        dynamic = run(["objdump", "-p", self.work / "root" / sonames[0]])
        soname = re.search(r"SONAME\s+libbraid\.so\.(\d+)", dynamic).group(1)
        self.assertEqual(self.library, f"libbraid{soname}")

    def test_each_file_is_in_the_package_where_it_is_looked_for(self):
        library, development, tools = (self.files(name)
                                       for name in (self.library, "libbraid-dev", "braid-tools"))
        self.assertEqual(library & development | library & tools | development & tools, set())
        for name in library:
            self.assertRegex(name, r"/libbraid\.so\.\d+[\d.]*$|^usr/share/doc/")
        headers = {f"usr/include/braid/{path.name}" for path in
                   (pathlib.Path(SETTINGS.source) / "include" / "braid").glob("*.h")}
        self.assertEqual({name for name in development if name.startswith("usr/include/")}, headers)
        for ending in ("/libbraid.so", "/libbraid.a", "/pkgconfig/braid.pc",
                       "/cmake/braid/braidConfig.cmake", "/cmake/braid/braidConfigVersion.cmake",
                       "/cmake/braid/braidTargets.cmake", "/cmake/braid/braidStaticTargets.cmake"):
            self.assertEqual(sum(name.endswith(ending) for name in development), 1, ending)
        self.assertIn("usr/bin/braid", tools)
        triplet = run(["dpkg-architecture", "-qDEB_HOST_MULTIARCH"]).strip()
        for name in library | development:
            self.assertRegex(name, rf"^usr/(lib/{triplet}|include|share/doc)/")

    def test_each_package_says_under_which_licence_it_is_and_what_changed(self):
        for name in self.by_name:
            self.assertIn(f"usr/share/doc/{name}/copyright", self.files(name))
            self.assertIn(f"usr/share/doc/{name}/changelog.Debian.gz", self.files(name))

    def test_the_dependencies_are_those_of_the_linked_libraries(self):
        for name in (self.library, "braid-tools"):
            depends = self.field(name, "Depends")
            for package in ("libpmem2", "liburcu8", "libc6", "libstdc++6"):
                self.assertRegex(depends, rf"(^|, ){re.escape(package)} \(>= [^)]+\)")
            self.assertNotIn("-dev", depends)
        version = self.field(self.library, "Version")
        self.assertIn(f"{self.library} (= {version})", self.field("libbraid-dev", "Depends"))
        for package in ("libpmem2-dev", "libxxhash-dev", "liburcu-dev"):
            self.assertIn(package, self.field("libbraid-dev", "Depends"))

    def test_the_library_tells_dpkg_who_needs_it_and_the_loader_that_it_is_there(self):
        folder = self.work / "control"
        run(["dpkg-deb", "--control", self.by_name[self.library], folder])
        shlibs = (folder / "shlibs").read_text(encoding="utf-8")
        self.assertRegex(shlibs, rf"^libbraid {self.library[8:]} {self.library} ")
        self.assertIn("activate-noawait ldconfig", (folder / "triggers").read_text(encoding="utf-8"))

    def test_nothing_names_the_folder_where_it_was_built(self):
        places = (str(pathlib.Path(SETTINGS.source).resolve()).encode(),
                  str(pathlib.Path(SETTINGS.packages).resolve()).encode())
        for path in (self.work / "root").rglob("*"):
            if path.is_file() and not path.is_symlink():
                for place in places:
                    self.assertFalse(place in path.read_bytes(), f"{path.name} names {place!r}")

    def enter(self, *extra):
        command = ["unshare", "--mount", "--propagation", "private", "bash", "-c", ENTER, "enter",
                   self.work / "root", self.view, self.work / "changes", SETTINGS.root, *extra]
        return subprocess.run([str(part) for part in command], text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, check=False)

    def test_a_system_without_braid_installs_uses_and_removes_the_packages(self):
        if self.enter("probe").returncode != 0:
            self.skipTest("no root, or no overlayfs: the packages are used unpacked only")
        done = self.enter()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("ok - "), 9, done.stdout)

    def test_programs_build_and_run_against_the_unpacked_packages(self):
        usr = self.work / "root" / "usr"
        libraries = next(usr.rglob("libbraid.so")).parent
        environment = dict(os.environ, PKG_CONFIG_PATH=f"{libraries}/pkgconfig",
                           LD_LIBRARY_PATH=str(libraries))
        flags = run(["pkg-config", "--cflags", "--libs", "braid"], env=environment).split()
        self.assertIn(f"-L{libraries}", [str(pathlib.Path(flag[2:]).resolve()).join(("-L", ""))
                                         if flag.startswith("-L") else flag for flag in flags])
        program = self.work / "unpacked"
        run(["c++", "-std=c++20", HERE / "outside" / "main.cc", "-o", program, *flags])
        self.assertIn("media", run([program, self.work / "pool"], env=environment))
        run([usr / "bin" / "braid", "put", self.work / "pool", "key", "value"])
        self.assertEqual(run([usr / "bin" / "braid", "get", self.work / "pool", "key"]), "value\n")

    def test_lintian_finds_no_error(self):
        if not shutil.which("lintian"):
            self.skipTest("lintian is not installed")
        said = subprocess.run(["lintian", "--allow-root", "--fail-on", "none",
                               *map(str, self.by_name.values())],
                              text=True, capture_output=True, check=False).stdout
        errors = [line for line in said.splitlines() if line.startswith("E:")]
        self.assertEqual(errors, [], said)


def make_packages(folder):
    """Runs scripts/package.sh. Returns the folder of the packages, or None when that is left out."""
    missing = [tool for tool in ("dpkg-deb", "dpkg-shlibdeps", "fakeroot", "ninja")
               if not shutil.which(tool)]
    if os.environ.get("BRAID_TEST_SIZE", "push") == "push":
        missing.append("time (everything is compiled again: BRAID_TEST_SIZE=night)")
    if missing:
        print(f"skipped: not there: {', '.join(missing)}")
        return None
    print(run([pathlib.Path(SETTINGS.source) / "scripts" / "package.sh", folder]))
    return folder / "packages"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--packages")
    parser.add_argument("--root", default="")
    SETTINGS, rest = parser.parse_known_args()
    if SETTINGS.packages is None:
        SETTINGS.packages = make_packages(SETTINGS.build)
        if SETTINGS.packages is None:
            sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], *rest])
