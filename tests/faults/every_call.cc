// Every kind of call after a failure. See every_call.h.
#include "every_call.h"

#include <optional>
#include <utility>

#include "braid/update.h"
#include "injector.h"

namespace braid::test {
namespace {

/// Rounds of refused writes after which nothing may have grown.
constexpr int kRefusedRounds = 40;
/// Looks at so many rounds each, until one finds that nothing has.
constexpr int kLooks = 20;

class RecordOf final : public RecordSource {
 public:
  RecordOf(std::string key, std::string value) : key_(std::move(key)), value_(std::move(value)) {}
  bool Next(Slice* key, Slice* value) override {
    *key = key_;
    *value = value_;
    return std::exchange(left_, false);
  }
  Status status() const override { return Status::OK(); }

 private:
  const std::string key_;
  const std::string value_;
  bool left_ = true;
};

class Caller {
 public:
  Caller(DB* db, Ledger* ledger) : db_(db), ledger_(ledger) {
    synced_.sync = true;
    // The medium was told once of what it lost, and nobody knows what that was.
    sync_failed_ = SyncHasFailed();
  }

  void WriteInEveryWay(int round) {
    const std::string tag = "after" + std::to_string(round);
    const std::string v = tag + std::string(120, 'a');
    for (const bool sync : {true, false}) {
      const WriteOptions& how = sync ? synced_ : plain_;
      const std::string key = tag + (sync ? "s" : "p");
      const auto learn = [&](const char* what, const Status& s, const Model& updates) {
        Learn(what, s, updates, sync);
      };
      learn("put", db_->Put(how, key + "1", v), {{key + "1", v}});
      WriteBatch batch;
      batch.Put(key + "2", v);
      batch.Put(key + "3", v);
      learn("batch", db_->Write(how, batch), {{key + "2", v}, {key + "3", v}});
      learn("empty batch", db_->Write(how, WriteBatch()), {});
      learn("delete", db_->Delete(how, key + "2"), {{key + "2", ""}});
      learn("put if absent", StoredBy(db_->PutIfAbsent(how, key + "4", v)), {{key + "4", v}});
      learn("compare and swap", StoredBy(db_->CompareAndSwap(how, key + "4", v, "w")),
            {{key + "4", "w"}});
      learn("update",
            StoredBy(Update(db_, how, key + "5", [&](std::optional<Slice>) { return v; })),
            {{key + "5", v}});
      learn("transaction", Transact(how, key + "6", v), {{key + "6", v}});
      uint64_t deleted = 0;
      learn("delete range", db_->DeleteRange(how, key + "3", key + "4", &deleted),
            {{key + "3", ""}});
    }
    RecordOf record(tag + "i", v);
    Learn("ingest", db_->Ingest(&record, {}, nullptr), {{tag + "i", v}}, true);
    Learn("flush", db_->Flush(), {}, true);
    Learn("compact", db_->Compact(), {}, true);
  }

  /// Writes are refused for `why`: all of them, and for nothing.
  void ExpectNothingGrows(const Status& why) {
    const uint64_t taken = taken_;
    // A thread may still be at what it began before the error, such as a segment ahead of need,
    // whose own chunk of headers counts as used: that ends, and what refused writes leave does not.
    std::string grown = "?";
    for (int look = 1; look <= kLooks && !grown.empty(); ++look) grown = GrowthOfRefusedRounds();
    const std::string after_what = " after " + why.ToString();
    if (taken_ != taken) ledger_->Complain("a write was taken" + after_what);
    if (!grown.empty()) {
      ledger_->Complain("refused writes make the store grow" + after_what + grown);
    }
  }

  void ReadInEveryWay() {
    const std::shared_ptr<const Snapshot> snapshot = db_->GetSnapshot();
    ReadOptions at;
    at.snapshot = snapshot.get();
    std::string value;
    PinnedValue pinned;
    std::vector<std::string> values;
    const std::vector<Slice> keys{"not there", "nor there"};
    ExpectRead("get", db_->Get("not there", &value));
    ExpectRead("get at a snapshot", db_->Get(at, "not there", &value));
    ExpectRead("get pinned", db_->GetPinned("not there", &pinned));
    ExpectRead("multi get", db_->MultiGet(keys, &values)[1]);
    const std::unique_ptr<Iterator> it = db_->NewIterator(at);
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
    }
    if (!it->status().ok()) ledger_->Complain("iterator: " + it->status().ToString());
  }

