// Purpose: findings of a salvage.
// Thread safety, invariants, persistence: see findings.h.
#include "repair/findings.h"

#include <algorithm>
#include <utility>

#include "format/layout.h"

namespace braid::repair {

void Findings::Note(uint64_t offset, uint64_t bytes, const std::string& object,
                    const std::string& problem, bool lost, const format::EntryHeader* entry) {
  RepairFinding finding;
  const media::PoolImage::File* file = image_.FileAt(offset);
  finding.file = file != nullptr ? file->name : "(no file)";
  finding.offset = file != nullptr ? offset - file->base : offset;
  finding.bytes = bytes;
  finding.object = object;
  finding.problem = problem;
  if (entry != nullptr) finding.key = std::string(entry->key());
  finding.lost = lost;
  findings_.push_back(std::move(finding));
  if (lost) lost_.push_back({offset, std::max<uint64_t>(bytes, 1)});
}

void Findings::NoteInTier(uint64_t offset, const std::string& problem, bool lost,
                          const std::optional<std::string>& key) {
  Note(offset, sizeof(format::TierRecord), "tier", problem, lost);
  findings_.back().key = key;
}

uint64_t Findings::NoteUnreadable() {
  uint64_t bytes = 0;
  for (const media::PoolImage::Range& range : image_.unreadable()) {
    bytes += range.bytes;
    Note(range.offset, range.bytes, "medium", "it can't be read", true);
  }
  return bytes;
}

std::vector<RepairFinding> Findings::TakeSorted() {
  std::sort(findings_.begin(), findings_.end(), [](const RepairFinding& a, const RepairFinding& b) {
    return a.file != b.file ? a.file < b.file : a.offset < b.offset;
  });
  return std::exchange(findings_, {});
}

}  // namespace braid::repair
