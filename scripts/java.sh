#!/usr/bin/env bash
# Builds and tests the Java binding: java.sh build | test [FOLDER] | kafka-demo [OPTION ...] |
# kafka-smoke ROUNDS | kafka-stores [OPTION ...] | kafka-suites [PATTERN] | rheakv-demo ROUNDS. The
# native library goes to build/java/lib, the jars to bindings/java/*/target.
# test: the results, JUnit's XML, are copied into the folder when one is given, as java-CLASS.xml.
# kafka-demo: examples/kafka-streams, with its options (--help). kafka-smoke: Kafka's own smoke test,
# with kills. kafka-stores: memory and latencies of the stores beside Kafka's own (--help).
# kafka-suites: Kafka's own integration tests, those whose CLASS.METHOD holds the regular expression;
# with BRAID_CONTROL=1 on Kafka's own stores. rheakv-demo: three servers of RheaKV whose leader is
# killed each round (RAFT_LOG=rocksdb: with Raft's log in RocksDB); what clients saw is checked, by
# Porcupine too where there is Go. Maven fetches what it needs from Maven Central the first time.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

what=${1:-build}
results=${2:-}
jobs=${BRAID_JOBS:-$(nproc)}

# The JDK that compiles is the one whose headers are used, whatever else is installed.
JAVA_HOME=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
export JAVA_HOME
# Maven ends with a code that resets colours, even without any, unless its terminal library may not.
export MAVEN_OPTS="${MAVEN_OPTS:-} -Djansi.noreset=true"
bash scripts/build.sh release braid_static || exit 1
cmake -G Ninja -S bindings/java/native -B build/java -DCMAKE_BUILD_TYPE=Release \
  -DBRAID_LIBRARY="$PWD/build/release/lib/libbraid.a" >/dev/null || exit 1
cmake --build build/java --parallel "$jobs" || exit 1

maven=(mvn -B -ntp -Dstyle.color=never -f bindings/java/pom.xml "-Dbraid.native.dir=$PWD/build/java/lib")
case "$what" in
  build) "${maven[@]}" package -DskipTests </dev/null ;;
  test)
    find bindings/java -path '*/target/surefire-reports/*.xml' -delete 2>/dev/null
    code=0
    "${maven[@]}" verify </dev/null || code=$?
    count=0
    while read -r report; do
      count=$((count + 1))
      [ -z "$results" ] || cp "$report" "$results/java-$(basename "$report" | sed 's/^TEST-//')"
    done < <(find bindings/java -path '*/target/surefire-reports/TEST-*.xml')
    if [ "$count" -eq 0 ]; then
      echo "java: no test ran. Maven Central, or the mirror that Maven's settings name" >&2
      echo "(~/.m2/settings.xml), must be reachable the first time." >&2
      code=1
    fi
    exit "$code"
    ;;
  kafka-demo | kafka-smoke)
    echo "$what: building the stores and the example"
    "${maven[@]}" -q package -DskipTests -pl ../../examples/kafka-streams -am </dev/null || exit 1
    demo=examples/kafka-streams/target
    main=io.braid.examples.kafka.Demo
    [ "$what" = kafka-demo ] || main=io.braid.examples.kafka.Smoke
    exec java -Dlog.level=error -cp "$demo/classes:$demo/test-classes:$(cat "$demo/classpath")" "$main" "${@:2}"
    ;;
  kafka-stores)
    echo "$what: building the stores"
    "${maven[@]}" -q package -DskipTests -pl kafka -am </dev/null || exit 1
    stores=bindings/java/kafka/target
    exec java -Dlog.level=error -cp "$stores/classes:$stores/test-classes:$(cat "$stores/classpath")" \
      io.braid.kafka.StoreComparison "${@:2}"
    ;;
  kafka-suites)
    echo "$what: building the stores and what stands in for Kafka's"
    "${maven[@]}" -q -Pkafka-suites package -DskipTests -pl kafka-suites -am </dev/null || exit 1
    suites=bindings/java/kafka-suites/target
    kind=braid
    classes=$suites/classes:
    if [ "${BRAID_CONTROL:-0}" != 0 ]; then
      kind=control
      classes=
    fi
    log=$PWD/build/java/kafka-suites-$kind.log
    scratch=$(mktemp -d "${BRAID_TMP:-${TMPDIR:-/tmp}}/braid-kafka-suites-XXXXXX") || exit 1
    pid=
    trap '[ -z "$pid" ] || { kill "$pid" 2>/dev/null; wait "$pid"; }; rm -rf "$scratch"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    echo "$what: the log is ${log#"$PWD"/}"
    java -Xmx2g "-Djava.io.tmpdir=$scratch" -cp "$classes$suites/test-classes:$(cat "$suites/classpath")" \
      io.braid.kafka.suites.Suites "$kind" "$log" "${@:2}" </dev/null &
    pid=$!
    wait "$pid"
    exit
    ;;
  rheakv-demo)
    echo "$what: building the store"
    "${maven[@]}" -q package -DskipTests -pl rheakv -am </dev/null || exit 1
    demo=bindings/java/rheakv/target
    histories=$PWD/build/java/rheakv-histories.jsonl
    java -Dorg.slf4j.simpleLogger.defaultLogLevel=off \
      -cp "$demo/classes:$demo/test-classes:$(cat "$demo/classpath")" \
      io.braid.rheakv.Cluster "${2:-3}" "${BRAID_SEED:-}" "$histories" "${RAFT_LOG:-braid}" || exit 1
    if ! command -v go >/dev/null; then
      echo "$what: without a second opinion: there is no go on the PATH (Debian: apt-get install golang-go)"
    elif ! (cd tests/porcupine && go build -o ../../build/java/porcupine .) 2>build/java/go.log; then
      echo "$what: without a second opinion: Porcupine can't be built here; see build/java/go.log"
    else
      build/java/porcupine "$histories"
    fi
    ;;
  *)
    echo "java.sh: unknown argument '$what': use build, test, kafka-demo, kafka-smoke, kafka-stores, kafka-suites or rheakv-demo" >&2
    exit 2
    ;;
esac
