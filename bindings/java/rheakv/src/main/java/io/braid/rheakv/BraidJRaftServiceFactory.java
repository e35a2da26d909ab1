package io.braid.rheakv;

import com.alipay.sofa.jraft.core.DefaultJRaftServiceFactory;
import com.alipay.sofa.jraft.option.RaftOptions;
import com.alipay.sofa.jraft.storage.LogStorage;
import java.io.File;

/**
 * Raft's logs in braid, for any application of JRaft: {@code nodeOptions.setServiceFactory(new
 * BraidJRaftServiceFactory())}. The rest is JRaft's own.
 */
public final class BraidJRaftServiceFactory extends DefaultJRaftServiceFactory {
  private final BraidStoreOptions options;

  public BraidJRaftServiceFactory() {
    this(new BraidStoreOptions());
  }

  /** The options' names and values hold for each log; their pool does not. */
  public BraidJRaftServiceFactory(BraidStoreOptions options) {
    this.options = options;
  }

  @Override
  public LogStorage createLogStorage(String uri, RaftOptions raftOptions) {
    return new BraidLogStorage(new File(uri), raftOptions.isSync(), options.open());
  }
}