 private:
  /// What has grown over some rounds, for people; empty when nothing has.
  std::string GrowthOfRefusedRounds() {
    const Statistics before = db_->GetStatistics();
    for (int round = 1; round <= kRefusedRounds; ++round) WriteInEveryWay(round);
    const Statistics after = db_->GetStatistics();
    if (after.memtable_entries == before.memtable_entries &&
        after.pool_used_bytes <= before.pool_used_bytes &&
        after.immutable_memtables <= before.immutable_memtables) {
      return "";
    }
    const auto change = [](const char* what, uint64_t from, uint64_t to) {
      return std::string("; ") + what + ": " + std::to_string(from) + ", then " +
             std::to_string(to);
    };
    return change("entries", before.memtable_entries, after.memtable_entries) +
           change("used bytes", before.pool_used_bytes, after.pool_used_bytes) +
           change("bytes", before.pool_bytes, after.pool_bytes) +
           change("immutable memtables", before.immutable_memtables, after.immutable_memtables);
  }
  static Status StoredBy(Result<bool> stored) {
    return stored.ok() && !*stored ? Status::Aborted("another value is there") : stored.status();
  }
  Status Transact(const WriteOptions& how, const std::string& key, const std::string& value) {
    Result<std::unique_ptr<Transaction>> begun = db_->BeginTransaction();
    if (!begun.ok()) return begun.status();
    if (Status s = (*begun)->Put(key, value); !s.ok()) return s;
    return (*begun)->Commit(how);
  }
  void Learn(const char* what, const Status& s, const Model& updates, bool durable) {
    if (s.ok()) {
      if (!updates.empty()) ++taken_;
      if (durable && sync_failed_) {
        ledger_->Complain(std::string(what) + ": durable, it says, after a sync that failed");
      }
      for (const auto& [key, value] : updates) {
        if (value.empty()) {
          ledger_->model.erase(key);
        } else {
          ledger_->model[key] = value;
        }
      }
      return;
    }
    // What stands on a write that was refused finds another value, or nothing.
    if (s.code() == Status::Code::kAborted && !db_->BackgroundStatus().ok()) return;
    ExpectHonest(s, std::string(what) + " afterwards", ledger_);
    // The first that meets the error may be written when it is refused; there is no second one.
    if (durable && !updates.empty() && !refused_ && ledger_->maybe.empty()) {
      ledger_->maybe.push_back(updates);
    }
    refused_ = true;
    if (!updates.empty() && db_->BackgroundStatus().ok()) {
      ledger_->Complain(std::string(what) + " is refused though nothing is wrong: " + s.ToString());
    }
  }
  void ExpectRead(const char* what, const Status& s) {
    if (!s.IsNotFound()) ledger_->Complain(std::string(what) + " afterwards: " + s.ToString());
  }

  DB* db_;
  Ledger* ledger_;
  WriteOptions plain_;
  WriteOptions synced_;
  bool sync_failed_ = false;
  bool refused_ = false;
  uint64_t taken_ = 0;
};

}  // namespace

void CallEverything(DB* db, Ledger* ledger) {
  Caller caller(db, ledger);
  caller.ReadInEveryWay();
  caller.WriteInEveryWay(0);
  if (const Status s = db->BackgroundStatus(); !s.ok()) {
    ExpectHonest(s, "background status", ledger);
    const Status resumed = db->Resume();
    if (resumed.ok() != db->BackgroundStatus().ok()) {
      ledger->Complain("resume says " + resumed.ToString());
    }
    if (!resumed.ok()) caller.ExpectNothingGrows(s);
  }
  caller.ReadInEveryWay();
}

}  // namespace braid::test
