// Purpose: merges between lists, besides the merge itself: an empty list in place of the one that
// is merged, and copies in key order if a list leaves its group.
// Thread safety, invariants, persistence: see merger.h.
// Source: ZipperDB 5.1.3. Deviations: docs/internals/designs/zipperdb.md.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "compaction/merger.h"
#include "level/copied_list.h"
#include "merge/copy_merge.h"

namespace braid::compaction {

uint64_t BytesAnEntry(const pool::PmemPool& pool, const level::Version& version) {
  uint64_t entries = 0;
  for (const level::Level& level : version.levels) {
    for (const auto& table : level) entries += table->entries();
  }
  const uint64_t used = pool.used_chunks();
  const uint64_t bytes = (used - std::min(pool.write_ahead_chunks(), used)) * pool.chunk_bytes();
  return entries == 0 ? 0 : std::max<uint64_t>(bytes / entries, sizeof(format::EntryHeader));
}

bool HasRoomForCopies(const pool::PmemPool& pool, const level::Version& version, uint64_t entries) {
  if (pool.max_bytes() == 0) return true;
  const uint64_t growth = pool.max_bytes() - std::min(pool.pool_bytes(), pool.max_bytes());
  const auto spare = static_cast<uint64_t>(std::max<int64_t>(pool.spare_chunks(), 0));
  return spare * pool.chunk_bytes() + growth > entries * BytesAnEntry(pool, version);
}

/// Gives `level` an empty list to take entries in with; the commit that begins the merge of the
/// other one names it, and the state is shown after that. Aborted, and nothing has changed, when
/// there is no place for its head.
Result<level::NextState> Merger::Seal(const level::VersionSet::Locked& versions, uint32_t level) {
  BRAID_DCHECK(level > 0 && versions.state().version->levels[level].size() == 1);
  const Result<uint32_t> head = versions.TakeHead();
  if (!head.ok()) return Status::Aborted("there is no room for the head of another list");
  format::TableRecord record{};
  record.id = versions.NewTableId();
  record.level = static_cast<uint16_t>(level);
  record.head = *head;
  level::CopiedList(&pool_).Close(pool_.HeadOffset(record.head));
  level::NextState next = versions.Next();
  next.AddList(
      level, std::make_shared<level::PmemTable>(&pool_, record, store_.options->verify_checksums));
  versions.manifest().AddTable(record);
  versions.record().next_table_id = versions.next_table_id();
  return next;
}

/// Writes copies of the entries of `source` to the list of `slot`. False when there is no room for
/// them: then, as after an error, the head is free again.
Result<bool> Merger::CopyEntriesOf(const level::PmemTable& source, const CopySlot& slot) {
  Result<bool> copied =
      merge::CopyTable(&pool_, store_.usage, source.list(), slot.table_id, slot.head);
  if (copied.ok() && pool_.failed()) copied = pool_.FaultStatus();
  if (copied.ok() && *copied) {
    // On page-cache media copies must be on the medium before their originals are marked obsolete.
    if (Status s = pool_.media().Sync(media::Site::kMergeCopiesSync); !s.ok()) return s;
    return copied;
  }
  const level::VersionSet::Locked versions = store_.versions->Lock();
  versions.manifest().ReturnHead(slot.head);
  store_.reclaimer->CountRoom();  // that of the copies is a writer's again
  return copied;
}

/// Puts copies of a list in its place. Where that can't be done, or was done by a session before,
/// the list stays as it is.
Status Merger::CopyList(const Plan& plan) {
  std::shared_ptr<level::PmemTable> source;
  CopySlot slot;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    if (versions.record().AnyMerge()) return Status::OK();  // a merge goes on
    BRAID_DCHECK(versions.record().Originals() == nullptr);
    source = InputOf(versions.state(), plan);
    if ((source->record().flags & format::kTableWasCopied) != 0) return Status::OK();
    if (!HasRoomForCopies(pool_, *versions.state().version, source->entries())) {
      return Status::OK();
    }
    const Result<uint32_t> taken = versions.TakeHead();
    if (!taken.ok()) return Status::OK();
    slot = {*taken, versions.NewTableId()};
  }
  const Result<bool> copied = CopyEntriesOf(*source, slot);
  if (!copied.ok() || !*copied) return copied.status();
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    level::Manifest& manifest = versions.manifest();
    format::TableRecord copies = source->record();
    copies.head = slot.head;
    copies.flags |= format::kTableWasCopied;
    format::TableRecord originals = source->record();
    originals.id = versions.NewTableId();
    originals.flags = format::kTableOfOriginals;
    originals.entries = 0;  // readers find them in the copies
    level::NextState next = versions.Next();
    next.ReplaceOldest(plan.from, std::make_shared<level::PmemTable>(
                                      &pool_, copies, store_.options->verify_checksums));
    format::ManifestState& record = manifest.record();
    *manifest.FindTable(source->id()) = copies;
    manifest.ReturnHead(slot.head);  // the record names it now
    manifest.AddTable(originals);
    record.collected_table_id = slot.table_id;
    record.next_table_id = versions.next_table_id();
    originals_ = source;
    if (Status s = manifest.Commit(); !s.ok()) return s;
    versions.Show(std::move(next));
  }
  return DropOriginals().status();
}

Result<bool> Merger::DropOriginals() {
  format::TableRecord record{};
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    const format::TableRecord* const originals = versions.record().Originals();
    if (originals == nullptr) return false;
    record = *originals;
  }
  const level::PmemTable list(&pool_, record, store_.options->verify_checksums);
  const Result<std::vector<uint64_t>> marked = merge::MarkOriginals(&pool_, list.list());
  if (!marked.ok()) return marked.status();
  if (pool_.failed()) return pool_.FaultStatus();
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    if (const auto in_use = originals_.lock()) versions.KeepHead(in_use);
    versions.manifest().RemoveTable(record.id);
    if (Status s = versions.manifest().Commit(); !s.ok()) return s;
  }
  store_.accounts->Died(*marked);
  store_.accounts->RetireEmptyChunks();
  return true;
}

}  // namespace braid::compaction
