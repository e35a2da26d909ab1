#include "bench/harness/html_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "bench/harness/html_parts.h"
#include "bench/harness/html_scenario.h"
#include "bench/harness/html_text.h"

namespace braid::bench {
namespace {

// Colours differ in lightness as well as in hue, so that they can be told apart without colours.
constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --page: #f4f6f8; --card: #ffffff; --ink: #1a2027;
  --soft: #59636e; --line: #dfe4ea; --band: #59636e18; --s0: #0067b8; --s1: #d9480f; --s2: #0b8a5f;
  --s3: #9c36b5; --s4: #b08800; --s5: #d6336c; }
@media (prefers-color-scheme: dark) { :root { --page: #12161b; --card: #1b2128; --ink: #e6eaee;
  --soft: #9aa5b1; --line: #323b45; --band: #9aa5b11f; --s0: #4dabf7; --s1: #ff922b; --s2: #38d9a9;
  --s3: #da77f2; --s4: #ffd43b; --s5: #faa2c1; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1360px; margin: 0 auto; padding: 28px 24px 40px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0; }
h2 { font-size: 20px; margin: 44px 0 0; padding-top: 18px; border-top: 2px solid var(--line); }
h3 { font-size: 17px; margin: 34px 0 12px; }
h4 { font-size: 14px; margin: 0 0 8px; }
p.work { font-size: 16px; font-weight: 600; margin: 6px 0 0; }
p.lead { color: var(--soft); margin: 6px 0 0; }
p.remark { color: var(--soft); font-size: 13px; margin: 6px 0 0; }
p.above { margin: -8px 0 10px; }
p.empty { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 24px; margin: 24px 0 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 14px 16px; margin: 0; min-width: 0; }
.grid + .card { margin-top: 16px; }
.grid { display: grid; gap: 16px;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 520px), 1fr)); }
.columns { display: grid; gap: 16px; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr)); }
.tiles { display: grid; gap: 12px; margin-top: 24px;
  grid-template-columns: repeat(auto-fill, minmax(212px, 1fr)); }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 12px 14px; display: flex; flex-direction: column; }
.tile b { font-size: 13px; font-weight: 600; color: var(--soft); }
.tile strong { font-size: 25px; line-height: 1.3; font-variant-numeric: tabular-nums; }
.tile small { font-size: 13px; font-weight: 400; color: var(--soft); margin-left: 6px; }
.tile span { font-size: 12.5px; color: var(--soft); }
figcaption { font-weight: 600; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 2px 0 4px;
  padding: 0; font-size: 13px; color: var(--soft); }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px;
  margin-right: 6px; background: var(--c); vertical-align: -1px; }
svg { display: block; width: 100%; height: auto; max-width: 800px; margin: 0 auto; }
svg text { font-size: 12px; fill: var(--soft);
  font-family: inherit; font-variant-numeric: tabular-nums; }
svg .name, svg .value { fill: var(--ink); }
svg .middle { text-anchor: middle; }
svg .end { text-anchor: end; }
line.grid { stroke: var(--line); stroke-width: 1; }
.axis { stroke: var(--soft); stroke-width: 1; }
.line { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; }
.mark { fill: var(--c); stroke: var(--card); stroke-width: 1.5; }
.bar { fill: var(--c); }
.band { fill: var(--band); }
.hover { fill: transparent; }
.hover:hover { fill: var(--band); }
.s0 { --c: var(--s0); } .s1 { --c: var(--s1); } .s2 { --c: var(--s2); }
.s3 { --c: var(--s3); } .s4 { --c: var(--s4); } .s5 { --c: var(--s5); }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; }
.card .scroll { border: 0; border-radius: 0; }
table { border-collapse: collapse; font-size: 13.5px; }
table.numbers { width: 100%; font-variant-numeric: tabular-nums; }
.numbers th, .numbers td { padding: 7px 10px; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
.numbers th:first-child { text-align: left; }
.numbers thead th { color: var(--soft); font-weight: 600; white-space: normal;
  vertical-align: bottom; line-height: 1.25; }
.numbers tbody th { font-weight: 600; }
.numbers tbody tr:last-child > * { border-bottom: 0; }
table.facts { width: 100%; }
.facts th { text-align: left; font-weight: 400; color: var(--soft); white-space: nowrap;
  padding: 2px 14px 2px 0; vertical-align: top; width: 1%; }
.facts td { padding: 2px 0; overflow-wrap: anywhere; }
footer { color: var(--soft); font-size: 13px; margin-top: 36px; }
@media print { body { background: none; } .card, .tile { break-inside: avoid; } }
)css";

constexpr const char* kFooter =
    "Latencies are those of single operations, background work running beside them; a step of "
    "readseq and readreverse is 64 records, of a batch the batch. Lines are cache lines written "
    "back to the medium. Rates over time are averages of their interval; point at a chart for its "
    "values. \u2020: other processes or the "
    "hypervisor had a tenth of the machine or more. Absolute figures belong to the machine; a "
    "difference within the spread of the runs "
    "is none.";

bool IsCompare(const nlohmann::json& document) {
  return TextAt(document, "schema") == "braid-compare/1";
}

