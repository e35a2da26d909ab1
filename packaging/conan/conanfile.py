"""Conan 2 recipe: conan create packaging/conan

It exports the sources in whose packaging/ folder it lies. The three libraries that braid stands on
come from the system's packages, since Conan's index has no libpmem2 and no liburcu; they are
installed when tools.system.package_manager:mode is "install", and asked for by name otherwise."""

import pathlib
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir
from conan.tools.system.package_manager import Apt

SOURCES = ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "packaging/debian/*",
           "tools/*", "bench/*")


class BraidRecipe(ConanFile):
    name = "braid"
    description = "Embedded, ordered key-value store for persistent memory"
    license = "Apache-2.0"
    topics = ("key-value-store", "persistent-memory", "lsm-tree")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "with_tools": [True, False]}
    default_options = {"shared": True, "with_tools": False}

    def set_version(self):
        header = pathlib.Path(self.recipe_folder, "../../include/braid/version.h").read_text("utf-8")
        self.version = re.search(r'BRAID_VERSION_STRING "([^"]+)"', header).group(1)

    def export_sources(self):
        root = pathlib.Path(self.recipe_folder).parent.parent
        for pattern in SOURCES:
            copy(self, pattern, src=str(root), dst=self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("braid runs on Linux only")
        check_min_cppstd(self, 20)

    def system_requirements(self):
        packages = ["libpmem2-dev", "libxxhash-dev", "liburcu-dev"]
        if self.options.with_tools:
            packages += ["libfmt-dev", "nlohmann-json3-dev", "libcli11-dev"]
        Apt(self).install(packages)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["BRAID_BUILD_TESTS"] = False
        toolchain.cache_variables["BRAID_BUILD_TOOLS"] = bool(self.options.with_tools)
        toolchain.cache_variables["BRAID_WERROR"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", src=self.source_folder, dst=str(pathlib.Path(self.package_folder, "licenses")))
        # One of the two libraries is the package; Conan writes the CMake and pkg-config files itself.
        library = pathlib.Path(self.package_folder, "lib")
        unwanted = "libbraid.a" if self.options.shared else "libbraid.so*"
        for path in library.glob(unwanted):
            path.unlink()
        for folder in ("cmake", "pkgconfig"):
            rmdir(self, str(library / folder))

    def package_info(self):
        self.cpp_info.libs = ["braid"]
        self.cpp_info.set_property("cmake_file_name", "braid")
        self.cpp_info.set_property("cmake_target_name",
                                   "braid::braid" if self.options.shared else "braid::static")
        self.cpp_info.set_property("pkg_config_name", "braid")
        if not self.options.shared:
            self.cpp_info.system_libs = ["pmem2", "xxhash", "urcu-memb", "stdc++", "pthread"]
