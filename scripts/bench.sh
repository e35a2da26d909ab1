#!/usr/bin/env bash
# Measures braid beside the other stores on this machine: bench.sh [braid-compare flags...]
#   SIZE=small   about three minutes: 16-byte keys, 100-byte values, 1 and 4 threads (the default)
#   SIZE=medium  about half an hour: three record sizes, the usual workloads, 5 runs
#   SIZE=full    hours: three record sizes, all workloads, 5 runs
# medium and full replace bench/results, and the tables of docs/evidence/benchmarking.md and README.md.
#   BRAID_BIN_DIR  folder of the programs, when it is not build/release/bin
#   BRAID_TMP      where the data goes; default: /dev/shm when it has room
#   BRAID_RESULTS  where the JSON and the page go; then no document changes, unless
#   BRAID_DOCS     is a folder with docs/evidence/benchmarking.md and README.md to write the tables into
# `make bench` builds first. Flags given here go to every braid-compare, behind those set below, and
# count instead of them (--num, --runs, --duration).
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."

size=${SIZE:-small}
bin_dir=${BRAID_BIN_DIR:-build/release/bin}
compare=$bin_dir/braid-compare
if [ ! -x "$compare" ]; then
  echo "bench: there is no $compare: run 'make bench', which builds it first." >&2
  exit 2
fi
if [ -z "${BRAID_COMMIT:-}" ] && BRAID_COMMIT=$(git rev-parse --short=12 HEAD 2>/dev/null); then
  git diff --quiet HEAD 2>/dev/null || BRAID_COMMIT=$BRAID_COMMIT-changed
  export BRAID_COMMIT
fi

all=fillseq,fillrandom,readrandom,multireadrandom,readmissing,readseq,readreverse,seekrandom
all=$all,overwrite,readwhilewriting,deleterandom
ycsb=ycsb-a,ycsb-b,ycsb-c,ycsb-d,ycsb-e,ycsb-f
usual=fillrandom,readrandom,multireadrandom,readseq,seekrandom,$ycsb
checked_in=yes
case $size in
  small)
    # name / key bytes / value bytes / runs / benchmarks / how much
    plans=("small 16 100 3 fillrandom,readrandom,seekrandom,ycsb-a,ycsb-c --num=1000000 --reads=200000")
    checked_in=
    ;;
  medium)
    # Equal time for every store: with equal work the fastest would be done before it is measured.
    plans=(
      "medium 8 8 5 $usual --num=2000000 --duration=0.5"
      "medium 16 100 5 $usual --num=2000000 --duration=0.5"
      "medium 16 1024 5 $usual --num=300000 --duration=0.5"
    )
    ;;
  full)
    plans=(
      "base 8 8 5 $all --num=5000000" "ycsb 8 8 5 fillrandom,$ycsb --num=5000000 --reads=2000000"
      "base 16 100 5 $all --num=5000000" "ycsb 16 100 5 fillrandom,$ycsb --num=5000000 --reads=2000000"
      "base 16 1024 5 $all --num=5000000" "ycsb 16 1024 5 fillrandom,$ycsb --num=5000000 --reads=1000000"
    )
    ;;
  *)
    echo "bench: SIZE must be small, medium or full, not '$size'." >&2
    exit 2
    ;;
esac

if [ -n "${BRAID_RESULTS:-}" ]; then
  results=$BRAID_RESULTS
  tree=${BRAID_DOCS:-}
elif [ -n "$checked_in" ]; then
  results=bench/results
  tree=${BRAID_DOCS:-.}
else
  results=build/bench
  tree=${BRAID_DOCS:-}
fi
tables=()
if [ -n "$tree" ]; then
  tables=(--update "$tree/docs/evidence/benchmarking.md" --update-short "$tree/README.md")
  # Hours of measuring must not end in a document that has no place for the table.
  python3 bench/compare.py "${tables[@]}" --marks
fi

cores=$(nproc)
thread_counts=(1 4)
if [ "$cores" -lt 4 ]; then
  echo "bench: this machine has $cores cores: the rows with 4 threads are left out."
  thread_counts=(1)
fi

# What is there stays until everything was measured.
mkdir -p "$results"
fresh=$(mktemp -d "$results/fresh.XXXXXX")
trap 'rm -rf "$fresh"' EXIT
written=()
for plan in "${plans[@]}"; do
  read -r name key value runs benchmarks much <<<"$plan"
  for threads in "${thread_counts[@]}"; do
    json=k$key-v$value-t$threads-$name.json
    echo
    echo "== $key-byte keys, $value-byte values, $threads thread(s), $runs runs =="
    # $much is several flags.
    # shellcheck disable=SC2086
    "$compare" --key_size="$key" --value_size="$value" $much --threads="$threads" --runs="$runs" \
      --benchmarks="$benchmarks" --json="$fresh/$json" "$@"
    written+=("$json")
  done
done

rm -f "$results"/k*-v*-t*-*.json
mv "${written[@]/#/$fresh/}" "$results/"
# Not among the results that are checked in.
page=$results/report.html
if [ "$results" = bench/results ]; then
  mkdir -p build/bench
  page=build/bench/report.html
fi
files=("${written[@]/#/$results/}")
"$compare" --from="$(IFS=,; echo "${files[*]}")" --report="$page"
echo
python3 bench/compare.py "${tables[@]}" "${files[@]}"
echo
echo "bench: the results are in $results, the page with plots is $page."
if [ -n "$tree" ]; then
  echo "bench: the documents in $tree have the tables of these results."
fi
