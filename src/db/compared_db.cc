// Purpose: a database in the order of a comparator.
// Thread safety, locks, invariants, persistence: see compared_db.h. The comparator is code of the
// caller, that may throw: every call of it stands inside CatchToStatus.
#include "db/compared_db.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/checksum.h"
#include "base/forks.h"
#include "base/mutex.h"
#include "base/no_throw.h"
#include "db/approximate_size.h"
#include "db/compared_edit.h"
#include "db/compared_iterator.h"
#include "db/compared_transaction.h"
#include "engine/empty_iterator.h"
#include "engine/engine.h"
#include "engine/failed_iterator.h"

namespace braid {

namespace {

/// Of names of comparators in headers; no KeyOrder may begin so.
constexpr Slice kMark = "fn:";
/// Keys that a DeleteRange deletes at once, and updates that an unsorted load writes at once.
constexpr size_t kStep = 8192;
constexpr uint64_t kStepBytes = 4u << 20;
/// Keys that are put back into the tree at once, when it is made again.
constexpr size_t kKeysAgain = 1000;

std::string InQuotes(std::string_view name) { return "\"" + std::string(name) + "\""; }

Status TooMuchAtOnce() {
  return Status::InvalidArgument(
      "records that are ingested as sorted into a pool with a comparator go in one batch, of " +
      std::to_string(kMaxBatchBytes) + " bytes at most; ingest them as unsorted, or in parts");
}

class ComparedDb final : public DB {
 public:
  ComparedDb(std::unique_ptr<DB> db, std::shared_ptr<const Comparator> comparator, TreeFacts facts)
      : state_(std::make_shared<State>(std::move(db), std::move(comparator), std::move(facts))),
        db_(state_->db.get()),
        comparator_(state_->comparator) {}
  ~ComparedDb() override {
    const Status closed = Close();
    (void)closed;  // Close() before is the way to learn of an error
  }

  Status Put(const WriteOptions& options, Slice key, Slice value) override {
    return Apply(options, [&](ComparedEdit* edit) {
      edit->Put(key, value);
      return edit->status();
    });
  }
  Status Delete(const WriteOptions& options, Slice key) override {
    return Apply(options, [&](ComparedEdit* edit) {
      edit->Delete(key);
      return edit->status();
    });
  }
  Status Write(const WriteOptions& options, const WriteBatch& batch) override {
    if (!batch.status().ok()) return batch.status();
    return Apply(options, [&](ComparedEdit* edit) {
      batch.Iterate(edit);
      return edit->status();
    });
  }
  Status DeleteRange(const WriteOptions& options, Slice begin, std::optional<Slice> end,
                     uint64_t* deleted) override;
  Result<bool> CompareAndSwap(const WriteOptions& options, Slice key, std::optional<Slice> expected,
                              Slice desired) override;
  Result<std::unique_ptr<Transaction>> BeginTransaction() override {
    return base::CatchToStatus([&]() -> Result<std::unique_ptr<Transaction>> {
      Result<std::unique_ptr<Transaction>> watch = db_->BeginTransaction();
      if (!watch.ok()) return watch;
      return NewComparedTransaction(StoreOf(state_), std::move(watch).value());
    });
  }
  Status Get(const ReadOptions& options, Slice key, std::string* value) override {
    return Read(options, key,
                [&](const ReadOptions& at, Slice stored) { return db_->Get(at, stored, value); });
  }
  Status GetPinned(const ReadOptions& options, Slice key, PinnedValue* value) override {
    Status s = Read(options, key, [&](const ReadOptions& at, Slice stored) {
      return db_->GetPinned(at, stored, value);
    });
    if (!s.ok()) value->Reset();
    return s;
  }
  std::vector<Status> MultiGet(const ReadOptions& options, std::span<const Slice> keys,
                               std::vector<std::string>* values) override;
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) override;
  Capabilities GetCapabilities() const override {
    Capabilities can = db_->GetCapabilities();
    can.ingest = can.compare_and_swap = true;
    return can;
  }
  Status BackgroundStatus() override { return db_->BackgroundStatus(); }
  Status Resume() override { return db_->Resume(); }
  std::shared_ptr<const Snapshot> GetSnapshot() override { return db_->GetSnapshot(); }
  Status Flush() override { return db_->Flush(); }
  Status Compact() override { return db_->Compact(); }
  /// A range of the comparator's is none of the bytes': all is compacted.
  Status CompactRange(const CompactOptions& options, std::optional<Slice>,
                      std::optional<Slice>) override {
    return db_->CompactRange(options, std::nullopt, std::nullopt);
  }
  Status ApproximateSizes(std::span<const KeyRange> ranges, uint64_t* sizes) override;
  Status SetBackgroundLimit(uint64_t bytes_per_second) override {
    return db_->SetBackgroundLimit(bytes_per_second);
  }
  Status PublishStatistics(bool on) override { return db_->PublishStatistics(on); }
  bool GetProperty(std::string_view name, std::string* value) override {
    return db_->GetProperty(name, value);
  }
  Statistics GetStatistics() override { return db_->GetStatistics(); }
  Status Ingest(RecordSource* source, const IngestOptions& options, IngestReport* report) override;
  Status CreateCheckpoint(const std::string& target, const CheckpointOptions& options) override {
    return db_->CreateCheckpoint(target, options);
  }
  Status Verify(VerifyReport* report, const std::function<void(double share)>& progress) override;
  Status Close() override { return db_->Close(); }

