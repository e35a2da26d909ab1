# shellcheck shell=bash
# A slow worker: its daemons and the containers that they start from then on share a cgroup with so
# much processor time and no more. By cgroup v1 or v2, whichever has the "cpu" controller.

# The folder of the "cpu" controller, and its version before it; without one, fails and says why.
cpu_controller() {
  local folder
  folder=$(awk '$3 == "cgroup" && ("," $4 ",") ~ /,cpu,/ { print $2; exit }' /proc/mounts)
  if [ -n "$folder" ]; then
    echo "v1 $folder"
    return
  fi
  folder=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
  if [ -z "$folder" ]; then
    echo "no cgroups are mounted"
    return 1
  fi
  if ! grep -qw cpu "$folder/cgroup.controllers"; then
    echo "the cgroups in $folder lack the controller 'cpu' (in a container the host must hand it on)"
    return 1
  fi
  echo "v2 $folder"
}

limit_group() { echo "$1/$prefix-$2"; }

# Prints the processes whose parents' parents... are these, themselves among them.
with_descendants() {
  { cat /proc/[0-9]*/status 2>/dev/null || true; } | awk -v roots="$*" '
    $1 == "Pid:" { pid = $2 }
    $1 == "PPid:" { parent[pid] = $2 }
    END {
      count = split(roots, list, " ")
      for (i = 1; i <= count; ++i) wanted[list[i]] = 1
      for (one in parent) {
        at = one
        while (at in parent && !(at in wanted)) at = parent[at]
        if (at in wanted) print one
      }
    }'
}

# limit HOST CORES: "limit node4 0.5" leaves node4 half a core.
limit() {
  load_state
  [ $# -eq 2 ] || fail "limit which worker to what? For example: $0 limit node$worker_count 0.5"
  local host=$1 cores=$2 found version folder group quota pids
  workers | grep -qx -- "$host" || fail "'$host' is no worker: use $(workers | paste -sd ' ')."
  [[ $cores =~ ^[0-9]{1,3}(\.[0-9]{1,3})?$ ]] && [[ $cores =~ [1-9] ]] ||
    fail "'$cores' is no number of cores: use 0.5, for example."
  found=$(cpu_controller) || fail "$host can't be held at $cores cores: $found."
  read -r version folder <<<"$found"
  group=$(limit_group "$folder" "$host")
  quota=$(awk -v cores="$cores" 'BEGIN { print int(cores * 100000) }')
  mkdir -p "$group" 2>/dev/null ||
    fail "$host can't be held at $cores cores: no cgroup can be made in $folder (root may; in a
  container it must be mounted for writing)."
  if ! set_quota "$version" "$folder" "$group" "$quota"; then
    rmdir "$group" 2>/dev/null || true
    fail "$host can't be held at $cores cores: the kernel takes no quota in $group."
  fi
  mapfile -t pids < <(awk -v host="$host" '$2 == host { print $1 }' "$home/daemons")
  # What is started while processes are moved may be a child of one that was not yet.
  for _ in 1 2; do
    with_descendants "${pids[@]}" | while read -r pid; do
      echo "$pid" >"$group/cgroup.procs" 2>/dev/null || [ ! -d "/proc/$pid" ] ||
        fail "process $pid of $host can't be put into $group."
    done
  done
  say "$host has $cores cores from now on (cgroup $version)"
}

set_quota() {
  local version=$1 folder=$2 group=$3 quota=$4
  if [ "$version" = v1 ]; then
    { echo 100000 >"$group/cpu.cfs_period_us" && echo "$quota" >"$group/cpu.cfs_quota_us"; } \
      2>/dev/null
    return
  fi
  [ -f "$group/cpu.max" ] || echo +cpu >"$folder/cgroup.subtree_control" 2>/dev/null || return 1
  echo "$quota 100000" 2>/dev/null >"$group/cpu.max"
}

# throttled HOST: of how many periods of a tenth of a second it used up its time in how many.
throttled() {
  load_state
  local found version folder group
  found=$(cpu_controller) || fail "no cgroup: $found."
  read -r version folder <<<"$found"
  group=$(limit_group "$folder" "${1:-}")
  [ -d "$group" ] || fail "'${1:-}' is not limited."
  awk '$1 == "nr_periods" { all = $2 } $1 == "nr_throttled" { some = $2 }
    END { print some + 0, "of", all + 0 }' "$group/cpu.stat"
}

# After the processes have ended. A group that has only just become empty may still be busy.
remove_limits() {
  local found version folder group
  found=$(cpu_controller) || return 0
  read -r version folder <<<"$found"
  for group in "$folder/$prefix"-*; do
    [ ! -d "$group" ] || rmdir "$group" 2>/dev/null || { sleep 0.5 && rmdir "$group"; }
  done
}
