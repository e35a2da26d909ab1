# shellcheck shell=bash
# Commands of users, run on the master: the ones that Hadoop's own scripts would start.

# Becomes the command: run_client WORD... (hadoop, hdfs, yarn, mapred, example, or any program).
run_client() {
  [ $# -gt 0 ] || fail "run what? For example: $0 run hdfs dfs -ls /"
  local first=$1 second=${2:-} class
  if [ "$first" = example ]; then
    run_class org.apache.hadoop.util.RunJar "$(examples_jar)" "${@:2}"
  fi
  case "$first $second" in
    "hadoop fs" | "hdfs dfs") class=org.apache.hadoop.fs.FsShell ;;
    "hadoop jar" | "yarn jar") class=org.apache.hadoop.util.RunJar ;;
    "hdfs dfsadmin") class=org.apache.hadoop.hdfs.tools.DFSAdmin ;;
    "hdfs fsck") class=org.apache.hadoop.hdfs.tools.DFSck ;;
    "yarn node") class=org.apache.hadoop.yarn.client.cli.NodeCLI ;;
    "yarn application" | "yarn app") class=org.apache.hadoop.yarn.client.cli.ApplicationCLI ;;
    "mapred job") class=org.apache.hadoop.mapred.JobClient ;;
    "mapred streaming") run_class org.apache.hadoop.util.RunJar "$(streaming_jar)" "${@:3}" ;;
    "java "*) run_class "${@:2}" ;;
    hadoop\ * | hdfs\ * | yarn\ * | mapred\ *)
      fail "'$first $second' is not among the commands here: hadoop fs|jar, hdfs dfs|dfsadmin|fsck,
  yarn jar|node|application, mapred job|streaming."
      ;;
    *)
      export BRAID_CLUSTER_MARK=$prefix HADOOP_CONF_DIR=$home/master/conf
      on_host master "$@"
      ;;
  esac
  run_class "$class" "${@:3}"
}

# Clients live for seconds: compiling them well costs more than it brings.
run_class() { java_on master "-Xmx512m -XX:TieredStopAtLevel=1" "$@"; }
