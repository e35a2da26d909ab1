# shellcheck shell=bash
# The daemons: started, waited for, ended. Each process carries BRAID_CLUSTER_MARK in its
# environment, and so do the containers that a NodeManager starts: that is how they are found again.

readonly mark=BRAID_CLUSTER_MARK=$prefix

# Process ids of everything that belongs to this cluster.
marked_processes() {
  # Processes that end meanwhile, and other users', can't be read; that is no error.
  { grep -lszxF "$mark" /proc/[0-9]*/environ || true; } | cut -d / -f 3
}

# Runs Java on a host, in this process: java_on HOST "FLAGS" CLASS ARGUMENT... (in a subshell).
# Words in "session" come before the command.
session=()
java_on() {
  local host=$1 flags=$2 own=() given=()
  shift 2
  mapfile -t own < <(java_flags)
  read -r -a given <<<"$flags"
  export BRAID_CLUSTER_MARK=$prefix JAVA_HOME=$java_home
  export HADOOP_CONF_DIR=$home/$host/conf HADOOP_HOME=$home/home
  on_host "$host" "${session[@]}" "$java_home/bin/java" "${given[@]}" -XX:+UseSerialGC "${own[@]}" \
    -Dhadoop.home.dir="$home/home" -Dhadoop.log.dir="$home/$host/log" \
    -cp "$home/$host/conf:$dist/web:$dist/lib/*${HADOOP_CLASSPATH:+:$HADOOP_CLASSPATH}" "$@"
}

# Starts one daemon in the background, in a session of its own, so that what ends the caller does
# not end it: daemon HOST NAME HEAP_MB CLASS.
daemon() {
  local host=$1 name=$2 heap=$3 class=$4 log=$home/$1/log/$2.log session=(setsid)
  (unset HADOOP_CLASSPATH; java_on "$host" "-Xmx${heap}m" "$class") >"$log" 2>&1 </dev/null &
  echo "$! $host $name" >>"$home/daemons"
}

format_namenode() {
  local log=$home/master/log/format.log
  (java_on master -Xmx128m org.apache.hadoop.hdfs.server.namenode.NameNode \
    -format -nonInteractive) >"$log" 2>&1 </dev/null || {
    tail -n 10 "$log" >&2
    fail "the NameNode's storage can't be formatted."
  }
}

start_daemons() {
  local server=org.apache.hadoop.yarn.server host
  daemon master namenode 512 org.apache.hadoop.hdfs.server.namenode.NameNode
  daemon master resourcemanager 768 $server.resourcemanager.ResourceManager
  daemon master historyserver 384 org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer
  for host in $(workers); do
    daemon "$host" datanode 256 org.apache.hadoop.hdfs.server.datanode.DataNode
    daemon "$host" nodemanager 384 $server.nodemanager.NodeManager
  done
}

# Prints the number at the end of a daemon's answer, or nothing: ask SERVICE PATH PYTHON_EXPRESSION.
ask() {
  (on_host master python3 - "http://$(endpoint "$1")$2" "$3" 2>/dev/null) <<'END'
import json, sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=5) as answer:
    print(eval(sys.argv[2], {"answer": json.load(answer)}))
END
}

live_datanodes() {
  ask namenode-web '/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState' \
    '(lambda s: s["NumLiveDataNodes"] if s["FSState"] == "Operational" else 0)(answer["beans"][0])'
}
live_nodemanagers() {
  ask manager-web /ws/v1/cluster/metrics 'answer["clusterMetrics"]["activeNodes"]'
}
history_answers() {
  ask history-web /ws/v1/history/info 'int("historyInfo" in answer)'
}

# Fails, with the end of its log, when a daemon has ended.
check_daemons_live() {
  local pid host name
  while read -r pid host name; do
    if ! kill -0 "$pid" 2>/dev/null; then
      grep -E 'ERROR|FATAL|Exception' "$home/$host/log/$name.log" | tail -n 5 >&2
      cp "$home/$host/log/$name.log" "$dist/failed-$name.log"
      fail "$name on $host has ended (its log: $dist/failed-$name.log)."
    fi
  done <"$home/daemons"
}

# Waits until a question is answered by at least that number: wait_for WHAT NUMBER QUESTION.
wait_for() {
  local what=$1 wanted=$2 question=$3 seen=0
  while true; do
    seen=$("$question" || true)
    [ "${seen:-0}" -lt "$wanted" ] || break
    check_daemons_live
    [ "$SECONDS" -lt "$patience" ] ||
      fail "after $patience s there are ${seen:-0} of $wanted $what. Is the machine busy or short
  of memory (a cluster takes about 4 GB)? BRAID_CLUSTER_TIMEOUT sets how long to wait."
    sleep 0.5
  done
  say "$what: $seen"
}

# Ends all processes of the cluster, politely first.
end_processes() {
  local pids tries
  for signal in TERM KILL; do
    for ((tries = 0; tries < 20; tries++)); do
      mapfile -t pids < <(marked_processes)
      [ ${#pids[@]} -gt 0 ] || return 0
      [ "$tries" -gt 0 ] || kill -"$signal" "${pids[@]}" 2>/dev/null || true
      sleep 0.25
    done
  done
  mapfile -t pids < <(marked_processes)
  [ ${#pids[@]} -eq 0 ] || fail "processes that can't be ended: ${pids[*]}"
}
