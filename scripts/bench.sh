#!/usr/bin/env bash
# Measures braid beside the other stores on this machine: bench.sh [braid-compare flags...]
#   SIZE=small   about three minutes: 16-byte keys, 100-byte values, 1 and 4 threads (the default)
#   SIZE=full    hours: three record sizes, all workloads, 5 runs; updates docs/benchmarking.md
#   BRAID_BIN_DIR  folder of the programs, when it is not build/release/bin
#   BRAID_TMP      where the data goes; default: /dev/shm when it has room
#   BRAID_RESULTS  where the JSON goes; default: build/bench, with SIZE=full bench/results
# `make bench` builds first. Flags given here go to every braid-compare, behind those set below.
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

all=fillseq,fillrandom,readrandom,readmissing,readseq,readreverse,seekrandom
all=$all,overwrite,readwhilewriting,deleterandom
ycsb=fillrandom,ycsb-a,ycsb-b,ycsb-c,ycsb-d,ycsb-f,ycsb-e
case $size in
  small)
    # key bytes / value bytes / records / operations of what is slow / runs / benchmarks
    plans=("16 100 1000000 200000 3 fillrandom,readrandom,seekrandom,ycsb-a,ycsb-c")
    results=${BRAID_RESULTS:-build/bench}
    ;;
  full)
    plans=(
      "8 8 5000000 5000000 5 $all" "8 8 5000000 2000000 5 $ycsb"
      "16 100 5000000 5000000 5 $all" "16 100 5000000 2000000 5 $ycsb"
      "16 1024 5000000 5000000 5 $all" "16 1024 5000000 1000000 5 $ycsb"
    )
    results=${BRAID_RESULTS:-bench/results}
    ;;
  *)
    echo "bench: SIZE must be small or full, not '$size'." >&2
    exit 2
    ;;
esac
mkdir -p "$results"

cores=$(nproc)
thread_counts=(1 4)
if [ "$cores" -lt 4 ]; then
  echo "bench: this machine has $cores cores: the rows with 4 threads are left out."
  thread_counts=(1)
fi

written=()
for plan in "${plans[@]}"; do
  read -r key value num reads runs benchmarks <<<"$plan"
  for threads in "${thread_counts[@]}"; do
    kind=base
    case $benchmarks in *ycsb-e*) kind=ycsb ;; esac
    json=$results/k$key-v$value-t$threads-$kind.json
    echo
    echo "== $key-byte keys, $value-byte values, $threads thread(s), $runs runs =="
    "$compare" --key_size="$key" --value_size="$value" --num="$num" --reads="$reads" \
      --threads="$threads" --runs="$runs" --benchmarks="$benchmarks" --json="$json" "$@"
    written+=("$json")
  done
done

echo
if [ "$size" = full ]; then
  python3 bench/compare.py --update docs/benchmarking.md "${written[@]}"
else
  python3 bench/compare.py "${written[@]}"
fi
echo
echo "bench: the results are in $results."
