package io.braid.rheakv;

import com.alipay.sofa.jraft.option.NodeOptions;
import com.alipay.sofa.jraft.rhea.options.PlacementDriverOptions;
import com.alipay.sofa.jraft.rhea.options.RegionEngineOptions;
import com.alipay.sofa.jraft.rhea.options.RegionRouteTableOptions;
import com.alipay.sofa.jraft.rhea.options.RheaKVStoreOptions;
import com.alipay.sofa.jraft.rhea.options.StoreEngineOptions;
import com.alipay.sofa.jraft.util.Endpoint;
import java.io.File;
import java.util.ArrayList;
import java.util.List;

/** Options of servers and clients on the loopback. */
final class Servers {
  static final long REGION = 1;

  private Servers() {}

  static String list(List<Integer> ports) {
    return String.join(",", ports.stream().map(port -> "127.0.0.1:" + port).toList());
  }

  /** A client that tells its caller of each failure. */
  static RheaKVStoreOptions client(String servers) {
    RegionRouteTableOptions route = new RegionRouteTableOptions();
    route.setRegionId(REGION);
    route.setInitialServerList(servers);
    PlacementDriverOptions placement = new PlacementDriverOptions();
    placement.setFake(true);
    placement.setRegionRouteTableOptionsList(new ArrayList<>(List.of(route)));
    RheaKVStoreOptions options = new RheaKVStoreOptions();
    options.setClusterName("braid-test");
    options.setInitialServerList(servers);
    options.setPlacementDriverOptions(placement);
    options.setFailoverRetries(0);
    options.setFutureTimeoutMillis(3000);
    return options;
  }

  static RheaKVStoreOptions server(
      String servers, int port, File folder, int snapshotSeconds, long leastKeysOnSplit) {
    NodeOptions node = new NodeOptions();
    node.setElectionTimeoutMs(2000); // a busy machine answers later than RheaKV's default allows
    node.setSnapshotIntervalSecs(snapshotSeconds);
    RegionEngineOptions region = new RegionEngineOptions();
    region.setRegionId(REGION);
    region.setNodeOptions(node);
    StoreEngineOptions engine = new StoreEngineOptions();
    engine.setServerAddress(new Endpoint("127.0.0.1", port));
    engine.setRaftDataPath(folder.getPath() + File.separator);
    engine.setRegionEngineOptionsList(new ArrayList<>(List.of(region)));
    engine.setMetricsReportPeriod(0);
    engine.setLeastKeysOnSplit(leastKeysOnSplit);
    RheaKVStoreOptions options = client(servers);
    options.getPlacementDriverOptions().setRegionRouteTableOptionsList(null);
    options.setStoreEngineOptions(engine);
    return options;
  }
}
