// How results are told: a line for people, JSON for programs, and the machine they belong to.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/harness/runner.h"
#include "bench/harness/workload_options.h"

namespace braid::bench {

/// One line: rate, percentiles, stalls, flushed lines and fences an operation, settling.
std::string FormatResult(const BenchmarkResult& result);
/// The line that explains the columns of FormatResult.
std::string ResultLegend();
nlohmann::json ResultToJson(const BenchmarkResult& result);
nlohmann::json OptionsToJson(const WorkloadOptions& options);

/// Machine, kernel, compiler and build, and the file system and processor that `directory` and
/// this process are on. No host or user names.
nlohmann::json MachineToJson(const std::string& directory);
/// The same in a line.
std::string FormatMachine(const nlohmann::json& machine);

/// "tmpfs", "ext4", ... or the magic number in hexadecimal.
std::string FilesystemName(const std::string& path);

/// Writes `text` to `path`; what goes wrong is told in the status.
Status WriteFile(const std::string& path, const std::string& text);

}  // namespace braid::bench
