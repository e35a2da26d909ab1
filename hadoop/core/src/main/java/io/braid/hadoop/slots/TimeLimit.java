package io.braid.hadoop.slots;

import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Lets a call take only so long. Stateless. */
public final class TimeLimit {
  private TimeLimit() {}

  /** The call's result; an IOException when it fails or takes longer. */
  public static <T> T call(Callable<T> call, long millis, String what)
      throws IOException, InterruptedException {
    FutureTask<T> task = new FutureTask<>(call);
    // A daemon, so that a call that hangs does not keep the client alive.
    Thread thread = new Thread(task, "braid-slots");
    thread.setDaemon(true);
    thread.setContextClassLoader(Thread.currentThread().getContextClassLoader());
    thread.start();
    try {
      return task.get(millis, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      throw new IOException(what + " did not answer within " + millis + " ms", e);
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      throw new IOException(
          what + ": " + (cause.getMessage() != null ? cause.getMessage() : cause.toString()),
          cause);
    } finally {
      task.cancel(true);
    }
  }
}