  /// Makes the tree again from the values.
  Status MakeTreeAgain();

 private:
  /// Shared with transactions, which may outlive the handle.
  struct State {
    State(std::unique_ptr<DB> below, std::shared_ptr<const Comparator> order, TreeFacts tree)
        : db(std::move(below)), comparator(std::move(order)), facts(std::move(tree)) {}
    const std::shared_ptr<DB> db;
    const std::shared_ptr<const Comparator> comparator;
    const base::Origin origin;
    base::Mutex mutex;  // of writes
    TreeFacts facts BRAID_GUARDED_BY(mutex);
  };

  template <class Change>
  static Status ApplyTo(State* state, const WriteOptions& options, Change&& change) noexcept {
    return base::CatchToStatus([&] {
      // The mutex may be held by a thread that is not in this process.
      if (!state->origin.IsThisProcess()) return base::OpenedByParent();
      const base::MutexLock lock(state->mutex);
      ComparedEdit edit(state->db.get(), state->comparator.get(), &state->facts);
      if (Status s = std::forward<Change>(change)(&edit); !s.ok()) return s;
      return edit.Commit(options);
    });
  }
  template <class Change>
  Status Apply(const WriteOptions& options, Change&& change) noexcept {
    return ApplyTo(state_.get(), options, std::forward<Change>(change));
  }
  static ComparedStore StoreOf(const std::shared_ptr<State>& state) {
    return {state->db, state->comparator,
            [state](const WriteOptions& options,
                    const std::function<Status(ComparedEdit * edit)>& change) {
              return ApplyTo(state.get(), options, change);
            }};
  }
  template <class Call>
  Status Read(const ReadOptions& options, Slice key, Call&& call) noexcept;
  Status CheckRecord(uint64_t number, Slice key, std::string* last) const;
  Status CheckTree(VerifyReport* report);

