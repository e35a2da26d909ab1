"""Struct copies of more than 65 bytes must not read a pool.

The compiler checks such a load at its first and last byte only, so a line in between could be read
without the crash tests noticing (src/sim/sim_reads.cc). This lists them in the object files, with the
function they are in, and fails for those not known to read ordinary memory. Copies by memcpy are calls
and seen in full. Usage: wide_loads_test.py <folder with object files>...
"""
import pathlib
import re
import shutil
import subprocess
import sys

WIDEST = 65
# Functions whose wide copies have their source in ordinary memory.
ORDINARY = (
    "braid::pool::ChooseHeader(",  # of two copies made with memcpy
    "braid::pool::HeaderCopies::SetTier(",  # of the record in DRAM, here and in the next two
    "braid::pool::HeaderCopies::WriteTierRecord(",
    "braid::pool::HeaderCopies::tier()",
    "std::vector<braid::merge::MergePlaces::Neighbours",  # its own elements, in DRAM
    "braid::log::Draft",
    "braid::log::PendingEntry",  # a vector's own elements, and drafts of a batch
    "braid::write::RangeDeleter::",  # drafts of a batch
    "braid::write::Writer::",
    "braid::level::Manifest::Load(",  # of records that were decoded into DRAM
    "braid::level::VersionSet::ConstLocked::RecordToCome()",  # of the manifest in DRAM
    "ManifestCrashTest::OnEachCrash(",
    "braid::repair::EntryChunk",  # what was found out about chunks, in DRAM
    "braid::repair::Salvage::",
    "braid::repair::(anonymous namespace)::GeometryFinder::",  # of headers read from files
    "braid::repair::FindGeometry(",  # the same, inlined
    "braid::design::Designs()",  # constants
    "braid::LatencyHistogram::Since(",  # counters
)


def wide_loads(path):
    """Yields (function, size) of checked loads that are wider than WIDEST or of unknown size."""
    text = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", "-C", str(path)],
                          capture_output=True, text=True, check=True).stdout
    function, size = "", None
    for line in text.splitlines():
        if found := re.match(r"^[0-9a-f]+ <(.*)>:$", line):
            function, size = found[1], None
        elif found := re.search(r"mov\s+\$0x([0-9a-f]+),%esi$", line):
            size = int(found[1], 16)
        elif re.search(r"mov\s+%\w+,%[er]si$", line):
            size = None
        elif "__asan_report_load_n_noabort" in line or "__asan_loadN_noabort" in line:
            if size is None or size > WIDEST:
                yield function, size or "unknown"


def main():
    if shutil.which("objdump") is None:
        print("objdump is missing: install binutils")
        return 77
    objects = [path for folder in sys.argv[1:] for path in pathlib.Path(folder).rglob("*.o")
               if path.name != "sim_reads.cc.o"]  # which defines what the checks call
    if not objects:
        print("no object files below", *sys.argv[1:])
        return 1
    unknown = set()
    for path in objects:
        for function, size in wide_loads(path):
            if not any(known in function for known in ORDINARY):
                unknown.add(f"{path.name}: {size} bytes in {function}")
    for line in sorted(unknown):
        print(line)
    if unknown:
        print("copy with std::memcpy where the source is a pool, or name the function in ORDINARY")
    print(f"{len(objects)} object files, {len(unknown)} wide loads of unknown sources")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
