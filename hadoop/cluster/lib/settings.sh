# shellcheck shell=bash
# What can be set about the cluster, by environment variables, and the names made of it.

repo=$(cd "$here/../.." && pwd)
readonly repo
readonly hadoop_version=${BRAID_HADOOP_VERSION:-3.5.0}
readonly examples_version=3.4.2

readonly cluster_id=${BRAID_CLUSTER_ID:-main}    # tells clusters on one machine apart
readonly worker_count=${BRAID_CLUSTER_NODES:-4}  # DataNode and NodeManager each
readonly node_slots=${BRAID_CLUSTER_SLOTS:-2}    # containers that run at once on a worker
readonly slot_mb=${BRAID_CLUSTER_SLOT_MB:-512}   # memory of a container
readonly block_size=${BRAID_CLUSTER_BLOCK:-4194304}
readonly replication=${BRAID_CLUSTER_REPLICATION:-2}
readonly scheduler=${BRAID_CLUSTER_SCHEDULER:-fair}  # fair or capacity
readonly patience=${BRAID_CLUSTER_TIMEOUT:-300}      # seconds until a start has failed

readonly home=${BRAID_TMP:-${TMPDIR:-/tmp}}/braid-hadoop-$cluster_id
readonly dist=$repo/build/hadoop/dist-$hadoop_version
readonly prefix=braid-$cluster_id  # of the namespaces

fail() {
  echo "cluster: $*" >&2
  exit 1
}

say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }

check_number() {
  local name=$1 value=$2 least=$3
  [[ $value =~ ^[0-9]{1,12}$ ]] && [ "$value" -ge "$least" ] ||
    fail "$name=$value makes no sense: use a number from $least."
}

check_settings() {
  [[ $cluster_id =~ ^[a-z0-9]{1,12}$ ]] ||
    fail "BRAID_CLUSTER_ID=$cluster_id can't be used: 1 to 12 lower-case letters and digits."
  check_number BRAID_CLUSTER_NODES "$worker_count" 1
  [ "$worker_count" -le 99 ] || fail "BRAID_CLUSTER_NODES=$worker_count is too many: at most 99."
  check_number BRAID_CLUSTER_SLOTS "$node_slots" 1
  check_number BRAID_CLUSTER_SLOT_MB "$slot_mb" 384
  check_number BRAID_CLUSTER_BLOCK "$block_size" 65536
  check_number BRAID_CLUSTER_REPLICATION "$replication" 1
  check_number BRAID_CLUSTER_TIMEOUT "$patience" 1
  case "$scheduler" in
    fair | capacity) ;;
    *) fail "BRAID_CLUSTER_SCHEDULER=$scheduler is unknown: use fair or capacity." ;;
  esac
  [[ $home != *[[:space:]]* && $repo != *[[:space:]]* ]] ||
    fail "Hadoop's class paths take no spaces: set BRAID_TMP, or move the sources ($repo)."
}

# The hosts: master (NameNode, ResourceManager, JobHistoryServer) and the workers node1, node2...
workers() { seq -f 'node%g' 1 "$worker_count"; }
hosts() { echo master && workers; }

# What start decided, read again by the other commands: network, base_port, java_home.
load_state() {
  [ -f "$home/state" ] ||
    fail "there is no cluster '$cluster_id' here: start one with '$0 start'${BRAID_CLUSTER_ID:+ (BRAID_CLUSTER_ID=$cluster_id)}."
  # shellcheck source=/dev/null
  . "$home/state"
}
