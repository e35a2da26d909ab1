# shellcheck shell=bash
# What the cluster runs on: a Java of at least 17 and Hadoop's jars from Maven Central.

# Prints the home of a Java that Hadoop 3.5 can run on.
find_java() {
  local candidate major
  for candidate in "${JAVA_HOME:-}" /usr/lib/jvm/java-17-openjdk-* /usr/lib/jvm/default-java \
    "$(dirname "$(dirname "$(readlink -f "$(command -v java || echo /none/bin/java)")")")"; do
    [ -n "$candidate" ] && [ -x "$candidate/bin/java" ] || continue
    major=$("$candidate/bin/java" -XshowSettings:properties -version 2>&1 |
      sed -n 's/^ *java.specification.version = \([0-9]*\).*/\1/p')
    if [ "${major:-0}" -ge 17 ]; then
      echo "$candidate"
      return
    fi
  done
  fail "no Java 17 was found: install openjdk-17-jdk-headless, or set JAVA_HOME."
}

# Collects the jars once; they stay in build/hadoop for the next start.
collect_jars() {
  [ ! -f "$dist/complete" ] || return 0
  command -v mvn >/dev/null 2>&1 || fail "Maven is missing: run 'bash scripts/setup.sh hadoop'."
  mkdir -p "$dist"
  say "collecting Hadoop $hadoop_version from Maven Central (about 300 MB the first time)"
  if ! mvn -B -q -f "$here/dist/pom.xml" dependency:copy-dependencies \
    -Dhadoop.version="$hadoop_version" -Dexamples.version="$examples_version" \
    -DoutputDirectory="$dist/lib" >"$dist/maven.log" 2>&1 </dev/null; then
    grep '^\[ERROR\]' "$dist/maven.log" | head -n 3 >&2 || true
    fail "Hadoop's jars can't be had (above: Maven's first errors; all of them: $dist/maven.log).
  Maven Central, or the mirror that Maven's settings name, must be reachable the first time."
  fi
  # The web pages of the daemons are in the archive of a release only; they want the folders.
  mkdir -p "$dist"/web/webapps/{hdfs,datanode,secondary,static}
  touch "$dist/complete"
}

# The two jars of examples that jobs name by path.
examples_jar() { echo "$dist/lib/hadoop-mapreduce-examples-$examples_version.jar"; }
streaming_jar() { echo "$dist/lib/hadoop-streaming-$examples_version.jar"; }

# What Hadoop's reflection needs to be let in on from Java 17 on.
java_flags() {
  local package
  printf '%s\n' -XX:+IgnoreUnrecognizedVMOptions --enable-native-access=ALL-UNNAMED
  for package in java.io java.lang java.lang.reflect java.math java.net java.text java.util \
    java.util.concurrent java.util.zip sun.security.util sun.security.x509; do
    printf '%s\n' "--add-opens=java.base/$package=ALL-UNNAMED"
  done
}
