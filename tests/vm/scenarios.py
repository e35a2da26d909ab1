"""Scenarios of one or two boots: classes of media, a device that refuses writes, a media error, and
the conformance tests on DAX mounts."""

import json
import re

import machine
from machine import Machine


class Answers:
    """What the guest said, by the marks that scenarios print: '@info NAME REST'."""

    def __init__(self, lines):
        self.lines = lines

    def get(self, mark, name):
        start = f"@{mark} {name} "
        return next((line[len(start):] for line in self.lines if line.startswith(start)), "")

    def problems(self):
        return [line[1:] for line in self.lines if line.startswith("@problem")]

    def info(self, name):
        text = self.get("info", name)
        try:
            return json.loads(text)
        except ValueError:
            return {"error": text or "no answer"}


def boot(results, name, guest, scenario, devices, *, seconds=120, **options):
    """Runs a scenario to its end; its answers, or None after a failure that is recorded."""
    with Machine(guest, scenario, devices, log=f"{name.replace(' ', '-')}.log", **options) as vm:
        ended = vm.finish(seconds)
        answers = Answers(vm.lines)
        results.facts[f"{name}: boot seconds"] = round(vm.seconds(), 1)
        if ended and "@end" in vm.lines and not answers.problems():
            return answers
        reason = "; ".join(answers.problems()) or (
            "the guest stopped early" if ended else f"not done after {seconds} s")
        results.check(name, False, reason)
        print(vm.console_tail())
        return None


def check_class(results, answers, name, media_class, flush):
    info = answers.info(name)
    got = (info.get("media_class"), info.get("flush_instruction"), info.get("media_class_forced"))
    detail = info.get("error") or f"class {got[0]}, flush with {got[1]}"
    results.check(f"braid info on {name} says {media_class}", got == (media_class, flush, False),
                  detail)
    results.check(f"a value written on {name} is read back", answers.get("get", name) == "value",
                  answers.get("get", name))


def check_device(results, answers, name, provider, domain, power_loss):
    """What braid says of the device itself, beside the class that its mapping has."""
    info = answers.info(name)
    device = (info.get("regions") or [{}])[0].get("device", {})
    got = (device.get("provider"), device.get("persistence_domain"), info.get("power_loss"))
    results.check(f"braid info on {name} says what becomes of it at power loss: {power_loss}",
                  got == (provider, domain, power_loss),
                  info.get("error") or f"provider {got[0]!r}, domain {got[1]!r}, {got[2]}; "
                  f"{device.get('power_loss_reason')}")


def memmap(results, guest):
    """DRAM that the kernel offers as if it were persistent."""
    answers = boot(results, "memmap", guest, "memmap", [], settings={"fresh": 1},
                   kernel_words=["memmap=256M!512M"])
    if not answers:
        return
    check_class(results, answers, "memmap", "cache_line", "clwb")
    check_device(results, answers, "memmap", "e820", "", "gone")
    promise = answers.info("memmap").get("promise", "")
    results.check("the promise on memmap says ordinary memory, gone at power loss",
                  "ordinary memory, gone at power loss" in promise, promise)


def nvdimm_pair(guest, fresh):
    """The images of two NVDIMMs, one a NUMA node."""
    images = [guest.folder / f"nvdimm{i}.img" for i in (0, 1)]
    if fresh:
        for image in images:
            machine.make_image(image, 512)
    return [argument for i in (0, 1) for argument in machine.nvdimm(i, images[i], node=i)]


def classes(results, guest):
    disk = machine.make_image(guest.folder / "disk.img", 256)
    devices = nvdimm_pair(guest, fresh=True) + machine.two_nodes() + machine.disk(disk)
    answers = boot(results, "classes", guest, "classes", devices, settings={"fresh": 1})
    disk.unlink()
    if not answers:
        return
    for name in ("ext4-dax", "xfs-dax"):
        check_class(results, answers, name, "cache_line", "clwb")
        check_device(results, answers, name, "ACPI.NFIT", "memory_controller", "as_host")
    for name in ("tmpfs", "xfs-without-dax", "ext4-on-disk"):
        check_class(results, answers, name, "page", "msync")
    check_device(results, answers, "tmpfs", "", "", "gone")
    check_device(results, answers, "ext4-on-disk", "", "", "kept")
    nodes = [answers.get("node", f"pmem{i}") for i in (0, 1)]
    results.check("the two NVDIMMs are on NUMA nodes 0 and 1", nodes == ["0", "1"], " ".join(nodes))


