# shellcheck shell=bash
# Hadoop's configuration files, a folder a host. Settings are written as lines "name value".

# Turns lines "name value" into Hadoop's XML.
as_xml() {
  echo "<configuration>"
  awk 'NF >= 2 { name = $1; $1 = ""; sub(/^ /, "")
    gsub(/&/, "\\&amp;"); gsub(/</, "\\&lt;")
    printf "<property><name>%s</name><value>%s</value></property>\n", name, $0 }'
  echo "</configuration>"
}

# Ports of the services that others must find. Where each host has its own address they are
# Hadoop's; on one host they start at a base of the cluster's own.
port_of() {
  if [ "$network" = namespaces ]; then
    case "$1" in
      namenode) echo 8020 ;; namenode-web) echo 9870 ;; manager-web) echo 8088 ;;
      history) echo 10020 ;; history-web) echo 19888 ;;
      manager) echo 8032 ;; scheduler) echo 8030 ;; tracker) echo 8031 ;; admin) echo 8033 ;;
      history-admin) echo 10033 ;;
      *) echo 0 ;;
    esac
    return
  fi
  case "$1" in
    namenode) echo $((base_port + 0)) ;; namenode-web) echo $((base_port + 1)) ;;
    manager-web) echo $((base_port + 2)) ;; history) echo $((base_port + 3)) ;;
    history-web) echo $((base_port + 4)) ;; manager) echo $((base_port + 5)) ;;
    scheduler) echo $((base_port + 6)) ;; tracker) echo $((base_port + 7)) ;;
    admin) echo $((base_port + 8)) ;; history-admin) echo $((base_port + 9)) ;;
    *) echo 0 ;;
  esac
}

endpoint() { echo "$(address_of master):$(port_of "$1")"; }

write_config() {
  local host=$1 folder=$home/$1
  mkdir -p "$folder"/{conf,log,name,data,containers,container-logs,tmp}
  core_settings "$folder" | as_xml >"$folder/conf/core-site.xml"
  hdfs_settings "$host" "$folder" | as_xml >"$folder/conf/hdfs-site.xml"
  yarn_settings "$host" "$folder" | as_xml >"$folder/conf/yarn-site.xml"
  mapred_settings | as_xml >"$folder/conf/mapred-site.xml"
  capacity_settings | as_xml >"$folder/conf/capacity-scheduler.xml"
  # A DataNode tells of each read at this level: the comparison counts the remote ones.
  cat >"$folder/conf/log4j.properties" <<'END'
log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
log4j.logger.org.apache.hadoop.hdfs.server.datanode.DataNode.clienttrace=DEBUG
END
}

core_settings() {
  cat <<END
fs.defaultFS hdfs://$(endpoint namenode)
hadoop.tmp.dir $1/tmp
hadoop.http.staticuser.user $(id -un)
END
}

hdfs_settings() {
  local host=$1 folder=$2
  cat <<END
dfs.namenode.name.dir file://$folder/name
dfs.namenode.http-address $(endpoint namenode-web)
dfs.namenode.rpc-bind-host 0.0.0.0
dfs.namenode.fs-limits.min-block-size 65536
dfs.namenode.datanode.registration.ip-hostname-check false
dfs.datanode.data.dir file://$folder/data
dfs.datanode.hostname $(address_of "$host")
dfs.datanode.address 0.0.0.0:0
dfs.datanode.http.address 0.0.0.0:0
dfs.datanode.ipc.address 0.0.0.0:0
dfs.blocksize $block_size
dfs.replication $replication
dfs.permissions.enabled false
END
}

# A worker offers node_slots containers. The first offers one more, for the application master:
# the tasks then have exactly worker_count * node_slots.
yarn_settings() {
  local host=$1 folder=$2 memory=$((node_slots * slot_mb)) class
  [ "$host" != node1 ] || memory=$((memory + slot_mb))
  class=fair.FairScheduler
  [ "$scheduler" = fair ] || class=capacity.CapacityScheduler
  cat <<END
yarn.resourcemanager.hostname $(address_of master)
yarn.resourcemanager.address $(endpoint manager)
yarn.resourcemanager.scheduler.address $(endpoint scheduler)
yarn.resourcemanager.resource-tracker.address $(endpoint tracker)
yarn.resourcemanager.admin.address $(endpoint admin)
yarn.resourcemanager.webapp.address $(endpoint manager-web)
yarn.resourcemanager.scheduler.class org.apache.hadoop.yarn.server.resourcemanager.scheduler.$class
yarn.scheduler.minimum-allocation-mb $slot_mb
yarn.scheduler.increment-allocation-mb $slot_mb
yarn.resource-types.memory-mb.increment-allocation $slot_mb
yarn.scheduler.fair.assignmultiple true
yarn.scheduler.fair.user-as-default-queue false
yarn.nodemanager.hostname $(address_of "$host")
yarn.nodemanager.address $(address_of "$host"):0
yarn.nodemanager.localizer.address $(address_of "$host"):0
yarn.nodemanager.collector-service.address $(address_of "$host"):0
yarn.nodemanager.webapp.address $(address_of "$host"):0
yarn.nodemanager.aux-services mapreduce_shuffle
yarn.nodemanager.aux-services.mapreduce_shuffle.class org.apache.hadoop.mapred.ShuffleHandler
yarn.nodemanager.resource.memory-mb $memory
yarn.nodemanager.resource.cpu-vcores 64
yarn.nodemanager.vmem-check-enabled false
yarn.nodemanager.pmem-check-enabled false
yarn.nodemanager.local-dirs $folder/containers
yarn.nodemanager.log-dirs $folder/container-logs
yarn.nodemanager.log.retain-seconds 86400
yarn.nodemanager.env-whitelist JAVA_HOME,HADOOP_CONF_DIR,HADOOP_HOME
yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage 99.0
yarn.application.classpath $dist/lib/*
END
}

mapred_settings() {
  cat <<END
mapreduce.framework.name yarn
mapreduce.application.classpath $dist/lib/*
mapreduce.shuffle.port 0
mapreduce.jobhistory.address $(endpoint history)
mapreduce.jobhistory.webapp.address $(endpoint history-web)
mapreduce.jobhistory.admin.address $(endpoint history-admin)
yarn.app.mapreduce.am.staging-dir /staging
yarn.app.mapreduce.am.resource.mb $slot_mb
yarn.app.mapreduce.am.command-opts -Xmx$((slot_mb * 5 / 8))m -XX:+UseSerialGC
mapreduce.map.memory.mb $slot_mb
mapreduce.reduce.memory.mb $slot_mb
mapred.child.java.opts -Xmx$((slot_mb / 2))m -XX:+UseSerialGC
mapreduce.task.io.sort.mb $((slot_mb / 8))
mapreduce.map.speculative false
mapreduce.reduce.speculative false
END
}

capacity_settings() {
  cat <<END
yarn.scheduler.capacity.root.queues default
yarn.scheduler.capacity.root.default.capacity 100
yarn.scheduler.capacity.maximum-am-resource-percent 0.5
yarn.scheduler.capacity.node-locality-delay $((worker_count * node_slots))
END
}
