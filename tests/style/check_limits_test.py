#!/usr/bin/env python3
"""Shows that check_limits.py finds each kind of offence, and leaves what is allowed alone."""

import unittest

import check_limits
from tree_case import TreeCase

WORK = "  Work();\n"


def function(lines, head="void Run() {"):
    """A function of exactly `lines` lines."""
    return head + "\n" + WORK * (lines - 1 - head.count("\n") - 1) + "}\n"


class LimitsTest(TreeCase):
    def offences(self):
        return self.places(check_limits.check(self.root))

    def test_a_file_of_a_thousand_lines_is_allowed_and_one_more_is_not(self):
        self.write("src/base/a.h", "// a\n" + "\n" * 999)
        self.write("src/base/b.h", "// a\n" + "\n" * 1000)
        self.write("hadoop/B.java", "// a\n" + "\n" * 1000)
        self.assertEqual(self.offences(), ["hadoop/B.java:1001", "src/base/b.h:1001"])

    def test_a_line_of_a_hundred_columns_is_allowed_and_one_more_is_not(self):
        self.write("src/base/a.h", "// a\n//" + "x" * 98 + "\n//" + "x" * 99 + "\n")
        self.assertEqual(self.offences(), ["src/base/a.h:3"])

    def test_columns_are_counted_in_characters(self):
        self.write("src/base/a.h", "// a\n//" + "\u00e4" * 98 + "\n")
        self.assertEqual(self.offences(), [])

    def test_a_recipe_has_a_limit_of_its_own_and_its_test_has_not(self):
        self.write("src/design/a.cc", "// a\n" + "\n" * 150)
        self.write("src/design/a_test.cc", "// a\n" + "\n" * 150)
        self.assertEqual(self.offences(), ["src/design/a.cc:151"])

    def test_parked_code_and_open_ends_are_offences(self):
        marks = ["TO" "DO", "FIX" "ME", "XX" "X"]
        self.write("src/base/a.cc", "// a\n#if 0\n#endif\n" + "".join(f"// {m}\n" for m in marks))
        self.write("src/base/b.cc", '// a\nmkdtemp("a-XXXXXX");\n#if 01\n#endif\n')
        self.assertEqual(self.offences(), [f"src/base/a.cc:{line}" for line in (2, 4, 5, 6)])

    def test_a_file_without_a_head_is_an_offence(self):
        self.write("src/base/a.h", "#pragma once\n// too late\n")
        self.write("src/base/a.cc", '#include "base/a.h"\n')
        self.write("tools/a.h", "#pragma once\n")
        self.write("include/braid/c.h", "/* fine */\n")
        self.write("src/base/a_test.cc", '#include "base/a.h"\n')
        self.write("tools/a.cc", '#include "tools/a.h"\n')
        self.assertEqual(self.offences(), ["src/base/a.cc:1", "src/base/a.h:1", "tools/a.h:1"])


class FunctionLengthTest(TreeCase):
    def offences(self, text):
        self.write("src/base/a.cc", "// a\n" + text)
        return self.places(check_limits.check(self.root))

    def test_seventy_lines_are_allowed_and_seventy_one_are_not(self):
        self.assertEqual(self.offences(function(70)), [])
        self.assertEqual(self.offences(function(71)), ["src/base/a.cc:2"])

    def test_a_signature_over_several_lines_counts(self):
        self.assertEqual(self.offences(function(71, "void Run(int a,\n         int b) {")),
                         ["src/base/a.cc:2"])

    def test_a_reason_right_above_is_accepted(self):
        self.assertEqual(self.offences("// Long: one table.\n" + function(80)), [])
        self.assertEqual(self.offences("/// Runs.\n// Long: one table.\n// Twice.\n" + function(80)), [])
        template = "// Long: one table.\n" + function(80, "template <class T>\nvoid Run(T t) {")
        self.assertEqual(self.offences(template), [])

    def test_a_reason_without_words_or_further_up_is_not(self):
        self.assertEqual(self.offences("// Long:\n" + function(80)), ["src/base/a.cc:3"])
        self.assertEqual(self.offences("// Long: yes.\n\n" + function(80)), ["src/base/a.cc:4"])

    def test_methods_and_nested_namespaces_are_seen(self):
        text = "namespace a::b {\nclass C : public D {\n public:\n" + function(71, "  int F() const {")
        self.assertEqual(self.offences(text + "};\n}\n"), ["src/base/a.cc:5"])
        text = "template <class T>\nstruct C {\n" + function(71, "  auto F() -> int override {")
        self.assertEqual(self.offences(text + "};\n"), ["src/base/a.cc:4"])

    def test_constructors_with_braces_in_their_list_are_seen_whole(self):
        head = "C::C(int a) noexcept\n    : a_{a},\n      b_(1), c_{} {"
        self.assertEqual(self.offences(function(71, head)), ["src/base/a.cc:2"])
        self.assertEqual(self.offences(function(70, head)), [])

    def test_default_arguments_in_braces_do_not_hide_a_function(self):
        self.assertEqual(self.offences(function(71, "void F(const O& o = {}) {")), ["src/base/a.cc:2"])

    def test_long_classes_tables_and_namespaces_are_no_functions(self):
        members = "  int a;\n" * 80
        self.assertEqual(self.offences("class C final : public D<int> {\n" + members + "};\n"), [])
        self.assertEqual(self.offences("const T kT[] = {\n" + "  {1, F(2)},\n" * 80 + "};\n"), [])
        self.assertEqual(self.offences("namespace {\n" + "int F();\n" * 80 + "}\n"), [])
        self.assertEqual(self.offences("struct alignas(64) C {\n" + members + "};\n"), [])

    def test_braces_in_strings_and_comments_do_not_count(self):
        text = 'const char* A() { return "{{"; }\n// }}\nchar B() { return \'{\'; }\n'
        self.assertEqual(self.offences(text + "int C() { return 1\'000; }\n" + function(70)), [])
        self.assertEqual(self.offences(text + function(71)), ["src/base/a.cc:5"])

    def test_blocks_inside_a_function_belong_to_it(self):
        body = "void F() {\n" + "  if (x) {\n    y();\n  }\n" * 24 + "}\n"
        self.assertEqual(self.offences(body), ["src/base/a.cc:2"])


if __name__ == "__main__":
    unittest.main()
