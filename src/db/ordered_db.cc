// Purpose: keys in the caller's order.
// Thread safety, persistence: see ordered_db.h. What the caller gets here are the answers of the
// database below for the encoded keys; bounds, snapshots, steps among writes and crashes are its
// own. The order is code of the caller, that may throw: every call of it stands inside
// CatchToStatus.
#include "db/ordered_db.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/no_throw.h"
#include "db/compared_db.h"
#include "engine/engine.h"
#include "engine/failed_iterator.h"

namespace braid {

namespace {

using Order = std::shared_ptr<const KeyOrder>;

std::string Quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

/// `*out` becomes the encoded key.
Status EncodeKey(const KeyOrder& order, Slice key, std::string* out) {
  out->clear();
  if (Status s = order.Encode(key, out); !s.ok()) return s;
  if (out->size() <= kMaxKeyBytes) return Status::OK();
  return Status::InvalidArgument("the key has " + std::to_string(key.size()) + " bytes, and " +
                                 std::to_string(out->size()) + " encoded for the order " +
                                 Quoted(order.Name()) + "; the limit is " +
                                 std::to_string(kMaxKeyBytes));
}

/// `*out` becomes the caller's key. Whatever the order says, the fault lies in the pool.
Status DecodeKey(const KeyOrder& order, Slice encoded, std::string* out) {
  out->clear();
  Status s = order.Decode(encoded, out);
  if (s.ok() || s.IsCorruption() || s.IsOutOfMemory()) return s;
  return Status::Corruption("the order " + Quoted(order.Name()) +
                            " can't decode a key of the pool: " + s.ToString());
}

/// A key for a message: what is no printable character as \xNN, cut where it is long.
std::string Shown(Slice key) {
  constexpr size_t kMost = 64;
  std::string text;
  for (const char c : key.substr(0, kMost)) {
    char escaped[8];
    const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
    std::snprintf(escaped, sizeof escaped, plain ? "%c" : "\\x%02x", static_cast<uint8_t>(c));
    text += escaped;
  }
  return Quoted(text) + (key.size() > kMost ? "..." : "");
}

/// What `call` answers for the encoded key, or why there is none.
template <class Call>
Status WithEncoded(const KeyOrder& order, Slice key, Call&& call) noexcept {
  return base::CatchToStatus([&] {
    std::string encoded;
    if (Status s = EncodeKey(order, key, &encoded); !s.ok()) return s;
    return std::forward<Call>(call)(Slice(encoded));
  });
}

/// `options` with encoded bounds.
Status EncodeBounds(const KeyOrder& order, const ReadOptions& options, ReadOptions* encoded) {
  encoded->snapshot = options.snapshot;
  const std::optional<Slice> lower = options.lower_slice || !options.lower_bound
                                         ? options.lower_slice
                                         : std::optional<Slice>(*options.lower_bound);
  const std::optional<Slice> upper = options.upper_slice || !options.upper_bound
                                         ? options.upper_slice
                                         : std::optional<Slice>(*options.upper_bound);
  if (lower) {
    encoded->lower_bound.emplace();
    if (Status s = EncodeKey(order, *lower, &*encoded->lower_bound); !s.ok()) {
      return s;
    }
  }
  if (!upper) return Status::OK();
  encoded->upper_bound.emplace();
  return EncodeKey(order, *upper, &*encoded->upper_bound);
}

/// A cursor over encoded keys that shows the caller's.
class OrderedIterator final : public Iterator {
 public:
  /// `encoded` is null when the iterator can't be: then `refused` says why.
  OrderedIterator(Order order, std::unique_ptr<Iterator> encoded, Status refused)
      : order_(std::move(order)), encoded_(std::move(encoded)), status_(std::move(refused)) {}

  bool Valid() const override { return valid_ && encoded_->Valid(); }
  void SeekToFirst() override {
    Move([&] { encoded_->SeekToFirst(); });
  }
  void SeekToLast() override {
    Move([&] { encoded_->SeekToLast(); });
  }
  void Seek(Slice target) override {
    MoveTo(target, [&] { encoded_->Seek(target_); });
  }
  void SeekForPrev(Slice target) override {
    MoveTo(target, [&] { encoded_->SeekForPrev(target_); });
  }
  void Next() override {
    if (valid_) Move([&] { encoded_->Next(); });
  }
  void Prev() override {
    if (valid_) Move([&] { encoded_->Prev(); });
  }
  Status Refresh() override {
    if (encoded_ == nullptr) return status_;
    Status s = encoded_->Refresh();
    if (s.ok()) valid_ = false;
    return s;
  }
  Slice key() const override { return key_; }
  Slice value() const override { return encoded_->value(); }
  Status status() const override {
    if (encoded_ == nullptr) return status_;
    Status s = encoded_->status();
    return s.ok() ? status_ : s;
  }

