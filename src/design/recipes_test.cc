// The table of recipes in docs/internals/designs/README.md is what the recipes choose.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "design/design.h"
#include "level/level_sizes.h"
#include "support/build_paths.h"

namespace braid::design {
namespace {

std::string Log(const Options& options) {
  if (!options.log.kind) return "none";
  if (*options.log.kind == LogKind::kBySize)
    return "write-ahead for small entries, else index-unified";
  return *options.log.kind == LogKind::kIndexUnified ? "index-unified" : "write-ahead";
}

std::string MemTable(const Options& options) {
  if (!options.memtable.kind) return "none";
  switch (*options.memtable.kind) {
    case MemTableKind::kBTree:
      return "DRAM B+-tree";
    case MemTableKind::kSkipList:
      return "DRAM skip list";
    case MemTableKind::kPersistent:
      return "persistent skip list";
    case MemTableKind::kAlternating:
      return "DRAM skip list, persistent ones while it is flushed";
  }
  return "unknown";
}

std::string Flush(const Options& options) {
  if (!options.log.kind) return "none";
  if (*options.memtable.kind == MemTableKind::kPersistent) return "none";
  if (*options.memtable.kind == MemTableKind::kAlternating) return "copy, or none";
  if (*options.log.kind == LogKind::kWriteAhead) return "copy";
  if (*options.log.kind == LogKind::kBySize) return "copy, or link";
  if (options.flush.group_tables == 1) return "link";
  return "link, written back " + std::to_string(options.flush.group_tables) + " tables at a time";
}

std::string Levels(const Options& options) {
  if (options.leaf.ranges != 0) {
    return "leaves in " + std::to_string(options.leaf.ranges) + " ranges" +
           (options.leaf.divide_ranges.value_or(false) ? ", divided as they grow" : "");
  }
  if (!options.compaction.kind) return "none";
  const std::string levels = std::to_string(level::LevelsOfNewPool(options.levels) - 1) + " levels";
  if (*options.compaction.kind == MergeKind::kRewrite) {
    return "several lists a level, " + levels + ", braided";
  }
  const std::string lists = level::HasSeveralLists(options.levels) ? "one list a level, " + levels
                                                                   : "L0 lists, one L1 list";
  // Left open, it is the pool's; a new pool's lists are braided.
  switch (options.lists.kind.value_or(ListKind::kBraided)) {
    case ListKind::kOblivious:
      return lists;
    case ListKind::kBraided:
      return lists + ", braided";
  }
  return "unknown";
}

std::string Compaction(const Options& options) {
  if (options.leaf.ranges != 0) return "splits of leaves";
  if (!options.compaction.kind) return "none";
  if (*options.compaction.kind == MergeKind::kNone) return "none";
  if (*options.compaction.kind == MergeKind::kRewrite) return "new lists that refer to values";
  const std::string how =
      *options.compaction.persistence == MergePersistence::kRedoLog ? "redo log" : "each pointer";
  const std::string groups =
      level::HasSeveralLists(options.levels)
          ? ", copies between groups of " + std::to_string(options.levels.per_group)
          : "";
  return (*options.compaction.kind == MergeKind::kZipper ? "zipper, " : "copy, ") + how + groups;
}

std::string Caches(const Options& options) {
  std::string caches;
  const auto add = [&](bool there, const char* name) {
    if (there) caches += (caches.empty() ? "" : ", ") + std::string(name);
  };
  add(options.leaf.ranges != 0, "DRAM skip list over leaves");
  add(options.cache.index.value_or(false), "DRAM index over L1");
  add(options.cache.lookup_bytes.value_or(0) != 0, "lookup cache");
  add(options.cache.second_chance_bytes.value_or(0) != 0, "second-chance cache");
  return caches.empty() ? "none" : caches;
}

std::string Lacks(const Capabilities& can) {
  std::string lacks;
  const auto add = [&](bool there, const char* name) {
    if (!there) lacks += (lacks.empty() ? "" : ", ") + std::string(name);
  };
  add(can.stores, "storing");
  add(can.snapshots, "snapshots");
  add(can.atomic_batches, "batches");
  add(can.compare_and_swap, "compare-and-swap");
  add(can.ingest || !can.stores, "ingest");
  add(can.checkpoints || !can.stores, "checkpoints");
  add(can.transactions || !can.stores, "transactions");
  add(can.concurrent_readers || !can.stores, "concurrent readers");
  // What stores nothing has nothing to lose.
  add(can.survives_power_loss_on_page_media || !can.stores, "power loss on page media");
  return lacks.empty() ? "nothing" : lacks;
}

std::string Table() {
  std::string table =
      "| design | log | memtable | flush | persistent memory | compaction | caches | lacks |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const Design& design : Designs()) {
    Options options;
    design.choose(&options);
    table += "| `" + std::string(design.name) + "` | " + Log(options) + " | " + MemTable(options) +
             " | " + Flush(options) + " | " + Levels(options) + " | " + Compaction(options) +
             " | " + Caches(options) + " | " + Lacks(design.capabilities) + " |\n";
  }
  return table;
}

// BRAID_WRITE_DOCS=1 writes the table instead of comparing it.
TEST(RecipesTest, TheTableInTheDocsIsWhatTheRecipesChoose) {
  const std::string path = BRAID_TEST_SOURCE_DIR "/docs/internals/designs/README.md";
  std::stringstream file;
  file << std::ifstream(path).rdbuf();
  const std::string text = file.str();
  const std::string begin_mark = "<!-- recipes -->\n";
  const size_t begin = text.find(begin_mark);
  const size_t end = text.find("<!-- end of recipes -->");
  ASSERT_NE(begin, std::string::npos) << path;
  ASSERT_NE(end, std::string::npos) << path;
  const size_t from = begin + begin_mark.size();
  if (const char* write = std::getenv("BRAID_WRITE_DOCS"); write != nullptr && *write == '1') {
    std::ofstream(path) << text.substr(0, from) << Table() << text.substr(end);
    return;
  }
  EXPECT_EQ(text.substr(from, end - from), Table())
      << "BRAID_WRITE_DOCS=1 braid_unit_tests --gtest_filter=RecipesTest.* writes it";
}

}  // namespace
}  // namespace braid::design
