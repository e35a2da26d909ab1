#!/usr/bin/env python3
"""Shows that check_words.py finds each banned phrase, and leaves what is allowed alone."""

import unittest

import check_words
from tree_case import TreeCase


class WordsTest(TreeCase):
    def offences(self, text, path="src/base/a.h"):
        self.write(path, text)
        return self.places(check_words.check(self.root))

    def test_each_phrase_is_an_offence(self):
        for text in ("opened anew", "whoever writes", "they are told", "it was told of", "be it now",
                     "the tables of now", "a mark of death", "marks of death", "it is dead",
                     "dead entries", "an entry that dies", "the copy has died", "arranged by key",
                     "its arrangement", "readers beside a writer", "beside the process",
                     "beside other busy writers", "to read beside it", "a reader makes none",
                     "is its own affair", "Nothing is waited for", "all, but for the first",
                     "for ever", "marks notwithstanding", "worth while", "what is the matter",
                     "it hangs on the order", "without a look", "brings about", "waits in vain",
                     "tables get none but by a flush", "mend this"):
            self.assertEqual(self.offences(f"// Purpose: {text}.\n"), ["src/base/a.h:1"], text)

    def test_a_subject_has_a_name(self):
        for text in ("Who changes a word wakes.", "Relaxed: who loads it sees it.",
                     "It is shown; who waits for it goes on."):
            self.assertEqual(self.offences(f"// {text}\n"), ["src/base/a.h:1"], text)
        for text in ("Purpose: who has a pool open.", "Says who waits.", "Who waits?"):
            self.assertEqual(self.offences(f"// {text}\n"), [], text)

    def test_a_cell_of_a_table_names_its_topic(self):
        self.assertEqual(self.offences("| a | who measures |\n", "docs/a.md"), ["docs/a.md:1"])
        self.assertEqual(self.offences("| a | measuring, and who does |\n", "docs/a.md"), [])

    def test_a_phrase_is_seen_over_a_line_end(self):
        self.assertEqual(self.offences("int a;\n  /// Readers are\n  /// told of it.\n"),
                         ["src/base/a.h:2"])
        self.assertEqual(self.offences('F("they are "\n  "told");\n'), ["src/base/a.h:1"])
        self.assertEqual(self.offences("// a mark of\n// death\n"), ["src/base/a.h:1"])

    def test_words_that_only_look_alike_are_allowed(self):
        for text in ("the deadline of a deadlock", "a dead link", "of a dead process", "renewed",
                     "kept beside it as NAME.damaged-1", "the process that died", "recommend this",
                     "amended", "but for how long", "maybe it is"):
            self.assertEqual(self.offences(f"// {text}\n"), [], text)

    def test_standing_is_banned_where_users_read(self):
        self.assertEqual(self.offences("// stands on an entry\n"), [])
        self.assertEqual(self.offences("// stands on an entry\n", "include/braid/a.h"),
                         ["include/braid/a.h:1"])
        self.assertEqual(self.offences("// stands for a byte\n", "include/braid/a.h"), [])

    def test_what_a_new_user_reads_first_has_rules_of_its_own(self):
        for text in ("survives a power cut", "it tells what happened", "while somebody reads",
                     "reads go on", "stdout is no terminal", "loads past the log",
                     "needs the pool for itself", "a file beside the pool", "put makes a pool",
                     "as it stands in the file", "names of its own", "the end, however it ends"):
            for path in ("README.md", "docs/start/a.md", "docs/guide/a.md"):
                self.assertEqual(self.offences(text + "\n", path), [path + ":1"], text)
                self.write(path, "")
            for path in ("docs/internals/a.md", "docs/guide/options.md", "include/braid/a.h"):
                self.assertEqual(self.offences(f"// {text}\n", path), [], text)
                self.write(path, "")
        for text in ("a power loss", "it goes on reading", "stands for a byte", "next to it"):
            self.assertEqual(self.offences(text + "\n", "docs/guide/a.md"), [], text)

    def test_decisions_the_changelog_and_data_are_left_alone(self):
        for path in ("docs/internals/decisions/1.md", "CHANGELOG.md", "docs/a.json",
                     "docs/evidence/figures/a.svg", "tests/a.cc"):
            self.assertEqual(self.offences("anew\n", path), [], path)
        for path in ("tools/a.cc", "docs/a.md", "docs/internals/a.md", "README.md", "docs/start/a.md",
                     "docs/guide/a.md", "docs/evidence/a.md", "scripts/site/pages/api/a.md"):
            self.write(path, "anew\n")
        self.assertEqual(len(check_words.check(self.root)), 8)


if __name__ == "__main__":
    unittest.main()
