// braid compact POOL: brings a pool into the shape that reads like best: one level, in order,
// without garbage.
#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "tools/pool_flags.h"
#include "tools/progress.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

constexpr auto kLook = std::chrono::milliseconds(100);

/// Draws the progress of a call that has none of its own, from the store's statistics.
class Watcher {
 public:
  Watcher(DB* db, Progress* progress) : db_(db), progress_(progress), start_(db->GetStatistics()) {
    thread_ = std::thread([this] { Loop(); });
  }
  ~Watcher() { Stop(); }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Loop() {
    // Every entry outside L1 is merged; what is reclustered after that is known only when it is
    // done.
    const uint64_t waiting = start_.memtable_entries + start_.l0_entries;
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kLook, [this] { return stopped_; })) {
      const Statistics now = db_->GetStatistics();
      const uint64_t left = now.memtable_entries + now.l0_entries;
      const uint64_t moved = now.merged_entries + now.reclustered_entries - start_.merged_entries -
                             start_.reclustered_entries;
      double share = Progress::kUnknownShare;
      if (left > 0 && waiting >= left) {
        share = static_cast<double>(waiting - left) / static_cast<double>(waiting);
      }
      progress_->Update(moved, share);
    }
  }

  DB* const db_;
  Progress* const progress_;
  const Statistics start_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread thread_;
};

class CompactVerb final : public Verb {
 public:
  std::string name() const override { return "compact"; }
  std::string summary() const override { return "merge all tables and free what is overwritten"; }
  std::string description() const override {
    return "Merges all tables of a pool into one level, reclusters records in the order of their "
           "keys where that pays, and frees the chunks of what was overwritten or deleted.";
  }

  void Configure(CLI::App& app) override {
    pool_.AddTo(app);
    AddJsonFlag(app, &json_, "print what was done as one object");
    app.add_flag("--progress", plain_progress_,
                 "a line every 10 s when stderr is no terminal, too");
    app.footer(
        "A store does this by itself while it is open, so nothing needs it for its safety: run it\n"
        "before a pool that is only read from then on is measured, copied or put aside. Free "
        "space\n"
        "goes back to the pool, whose files keep their size.");
  }

  int Run() override {
    auto opened = pool_.OpenExisting();
    if (!opened.ok()) return Fail(opened.status());
    DB& db = **opened;
    const Statistics before = db.GetStatistics();
    Progress progress("compact", "entries",
                      plain_progress_ ? Progress::Style::kPlain : Progress::Style::kAuto);
    Status status;
    {
      Watcher watcher(&db, &progress);
      status = db.Compact();
    }
    const double seconds = progress.ElapsedSeconds();
    progress.Finish();
    if (!status.ok()) return Fail(status);
    Output out;
    Print(before, db.GetStatistics(), seconds, &out);
    return out.Finish(CloseAndReturn(db, kExitOk));
  }

 private:
  void Print(const Statistics& before, const Statistics& after, double seconds, Output* out) const {
    const uint64_t merged = after.merged_entries - before.merged_entries;
    const uint64_t reclustered = after.reclustered_entries - before.reclustered_entries;
    const uint64_t collected = after.collected_chunks - before.collected_chunks;
    if (json_) {
      out->WriteLine(nlohmann::ordered_json{
          {"merged_entries", merged},
          {"reclustered_entries", reclustered},
          {"collected_chunks", collected},
          {"used_bytes_before", before.pool_used_bytes},
          {"used_bytes", after.pool_used_bytes},
          {"seconds",
           seconds}}.dump());
      return;
    }
    out->WriteLine(fmt::format("merged {}, reclustered {}, freed {} in {}; {} in use",
                               Counted(merged, "record"), GroupDigits(reclustered),
                               Counted(collected, "chunk"), DurationText(seconds),
                               SizeText(after.pool_used_bytes)));
  }

  PoolFlags pool_;
  bool json_ = false;
  bool plain_progress_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeCompactVerb() { return std::make_unique<CompactVerb>(); }

}  // namespace braid::tools
