// braid verify POOL: reads and checks everything in a pool.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/pool_flags.h"
#include "tools/progress.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

class VerifyVerb final : public Verb {
 public:
  std::string name() const override { return "verify"; }
  std::string summary() const override { return "read and check every entry, link and chunk"; }
  std::string description() const override {
    return "Reads every entry, link and chunk of a pool and checks them against their checksums "
           "and against each other. A problem is named with file and offset.";
  }

  void Configure(CLI::App& app) override {
    pool_.AddTo(app);
    AddJsonFlag(app, &json_, "print what was checked and the problems as one object");
    app.add_flag("--progress", plain_progress_,
                 "print progress when stderr is not a terminal, too");
    app.footer("Lists every problem with file and offset. Exit code 2 when there is any.");
  }

  int Run() override {
    auto opened = pool_.OpenToRead();
    if (!opened.ok()) return Fail(opened.status());
    DB& db = **opened;
    Progress progress("verify", "",
                      plain_progress_ ? Progress::Style::kPlain : Progress::Style::kAuto);
    VerifyReport report;
    const Status status =
        db.Verify(&report, [&progress](double share) { progress.Update(0, share); });
    const double seconds = progress.ElapsedSeconds();
    progress.Finish();
    if (!status.ok() && !status.IsCorruption()) return Fail(status);
    // An error that the report does not list must not get lost.
    if (!status.ok() && report.problems.empty()) {
      report.problems.emplace_back(status.message());
    }
    Output out;
    Print(report, seconds, &out);
    if (report.problems.empty()) return out.Finish(CloseAndReturn(db, kExitOk));
    out.Finish(kExitError);
    return Fail(fmt::format("{} in '{}': run 'braid repair {} NEW-POOL' to salvage what is intact",
                            Counted(report.problems.size(), "problem"), pool_.path(),
                            pool_.path()));
  }

 private:
  void Print(const VerifyReport& report, double seconds, Output* out) const {
    if (json_) {
      nlohmann::ordered_json object = {{"ok", report.problems.empty()},
                                       {"entries", report.entries},
                                       {"live_entries", report.live_entries},
                                       {"links", report.links},
                                       {"chunks", report.chunks},
                                       {"bytes", report.bytes},
                                       {"seconds", seconds},
                                       {"problems", nlohmann::json::array()}};
      for (const std::string& problem : report.problems) {
        object["problems"].push_back(EscapeForTerminal(problem));
      }
      out->WriteLine(object.dump());
      return;
    }
    for (const std::string& problem : report.problems) {
      out->WriteLine("problem: " + EscapeForTerminal(problem));
    }
    out->WriteLine(fmt::format(
        "checked {} entries ({} live), {} links, {} chunks, {} in {}: {}",
        GroupDigits(report.entries), GroupDigits(report.live_entries), GroupDigits(report.links),
        GroupDigits(report.chunks), SizeText(report.bytes), DurationText(seconds),
        report.problems.empty() ? std::string("no problem found")
                                : Counted(report.problems.size(), "problem")));
  }

  PoolFlags pool_;
  bool json_ = false;
  bool plain_progress_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeVerifyVerb() { return std::make_unique<VerifyVerb>(); }

}  // namespace braid::tools
