// Merges of one list of a pool into another, without a manifest: for tests of what a merge does to
// them, one step at a time.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "merge/zipper_merge.h"
#include "support/flush_parts.h"

namespace braid::test {

/// The target and the source are behind heads of their own; a test fills them by Link.
class ZipperParts : public FlushParts {
 public:
  static constexpr uint32_t kTarget = 0;
  static constexpr uint32_t kSource = 1;

  explicit ZipperParts(const Options& options = PoolOfSmallChunks(256)) : FlushParts(options) {
    for (uint32_t i = 0; i < 2; ++i) merge.redo_chunks[i] = pool->first_redo_chunk(i);
    merge.source_id = 10;
    merge.target_id = 1;
  }

  /// Of a merge that begins now.
  merge::MergeInput Begin() {
    ++merge.id;
    merge::MergeInput input;
    input.source_head = List(kSource).head();
    input.target_head = Head(kTarget);
    input.views = &views;
    input.merge = merge;
    return input;
  }
  /// Merges to the end.
  merge::MergeResult Run(const merge::MergeInput& input) {
    merge::ZipperMerge zipper(pool.get(), input);
    Status s = zipper.Start();
    while (s.ok()) {
      const Result<bool> more = zipper.Step();
      s = more.status();
      if (more.ok() && !*more) break;
    }
    EXPECT_TRUE(s.ok()) << s.ToString();
    return std::move(zipper.result());
  }
  merge::MergeResult Run() { return Run(Begin()); }
  Strings Merged() { return Entries(kTarget); }

  index::LiveViews views;
  format::MergeRecord merge{};
};

}  // namespace braid::test