 private:
  template <class Step>
  void Move(Step&& step) noexcept {
    if (encoded_ == nullptr) return;
    valid_ = false;
    status_ = base::CatchToStatus([&] {
      step();
      return encoded_->Valid() ? DecodeKey(*order_, encoded_->key(), &key_) : Status::OK();
    });
    valid_ = status_.ok() && encoded_->Valid();
  }
  template <class Step>
  void MoveTo(Slice target, Step&& step) noexcept {
    if (encoded_ == nullptr) return;
    valid_ = false;
    status_ = base::CatchToStatus([&] { return EncodeKey(*order_, target, &target_); });
    if (status_.ok()) Move(std::forward<Step>(step));
  }

  const Order order_;
  const std::unique_ptr<Iterator> encoded_;
  bool valid_ = false;
  std::string key_;
  std::string target_;
  Status status_;
};

/// A batch with encoded keys.
class EncodedBatch final : public WriteBatch::Handler {
 public:
  explicit EncodedBatch(const KeyOrder& order) : order_(order) {}
  void Put(Slice key, Slice value) override {
    if (Encode(key)) batch_.Put(encoded_, value);
  }
  void Delete(Slice key) override {
    if (Encode(key)) batch_.Delete(encoded_);
  }
  void DeleteRange(std::optional<Slice> begin, std::optional<Slice> end) override {
    std::string first;
    if (begin && Encode(*begin)) first = encoded_;
    if (end) Encode(*end);
    if (!status_.ok()) return;
    batch_.DeleteRange(begin ? std::optional<Slice>(first) : std::nullopt,
                       end ? std::optional<Slice>(encoded_) : std::nullopt);
  }
  const WriteBatch& batch() const { return batch_; }
  const Status& status() const { return status_; }

 private:
  bool Encode(Slice key) {
    if (status_.ok()) status_ = EncodeKey(order_, key, &encoded_);
    return status_.ok();
  }

  const KeyOrder& order_;
  WriteBatch batch_;
  std::string encoded_;
  Status status_;
};

/// Encodes the records of another source. Checks here what the database below would otherwise tell
/// of the encoded keys.
class EncodedSource final : public RecordSource {
 public:
  EncodedSource(const KeyOrder& order, RecordSource* source, bool sorted)
      : order_(order), source_(source), sorted_(sorted) {}

  bool Next(Slice* key, Slice* value) override {
    Slice users;
    if (!status_.ok() || !source_->Next(&users, value)) return false;
    ++number_;
    status_ = base::CatchToStatus([&] { return Take(users, *value); });
    *key = encoded_;
    return status_.ok();
  }
  Status status() const override { return status_.ok() ? source_->status() : status_; }

 private:
  Status Take(Slice key, Slice value) {
    last_.swap(encoded_);
    Status s = EncodeKey(order_, key, &encoded_);
    if (s.ok()) s = engine::CheckValue(value);
    if (s.ok() && sorted_ && number_ > 1 && encoded_ <= last_) {
      s = Status::InvalidArgument("it does not follow the previous record's key in the order " +
                                  Quoted(order_.Name()) +
                                  "; sort the records, or ingest them as unsorted");
    }
    if (!s.IsInvalidArgument()) return s;
    return Status::InvalidArgument("record " + std::to_string(number_) + ", key " + Shown(key) +
                                   ": " + std::string(s.message()));
  }

  const KeyOrder& order_;
  RecordSource* const source_;
  const bool sorted_;
  uint64_t number_ = 0;
  std::string encoded_;
  std::string last_;
  Status status_;
};

/// A transaction with encoded keys.
class OrderedTransaction final : public Transaction {
 public:
  OrderedTransaction(std::unique_ptr<Transaction> encoded, Order order)
      : encoded_(std::move(encoded)), order_(std::move(order)) {}

  Status Get(Slice key, std::string* value) override {
    return With(key, [&](Slice encoded) { return encoded_->Get(encoded, value); });
  }
  Status GetForUpdate(Slice key, std::string* value) override {
    return With(key, [&](Slice encoded) { return encoded_->GetForUpdate(encoded, value); });
  }
  Status Put(Slice key, Slice value) override {
    return With(key, [&](Slice encoded) { return encoded_->Put(encoded, value); });
  }
  Status Delete(Slice key) override {
    return With(key, [&](Slice encoded) { return encoded_->Delete(encoded); });
  }
  Status DeleteRange(std::optional<Slice> begin, std::optional<Slice> end) override {
    return base::CatchToStatus([&] {
      std::string first;
      std::string last;
      if (begin) {
        if (Status s = EncodeKey(*order_, *begin, &first); !s.ok()) return s;
      }
      if (end) {
        if (Status s = EncodeKey(*order_, *end, &last); !s.ok()) return s;
      }
      return encoded_->DeleteRange(begin ? std::optional<Slice>(first) : std::nullopt,
                                   end ? std::optional<Slice>(last) : std::nullopt);
    });
  }
  const Snapshot* snapshot() const noexcept override { return encoded_->snapshot(); }
  Status Commit(const WriteOptions& options) override { return encoded_->Commit(options); }
  void Rollback() noexcept override { encoded_->Rollback(); }

