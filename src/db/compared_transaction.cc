// Purpose: the pending updates of a transaction in comparator order.
// Thread safety, persistence: see compared_transaction.h.
//
// Why the commit is right. It holds the mutex of writes, so that the newest state stands still. Of
// each key that was written or watched, the key with a value that compares as equal must be the
// same one, or none, as at the begin; and the transaction below, which watches these values, must
// commit: it writes nothing, and is ok only if none of them was written. A key that another has put
// into a range that this transaction deletes is watched as well, and was written since.
#include "db/compared_transaction.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/no_throw.h"
#include "engine/engine.h"

namespace braid {

namespace {

Status TooLate() {
  return Status::Busy(
      "another write came between this transaction's begin and its commit; begin it again");
}

class ComparedTransaction final : public Transaction {
 public:
  ComparedTransaction(ComparedStore store, std::unique_ptr<Transaction> watch)
      : store_(std::move(store)), watch_(std::move(watch)), writes_(Before{store_.comparator}) {}

  Status Get(Slice key, std::string* value) override {
    return Run([&] { return Read(key, value); });
  }
  Status GetForUpdate(Slice key, std::string* value) override {
    return Run([&] {
      if (Status s = CheckOwnKey(key); !s.ok()) return s;
      // Before the read: what can't be watched is not answered.
      watched_.emplace(key);
      return Read(key, value);
    });
  }
  Status Put(Slice key, Slice value) override {
    return Run([&] {
      Status s = CheckOwnKey(key);
      if (s.ok()) s = engine::CheckValue(value);
      if (s.ok()) Write(key, std::string(value));
      return s;
    });
  }
  Status Delete(Slice key) override {
    return Run([&] {
      Status s = CheckOwnKey(key);
      if (s.ok()) Write(key, std::nullopt);
      return s;
    });
  }
  Status DeleteRange(std::optional<Slice> begin, std::optional<Slice> end) override {
    return Run([&] {
      Range range;
      for (const auto& [given, bound] :
           {std::pair(begin, &range.begin), std::pair(end, &range.end)}) {
        if (!given) continue;
        if (Status s = CheckOwnKey(*given); !s.ok()) return s;
        bound->emplace(*given);
      }
      std::erase_if(writes_, [&](const auto& write) { return Covers(range, write.first); });
      ranges_.push_back(std::move(range));
      return Status::OK();
    });
  }
  const Snapshot* snapshot() const noexcept override { return watch_->snapshot(); }
  Status Commit(const WriteOptions& options) override {
    const Status s = Run([&] {
      if (writes_.empty() && ranges_.empty() && watched_.empty()) return watch_->Commit();
      return store_.apply(options, [&](ComparedEdit* edit) { return WriteAll(edit); });
    });
    Rollback();
    return s;
  }
  void Rollback() noexcept override {
    is_over_ = true;
    writes_.clear();
    ranges_.clear();
    watched_.clear();
    watch_->Rollback();
  }

 private:
  struct Before {
    std::shared_ptr<const Comparator> comparator;
    bool operator()(const std::string& a, const std::string& b) const {
      return comparator->Compare(a, b) < 0;
    }
  };
  struct Range {
    std::optional<std::string> begin;
    std::optional<std::string> end;
  };

  template <class Call>
  Status Run(Call&& call) noexcept {
    return base::CatchToStatus([&] {
      if (is_over_) {
        return Status::InvalidArgument(
            "the transaction is over; begin another with DB::BeginTransaction");
      }
      return std::forward<Call>(call)();
    });
  }
  static Status CheckOwnKey(Slice key) { return engine::CheckKey(ValueKey(key)); }
  bool Covers(const Range& range, Slice key) const {
    if (range.begin && store_.comparator->Compare(key, *range.begin) < 0) return false;
    return !range.end || store_.comparator->Compare(key, *range.end) < 0;
  }
  void Write(Slice key, std::optional<std::string> value) {
    std::string bytes(key);
    writes_.erase(bytes);  // of a key that compares as equal the bytes are those of the last
    writes_.emplace(std::move(bytes), std::move(value));
  }
  Status Read(Slice key, std::string* value) {
    if (const auto own = writes_.find(std::string(key)); own != writes_.end()) {
      if (!own->second) return Status::NotFound();
      value->assign(*own->second);
      return Status::OK();
    }
    for (const Range& range : ranges_) {
      if (Covers(range, key)) return Status::NotFound();
    }
    std::optional<std::string> stored;
    Status s = FindAt(store_, snapshot(), key, &stored, value);
    return s.ok() && !stored ? Status::NotFound() : s;
  }

