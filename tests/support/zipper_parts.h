// Merges of one list of a pool into another, without a manifest: for tests of what a merge does to
// them, one step at a time.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>
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

  static std::string KeyOf(int i) {
    char text[16];
    std::snprintf(text, sizeof text, "k%04d", i);
    return text;
  }
  /// Makes `count` puts of each `stride`-th key the list behind a head.
  flush::FlushResult LinkKeys(uint32_t head, int count, int stride, std::string_view value) {
    for (int i = 0; i < count; ++i) Put(KeyOf(stride * i), value);
    return Link(head);
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