 private:
  template <class Call>
  Status With(Slice key, Call&& call) noexcept {
    return WithEncoded(*order_, key, std::forward<Call>(call));
  }

  const std::unique_ptr<Transaction> encoded_;
  const Order order_;
};

class OrderedDb final : public DB {
 public:
  OrderedDb(std::unique_ptr<DB> db, Order order) : db_(std::move(db)), order_(std::move(order)) {}

  Status Put(const WriteOptions& options, Slice key, Slice value) override {
    return With(key, [&](Slice encoded) { return db_->Put(options, encoded, value); });
  }
  Status Delete(const WriteOptions& options, Slice key) override {
    return With(key, [&](Slice encoded) { return db_->Delete(options, encoded); });
  }
  Status Write(const WriteOptions& options, const WriteBatch& batch) override {
    return base::CatchToStatus([&] {
      if (!batch.status().ok()) return batch.status();
      EncodedBatch encoded(*order_);
      batch.Iterate(&encoded);
      return encoded.status().ok() ? db_->Write(options, encoded.batch()) : encoded.status();
    });
  }
  Status DeleteRange(const WriteOptions& options, Slice begin, std::optional<Slice> end,
                     uint64_t* deleted) override {
    if (deleted != nullptr) *deleted = 0;
    return With(begin, [&](Slice from) {
      if (!end) return db_->DeleteRange(options, from, std::nullopt, deleted);
      return With(*end, [&](Slice to) { return db_->DeleteRange(options, from, to, deleted); });
    });
  }
  Result<bool> CompareAndSwap(const WriteOptions& options, Slice key, std::optional<Slice> expected,
                              Slice desired) override {
    return base::CatchToStatus([&]() -> Result<bool> {
      std::string encoded;
      if (Status s = EncodeKey(*order_, key, &encoded); !s.ok()) return s;
      return db_->CompareAndSwap(options, encoded, expected, desired);
    });
  }
  Status Get(const ReadOptions& options, Slice key, std::string* value) override {
    return With(key, [&](Slice encoded) { return db_->Get(options, encoded, value); });
  }
  Status GetPinned(const ReadOptions& options, Slice key, PinnedValue* value) override {
    Status s = With(key, [&](Slice encoded) { return db_->GetPinned(options, encoded, value); });
    if (!s.ok()) value->Reset();
    return s;
  }
  Result<std::unique_ptr<Transaction>> BeginTransaction() override {
    return base::CatchToStatus([&]() -> Result<std::unique_ptr<Transaction>> {
      Result<std::unique_ptr<Transaction>> begun = db_->BeginTransaction();
      if (!begun.ok()) return begun;
      return std::unique_ptr<Transaction>(
          std::make_unique<OrderedTransaction>(std::move(begun).value(), order_));
    });
  }
  std::vector<Status> MultiGet(const ReadOptions& options, std::span<const Slice> keys,
                               std::vector<std::string>* values) override;
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) override;
  Capabilities GetCapabilities() const override { return db_->GetCapabilities(); }
  Status BackgroundStatus() override { return db_->BackgroundStatus(); }
  Status Resume() override { return db_->Resume(); }
  std::shared_ptr<const Snapshot> GetSnapshot() override { return db_->GetSnapshot(); }
  Status Flush() override { return db_->Flush(); }
  Status Compact() override { return db_->Compact(); }
  Status CompactRange(const CompactOptions& options, std::optional<Slice> begin,
                      std::optional<Slice> end) override {
    return base::CatchToStatus([&] {
      std::string from;
      std::string to;
      if (begin) {
        if (Status s = EncodeKey(*order_, *begin, &from); !s.ok()) return s;
      }
      if (end) {
        if (Status s = EncodeKey(*order_, *end, &to); !s.ok()) return s;
      }
      return db_->CompactRange(options, begin ? std::optional<Slice>(from) : std::nullopt,
                               end ? std::optional<Slice>(to) : std::nullopt);
    });
  }
  Status ApproximateSizes(std::span<const KeyRange> ranges, uint64_t* sizes) override {
    return base::CatchToStatus([&] {
      std::vector<std::pair<std::string, std::string>> encoded(ranges.size());
      std::vector<KeyRange> inner(ranges.size());
      for (size_t i = 0; i < ranges.size(); ++i) {
        if (Status s = EncodeKey(*order_, ranges[i].begin, &encoded[i].first); !s.ok()) return s;
        inner[i].begin = encoded[i].first;
        if (!ranges[i].end) continue;
        if (Status s = EncodeKey(*order_, *ranges[i].end, &encoded[i].second); !s.ok()) return s;
        inner[i].end = encoded[i].second;
      }
      return db_->ApproximateSizes(inner, sizes);
    });
  }
  Status PublishStatistics(bool on) override { return db_->PublishStatistics(on); }
  Status SetBackgroundLimit(uint64_t bytes_per_second) override {
    return db_->SetBackgroundLimit(bytes_per_second);
  }
  bool GetProperty(std::string_view name, std::string* value) override {
    return db_->GetProperty(name, value);
  }
  Statistics GetStatistics() override { return db_->GetStatistics(); }
  Status Ingest(RecordSource* source, const IngestOptions& options, IngestReport* report) override {
    return base::CatchToStatus([&] {
      EncodedSource encoded(*order_, source, options.sorted);
      return db_->Ingest(&encoded, options, report);
    });
  }
  Status CreateCheckpoint(const std::string& target, const CheckpointOptions& options) override {
    return db_->CreateCheckpoint(target, options);
  }
  Status Verify(VerifyReport* report, const std::function<void(double share)>& progress) override {
    return db_->Verify(report, progress);
  }
  Status Close() override { return db_->Close(); }

