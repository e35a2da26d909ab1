#!/usr/bin/env bash
# Tests braid-hadoop with Maven: hadoop-test.sh [FOLDER]. The results, JUnit's XML, are copied into
# the folder when one is given, as hadoop-CLASS.xml.
#   BRAID_TEST_SIZE=push    unit and property tests, and jobs on a MiniCluster (default)
#   BRAID_TEST_SIZE=night   also those tagged "night", Spark and Hive
# Maven fetches what it needs from Maven Central the first time (about 300 MB, at night more).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

results=${1:-}
log=$(mktemp "${BRAID_TMP:-${TMPDIR:-/tmp}}/braid-hadoop-test-XXXXXX") || exit 1
trap 'rm -f "$log"' EXIT
# Tests that need longer than a push may take carry JUnit's tag "night".
choice=(-Pcluster-tests -pl "core,simulator,minicluster" -DexcludedGroups=night)
[ "${BRAID_TEST_SIZE:-push}" = push ] || choice=(-Pcluster-tests,hive-tests)

find hadoop -path '*/target/surefire-reports/*.xml' -delete 2>/dev/null
code=0
mvn -B -ntp -f hadoop/pom.xml verify "${choice[@]}" </dev/null 2>&1 | tee "$log" || code=$?

count=0
while read -r report; do
  count=$((count + 1))
  [ -z "$results" ] || cp "$report" "$results/hadoop-$(basename "$report" | sed 's/^TEST-//')"
done < <(find hadoop -path '*/target/surefire-reports/TEST-*.xml')

if [ "$code" -ne 0 ] && grep -qE \
  'Could not (transfer|resolve|find) artifact|Could not resolve dep|Unknown host|Non-resolvable|offline mode' "$log"; then
  echo "hadoop: Maven can't get what it needs. Maven Central, or the mirror that Maven's settings" >&2
  echo "name (~/.m2/settings.xml), must be reachable the first time; later runs need no network." >&2
elif [ "$count" -eq 0 ]; then
  echo "hadoop: no test ran" >&2
  code=1
fi
exit "$code"
