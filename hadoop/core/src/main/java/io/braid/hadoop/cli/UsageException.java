package io.braid.hadoop.cli;

/** Wrong arguments on the command line; the message says which and what would be right. */
public final class UsageException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public UsageException(String message) {
    super(message);
  }
}
