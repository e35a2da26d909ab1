"""Holds what braid-hadoop's history command prints against the JobHistoryServer's own answers."""

import json
import re
import xml.etree.ElementTree

JOB = re.compile(r'^(job_\d+_\d+) ".*": ([\d.]+) s, (\d+) maps, ')
MAP = re.compile(r"^ +(attempt_\d+_\d+_m_\d+_\d+) +(\S+) +([\d.]+) +([\d.]+) +(\d+) +\d+$")
ROUNDED = 0.0051  # the command prints hundredths of a second
# Group and counter; CombineTextInputFormat leaves the first at nothing.
BYTES_READ = (("org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter", "BYTES_READ"),
              ("org.apache.hadoop.mapreduce.FileSystemCounter", "HDFS_BYTES_READ"))

# Run on the master, where the server's name is known: prints all answers as one object.
ASK = """
import json, sys, urllib.request
def ask(*path):
    url = "/".join(("http:/", sys.argv[1], "ws/v1/history/mapreduce/jobs") + path)
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)
def many(found):
    return found if isinstance(found, list) else [found]
made = {}
for job in many(ask()["jobs"]["job"]):
    name = job["id"]
    made[name] = {"job": ask(name)["job"], "maps": []}
    for task in many(ask(name, "tasks?type=m")["tasks"]["task"]):
        attempts = ask(name, "tasks", task["id"], "attempts")["taskAttempts"]["taskAttempt"]
        for attempt in many(attempts):
            if attempt["state"] == "SUCCEEDED":
                found = ask(name, "tasks", task["id"], "attempts", attempt["id"], "counters")
                groups = many(found["jobTaskAttemptCounters"].get("taskAttemptCounterGroup", []))
                attempt["counters"] = {
                    group["counterGroupName"]: {one["name"]: one["value"]
                                                for one in many(group["counter"])}
                    for group in groups}
                made[name]["maps"].append(attempt)
print(json.dumps(made))
"""


def differences(cluster, jar, job_ids):
    """What the two say differently of these jobs, a line each."""
    settings = _settings(cluster.home / "master/conf/mapred-site.xml")
    folder = settings["yarn.app.mapreduce.am.staging-dir"] + "/history"
    told = cluster.run("hadoop", "jar", jar, "history", "--jobs", "100000", "--tasks", folder)
    asked = json.loads(cluster.run("python3", "-c", ASK,
                                   settings["mapreduce.jobhistory.webapp.address"]))
    jobs, maps = _parsed(told)
    wrong = []
    for name in job_ids:
        if name not in jobs or name not in asked:
            wrong.append(f"{name} is missing")
            continue
        wrong += _of_job(name, jobs[name], asked[name]["job"])
        wrong += _of_maps(maps, asked[name]["maps"])
    return wrong


def _settings(file):
    return {one.findtext("name"): one.findtext("value")
            for one in xml.etree.ElementTree.parse(file).getroot()}


def _parsed(told):
    """The command's lines of jobs and of maps, by their names."""
    found = ({}, {})
    for line in told.splitlines():
        for pattern, known in zip((JOB, MAP), found):
            if match := pattern.match(line):
                known[match[1]] = match.groups()[1:]
    return found


def _of_job(name, told, asked):
    seconds = (asked["finishTime"] - asked["submitTime"]) / 1e3
    if abs(float(told[0]) - seconds) > 10 * ROUNDED or int(told[1]) != asked["mapsCompleted"]:
        return [f"{name}: {told[0]} s and {told[1]} maps, but {seconds} s and "
                f"{asked['mapsCompleted']} maps"]
    return []


def _of_maps(told, asked):
    first = min((attempt["startTime"] for attempt in asked), default=0)
    for attempt in asked:
        host = attempt["nodeHttpAddress"].rsplit(":", 1)[0]
        counted = (attempt["counters"].get(group, {}).get(name) for group, name in BYTES_READ)
        read = next(filter(None, counted), 0)
        launched = (attempt["startTime"] - first) / 1e3
        seconds = (attempt["finishTime"] - attempt["startTime"]) / 1e3
        line = told.get(attempt["id"])
        if (not line or line[0] != host or abs(float(line[1]) - launched) > ROUNDED
                or abs(float(line[2]) - seconds) > ROUNDED or int(line[3]) != read):
            yield f"{attempt['id']}: {line}, but {host}, {launched}, {seconds}, {read}"
