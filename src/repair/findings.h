// Purpose: the findings of a salvage, by position in the damaged pool, and the bytes that they
// cover.
// Thread safety: one thread.
// Invariants:
//   1. A finding names a file and an offset in it; where no file has the position, "(no file)" and
//      the pool offset.
//   2. Everything reported as lost is in LostRanges, if only with one byte.
// Persistence: none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "braid/repair.h"
#include "format/entry.h"
#include "media/pool_image.h"
#include "repair/range_set.h"

namespace braid::repair {

class Findings {
 public:
  /// `image` is mapped, and outlives them. `before`: what was found before it was; these cover
  /// nothing.
  Findings(const media::PoolImage& image, std::vector<RepairFinding> before)
      : image_(image), findings_(std::move(before)) {}

  /// Damage at pool offset `offset`; `lost`: the pool may have held something here that is lost.
  /// `entry`: the version whose key the finding names; its key is intact.
  void Note(uint64_t offset, uint64_t bytes, const std::string& object, const std::string& problem,
            bool lost, const format::EntryHeader* entry = nullptr);
  /// Damage that lies in the tier, which the pool names at `offset`; `key`: whose version is lost.
  void NoteInTier(uint64_t offset, const std::string& problem, bool lost,
                  const std::optional<std::string>& key = std::nullopt);
  /// What the medium refused to read. Returns how many bytes that is.
  uint64_t NoteUnreadable();

  /// The bytes that findings of losses cover so far.
  RangeSet LostRanges() const { return RangeSet(lost_); }
  /// All findings, by file and offset; none are left.
  std::vector<RepairFinding> TakeSorted();

 private:
  const media::PoolImage& image_;
  std::vector<RepairFinding> findings_;
  std::vector<media::PoolImage::Range> lost_;
};

}  // namespace braid::repair
