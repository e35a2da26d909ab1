package io.braid.hadoop.input;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.io.serializer.Deserializer;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.io.serializer.Serializer;

/**
 * The bytes of {@link ChildSplits} in a job's split file. Host and class names are written once;
 * each child goes through the SerializationFactory, as the framework would have sent it. Stateless.
 */
final class ChildSplitsCodec {
  private static final byte FORMAT = 1;

  private ChildSplitsCodec() {}

  static <S> void write(ChildSplits<S> splits, DataOutput out, Configuration conf)
      throws IOException {
    SerializationFactory factory = new SerializationFactory(orDefault(conf));
    Map<String, Integer> hosts = new LinkedHashMap<>();
    Map<String, Integer> classes = new LinkedHashMap<>();
    splits.preferredHosts().forEach(host -> number(hosts, host));
    for (int i = 0; i < splits.size(); ++i) {
      splits.hosts(i).forEach(host -> number(hosts, host));
      number(classes, splits.child(i).getClass().getName());
    }
    out.writeByte(FORMAT);
    writeNames(hosts, out);
    writeNames(classes, out);
    writeNumbers(hosts, splits.preferredHosts(), out);
    WritableUtils.writeVInt(out, splits.size());
    for (int i = 0; i < splits.size(); ++i) {
      S child = splits.child(i);
      WritableUtils.writeVInt(out, classes.get(child.getClass().getName()));
      WritableUtils.writeVLong(out, splits.length(i));
      writeNumbers(hosts, splits.hosts(i), out);
      byte[] bytes = serialized(factory, child);
      WritableUtils.writeVInt(out, bytes.length);
      out.write(bytes);
    }
  }

  static <S> ChildSplits<S> read(DataInput in, Configuration conf) throws IOException {
    byte format = in.readByte();
    if (format != FORMAT) {
      throw new IOException(
          "this coalesced split is of format "
              + format
              + ", but this jar reads "
              + FORMAT
              + ": the client and the tasks of a job must use the same braid-hadoop jar");
    }
    Configuration known = orDefault(conf);
    SerializationFactory factory = new SerializationFactory(known);
    List<String> hosts = readNames(in);
    List<Class<?>> classes = new ArrayList<>();
    for (String name : readNames(in)) {
      classes.add(load(name, known));
    }
    List<String> preferred = readNumbers(hosts, in);
    int size = WritableUtils.readVInt(in);
    List<S> children = new ArrayList<>(size);
    long[] lengths = new long[size];
    List<List<String>> held = new ArrayList<>(size);
    for (int i = 0; i < size; ++i) {
      @SuppressWarnings("unchecked") // written from a ChildSplits<S>
      Class<S> type = (Class<S>) classes.get(WritableUtils.readVInt(in));
      lengths[i] = WritableUtils.readVLong(in);
      held.add(readNumbers(hosts, in));
      byte[] bytes = new byte[WritableUtils.readVInt(in)];
      in.readFully(bytes);
      children.add(deserialized(factory, type, bytes));
    }
    return new ChildSplits<>(children, lengths, held, preferred, null);
  }

  private static Configuration orDefault(Configuration conf) {
    return conf != null ? conf : new Configuration();
  }

  private static Class<?> load(String name, Configuration conf) throws IOException {
    try {
      return conf.getClassByName(name);
    } catch (ClassNotFoundException e) {
      throw new IOException(
          "the class of a coalesced split's child, "
              + name
              + ", is not on the task's class path: ship its jar with the job (-libjars)",
          e);
    }
  }

  private static <S> byte[] serialized(SerializationFactory factory, S child) throws IOException {
    @SuppressWarnings("unchecked") // an object's class is a class of its type
    Class<S> type = (Class<S>) child.getClass();
    Serializer<S> serializer = factory.getSerializer(type);
    if (serializer == null) {
      throw new IOException(
          "no serialization is known for the delegate's splits of class "
              + type.getName()
              + ": name one in io.serializations");
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    serializer.open(bytes);
    try {
      serializer.serialize(child);
    } finally {
      serializer.close();
    }
    return bytes.toByteArray();
  }

  private static <S> S deserialized(SerializationFactory factory, Class<S> type, byte[] bytes)
      throws IOException {
    Deserializer<S> deserializer = factory.getDeserializer(type);
    deserializer.open(new ByteArrayInputStream(bytes));
    try {
      return deserializer.deserialize(null);
    } finally {
      deserializer.close();
    }
  }

  private static void number(Map<String, Integer> numbers, String name) {
    numbers.putIfAbsent(name, numbers.size());
  }

  private static void writeNames(Map<String, Integer> names, DataOutput out) throws IOException {
    WritableUtils.writeVInt(out, names.size());
    for (String name : names.keySet()) {
      Text.writeString(out, name);
    }
  }

  private static List<String> readNames(DataInput in) throws IOException {
    int size = WritableUtils.readVInt(in);
    List<String> names = new ArrayList<>(size);
    for (int i = 0; i < size; ++i) {
      names.add(Text.readString(in));
    }
    return names;
  }

  private static void writeNumbers(Map<String, Integer> numbers, List<String> names, DataOutput out)
      throws IOException {
    WritableUtils.writeVInt(out, names.size());
    for (String name : names) {
      WritableUtils.writeVInt(out, numbers.get(name));
    }
  }

  private static List<String> readNumbers(List<String> names, DataInput in) throws IOException {
    int size = WritableUtils.readVInt(in);
    List<String> read = new ArrayList<>(size);
    for (int i = 0; i < size; ++i) {
      read.add(names.get(WritableUtils.readVInt(in)));
    }
    return read;
  }
}
