// braid repair POOL NEW-POOL: salvages a damaged pool into a new one.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/pool_flags.h"
#include "tools/progress.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

/// The new pool is there, but not everything that the old one held: listed.
constexpr int kExitLosses = 1;

class RepairVerb final : public Verb {
 public:
  std::string name() const override { return "repair"; }
  std::string summary() const override { return "salvage a damaged pool into a new one"; }
  std::string description() const override {
    return "Salvages what is intact of a damaged pool into a new one. The damaged pool is only "
           "read; its headers, links and tables are not trusted.";
  }
  std::string exit_code_one() const override {
    return "The new pool is there, but lacks what is listed as lost.";
  }

  void Configure(CLI::App& app) override {
    app.add_option("POOL", damaged_, "directory of the damaged pool; it is not changed")
        ->required()
        ->type_name("");
    app.add_option("NEW-POOL", target_, "path for the new pool; nothing may be there")
        ->required()
        ->type_name("");
    AddSizeOption(app, "--chunk-bytes", &chunk_bytes_,
                  "bytes of a chunk of POOL, if its headers are gone and you know");
    app.add_option("--new-tier", new_tier_,
                   "folder of a tier for NEW-POOL, when not all has room in it; takes --max-size, "
                   "too")
        ->type_name("DIR");
    AddJsonFlag(app, &json_, "print what was salvaged and what was not as one object");
    AddHexFlag(app, &hex_, "print keys as hex digits");
    app.add_flag("--progress", plain_progress_,
                 "print progress when stderr is not a terminal, too");
    options_.AddOptionsTo(app);
    app.footer(
        "Lists every damaged place with file, offset and object. Exit code 0 when nothing is "
        "lost,\n1 when the new pool is there but lacks what is listed as lost, 2 on error.");
  }

  int Run() override {
    RepairOptions how;
    how.chunk_bytes = chunk_bytes_.value_or(0);
    how.new_tier = new_tier_;
    how.key_order = options_.KeyOrderOf(damaged_);
    Progress progress("repair", "",
                      plain_progress_ ? Progress::Style::kPlain : Progress::Style::kAuto);
    how.progress = [&progress](double share) { progress.Update(0, share); };
    RepairReport report;
    const Status status = DB::Repair(options_.MakeOptions(), damaged_, target_, &report, how);
    const double seconds = progress.ElapsedSeconds();
    progress.Finish();
    if (!status.ok()) return Fail(status);
    Output out;
    if (json_) {
      PrintJson(report, seconds, &out);
    } else {
      PrintText(report, seconds, &out);
    }
    return out.Finish(report.losses() == 0 ? kExitOk : kExitLosses);
  }

 private:
  void PrintText(const RepairReport& report, double seconds, Output* out) const {
    for (const RepairFinding& finding : report.findings) {
      std::string line =
          (finding.lost ? "lost: " : "note: ") + EscapeForTerminal(finding.ToString());
      if (finding.key)
        line += ", key " + (hex_ ? EncodeHex(*finding.key) : EscapeText(*finding.key));
      out->WriteLine(line);
    }
    const uint64_t losses = report.losses();
    const std::string of_tier =
        report.tier_records != 0
            ? fmt::format(" and {} of its tier", Counted(report.tier_records, "record"))
            : std::string();
    out->WriteLine(fmt::format("salvaged {}, {} from {}{} in {}, into '{}': {}",
                               Counted(report.records, "record"), SizeText(report.bytes),
                               Counted(report.chunks, "chunk"), of_tier, DurationText(seconds),
                               EscapeForTerminal(target_),
                               losses == 0 ? "nothing is lost" : Counted(losses, "lost range")));
  }

  void PrintJson(const RepairReport& report, double seconds, Output* out) const {
    nlohmann::ordered_json object = {{"ok", report.losses() == 0},
                                     {"records", report.records},
                                     {"tier_records", report.tier_records},
                                     {"bytes", report.bytes},
                                     {"segments", report.segments},
                                     {"chunk_bytes", report.chunk_bytes},
                                     {"chunks", report.chunks},
                                     {"entries", report.entries},
                                     {"unreadable_bytes", report.unreadable},
                                     {"losses", report.losses()},
                                     {"seconds", seconds},
                                     {"findings", nlohmann::ordered_json::array()}};
    for (const RepairFinding& finding : report.findings) {
      nlohmann::ordered_json entry = {{"lost", finding.lost},     {"file", finding.file},
                                      {"offset", finding.offset}, {"bytes", finding.bytes},
                                      {"object", finding.object}, {"problem", finding.problem}};
      if (finding.key) {
        const bool as_hex = hex_ || !IsUtf8(*finding.key);
        entry[as_hex ? "key_hex" : "key"] = as_hex ? EncodeHex(*finding.key) : *finding.key;
      }
      object["findings"].push_back(std::move(entry));
    }
    out->WriteLine(object.dump());
  }

  PoolFlags options_;
  std::string damaged_;
  std::string target_;
  std::optional<uint64_t> chunk_bytes_;
  std::string new_tier_;
  bool json_ = false;
  bool hex_ = false;
  bool plain_progress_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeRepairVerb() { return std::make_unique<RepairVerb>(); }

}  // namespace braid::tools
