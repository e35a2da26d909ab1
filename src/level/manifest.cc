// Purpose: reading and committing the manifest.
// Thread safety, invariants, persistence: manifest.h.
#include "level/manifest.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <unordered_set>

#include "base/check.h"

namespace braid::level {

using format::ChunkKind;
using format::ManifestState;
using format::MergeRecord;
using format::TableRecord;

// More tables than a copy has room for come with more heads, and so with an extension.
static_assert(format::kTableHeads <= format::kTablesInRecord);
// Records are compared as bytes.
static_assert(std::has_unique_object_representations_v<TableRecord>);
static_assert(std::has_unique_object_representations_v<MergeRecord>);

Status Manifest::Create(uint32_t levels) {
  BRAID_CHECK(levels >= 2 && levels <= format::kMaxLevels);
  format::TableHead head;
  for (uint64_t& link : head.links) link = format::EntryPtr::End().raw;
  media::PersistOps& ops = pool_->ops();
  state_ = {};
  state_.level_count = levels;
  for (uint32_t level = 1; level < levels; ++level) {
    const uint32_t index = level - 1;
    char* const place = pool_->At(pool_->HeadOffset(index));
    ops.Copy(place, &head, sizeof head);
    ops.Flush(place, sizeof head, media::Site::kLevelHead);
    state_.tables.push_back({kL1Id + index, static_cast<uint16_t>(level), 0, index, 0, 0});
  }
  const uint64_t last = kL1Id + levels - 2;
  state_.next_table_id = last + 1;
  state_.flushed_table_id = last;
  state_.merged_table_id = last;
  for (uint32_t i = 0; i < 2; ++i) state_.merges[0].redo_chunks[i] = pool_->first_redo_chunk(i);
  return Commit();
}

Status Manifest::Commit() {
  BRAID_DCHECK(state_.commit_count < format::kMaxId && state_.level_count >= 2);
  ++state_.commit_count;
  // Both copies are equal here: at every moment one of them is intact, and it is the old or the new
  // record.
  if (Status s = WriteCopy(0); !s.ok()) return s;
  return WriteCopy(1);
}

Status Manifest::WriteCopy(int copy) {
  if (image_ == nullptr) image_ = std::make_unique<format::ManifestRecord>();
  media::PersistOps& ops = pool_->ops();
  const uint64_t to = format::kManifestOffset[copy];
  const uint64_t bytes = format::EncodeManifest(state_, copy, image_.get());
  const uint64_t outside =
      state_.tables.size() - std::min<size_t>(state_.tables.size(), format::kTablesInRecord);
  BRAID_DCHECK(bytes <= format::kManifestBytes);  // else it would run into the other copy
  uint64_t tables_at = 0;
  if (outside != 0) {
    BRAID_DCHECK(state_.extension != 0 && outside <= format::ExtensionTables(pool_->chunk_bytes()));
    tables_at = pool_->ChunkOffset(state_.extension) +
                format::ExtensionTablesOffset(pool_->chunk_bytes(), copy);
    const uint64_t tables_bytes = outside * sizeof(TableRecord);
    ops.Copy(pool_->At(tables_at), &state_.tables[format::kTablesInRecord], tables_bytes);
    ops.Flush(pool_->At(tables_at), tables_bytes, media::Site::kManifestTables);
  }
  ops.Copy(pool_->At(to), image_.get(), bytes);
  ops.Flush(pool_->At(to), bytes, media::Site::kManifest);
  ops.Fence(media::Site::kManifestFence);
  if (outside != 0) {
    if (Status s = pool_->media().SyncRange(tables_at, outside * sizeof(TableRecord),
                                            media::Site::kManifestTablesSync);
        !s.ok()) {
      return s;
    }
  }
  return pool_->media().SyncRange(to, bytes, media::Site::kManifestSync);
}

namespace {

bool AreEqual(const ManifestState& a, const ManifestState& b) {
  const auto numbers = [](const ManifestState& state) {
    return std::array{state.commit_count,    state.flushed_table_id, state.next_table_id,
                      state.last_sequence,   state.next_merge_id,    state.collected_table_id,
                      state.merged_table_id, state.extension,        uint64_t{state.level_count}};
  };
  return numbers(a) == numbers(b) && a.tables.size() == b.tables.size() &&
         std::memcmp(a.merges.data(), b.merges.data(), sizeof a.merges) == 0 &&
         std::memcmp(a.tables.data(), b.tables.data(), a.tables.size() * sizeof(TableRecord)) == 0;
}

}  // namespace

Status Manifest::Load(uint32_t levels) {
  const auto extension = [this](uint64_t chunk, uint64_t offset, uint64_t) -> const char* {
    const bool is_there =
        chunk < pool_->chunks() && pool_->StateOf(chunk).kind() == ChunkKind::kManifest;
    return is_there ? pool_->At(pool_->ChunkOffset(chunk) + offset) : nullptr;
  };
  ManifestState copies[2];
  uint32_t versions[2] = {0, 0};
  bool intact[2];
  int newest = -1;
  for (int which = 0; which < 2; ++which) {
    intact[which] =
        format::DecodeManifest(pool_->At(format::kManifestOffset[which]), which,
                               pool_->chunk_bytes(), extension, &copies[which], &versions[which]);
    if (!intact[which]) continue;
    if (newest < 0 || copies[which].commit_count > copies[newest].commit_count) newest = which;
  }
  if (newest < 0) {
    return pool_->CorruptionAt(format::kManifestOffset[0], "manifest", "no copy of it is intact");
  }
  const int other = 1 - newest;
  const bool equal = intact[other] && versions[0] == versions[1] && AreEqual(copies[0], copies[1]);
  state_ = std::move(copies[newest]);
  const bool is_old = versions[newest] == 1;
  if (is_old) {
    for (uint32_t i = 0; i < 2; ++i) state_.merges[0].redo_chunks[i] = pool_->first_redo_chunk(i);
  }
  if (const char* fault = FindFault(); fault != nullptr) {
    return pool_->CorruptionAt(format::kManifestOffset[0], "manifest", fault);
  }
  if (levels != 0 && state_.level_count != levels) {
    return Status::InvalidArgument(
        "the pool was made with levels.count=" + std::to_string(state_.level_count) +
        ", the options say " + std::to_string(levels) +
        "; omit it, or copy the content to a new pool");
  }
  if (state_.extension != 0) pool_->SetExtension(state_.extension);
  // That process makes its copies equal itself.
  if (pool_->media().cut()) return Status::OK();
  if (is_old) return pool_->read_only() ? Status::OK() : Convert();
  // The other copy is made equal before anything else changes. A torn one might else get just the
  // lines that it lacks from the next commit, and be an older commit that names a head that was
  // reused.
  if (!equal) return WriteCopy(other);
  return Status::OK();
}

/// From format version 1. After a crash in between, either copy is read as what it is.
Status Manifest::Convert() {
  BRAID_DCHECK(!pool_->read_only());
  if (Status s = pool_->AnnounceFormatVersion(); !s.ok()) return s;
  return Commit();
}

/// The rest of the store relies on all of this.
const char* Manifest::FindFault() const {
  for (const uint64_t id :
       {state_.commit_count, state_.flushed_table_id, state_.next_table_id, state_.next_merge_id,
        state_.collected_table_id, state_.merged_table_id}) {
    // Half of them: what the store hands out from here on stays below the limit.
    if (id >= format::kMaxId / 2) return "it has an impossible id";
  }
  if (state_.next_merge_id == 0) return "it has an impossible id";  // 0 says that none is open
  if (state_.last_sequence > format::kMaxSequence) return "its sequence number is impossible";
  if (state_.level_count < 2 || state_.level_count > format::kMaxLevels) {
    return "its number of levels is impossible";
  }
  if (state_.extension != 0 && (state_.extension >= pool_->chunks() ||
                                pool_->StateOf(state_.extension).kind() != ChunkKind::kManifest)) {
    return "its extension is missing";
  }
  if (const char* fault = FindFaultOfTables(); fault != nullptr) return fault;
  if (const char* fault = FindFaultOfLists(); fault != nullptr) return fault;
  return FindFaultOfMerges();
}

const char* Manifest::FindFaultOfTables() const {
  constexpr uint16_t kKnownFlags = format::kTableOfCopies | format::kTableWasCopied |
                                   format::kEntriesNotCounted | format::kTableOfOriginals |
                                   format::kTableOfRun | format::kTableIsBegun |
                                   format::kTableKeepsVersions;
  uint64_t heads = format::kTableHeads;
  if (state_.extension != 0) {
    heads += format::ExtensionHeads(pool_->chunk_bytes(), pool_->strands());
  }
  std::unordered_set<uint64_t> ids;
  std::unordered_set<uint32_t> used;
  for (const TableRecord& table : state_.tables) {
    if (table.level >= state_.level_count || table.head >= heads || table.id >= format::kMaxId ||
        (table.flags & ~kKnownFlags) != 0 || table.max_sequence > format::kMaxSequence ||
        table.entries > pool_->pool_bytes() / sizeof(format::EntryHeader)) {
      return "a table is impossible";
    }
    if (table.id >= state_.next_table_id) return "it would hand out the id of a table again";
    if (!used.insert(table.head).second) return "two tables have the same head";
    if (!ids.insert(table.id).second) return "two tables have the same id";
    const bool is_copies = (table.flags & format::kTableOfCopies) != 0;
    const bool is_originals = (table.flags & format::kTableOfOriginals) != 0;
    const bool is_of_run = (table.flags & format::kTableOfRun) != 0;
    const bool is_begun = (table.flags & format::kTableIsBegun) != 0;
    if ((is_copies && table.level != 0) || (is_originals && table.level == 0) ||
        (is_of_run && table.level == 0) || (is_begun && table.level != 0)) {
      return "a table is impossible";
    }
  }
  return nullptr;
}

/// Invariant 4.
const char* Manifest::FindFaultOfLists() const {
  std::array<uint32_t, format::kMaxLevels> lists{};
  uint32_t copies = 0;
  uint32_t originals = 0;
  for (const TableRecord& table : state_.tables) {
    const bool is_of_run = (table.flags & format::kTableOfRun) != 0;
    if ((table.flags & format::kTableOfCopies) != 0) {
      ++copies;
    } else if ((table.flags & format::kTableOfOriginals) != 0) {
      originals += is_of_run ? 0 : 1;
    } else if (table.level > 0 && is_of_run) {
      // A level is a run, or it is not.
      const TableRecord* const first = state_.ListOf(table.level);
      if ((first->flags & format::kTableOfRun) == 0) return "it names one table too many";
      lists[table.level] = 1;
    } else if (table.level > 0) {
      // Newest first: behind another one it is on its way into the next level.
      const uint32_t newer = lists[table.level]++;
      const bool leaves = newer == 1 && table.level + 1u < state_.level_count &&
                          state_.MergeOf(table.id) != nullptr;
      if (newer > 0 && !leaves) return "it names one table too many";
    }
  }
  if (copies > 1 || originals > 1) return "it names one table too many";
  for (uint32_t level = 1; level < state_.level_count; ++level) {
    if (lists[level] == 0) return "a level has no list";
  }
  return nullptr;
}

const char* Manifest::FindFaultOfMerges() const {
  const TableRecord* const copies = state_.Copies();
  std::unordered_set<uint64_t> redo_chunks;
  std::unordered_set<uint64_t> sources;
  bool alone = copies != nullptr;  // no other merge may be open
  for (const MergeRecord& merge : state_.merges) {
    if ((merge.flags & ~format::kMergeByPointers) != 0) return "its merge is of an unknown kind";
    for (const uint64_t chunk : merge.redo_chunks) {
      if (chunk == 0 && merge.id == 0) continue;
      if (chunk >= pool_->chunks() || pool_->StateOf(chunk).kind() != ChunkKind::kRedo ||
          !redo_chunks.insert(chunk).second) {
        return "its merge has no chunk for its records";
      }
    }
    if (merge.id == 0) {
      if (merge.flags != 0) return "its merge is of an unknown kind";
      continue;
    }
    if (merge.id >= state_.next_merge_id) return "it would hand out the id of a merge again";
    const TableRecord* target = state_.Find(merge.target_id);
    if (target == nullptr || target->level == 0) return "it merges into no list";
    if (target != state_.ListOf(target->level)) return "it merges into a list that is merged";
    if (!sources.insert(merge.source_id).second) return "it merges a table twice";
    alone = alone || (merge.flags & format::kMergeByPointers) != 0;
  }
  if (alone && sources.size() > 1) return "a merge is open that goes alone";
  if (const char* fault = FindFaultOfSources(std::move(sources)); fault != nullptr) return fault;
  if (copies != nullptr && state_.MergeOf(copies->id) == nullptr) return "copies wait for no merge";
  return nullptr;
}

/// Merges that go side by side are of the oldest tables of level 0; one of a list is into the next
/// level, while a newer one has its place.
const char* Manifest::FindFaultOfSources(std::unordered_set<uint64_t> sources) const {
  const TableRecord* const copies = state_.Copies();
  for (auto table = state_.tables.rbegin(); table != state_.tables.rend(); ++table) {
    const bool may_be_next = copies != nullptr ? &*table == copies : table->level == 0;
    if (!may_be_next) continue;
    if (sources.erase(table->id) == 0) break;
  }
  for (const MergeRecord& merge : state_.merges) {
    const TableRecord* const source = merge.id == 0 ? nullptr : state_.Find(merge.source_id);
    if (source == nullptr || source->level == 0) continue;
    const bool leaves =
        source != state_.ListOf(source->level) && (source->flags & format::kTableOfOriginals) == 0;
    if (leaves && state_.Find(merge.target_id)->level == source->level + 1u) {
      sources.erase(source->id);
    }
  }
  return sources.empty() ? nullptr : "it merges a table that is not next";
}

uint32_t Manifest::FirstFreeHead() const {
  std::vector<bool> used(state_.tables.size() + taken_heads_.size() + 1);
  const auto use = [&](uint32_t head) {
    if (head < used.size()) used[head] = true;
  };
  for (const TableRecord& table : state_.tables) use(table.head);
  for (const uint32_t head : taken_heads_) use(head);
  const auto free = std::find(used.begin(), used.end(), false);
  BRAID_DCHECK(free != used.end());  // there is one place more than there are heads in use
  return static_cast<uint32_t>(free - used.begin());
}

Status Manifest::ExtendHeads() {
  if (state_.extension != 0) return Status::OK();
  const Result<uint64_t> chunk = pool_->AllocatePlainChunk(ChunkKind::kManifest);
  if (!chunk.ok()) return chunk.status();
  BRAID_DCHECK(*chunk != 0);  // which would say that there is none
  // Named by the next commit, which comes before that of any table with a head in it.
  state_.extension = *chunk;
  pool_->SetExtension(*chunk);
  return Status::OK();
}

/// Those of the first segment, and of an extension.
uint64_t Manifest::AllHeads() const noexcept {
  return format::kTableHeads + format::ExtensionHeads(pool_->chunk_bytes(), pool_->strands());
}

uint64_t Manifest::HeadsLeft() const noexcept {
  const uint64_t heads = AllHeads();
  const uint64_t taken = state_.tables.size() + taken_heads_.size();
  return heads - std::min(heads, taken);
}

uint64_t Manifest::MostLists() const noexcept { return AllHeads() / 2; }

bool Manifest::HasRoomForLists() const noexcept {
  return HeadsLeft() > state_.tables.size() + taken_heads_.size();
}

Result<uint32_t> Manifest::TakeHead() {
  const auto too_many = [] { return Status::OutOfSpace("too many tables wait for their merge"); };
  const uint64_t tables = state_.tables.size() + taken_heads_.size() + 1;
  state_.tables.reserve(tables);
  taken_heads_.reserve(taken_heads_.size() + 1);
  const uint32_t head = FirstFreeHead();
  if (head >= format::kTableHeads) {
    if (Status s = ExtendHeads(); !s.ok()) return s;
    const uint64_t chunk_bytes = pool_->chunk_bytes();
    if (head - format::kTableHeads >= format::ExtensionHeads(chunk_bytes, pool_->strands()) ||
        tables > format::kTablesInRecord + format::ExtensionTables(chunk_bytes)) {
      return too_many();
    }
  }
  BRAID_DCHECK(pool_->IsHead(pool_->HeadOffset(head)));
  taken_heads_.push_back(head);
  return head;
}

void Manifest::ReturnHead(uint32_t head) noexcept { std::erase(taken_heads_, head); }

void Manifest::AddTable(const TableRecord& table) noexcept {
  ReturnHead(table.head);
  // Invariant 2.
  BRAID_DCHECK(std::none_of(state_.tables.begin(), state_.tables.end(),
                            [&](const TableRecord& other) { return other.head == table.head; }));
  BRAID_DCHECK(table.level < state_.level_count);
  BRAID_DCHECK(table.id < format::kMaxId && table.max_sequence <= format::kMaxSequence);
  state_.tables.insert(state_.tables.begin(), table);
}

void Manifest::RemoveTable(uint64_t id) noexcept {
  const size_t removed =
      std::erase_if(state_.tables, [id](const TableRecord& table) { return table.id == id; });
  BRAID_DCHECK(removed != 0);
}

void Manifest::KeepHead(uint32_t head) {
  BRAID_DCHECK(pool_->IsHead(pool_->HeadOffset(head)));
  taken_heads_.push_back(head);
}

bool Manifest::HasRoomForMerge() const noexcept {
  return std::any_of(state_.merges.begin(), state_.merges.end(),
                     [](const MergeRecord& merge) { return merge.id == 0; });
}

Result<MergeRecord*> Manifest::BeginMerge(uint64_t source_id, uint64_t target_id) {
  const auto merge = std::find_if(state_.merges.begin(), state_.merges.end(),
                                  [](const MergeRecord& open) { return open.id == 0; });
  // Before the commit: a pool whose manifest named more could not be opened.
  BRAID_CHECK(merge != state_.merges.end() && target_id != source_id);
  for (uint64_t& chunk : merge->redo_chunks) {
    if (chunk != 0) continue;
    const Result<uint64_t> taken = pool_->AllocatePlainChunk(ChunkKind::kRedo);
    if (!taken.ok()) return taken.status();
    chunk = *taken;
  }
  BRAID_DCHECK(state_.MergeOf(source_id) == nullptr);
  BRAID_DCHECK(merge->redo_chunks[0] != merge->redo_chunks[1]);
  merge->id = state_.next_merge_id++;
  merge->source_id = source_id;
  merge->target_id = target_id;
  merge->flags = 0;
  return &*merge;
}

void Manifest::EndMerge(uint64_t source_id) noexcept {
  MergeRecord* merge = state_.MergeOf(source_id);
  if (merge == nullptr) return;
  merge->id = merge->source_id = merge->target_id = 0;
  merge->flags = 0;
}

}  // namespace braid::level
