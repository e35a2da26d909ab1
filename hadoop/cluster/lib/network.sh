# shellcheck shell=bash
# The cluster's hosts. "namespaces": each host is a network namespace with an address, a hosts file
# and (UTS namespace) a host name of its own, joined by a bridge that lives in a namespace as well,
# so that nothing is seen or routed outside. "single": where namespaces are not permitted, all
# daemons share this machine's name and differ by port; every block is then local everywhere.
# The only names outside: /run/netns/braid-ID-* and /etc/netns/braid-ID-*.

netns_name() { echo "$prefix-$1"; }

# Says why namespaces can't be used here, or nothing when they can.
namespaces_refused() {
  local probe=$prefix-probe
  command -v ip >/dev/null 2>&1 || { echo "the command ip is missing (iproute2)"; return; }
  command -v unshare >/dev/null 2>&1 || { echo "the command unshare is missing"; return; }
  [ "$(id -u)" -eq 0 ] || { echo "only root may make them"; return; }
  if ! ip netns add "$probe" 2>/dev/null; then
    echo "the kernel does not permit network namespaces"
  elif ! ip netns exec "$probe" unshare --uts hostname probe 2>/dev/null; then
    echo "the kernel does not permit host names of their own"
  elif ! ip -n "$probe" link add probe type bridge 2>/dev/null; then
    echo "the kernel has no bridge"
  elif ! ip -n "$probe" link add probe1 type veth peer name probe2 2>/dev/null; then
    echo "the kernel has no veth"
  fi
  ip netns del "$probe" 2>/dev/null || true
}

choose_network() {
  local why wanted=${BRAID_CLUSTER_NETWORK:-auto}
  case "$wanted" in
    single) network=single ;;
    auto | namespaces)
      why=$(namespaces_refused)
      network=namespaces
      if [ -n "$why" ]; then
        [ "$wanted" = auto ] || fail "no namespaces: $why."
        say "no network namespaces ($why): one host with several ports, so no locality"
        network=single
      fi
      ;;
    *) fail "BRAID_CLUSTER_NETWORK=$wanted is unknown: use auto, namespaces or single." ;;
  esac
}

# Takes the cluster's name. Making the first namespace is what only one of two runs can do.
claim_name() {
  if [ "$network" = namespaces ] && ! ip netns add "$(netns_name switch)" 2>/dev/null; then
    clash "its namespaces are there"
  fi
  mkdir "$home" 2>/dev/null || {
    [ "$network" = single ] || ip netns del "$(netns_name switch)"
    clash "$home is there, or can't be made"
  }
}

clash() {
  fail "there is a cluster '$cluster_id' already ($1).
  End it with 'BRAID_CLUSTER_ID=$cluster_id $0 stop', or choose another BRAID_CLUSTER_ID."
}

make_network() {
  [ "$network" = namespaces ] || return 0
  local host number=0 switch
  switch=$(netns_name switch)
  ip -n "$switch" link add bridge0 type bridge
  ip -n "$switch" link set bridge0 up
  {
    echo "127.0.0.1 localhost"
    for host in $(hosts); do
      number=$((number + 1))
      echo "10.0.0.$number $host"
    done
  } >"$home/hosts"
  while read -r address host; do
    [ "$host" = localhost ] || make_host "$switch" "$host" "$address"
  done <"$home/hosts"
}

make_host() {
  local switch=$1 host=$2 address=$3 name
  name=$(netns_name "$host")
  ip netns add "$name"
  mkdir -p "/etc/netns/$name"
  cp "$home/hosts" "/etc/netns/$name/hosts"
  ip -n "$switch" link add "to-$host" type veth peer name eth0 netns "$name"
  ip -n "$switch" link set "to-$host" master bridge0 up
  ip -n "$name" addr add "$address/24" dev eth0
  ip -n "$name" link set eth0 up
  ip -n "$name" link set lo up
}

# Becomes a command on a host of the cluster: on_host HOST COMMAND... (call it in a subshell).
on_host() {
  local host=$1
  shift
  if [ "$network" = single ]; then exec "$@"; fi
  # shellcheck disable=SC2016 # the inner shell expands it
  exec ip netns exec "$(netns_name "$host")" unshare --uts \
    bash -c 'hostname "$1" && shift && exec "$@"' on-host "$host" "$@"
}

# The address by which the others reach a host.
address_of() {
  if [ "$network" = single ]; then echo localhost; else echo "$1"; fi
}

# Removes all namespaces of this cluster; the links and the bridge go with them.
remove_network() {
  local name
  # Names are listed from the files: 'ip netns list' adds numbers.
  for name in /run/netns/"$prefix"-* /var/run/netns/"$prefix"-*; do
    [ ! -e "$name" ] || ip netns del "$(basename "$name")"
  done
  rm -rf /etc/netns/"$prefix"-*
  rmdir /etc/netns 2>/dev/null || true
}
