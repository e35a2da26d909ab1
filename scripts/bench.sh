#!/usr/bin/env bash
# Measures braid beside the other stores on this machine: bench.sh [braid-compare flags...]
#   SIZE=small     a minute or two: every scenario with 16-byte keys, 100-byte values, one thread, one run
#   SIZE=medium    about 40 minutes on two cores: every scenario, three record sizes, 1 thread and one a core
#   SIZE=full      hours: the same with more records and runs, and all workloads
#   SCENARIO=NAME,...  only these: at-rest, scan-at-once, scan-beside-writer, sustained; and beyond-pool, which
#                  needs RocksDB and is measured only where it is named: data ten times the pool, the rest in a tier
#                  below TIER_DIR (a folder on a block device; default: the system's temporary one)
#   SCENARIO=designs  alone: all designs beside each other and LevelDB, and what a kill costs them; with SIZE=medium
#                  or full into bench/results/designs and the tables of docs/evidence/designs.md
# Without SIZE the medium one is measured into build/bench. SIZE=medium and SIZE=full, said so, replace those
# results in bench/results, and the tables of docs/evidence/benchmarking.md and README.md.
#   BRAID_BIN_DIR  folder of the programs, when it is not build/release/bin
#   BRAID_TMP      where the data goes; default: /dev/shm when it has room
#   BRAID_RESULTS  where the JSON and the page go; then no document changes, unless
#   BRAID_DOCS     is a folder with docs/evidence/benchmarking.md and README.md to write the tables into; of
#                  SCENARIO=designs with docs/evidence/designs.md
# `make bench` builds first. Flags given here go to every braid-compare, behind those set below, and
# count instead of them (--num, --reads, --runs, --duration).
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."

size=${SIZE:-medium}
scenarios=${SCENARIO:-at-rest,scan-at-once,scan-beside-writer,sustained}
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

