"""What is run: three of Hadoop's example programs, unchanged, under each way of making splits."""

import dataclasses

TEXT = "org.apache.hadoop.mapreduce.lib.input.TextInputFormat"
COMBINE = "org.apache.hadoop.mapreduce.lib.input.CombineTextInputFormat"
COALESCING = "io.braid.hadoop.mapreduce.CoalescingInputFormat"
C1_ONLY = "-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"


@dataclasses.dataclass(frozen=True)
class Mode:
    """A way of making splits. Settings may name {share}, the bytes that fall to one slot."""
    name: str
    says: str
    input_format: str = TEXT
    settings: tuple = ()
    reduces: int = 2  # of Sort; uber mode takes one at most


def _coalescing(policy, says):
    return Mode(policy, says, COALESCING, (("braid.input.policy", policy),))


MODES = {mode.name: mode for mode in (
    Mode("default", "a split a block: Hadoop as it is"),
    Mode("combine", "CombineTextInputFormat, its size set by hand to bytes / slots", COMBINE,
         (("mapreduce.input.fileinputformat.split.maxsize", "{share}"),)),
    _coalescing("maximum", "as many splits as slots"),
    _coalescing("assorted-strict", "sizes that halve, leftover blocks single"),
    _coalescing("assorted-balanced", "sizes that halve, leftover blocks grouped"),
    _coalescing("waves", "alike in size, 1.7 for each slot"),
    _coalescing("factoring", "batches, each half of what is left"),
    _coalescing("auto", "the planner's choice"),
    Mode("default, C1", "a split a block, task JVMs with -XX:TieredStopAtLevel=1",
         settings=(("mapred.child.java.opts", C1_ONLY),)),
    Mode("maximum, C1", "as many splits as slots, task JVMs with -XX:TieredStopAtLevel=1", COALESCING,
         (("braid.input.policy", "maximum"), ("mapred.child.java.opts", C1_ONLY))),
    Mode("uber", "all tasks one after another in the application master", TEXT,
         (("mapreduce.job.ubertask.enable", "true"),
          ("mapreduce.job.ubertask.maxmaps", "100000"),
          ("mapreduce.job.ubertask.maxbytes", "1099511627776")), 1),
)}
POLICIES = ("default", "combine", "maximum", "assorted-strict", "assorted-balanced", "waves",
            "factoring", "auto")
BASELINES = ("default, C1", "maximum, C1", "uber")

# How the client notices a job's end: often enough not to blur times of some ten seconds.
POLLING = (("mapreduce.client.progressmonitor.pollinterval", "200"),
           ("mapreduce.client.completion.pollinterval", "200"))

# Grep's second job, which is not measured, sorts a few lines: in its application master, without two
# containers of its own. The first has more maps than one.
SORT_IN_MASTER = (("mapreduce.job.ubertask.enable", "true"), ("mapreduce.job.ubertask.maxmaps", "1"))

JOBS = ("wordcount", "grep", "sort")
PATTERN = "[a-z]*qu[a-z]*"


def command(job, mode, jar, source, target, size, slots):
    """The words of the client's command."""
    share = -(-size // slots)
    settings = [(key, value.format(share=share)) for key, value in mode.settings]
    settings += POLLING
    if job == "grep" and mode.name != "uber":
        settings += SORT_IN_MASTER
    words = ["example", job]
    if jar:
        words += ["-libjars", jar]
    if job != "sort":  # sort names its input format in a way of its own, and would override this
        settings.append(("mapreduce.job.inputformat.class", mode.input_format))
    for key, value in settings:
        words.append(f"-D{key}={value}")
    if job == "sort":
        words += ["-r", str(mode.reduces), "-inFormat", mode.input_format,
                  "-outFormat", "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat",
                  "-outKey", "org.apache.hadoop.io.LongWritable",
                  "-outValue", "org.apache.hadoop.io.Text"]
    words += [source, target]
    if job == "grep":
        words.append(PATTERN)
    return words