 private:
  template <class Call>
  Status With(Slice key, Call&& call) noexcept {
    return WithEncoded(*order_, key, std::forward<Call>(call));
  }

  const std::unique_ptr<DB> db_;
  const Order order_;
};

std::vector<Status> OrderedDb::MultiGet(const ReadOptions& options, std::span<const Slice> keys,
                                        std::vector<std::string>* values) {
  std::vector<Status> statuses(keys.size());
  std::vector<std::string> encoded(keys.size());
  std::vector<Slice> asked;  // those that are keys of the order
  asked.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    statuses[i] = base::CatchToStatus([&] { return EncodeKey(*order_, keys[i], &encoded[i]); });
    if (statuses[i].ok()) asked.emplace_back(encoded[i]);
  }
  std::vector<Status> answers = db_->MultiGet(options, asked, values);
  if (asked.size() == keys.size()) return answers;
  // Back to their places, from the last on, so that none is written over before it has moved.
  values->resize(keys.size());
  for (size_t i = keys.size(), next = asked.size(); i-- > 0;) {
    if (!statuses[i].ok()) {
      (*values)[i].clear();
      continue;
    }
    --next;
    statuses[i] = answers[next];
    if (next != i) (*values)[i] = std::exchange((*values)[next], {});
  }
  return statuses;
}

std::unique_ptr<Iterator> OrderedDb::NewIterator(const ReadOptions& options) {
  try {
    ReadOptions bounds;
    Status refused = base::CatchToStatus([&] { return EncodeBounds(*order_, options, &bounds); });
    std::unique_ptr<Iterator> encoded;
    if (refused.ok()) {
      encoded = db_->NewIterator(bounds);
      if (encoded == nullptr) return nullptr;
    }
    return std::make_unique<OrderedIterator>(order_, std::move(encoded), std::move(refused));
  } catch (...) {
    return engine::NewFailedIterator();
  }
}

}  // namespace

Status CheckKeyOrder(const KeyOrder& order) {
  const std::string_view name = order.Name();
  const bool printable =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (name.empty() || name.size() > kMaxKeyOrderName || !printable) {
    return Status::InvalidArgument("the name of a key order has 1 to " +
                                   std::to_string(kMaxKeyOrderName) +
                                   " printable ASCII characters; this one is " + Shown(name));
  }
  if (IsComparatorName(name)) {
    return Status::InvalidArgument(Quoted(name) +
                                   " begins as names of comparators do in pools; give the order "
                                   "another name");
  }
  const Order built_in = FindKeyOrder(name);
  if (name == kBytewiseOrder || (built_in != nullptr && built_in.get() != &order)) {
    return Status::InvalidArgument(Quoted(name) +
                                   " is the name of a built-in order of keys; give yours another");
  }
  return Status::OK();
}

std::unique_ptr<DB> InOrder(std::unique_ptr<DB> db, std::shared_ptr<const KeyOrder> order) {
  return std::make_unique<OrderedDb>(std::move(db), std::move(order));
}

std::string DecodedOrSame(const KeyOrder& order, const std::string& encoded) {
  std::string key;
  const Status s = base::CatchToStatus([&] { return DecodeKey(order, encoded, &key); });
  return s.ok() ? key : encoded;
}

}  // namespace braid
