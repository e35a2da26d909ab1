// The scenarios. Work of the test itself is done outside of the armed scopes, so that only calls
// below the public API fail.
#include "scenario.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "every_call.h"
#include "support/folder_state.h"

namespace braid::test {
namespace {

/// Opens with failures. Null when the open failed, which it must say.
std::unique_ptr<DB> OpenArmed(const Options& options, const std::string& pool, Ledger* ledger) {
  Status status;
  std::unique_ptr<DB> db;
  {
    const Armed armed;
    Result<std::unique_ptr<DB>> opened = DB::Open(options, pool);
    status = opened.status();
    if (opened.ok()) db = std::move(opened).value();
  }
  if (db == nullptr) ExpectHonest(status, "open", ledger);
  return db;
}

std::unique_ptr<DB> OpenCalmly(const Options& options, const std::string& pool, Ledger* ledger) {
  Result<std::unique_ptr<DB>> opened = DB::Open(options, pool);
  if (opened.ok()) return std::move(opened).value();
  ledger->Complain("open without failures: " + opened.status().ToString());
  return nullptr;
}

/// Everything acknowledged must be readable through a handle that still is there.
void ExpectReadable(DB* db, Ledger* ledger) {
  const std::unique_ptr<Iterator> it = db->NewIterator({});
  Pairs content;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    content.emplace_back(std::string(it->key()), std::string(it->value()));
  }
  if (!it->status().ok()) ledger->Complain("scan afterwards: " + it->status().ToString());
  if (!IsExplained(content, *ledger)) {
    ledger->Complain("a scan through the handle shows other content: " +
                     std::string(SamePairs(content, ledger->model).message()));
  }
  for (const auto& [key, value] : ledger->model) {
    const bool uncertain =
        std::any_of(ledger->maybe.begin(), ledger->maybe.end(),
                    [&key = key](const Model& update) { return update.count(key) != 0; });
    if (uncertain) continue;
    const std::string got = GetText(db, key);
    if (got != value) ledger->Complain("get " + key + ": " + Printable(got));
  }
}

/// Does one update with failures. The ledger learns what became of it.
class Writer {
 public:
  Writer(DB* db, Ledger* ledger) : db_(db), ledger_(ledger) {}

  void Put(const std::string& key, const std::string& value, bool sync = false) {
    WriteOptions options;
    options.sync = sync;
    Status status;
    {
      const Armed armed;
      status = db_->Put(options, key, value);
    }
    Learn({{key, value}}, status, sync, "put");
  }
  void Delete(const std::string& key) {
    Status status;
    {
      const Armed armed;
      status = db_->Delete(key);
    }
    Learn({{key, ""}}, status, false, "delete");
  }
  void Write(const Model& updates) {
    WriteBatch batch;
    for (const auto& [key, value] : updates) {
      value.empty() ? batch.Delete(key) : batch.Put(key, value);
    }
    Status status;
    {
      const Armed armed;
      status = db_->Write(batch);
    }
    Learn(updates, status, true, "batch");
  }
  void Flush() {
    Status status;
    {
      const Armed armed;
      status = db_->Flush();
    }
    if (!status.ok()) ExpectHonest(status, "flush", ledger_);
  }
  void Compact() {
    Status status;
    {
      const Armed armed;
      status = db_->Compact();
    }
    if (!status.ok()) ExpectHonest(status, "compact", ledger_);
  }

 private:
  void Learn(const Model& updates, const Status& status, bool may_be_committed, const char* what) {
    if (status.ok()) {
      for (const auto& [key, value] : updates) {
        if (value.empty()) {
          ledger_->model.erase(key);
        } else {
          ledger_->model[key] = value;
        }
      }
      return;
    }
    ExpectHonest(status, what, ledger_);
    // A batch may run out of memory when it is durable; a sync may fail when the write is done.
    // After the first such error the database takes no more writes, so there is only one.
    if (may_be_committed && ledger_->maybe.empty()) ledger_->maybe.push_back(updates);
  }

