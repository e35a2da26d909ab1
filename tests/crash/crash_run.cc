#include "crash/crash_run.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/thread_random.h"
#include "base/thread_slot.h"
#include "crash/bare_database.h"
#include "crash/threaded_run.h"
#include "sim/sim_media.h"
#include "support/records.h"

namespace braid::crash {

CrashRun::CrashRun(Device* device, const Workload& workload, uint64_t seed,
                   const RunSettings& settings)
    : CrashPoints(device, workload, seed, settings),
      generator_(workload, Mix64(seed + 1)),
      random_(Mix64(seed + 2)),
      options_(DrawOptions(workload, &random_)),
      oracle_(workload.media_class == MediaClass::kPage) {
  test::region_of_thread = 0;
  device->checker.Begin(workload, options_, BootId(boot_));
}

Allowed CrashRun::AllowedNow(bool process_crash) {
  if (recovering_.has_value()) return *recovering_;
  return process_crash ? oracle_.allowed() : oracle_.allowed_after_power_loss();
}

void CrashRun::AfterPoint(const sim::WritebackUnits& units, const sim::ImagePlan& plan) {
  // What a reader would see that comes while a flush or merge stands at its fence.
  if (readers_beside_ && point_ % 4 == 0) ReadAll();
  if (capture_in_ != 0 && --capture_in_ == 0 && !muted_) Capture(units, plan);
}

/// Chooses one image for the run to go on with, after the operation under way has come to its end.
void CrashRun::Capture(const sim::WritebackUnits& units, const sim::ImagePlan& plan) {
  Random random(Mix64(seed_ + 3) ^ point_);
  std::vector<uint32_t> choice;
  plan.Choose(random.Uniform(plan.size()), &choice);
  const std::vector<uint32_t> prefixes = units.LinePrefixes(choice, 0);
  Captured captured;
  captured.hash = sim_.ImageHash(prefixes);
  captured.allowed = recovering_.has_value() ? *recovering_ : oracle_.allowed_after_power_loss();
  captured.segments = device_->durable.segments();
  device_->durable.PushFrame();
  sim_.MakeImage(prefixes);
  const char* begin = device_->durable.base();
  captured.bytes.assign(begin, begin + device_->durable.published_bytes());
  device_->durable.PopFrame();
  captured.tier = device_->checker.run_tier().state();
  captured.tier.LosePower();
  captured_ = std::move(captured);
  muted_ = true;
}

// ---- The run
// -------------------------------------------------------------------------------------

std::optional<Failure> CrashRun::Run() {
  oracle_.Begin({});
  muted_ = workload_.prefill != 0;
  Open(false);
  Prefill();
  for (uint32_t i = 0; i < workload_.operations && !failure_.has_value(); ++i) {
    if (muted_ && !captured_.has_value()) break;
    ++device_->checker.counts().operations;
    Step(generator_.NextAction());
    if (captured_.has_value() && !failure_.has_value()) LosePower();
  }
  if (!failure_.has_value()) CheckEnd();
  Abandon();
  return failure_;
}

/// What the run begins with.
void CrashRun::Prefill() {
  if (workload_.prefill == 0 || failure_.has_value()) return;
  for (uint32_t i = 0; i < workload_.prefill && !failure_.has_value(); ++i) Write(Action::kPut);
  muted_ = failure_.has_value();
}

void CrashRun::Open(bool other_settings) {
  const Options options = other_settings ? OtherSettings(options_, &random_) : options_;
  Result<std::unique_ptr<DB>> opened =
      OpenBare(options, std::make_unique<sim::SimMedia>(&sim_, BootId(boot_)), workload_.compared);
  if (!opened.ok()) {
    Fail("open: " + opened.status().ToString());
    return;
  }
  db_ = std::move(*opened);
  if (recovering_.has_value()) {
    const std::string wrong = CheckContent(db_.get(), &*recovering_);
    if (!wrong.empty()) {
      Fail("after the crash of the run itself: " + wrong);
      return;
    }
    oracle_.Adopt(StateLeft(*recovering_));
    recovering_.reset();
  }
  Finish(Status::OK(), "open");
}

/// The operation in flight has returned.
void CrashRun::Finish(const Status& status, const char* what, bool synced) {
  if (status.ok()) {
    oracle_.Acknowledge();
    if (synced) oracle_.Synced();
  } else if (status.IsOutOfSpace() && workload_.max_bytes != 0) {
    oracle_.Refuse();
  } else {
    Fail(std::string(what) + ": " + status.ToString());
    return;
  }
  sim_.Acknowledge();
}

void CrashRun::Step(Action action) {
  test::region_of_thread = static_cast<uint32_t>(Mix64(seed_ + 5) ^ Mix64(++steps_)) >> 8;
  switch (action) {
    case Action::kPut:
    case Action::kSyncPut:
    case Action::kDelete:
    case Action::kBatch:
    case Action::kTransaction:
      return Write(action);
    case Action::kRangeBatch:
      return WriteRanges();
    case Action::kIngest:
    case Action::kBrokenIngest:
      return Ingest(action == Action::kBrokenIngest);
    case Action::kFlush:
    case Action::kCompact: {
      oracle_.Begin({});
      readers_beside_ = true;
      const Status status = action == Action::kFlush ? db_->Flush() : db_->Compact();
      readers_beside_ = false;
      return Finish(status, action == Action::kFlush ? "flush" : "compact", true);
    }
    case Action::kTakeSnapshot:
      snapshots_.push_back({db_->GetSnapshot(), oracle_.acknowledged()});
      return;
    case Action::kDropSnapshot:
      if (!snapshots_.empty()) snapshots_.erase(snapshots_.begin());
      return;
    case Action::kReadSnapshot:
      return ReadSnapshot();
    case Action::kTakeIterator:
      return TakeIterator();
    case Action::kMoveIterator:
      if (!iterators_.empty()) {
        const std::string wrong = iterators_[random_.Uniform(iterators_.size())]->Move(&random_);
        if (!wrong.empty()) Fail(wrong);
      }
      return;
    case Action::kDropIterator:
      if (!iterators_.empty()) iterators_.erase(iterators_.begin());
      return;
    case Action::kRead:
      return ReadAll();
    case Action::kReopen:
      return Reopen();
    case Action::kCrash:
      if (capture_in_ == 0) capture_in_ = 1 + random_.Uniform(24);
      return Write(Action::kPut);
  }
}

void CrashRun::Write(Action action) {
  std::vector<Update> updates = generator_.Updates(action);
  WriteBatch batch;
  for (const Update& update : updates) {
    if (update.value.has_value()) {
      batch.Put(update.key, *update.value);
    } else {
      batch.Delete(update.key);
    }
  }
  oracle_.Begin(updates);
  if (action == Action::kBatch) return Finish(db_->Write(batch), "batch");
  if (action == Action::kTransaction) return Finish(Commit(updates), "transaction");
  const Update& update = updates.front();
  if (action == Action::kSyncPut) {
    WriteOptions options;
    options.sync = true;
    return Finish(db_->Put(options, update.key, *update.value), "put with sync", true);
  }
  if (update.value.has_value()) return Finish(db_->Put(update.key, *update.value), "put");
  Finish(db_->Delete(update.key), "delete");
}

/// A batch with ranges, whose deletes are those of the keys that it finds.
void CrashRun::WriteRanges() {
  WriteBatch batch;
  std::unique_ptr<Transaction> transaction;
  if (db_->GetCapabilities().transactions && random_.OneIn(2)) {
    Result<std::unique_ptr<Transaction>> begun = db_->BeginTransaction();
    if (!begun.ok()) return Fail("begin: " + begun.status().ToString());
    transaction = std::move(begun).value();
  }
  Content content = oracle_.acknowledged();
  std::vector<Update> made;
  Status kept;
  for (const Update& update : generator_.Updates(Action::kRangeBatch)) {
    const std::optional<std::string> end = generator_.RangeEnd(update.key);
    std::vector<Update> step{update};
    if (end) {
      step.clear();
      for (auto at = content.lower_bound(update.key); at != content.end() && at->first < *end; ++at)
        step.push_back({at->first, std::nullopt});
    }
    Apply(step, &content);
    made.insert(made.end(), step.begin(), step.end());
    const auto write_to = [&](auto* to) {
      if (end) return to->DeleteRange(update.key, *end);
      return update.value.has_value() ? to->Put(update.key, *update.value) : to->Delete(update.key);
    };
    if (transaction == nullptr) {
      write_to(&batch);
    } else if (kept.ok()) {
      kept = write_to(transaction.get());
    }
  }
  if (!kept.ok()) return Fail("transaction: " + kept.ToString());
  oracle_.Begin(made);
  Finish(transaction != nullptr ? transaction->Commit() : db_->Write(batch), "batch with ranges");
}

/// Reads each key that it writes; nobody else writes, so that it is never told to begin anew.
Status CrashRun::Commit(const std::vector<Update>& updates) {
  Result<std::unique_ptr<Transaction>> begun = db_->BeginTransaction();
  if (!begun.ok()) return begun.status();
  for (const Update& update : updates) {
    std::string value;
    Status s = (*begun)->GetForUpdate(update.key, &value);
    if (s.ok() || s.IsNotFound()) {
      s = update.value.has_value() ? (*begun)->Put(update.key, *update.value)
                                   : (*begun)->Delete(update.key);
    }
    if (!s.ok()) return s;
  }
  return (*begun)->Commit();
}

/// One that breaks leaves nothing, whenever the power goes.
void CrashRun::Ingest(bool breaks) {
  const std::vector<Update> updates = generator_.Updates(Action::kIngest);
  test::Pairs pairs;
  for (const Update& update : updates) pairs.emplace_back(update.key, *update.value);
  oracle_.Begin(breaks ? std::vector<Update>{} : updates);
  test::PairSource source(std::move(pairs));
  if (breaks) source.FailAt(random_.Uniform(updates.size()), Status::Aborted("no more records"));
  const Status status = test::IngestSorted(db_.get(), &source);
  if (breaks && status.code() == Status::Code::kAborted) return Finish(Status::OK(), "ingest");
  if (breaks && status.ok()) return Fail("an ingest whose source has failed returned ok");
  Finish(status, "ingest", true);
}

void CrashRun::Reopen() {
  iterators_.clear();
  snapshots_.clear();
  oracle_.Begin({});
  const Status status = db_->Close();
  db_.reset();
  if (!status.ok()) return Fail("close: " + status.ToString());
  oracle_.Acknowledge();
  oracle_.Synced();
  oracle_.Begin({});
  Open(random_.OneIn(2));
  if (failure_.has_value()) return;
  const uint64_t replayed = db_->GetStatistics().recovered_entries;
  if (replayed != 0) Fail("the pool was closed, and a log of entries was left in it");
}

/// The run goes through the crash that was captured: memory is what it left, and another boot
/// follows.
void CrashRun::LosePower() {
  Abandon();
  for (sim::SimArea* area : {&device_->memory, &device_->durable}) {
    area->Reset();
    area->set_segments(captured_->segments);
    std::copy(captured_->bytes.begin(), captured_->bytes.end(), area->base());
  }
  sim_.Start(captured_->hash);
  recovering_ = std::move(captured_->allowed);
  device_->checker.run_tier().set_state(std::move(captured_->tier));
  captured_.reset();
  muted_ = false;
  device_->checker.set_boot_id(BootId(++boot_));
  Open(random_.OneIn(2));
}

void CrashRun::ReadAll() {
  Allowed allowed = oracle_.allowed();
  std::string wrong = CheckContent(db_.get(), &allowed);
  if (!wrong.empty()) Fail("reading the running database: " + wrong);
}

void CrashRun::ReadSnapshot() {
  if (snapshots_.empty()) return;
  const HeldSnapshot& held = snapshots_[random_.Uniform(snapshots_.size())];
  ReadOptions options;
  options.snapshot = held.snapshot.get();
  auto expected = held.content.begin();
  const std::unique_ptr<Iterator> it = db_->NewIterator(options);
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++expected) {
    if (expected == held.content.end() || it->key() != expected->first ||
        it->value() != expected->second) {
      return Fail("a snapshot shows " + Readable(it->key()) + " = " + Readable(it->value()) +
                  ", which it did not hold when it was taken");
    }
  }
  if (!it->status().ok()) return Fail("snapshot scan: " + it->status().ToString());
  if (expected != held.content.end()) {
    return Fail("a snapshot has lost " + Readable(expected->first));
  }
  std::string value;
  for (const auto& [key, old_value] : held.content) {
    const Status status = db_->Get(options, key, &value);
    if (!status.ok() || value != old_value) {
      return Fail("a snapshot's get of " + Readable(key) + ": " + status.ToString());
    }
  }
}

