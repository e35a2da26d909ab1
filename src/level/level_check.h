// Purpose: checks a linked table completely: order, links of all layers, checks of all entries,
// counts.
// Thread safety: one thread; the table must not be merged meanwhile.
// Persistence: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "level/pmem_table.h"

namespace braid::level {

/// What walks over tables add up.
struct CheckTotals {
  uint64_t entries = 0;
  uint64_t links = 0;
  uint64_t bytes = 0;
  uint64_t max_sequence = 0;
  bool links_obsolete = false;  // an entry that is linked is marked obsolete
  std::unordered_map<uint64_t, uint64_t> linked_bytes;  // chunk to bytes of linked entries
  std::vector<std::string> problems;

  void AddProblem(const Status& problem) { problems.emplace_back(problem.message()); }
};

/// As an expected number of entries: it is not known.
inline constexpr uint64_t kAnyCount = ~0ull;

/// Walks `table` up to the entry at `boundary` (0: to its end) and compares the number of entries
/// with `expected`. `intact` tells whether an entry's value verifies. Stops after 100 problems.
/// Returns the number of entries found.
uint64_t CheckTable(const PmemTable& table, const std::string& name, uint64_t boundary,
                    uint64_t expected, const std::function<bool(uint64_t offset)>& intact,
                    CheckTotals* totals);

}  // namespace braid::level