def regions(results, guest):
    """A region on each NVDIMM: what lies where, what a kill leaves, and which visits are local."""
    devices = nvdimm_pair(guest, fresh=True) + machine.two_nodes()
    answers = boot(results, "regions", guest, "regions", devices, settings={"fresh": 1})
    if not answers:
        return
    info = answers.info("regions")
    found = info.get("regions", [])
    nodes = [region["node"] for region in found]
    results.check("braid info names the nodes of both regions", nodes == [0, 1],
                  info.get("error", str(nodes)))
    used = [region["chunks"] - region["chunks_free"] for region in found]
    filled = next((line for line in answers.lines if line.startswith("@regions-filled")), "")
    results.check("threads of both nodes wrote to the region of theirs",
                  len(used) == 2 and min(used) * 2 > max(used) and filled.endswith("fallbacks=0"),
                  f"chunks in use {used}, {filled[1:]}")
    read = next((line for line in answers.lines if line.startswith("@regions-read")), "")
    counts = {name: int(number) for name, number in re.findall(r"([a-z-]+)=(\d+)", read)}
    results.check("a pool with regions on two devices is whole after a kill",
                  counts.get("keys") == 8000 and "@read code=0" in answers.lines, read)
    local = counts.get("upper-local", 0) + counts.get("bottom-local", 0)
    total = sum(number for name, number in counts.items() if name != "keys")
    results.check("no search leaves its node in the upper layers, most visits are local",
                  counts.get("upper-remote") == 0 and local > total * 0.6,
                  f"{local} of {total} visits are local; {read[1:]}")
    gone = next((line for line in answers.lines if line.startswith("@unmounted")), "")
    results.check("a region whose device is not mounted is named", "/mnt/xfs/region" in gone, gone)


def eadr(results, guest):
    devices = nvdimm_pair(guest, fresh=False) + machine.two_nodes()
    answers = boot(results, "eADR", guest, "classes_eadr", devices, persistence="cpu")
    if answers:
        for name in ("ext4-eadr", "xfs-eadr"):
            check_class(results, answers, name, "byte", "none")


def virtio_pmem(results, guest):
    image = machine.make_image(guest.folder / "virtio.img", 256)
    answers = boot(results, "virtio-pmem", guest, "virtio_pmem", machine.virtio_pmem(image),
                   settings={"fresh": 1})
    image.unlink()
    if answers:
        check_class(results, answers, "virtio-pmem", "page", "msync")
        power_loss = answers.info("virtio-pmem").get("power_loss")
        results.check("braid info on virtio-pmem says that its host decides",
                      power_loss == "as_host", str(power_loss))


def read_only(results, guest):
    """Uses the pool that `classes` made on the first NVDIMM."""
    devices = machine.nvdimm(0, guest.folder / "nvdimm0.img", read_only=True)
    answers = boot(results, "unarmed", guest, "read_only", devices)
    if not answers:
        return
    info = answers.info("unarmed")
    results.check("braid info works on a device that is not armed",
                  info.get("media_class") == "cache_line", info.get("error", "class cache_line"))
    for verb in ("get", "put"):
        answer = answers.get(verb, "unarmed")
        clear = answer.startswith("code=2 ") and re.search(r"read-only", answer, re.I)
        results.check(f"braid {verb} on a device that is not armed says why it cannot", clear,
                      answer)


def cxl(results, guest):
    image = machine.make_image(guest.folder / "cxl.img", 512)
    labels = machine.make_image(guest.folder / "cxl-labels.img", 1)
    devices = machine.cxl_memory(image, labels)
    for count in (1, 2):
        name = f"CXL boot {count}"
        answers = boot(results, name, guest, "cxl", devices, cxl=True, seconds=240,
                       settings={"fresh": int(count == 1)})
        if not answers:
            break
        check_class(results, answers, "cxl", "cache_line", "clwb")
        provider = (answers.info("cxl").get("regions") or [{}])[0].get("device", {}).get("provider")
        results.check("braid info on CXL memory names its provider", provider == "CXL",
                      str(provider))
        if count == 2:
            kept = next((line for line in answers.lines if line.startswith("@kept")), "")
            results.check("a pool on CXL memory is there after a reboot",
                          kept == "@kept value", kept)
    image.unlink()
    labels.unlink()


