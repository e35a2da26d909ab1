// braid checkpoint POOL TARGET and braid restore CHECKPOINT POOL: a pool's copy and back.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/pool_flags.h"
#include "tools/progress.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

/// The last line of both: what the new pool at `target` holds.
int ReportCopy(const char* done, const std::string& target, double seconds, bool json) {
  Result<PoolInfo> info = DB::Inspect(target);
  if (!info.ok()) return Fail(info.status());
  Output out;
  if (json) {
    out.WriteLine(nlohmann::ordered_json{
        {"target", IsUtf8(target) ? target : EscapeText(target)},
        {"entries", info->entries},
        {"pool_bytes", info->pool_bytes},
        {"seconds",
         seconds}}.dump());
  } else {
    out.WriteLine(fmt::format("{} '{}': {} in {}, took {}", done, EscapeForTerminal(target),
                              Counted(info->entries, "record"), SizeText(info->pool_bytes),
                              DurationText(seconds)));
  }
  return out.Finish(kExitOk);
}

class CheckpointVerb final : public Verb {
 public:
  std::string name() const override { return "checkpoint"; }
  std::string summary() const override { return "write the state of this moment to a new pool"; }
  std::string description() const override {
    return "Writes the state of this moment to a new pool: a backup that can be opened, verified, "
           "copied and restored.";
  }

  void Configure(CLI::App& app) override {
    pool_.AddTo(app);
    app.add_option("TARGET", target_, "path for the new pool; nothing may be there")
        ->required()
        ->type_name("");
    AddJsonFlag(app, &json_, "print what was written as one object");
    app.add_flag("--progress", plain_progress_,
                 "print progress when stderr is not a terminal, too");
    app.footer(
        "TARGET is a pool like any other. It takes its name when it is whole and durable; after\n"
        "an error or a signal there is nothing at TARGET. A pool that a program has open is\n"
        "checkpointed by that program: DB::CreateCheckpoint, braid_checkpoint in C.\n"
        "\n"
        "Example: braid checkpoint POOL /backup/pool-monday");
  }

  int Run() override {
    auto opened = pool_.OpenExisting();
    if (!opened.ok()) return Fail(opened.status());
    DB& db = **opened;
    Progress progress("checkpoint", "",
                      plain_progress_ ? Progress::Style::kPlain : Progress::Style::kAuto);
    CheckpointOptions options;
    options.progress = [&progress](double share) { progress.Update(0, share); };
    const Status status = db.CreateCheckpoint(target_, options);
    const double seconds = progress.ElapsedSeconds();
    progress.Finish();
    if (status.IsNotSupported()) {
      return Fail(fmt::format("{}: 'braid dump' writes its records to a file", status.ToString()));
    }
    if (!status.ok()) return Fail(status);
    return CloseAndReturn(db, ReportCopy("checkpoint at", target_, seconds, json_));
  }

 private:
  PoolFlags pool_;
  std::string target_;
  bool json_ = false;
  bool plain_progress_ = false;
};

class RestoreVerb final : public Verb {
 public:
  std::string name() const override { return "restore"; }
  std::string summary() const override { return "make a pool of a checkpoint, and verify it"; }
  std::string description() const override {
    return "Makes a new pool of a checkpoint. Every byte that is copied is verified before the "
           "pool takes its name.";
  }

  void Configure(CLI::App& app) override {
    app.add_option("CHECKPOINT", checkpoint_, "directory of the checkpoint; it is only read")
        ->required()
        ->type_name("");
    app.add_option("POOL", target_, "path for the new pool; nothing may be there")
        ->required()
        ->type_name("");
    AddJsonFlag(app, &json_, "print what was restored as one object");
    app.add_flag("--progress", plain_progress_,
                 "print progress when stderr is not a terminal, too");
    flags_.AddOptionsTo(app);
    app.footer(
        "POOL takes its name when it is whole and verified; after an error or a signal there is\n"
        "nothing. Any closed pool can stand for the checkpoint.\n"
        "\n"
        "Example: braid restore /backup/pool-monday POOL");
  }

  int Run() override {
    Progress progress("restore", "",
                      plain_progress_ ? Progress::Style::kPlain : Progress::Style::kAuto);
    CheckpointOptions options;
    options.progress = [&progress](double share) { progress.Update(0, share); };
    const Status status = DB::Restore(flags_.MakeOptions(), checkpoint_, target_, options);
    const double seconds = progress.ElapsedSeconds();
    progress.Finish();
    if (!status.ok()) return Fail(status);
    return ReportCopy("restored", target_, seconds, json_);
  }

 private:
  PoolFlags flags_;
  std::string checkpoint_;
  std::string target_;
  bool json_ = false;
  bool plain_progress_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeCheckpointVerb() { return std::make_unique<CheckpointVerb>(); }
std::unique_ptr<Verb> MakeRestoreVerb() { return std::make_unique<RestoreVerb>(); }

}  // namespace braid::tools
