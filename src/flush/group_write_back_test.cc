// Tests of the write-back of a group: which lines, how often, and with one fence.
#include "flush/group_write_back.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "support/flush_parts.h"

namespace braid::flush {
namespace {

using media::kLineBytes;

class GroupWriteBackTest : public ::testing::Test {
 protected:
  static Options OfCacheLines(uint32_t regions = 1) {
    Options options = test::PoolOfSmallChunks(256);
    options.pool.force_media_class = MediaClass::kCacheLine;
    options.pool.regions = regions;
    return options;
  }
  /// A flush whose table waits for its group.
  static level::WaitingTable Waiting(test::FlushParts* parts, uint32_t head) {
    const uint64_t id = parts->table_id();
    FlushResult flushed = parts->Link(head, {}, WriteBack::kLater);
    level::WaitingTable table;
    table.record.id = id;
    table.record.head = head;
    table.touched = std::move(flushed.touched);
    return table;
  }
  static void Fill(test::FlushParts* parts, int keys, int writes, uint32_t shards = 1) {
    for (int i = 0; i < writes; ++i) {
      parts->Put("key" + std::to_string(i * 31 % keys), std::string(i % 70, 'v'), 0,
                 static_cast<uint32_t>(i) % shards);
    }
  }
  /// Lines that hold a link or the state of an entry.
  static void AddLines(test::FlushParts* parts, const level::WaitingTable& table,
                       std::set<uint64_t>* lines) {
    for (const uint64_t offset : table.touched) {
      const uint64_t end =
          offset + sizeof(format::EntryHeader) + sizeof(uint64_t) * parts->Entry(offset)->height();
      for (uint64_t at = offset + format::EntryHeader::kStateByteOffset; at < end; ++at) {
        lines->insert(at / kLineBytes);
      }
    }
  }
  static constexpr uint64_t kHeadLines = sizeof(format::TableHead) / kLineBytes;
};

TEST_F(GroupWriteBackTest, EachLineIsWrittenBackOnce) {
  test::FlushParts parts(OfCacheLines());
  Fill(&parts, 100, 300);
  const level::WaitingTable table = Waiting(&parts, 3);
  EXPECT_EQ(table.touched.size(), 300u) << "those that are left out, too";
  std::set<uint64_t> lines;
  AddLines(&parts, table, &lines);
  const uint64_t before = parts.pool->ops().lines_flushed();
  WriteBackTables(parts.pool.get(), {&table});
  EXPECT_EQ(parts.pool->ops().lines_flushed() - before, lines.size() + kHeadLines);
}

TEST_F(GroupWriteBackTest, TablesThatShareLinesAreWrittenBackTogether) {
  test::FlushParts parts(OfCacheLines());
  // In one chunk: the memtables' logs are others, the entries of one lie among those of none.
  Fill(&parts, 50, 60);
  level::WaitingTable first = Waiting(&parts, 3);
  Fill(&parts, 50, 60);
  level::WaitingTable second = Waiting(&parts, 4);
  // As if entries of both were mixed.
  for (size_t i = 0; i < first.touched.size(); i += 2) {
    std::swap(first.touched[i], second.touched[i]);
  }
  std::set<uint64_t> lines;
  AddLines(&parts, first, &lines);
  AddLines(&parts, second, &lines);
  const uint64_t before = parts.pool->ops().lines_flushed();
  const uint64_t fences = parts.pool->ops().fences();
  WriteBackTables(parts.pool.get(), {&first, &second});
  EXPECT_EQ(parts.pool->ops().lines_flushed() - before, lines.size() + 2 * kHeadLines);
  EXPECT_EQ(parts.pool->ops().fences() - fences, 1u);
}

TEST_F(GroupWriteBackTest, OfAnEmptyTableTheHeadIsWrittenBack) {
  test::FlushParts parts(OfCacheLines());
  const level::WaitingTable table = Waiting(&parts, 3);
  const uint64_t before = parts.pool->ops().lines_flushed();
  const uint64_t fences = parts.pool->ops().fences();
  WriteBackTables(parts.pool.get(), {&table});
  EXPECT_EQ(parts.pool->ops().lines_flushed() - before, kHeadLines);
  EXPECT_EQ(parts.pool->ops().fences() - fences, 1u);
}

TEST_F(GroupWriteBackTest, EachStrandHasAHead) {
  test::FlushParts parts(OfCacheLines(2));
  ASSERT_EQ(parts.pool->strands(), 2u);
  Fill(&parts, 40, 60, 2);
  const level::WaitingTable table = Waiting(&parts, 3);
  std::set<uint64_t> lines;
  AddLines(&parts, table, &lines);
  const uint64_t before = parts.pool->ops().lines_flushed();
  WriteBackTables(parts.pool.get(), {&table});
  EXPECT_EQ(parts.pool->ops().lines_flushed() - before, lines.size() + 2 * kHeadLines);
}

TEST_F(GroupWriteBackTest, NothingOfTheTablesChanges) {
  test::FlushParts parts(OfCacheLines());
  Fill(&parts, 100, 300);
  const level::WaitingTable table = Waiting(&parts, 3);
  const test::FlushParts::Strings before = parts.Entries(3);
  WriteBackTables(parts.pool.get(), {&table});
  EXPECT_EQ(parts.Entries(3), before);
  parts.ExpectSoundTowers(3);
}

#if defined(BRAID_CRASHSIM)

/// Lines that were stored to and are not written back yet.
class DirtyLines final : public media::PersistHook {
 public:
  explicit DirtyLines(pool::PmemPool* pool) : pool_(pool) { pool_->ops().set_hook(this); }
  ~DirtyLines() override { pool_->ops().set_hook(nullptr); }
  const std::set<uintptr_t>& dirty() const noexcept { return dirty_; }

 private:
  void BeforeStore(const void*, size_t) override {}
  void AfterStore(const void* address, size_t n) override {
    ForEachLine(address, n, [this](uintptr_t line) { dirty_.insert(line); });
  }
  void OnFlush(const void* address, size_t n) override {
    ForEachLine(address, n, [this](uintptr_t line) { dirty_.erase(line); });
  }
  void OnFence() override {}
  template <class Visit>
  static void ForEachLine(const void* address, size_t n, Visit visit) {
    const auto begin = reinterpret_cast<uintptr_t>(address);
    for (uintptr_t line = begin / kLineBytes; line * kLineBytes < begin + n; ++line) visit(line);
  }

  pool::PmemPool* pool_;
  std::set<uintptr_t> dirty_;
};

TEST_F(GroupWriteBackTest, AllThatItsFlushesHaveStoredIsWrittenBack) {
  test::FlushParts parts(OfCacheLines(2));
  for (int table = 0; table < 2; ++table) Fill(&parts, 100, 300, 2);
  const DirtyLines lines(parts.pool.get());
  const level::WaitingTable table = Waiting(&parts, 3);
  EXPECT_GT(lines.dirty().size(), 100u);
  WriteBackTables(parts.pool.get(), {&table});
  EXPECT_TRUE(lines.dirty().empty()) << lines.dirty().size() << " lines are not";
}

#endif  // BRAID_CRASHSIM

}  // namespace
}  // namespace braid::flush
