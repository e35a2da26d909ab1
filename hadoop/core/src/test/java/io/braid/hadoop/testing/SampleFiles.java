package io.braid.hadoop.testing;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.DefaultCodec;
import org.apache.hadoop.util.ReflectionUtils;

/** Writes the files that the tests read, at random but the same for a seed. Thread-safe. */
public final class SampleFiles {
  private static final String[] LINE_ENDS = {"\n", "\r\n", "\r"};

  private SampleFiles() {}

  /** Lines of 0 to 300 characters with all line ends; some files are empty or end within a line. */
  public static byte[] text(Random random, int bytes) {
    StringBuilder out = new StringBuilder();
    while (out.length() < bytes) {
      int length = random.nextInt(10) == 0 ? random.nextInt(300) : random.nextInt(40);
      for (int i = 0; i < length; ++i) {
        out.append(random.nextInt(15) == 0 ? '\t' : (char) ('a' + random.nextInt(26)));
      }
      out.append(LINE_ENDS[random.nextInt(3)]);
    }
    if (random.nextBoolean() && out.length() > 0) {
      out.setLength(out.length() - 1);
    }
    return out.toString().getBytes(StandardCharsets.US_ASCII);
  }

  /** Several text files, one of them empty. */
  public static void writeTexts(Path folder, Configuration conf, long seed) throws IOException {
    Random random = new Random(seed);
    int files = 2 + random.nextInt(4);
    for (int i = 0; i < files; ++i) {
      write(new Path(folder, "text-" + i), conf, null, text(random, 500 + random.nextInt(20_000)));
    }
    write(new Path(folder, "empty"), conf, null, new byte[0]);
  }

  /** Compressed text files, the first of about that many bytes before compression. */
  public static void writeCompressed(
      Path folder, Configuration conf, long seed, Class<? extends CompressionCodec> type, int bytes)
      throws IOException {
    Random random = new Random(seed);
    CompressionCodec codec = ReflectionUtils.newInstance(type, conf);
    for (int i = 0; i < 3; ++i) {
      Path file = new Path(folder, "text-" + i + codec.getDefaultExtension());
      write(file, conf, codec, text(random, i == 0 ? bytes : bytes / 20));
    }
  }

  /** Several sequence files of LongWritable and Text. */
  public static void writeSequences(Path folder, Configuration conf, long seed) throws IOException {
    Random random = new Random(seed);
    DefaultCodec codec = ReflectionUtils.newInstance(DefaultCodec.class, conf);
    for (int i = 0; i < 3; ++i) {
      try (SequenceFile.Writer writer =
          SequenceFile.createWriter(
              conf,
              SequenceFile.Writer.file(new Path(folder, "sequence-" + i)),
              SequenceFile.Writer.keyClass(LongWritable.class),
              SequenceFile.Writer.valueClass(Text.class),
              SequenceFile.Writer.compression(SequenceFile.CompressionType.RECORD, codec))) {
        int records = random.nextInt(8000);
        for (int k = 0; k < records; ++k) {
          writer.append(new LongWritable(k), new Text("value " + random.nextLong()));
        }
      }
    }
  }

  /** One file, compressed if {@code codec} is not null. */
  public static void write(Path file, Configuration conf, CompressionCodec codec, byte[] bytes)
      throws IOException {
    FileSystem fs = file.getFileSystem(conf);
    try (OutputStream raw = fs.create(file);
        OutputStream out = codec == null ? raw : codec.createOutputStream(raw)) {
      out.write(bytes);
    }
  }
}