# The flags of a scenario for records of $1 + $2 bytes, or nothing when this size has no such scenario.
flags_of() {
  local scenario=$1 value=$2
  local all=fillseq,fillrandom,readrandom,readzipfian,multireadrandom,readmissing,readseq,readreverse
  all=$all,seekrandom,overwrite,readwhilewriting,deleterandom
  local many=1000000 load=1000000 few=600000
  [ "$value" -lt 1024 ] || { many=300000 && load=200000 && few=150000; }
  # Equal time for every store: with equal work the fastest would be done before it is measured.
  case $size/$scenario in
    # Once, with large values, so that there is soon much of it; DRAM about as much as the pool.
    small/beyond-pool | medium/beyond-pool | full/beyond-pool)
      local records=400000 pool=40M seconds=2
      [ "$size" != medium ] || { records=2000000 && pool=200M && seconds=10; }
      [ "$size" != full ] || { records=20000000 && pool=2G && seconds=60; }
      echo "--scenario=beyond-pool --num=$records --duration=$seconds --memory_budget=$pool" \
        "--runs=1 --engines=braid,rocksdb ${TIER_DIR:+--tier_dir=$TIER_DIR}"
      ;;
    small/designs | medium/designs | full/designs)
      local records=100000 seconds=0.1 runs=1
      [ "$size" != medium ] || { records=$few && seconds=0.4 && runs=2; }
      [ "$size" != full ] || { records=$((5 * many)) && seconds=2 && runs=5; }
      echo "--scenario=designs --num=$records --duration=$seconds --memory_budget=256M --runs=$runs"
      ;;
    small/sustained) echo "--scenario=sustained --num=150000 --runs=1" ;;
    small/*) echo "--scenario=$scenario --num=150000 --runs=1 --duration=0.15" ;;
    medium/at-rest) echo "--scenario=at-rest --num=$many --runs=3 --duration=0.3" ;;
    medium/scan-at-once) echo "--scenario=scan-at-once --num=$load --runs=2 --duration=0.4" ;;
    medium/scan-beside-writer) echo "--scenario=scan-beside-writer --num=$load --runs=2 --duration=0.4" ;;
    # One run, since it has ten rounds.
    medium/sustained) echo "--scenario=sustained --num=$few --runs=1" ;;
    full/all) echo "--benchmarks=$all --num=$((5 * many)) --runs=5" ;;
    full/sustained) echo "--scenario=sustained --num=$((5 * few)) --runs=3" ;;
    full/*) echo "--scenario=$scenario --num=$((5 * many)) --runs=5 --duration=2" ;;
  esac
}

IFS=, read -ra names <<<"$scenarios"
for scenario in "${names[@]}"; do
  case $scenario in
    at-rest | scan-at-once | scan-beside-writer | sustained | beyond-pool) ;;
    designs)
      if [ "${#names[@]}" -gt 1 ]; then
        echo "bench: SCENARIO=designs is measured alone: its results have a page of their own." >&2
        exit 2
      fi
      ;;
    *)
      echo "bench: SCENARIO must be at-rest, scan-at-once, scan-beside-writer, sustained, beyond-pool or designs," \
        "not '$scenario'." >&2
      exit 2
      ;;
  esac
done
case $size in
  small) sizes=("16 100") ;;
  medium) sizes=("8 8" "16 100" "16 1024") ;;
  full)
    sizes=("8 8" "16 100" "16 1024")
    [ -n "${SCENARIO:-}" ] || names+=(all)
    ;;
  *)
    echo "bench: SIZE must be small, medium or full, not '$size'." >&2
    exit 2
    ;;
esac
[ "$scenarios" != designs ] || [ "$size" = small ] || sizes=("16 100" "16 1024")
# Nothing else makes a document change than asking for a size.
checked_in=
case ${SIZE:-} in medium | full) checked_in=yes ;; esac

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
if [ "$scenarios" = designs ]; then
  [ -n "${BRAID_RESULTS:-}" ] || results=$results/designs
  [ -z "$tree" ] || tables=(--update "$tree/docs/evidence/designs.md")
elif [ -n "$tree" ]; then
  tables=(--update "$tree/docs/evidence/benchmarking.md" --update-short "$tree/README.md")
fi
if [ -n "$tree" ]; then
  # Hours of measuring must not end in a document that has no place for the table.
  python3 bench/compare.py "${tables[@]}" --marks
fi

cores=$(nproc)
thread_counts=(1)
if [ "$cores" -gt 1 ] && [ "$size" != small ]; then thread_counts=(1 "$cores"); fi

# What is there stays until everything was measured.
mkdir -p "$results"
fresh=$(mktemp -d "$results/fresh.XXXXXX")
trap 'rm -rf "$fresh"' EXIT
written=()
started=$SECONDS
for record in "${sizes[@]}"; do
  read -r key value <<<"$record"
  for scenario in "${names[@]}"; do
    if [ "$scenario" = beyond-pool ]; then
      [ "$record" = "${sizes[-1]}" ] || continue
      value=1024
    fi
    much=$(flags_of "$scenario" "$value")
    for threads in "${thread_counts[@]}"; do
      json=k$key-v$value-t$threads-$scenario.json
      echo
      echo "== $scenario: $key-byte keys, $value-byte values, $threads thread(s) =="
      # $much is several flags.
      # shellcheck disable=SC2086
      "$compare" --key_size="$key" --value_size="$value" $much --threads="$threads" \
        --json="$fresh/$json" "$@"
      written+=("$json")
    done
  done
done
echo
echo "bench: measured in $((SECONDS - started)) s."

# What was measured replaces what is there of the same scenario, with whatever sizes and threads.
for scenario in "${names[@]}"; do rm -f "$results"/k*-v*-t*-"$scenario".json; done
# Names that results at rest had before there were scenarios.
case " ${names[*]} " in *" at-rest "*) rm -f "$results"/k*-v*-t*-{small,medium,base,ycsb}.json ;; esac
mv "${written[@]/#/$fresh/}" "$results/"
# The page and every run are not among the results that are checked in.
page=$results/report.html
case $results in bench/results*)
  mkdir -p build/bench/runs
  page=build/bench/report.html
  cp "${written[@]/#/$results/}" build/bench/runs/
  ;;
esac
# By key size, value size, scenario and threads.
mapfile -t files < <(cd "$results" && ls k*-v*-t*-*.json | sort -t- -k1.2,1n -k2.2,2n -k4 -k3.2,3n)
files=("${files[@]/#/$results/}")
"$compare" --from="$(IFS=,; echo "${files[*]}")" --report="$page"
echo
python3 bench/compare.py "${tables[@]}" "${files[@]}"
case $results in bench/results*) python3 bench/compare.py --condense "${files[@]}" ;; esac
echo
echo "bench: the results are in $results, the page with plots is $page."
if [ -n "$tree" ]; then
  echo "bench: the documents in $tree have the tables of these results."
fi
