#!/usr/bin/env bash
# Tests braid-hadoop with Maven: hadoop-test.sh [FOLDER]. The results, JUnit's XML, are copied into
# the folder when one is given, as hadoop-CLASS.xml.
#   BRAID_TEST_SIZE=push    unit and property tests, and jobs on a MiniCluster (default). With
#                           BRAID_CHOICE=n, of long tests only those tagged "share-(n modulo 3)"
#   BRAID_TEST_SIZE=night   also those tagged "night", Tez, Hive, and Spark: 3.5 by both of its
#                           Scalas, 4.0
# Maven fetches what it needs from Maven Central the first time (about 300 MB, at night more).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

results=${1:-}
log=$(mktemp "${BRAID_TMP:-${TMPDIR:-/tmp}}/braid-hadoop-test-XXXXXX") || exit 1
trap 'rm -f "$log"' EXIT
# Tests that need longer than a push may take carry JUnit's tag "night".
excluded=night
if [ -n "${BRAID_CHOICE:-}" ]; then
  for share in 0 1 2; do
    [ "$share" = $((BRAID_CHOICE % 3)) ] || excluded+=,share-$share
  done
fi
choice=(-Pcluster-tests -pl "core,simulator,minicluster" "-DexcludedGroups=$excluded")
[ "${BRAID_TEST_SIZE:-push}" = push ] || choice=(-Pcluster-tests,hive-tests)

code=0
count=0

# run NAME GOAL...: a build of Maven's; its results are copied, with the name in theirs.
run() {
  local name=$1
  shift
  find hadoop -path '*/target/surefire-reports/*.xml' -delete 2>/dev/null
  mvn -B -ntp -f hadoop/pom.xml "$@" </dev/null 2>&1 | tee -a "$log" || code=$?
  while read -r report; do
    count=$((count + 1))
    [ -z "$results" ] || cp "$report" "$results/hadoop-$name$(basename "$report" | sed 's/^TEST-//')"
  done < <(find hadoop -path '*/target/surefire-reports/TEST-*.xml')
}

run "" verify "${choice[@]}"
if [ "${BRAID_TEST_SIZE:-push}" != push ]; then
  # A jar is for one Spark alone; what is not Spark's has been tested above.
  spark=(clean verify -Pcluster-tests -pl "core,spark" "-Dtest=SparkTest,HostScanTest"
    -Dsurefire.failIfNoSpecifiedTests=false)
  run spark-3.5-2.12- "${spark[@]}" -Dscala.binary=2.12
  run spark-4.0- "${spark[@]}" -Dspark.line=4
fi

if [ "$code" -ne 0 ] && grep -qE \
  'Could not (transfer|resolve|find) artifact|Could not resolve dep|Unknown host|Non-resolvable|offline mode' "$log"; then
  echo "hadoop: Maven can't get what it needs. Maven Central, or the mirror that Maven's settings" >&2
  echo "name (~/.m2/settings.xml), must be reachable the first time; later runs need no network." >&2
elif [ "$count" -eq 0 ]; then
  echo "hadoop: no test ran" >&2
  code=1
fi
exit "$code"
