// braid info POOL: the facts of a pool, without opening or changing it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/media_advice.h"
#include "tools/pool_flags.h"
#include "tools/stats_file.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

std::string InUse(const PoolInfo& info) {
  if (!info.in_use) return "no";
  return fmt::format("yes, {}by {}", info.in_use_for_reading ? "for reading " : "",
                     info.in_use_by_pid == 0 ? std::string("another process")
                                             : fmt::format("process {}", info.in_use_by_pid));
}

std::string AtPowerLoss(PowerLoss power_loss) {
  switch (power_loss) {
    case PowerLoss::kKept:
      return "kept";
    case PowerLoss::kGone:
      return "ordinary memory, gone at power loss";
    case PowerLoss::kAsHost:
      return "what the host of the virtual device keeps";
    case PowerLoss::kUnknown:
      break;
  }
  return "not known: the kernel does not say what lies below";
}

/// Lines of one region's device; `of` is behind the names of the lines.
template <class Row>
void PrintDevice(const DeviceInfo& device, const std::string& of, const Row& row) {
  if (!device.name.empty()) row("device" + of, device.name);
  if (!device.provider.empty()) {
    row("provider" + of, device.provider);
    row("persists" + of, device.persistence_domain.empty() ? "no persistence domain is named"
                                                           : device.persistence_domain);
  }
  if (device.dirty_shutdowns) {
    row("dirty shutdowns" + of, GroupDigits(*device.dirty_shutdowns));
  }
  if (device.bad_blocks.empty()) return;
  uint64_t sectors = 0;
  std::string places;
  constexpr size_t kShown = 4;
  for (size_t i = 0; i < device.bad_blocks.size(); ++i) {
    const BadBlocks& blocks = device.bad_blocks[i];
    sectors += blocks.sectors;
    if (i < kShown) places += fmt::format(", {}+{}", blocks.first_sector, blocks.sectors);
  }
  row("bad blocks" + of,
      fmt::format("{} of 512 bytes{}{}: reads of them fail", Counted(sectors, "sector"), places,
                  device.bad_blocks.size() > kShown ? ", ..." : ""));
}

/// What is live, where the process that has the pool open tells it.
template <class Row>
void PrintLive(const PoolInfo& info, const Row& row) {
  if (!info.in_use) return;
  StatsSnapshot told;
  std::string why;
  if (ReadStatsFile(info.path, &told, &why) != Seen::kSnapshot) return;
  const auto sum = [&](std::initializer_list<const char*> fields) {
    uint64_t bytes = 0;
    for (const char* field : fields) bytes += told.Value(field).value_or(0);
    return SizeText(bytes);
  };
  if (!told.Value("pool_free_bytes")) return;  // of an earlier version
  row("live", fmt::format("{} in logs, {} in L0, {} below, {} of large values", sum({"log_bytes"}),
                          sum({"l0_bytes"}), sum({"l1_bytes"}), sum({"value_bytes"})));
  row("obsolete",
      fmt::format("{} of entries, {} of large values; {} of it waits for readers and snapshots",
                  sum({"l0_obsolete_bytes", "l1_obsolete_bytes"}), sum({"value_obsolete_bytes"}),
                  sum({"retired_bytes"})));
}

void PrintText(const PoolInfo& info, Output* out) {
  const auto row = [out](std::string_view name, std::string_view text) {
    out->WriteLine(fmt::format("{:<18}{}", name, EscapeForTerminal(text)));
  };
  row("pool", info.path);
  row("id", info.uuid);
  row("design", info.design);
  row("order of keys", info.comparator);
  row("format version", std::to_string(info.format_version));
  row("closed in order", info.clean ? "yes" : "no: the next open recovers");
  row("in use", InUse(info));
  row("size",
      fmt::format("{} in {}", SizeText(info.pool_bytes), Counted(info.segments, "segment")));
  row("on the medium",
      fmt::format("{}{}", SizeText(info.allocated_bytes),
                  info.why_no_holes.empty()
                      ? std::string(": what stays free is given back to the file system")
                      : "; nothing is given back: " + info.why_no_holes));
  row("chunks", fmt::format("{} of {}, {} free", GroupDigits(info.chunks),
                            SizeText(info.chunk_bytes), GroupDigits(info.chunks_free)));
  for (size_t i = 0; info.regions.size() > 1 && i < info.regions.size(); ++i) {
    const RegionInfo& region = info.regions[i];
    row(fmt::format("region {}", i),
        fmt::format("{}, {}, {} of {} chunks free", region.path,
                    region.node < 0 ? "node not known" : fmt::format("node {}", region.node),
                    GroupDigits(region.chunks_free), GroupDigits(region.chunks)));
  }
  if (!info.tier.empty()) {
    row("tier", fmt::format("{}: a part of the data is there, and not counted here", info.tier));
  }
  if (info.regions.size() > 1) row("lists", ListKindName(info.list_kind));
  row("space", fmt::format("entries {}, large values {}, free {}, the rest {}",
                           SizeText(info.chunks_of_entries * info.chunk_bytes),
                           SizeText(info.chunks_of_values * info.chunk_bytes),
                           SizeText(info.chunks_free * info.chunk_bytes),
                           SizeText((info.chunks - info.chunks_free - info.chunks_of_entries -
                                     info.chunks_of_values) *
                                    info.chunk_bytes)));
  PrintLive(info, row);
  row("entries", fmt::format("{} in tables, {} of them in {} of L0 (newer ones are in the log)",
                             GroupDigits(info.entries), GroupDigits(info.l0_entries),
                             Counted(info.l0_tables, "table")));
  out->WriteLine("");
  for (const RegionInfo& region : info.regions) {
    const std::string of =
        info.regions.size() > 1 ? fmt::format(" {}", &region - info.regions.data()) : std::string();
    PrintDevice(region.device, of, row);
  }
  row("media class", fmt::format("{}{}", MediaClassName(info.media_class),
                                 info.media_class_forced ? " (forced)" : ""));
  row("flush with", info.flush_instruction);
  row("at power loss", AtPowerLoss(info.power_loss));
  row("promise", info.promise);
  out->WriteLine("");
  for (const std::string& sentence : ExplainMedia(info)) {
    out->WriteLine(EscapeForTerminal(sentence));
  }
}

void PrintJson(const PoolInfo& info, Output* out) {
  auto object = nlohmann::ordered_json::parse(ToJson(info));
  object["explanation"] = nlohmann::json::array();
  for (const std::string& sentence : ExplainMedia(info)) {
    object["explanation"].push_back(EscapeForTerminal(sentence));
  }
  out->WriteLine(object.dump());
}

class InfoVerb final : public Verb {
 public:
  std::string name() const override { return "info"; }
  std::string summary() const override {
    return "what a pool is, and what a write to it survives and why";
  }
  std::string description() const override {
    return "Shows what a pool is: its design, format, size and regions, whether a process has it "
           "open, the class of its medium, what an acknowledged write survives there and why. The "
           "pool is not opened and not changed.";
  }

  void Configure(CLI::App& app) override {
    pool_.AddTo(app);
    AddJsonFlag(app, &json_, "print the facts as one object");
    app.footer("Reads the pool without opening it; works while another process has it open.");
  }

  int Run() override {
    const Result<PoolInfo> info = pool_.Inspect();
    if (!info.ok()) return Fail(info.status());
    Output out;
    if (json_) {
      PrintJson(info.value(), &out);
    } else {
      PrintText(info.value(), &out);
    }
    return out.Finish(kExitOk);
  }

 private:
  PoolFlags pool_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeInfoVerb() { return std::make_unique<InfoVerb>(); }

}  // namespace braid::tools
