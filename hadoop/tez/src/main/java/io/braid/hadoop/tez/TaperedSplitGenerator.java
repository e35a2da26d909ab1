package io.braid.hadoop.tez;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.ReflectionUtils;
import org.apache.tez.common.TezUtils;
import org.apache.tez.dag.api.InputInitializerDescriptor;
import org.apache.tez.dag.api.TaskLocationHint;
import org.apache.tez.dag.api.VertexLocationHint;
import org.apache.tez.mapreduce.common.MRInputAMSplitGenerator;
import org.apache.tez.mapreduce.grouper.TezSplitGrouper;
import org.apache.tez.mapreduce.hadoop.InputSplitInfoMem;
import org.apache.tez.mapreduce.hadoop.MRInputHelpers;
import org.apache.tez.mapreduce.hadoop.MRJobConfig;
import org.apache.tez.mapreduce.protos.MRRuntimeProtos.MRInputUserPayloadProto;
import org.apache.tez.mapreduce.protos.MRRuntimeProtos.MRSplitProto;
import org.apache.tez.runtime.api.Event;
import org.apache.tez.runtime.api.InputInitializer;
import org.apache.tez.runtime.api.InputInitializerContext;
import org.apache.tez.runtime.api.InputSpecUpdate;
import org.apache.tez.runtime.api.events.InputConfigureVertexTasksEvent;
import org.apache.tez.runtime.api.events.InputDataInformationEvent;
import org.apache.tez.runtime.api.events.InputInitializerEvent;

/**
 * Makes an MRInput's splits in Tez's application master, in groups whose sizes fall: {@code
 * MRInput.createConfigBuilder(conf, format).setCustomInitializerDescriptor(
 * TaperedSplitGenerator.descriptor())}. Tasks read Tez's own grouped splits and need nothing of
 * ours. An input whose splits are not to be grouped gets what Tez gives it. Called by Tez alone.
 */
public class TaperedSplitGenerator extends InputInitializer {
  public TaperedSplitGenerator(InputInitializerContext context) {
    super(context);
  }

  /** What an MRInput's builder wants. */
  public static InputInitializerDescriptor descriptor() {
    return InputInitializerDescriptor.create(TaperedSplitGenerator.class.getName());
  }

  @Override
  public List<Event> initialize() throws Exception {
    MRInputUserPayloadProto payload =
        MRInputHelpers.parseMRInputPayload(getContext().getInputUserPayload());
    JobConf conf = new JobConf(getContext().getVertexConfiguration());
    TezUtils.addToConfFromByteString(conf, payload.getConfigurationBytes());
    boolean isSerialized =
        conf.getBoolean(
            MRJobConfig.MR_TEZ_INPUT_INITIALIZER_SERIALIZE_EVENT_PAYLOAD,
            MRJobConfig.MR_TEZ_INPUT_INITIALIZER_SERIALIZE_EVENT_PAYLOAD_DEFAULT);
    if (!payload.getGroupingEnabled() || !isSerialized) {
      return new MRInputAMSplitGenerator(getContext()).initialize();
    }
    conf.getCredentials().mergeAll(UserGroupInformation.getCurrentUser().getCredentials());
    return events(conf.getUseNewMapper() ? ofNewApi(conf) : ofOldApi(conf));
  }

  /** As many tasks as Tez would like: slots times waves. */
  private int wanted(JobConf conf) {
    float waves =
        conf.getFloat(
            TezSplitGrouper.TEZ_GROUPING_SPLIT_WAVES,
            TezSplitGrouper.TEZ_GROUPING_SPLIT_WAVES_DEFAULT);
    long all = getContext().getTotalAvailableResource().getMemorySize();
    long one = Math.max(1, getContext().getVertexTaskResource().getMemorySize());
    return (int) Math.max(1, Math.min(Integer.MAX_VALUE, Math.floor(waves * (all / one))));
  }

  private InputSplitInfoMem ofNewApi(JobConf conf) throws Exception {
    Job job = Job.getInstance(conf);
    org.apache.hadoop.mapreduce.InputFormat<?, ?> format =
        ReflectionUtils.newInstance(job.getInputFormatClass(), job.getConfiguration());
    org.apache.hadoop.mapreduce.InputSplit[] splits =
        new TaperedMapReduceGrouper()
            .getGroupedSplits(
                conf, format.getSplits(job), wanted(conf), format.getClass().getName(), null, null)
            .toArray(new org.apache.hadoop.mapreduce.InputSplit[0]);
    List<TaskLocationHint> hints = new ArrayList<>();
    for (org.apache.hadoop.mapreduce.InputSplit split : splits) {
      hints.add(hint(split.getLocations()));
    }
    return new InputSplitInfoMem(
        splits, hints, splits.length, job.getCredentials(), job.getConfiguration());
  }

  private InputSplitInfoMem ofOldApi(JobConf conf) throws IOException {
    org.apache.hadoop.mapred.InputFormat<?, ?> format = conf.getInputFormat();
    InputSplit[] splits =
        new TaperedMapredGrouper()
            .getGroupedSplits(
                conf,
                format.getSplits(conf, conf.getNumMapTasks()),
                wanted(conf),
                format.getClass().getName(),
                null,
                null);
    List<TaskLocationHint> hints = new ArrayList<>();
    for (InputSplit split : splits) {
      hints.add(hint(split.getLocations()));
    }
    return new InputSplitInfoMem(splits, hints, splits.length, conf.getCredentials(), conf);
  }

  private static TaskLocationHint hint(String[] hosts) {
    return TaskLocationHint.createTaskLocationHint(
        hosts == null ? null : new LinkedHashSet<>(Arrays.asList(hosts)), null);
  }

  private static List<Event> events(InputSplitInfoMem splits) {
    List<Event> events = new ArrayList<>();
    events.add(
        InputConfigureVertexTasksEvent.create(
            splits.getNumTasks(),
            VertexLocationHint.create(splits.getTaskLocationHints()),
            InputSpecUpdate.getDefaultSinglePhysicalInputSpecUpdate()));
    int number = 0;
    for (MRSplitProto split : splits.getSplitsProto().getSplitsList()) {
      events.add(
          InputDataInformationEvent.createWithSerializedPayload(
              number++, split.toByteString().asReadOnlyByteBuffer()));
    }
    return events;
  }

  @Override
  public void handleInputInitializerEvent(List<InputInitializerEvent> events) {
    throw new UnsupportedOperationException("nobody has a reason to send events");
  }
}