  const std::shared_ptr<State> state_;
  DB* const db_;
  const std::shared_ptr<const Comparator> comparator_;
};

/// What `call` returns for the key as it lies below. Mostly it is the same; else the tree is asked,
/// at one moment.
template <class Call>
Status ComparedDb::Read(const ReadOptions& options, Slice key, Call&& call) noexcept {
  return base::CatchToStatus([&] {
    ReadOptions at;
    at.snapshot = options.snapshot;
    Status s = call(at, ValueKey(key));
    if (!s.IsNotFound()) return s;
    std::shared_ptr<const Snapshot> now;
    if (at.snapshot == nullptr) {
      if (s = db_->GetSnapshot(&now); !s.ok()) return s;
      at.snapshot = now.get();
    }
    std::optional<std::string> stored;
    s = FindAt(StoreOf(state_), at.snapshot, key, &stored, nullptr);
    if (!s.ok()) return s;
    return stored ? call(at, ValueKey(*stored)) : Status::NotFound();
  });
}

std::vector<Status> ComparedDb::MultiGet(const ReadOptions& options, std::span<const Slice> keys,
                                         std::vector<std::string>* values) {
  std::vector<std::string> whole(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) whole[i] = ValueKey(keys[i]);
  const std::vector<Slice> below(whole.begin(), whole.end());
  ReadOptions at;
  at.snapshot = options.snapshot;
  std::shared_ptr<const Snapshot> now;
  if (at.snapshot == nullptr) {
    now = db_->GetSnapshot();  // one that could not be made makes the reads say why
    at.snapshot = now.get();
  }
  std::vector<Status> statuses = db_->MultiGet(at, below, values);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (statuses[i].IsNotFound()) statuses[i] = Get(at, keys[i], &(*values)[i]);
  }
  return statuses;
}

Status ComparedDb::ApproximateSizes(std::span<const KeyRange> ranges, uint64_t* sizes) {
  return ApproximateSizesOf(this, comparator_.get(), ranges, sizes);
}

std::unique_ptr<Iterator> ComparedDb::NewIterator(const ReadOptions& options) {
  try {
    return NewComparedIterator(state_->db, comparator_, options);
  } catch (...) {
    return engine::NewFailedIterator();
  }
}

Status ComparedDb::DeleteRange(const WriteOptions& options, Slice begin, std::optional<Slice> end,
                               uint64_t* deleted) {
  if (deleted != nullptr) *deleted = 0;
  for (;;) {
    uint64_t step = 0;
    const Status s = Apply(options, [&](ComparedEdit* edit) {
      Result<uint64_t> gone = edit->DeleteSome(begin, end, kStep);
      if (gone.ok()) step = *gone;
      return gone.status();
    });
    if (!s.ok()) return s;
    if (deleted != nullptr) *deleted += step;
    if (step < kStep) return Status::OK();
  }
}

Result<bool> ComparedDb::CompareAndSwap(const WriteOptions& options, Slice key,
                                        std::optional<Slice> expected, Slice desired) {
  bool swapped = false;
  const Status s = Apply(options, [&](ComparedEdit* edit) {
    std::optional<std::string> stored;
    if (Status found = edit->Find(key, &stored); !found.ok()) return found;
    if (stored.has_value() != expected.has_value()) return Status::OK();
    if (stored) {
      PinnedValue now;
      if (Status read = db_->GetPinned(ReadOptions{}, ValueKey(*stored), &now); !read.ok()) {
        return read;
      }
      if (now.data() != *expected) return Status::OK();
    }
    swapped = true;
    edit->Put(key, desired);
    return edit->status();
  });
  if (!s.ok()) return s;
  return swapped;
}

/// Sorted: all records go in one batch. Unsorted: one batch after the other.
Status ComparedDb::Ingest(RecordSource* source, const IngestOptions& options,
                          IngestReport* report) {
  return base::CatchToStatus([&] {
    IngestReport unused;
    IngestReport* const told = report != nullptr ? report : &unused;
    *told = IngestReport{};
    std::string last;
    uint64_t number = 0;
    for (bool is_done = false; !is_done;) {
      // The source may call the database: the mutex of writes is free meanwhile.
      WriteBatch batch;
      uint64_t bytes = 0;
      Slice key;
      Slice value;
      while (options.sorted || bytes < kStepBytes) {
        is_done = !source->Next(&key, &value);
        if (is_done) break;
        if (Status s = CheckRecord(++number, key, options.sorted ? &last : nullptr); !s.ok()) {
          return s;
        }
        batch.Put(key, value);
        bytes += key.size() + value.size();
        if (bytes > kMaxBatchBytes) return TooMuchAtOnce();
      }
      if (Status s = source->status(); !s.ok()) return s;
      if (Status s = Write(WriteOptions{}, batch); !s.ok()) return s;
      told->records += batch.Count();
      told->bytes += bytes;
    }
    return Status::OK();
  });
}

