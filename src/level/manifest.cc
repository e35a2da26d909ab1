// Purpose: reading and committing the manifest. Thread safety, invariants, persistence: manifest.h.
#include "level/manifest.h"

#include <bit>
#include <cstring>

#include "base/mutants.h"

namespace braid::level {

using format::ManifestRecord;
using format::TableRecord;

Status Manifest::Create() {
  format::TableHead head;
  for (uint64_t& link : head.links) link = format::EntryPtr::End().raw;
  pmem::PersistOps& ops = pool_->ops();
  ops.Copy(pool_->At(format::kTableHeadsOffset), &head, sizeof head);
  if (!BRAID_MUTANT(kL1HeadNotFlushed))
    ops.Flush(pool_->At(format::kTableHeadsOffset), sizeof head);
  ops.Fence();
  record_ = ManifestRecord{};
  record_.magic = format::kManifestMagic;
  record_.next_table_id = kL1Id + 1;
  record_.flushed_table_id = kL1Id;
  record_.next_merge_id = 1;
  record_.table_count = 1;
  record_.tables[0] = {kL1Id, 1, 0, 0, 0, 0};
  record_.merged_table_id = kL1Id;
  return Commit();
}

Status Manifest::Commit() {
  ++record_.commit_count;
  // Both copies are equal here: at every moment one of them is intact, and it is the old or the new
  // record.
  if (Status s = WriteCopy(0); !s.ok()) return s;
  if (BRAID_MUTANT(kManifestOneCopy)) return Status::OK();
  if (Status s = WriteCopy(BRAID_MUTANT(kManifestInPlace) ? 0 : 1); !s.ok()) return s;
  if (BRAID_MUTANT(kManifestBothAtOnce)) pool_->ops().Fence();
  return Status::OK();
}

Status Manifest::WriteCopy(int copy) {
  pmem::PersistOps& ops = pool_->ops();
  const uint64_t to = format::kManifestOffset[copy];
  record_.check = format::StructCheck(record_, to);
  ops.Copy(pool_->At(to), &record_, sizeof record_);
  if (BRAID_MUTANT(kManifestNotFlushed)) return Status::OK();
  ops.Flush(pool_->At(to), sizeof record_);
  if (!BRAID_MUTANT(kManifestBothAtOnce)) ops.Fence();
  if (BRAID_MUTANT(kManifestCopiesNotSynced)) return Status::OK();
  return pool_->media().SyncRange(to, sizeof record_);
}

Status Manifest::Load() {
  ManifestRecord copies[2];
  int newest = -1;
  for (int which = 0; which < 2; ++which) {
    const uint64_t place = format::kManifestOffset[which];
    ManifestRecord& copy = copies[which];
    // Copied before it is checked: beside a process that writes, the place may just change.
    std::memcpy(&copy, pool_->At(place), sizeof copy);
    if (copy.magic != format::kManifestMagic ||
        (copy.check != format::StructCheck(copy, place) && !BRAID_MUTANT(kManifestCheckIgnored))) {
      continue;
    }
    if (newest < 0 || copy.commit_count > copies[newest].commit_count) newest = which;
  }
  if (newest < 0) {
    return pool_->CorruptionAt(format::kManifestOffset[0], "manifest", "no copy of it is intact");
  }
  std::memcpy(&record_, &copies[newest], sizeof record_);
  if (const char* fault = FindFault(); fault != nullptr) {
    return pool_->CorruptionAt(format::kManifestOffset[0], "manifest", fault);
  }
  // That process makes its copies equal itself.
  if (pool_->media().cut()) return Status::OK();
  // The other copy is made equal before anything else changes. A torn one might else get just the
  // lines that it lacks from the next commit, and be an older commit that names a head used anew.
  const ManifestRecord& other = copies[1 - newest];
  const uint64_t other_place = format::kManifestOffset[1 - newest];
  const bool equal = std::memcmp(&other, &record_, offsetof(ManifestRecord, check)) == 0 &&
                     other.check == format::StructCheck(other, other_place);
  if (!equal && !BRAID_MUTANT(kManifestNotRepaired)) return WriteCopy(1 - newest);
  return Status::OK();
}

/// The rest of the store relies on all of this.
const char* Manifest::FindFault() const {
  if (record_.table_count > format::kMaxTables) return "it names too many tables";
  for (const uint64_t id : {record_.commit_count, record_.flushed_table_id, record_.next_table_id,
                            record_.merge_id, record_.merging_table_id, record_.next_merge_id,
                            record_.collected_table_id, record_.merged_table_id}) {
    if (id >= format::kMaxId) return "it has an impossible id";
  }
  if (record_.last_sequence > format::kMaxSequence) return "its sequence number is impossible";
  const TableRecord* l1 = nullptr;
  const TableRecord* copies = nullptr;
  const TableRecord* oldest_l0 = nullptr;
  uint64_t heads = 0;
  for (uint32_t i = 0; i < record_.table_count; ++i) {
    const TableRecord& table = record_.tables[i];
    if (table.level > 1 || table.head >= format::kTableHeads || table.id >= format::kMaxId ||
        (table.flags &
         ~(format::kTableOfCopies | format::kTableWasCopied | format::kEntriesNotCounted)) != 0 ||
        table.max_sequence > format::kMaxSequence ||
        table.entries > pool_->pool_bytes() / sizeof(format::EntryHeader)) {
      return "a table is impossible";
    }
    if ((heads & (1ull << table.head)) != 0) return "two tables have the same head";
    heads |= 1ull << table.head;
    for (uint32_t other = 0; other < i; ++other) {
      if (record_.tables[other].id == table.id) return "two tables have the same id";
    }
    const bool is_copies = (table.flags & format::kTableOfCopies) != 0;
    const TableRecord** kind = table.level == 1 ? &l1 : is_copies ? &copies : &oldest_l0;
    if (*kind != nullptr && kind != &oldest_l0) return "it names a table too many";
    *kind = &table;
  }
  if (l1 == nullptr || l1->id != kL1Id || (l1->flags & format::kTableOfCopies) != 0) {
    return "it names no L1 table";
  }
  if ((record_.merge_flags & ~format::kMergeByPointers) != 0)
    return "its merge is of no known kind";
  if (record_.merge_id == 0) {
    if (record_.merge_flags != 0) return "its merge is of no known kind";
    return copies == nullptr ? nullptr : "copies wait for no merge";
  }
  const TableRecord* source = copies != nullptr ? copies : oldest_l0;
  if (source == nullptr || source->id != record_.merging_table_id) {
    return "it merges a table that is not next";
  }
  return nullptr;
}

Result<uint32_t> Manifest::TakeHead() {
  uint64_t used = taken_heads_;
  for (uint32_t i = 0; i < record_.table_count; ++i) used |= 1ull << record_.tables[i].head;
  const auto head = static_cast<uint32_t>(std::countr_one(used));
  if (std::popcount(used) >= static_cast<int>(format::kMaxTables)) {
    return Status::OutOfSpace("too many tables wait for their merge");
  }
  taken_heads_ |= 1ull << head;
  return head;
}

void Manifest::AddTable(const TableRecord& table) {
  ReturnHead(table.head);
  for (uint32_t i = record_.table_count; i > 0; --i) record_.tables[i] = record_.tables[i - 1];
  record_.tables[0] = table;
  ++record_.table_count;
}

void Manifest::RemoveTable(uint64_t id) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < record_.table_count; ++i) {
    if (record_.tables[i].id != id) record_.tables[kept++] = record_.tables[i];
  }
  for (uint32_t i = kept; i < record_.table_count; ++i) record_.tables[i] = TableRecord{};
  record_.table_count = kept;
}

TableRecord* Manifest::FindTable(uint64_t id) {
  for (uint32_t i = 0; i < record_.table_count; ++i) {
    if (record_.tables[i].id == id) return &record_.tables[i];
  }
  return nullptr;
}

}  // namespace braid::level
