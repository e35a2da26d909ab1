#!/usr/bin/env python3
"""The examples do what their heads say: examples_test.py <source directory> <folder of programs>"""

import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE_DIR, PROGRAMS = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
EXAMPLES = SOURCE_DIR / "examples"


class ExamplesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("BRAID_TMP"))
        self.addCleanup(folder.cleanup)
        self.pool = pathlib.Path(folder.name) / "pool"

    def start(self, name, *arguments, **extra):
        return subprocess.Popen([PROGRAMS / f"braid_example_{name}", self.pool, *arguments],
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **extra)

    def run_example(self, name, *arguments, commands=""):
        process = self.start(name, *arguments, stdin=subprocess.PIPE)
        out, errors = process.communicate(commands)
        self.assertEqual((process.returncode, errors), (0, ""))
        return out

    def refused(self, name, *arguments, commands=""):
        process = self.start(name, *arguments, stdin=subprocess.PIPE)
        _, errors = process.communicate(commands)
        self.assertNotEqual(process.returncode, 0)
        self.assertRegex(errors, f"^(usage: )?{name}")

    def test_every_example_is_short_and_in_the_list(self):
        listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
        for path in (*EXAMPLES.glob("*.cc"), *EXAMPLES.glob("*.c")):
            self.assertIn(f"[{path.name}]({path.name})", listed)
            self.assertTrue((PROGRAMS / f"braid_example_{path.stem}").is_file(), path.name)
            self.assertLess(len(path.read_text(encoding="utf-8").splitlines()), 200, path.name)

    @staticmethod
    def collatz(number):
        steps = 0
        while number > 1:
            number = number // 2 if number % 2 == 0 else 3 * number + 1
            steps += 1
        return steps

    def test_the_work_queue_does_every_job_once_however_often_its_workers_are_killed(self):
        jobs = 20000
        seed = random.randrange(2**32)
        print(f"seed {seed}")
        chance = random.Random(seed)
        self.run_example("work_queue", "push", str(jobs // 2))
        self.run_example("work_queue", "push", str(jobs - jobs // 2))
        self.assertEqual(self.run_example("work_queue", "show"), f"{jobs} waiting, 0 done, 0 steps\n")
        killed = 0
        for _ in range(5):
            worker = self.start("work_queue", "work", "3", stdin=subprocess.DEVNULL)
            time.sleep(chance.uniform(0.002, 0.06))
            worker.send_signal(signal.SIGKILL)
            worker.communicate()
            killed += worker.returncode == -signal.SIGKILL
        print(f"killed {killed} times")
        self.run_example("work_queue", "work", "4")
        steps = sum(map(self.collatz, range(1, jobs + 1)))
        self.assertEqual(self.run_example("work_queue", "show"), f"0 waiting, {jobs} done, {steps} steps\n")
        self.run_example("work_queue", "push", "1")  # its number follows those that are done
        self.run_example("work_queue", "work", "1")
        steps += self.collatz(jobs + 1)
        self.assertEqual(self.run_example("work_queue", "show"),
                         f"0 waiting, {jobs + 1} done, {steps} steps\n")

    def test_the_work_queue_says_how_it_is_used(self):
        for arguments in ((), ("push",), ("push", "some"), ("work", "0"), ("show", "1"), ("dance", "1")):
            self.refused("work_queue", *arguments)

    def test_the_file_catalog_sorts_as_people_do_and_removes_folders_as_a_whole(self):
        names = ["part9/b", "part10/a", "part9/a10", "part9/a9", "Part9/A09", "part9/live/x", "part90/z"]
        added = "".join(f"add {name} {size}\n" for size, name in enumerate(names))
        self.assertEqual(self.run_example("file_catalog", commands=added), "")
        nine = "Part9/A09 4\npart9/a9 3\npart9/a10 2\npart9/b 0\npart9/live/x 5\n"
        self.assertEqual(self.run_example("file_catalog", commands="list part9\n"), nine)
        self.assertEqual(self.run_example("file_catalog", commands="list PART10\n"), "part10/a 1\n")
        # The same name in other letters is the same file.
        self.run_example("file_catalog", commands="add PART10/A 7\n")
        self.assertIn(" 7\n", self.run_example("file_catalog", commands="list part10\n"))
        self.run_example("file_catalog", commands="rename part9 old\n")
        self.assertEqual(self.run_example("file_catalog", commands="list part9\n"), "")
        self.assertEqual(self.run_example("file_catalog", commands="list old\n"),
                         nine.replace("Part9", "old").replace("part9", "old"))
        self.run_example("file_catalog", commands="remove old\nremove nothing\n")
        self.assertEqual(self.run_example("file_catalog", commands="list old\nlist part90\nremoved\n"),
                         "part90/z 6\nnothing 0\nold 5\n")
        for bad in ("add music\n", "add !x/y 1\n", "list\n", "dance\n"):
            self.refused("file_catalog", commands=bad)
        self.refused("file_catalog", "another")

    def test_the_time_series_keeps_order_ranges_averages_and_retention(self):
        added = "add wind -10 1\nadd wind 0 2\nadd wind 5 4\nadd wind 300 8\n" \
                "add win 1 100\nadd window 1 200\n"
        self.assertEqual(self.run_example("time_series", commands=added), "")
        self.assertEqual(self.run_example("time_series", commands="range wind -10 300\n"),
                         "-10: 1.000000\n0: 2.000000\n5: 4.000000\n")
        self.assertEqual(self.run_example("time_series", commands="last wind 2\nlast win 9\n"),
                         "300: 8.000000\n5: 4.000000\n1: 100.000000\n")
        self.assertEqual(self.run_example("time_series", commands="average wind -10 1000 20\n"),
                         "-10: 2.33333 of 3\n290: 8 of 1\n")
        self.assertEqual(self.run_example("time_series", commands="keep 1\n"), "")
        self.assertEqual(self.run_example("time_series", commands="last wind 9\nlast win 9\n"),
                         "300: 8.000000\n5: 4.000000\n1: 100.000000\n")

    def test_the_time_series_drops_much_in_small_batches(self):
        added = "".join(f"add s{n % 3} {n} {n}\n" for n in range(9000))
        self.run_example("time_series", commands=added + "keep 8990\n")
        self.assertEqual(self.run_example("time_series", commands="last s0 99\nlast s1 1\n"),
                         "8997: 8997.000000\n8994: 8994.000000\n8991: 8991.000000\n"
                         "8998: 8998.000000\n")
        self.refused("time_series", commands="range s0\n")

    def test_the_leaderboard_shows_the_highest_first_and_refuses_other_orders(self):
        scores = {"chess": {"ada": 1200, "bob": -3, "cid": 1200, "dan": 7},
                  "chess960": {"eve": 5000}}
        commands = [f"score {game} {points} {player}\n" for game, players in scores.items()
                    for player, points in players.items()]
        random.shuffle(commands)
        self.assertEqual(self.run_example("leaderboard", commands="".join(commands)), "")
        self.assertEqual(self.run_example("leaderboard", commands="top chess 3\ntop chess960 9\n"),
                         "1200 ada\n1200 cid\n7 dan\n5000 eve\n")
        self.assertEqual(self.run_example("leaderboard", commands="from chess 7\n"),
                         "7 dan\n-3 bob\n")
        self.refused("leaderboard", commands="score chess many ada\n")
        self.refused("time_series", commands="last wind 1\n")  # its pool is in byte order

    def test_the_inverted_index_finds_replaces_and_forgets(self):
        added = "add b Red fish, blue fish\nadd a one fish two FISH\nadd c Bluebird\n"
        self.assertEqual(self.run_example("inverted_index", commands=added + "find fish\n"), "a\nb\n")
        self.assertEqual(self.run_example("inverted_index", commands="find fish blue\nstarts blu\n"),
                         "b\nblue: 1\nbluebird: 1\n")
        changed = "save\nadd b only birds\nremove a\nfind fish\nold fish\nfind birds only\n"
        self.assertEqual(self.run_example("inverted_index", commands=changed), "a\nb\nb\n")
        self.assertEqual(self.run_example("inverted_index", commands="starts f\nfind two\nfind\n"), "")
        self.refused("inverted_index", commands="old fish\n")  # nothing was saved in this run

    def test_the_inverted_index_agrees_with_a_search_through_the_texts(self):
        seed = random.randrange(2**32)
        print(f"seed {seed}")
        chance = random.Random(seed)
        words = ["ash", "ashes", "as", "bay", "oak", "elm"]
        texts = {}
        commands = []
        for _ in range(300):
            name = f"n{chance.randrange(40)}"
            if name in texts and chance.random() < 0.3:
                del texts[name]
                commands.append(f"remove {name}")
            else:
                texts[name] = chance.choices(words, k=chance.randrange(1, 5))
                commands.append(f"add {name} {' '.join(texts[name])}")
        self.run_example("inverted_index", commands="\n".join(commands) + "\n")
        for _ in range(10):
            asked = chance.sample(words, chance.randrange(1, 4))
            found = self.run_example("inverted_index", commands=f"find {' '.join(asked)}\n").split()
            self.assertEqual(found, sorted(name for name, text in texts.items()
                                           if set(asked) <= set(text)), f"find {asked}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