/// `*last` (null: any order) is the key of the record before, and becomes this one.
Status ComparedDb::CheckRecord(uint64_t number, Slice key, std::string* last) const {
  if (last == nullptr) return Status::OK();
  if (number > 1 && comparator_->Compare(*last, key) >= 0) {
    return Status::InvalidArgument(
        "record " + std::to_string(number) +
        ": its key does not follow the previous record's in the order of the comparator " +
        InQuotes(comparator_->Name()) + "; sort the records, or ingest them as unsorted");
  }
  last->assign(key);
  return Status::OK();
}

Status ComparedDb::Verify(VerifyReport* report, const std::function<void(double)>& progress) {
  Status s = db_->Verify(report, progress);
  if (!s.ok() && !s.IsCorruption()) return s;
  const Status tree = base::CatchToStatus([&] { return CheckTree(report); });
  if (tree.IsCorruption()) report->problems.push_back(std::string(tree.message()));
  return s.ok() ? tree : s;
}

/// That neighbours are in the order of the comparator, both ways, and that keys and values belong
/// to each other.
Status ComparedDb::CheckTree(VerifyReport* report) {
  std::shared_ptr<const Snapshot> now;
  if (Status s = db_->GetSnapshot(&now); !s.ok()) return s;
  ReadOptions at;
  at.snapshot = now.get();
  const auto wrong = [&](const char* what) {
    return Status::Corruption("the order of keys of the comparator " +
                              InQuotes(comparator_->Name()) + ": " + what +
                              "; the comparator is inconsistent, or another one has the same name");
  };
  const std::unique_ptr<Iterator> values = db_->NewIterator(at);
  TreeCursor cursor(comparator_.get(), NodesAt(db_, now.get()));
  std::optional<std::string> before;
  uint64_t keys = 0;
  Status s = cursor.SeekToFirst();
  for (; s.ok() && cursor.Valid(); s = cursor.Next()) {
    const Slice key = cursor.key();
    if (before &&
        (comparator_->Compare(*before, key) >= 0 || comparator_->Compare(key, *before) <= 0)) {
      return wrong("two neighbours are out of order");
    }
    if (comparator_->Compare(key, key) != 0) return wrong("a key is not equal to itself");
    const std::string value_key = ValueKey(key);
    values->Seek(value_key);
    if (!values->status().ok()) return values->status();
    if (!values->Valid() || values->key() != value_key) return wrong("a key has no value");
    before.emplace(key);
    ++keys;
  }
  if (!s.ok()) return s;
  uint64_t count = 0;
  for (values->Seek(kValues[0]); values->Valid() && values->key() < kValues[1]; values->Next()) {
    ++count;
  }
  if (!values->status().ok()) return values->status();
  report->live_entries = count;
  return count == keys ? Status::OK() : wrong("a value has no key in the index");
}

Status ComparedDb::MakeTreeAgain() {
  {
    const base::MutexLock lock(state_->mutex);
    state_->facts.is_whole = false;
    WriteBatch begin;
    begin.Put(kTreeFacts, state_->facts.Encode());
    begin.DeleteRange(kNodes[0], kNodes[1]);
    if (Status s = db_->Write(begin); !s.ok()) return s;
  }
  std::string from(kValues[0]);
  for (bool is_last = false; !is_last;) {
    // The values stay as they are: a batch puts each again as far as the tree is concerned.
    const Status s = Apply(WriteOptions{}, [&](ComparedEdit* edit) {
      ReadOptions range;
      range.lower_bound = from;
      range.upper_bound = std::string(kValues[1]);
      const std::unique_ptr<Iterator> values = db_->NewIterator(range);
      values->SeekToFirst();
      for (size_t i = 0; i < kKeysAgain && values->Valid(); ++i, values->Next()) {
        if (Status put = edit->PutAgain(values->key().substr(kValues[0].size())); !put.ok()) {
          return put;
        }
        from.assign(values->key()).push_back('\0');
      }
      is_last = !values->Valid();
      return values->status();
    });
    if (!s.ok()) return s;
  }
  const base::MutexLock lock(state_->mutex);
  state_->facts.is_whole = true;
  return db_->Put(kTreeFacts, state_->facts.Encode());
}

