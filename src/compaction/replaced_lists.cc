// Purpose: marking what was replaced.
// Thread safety, invariants, persistence: see replaced_lists.h.
#include "compaction/replaced_lists.h"

#include <algorithm>

#include "base/check.h"
#include "merge/list_source.h"

namespace braid::compaction {

using format::EntryHeader;
using format::TableRecord;

namespace {

/// Looks for entries among lists, in their order: an entry after the other.
class Survivors {
 public:
  Survivors(const pool::PmemPool* pool, const level::Level& level) : source_(pool, Lists(level)) {}

  /// The entry with this key and number, null when there is none. Corruption.
  Result<const EntryHeader*> Find(const EntryHeader& sought) {
    if (!begun_) {
      begun_ = true;
      if (Status s = source_.Seek(sought.key()); !s.ok()) return s;
    }
    for (;;) {
      const EntryHeader* const at = source_.entry();
      if (at == nullptr) return at;
      const int order = at->key().compare(sought.key());
      if (order > 0 || (order == 0 && at->sequence() < sought.sequence())) return nullptr;
      if (order == 0 && at->sequence() == sought.sequence()) return at;
      if (Status s = source_.Next(); !s.ok()) return s;
    }
  }

 private:
  static merge::ListSource::Lists Lists(const level::Level& level) {
    merge::ListSource::Lists lists;
    for (const auto& table : level) lists.push_back(level::ListOf(table));
    return lists;
  }

  merge::ListSource source_;
  bool begun_ = false;
};

}  // namespace

void ReplacedLists::Make(const level::VersionSet::Locked& versions,
                         const std::shared_ptr<level::PmemTable>& list, uint32_t to) {
  BRAID_DCHECK(to > 0 && to >= list->level());
  format::ManifestState& record = versions.record();
  if (list->level() == 0) {
    record.merged_table_id = std::max(record.merged_table_id, list->id());
  } else if (!list->never_changes()) {
    in_place_.push_back(list);
  }
  TableRecord& original = *versions.manifest().FindTable(list->id());
  original.level = static_cast<uint16_t>(to);
  original.flags = format::kTableOfOriginals | format::kTableOfRun;
  original.entries = 0;
}

/// Each entry of a list that was replaced is obsolete, or the carrier of a value; and so is what it
/// referred to, unless the entry that took its place does. Deletes are only noted (invariant 1).
Status ReplacedLists::Mark(const TableRecord& originals, const level::Version& version,
                           std::vector<uint64_t>* dead, std::vector<uint64_t>* deletes) {
  BRAID_DCHECK(originals.level > 0 && originals.level < version.levels.size());
  media::PersistOps& ops = pool_.ops();
  const auto mark = [&](uint64_t offset, uint8_t state) {
    uint8_t* const byte = pool_.As<EntryHeader>(offset)->state_byte();
    ops.StoreByte(byte, state);
    ops.Flush(byte, 1, media::Site::kOriginalsMark);
  };
  // Kept by nobody: readers have lists of their own.
  const auto list = std::make_shared<level::PmemTable>(&pool_, originals, store_.verify_checksums);
  merge::ListSource source(&pool_, {list});
  if (Status s = source.Seek({}); !s.ok()) return s;
  Survivors survivors(&pool_, version.levels[originals.level]);
  while (const EntryHeader* entry = source.entry()) {
    const Result<const EntryHeader*> found = survivors.Find(*entry);
    if (!found.ok()) return found.status();
    const uint64_t offset = pool_.OffsetOf(entry);
    const uint64_t stays = *found == nullptr ? 0 : pool_.CarrierOf(**found);
    const uint64_t carrier = pool_.CarrierOf(*entry);
    // A live one is in a table of L0 yet, of which a part only is replaced.
    if (carrier != 0 && carrier != stays &&
        pool_.As<EntryHeader>(carrier)->state() == format::kStateCarrier) {
      mark(carrier, format::kStateObsolete);
      dead->push_back(carrier);
    }
    if (entry->state() == format::kStateLive) {
      if (stays == offset) {
        mark(offset, format::kStateCarrier);
      } else if (entry->op() == format::EntryOp::kDelete) {
        deletes->push_back(offset);
      } else {
        mark(offset, format::kStateObsolete);
        dead->push_back(offset);
      }
    }
    if (Status s = source.Next(); !s.ok()) return s;
  }
  return pool_.failed() ? pool_.FaultStatus() : Status::OK();
}

Result<bool> ReplacedLists::Drop() {
  std::vector<TableRecord> originals;
  std::shared_ptr<const level::Version> version;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    for (const TableRecord& table : versions.record().tables) {
      if ((table.flags & format::kTableOfOriginals) != 0) originals.push_back(table);
    }
    version = versions.state().version;
  }
  if (originals.empty()) return false;
  BRAID_DCHECK(version != nullptr);
  std::vector<uint64_t> dead;
  std::vector<uint64_t> deletes;
  for (TableRecord& table : originals) {
    table.flags |= format::kTableOfRun;  // its head is copied: nothing else uses this object
    if (Status s = Mark(table, *version, &dead, &deletes); !s.ok()) return s;
  }
  pool_.ops().Fence(media::Site::kOriginalsMarkFence);
  for (const uint64_t offset : deletes) {
    uint8_t* const byte = pool_.As<EntryHeader>(offset)->state_byte();
    pool_.ops().StoreByte(byte, format::kStateObsolete);
    pool_.ops().Flush(byte, 1, media::Site::kOriginalsMark);
  }
  pool_.ops().Fence(media::Site::kOriginalsMarkFence);
  if (pool_.failed()) return pool_.FaultStatus();
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    for (const auto& kept : in_place_) {
      if (const std::shared_ptr<level::PmemTable> list = kept.lock()) versions.KeepHead(list);
    }
    in_place_.clear();
    for (const TableRecord& table : originals) versions.manifest().RemoveTable(table.id);
    if (Status s = versions.manifest().Commit(); !s.ok()) return s;
  }
  store_.accounts->Died(dead);
  store_.accounts->Died(deletes);
  store_.accounts->RetireEmptyChunks();
  return true;
}

}  // namespace braid::compaction
