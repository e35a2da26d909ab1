// Purpose: reading and making copies of the manifest.
// Thread safety, invariants, persistence: see manifest.h.
#include "format/manifest.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#include "base/checksum.h"

namespace braid::format {

namespace {

/// Of tables in the extension.
uint64_t TablesCheck(const TableRecord* tables, uint64_t count, int copy) noexcept {
  return base::Mix(base::Hash64(tables, count * sizeof(TableRecord)), kManifestOffset[copy]);
}

/// What records of all versions and the state have in common.
template <class From, class To>
void CopyCounters(const From& from, To* to) noexcept {
  to->commit_count = from.commit_count;
  to->flushed_table_id = from.flushed_table_id;
  to->next_table_id = from.next_table_id;
  to->last_sequence = from.last_sequence;
  to->next_merge_id = from.next_merge_id;
  to->collected_table_id = from.collected_table_id;
  to->merged_table_id = from.merged_table_id;
}

/// A word for each place of a merge.
void CopyFloor(const LeftBehind& from, MergeRecord* merges) noexcept {
  static_assert(kMaxMerges * sizeof merges->floor == sizeof from);
  merges[0].floor = static_cast<uint32_t>(from.table_id);
  merges[1].floor = static_cast<uint32_t>(from.table_id >> 32);
  merges[2].floor = static_cast<uint32_t>(from.collected_id);
  merges[3].floor = static_cast<uint32_t>(from.collected_id >> 32);
}

/// The places of the merges have none of it.
LeftBehind TakeFloor(std::array<MergeRecord, kMaxMerges>* merges) noexcept {
  const auto id = [&](size_t low) {
    return (*merges)[low].floor | uint64_t{(*merges)[low + 1].floor} << 32;
  };
  const LeftBehind left_behind{id(0), id(2)};
  for (MergeRecord& merge : *merges) merge.floor = 0;
  return left_behind;
}

bool Decode1(const char* bytes, int copy, ManifestState* state) {
  auto record = std::make_unique<Manifest1Record>();
  std::memcpy(record.get(), bytes, sizeof *record);
  if (record->check != StructCheck(*record, kManifestOffset[copy])) {
    return false;
  }
  if (record->table_count > std::size(record->tables)) return false;
  *state = {};
  CopyCounters(*record, state);
  state->merges[0].id = record->merge_id;
  state->merges[0].source_id = record->merging_table_id;
  state->merges[0].target_id = record->merge_id == 0 ? 0 : kL1Id;
  state->merges[0].flags = record->merge_flags;
  state->tables.assign(record->tables, record->tables + record->table_count);
  return true;
}

}  // namespace

uint64_t ManifestBytes(const ManifestRecord& record) noexcept {
  return offsetof(ManifestRecord, tables) +
         sizeof(TableRecord) * std::min(record.table_count, kTablesInRecord);
}

uint64_t ManifestCheck(const ManifestRecord& record, uint64_t place) noexcept {
  constexpr uint64_t kFrom = offsetof(ManifestRecord, commit_count);
  const char* bytes = reinterpret_cast<const char*>(&record) + kFrom;
  return base::Mix(base::Hash64(bytes, ManifestBytes(record) - kFrom), place);
}

const MergeRecord* ManifestState::MergeOf(uint64_t source_id) const noexcept {
  const auto merge = std::find_if(merges.begin(), merges.end(), [&](const MergeRecord& open) {
    return open.id != 0 && open.source_id == source_id;
  });
  return merge == merges.end() ? nullptr : &*merge;
}

MergeRecord* ManifestState::MergeOf(uint64_t source_id) noexcept {
  return const_cast<MergeRecord*>(std::as_const(*this).MergeOf(source_id));
}

bool ManifestState::IsTarget(uint64_t table_id) const noexcept {
  return std::any_of(merges.begin(), merges.end(), [&](const MergeRecord& open) {
    return open.id != 0 && open.target_id == table_id;
  });
}

uint32_t ManifestState::open_merges() const noexcept {
  return static_cast<uint32_t>(std::count_if(
      merges.begin(), merges.end(), [](const MergeRecord& merge) { return merge.id != 0; }));
}

uint64_t ManifestState::redo_chunks() const noexcept {
  uint64_t count = 0;
  for (const MergeRecord& merge : merges) {
    for (const uint64_t chunk : merge.redo_chunks) count += chunk != 0 ? 1 : 0;
  }
  return count;
}

namespace {

const TableRecord* FindFlag(const std::vector<TableRecord>& tables, uint16_t flag) noexcept {
  const auto table = std::find_if(tables.begin(), tables.end(), [flag](const TableRecord& record) {
    return (record.flags & flag) != 0;
  });
  return table == tables.end() ? nullptr : &*table;
}

}  // namespace

const TableRecord* ManifestState::Copies() const noexcept {
  return FindFlag(tables, kTableOfCopies);
}

const TableRecord* ManifestState::Originals() const noexcept {
  return FindFlag(tables, kTableOfOriginals);
}

const TableRecord* ManifestState::ListOf(uint32_t level) const noexcept {
  const auto table = std::find_if(tables.begin(), tables.end(), [&](const TableRecord& record) {
    return level > 0 && record.level == level && (record.flags & kTableOfOriginals) == 0;
  });
  return table == tables.end() ? nullptr : &*table;
}

const TableRecord* ManifestState::Find(uint64_t id) const noexcept {
  const auto table = std::find_if(tables.begin(), tables.end(),
                                  [id](const TableRecord& record) { return record.id == id; });
  return table == tables.end() ? nullptr : &*table;
}

TableRecord* ManifestState::Find(uint64_t id) noexcept {
  return const_cast<TableRecord*>(std::as_const(*this).Find(id));
}

bool DecodeManifest(const char* bytes, int copy, uint64_t chunk_bytes, ExtensionReader extension,
                    ManifestState* state, uint32_t* version) {
  // Copied before it is checked: while another process writes, the place may just change.
  auto record = std::make_unique<ManifestRecord>();
  std::memcpy(record.get(), bytes, sizeof *record);
  *version = record->magic == kManifest1Magic ? 1 : 2;
  if (*version == 1) return Decode1(bytes, copy, state);
  if (record->magic != kManifestMagic) return false;
  if (record->check != ManifestCheck(*record, kManifestOffset[copy])) {
    return false;
  }
  const uint64_t inside = std::min(record->table_count, kTablesInRecord);
  const uint64_t outside = record->table_count - inside;
  *state = {};
  state->tables.assign(record->tables, record->tables + inside);
  if (outside != 0) {
    if (record->extension == 0 || outside > ExtensionTables(chunk_bytes)) return false;
    const char* there = extension(record->extension, ExtensionTablesOffset(chunk_bytes, copy),
                                  outside * sizeof(TableRecord));
    if (there == nullptr) return false;
    state->tables.resize(inside + outside);
    std::memcpy(&state->tables[inside], there, outside * sizeof(TableRecord));
    if (TablesCheck(&state->tables[inside], outside, copy) != record->extension_check) return false;
  }
  CopyCounters(*record, state);
  state->level_count = record->level_count;
  state->extension = record->extension;
  std::copy(std::begin(record->merges), std::end(record->merges), state->merges.begin());
  state->left_behind = TakeFloor(&state->merges);
  return true;
}

uint64_t EncodeManifest(const ManifestState& state, int copy, ManifestRecord* record) noexcept {
  const uint64_t inside = std::min<uint64_t>(state.tables.size(), kTablesInRecord);
  record->magic = kManifestMagic;
  CopyCounters(state, record);
  record->level_count = state.level_count;
  record->table_count = static_cast<uint32_t>(state.tables.size());
  record->extension = state.extension;
  record->extension_check =
      state.tables.size() == inside
          ? 0
          : TablesCheck(&state.tables[inside], state.tables.size() - inside, copy);
  std::copy(state.merges.begin(), state.merges.end(), record->merges);
  CopyFloor(state.left_behind, record->merges);
  std::copy_n(state.tables.begin(), inside, record->tables);
  record->check = ManifestCheck(*record, kManifestOffset[copy]);
  return ManifestBytes(*record);
}

}  // namespace braid::format
