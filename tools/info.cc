// braid info POOL: the facts of a pool, without opening or changing it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/media_advice.h"
#include "tools/pool_flags.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

std::string InUse(const PoolInfo& info) {
  if (!info.in_use) return "no";
  return fmt::format("yes, {}by {}", info.in_use_for_reading ? "for reading " : "",
                     info.in_use_by_pid == 0 ? std::string("another process")
                                             : fmt::format("process {}", info.in_use_by_pid));
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
  row("chunks", fmt::format("{} of {}, {} free", GroupDigits(info.chunks),
                            SizeText(info.chunk_bytes), GroupDigits(info.chunks_free)));
  for (size_t i = 0; info.regions.size() > 1 && i < info.regions.size(); ++i) {
    const RegionInfo& region = info.regions[i];
    row(fmt::format("region {}", i),
        fmt::format("{}, {}, {} of {} chunks free", region.path,
                    region.node < 0 ? "node not known" : fmt::format("node {}", region.node),
                    GroupDigits(region.chunks_free), GroupDigits(region.chunks)));
  }
  if (info.regions.size() > 1) row("lists", ListKindName(info.list_kind));
  row("entries",
      fmt::format("{} in tables (newer ones are in the log)", GroupDigits(info.entries)));
  out->WriteLine("");
  row("media class", fmt::format("{}{}", MediaClassName(info.media_class),
                                 info.media_class_forced ? " (forced)" : ""));
  row("flush with", info.flush_instruction);
  row("promise", info.promise);
  out->WriteLine("");
  for (const std::string& sentence : ExplainMedia(info)) {
    out->WriteLine(EscapeForTerminal(sentence));
  }
}

void PrintJson(const PoolInfo& info, Output* out) {
  nlohmann::ordered_json object;
  // Paths are bytes; JSON takes UTF-8 alone.
  object["path"] = IsUtf8(info.path) ? info.path : EscapeText(info.path);
  object["uuid"] = info.uuid;
  object["design"] = info.design;
  object["comparator"] = info.comparator;
  object["format_version"] = info.format_version;
  object["clean"] = info.clean;
  object["in_use"] = info.in_use;
  object["in_use_by_pid"] = info.in_use_by_pid;
  object["in_use_for_reading"] = info.in_use_for_reading;
  object["pool_bytes"] = info.pool_bytes;
  object["segments"] = info.segments;
  object["chunk_bytes"] = info.chunk_bytes;
  object["chunks"] = info.chunks;
  object["chunks_free"] = info.chunks_free;
  object["entries"] = info.entries;
  object["lists"] = info.regions.size() > 1 ? ListKindName(info.list_kind) : "one region";
  object["regions"] = nlohmann::json::array();
  for (const RegionInfo& region : info.regions) {
    nlohmann::ordered_json entry;
    entry["path"] = IsUtf8(region.path) ? region.path : EscapeText(region.path);
    entry["node"] = region.node;
    entry["bytes"] = region.bytes;
    entry["chunks"] = region.chunks;
    entry["chunks_free"] = region.chunks_free;
    object["regions"].push_back(std::move(entry));
  }
  object["media_class"] = MediaClassName(info.media_class);
  object["media_class_forced"] = info.media_class_forced;
  object["flush_instruction"] = info.flush_instruction;
  object["promise"] = info.promise;
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
