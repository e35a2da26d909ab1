// Purpose: the tables of a damaged tier, one by one.
// Thread safety, invariant, persistence: see rocksdb_tables.h.
#include "tier/rocksdb_tables.h"

#if defined(BRAID_ROCKSDB_TIER)

#include <rocksdb/sst_file_reader.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "tier/first_readable.h"

namespace braid::tier {

namespace {

/// A walk over one table that goes on behind what is damaged.
class TableWalk {
 public:
  TableWalk(const rocksdb::SstFileMetaData& table, const rocksdb::Options& options)
      : last_(table.largestkey), reader_(options) {
    if (!reader_.Open(table.db_path + table.name).ok()) return;
    it_.reset(reader_.NewIterator(rocksdb::ReadOptions()));
  }

  bool Valid() const { return it_ != nullptr && it_->Valid(); }
  std::string_view key() const { return {it_->key().data(), it_->key().size()}; }
  std::string_view record() const { return {it_->value().data(), it_->value().size()}; }
  void SeekGE(const std::string& key) {
    if (it_ == nullptr) return;
    it_->Seek(key);
    GoOn(key);
  }
  void Next() {
    const std::string behind(key());
    it_->Next();
    GoOn(behind);
  }

 private:
  /// From damage that lies behind this key to the next key that can be read.
  void GoOn(const std::string& hidden) {
    if (it_->Valid() || it_->status().ok()) return;
    const std::string end = last_ + std::string(1, '\0');
    if (hidden >= end) return;
    // Each time another iterator: one that has met damage may stay at it.
    const auto seek = [this](const std::string& key) {
      it_.reset(reader_.NewIterator(rocksdb::ReadOptions()));
      it_->Seek(key);
      return it_->status().ok();
    };
    (void)seek(FirstReadable(hidden, end, seek));
  }

  const std::string last_;
  rocksdb::SstFileReader reader_;
  std::unique_ptr<rocksdb::Iterator> it_;
};

uint64_t RunOf(std::string_view record) {
  RecordHead head;
  return ReadRecordHead(record, &head) ? head.run : 0;
}

}  // namespace

Status ForEachInTables(const std::vector<rocksdb::SstFileMetaData>& tables,
                       const rocksdb::Options& options, const KeysToRead& keys,
                       const Store::Take& take) {
  const auto is_wanted = [&](std::string_view key) { return !keys.to || key < *keys.to; };
  std::vector<const rocksdb::SstFileMetaData*> waiting;
  for (const rocksdb::SstFileMetaData& table : tables) {
    if (table.largestkey >= keys.from && is_wanted(table.smallestkey)) waiting.push_back(&table);
  }
  // The next one last. A table is opened when its keys have their turn.
  std::sort(waiting.begin(), waiting.end(),
            [](const auto* a, const auto* b) { return a->smallestkey > b->smallestkey; });
  std::vector<std::unique_ptr<TableWalk>> open;
  for (;;) {
    std::erase_if(open,
                  [&](const auto& walk) { return !walk->Valid() || !is_wanted(walk->key()); });
    const auto least = [&] {
      return std::min_element(open.begin(), open.end(),
                              [](const auto& a, const auto& b) { return a->key() < b->key(); });
    };
    if (!waiting.empty() && (open.empty() || waiting.back()->smallestkey <= (*least())->key())) {
      open.push_back(std::make_unique<TableWalk>(*waiting.back(), options));
      open.back()->SeekGE(keys.from);
      waiting.pop_back();
      continue;
    }
    if (open.empty()) return Status::OK();
    const std::string key((*least())->key());
    std::string newest;
    for (const auto& walk : open) {
      if (walk->key() != key) continue;  // all of them are valid here
      if (newest.empty() || RunOf(walk->record()) > RunOf(newest)) newest.assign(walk->record());
      walk->Next();
    }
    if (keys.is_read && key == keys.from) continue;
    if (Status s = take(key, newest); !s.ok()) return s;
  }
}

}  // namespace braid::tier

#endif  // BRAID_ROCKSDB_TIER
