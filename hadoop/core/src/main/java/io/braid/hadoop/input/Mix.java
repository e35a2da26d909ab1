package io.braid.hadoop.input;

import io.braid.hadoop.conf.Keys;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;

/**
 * Which files one split may hold. A mapper that asks for its file once, before the first record,
 * would take all records for the first file's; so files come together only where it can't do that
 * unnoticed. Immutable.
 */
public final class Mix {
  private static final String HIVE = "org.apache.hadoop.hive.";

  /** Set for streaming's commands and for all of streaming's jobs. */
  private static final String[] STREAMING = {
    "stream.map.streamprocessor", "stream.map.input.writer.class"
  };

  private static final String PIPES = "hadoop.pipes.executable";

  private enum Unit {
    NOTHING,
    DIRECTORIES,
    FILES
  }

  private final Unit unit;
  private final String because;
  private final boolean isCurrentFileShown;

  private Mix(Unit unit, String because, boolean isCurrentFileShown) {
    this.unit = unit;
    this.because = because;
    this.isCurrentFileShown = isCurrentFileShown;
  }

  /** As the job's configuration says; IllegalArgumentException names a wrong key. */
  public static Mix of(Configuration conf) {
    boolean isShown = Keys.MIX_CURRENT_FILE.flag(conf);
    if (Keys.MIX.isSet(conf)) {
      Unit unit = Unit.valueOf(Keys.MIX.choice(conf).toUpperCase(Locale.ROOT));
      return new Mix(unit, "as set", isShown);
    }
    if (Keys.DELEGATE.text(conf).startsWith(HIVE)) {
      return new Mix(Unit.FILES, "Hive follows the file", isShown);
    }
    for (String key : STREAMING) {
      if (conf.get(key) != null) {
        return new Mix(Unit.NOTHING, "streaming learns the file's name once", isShown);
      }
    }
    if (conf.get(PIPES) != null) {
      return new Mix(Unit.NOTHING, "pipes learns the split once", isShown);
    }
    return areSeveral(conf.get(FileInputFormat.INPUT_DIR, ""))
        ? new Mix(Unit.NOTHING, "there are several input paths", isShown)
        : new Mix(Unit.FILES, "there is one input path", isShown);
  }

  /** Whether that is a list of paths, or a pattern that may stand for several. */
  private static boolean areSeveral(String paths) {
    for (int i = 0; i < paths.length(); ++i) {
      char c = paths.charAt(i);
      if (c == '\\') {
        ++i;
      } else if (",*?[{".indexOf(c) >= 0) {
        return true;
      }
    }
    return false;
  }

  /** Splits of which this differs are not read by one map. */
  public String kind(Object split) {
    FileRange range = FileRange.of(split);
    if (unit == Unit.FILES || range == null) {
      return "";
    }
    Path path = unit == Unit.DIRECTORIES ? range.path().getParent() : range.path();
    return String.valueOf(path);
  }

  /** Whether a split of several files is a FileSplit that shows the one being read. */
  boolean isCurrentFileShown() {
    return isCurrentFileShown;
  }

  /** In a few words, for a log line. */
  @Override
  public String toString() {
    String what =
        unit == Unit.NOTHING
            ? "blocks of one file"
            : unit == Unit.DIRECTORIES ? "files of one directory" : "any files";
    return what + " in a split: " + because;
  }
}
