#!/usr/bin/env bash
# Builds the fuzz targets and runs them one after the other.
#   fuzz.sh push              200,000 executions over all targets, in about three minutes on two cores
#   fuzz.sh night             20 million; goes on from the corpus of the last run in build/fuzz-corpus
#   fuzz.sh <n> [target...]   n executions of each target named (default: all)
# A line of JSON a target goes to build/fuzz-report.jsonl. Exit code 1 when anything was found: the
# finding's file and the command that replays it stand in the output.
# Environment: BRAID_JOBS (processes side by side, default: 2), BRAID_FUZZ_SECONDS (limit a target).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

size=${1:-push}
shift || true
jobs=${BRAID_JOBS:-2}
all=(fuzz_pool fuzz_api fuzz_log_reader fuzz_manifest fuzz_loaders)
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")

# Executions by target: most where most code is.
share() {
  case "$size:$1" in
    push:fuzz_pool) echo 60000 ;;
    push:fuzz_api) echo 60000 ;;
    push:fuzz_log_reader | push:fuzz_manifest) echo 30000 ;;
    push:*) echo 20000 ;;
    night:fuzz_pool) echo 8000000 ;;
    night:fuzz_api) echo 6000000 ;;
    night:*) echo 2000000 ;;
    *) echo "$size" ;;
  esac
}
if ! [[ "$size" =~ ^(push|night|[0-9]+)$ ]]; then
  echo "fuzz.sh: '$size' is no size: use push, night or a number of executions" >&2
  exit 2
fi

bash scripts/build.sh fuzz "${targets[@]}" || exit 1

report=build/fuzz-report.jsonl
mkdir -p build && : >"$report" || exit 1
findings_total=0

for target in "${targets[@]}"; do
  corpus=build/fuzz-corpus/$target
  found=build/fuzz-findings/$target
  log=build/fuzz-findings/$target.log
  mkdir -p "$corpus" "$found" || exit 1
  rm -f "$found"/*
  seeds=()
  for kind in corpus regressions; do
    [ ! -d "fuzz/$kind/$target" ] || seeds+=("fuzz/$kind/$target")
  done
  options=(-entropic=0 -timeout=5 -rss_limit_mb=1024 -max_len=40000 -print_final_stats=1
    -artifact_prefix="$found/" -verbosity=1)
  [ -z "${BRAID_FUZZ_SECONDS:-}" ] || options+=(-max_total_time="$BRAID_FUZZ_SECONDS")
  # Each process counts its own executions, those of the seeds included.
  each=$((($(share "$target") + jobs - 1) / jobs))
  started=$(date +%s%N)
  pids=()
  for ((i = 0; i < jobs; ++i)); do
    nice -n 10 "build/fuzz/bin/$target" "${options[@]}" -runs="$each" -seed=$((RANDOM + 1)) \
      "$corpus" "${seeds[@]}" >"$log.$i" 2>&1 </dev/null &
    pids+=($!)
  done
  bad=0
  for pid in "${pids[@]}"; do wait "$pid" || bad=$((bad + 1)); done
  seconds=$(awk -v ns=$(($(date +%s%N) - started)) 'BEGIN { printf "%.1f", ns / 1e9 }')
  executions=$(sed -n 's/^stat::number_of_executed_units: //p' "$log".* | awk '{ n += $1 } END { print n + 0 }')
  # A process that died without leaving an input (in a mutator, say) is a finding too.
  findings=$(find "$found" -type f | wc -l)
  [ "$findings" -ge "$bad" ] || findings=$bad
  findings_total=$((findings_total + findings))
  rate=$(awk -v n="$executions" -v s="$seconds" 'BEGIN { printf "%d", n / (s > 0 ? s : 1) }')
  printf '%-16s %10d executions %8.1f s %7d/s %3d findings\n' "$target" "$executions" "$seconds" \
    "$rate" "$findings"
  printf '{"target":"%s","execs":%d,"seconds":%s,"execs_per_second":%d,"findings":%d}\n' \
    "$target" "$executions" "$seconds" "$rate" "$findings" >>"$report"
  if [ "$findings" -gt 0 ]; then
    grep -hE -m1 'runtime error|finding:|invariant broken|ERROR: (AddressSanitizer|libFuzzer)' \
      "$log".* | sort -u | head -n 5
    for file in "$found"/*; do
      [ ! -f "$file" ] || echo "replay: build/fuzz/bin/$target $file"
    done
    echo "logs: $log.*"
  else
    rm -f "$log".*
  fi
done

echo "$findings_total findings; the report is $report"
[ "$findings_total" -eq 0 ]
