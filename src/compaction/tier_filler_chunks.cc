// Purpose: what goes to the tier from a last level of one list: what lives in the chunks that were
// written longest ago. A range of keys would leave a little garbage in all chunks instead, which
// collections would have to gather.
// Thread safety, invariants, persistence: see tier_filler.h.
#include <algorithm>

#include "base/check.h"
#include "base/checksum.h"
#include "base/epoch.h"
#include "base/no_throw.h"
#include "compaction/tier_filler.h"
#include "compaction/tier_keys.h"
#include "log/log_reader.h"

namespace braid::compaction {

using format::EntryHeader;

namespace {
/// Entries after which no other chunk is begun.
constexpr size_t kEnoughEntries = 64 * 1024;
}  // namespace

/// Those whose entries have come to the last level, the one that was written longest ago first.
std::vector<uint64_t> TierFiller::OldestChunks() const {
  struct Aged {
    uint64_t table_id;
    uint64_t chunk;
    bool operator<(const Aged& other) const {
      return table_id != other.table_id ? table_id < other.table_id : chunk < other.chunk;
    }
  };
  const ChunkSurvey survey = store_.accounts->Survey(1);
  std::vector<Aged> aged;
  aged.reserve(survey.sparse.size());
  for (const uint64_t chunk : survey.sparse) {
    const Result<log::LogChunk> header = log::ReadLogChunk(*store_.pool, chunk);
    if (header.ok()) aged.push_back({header->table_id, chunk});
  }
  BRAID_DCHECK(aged.size() <= survey.sparse.size());
  std::sort(aged.begin(), aged.end());
  std::vector<uint64_t> chunks;
  chunks.reserve(aged.size());
  for (const Aged& one : aged) chunks.push_back(one.chunk);
  return chunks;
}

/// Not what is in a level above, nor what damage has cut off.
bool TierFiller::IsInLastLevel(const EntryHeader& entry, uint64_t offset) const {
  const base::EpochGuard guard;
  const index::LookupResult found = store_.versions->shown().version->bottom().Get(
      index::LookupKey{entry.key(), base::Hash64(entry.key())}, index::ReadView{});
  return found.has_version() && found.value.offset() == offset;
}

/// Of as many chunks as are worth a run.
Status TierFiller::SurveyOldest(Part* part) {
  // Before anything is read: what is in the last level is older than views that come later.
  const index::LiveViews views = store_.views->Collect();
  const uint64_t oldest_view = views.empty() ? 0 : views.front();
  std::vector<index::Replacement> going;
  uint64_t bytes = 0;
  for (const uint64_t chunk : OldestChunks()) {
    if (bytes >= run_bytes_ || going.size() >= kEnoughEntries) break;
    const Stuck now{store_.pool->StateOf(chunk).generation(), store_.usage->Live(chunk),
                    oldest_view};
    const auto known = stuck_.find(chunk);
    if (known != stuck_.end() && known->second == now) continue;
    const size_t before = going.size();
    log::ForEachEntry(*store_.pool, chunk, [&](uint64_t offset, const EntryHeader& entry) {
      const bool may_go = entry.state() == format::kStateLive && Keys::MayGo(views, entry) &&
                          log::EntryVerifies(*store_.pool, offset) && IsInLastLevel(entry, offset);
      if (!may_go) return;
      going.push_back({offset, 0});
      bytes += entry.size();
    });
    if (going.size() == before) stuck_[chunk] = now;
  }
  SortAsList(*store_.pool, &going);
  Keys keys(store_, views, false, part);
  for (const index::Replacement& entry : going) {
    if (Status s = keys.Take(*log::Verified(*store_.pool, entry.from)); !s.ok()) return s;
  }
  // The last level has one newest entry of a key.
  BRAID_DCHECK(std::adjacent_find(part->run.begin(), part->run.end(),
                                  [](const tier::RunEntry& a, const tier::RunEntry& b) {
                                    return a.key >= b.key;
                                  }) == part->run.end());
  return Status::OK();
}

Result<bool> TierFiller::MoveOldest() {
  Part part;
  const Status s = base::CatchToStatus([&] { return SurveyOldest(&part); });
  if (s.IsOutOfMemory()) return false;  // nothing is begun
  if (!s.ok()) return s;
  return part.keys.empty() ? Result<bool>(false) : Move(part);
}

}  // namespace braid::compaction
