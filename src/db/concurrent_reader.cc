// Purpose: reads under a grant of the process that writes.
// Thread safety, invariants, persistence: see concurrent_reader.h.
#include "db/concurrent_reader.h"

#include <thread>
#include <utility>

#include "base/forks.h"
#include "base/no_throw.h"
#include "db/open_on_media.h"
#include "design/design.h"
#include "engine/failed_iterator.h"
#include "media/file_media.h"
#include "media/pool_lock.h"

namespace braid {

namespace {

using Slot = std::shared_ptr<media::ReaderSlot>;

Status TakenBack(const media::ReaderSlot& slot) {
  if (slot.is_parents()) return base::OpenedByParent();
  if (slot.released()) return Status::Closed();
  return Status::TryAgain(
      "the writer has to merge the tables that this handle reads, and has revoked them; close this "
      "handle and open the pool again to read newer data");
}

/// Runs `read`, which gives a Status or what has one inside.
template <class Read>
auto RunStep(const Slot& slot, Read&& read) noexcept -> decltype(read()) {
  using Outcome = decltype(read());
  return base::CatchToStatus([&]() -> Outcome {
    const media::ReaderSlot::Call call(slot.get());
    if (!call.began()) return TakenBack(*slot);
    Outcome outcome = read();
    if (!call.holds()) return TakenBack(*slot);
    return outcome;
  });
}

class ConcurrentIterator final : public Iterator {
 public:
  ConcurrentIterator(std::unique_ptr<Iterator> inner, Slot slot)
      : slot_(std::move(slot)), inner_(std::move(inner)) {}

  bool Valid() const override {
    return valid_ && !slot_->is_parents() && !inner_->status().IsClosed();
  }
  void SeekToFirst() override {
    Move([&] { inner_->SeekToFirst(); });
  }
  void SeekToLast() override {
    Move([&] { inner_->SeekToLast(); });
  }
  void Seek(Slice target) override {
    Move([&] { inner_->Seek(target); });
  }
  void SeekForPrev(Slice target) override {
    Move([&] { inner_->SeekForPrev(target); });
  }
  void Next() override {
    if (valid_) Move([&] { inner_->Next(); });
  }
  void Prev() override {
    if (valid_) Move([&] { inner_->Prev(); });
  }
  Slice key() const override { return key_; }
  Slice value() const override { return value_; }
  Status status() const override {
    return base::CatchToStatus([&] {
      if (slot_->is_parents()) return base::OpenedByParent();
      const Status inner = inner_->status();
      return inner.IsClosed() ? inner : status_;
    });
  }

 private:
  template <class Step>
  void Move(Step&& step) {
    valid_ = false;
    status_ = RunStep(slot_, [&] {
      step();
      valid_ = inner_->Valid();
      if (valid_) {
        key_.assign(inner_->key());
        value_.assign(inner_->value());
      }
      return inner_->status();
    });
    valid_ = valid_ && status_.ok();
  }

  Slot slot_;  // before inner_: it must outlive it
  std::unique_ptr<Iterator> inner_;
  bool valid_ = false;
  std::string key_;
  std::string value_;
  Status status_;
};

class ConcurrentReader final : public DB {
 public:
  ConcurrentReader(std::unique_ptr<DB> inner, Slot slot)
      : slot_(std::move(slot)), inner_(std::move(inner)) {}

  // Calls that change the pool are refused by the inner database, without reading it.
  Status Put(const WriteOptions& options, Slice key, Slice value) override {
    return inner_->Put(options, key, value);
  }
  Status Delete(const WriteOptions& options, Slice key) override {
    return inner_->Delete(options, key);
  }
  Status Write(const WriteOptions& options, const WriteBatch& batch) override {
    return inner_->Write(options, batch);
  }
  Result<bool> CompareAndSwap(const WriteOptions& options, Slice key, std::optional<Slice> expected,
                              Slice desired) override {
    return inner_->CompareAndSwap(options, key, expected, desired);
  }
  Status DeleteRange(const WriteOptions& options, Slice begin, std::optional<Slice> end,
                     uint64_t* deleted) override {
    return inner_->DeleteRange(options, begin, end, deleted);
  }
  Status Ingest(RecordSource* source, const IngestOptions& options, IngestReport* report) override {
    return inner_->Ingest(source, options, report);
  }
  Result<std::unique_ptr<Transaction>> BeginTransaction() override {
    return inner_->BeginTransaction();
  }
  Status Flush() override { return inner_->Flush(); }
  Status Compact() override { return inner_->Compact(); }
  Status CompactRange(const CompactOptions& options, std::optional<Slice> begin,
                      std::optional<Slice> end) override {
    return inner_->CompactRange(options, begin, end);
  }
  Status SetBackgroundLimit(uint64_t bytes_per_second) override {
    return inner_->SetBackgroundLimit(bytes_per_second);
  }