  /// Whether the value of `key` is to be the one that it was at the begin.
  Status Watch(ComparedEdit* edit, Slice key) {
    std::optional<std::string> before;
    std::optional<std::string> now;
    if (Status s = FindAt(store_, snapshot(), key, &before, nullptr); !s.ok()) return s;
    if (Status s = edit->Find(key, &now); !s.ok()) return s;
    if (before != now) return TooLate();
    std::string unused;
    const Status s = watch_->GetForUpdate(ValueKey(before ? Slice(*before) : key), &unused);
    return s.IsNotFound() ? Status::OK() : s;
  }
  Status WatchRange(const Range& range) {
    TreeCursor cursor(store_.comparator.get(), NodesAt(store_.below.get(), nullptr));
    Status s = range.begin ? cursor.Seek(*range.begin) : cursor.SeekToFirst();
    for (; s.ok() && cursor.Valid() && Covers(range, cursor.key()); s = cursor.Next()) {
      std::string unused;
      s = watch_->GetForUpdate(ValueKey(cursor.key()), &unused);
      if (!s.ok() && !s.IsNotFound()) return s;
    }
    return s;
  }
  /// While no other write comes.
  Status WriteAll(ComparedEdit* edit) {
    for (const std::string& key : watched_) {
      if (Status s = Watch(edit, key); !s.ok()) return s;
    }
    for (const auto& [key, value] : writes_) {
      if (Status s = Watch(edit, key); !s.ok()) return s;
    }
    for (const Range& range : ranges_) {
      if (Status s = WatchRange(range); !s.ok()) return s;
    }
    if (Status s = watch_->Commit(); !s.ok()) return s;
    for (const Range& range : ranges_) {
      edit->DeleteRange(range.begin ? std::optional<Slice>(*range.begin) : std::nullopt,
                        range.end ? std::optional<Slice>(*range.end) : std::nullopt);
    }
    for (const auto& [key, value] : writes_) {
      value ? edit->Put(key, *value) : edit->Delete(key);
    }
    return edit->status();
  }

  const ComparedStore store_;
  const std::unique_ptr<Transaction> watch_;
  std::map<std::string, std::optional<std::string>, Before> writes_;  // none: a delete
  std::vector<Range> ranges_;                                         // deleted before them
  std::set<std::string> watched_;
  bool is_over_ = false;
};

}  // namespace

Status FindAt(const ComparedStore& store, const Snapshot* snapshot, Slice key,
              std::optional<std::string>* stored, std::string* value) {
  stored->reset();
  ReadOptions at;
  at.snapshot = snapshot;
  const auto get = [&](Slice of) {
    if (value != nullptr) return store.below->Get(at, ValueKey(of), value);
    PinnedValue pinned;
    return store.below->GetPinned(at, ValueKey(of), &pinned);
  };
  Status s = get(key);
  if (s.ok()) stored->emplace(key);
  if (!s.IsNotFound()) return s;
  TreeCursor cursor(store.comparator.get(), NodesAt(store.below.get(), snapshot));
  if (s = cursor.Seek(key); !s.ok()) return s;
  if (!cursor.Valid() || store.comparator->Compare(cursor.key(), key) != 0) return Status::OK();
  s = get(cursor.key());
  if (s.ok()) stored->emplace(cursor.key());
  return s.IsNotFound() ? Status::OK() : s;
}

std::unique_ptr<Transaction> NewComparedTransaction(ComparedStore store,
                                                    std::unique_ptr<Transaction> watch) {
  return std::make_unique<ComparedTransaction>(std::move(store), std::move(watch));
}

}  // namespace braid
