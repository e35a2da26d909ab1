package io.braid.rheakv;

import com.alipay.sofa.jraft.Status;
import com.alipay.sofa.jraft.entity.Task;
import com.alipay.sofa.jraft.option.NodeOptions;
import com.alipay.sofa.jraft.rhea.RegionEngine;
import com.alipay.sofa.jraft.rhea.StateListenerContainer;
import com.alipay.sofa.jraft.rhea.StoreEngine;
import com.alipay.sofa.jraft.rhea.client.pd.PlacementDriverClient;
import com.alipay.sofa.jraft.rhea.errors.Errors;
import com.alipay.sofa.jraft.rhea.metadata.Region;
import com.alipay.sofa.jraft.rhea.options.RegionEngineOptions;
import com.alipay.sofa.jraft.rhea.options.StoreEngineOptions;
import com.alipay.sofa.jraft.rhea.serialization.Serializers;
import com.alipay.sofa.jraft.rhea.storage.BatchRawKVStore;
import com.alipay.sofa.jraft.rhea.storage.BraidRawKVStore;
import com.alipay.sofa.jraft.rhea.storage.KVClosureAdapter;
import com.alipay.sofa.jraft.rhea.storage.KVOperation;
import com.alipay.sofa.jraft.rhea.storage.KVStoreClosure;
import com.alipay.sofa.jraft.rhea.storage.Pool;
import com.alipay.sofa.jraft.rhea.storage.StorageType;
import com.alipay.sofa.jraft.rhea.util.Constants;
import com.alipay.sofa.jraft.util.BytesUtil;
import com.alipay.sofa.jraft.util.Endpoint;
import java.io.File;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * RheaKV's engine of a server whose regions have their data in one pool. The engine makes a store in
 * memory of its own as well, which stays empty: RheaKV asks for the store by getRawKVStore(), with
 * two exceptions, the split of a region and the space of the device, which are here.
 */
public final class BraidStoreEngine extends StoreEngine {
  private final BraidStoreOptions options;
  private final String cluster;
  private final AtomicBoolean splitting = new AtomicBoolean();
  private volatile BraidRawKVStore store;

  public BraidStoreEngine(PlacementDriverClient placement,
      StateListenerContainer<Long> listeners, BraidStoreOptions options) {
    super(placement, listeners);
    this.options = Objects.requireNonNull(options, "options");
    this.cluster = placement.getClusterName();
  }

  @Override
  public synchronized boolean init(StoreEngineOptions given) {
    if (store != null) {
      return super.init(given);
    }
    Endpoint address = Objects.requireNonNull(given.getServerAddress(), "opts.serverAddress");
    SparseZip.install();
    given.setStorageType(StorageType.Memory);
    if (options.hasRaftLog()) {
      useRaftLog(given);
    }
    BraidRawKVStore made = new BraidRawKVStore(new Pool(options.poolOf(given),
        "RheaKV's server " + address + " of the cluster " + cluster, options.open(),
        options.isPublished()));
    made.init(null);
    store = made;
    boolean done = false;
    try {
      done = super.init(given);
    } finally {
      if (!done) {
        store = null;
        made.shutdown();
      }
    }
    return done;
  }

  private void useRaftLog(StoreEngineOptions given) {
    List<RegionEngineOptions> regions = given.getRegionEngineOptionsList();
    if (regions == null || regions.isEmpty()) {
      RegionEngineOptions only = new RegionEngineOptions();
      only.setRegionId(Constants.DEFAULT_REGION_ID);
      regions = List.of(only);
      given.setRegionEngineOptionsList(regions);
    }
    for (RegionEngineOptions region : regions) {
      NodeOptions node = region.getNodeOptions();
      if (node == null) {
        NodeOptions common = given.getCommonNodeOptions();
        node = common == null ? new NodeOptions() : common.copy();
      }
      region.setNodeOptions(
          BraidNodeOptions.of(node, new BraidJRaftServiceFactory(options)));
    }
  }

