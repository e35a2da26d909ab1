#!/usr/bin/env python3
"""Shows that check_heads.py finds each kind of offence, and leaves what is allowed alone."""

import unittest

import check_heads
from tree_case import TreeCase


class HeadsTest(TreeCase):
    def offences(self, *lines, path="src/base/a.h", code=""):
        self.write(path, "".join(f"// {line}".rstrip() + "\n" for line in lines) + code)
        return [f"{problem.line}" for problem in sorted(check_heads.check(self.root))]

    def test_a_head_begins_with_its_purpose(self):
        self.assertEqual(self.offences("Purpose: one.", "Thread safety: any thread."), [])
        self.assertEqual(self.offences("One."), ["1"])
        self.assertEqual(self.offences("Purpose, thread safety: see b.h."), ["1"])

    def test_tests_and_files_without_a_head_are_left_alone(self):
        self.assertEqual(self.offences("One.", path="src/base/a_test.cc"), [])
        self.assertEqual(self.offences(path="src/base/a.cc", code="int a;\n"), [])

    def test_a_head_of_c_may_be_a_block_comment(self):
        self.write("include/braid/c.h", "/* Purpose: one.\n * Two.\n */\n")
        self.write("include/braid/d.h", "/* One.\n */\n")
        self.assertEqual(self.places(check_heads.check(self.root)), ["include/braid/d.h:1"])

    def test_a_part_in_the_middle_of_a_line_is_an_offence(self):
        self.assertEqual(self.offences("Purpose: one. Thread safety: none. Persistence: none."),
                         ["1", "1"])
        self.assertEqual(self.offences("Purpose: one.", "Thread safety: any. Locks, in order: a."),
                         ["2"])
        self.assertEqual(self.offences("Purpose: one. Thread safety, invariants: see b.h."), ["1"])

    def test_a_part_that_a_line_end_cuts_in_two_is_an_offence(self):
        self.assertEqual(self.offences("Purpose: one. Thread", "safety: none."), ["1"])

    def test_several_parts_may_share_a_line_of_their_own(self):
        self.assertEqual(
            self.offences("Purpose: one.", "Thread safety, invariants, persistence: see b.h."), [])

    def test_the_names_of_parts_are_words_elsewhere(self):
        self.assertEqual(self.offences("Purpose: one. Persistence is another's. Its source: b.h."), [])

    def test_invariants_are_a_numbered_list(self):
        self.assertEqual(self.offences("Purpose: one.", "Invariants:", "  1. a", "     b", "  2. c",
                                       "Persistence: none."), [])
        self.assertEqual(self.offences("Purpose: one.", "Invariants: a holds."), ["2"])
        self.assertEqual(self.offences("Purpose: one.", "Invariant: a holds."), ["2"])
        self.assertEqual(self.offences("Purpose: one.", "Invariants:", "  a holds."), ["3"])
        self.assertEqual(self.offences("Purpose: one.", "Invariants:", "Persistence: none."), ["2"])

    def test_invariants_may_be_those_of_another_file(self):
        self.assertEqual(self.offences("Purpose: one.", "Invariants: those of b.h hold."), [])
        self.assertEqual(self.offences("Purpose: one.", "Invariants: none."), [])

    def test_numbers_have_no_gaps(self):
        self.assertEqual(self.offences("Purpose: one.", "Invariants:", "  1. a", "  3. b"), ["4"])
        self.assertEqual(self.offences("Purpose: one.", "Invariants:", "  2. a"), ["3"])

    def test_numbers_may_continue_those_of_another_file(self):
        self.assertEqual(self.offences("Purpose: one.", "Invariants (1 to 8 are those of b.h):",
                                       "  9. a", " 10. b"), [])

    def test_text_between_and_behind_items_is_an_offence(self):
        self.assertEqual(self.offences("Purpose: one.", "Invariants:", "  1. a", "  b"), ["4"])
        self.assertEqual(self.offences("Purpose: one.", "Invariants:", "  1. a", "b"), ["4"])
        self.assertEqual(self.offences("Purpose: one.", "Invariants:", "  1. a", "", "b"), [])

    def test_twelve_lines_are_a_paragraph_and_thirteen_too_many(self):
        self.assertEqual(self.offences("Purpose: one.", *["a"] * 11), [])
        self.assertEqual(self.offences("Purpose: one.", *["a"] * 12), ["1"])
        self.assertEqual(self.offences("Purpose: one.", "", *["a"] * 12), [])
        self.assertEqual(self.offences("Purpose: one.", "", *["a"] * 13), ["3"])
        self.assertEqual(self.offences("Purpose: one.", "Invariants:", "  1. a", *["     b"] * 12),
                         ["3"])
        self.assertEqual(self.offences("Purpose: one.", *["a", " - b"] * 20), [])


class SharedStateTest(TreeCase):
    def offences(self, member, path="src/base/a.h", head="// Purpose: one.\n"):
        self.write(path, f"{head}class A {{\n{member}\n}};\n")
        return self.places(check_heads.check(self.root))

    def test_a_mutex_or_an_atomic_member_needs_a_thread_safety(self):
        for member in ("  base::Mutex mutex_;", "  mutable Mutex mutex_;",
                       "  std::atomic<uint64_t> count_{0};", "  std::atomic<T*> a_[3] = {};",
                       "  std::atomic<bool> b_ BRAID_GUARDED_BY(mutex_) = false;",
                       "  std::atomic_bool c_;"):
            self.assertEqual(self.offences(member), ["src/base/a.h:1"], member)

    def test_it_may_say_so_and_a_source_leans_on_its_header(self):
        self.assertEqual(self.offences("  base::Mutex mutex_;",
                                       head="// Purpose: one.\n// Thread safety: any.\n"), [])
        self.assertEqual(self.offences("  base::Mutex mutex_;", path="src/base/b.cc"), [])

    def test_locks_parameters_and_comments_are_no_members(self):
        for line in ("  void F(base::Mutex& mutex);", "  MutexLock lock(mutex);",
                     "  // std::atomic<int> a;", "  std::atomic_ref<int> R(int* a);"):
            self.assertEqual(self.offences(line), [], line)


if __name__ == "__main__":
    unittest.main()
