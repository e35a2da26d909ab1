package io.braid.hadoop.input;

/**
 * A split that holds several of the delegate's.
 *
 * @param <S> the API's InputSplit
 */
public interface Coalesced<S> {
  ChildSplits<S> children();

  /** What a coalesced split holds; null when the split is a single one. */
  @SuppressWarnings("unchecked") // the children are of the same API as the split
  static <S> ChildSplits<S> childrenOf(S split) {
    return split instanceof Coalesced ? ((Coalesced<S>) split).children() : null;
  }
}
