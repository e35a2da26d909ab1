#!/usr/bin/env bash
# A small real Hadoop cluster on one machine, of the daemons' jars on Maven Central: a NameNode, a
# ResourceManager, a JobHistoryServer and four workers with a DataNode and a NodeManager each. Every
# host is a network namespace with its own name and address, so that block locality is real.
#
#   cluster.sh start                    start it and wait until it can work (under a minute)
#   cluster.sh status                   what runs
#   cluster.sh run hdfs dfs -ls /       Hadoop's commands as they are known: hadoop, hdfs, yarn, mapred
#   cluster.sh run example grep IN OUT REGEX     one of Hadoop's example programs
#   cluster.sh run python3 script.py    any other command, on the master
#   cluster.sh logs [HOST [DAEMON]]     the logs there are, or one of them
#   cluster.sh limit node4 0.5          hold a worker, its containers as well, at half a core
#   cluster.sh throttled node4          how often it then had to wait: so many of so many periods
#   cluster.sh stop                     end everything and remove every trace, the data as well
#
# Settings, from the environment: BRAID_CLUSTER_ID (main), _NODES (4), _SLOTS (2 a node), _SLOT_MB
# (512), _BLOCK (4194304), _REPLICATION (2), _SCHEDULER (fair or capacity), _NETWORK (auto,
# namespaces or single), _TIMEOUT (300 s), and BRAID_TMP, where its data is.
# Namespaces need root. Without them all daemons share one host and there is no locality.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
# shellcheck source=hadoop/cluster/lib/settings.sh
. "$here/lib/settings.sh"
# shellcheck source=hadoop/cluster/lib/dist.sh
. "$here/lib/dist.sh"
# shellcheck source=hadoop/cluster/lib/network.sh
. "$here/lib/network.sh"
# shellcheck source=hadoop/cluster/lib/config.sh
. "$here/lib/config.sh"
# shellcheck source=hadoop/cluster/lib/daemons.sh
. "$here/lib/daemons.sh"
# shellcheck source=hadoop/cluster/lib/client.sh
. "$here/lib/client.sh"
# shellcheck source=hadoop/cluster/lib/limit.sh
. "$here/lib/limit.sh"

start() {
  java_home=$(find_java)
  choose_network
  # Of the id: two clusters on one machine are unlikely to meet, and the daemons notice if they do.
  base_port=$((20000 + $(cksum <<<"$cluster_id" | cut -d ' ' -f 1) % 500 * 20))
  collect_jars
  claim_name
  trap 'undo_start' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  printf '%s\n' "network=$network" "base_port=$base_port" "java_home=$java_home" >"$home/state"
  mkdir -p "$home/home/bin"
  say "cluster '$cluster_id': $worker_count workers with $node_slots slots each, $network"
  make_network
  local host
  for host in $(hosts); do write_config "$host"; done
  format_namenode
  SECONDS=0
  start_daemons
  wait_for DataNodes "$worker_count" live_datanodes
  wait_for NodeManagers "$worker_count" live_nodemanagers
  wait_for JobHistoryServer 1 history_answers
  trap - EXIT INT TERM HUP
  say "cluster '$cluster_id' is ready"
}

# A start that failed, or was interrupted, leaves nothing behind.
undo_start() {
  echo "cluster: the start did not succeed; removing what there was" >&2
  remove_everything
}

remove_everything() {
  end_processes
  remove_limits
  [ "$(id -u)" -ne 0 ] || remove_network
  rm -rf "$home"
}

stop() {
  if [ ! -d "$home" ] && ! compgen -G "/run/netns/$prefix-*" >/dev/null; then
    say "there is no cluster '$cluster_id'"
    return
  fi
  remove_everything
  say "cluster '$cluster_id' is gone"
}

status() {
  load_state
  local pid host name code=0
  while read -r pid host name; do
    if kill -0 "$pid" 2>/dev/null; then
      printf '%-8s %-16s runs (process %s)\n' "$host" "$name" "$pid"
    else
      printf '%-8s %-16s HAS ENDED: see %s logs %s %s\n' "$host" "$name" "$0" "$host" "$name"
      code=1
    fi
  done <"$home/daemons"
  printf 'network: %s; live DataNodes %s, NodeManagers %s\n' "$network" \
    "$(live_datanodes || echo unknown)" "$(live_nodemanagers || echo unknown)"
  return "$code"
}

logs() {
  load_state
  case $# in
    0) (cd "$home" && ls -1 ./*/log/*.log) ;;
    1) (cd "$home" && ls -1 "./$1"/log/*.log) ;;
    *) cat "$home/$1/log/$2.log" ;;
  esac
}

check_settings
command=${1:-help}
[ $# -eq 0 ] || shift
case "$command" in
  start | stop | status | logs | limit | throttled) "$command" "$@" ;;
  run) load_state && run_client "$@" ;;
  help | -h | --help) sed -n '2,/^set -/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" ;;
  *) fail "unknown command '$command': use start, stop, status, run, logs, limit or throttled." ;;
esac