/// Of the present, or of a snapshot that may be dropped long before the iterator is.
void CrashRun::TakeIterator() {
  ReadOptions options;
  const Content* content = &oracle_.acknowledged();
  if (!snapshots_.empty() && random_.OneIn(2)) {
    const HeldSnapshot& held = snapshots_[random_.Uniform(snapshots_.size())];
    options.snapshot = held.snapshot.get();
    content = &held.content;
  }
  iterators_.push_back(std::make_unique<HeldIterator>(db_.get(), options, *content));
}

void CrashRun::CheckEnd() {
  ReadAll();
  const std::string wrong = CheckStructure(db_.get());
  if (!wrong.empty()) Fail("the running database: " + wrong);
  sim_.CheckWholePool();
  if (!sim_.violation().empty()) Fail("safety net: " + sim_.violation());
}

void CrashRun::Abandon() {
  iterators_.clear();
  snapshots_.clear();
  sim_.set_tracking(false);
  db_.reset();
}

std::optional<Failure> RunOnce(Device* device, const Workload& workload, uint64_t seed,
                               const RunSettings& settings) {
  base::streams.store(0);  // a run, and its replay in another process, draw the same heights
  // This thread takes a slot, so that the run's, and its log's shard, is not always the first.
  base::ThreadSlot();
  std::optional<Failure> failure;
  std::thread worker([&] {
    failure = workload.threads > 1 ? ThreadedRun(device, workload, seed, settings).Run()
                                   : CrashRun(device, workload, seed, settings).Run();
  });
  worker.join();
  return failure;
}

}  // namespace braid::crash
