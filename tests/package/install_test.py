#!/usr/bin/env python3
"""Installs the build to a scratch prefix and uses it as an outsider would: through CMake's
find_package, through pkg-config, from C++ and from C, and after the tree was moved."""

import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from public_functions import out_of_line_functions
SETTINGS = argparse.Namespace()


def run(command, **extra):
    """Runs a command; a failure shows all it said. Returns its standard output."""
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, check=False, **extra)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\nexit code {done.returncode}\n"
                             f"{done.stdout}{done.stderr}")
    return done.stdout


class InstalledPackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("BRAID_TMP"))
        cls.addClassCleanup(folder.cleanup)
        cls.work = pathlib.Path(folder.name)
        first = cls.work / "first"
        run([SETTINGS.cmake, "--install", SETTINGS.build_dir, "--prefix", first])
        # What is used below was moved after its installation: nothing may remember the old place.
        cls.prefix = cls.work / "moved"
        shutil.move(first, cls.prefix)
        cls.libraries = next(cls.prefix.rglob("libbraid.so")).parent

    def environment(self):
        environment = dict(os.environ)
        environment["PKG_CONFIG_PATH"] = f"{self.libraries}/pkgconfig"
        environment["LD_LIBRARY_PATH"] = str(self.libraries)
        return environment

    def run_outside(self, program):
        return run([program, self.work / f"pool-{program.name}"], env=self.environment())

    def pkg_config(self, *flags):
        return run([SETTINGS.pkg_config, *flags, "braid"], env=self.environment()).split()

    def headers(self):
        return sorted((self.prefix / "include" / "braid").glob("*.h"))

    def test_find_package_gives_a_shared_and_a_static_library_that_work(self):
        build = self.work / "with-cmake"
        run([SETTINGS.cmake, "-S", HERE / "outside", "-B", build,
             f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={SETTINGS.cxx}"])
        run([SETTINGS.cmake, "--build", build])
        for name in ("main_shared", "main_static"):
            self.assertIn("media", self.run_outside(build / name))
        for name in ("every_call_shared", "every_call_static"):
            (self.work / f"pool-{name}").mkdir()
            self.assertIn("every call", self.run_outside(build / name))

    def test_the_program_that_calls_every_function_leaves_none_out(self):
        declared = collections.Counter()
        for header in self.headers():
            if header.name != "c.h":
                declared.update(out_of_line_functions(header.read_text(encoding="utf-8")))
        # One a kind that could be overlooked: a function, a static one, one with a default body.
        for name in ("braid::Update", "braid::DB::Restore", "braid::DB::MultiGet"):
            self.assertIn(name, declared)
        self.assertEqual(declared["braid::DB::Open"], 2)
        program = self.work / "every_call.o"
        run([SETTINGS.cxx, "-std=c++20", "-c", HERE / "outside" / "every_call.cc", "-o", program,
             *self.pkg_config("--cflags")])
        called = collections.Counter(
            re.sub(r"\[abi:\w+\]", "", line.split(maxsplit=1)[1]).split("(")[0].split()[-1]
            for line in run(["nm", "--demangle", "--undefined-only", program]).splitlines())
        for name, overloads in declared.items():
            self.assertGreaterEqual(called[name], overloads,
                                    f"{name}: not called in outside/every_call.cc")

    def test_every_function_of_the_c_api_links_with_both_libraries(self):
        header = (self.prefix / "include" / "braid" / "c.h").read_text(encoding="utf-8")
        names = sorted(set(re.findall(r"\b(braid_\w+)\s*\(", re.sub(r"/\*.*?\*/", "", header,
                                                                    flags=re.S))))
        self.assertGreater(len(names), 80)
        source = self.work / "every_c_call.c"
        source.write_text(
            "#include <braid/c.h>\n#include <stdio.h>\n"
            "static void (*const calls[])(void) = {\n"
            + "".join(f"    (void (*)(void)){name},\n" for name in names)
            + "};\nint main(void) {\n"
            '  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i)\n'
            '    if (calls[i] == NULL) return 1;\n'
            '  return 0;\n}\n', encoding="utf-8")
        shared = self.pkg_config("--cflags", "--libs")
        static = ["-l:libbraid.a" if flag == "-lbraid" else flag
                  for flag in self.pkg_config("--cflags", "--libs", "--static")]
        self.assertIn("-l:libbraid.a", static)
        for name, flags in (("shared", shared), ("static", static)):
            program = self.work / f"every_c_call_{name}"
            run([SETTINGS.cc, "-std=c11", source, "-o", program, *flags])
            run([program], env=self.environment())

    def test_find_package_refuses_another_major_version(self):
        lists = self.work / "wrong-version"
        lists.mkdir()
        (lists / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(wrong LANGUAGES CXX)\n"
            "find_package(braid 99 CONFIG REQUIRED)\n", encoding="utf-8")
        with self.assertRaisesRegex(AssertionError, 'version\\s+"99"'):
            run([SETTINGS.cmake, "-S", lists, "-B", lists / "build",
                 f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={SETTINGS.cxx}"])

    def test_pkg_config_gives_flags_that_work(self):
        program = self.work / "with_pkg_config"
        flags = self.pkg_config("--cflags", "--libs")
        run([SETTINGS.cxx, "-std=c++20", HERE / "outside" / "main.cc", "-o", program, *flags])
        self.assertIn("media", self.run_outside(program))

    def test_pkg_config_says_the_version_of_the_header(self):
        header = (self.prefix / "include" / "braid" / "version.h").read_text(encoding="utf-8")
        version = "".join(self.pkg_config("--modversion"))
        self.assertIn(f'BRAID_VERSION_STRING "{version}"', header)

    def test_the_c_api_serves_a_c99_program(self):
        program = self.work / "in_c"
        flags = self.pkg_config("--cflags", "--libs")
        run([SETTINGS.cc, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror",
             HERE / "outside" / "main.c", "-o", program, *flags])
        self.run_outside(program)

    def test_every_installed_header_compiles_alone(self):
        self.assertGreaterEqual(len(self.headers()), 6)
        for header in self.headers():
            source = self.work / "alone.cc"
            source.write_text(f"#include <braid/{header.name}>\n", encoding="utf-8")
            run([SETTINGS.cxx, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                 "-fsyntax-only", *self.pkg_config("--cflags"), source])

    def test_the_shared_library_exports_the_public_api_and_nothing_else(self):
        symbols = run(["nm", "--dynamic", "--demangle", "--defined-only",
                       self.libraries / "libbraid.so"]).splitlines()
        names = [line.split(maxsplit=2)[2].split("@")[0] for line in symbols]
        self.assertTrue(any(name.startswith("braid::DB::Open(") for name in names))
        public = ("braid_", "BRAID_0", "braid::DB::", "braid::Status::", "braid::WriteBatch::",
                  "braid::Options::", "braid::MediaClassName(", "braid::ListFields(",
                  "braid::ListKindName(", "braid::OptionNames", "braid::Update(",
                  "braid::FindKeyOrder(", "braid::IntegerOrder(", "braid::KeyOrderNames",
                  "braid::ReverseBytewiseOrder(", "braid::RepairFinding::", "braid::RepairReport::",
                  "braid::PrefixUpperBound", "braid::PrefixBounds(", "braid::TimeKey",
                  "braid::TimeOfKey(", "braid::ExpireBefore(", "braid::ToJson", "braid::PowerLossName(",
                  "braid::Iterator::", "braid::LatencyHistogram::", "braid::SharedResources::")
        for name in names:
            for kind in ("typeinfo for ", "typeinfo name for ", "vtable for "):
                name = name.removeprefix(kind)
            in_header = name in ("braid::DB", "braid::Iterator", "braid::Snapshot",
                                 "braid::WriteBatch::Handler", "braid::RecordSource",
                                 "braid::EventListener", "braid::KeyOrder", "braid::Transaction")
            self.assertTrue(in_header or name.startswith(public), f"exported by accident: {name}")

    def test_the_command_is_installed(self):
        self.assertTrue((self.prefix / "bin" / "braid").is_file())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("--build-dir", "--cmake", "--pkg-config", "--cxx", "--cc"):
        parser.add_argument(name, required=True)
    SETTINGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