std::string MachineLine(const nlohmann::json& document) {
  std::string line = TextAt(document, "machine/processor");
  const auto add = [&](const std::string& text) {
    if (!text.empty()) line += (line.empty() ? "" : ", ") + text;
  };
  if (const auto cores = NumberAt(document, "machine/cores")) add(GroupedText(*cores) + " cores");
  if (const auto bytes = NumberAt(document, "machine/memory_bytes")) add(ShortBytes(*bytes));
  add(TextAt(document, "machine/kernel"));
  add(TextAt(document, "machine/build") + " build");
  if (const std::string files = TextAt(document, "machine/filesystem"); !files.empty()) {
    add("files on " + files);
  }
  if (const std::string commit = TextAt(document, "machine/commit"); !commit.empty()) {
    add("commit " + commit);
  }
  add(TextAt(document, "machine/time"));
  return line;
}

std::string TitleOf(const nlohmann::json& document) {
  return IsCompare(document) ? "braid and other stores" : "braid bench";
}

/// One document as a part of the page.
Result<std::string> RenderDocument(const nlohmann::json& document, bool alone) {
  const std::string schema = TextAt(document, "schema");
  if (schema != "braid-bench/1" && schema != "braid-compare/1") {
    return Status::InvalidArgument("a result has the schema \"" + schema +
                                   "\": make one with the --json of braid bench or braid-compare");
  }
  const nlohmann::json parameters = document.value("parameters", nlohmann::json::object());
  std::string workload = WorkloadTitle(parameters);
  if (const auto runs = NumberAt(parameters, "runs")) {
    workload += ", " + GroupedText(*runs) + (*runs == 1 ? " run" : " runs of each, interleaved");
  }
  if (const std::string scenario = TextAt(parameters, "scenario"); !scenario.empty()) {
    workload = ScenarioTitle(scenario) + " \u00b7 " + workload;
  }
  std::string html;
  if (alone) {
    html += "<h1>" + EscapeHtml(TitleOf(document)) + "</h1>\n";
    html += "<p class=\"work\">" + EscapeHtml(workload) + "</p>\n";
  } else {
    html += "<h2>" + EscapeHtml(workload) + "</h2>\n";
  }
  html += "<p class=\"lead\">" + EscapeHtml(MachineLine(document)) + "</p>\n";
  if (const std::string slow = TextAt(parameters, "emulate_pmem"); !slow.empty()) {
    html += "<p class=\"lead\">The medium is slowed down for braid: " + EscapeHtml(slow) + "</p>\n";
  }
  try {
    return html + (IsCompare(document) ? RenderCompare(document) : RenderBench(document));
  } catch (const nlohmann::json::exception& error) {
    return Status::InvalidArgument(std::string("a result is not what --json writes: ") +
                                   error.what());
  }
}

}  // namespace

Result<std::string> RenderHtmlReport(const std::vector<nlohmann::json>& documents) {
  if (documents.empty()) return Status::InvalidArgument("a report needs at least one result");
  const bool alone = documents.size() == 1;
  std::string body;
  for (const nlohmann::json& document : documents) {
    Result<std::string> part = RenderDocument(document, alone);
    if (!part.ok()) return part;
    body += part.value();
  }
  const std::string title = EscapeHtml(TitleOf(documents.front()));
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n";
  page += "<title>" + title + "</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n<main>\n";
  if (!alone) page += "<h1>" + title + "</h1>\n";
  page += body + "<footer>" + EscapeHtml(kFooter) + "</footer>\n</main>\n</body>\n</html>\n";
  return page;
}

Result<nlohmann::json> PeersOf(const nlohmann::json& parameters,
                               const std::vector<nlohmann::json>& compared) {
  nlohmann::json peers = nlohmann::json::array();
  for (const nlohmann::json& document : compared) {
    if (!IsCompare(document) || !document.contains("summary")) {
      return Status::InvalidArgument("--peers takes results of braid-compare --json");
    }
    const auto same = [&](const char* name) {
      return NumberAt(parameters, name) == NumberAt(document, std::string("parameters/") + name);
    };
    if (!same("key_size") || !same("value_size") || !same("threads")) continue;
    for (const nlohmann::json& entry : document.at("summary")) {
      const std::optional<double> rate = NumberAt(entry, "ops_per_second/median");
      if (!rate || TextAt(entry, "engine") == "braid") continue;
      peers.push_back({{"benchmark", TextAt(entry, "benchmark")},
                       {"engine", TextAt(entry, "engine")},
                       {"ops_per_second", *rate},
                       {"measured", TextAt(document, "machine/time")}});
    }
  }
  if (!peers.empty()) return peers;
  return Status::InvalidArgument("--peers: no other store was measured with " +
                                 SizesTitle(parameters) + ": name results with the same");
}

Result<std::vector<nlohmann::json>> ReadJsonFiles(const std::string& flag,
                                                  const std::vector<std::string>& paths) {
  std::vector<nlohmann::json> documents;
  for (const std::string& path : paths) {
    std::ifstream file(path);
    documents.push_back(nlohmann::json::parse(file, nullptr, false));
    if (documents.back().is_discarded()) {
      return Status::InvalidArgument(flag + ": can't read " + path + " as JSON");
    }
  }
  return documents;
}

Status CheckWritable(const std::string& flag, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path parent = fs::absolute(path, error).parent_path();
  if (fs::is_directory(path, error)) {
    return Status::InvalidArgument(flag + ": " + path + " is a folder: name a file");
  }
  if (!fs::is_directory(parent, error) || ::access(parent.c_str(), W_OK) != 0) {
    return Status::InvalidArgument(flag + ": can't make " + path +
                                   ": its folder does not exist or can't be written");
  }
  if (fs::exists(path, error) && ::access(path.c_str(), W_OK) != 0) {
    return Status::InvalidArgument(flag + ": " + path + " can't be overwritten");
  }
  return Status::OK();
}

}  // namespace braid::bench
