"""What the checks found: a line for each as it happens, a count at the end, a file for reports."""

import json
import time

PASS, FAIL, SKIP = "pass", "FAIL", "skip"


class Results:
    def __init__(self):
        self.checks = []
        self.facts = {}
        self.started = time.monotonic()

    def add(self, outcome, name, detail=""):
        self.checks.append({"name": name, "outcome": outcome.lower(), "detail": detail,
                            "at_seconds": round(time.monotonic() - self.started, 1)})
        print(f"[{time.monotonic() - self.started:5.0f}s] {outcome}  {name}"
              f"{': ' if detail else ''}{detail}", flush=True)

    def check(self, name, right, detail=""):
        self.add(PASS if right else FAIL, name, detail)
        return right

    def skip(self, name, reason):
        self.add(SKIP, name, reason)

    def count(self, outcome):
        return sum(check["outcome"] == outcome.lower() for check in self.checks)

    def summary(self):
        return f"{self.count(PASS)} passed, {self.count(FAIL)} failed, {self.count(SKIP)} skipped"

    def write(self, path):
        report = {"passed": self.count(PASS), "failed": self.count(FAIL),
                  "skipped": self.count(SKIP),
                  "seconds": round(time.monotonic() - self.started, 1),
                  "facts": self.facts, "checks": self.checks}
        path.write_text(json.dumps(report, indent=1) + "\n")
