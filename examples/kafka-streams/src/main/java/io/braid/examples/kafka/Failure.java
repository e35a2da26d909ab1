package io.braid.examples.kafka;

/** What can't go on, said to the reader without a stack trace. */
final class Failure extends RuntimeException {
  private static final long serialVersionUID = 1;

  Failure(String message) {
    super(message);
  }
}