# Until a SIGBUS in the mapping is turned into an error, the kernel ends the process: stated, not
# failed. True makes the check strict.
MEDIA_ERROR_MUST_BE_AN_ERROR = False
PLACE_IN_A_SEGMENT = r"segment-\d{6}\+0x[0-9a-f]+"


def media_error(results, guest):
    image = machine.make_image(guest.folder / "failing.img", 512)
    answers = boot(results, "media error", guest, "media_error", machine.nvdimm(0, image),
                   settings={"fresh": 1})
    image.unlink()
    if not answers:
        return
    results.facts["media error"] = [line[1:] for line in answers.lines
                                    if line.startswith(("@page", "@badblocks"))]
    answer = answers.get("reads", "failed-page")
    read = re.search(r"@media-error right=(\d+) errors=(\d+) wrong=(\d+) first=(.*)", answer)
    judge_media_error(results, "a value: reads of all keys",
                      bool(read) and int(read[1]) > 0 and int(read[3]) == 0 and read[4], answer)
    for verb in ("verify", "count"):
        answer = answers.get(verb, "failed-page")
        judge_media_error(results, f"a value: braid {verb}",
                          answer.startswith("code=2 ") and answer, answer)
    judge_bad_blocks(results, answers)
    for verb, right in (("get", "code=0 value 1 v"), ("info", 'code=0 {"path"')):
        answer = answers.get(verb, "failed-page")
        # The pool has two copies of its header, so that an answer is as good as an error.
        judge_media_error(results, f"a pool header: braid {verb}",
                          answer.startswith("code=2 ") and answer, answer[:300],
                          answered=answer.startswith(right))


def judge_bad_blocks(results, answers):
    """`braid info` shows what the kernel's list has."""
    sectors = re.search(r"@badblocks (\d+) (\d+)", "\n".join(answers.lines))
    device = (answers.info("bad-blocks").get("regions") or [{}])[0].get("device", {})
    shown = [(block["first_sector"], block["sectors"]) for block in device.get("bad_blocks", [])]
    results.check("braid info shows the bad blocks that the kernel knows of",
                  bool(sectors) and shown[:1] == [(int(sectors[1]), int(sectors[2]))], str(shown))


def judge_media_error(results, name, message, answer, answered=False):
    """`message` is what braid said of the failed page, or false when it said nothing."""
    name = f"a media error below {name} gives an IO error that names file and offset"
    if answered or (message and "IO error" in message and re.search(PLACE_IN_A_SEGMENT, message)):
        results.check(name + (", or the answer" if answered else ""), True, answer)
    elif "code=135" in answer and not MEDIA_ERROR_MUST_BE_AN_ERROR:
        results.skip(name, f"SIGBUS ends the process for now ({answer.strip()})")
    else:
        results.check(name, False, answer)


# Into how many shards the conformance tests are cut; a run takes one on each file system.
CONFORMANCE_SHARDS = {"push": 8, "night": 1, "release": 1}


def conformance(results, guest, size, seed):
    shards = CONFORMANCE_SHARDS[size]
    for number, fs in enumerate(("ext4", "xfs")):
        shard = (seed + number) % shards
        devices = nvdimm_pair(guest, fresh=True) + machine.two_nodes()
        answers = boot(results, f"conformance on {fs}", guest, "conformance", devices, seconds=1800,
                       settings={"fresh": 1, "fs": fs, "shards": shards, "shard": shard})
        if not answers:
            continue
        passed = next((line for line in answers.lines if "[  PASSED  ]" in line), "")
        verdict = next((line for line in answers.lines if line.startswith("@conformance")), "")
        right = verdict == "@conformance code=0" and bool(passed)
        detail = passed.replace("[  PASSED  ]", "").strip(" .") if right else verdict
        results.check(f"the conformance tests pass on {fs} with DAX", right,
                      f"{detail}, shard {shard} of {shards}")
        if not right:
            print("\n".join(answers.lines[-40:]))