  @Override
  public synchronized void shutdown() {
    super.shutdown();
    BraidRawKVStore open = store;
    if (open != null) {
      open.shutdown();
    }
  }

  /** Of which all regions are made. */
  @Override
  public BatchRawKVStore<?> getRawKVStore() {
    return store;
  }

  private File folder() {
    return store.path();
  }

  @Override
  public long getTotalSpace() {
    return folder().getTotalSpace();
  }

  @Override
  public long getUsableSpace() {
    return folder().getUsableSpace();
  }

  @Override
  public long getStoreUsedSpace() {
    return size(folder());
  }

  private static long size(File file) {
    File[] inside = file.listFiles();
    return inside == null ? file.length() : Arrays.stream(inside).mapToLong(
        BraidStoreEngine::size).sum();
  }

  @Override
  public boolean isBusy() {
    return splitting.get();
  }

  private static void refuse(KVStoreClosure closure, Errors error, String message) {
    closure.setError(error);
    closure.run(new Status(-1, message));
  }

  /** Asks the region's replicas to split it in its middle, as RheaKV's own engine does. */
  @Override
  public void applySplit(Long regionId, Long newRegionId, KVStoreClosure closure) {
    Objects.requireNonNull(regionId, "regionId");
    Objects.requireNonNull(newRegionId, "newRegionId");
    RegionEngine parent = getRegionEngine(regionId);
    if (parent == null) {
      refuse(closure, Errors.NO_REGION_FOUND, "there is no region " + regionId);
    } else if (!parent.isLeader()) {
      refuse(closure, Errors.NOT_LEADER, "the leader of the region " + regionId + " is elsewhere");
    } else if (getRegionEngine(newRegionId) != null) {
      refuse(closure, Errors.CONFLICT_REGION_ID, "there is a region " + newRegionId + " already");
    } else if (!splitting.compareAndSet(false, true)) {
      refuse(closure, Errors.SERVER_BUSY, "another region is being split");
    } else {
      split(parent, newRegionId, new Splitting(closure));
    }
  }

  private void split(RegionEngine parent, long newRegionId, KVStoreClosure closure) {
    Region region = parent.getRegion();
    byte[] begin = BytesUtil.nullToEmpty(region.getStartKey());
    long keys = store.getApproximateKeysInRange(begin, region.getEndKey());
    if (keys < getStoreOpts().getLeastKeysOnSplit()) {
      refuse(closure, Errors.TOO_SMALL_TO_SPLIT, "the region " + region.getId() + " has " + keys
          + " keys, and is split from " + getStoreOpts().getLeastKeysOnSplit() + " on");
      return;
    }
    byte[] middle = store.jumpOver(begin, keys / 2);
    if (middle == null || Arrays.compareUnsigned(middle, begin) <= 0
        || region.getEndKey() != null && Arrays.compareUnsigned(middle, region.getEndKey()) >= 0) {
      refuse(closure, Errors.STORAGE_ERROR,
          "no key is in the middle of the region " + region.getId() + ": try again later");
      return;
    }
    KVOperation operation = KVOperation.createRangeSplit(middle, region.getId(), newRegionId);
    Task task = new Task();
    task.setData(ByteBuffer.wrap(Serializers.getDefault().writeObject(operation)));
    task.setDone(new KVClosureAdapter(closure, operation));
    parent.getNode().apply(task);
  }

  /** Whatever the answer is, the split is over. */
  private final class Splitting implements KVStoreClosure {
    private final KVStoreClosure closure;

    Splitting(KVStoreClosure closure) {
      this.closure = closure;
    }

    @Override
    public void run(Status status) {
      splitting.set(false);
      closure.run(status);
    }

    @Override
    public Errors getError() {
      return closure.getError();
    }

    @Override
    public void setError(Errors error) {
      closure.setError(error);
    }

    @Override
    public Object getData() {
      return closure.getData();
    }

    @Override
    public void setData(Object data) {
      closure.setData(data);
    }
  }
}
