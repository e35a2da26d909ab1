#!/usr/bin/env python3
"""Shows that check_classes.py counts the lines and mutexes of classes over all their files."""

import unittest

import check_classes
from tree_case import TreeCase


class ClassesTest(TreeCase):
    def lines(self, *texts):
        """The lines of class a::C, whose header and sources these are."""
        for number, text in enumerate(texts):
            suffix = "h" if number == 0 else "cc"
            self.write(f"src/base/f{number}.{suffix}", f"namespace braid::a {{\n{text}}}  // a\n")
        return check_classes.find(self.root)["braid::a::C"].lines

    def test_a_definition_and_members_in_all_files_count(self):
        header = "class C {\n public:\n  C();\n  int F() const;\n};\n"
        self.assertEqual(self.lines(header), 5)
        self.assertEqual(self.lines(header, "C::C() {\n}\n"), 7)
        self.assertEqual(self.lines(header, "C::C() {\n}\n", "int C::F() const {\n  if (a) {\n  }\n}\n"),
                         11)

    def test_other_functions_and_classes_do_not_count(self):
        self.assertEqual(self.lines("class C;\nclass C {\n  int F();\n};\nclass D {\n int G();\n};\n",
                                    "int D::G() {\n}\nint F() {\n  C::F();\n}\nint C::F() {\n}\n"), 5)

    def test_signatures_over_several_lines_and_constructors_with_braces_count_whole(self):
        header = "class C {\n  C(int a);\n};\n"
        self.assertEqual(self.lines(header, "C::C(int a)\n    : a_{a},\n      b_(1), c_{} {\n}\n"), 7)
        self.assertEqual(self.lines(header, "std::vector<D>\nC::F(\n    int a) {\n}\n"), 7)

    def test_templates_bases_attributes_and_destructors_are_seen(self):
        self.assertEqual(self.lines("template <class T>\nclass alignas(64) C final : public D<T> {\n"
                                    "  ~C() { f(); }\n};\n",
                                    "template <class T>\nC<T>::~C() {\n}\n"), 7)

    def test_attributes_with_parentheses_are_seen(self):
        self.assertEqual(self.lines("class BRAID_CAPABILITY(\"mutex\") C {\n  int F();\n};\n"), 3)

    def test_a_definition_may_name_the_namespace(self):
        self.lines("class C {\n  int F();\n};\n")
        self.write("src/base/g.cc", "namespace braid {\nint a::C::F() {\n}\n}\n")
        self.assertEqual(check_classes.find(self.root)["braid::a::C"].lines, 5)

    def test_a_class_of_the_same_name_elsewhere_is_another(self):
        self.lines("class C {\n  int F();\n};\n")
        self.write("src/log/g.cc", "namespace braid::b {\nclass C {\n  int F();\n};\nint C::F() {\n}\n}\n")
        found = check_classes.find(self.root)
        self.assertEqual((found["braid::a::C"].lines, found["braid::b::C"].lines), (3, 5))

    def test_eight_hundred_lines_are_allowed_and_one_more_is_not(self):
        self.lines("class C {\n  int F();\n};\n", "int C::F() {\n" + "  a();\n" * 795 + "}\n")
        self.assertEqual(self.places(check_classes.check(self.root)), [])
        self.lines("class C {\n  int F();\n};\n", "int C::F() {\n" + "  a();\n" * 796 + "}\n")
        self.assertEqual(self.places(check_classes.check(self.root)), ["src/base/f0.h:2"])

    def test_tables_enums_and_structs_without_methods_may_be_long(self):
        rows = "  int a;\n" * 900
        self.lines("struct C {\n" + rows + "};\n")
        self.write("src/base/g.h", "enum class E {\n" + "  a,\n" * 900 + "};\n"
                   "constexpr D kRows[] = {\n" + "  {1, f(2)},\n" * 900 + "};\n")
        self.assertEqual(self.places(check_classes.check(self.root)), [])

    def test_tests_are_left_alone(self):
        self.write("src/base/a_test.cc", "class C {\n  int F();\n" + "  int a;\n" * 900 + "};\n")
        self.assertEqual(check_classes.find(self.root), {})


class MutexesTest(TreeCase):
    def offences(self, *members):
        self.write("src/base/a.h", "class C {\n" + "".join(f"  {m}\n" for m in members) + "};\n")
        return self.places(check_classes.check(self.root))

    def test_two_mutexes_are_allowed_and_three_are_not(self):
        two = ("base::Mutex a_;", "mutable Mutex b_ BRAID_ACQUIRED_BEFORE(a_);")
        self.assertEqual(self.offences(*two), [])
        for third in ("Mutex c_;", "private:\n  mutable base::Mutex c_{};", "base::Mutex c_[4];"):
            self.assertEqual(self.offences(*two, third), ["src/base/a.h:1"], third)

    def test_what_refers_to_a_mutex_is_none(self):
        self.assertEqual(self.offences("Mutex a_;", "Mutex b_;", "Mutex& c_;", "Mutex* d_;",
                                       "MutexHold Hold();", "int x_ BRAID_GUARDED_BY(a_) = 0;",
                                       "void F(Mutex& e);", "void G() {\n  Mutex f;\n  }"), [])

    def test_an_inner_class_has_its_own(self):
        self.assertEqual(self.offences("Mutex a_;", "Mutex b_;", "struct D {\n    Mutex c_;\n  };"), [])


if __name__ == "__main__":
    unittest.main()
