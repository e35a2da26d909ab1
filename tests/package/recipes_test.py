#!/usr/bin/env python3
"""The vcpkg port and the Conan recipe below packaging/: as far as they can be judged without
fetching anything. recipes_test.py <source directory> <cmake>; with conan and BRAID_TEST_SIZE=night
the Conan package is made and its test program run."""

import ast
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE_DIR = pathlib.Path(sys.argv[1]).resolve()
CMAKE = sys.argv[2]
PORT = SOURCE_DIR / "packaging" / "vcpkg" / "ports" / "braid"
CONAN = SOURCE_DIR / "packaging" / "conan"

# What the port calls, each printing its name and arguments.
STAND_INS = ("vcpkg_cmake_configure", "vcpkg_cmake_install", "vcpkg_cmake_config_fixup",
             "vcpkg_fixup_pkgconfig", "vcpkg_copy_tools", "vcpkg_install_copyright")


def library_version():
    header = (SOURCE_DIR / "include" / "braid" / "version.h").read_text(encoding="utf-8")
    return re.search(r'BRAID_VERSION_STRING "([^"]+)"', header).group(1)


def required_packages():
    """Debian packages that the build asks for, by the option that makes it ask."""
    text = (SOURCE_DIR / "cmake" / "BraidDependencies.cmake").read_text(encoding="utf-8")
    modules = re.findall(r"(?m)^braid_require_module\(\w+ \S+ (\S+)\)", text)
    tools = text.split("if((BRAID_BUILD_TOOLS")[1].split("endif()")[0]
    return set(modules), set(re.findall(r"braid_require_package\(\S+ (\S+)\)", tools))


class VcpkgPortTest(unittest.TestCase):
    def setUp(self):
        self.manifest = json.loads((PORT / "vcpkg.json").read_text(encoding="utf-8"))

    def test_the_version_is_that_of_the_header(self):
        self.assertEqual(self.manifest["version-semver"], library_version())

    def test_it_names_what_the_build_needs(self):
        ours = {"libxxhash-dev": "xxhash", "liburcu-dev": "liburcu", "libfmt-dev": "fmt",
                "nlohmann-json3-dev": "nlohmann-json", "libcli11-dev": "cli11"}
        library, tools = required_packages()
        library.remove("libpmem2-dev")  # from the system: see portfile.cmake
        names = {entry for entry in self.manifest["dependencies"] if isinstance(entry, str)}
        self.assertEqual(names, {ours[package] for package in library})
        self.assertEqual(set(self.manifest["features"]["tools"]["dependencies"]),
                         {ours[package] for package in tools})

    def run_port(self, features):
        with tempfile.TemporaryDirectory(dir=os.environ.get("BRAID_TMP")) as folder:
            script = pathlib.Path(folder) / "run.cmake"
            lines = ['cmake_minimum_required(VERSION 3.16)']
            lines += [f'function({name})\nmessage("{name} ${{ARGN}}")\nendfunction()'
                     for name in STAND_INS]
            lines += ['function(vcpkg_check_features)',
                      'set(FEATURE_OPTIONS "-DBRAID_BUILD_TOOLS=stand-in" PARENT_SCOPE)',
                      'endfunction()', 'set(PORT braid)', f'set(FEATURES "{features}")',
                      f'set(CURRENT_PACKAGES_DIR "{folder}/package")', f'include("{PORT}/portfile.cmake")']
            script.write_text("\n".join(lines), encoding="utf-8")
            done = subprocess.run([CMAKE, "-P", script], text=True, capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue((pathlib.Path(folder) / "package/share/braid/usage").is_file())
        return done.stderr

    def test_the_port_runs_from_beginning_to_end(self):
        said = self.run_port("core;tools")
        for name in STAND_INS:
            self.assertIn(name, said)
        self.assertIn(f"SOURCE_PATH;{SOURCE_DIR};", said)
        self.assertIn("-DBRAID_BUILD_TESTS=OFF", said)
        self.assertNotIn("vcpkg_copy_tools", self.run_port("core"))

    def test_it_sets_only_options_that_the_build_has(self):
        lists = (SOURCE_DIR / "CMakeLists.txt").read_text(encoding="utf-8")
        for text in ((PORT / "portfile.cmake").read_text(encoding="utf-8"),
                     (CONAN / "conanfile.py").read_text(encoding="utf-8")):
            options = set(re.findall(r"\bBRAID_(?:BUILD|WERROR)\w*", text))
            self.assertTrue(options)
            for option in options:
                self.assertIn(f"option({option} ", lists)


class ConanRecipeTest(unittest.TestCase):
    def setUp(self):
        self.text = (CONAN / "conanfile.py").read_text(encoding="utf-8")

    def test_the_recipes_are_python(self):
        for path in (CONAN / "conanfile.py", CONAN / "test_package" / "conanfile.py"):
            ast.parse(path.read_text(encoding="utf-8"), str(path))

    def test_it_names_what_the_build_needs(self):
        library, tools = required_packages()
        self.assertEqual(set(re.findall(r'"([\w.-]+-dev)"', self.text)), library | tools)

    def test_it_takes_all_that_the_build_reads(self):
        sources = re.search(r"SOURCES = \((.*?)\)", self.text, re.DOTALL).group(1)
        patterns = re.findall(r'"([^"]+)"', sources)
        for pattern in patterns:
            self.assertTrue(list(SOURCE_DIR.glob(pattern)), f"{pattern}: there is nothing")
        folders = {pattern.split("/")[0] for pattern in patterns}
        for folder in ("CMakeLists.txt", "cmake", "include", "src", "tools", "bench", "packaging"):
            self.assertIn(folder, folders)

    def test_conan_makes_the_package_and_runs_its_test_program(self):
        if not shutil.which("conan") or os.environ.get("BRAID_TEST_SIZE") != "night":
            self.skipTest("needs conan 2 and BRAID_TEST_SIZE=night")
        with tempfile.TemporaryDirectory(dir=os.environ.get("BRAID_TMP")) as home:
            environment = dict(os.environ, CONAN_HOME=home)
            # Nothing is built inside the sources, and no server is asked.
            create = ["create", str(CONAN), "-s", "compiler.cppstd=20", "--no-remote",
                      "-c", "tools.cmake.cmake_layout:test_folder=$TMP"]
            for command in (["profile", "detect"], create, [*create, "-o", "braid/*:shared=False"]):
                done = subprocess.run(["conan", *command], text=True, capture_output=True,
                                      env=environment, cwd=home, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
