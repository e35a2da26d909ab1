// The page that --report writes: what `braid bench --json` and `braid-compare --json` hold, with
// plots, in one file that needs nothing else: no network, no script.
//
// Thread safety: functions without state.
// Persistence: none.
// Invariants:
//   1. Every number on the page is in the results, or is a quotient or difference of two of them.
//   2. The page is well-formed as XML, whatever the texts in the results are.
//   3. What the results do not have is left out, not shown as nought.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "braid/status.h"

namespace braid::bench {

/// How often --report has progress and statistics noted, unless the workload says.
inline constexpr uint64_t kReportSampleMillis = 100;

/// The page for these results, in this order. Each is a document with the schema "braid-bench/1"
/// or "braid-compare/1". Errors: InvalidArgument when one is neither.
Result<std::string> RenderHtmlReport(const std::vector<nlohmann::json>& documents);

/// What other stores did in earlier results of braid-compare with the same sizes of keys and values
/// and as many threads as `parameters` says: for "peers" of a document of braid bench. An array of
/// {"benchmark", "engine", "ops_per_second", "measured"}. InvalidArgument when there are none.
Result<nlohmann::json> PeersOf(const nlohmann::json& parameters,
                               const std::vector<nlohmann::json>& compared);

/// The JSON in these files. InvalidArgument names the `flag` and the first that has none.
Result<std::vector<nlohmann::json>> ReadJsonFiles(const std::string& flag,
                                                  const std::vector<std::string>& paths);

/// Whether a file could be made at `path`, to be asked before hours of measuring: its folder is
/// there and can be written, and it is no folder itself. `flag` is named in the message.
Status CheckWritable(const std::string& flag, const std::string& path);

}  // namespace braid::bench
