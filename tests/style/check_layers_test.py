#!/usr/bin/env python3
"""Shows that check_layers.py finds each kind of offence, and leaves what is allowed alone."""

import unittest

import check_layers
from tree_case import TreeCase


class LayersTest(TreeCase):
    def offences(self):
        return self.places(check_layers.check(self.root))

    def test_an_include_of_a_lower_layer_is_allowed(self):
        self.write("src/log/a.cc", '// a\n#include "pool/pool.h"\n#include "braid/db.h"\n')
        self.assertEqual(self.offences(), [])

    def test_an_include_of_a_higher_layer_is_an_offence(self):
        self.write("src/media/a.h", '// a\n#include "log/log.h"\n')
        self.assertEqual(self.offences(), ["src/media/a.h:2"])

    def test_a_sibling_is_an_offence_except_in_a_unit_test(self):
        self.write("src/log/a.cc", '// a\n\n#include "cache/dram_index.h"\n')
        self.write("src/log/a_test.cc", '// a\n#include "cache/dram_index.h"\n')
        self.assertEqual(self.offences(), ["src/log/a.cc:3"])

    def test_a_unit_test_must_not_look_upward_either(self):
        self.write("src/log/a_test.cc", '// a\n#include "level/table.h"\n')
        self.assertEqual(self.offences(), ["src/log/a_test.cc:2"])

    def test_the_command_does_not_know_benchmarks(self):
        self.write("tools/get.cc", '// a\n#include "bench/harness/runner.h"\n')
        self.write("tools/get_test.cc", '// a\n#include "tests/support/folder.h"\n')
        self.assertEqual(self.offences(), ["tools/get.cc:2"])

    def test_the_c_api_and_the_tools_do_not_include_each_other(self):
        self.write("src/capi/c.cc", '// a\n#include "tools/verb.h"\n')
        self.write("tools/get.cc", '// a\n#include "capi/handles.h"\n#include "db/db.h"\n')
        self.assertEqual(self.offences(), ["src/capi/c.cc:2", "tools/get.cc:2"])

    def test_the_store_does_not_include_tests_or_benchmarks(self):
        self.write("src/engine/a.cc", '// a\n#include "bench/harness/keys.h"\n')
        self.write("src/engine/b.cc", '// a\n#include "tests/support/x.h"\n')
        self.assertEqual(self.offences(), ["src/engine/a.cc:2", "src/engine/b.cc:2"])

    def test_a_folder_without_a_layer_is_an_offence(self):
        self.write("src/util/a.cc", "// a\n")
        self.assertEqual(self.offences(), ["src/util/a.cc:1"])

    def test_an_include_in_a_comment_is_none(self):
        self.write("src/base/a.h", '// a\n// #include "db/db.h"\n/*\n#include "db/db.h"\n*/\n')
        self.assertEqual(self.offences(), [])


class DesignIncludesTest(TreeCase):
    def offences(self):
        return self.places(check_layers.check(self.root))

    def test_engines_options_and_base_are_allowed(self):
        self.write("src/design/a.cc", '// a\n#include "design/design.h"\n#include "base/check.h"\n'
                                      '#include "braid/options.h"\n#include "lsm/lsm_engine.h"\n'
                                      "#include <string>\n")
        self.assertEqual(self.offences(), [])

    def test_a_part_of_an_engine_is_an_offence(self):
        self.write("src/design/a.cc", '// a\n#include "merge/zipper_merge.h"\n'
                                      '#include "lsm/scheduler.h"\n#include "engine/parts.h"\n')
        self.assertEqual(self.offences(), [f"src/design/a.cc:{line}" for line in (2, 3, 4)])

    def test_a_test_and_other_folders_may_include_parts(self):
        self.write("src/design/a_test.cc", '// a\n#include "merge/zipper_merge.h"\n')
        self.write("src/db/a.cc", '// a\n#include "merge/zipper_merge.h"\n')
        self.assertEqual(self.offences(), [])


class DesignNamesTest(TreeCase):
    def offences(self):
        return self.places(check_layers.check(self.root))

    def test_a_design_name_in_code_is_an_offence(self):
        self.write("src/engine/a.cc", "// a\nclass ListDbFlush;\n")
        self.write("tools/b.cc", '// a\nconst char* kName = "zipperdb";\n')
        self.assertEqual(self.offences(), ["src/engine/a.cc:2", "tools/b.cc:2"])

    def test_a_design_name_in_a_comment_or_a_recipe_is_allowed(self):
        self.write("src/engine/a.cc", "// as in ListDB\nint x;  /* NoveLSM */\n")
        self.write("src/design/listdb.cc", '// a\nconst char* kName = "listdb";\n')
        self.assertEqual(self.offences(), [])


class SeamTest(TreeCase):
    def offences(self):
        return self.places(check_layers.check(self.root))

    def test_every_way_to_flush_fence_or_map_outside_pmem_is_an_offence(self):
        calls = ["_mm_clwb(p);", "_mm_clflush(p);", "_mm_clflushopt(p);", "_mm_sfence();",
                 "_mm_stream_si64(p, 1);", "pmem2_persist(p);", "::msync(p, 1, 0);",
                 "void* p = mmap (nullptr, 1);", "#include <libpmem2.h>",
                 'asm volatile("sfence" ::: "memory");', "__builtin_ia32_sfence();"]
        self.write("src/log/a.cc", "// a\n" + "\n".join(calls) + "\n")
        expected = [f"src/log/a.cc:{line}" for line in range(2, 2 + len(calls))]
        self.assertEqual(self.offences(), sorted(expected, key=lambda p: int(p.split(":")[1])))

    def test_pmem_itself_comments_and_messages_are_allowed(self):
        self.write("src/media/a.cc", "// a\n_mm_sfence();\n")
        self.write("src/log/a.cc", '// then clwb and sfence\nconst char* kText = "uses clwb";\n'
                                   "munmap(p, 1);\n// mmap(p)\n")
        self.assertEqual(self.offences(), [])


class LocksTest(TreeCase):
    def offences(self):
        return self.places(check_layers.check(self.root))

    def test_a_mutex_that_clang_does_not_check_is_an_offence(self):
        self.write("src/engine/a.h", "// a\nstd::mutex mutex_;\n")
        self.write("src/base/mutex.h", "// a\nstd::mutex inner_;\n")
        self.write("src/engine/a_test.cc", "// a\nstd::mutex mutex;\n")
        self.assertEqual(self.offences(), ["src/engine/a.h:2"])


class FaultsTest(TreeCase):
    def test_a_seeded_fault_in_the_product_is_an_offence(self):
        self.write("src/log/a.cc", "// BRAID_MUTANT in a comment\nif (BRAID_MUTANT(kX)) return;\n")
        self.write("src/sim/faults.h", "// a\n#define BRAID_MUTANT(name) false\n")
        self.assertEqual(self.places(check_layers.check(self.root)), ["src/log/a.cc:2"])


if __name__ == "__main__":
    unittest.main()
