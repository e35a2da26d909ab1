// Purpose: what the figures of the NV-Skiplist article have in common: the stores that are compared
// and how they are measured in turn.
// Thread safety: one thread.
// Persistence: the scratch folders, while they are used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/figures/frame/figure_run.h"

namespace braid::figures {

inline constexpr const char* kNvSkiplistPaper = "NV-Skiplist (Cluster Computing 22, 2019)";

/// For the page: what is not alike in what is compared.
inline constexpr const char* kNvSkiplistUnlike =
    "The leaves of braid hold references to entries of any length, with checksums; the wB+-tree "
    "holds the paper's bare pairs of 8 bytes, without checksums, behind the same interface of the "
    "harness. Its slots, bitmap and redo log are the paper's; its inner nodes are in DRAM, read "
    "without locks, and its leaves are locked one by one.";

/// Why puts of braid cost more than the paper's, told where a check of them fails.
inline constexpr const char* kPutsUnlike =
    "the paper's leaves hold pairs of 8 bytes; here each put also writes, hashes and seals an "
    "entry "
    "of any length, and a split reads the keys of 48 entries that lie elsewhere. The fewer lines "
    "and fences of a change do not pay for that";

/// A store of these figures.
struct Variant {
  std::string name;  ///< in legends
  std::string engine;
  std::vector<std::string> settings;  ///< of the design nvskiplist
};

Variant WbTreeVariant();
/// The wB+-tree that overwrites values: less than what the paper describes, and faster.
Variant WbTreeInPlaceVariant();
/// Leaves under skip lists in DRAM, in that many ranges of the key space for ever.
Variant RangesVariant(uint32_t ranges);
/// The same, from one range on, which are divided as they grow: what the paper leaves to the
/// future.
Variant DividedVariant();

/// Tells how dividing ranges did: no claim of the paper, so no check.
void NoteDivided(FigureRun& run, const std::string& what, double divided, double fixed);

/// How a variant is opened for `workload`.
StoreRun StoreOf(const Variant& variant, const bench::WorkloadOptions& workload);

/// The results of one store, a run each.
using Rounds = std::vector<Json>;
/// Measures all stores in turn, `rounds` times, so that what else the machine does hits all alike.
/// `results[i]` are those of stores[i].
Status MeasureInTurn(FigureRun& run, const std::vector<StoreRun>& stores, int rounds,
                     std::vector<Rounds>* results);

/// Medians over rounds.
double MedianRate(const Rounds& rounds, const std::string& benchmark);
double MedianSeconds(const Rounds& rounds, const std::string& benchmark);
/// Of a counter ("lines_flushed", "fences"), for each operation of the benchmark.
double CountAnOperation(const Rounds& rounds, const std::string& benchmark,
                        const std::string& counter);

std::vector<std::string> NamesOf(const std::vector<Variant>& variants);

/// 1, 2, 4 ... up to twice the processors.
std::vector<int> ThreadCounts(const FigureRun& run);
/// The largest of them that has a processor a thread.
int MostThreads(const FigureRun& run);

}  // namespace braid::figures
