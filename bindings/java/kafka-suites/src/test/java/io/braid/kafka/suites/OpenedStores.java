package io.braid.kafka.suites;

import java.util.concurrent.atomic.AtomicLong;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;

/** Counts the stores of braid that were opened, by what each logs once it is. */
final class OpenedStores extends AbstractAppender {
  private static final String LOGGER = "io.braid.kafka.BraidStore"; // log4j2-test.properties has it

  private final AtomicLong count = new AtomicLong();

  private OpenedStores() {
    super("opened-stores", null, null, true, Property.EMPTY_ARRAY);
  }

  static OpenedStores counting() {
    OpenedStores made = new OpenedStores();
    made.start();
    LoggerContext context = (LoggerContext) LogManager.getContext(false);
    context.getConfiguration().getLoggerConfig(LOGGER).addAppender(made, null, null);
    context.updateLoggers();
    return made;
  }

  @Override
  public void append(LogEvent event) {
    if (event.getMessage().getFormattedMessage().startsWith("opened the store")) {
      count.incrementAndGet();
    }
  }

  long count() {
    return count.get();
  }
}