/// The facts of the pool; of one that has none yet, those that it is to get.
Status ReadFacts(DB* db, const Comparator& comparator, TreeFacts* facts, bool* is_new) {
  std::string bytes;
  const Status s = db->Get(kTreeFacts, &bytes);
  *is_new = s.IsNotFound();
  if (*is_new) {
    facts->comparator = comparator.Name();
    facts->is_whole = false;
    return Status::OK();
  }
  if (!s.ok()) return s;
  if (Status decoded = TreeFacts::Decode(bytes, facts); !decoded.ok()) return decoded;
  if (facts->comparator == comparator.Name()) return Status::OK();
  return Status::InvalidArgument("the pool was made with the comparator " +
                                 InQuotes(facts->comparator) + ", it is opened with " +
                                 InQuotes(comparator.Name()) + "; open it with its own");
}

}  // namespace

Status CheckComparator(const Comparator& comparator) {
  const std::string_view name = comparator.Name();
  if (!name.empty() && name.size() <= kMaxComparatorName &&
      name.find('\0') == std::string_view::npos) {
    return Status::OK();
  }
  return Status::InvalidArgument(
      "the name of a comparator has 1 to " + std::to_string(kMaxComparatorName) +
      " bytes, none of them zero; this one has " + std::to_string(name.size()));
}

std::string HeaderNameOf(std::string_view comparator) {
  const bool is_printable = std::all_of(comparator.begin(), comparator.end(),
                                        [](char c) { return c >= ' ' && c <= '~'; });
  std::string name(kMark);
  if (is_printable && name.size() + comparator.size() <= kMaxKeyOrderName) {
    return name.append(comparator);
  }
  char hash[12];
  std::snprintf(hash, sizeof hash, "~%08x", static_cast<uint32_t>(base::Hash64(comparator)));
  for (const char c : comparator.substr(0, kMaxKeyOrderName - kMark.size() - 9)) {
    name += c >= ' ' && c <= '~' ? c : '?';
  }
  return name + hash;
}

bool IsComparatorName(std::string_view header_name) { return header_name.starts_with(kMark); }

Result<std::unique_ptr<DB>> InComparison(std::unique_ptr<DB> db,
                                         std::shared_ptr<const Comparator> comparator,
                                         bool read_only) {
  const Capabilities can = db->GetCapabilities();
  if (!can.stores || !can.snapshots || !can.atomic_batches) {
    return Status::NotSupported(
        "this design can't use a comparator: it has no snapshots or no atomic batches; use a pool "
        "of the design \"braid\", or an order by encoding");
  }
  TreeFacts facts;
  bool is_new = false;
  if (Status s = ReadFacts(db.get(), *comparator, &facts, &is_new); !s.ok()) return s;
  const Statistics now = db->GetStatistics();
  const bool may_be_torn = now.media_class == MediaClass::kPage && now.clean_open == 0;
  const bool is_empty = is_new && now.memtable_entries + now.l0_entries + now.l1_entries == 0;
  const bool again = !facts.is_whole || may_be_torn;
  auto compared = std::make_unique<ComparedDb>(std::move(db), std::move(comparator), facts);
  if (again && read_only && !is_empty) {
    return Status::NotSupported(
        "the key index of this pool must be rebuilt, after a repair or because the pool was not "
        "closed; open it once without read_only");
  }
  if (again && !read_only) {
    if (Status s = compared->MakeTreeAgain(); !s.ok()) return s;
  }
  return std::unique_ptr<DB>(std::move(compared));
}

Status ForgetTree(DB* db) { return db->Delete(kTreeFacts); }

}  // namespace braid
