// braid compact POOL: brings a pool into the shape that reads like best: one level, in order,
// without garbage.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/interrupt.h"
#include "tools/key_range_flags.h"
#include "tools/pool_flags.h"
#include "tools/progress.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

class CompactVerb final : public Verb {
 public:
  std::string name() const override { return "compact"; }
  std::string summary() const override { return "merge all tables and free what is overwritten"; }
  std::string description() const override {
    return "Merges all tables of a pool into one level, reclusters records in the order of their "
           "keys where that pays, and frees the chunks of what was overwritten or deleted. With a "
           "range, only tables that hold keys of it are merged. Ctrl-C ends it in good order: what "
           "was done by then stays.";
  }

  void Configure(CLI::App& app) override {
    pool_.AddTo(app);
    range_.AddTo(app);
    AddHexFlag(app, &hex_, "bounds are hex digits");
    AddJsonFlag(app, &json_, "print what was done as one object");
    app.add_flag("--progress", plain_progress_,
                 "a line every 10 s when stderr is not a terminal, too");
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
    const Result<KeyRange> range = range_.MakeRange(hex_, pool_.KeyOrderOfPool().get());
    if (!range.ok()) return Fail(range.status());
    const Statistics before = db.GetStatistics();
    Progress progress("compact", "entries",
                      plain_progress_ ? Progress::Style::kPlain : Progress::Style::kAuto);
    StopOnSignal();
    CompactOptions options;
    options.progress = [&](double share) {
      const Statistics now = db.GetStatistics();
      progress.Update(now.merged_entries + now.reclustered_entries - before.merged_entries -
                          before.reclustered_entries,
                      share);
      return !StopRequested();
    };
    const ReadOptions& bounds = range->options;
    const auto slice = [](const std::optional<std::string>& bound) {
      return bound ? std::optional<Slice>(*bound) : std::nullopt;
    };
    const Status status = range->empty ? Status::OK()
                                       : db.CompactRange(options, slice(bounds.lower_bound),
                                                         slice(bounds.upper_bound));
    const double seconds = progress.ElapsedSeconds();
    progress.Finish();
    if (!status.ok()) {
      const Status closed = db.Close();
      return Fail(closed.ok() ? status : closed);
    }
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
  RangeFlags range_;
  bool hex_ = false;
  bool json_ = false;
  bool plain_progress_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeCompactVerb() { return std::make_unique<CompactVerb>(); }

}  // namespace braid::tools