  Status Get(const ReadOptions& options, Slice key, std::string* value) override {
    return RunStep(slot_, [&] { return inner_->Get(options, key, value); });
  }
  /// Always a copy.
  Status GetPinned(const ReadOptions& options, Slice key, PinnedValue* value) override {
    const Status s = Get(options, key, value->CopyTo());
    if (!s.ok()) value->Reset();
    return s;
  }
  std::vector<Status> MultiGet(const ReadOptions& options, std::span<const Slice> keys,
                               std::vector<std::string>* values) override {
    std::vector<Status> statuses;
    const Status s = RunStep(slot_, [&] {
      statuses = inner_->MultiGet(options, keys, values);
      return Status::OK();
    });
    if (s.ok()) return statuses;
    values->assign(keys.size(), {});
    return std::vector<Status>(keys.size(), s);
  }
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) override {
    try {
      return std::make_unique<ConcurrentIterator>(inner_->NewIterator(options), slot_);
    } catch (...) {
      return engine::NewFailedIterator();
    }
  }
  Capabilities GetCapabilities() const override { return inner_->GetCapabilities(); }
  std::shared_ptr<const Snapshot> GetSnapshot() override { return inner_->GetSnapshot(); }
  bool GetProperty(std::string_view name, std::string* value) override {
    return inner_->GetProperty(name, value);
  }
  Statistics GetStatistics() override { return inner_->GetStatistics(); }
  Status BackgroundStatus() override { return inner_->BackgroundStatus(); }
  Status Resume() override { return inner_->Resume(); }
  Status CreateCheckpoint(const std::string&, const CheckpointOptions&) override {
    if (slot_->is_parents()) return base::OpenedByParent();
    return slot_->released() ? Status::Closed()
                             : Status::NotSupported(
                                   "the pool is open for writing in another process; make the "
                                   "checkpoint there, which does not stop it");
  }
  Status Verify(VerifyReport* report, const std::function<void(double share)>&) override {
    *report = {};
    if (slot_->is_parents()) return base::OpenedByParent();
    if (slot_->released()) return Status::Closed();
    return Status::NotSupported(
        "the pool is open for writing in another process, which changes what verify would look "
        "at; run it there, or when that process has closed the pool");
  }
  Status Close() override {
    const Status closed = inner_->Close();
    slot_->Release();  // no call is under way any more
    return closed;
  }

 private:
  Slot slot_;  // before inner_: it must outlive it
  std::unique_ptr<DB> inner_;
};

Status WithReason(const Status& busy, const std::string& reason) {
  return Status::Busy(std::string(busy.message()) + " (concurrent read-only open: " + reason + ")");
}

/// What is read of headers and manifest may be torn, while the writer is just writing them.
Result<std::unique_ptr<DB>> OpenGranted(const Options& options, const std::string& path,
                                        const std::string& order_name, media::ReaderSlot* slot,
                                        media::ReaderSlot::Clock::time_point deadline) {
  for (;;) {
    const media::ReaderSlot::Call call(slot);
    if (!call.began()) return Status::TryAgain("the tables were revoked");
    Result<std::unique_ptr<media::Media>> media = media::OpenFileMediaOfConcurrentReader(
        path, options.pool, {slot->tables(), slot->sequence()});
    if (!media.ok()) return media.status();
    (*media)->set_key_order(order_name);
    Result<std::unique_ptr<DB>> db = OpenOnMedia(options, std::move(media).value());
    if (!call.holds()) return Status::TryAgain("the tables were revoked");
    const bool again = db.status().IsCorruption() && media::ReaderSlot::Clock::now() < deadline;
    if (!again) return db;
  }
}

}  // namespace

Result<std::unique_ptr<DB>> OpenConcurrentReader(const Options& options, const std::string& path,
                                                 const std::string& order_name, const Status& busy,
                                                 media::ReaderSlot::Clock::time_point deadline) {
  Result<const design::Design*> design = design::FindDesign(options.design);
  if (!design.ok()) return design.status();
  if (!(*design)->capabilities.concurrent_readers) {
    return WithReason(busy, "design " + options.design + " updates its data in place");
  }
  const media::LockHolder writer = media::ProbeLock(path);
  if (!writer.held || writer.reads) {
    if (media::ReaderSlot::Clock::now() >= deadline) return busy;  // they come and go
    return Status::TryAgain("the writer has gone");
  }
  if (writer.answers == media::AnswersReaders::kNo) {
    return WithReason(
        busy,
        "it runs without background threads, one of which would answer, or can't make the file "
        "\"readers\"");
  }
  if (writer.answers == media::AnswersReaders::kNotYet) {
    if (media::ReaderSlot::Clock::now() >= deadline) {
      return WithReason(busy, "it has not opened the pool yet");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Status::TryAgain("it has not opened the pool yet");
  }
  Result<std::unique_ptr<media::ReaderSlot>> asked = media::ReaderSlot::Ask(path, deadline);
  if (!asked.ok()) {
    const bool waited = media::ReaderSlot::Clock::now() >= deadline;
    if (asked.status().IsTryAgain() && !waited) return asked.status();
    return WithReason(busy, std::string(asked.status().message()));
  }
  const std::shared_ptr<media::ReaderSlot> slot = std::move(asked).value();
  Options inner = options;
  inner.verify_on_open = VerifyOnOpen::kQuick;  // a full one looks at all chunks, which change
  Result<std::unique_ptr<DB>> db = OpenGranted(inner, path, order_name, slot.get(), deadline);
  if (db.ok()) return std::unique_ptr<DB>(std::make_unique<ConcurrentReader>(std::move(*db), slot));
  if (db.status().IsTryAgain() && media::ReaderSlot::Clock::now() >= deadline) {
    return WithReason(busy, "it merges too often");
  }
  return db.status();
}

}  // namespace braid