  DB* db_;
  Ledger* ledger_;
};

std::string ValueOf(uint64_t round, uint64_t i, size_t bytes) {
  std::string value = std::to_string(round) + ":" + std::to_string(i) + ":";
  value.resize(std::max(value.size(), bytes), static_cast<char>('a' + i % 26));
  return value;
}

/// Puts, deletes, batches and large values, through several flushes, merges and a growth.
void DoWrites(DB* db, uint64_t round, Ledger* ledger) {
  Writer writer(db, ledger);
  for (uint64_t i = 0; i < 60; ++i) {
    writer.Put(NumberedKey(i % 40), ValueOf(round, i, 900), i % 20 == 7);
    if (i % 3 == 1) writer.Delete(NumberedKey((i * 7) % 40));
    if (i % 10 == 4) {
      Model updates;
      for (uint64_t j = 0; j < 6; ++j)
        updates[NumberedKey((i + j * 5) % 50)] = ValueOf(round, j, 90);
      updates[NumberedKey((i + 3) % 50)] = "";
      writer.Write(updates);
    }
    if (i % 25 == 14) writer.Put("large" + std::to_string(i), ValueOf(round, i, 100'000));
    if (i == 30) writer.Flush();
  }
  writer.Compact();
}

void PrepareNothing(const Options&, const std::string&, Ledger*) {}

void PrepareClosed(const Options& options, const std::string& pool, Ledger* ledger) {
  const std::unique_ptr<DB> db = OpenCalmly(options, pool, ledger);
  if (db == nullptr) return;
  DoWrites(db.get(), 0, ledger);
  Writer writer(db.get(), ledger);
  // Something in every part: L1 from the Compact above, L0, and the log.
  for (uint64_t i = 0; i < 20; ++i) writer.Put(NumberedKey(i * 3), ValueOf(1, i, 400));
  writer.Flush();
  for (uint64_t i = 0; i < 20; ++i) writer.Put(NumberedKey(i * 2), ValueOf(2, i, 400));
  const Status closed = db->Close();
  if (!closed.ok()) ledger->Complain("close: " + closed.ToString());
}

/// A child writes and ends without closing. What it writes is known.
void PrepareCrashed(const Options& options, const std::string& pool, Ledger* ledger) {
  PrepareClosed(options, pool, ledger);
  const pid_t child = ::fork();
  if (child == 0) {
    Ledger its;
    const std::unique_ptr<DB> db = OpenCalmly(options, pool, &its);
    if (db == nullptr) ::_exit(1);
    Writer writer(db.get(), &its);
    for (uint64_t i = 0; i < 60; ++i) writer.Put(NumberedKey(i), ValueOf(3, i, 500));
    writer.Write({{NumberedKey(3), "b3"}, {NumberedKey(4), ""}, {"batch", "b"}});
    writer.Put("large", ValueOf(3, 9, 90'000));
    ::_exit(its.complaints.empty() ? 0 : 2);
  }
  int how = 0;
  if (child < 0 || ::waitpid(child, &how, 0) != child || how != 0) {
    ledger->Complain("the child could not write");
  }
  for (uint64_t i = 0; i < 60; ++i) ledger->model[NumberedKey(i)] = ValueOf(3, i, 500);
  ledger->model[NumberedKey(3)] = "b3";
  ledger->model.erase(NumberedKey(4));
  ledger->model["batch"] = "b";
  ledger->model["large"] = ValueOf(3, 9, 90'000);
}

/// Closes with failures; when that says an error, the destructor has nothing left to do.
void CloseArmed(std::unique_ptr<DB> db, Ledger* ledger) {
  Status status;
  {
    const Armed armed;
    status = db->Close();
    db.reset();
  }
  if (!status.ok()) ExpectHonest(status, "close", ledger);
}

void RunCreate(const Options& options, const std::string& pool, Ledger* ledger) {
  std::unique_ptr<DB> db = OpenArmed(options, pool, ledger);
  if (db == nullptr) return;
  Writer(db.get(), ledger).Put("first", "value");
  CloseArmed(std::move(db), ledger);
}

void RunWrites(const Options& options, const std::string& pool, Ledger* ledger) {
  const std::unique_ptr<DB> db = OpenCalmly(options, pool, ledger);
  if (db == nullptr) return;
  DoWrites(db.get(), 5, ledger);
  ledger->reached = db->GetStatistics();
  ExpectReadable(db.get(), ledger);
  CallEverything(db.get(), ledger);
  ExpectReadable(db.get(), ledger);
  // The close may fail for the reason that the background failed for; the next open must not.
  const Status closed = db->Close();
  if (!closed.ok()) ExpectHonest(closed, "close after failures", ledger);
}

void RunOpen(const Options& options, const std::string& pool, Ledger* ledger) {
  std::unique_ptr<DB> db = OpenArmed(options, pool, ledger);
  if (db == nullptr) return;
  ExpectReadable(db.get(), ledger);
  Writer(db.get(), ledger).Put("opened", "value");
  CallEverything(db.get(), ledger);
  const Status closed = db->Close();
  if (!closed.ok()) ExpectHonest(closed, "close after failures", ledger);
}

void RunClose(const Options& options, const std::string& pool, Ledger* ledger) {
  std::unique_ptr<DB> db = OpenCalmly(options, pool, ledger);
  if (db == nullptr) return;
  for (uint64_t i = 0; i < 30; ++i) {
    const Status put = db->Put(NumberedKey(i), ValueOf(7, i, 700));
    if (!put.ok()) return ledger->Complain("put: " + put.ToString());
    ledger->model[NumberedKey(i)] = ValueOf(7, i, 700);
  }
  CloseArmed(std::move(db), ledger);
}

/// A scan with failures shows a part of the truth and then says why, or all of it.
void ScanArmed(DB* db, const Snapshot* snapshot, bool forward, Ledger* ledger) {
  ReadOptions options;
  options.snapshot = snapshot;
  Pairs content;
  std::unique_ptr<Iterator> it;
  Status status;
  {
    const Armed armed;
    it = db->NewIterator(options);
    forward ? it->SeekToFirst() : it->SeekToLast();
  }
  while (it->Valid()) {
    content.emplace_back(std::string(it->key()), std::string(it->value()));
    const Armed armed;
    forward ? it->Next() : it->Prev();
  }
  {
    const Armed armed;
    status = it->status();
  }
  if (!status.ok()) {
    ExpectHonest(status, "scan", ledger);
  } else if (!forward) {
    std::reverse(content.begin(), content.end());
  }
  for (const auto& [key, value] : content) {
    const auto expected = ledger->model.find(key);
    if (expected == ledger->model.end() || expected->second != value) {
      ledger->Complain("a scan shows " + key + " = " + Printable(value));
    }
  }
  if (status.ok() && content.size() != ledger->model.size()) {
    ledger->Complain("a scan ended without an error after " + std::to_string(content.size()) +
                     " of " + std::to_string(ledger->model.size()) + " keys");
  }
}

void RunReads(const Options& options, const std::string& pool, Ledger* ledger) {
  const std::unique_ptr<DB> db = OpenCalmly(options, pool, ledger);
  if (db == nullptr) return;
  std::shared_ptr<const Snapshot> snapshot;
  {
    const Armed armed;
    snapshot = db->GetSnapshot();
  }
  ScanArmed(db.get(), nullptr, true, ledger);
  ScanArmed(db.get(), nullptr, false, ledger);
  if (snapshot != nullptr) ScanArmed(db.get(), snapshot.get(), true, ledger);
  for (const auto& [key, value] : ledger->model) {
    std::string got;
    Status status;
    {
      const Armed armed;
      status = db->Get(key, &got);
    }
    if (!status.ok()) {
      ExpectHonest(status, "get", ledger);
    } else if (got != value) {
      ledger->Complain("get " + key + ": " + Printable(got));
    }
  }
  VerifyReport report;
  Status verified;
  std::string property;
  {
    const Armed armed;
    verified = db->Verify(&report);
    (void)db->GetProperty("braid.stats.json", &property);
    (void)db->GetStatistics();
  }
  if (!verified.ok()) ExpectHonest(verified, "verify", ledger);
  ExpectReadable(db.get(), ledger);
  const Status closed = db->Close();
  if (!closed.ok()) ledger->Complain("close: " + closed.ToString());
}

/// An open for reading changes nothing, also when it fails half-way.
void RunReadOnly(const Options& options, const std::string& pool, Ledger* ledger) {
  const FolderState before = StateOfFolder(pool);
  Options read_only = options;
  read_only.read_only = true;
  if (std::unique_ptr<DB> db = OpenArmed(read_only, pool, ledger); db != nullptr) {
    ScanArmed(db.get(), nullptr, true, ledger);
    ExpectReadable(db.get(), ledger);
    CloseArmed(std::move(db), ledger);
  }
  const std::string difference = FirstDifference(before, StateOfFolder(pool));
  if (!difference.empty()) ledger->Complain("a reader: " + difference);
}

void RunInspect(const Options& options, const std::string& pool, Ledger* ledger) {
  Status inspected;
  {
    const Armed armed;
    inspected = DB::Inspect(pool, options).status();
  }
  if (!inspected.ok()) ExpectHonest(inspected, "inspect", ledger);
  Status destroyed;
  {
    const Armed armed;
    destroyed = DB::Destroy(pool);
  }
  if (!destroyed.ok()) {
    ExpectHonest(destroyed, "destroy", ledger);
    destroyed = DB::Destroy(pool);  // what was interrupted can be done again
    if (!destroyed.ok()) ledger->Complain("destroy again: " + destroyed.ToString());
  }
  ledger->model.clear();
}

}  // namespace

const Scenario kScenarios[] = {
    {"Create", false, PrepareNothing, RunCreate},
    {"CreateWithThreads", true, PrepareNothing, RunCreate},
    {"Writes", false, PrepareNothing, RunWrites},
    {"WritesWithThreads", true, PrepareNothing, RunWrites},
    {"WritesToAnOldPool", false, PrepareClosed, RunWrites},
    {"OpenAfterClose", false, PrepareClosed, RunOpen},
    {"OpenWithThreads", true, PrepareClosed, RunOpen},
    {"Recovery", false, PrepareCrashed, RunOpen},
    {"RecoveryWithThreads", true, PrepareCrashed, RunOpen},
    {"Close", false, PrepareClosed, RunClose},
    {"CloseWithThreads", true, PrepareClosed, RunClose},
    {"Reads", false, PrepareClosed, RunReads},
    {"ReadOnly", false, PrepareClosed, RunReadOnly},
    {"ReadOnlyRecovery", false, PrepareCrashed, RunReadOnly},
    {"InspectAndDestroy", false, PrepareClosed, RunInspect},
};
const size_t kScenarioCount = sizeof kScenarios / sizeof kScenarios[0];

Options FaultOptions(const Scenario& scenario) {
  Options options = TinyOptions();
  // Large chunks keep the tables small that an open allocates for the whole address range.
  options.pool.chunk_bytes = 32ull << 10;
  options.pool.initial_bytes = 512ull << 10;
  options.memtable.bytes = 16ull << 10;
  options.background_threads = scenario.threads;
  return options;
}

void ExpectHonest(const Status& status, const std::string& what, Ledger* ledger) {
  const bool possible = status.IsIOError() || status.IsOutOfSpace() || status.IsOutOfMemory();
  if (!possible || status.message().empty()) ledger->Complain(what + ": " + status.ToString());
}

bool IsExplained(const Pairs& content, const Ledger& ledger) {
  for (size_t choice = 0; choice < size_t{1} << ledger.maybe.size(); ++choice) {
    Model model = ledger.model;
    for (size_t i = 0; i < ledger.maybe.size(); ++i) {
      if ((choice >> i & 1) == 0) continue;
      for (const auto& [key, value] : ledger.maybe[i]) {
        if (value.empty()) {
          model.erase(key);
        } else {
          model[key] = value;
        }
      }
    }
    if (SamePairs(content, model)) return true;
  }
  return false;
}

void CheckAfterwards(const Options& options, const std::string& pool, Ledger* ledger) {
  const std::unique_ptr<DB> db = OpenCalmly(options, pool, ledger);
  if (db == nullptr) return;
  Pairs content;
  const std::unique_ptr<Iterator> it = db->NewIterator({});
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    content.emplace_back(std::string(it->key()), std::string(it->value()));
  }
  if (!it->status().ok()) ledger->Complain("scan: " + it->status().ToString());
  if (!IsExplained(content, *ledger)) {
    ledger->Complain("after the next open: " +
                     std::string(SamePairs(content, ledger->model).message()));
  }
  VerifyReport report;
  const Status verified = db->Verify(&report);
  if (!verified.ok()) ledger->Complain("verify: " + verified.ToString());
  const Status put = db->Put("afterwards", "x");
  if (!put.ok()) ledger->Complain("put afterwards: " + put.ToString());
  const Status closed = db->Close();
  if (!closed.ok()) ledger->Complain("close afterwards: " + closed.ToString());
}

}  // namespace braid::test
