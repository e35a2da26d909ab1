// A libFuzzer mutator that knows a pool's layout: it changes a field, a link, a chunk, and mends
// the checks. Programs without libFuzzer, which only replay, leave it out.
#pragma once

#if defined(BRAID_LIBFUZZER)

#include <string>
#include <vector>

#include "base/random.h"
#include "fuzz_common.h"
#include "pool_surgery.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace braid::fuzz {

class PoolMutator {
 public:
  PoolMutator(PoolBytes* pool, uint64_t seed) : random_(seed), at_(&pool->bytes, pool->segments) {}

  void Mutate() {
    for (uint64_t count = 1 + random_.Uniform(4); count > 0; --count) {
      switch (random_.Uniform(22)) {
        case 0:
          ChangeHeader();
          break;
        case 1:
        case 2:
          ChangeManifest();
          break;
        case 3:
          ChangeState();
          break;
        case 4:
          ChangeLogChunk();
          break;
        case 5:
        case 6:
        case 7:
          ChangeEntry();
          break;
        case 8:
        case 9:
        case 10:
        case 11:
          ChangeLink();
          break;
        case 12:
        case 13:
          ChangeRedo();
          break;
        case 14:
          ChangeExtent();
          break;
        case 15:
        case 16:
          OverlayEntry();
          break;
        case 17:
          CopyChunk();
          break;
        case 18:
          ChangeSegment();
          break;
        case 19:
        case 20:
          ChangeLeaf();
          break;
        default:
          ChangeBytes();
          break;
      }
    }
  }

 private:
  using Kind = format::ChunkKind;

  template <class T>
  const T& Pick(const std::vector<T>& from) {
    return from[random_.Uniform(from.size())];
  }

  /// A number that breaks things: near what it was, near limits of the pool and of its type.
  uint64_t Number(uint64_t was) {
    const uint64_t base[] = {was,
                             0,
                             at_.chunk_bytes(),
                             at_.size(),
                             at_.chunks(),
                             random_.Uniform(at_.size()),
                             1ull << random_.Uniform(64),
                             ~0ull,
                             1ull << 63,
                             (1ull << 56) - 1,
                             random_.Uniform(16),
                             random_.Next()};
    const uint64_t value = base[random_.Uniform(std::size(base))];
    return random_.OneIn(2) ? value : value + random_.Uniform(19) - 9;
  }
  template <class T>
  void Break(T* field) {
    *field = static_cast<T>(Number(static_cast<uint64_t>(*field)));
  }

  void ChangeHeader() {
    format::PoolHeader header = *at_.Header(random_.OneIn(2) ? 1 : 0);
    switch (random_.Uniform(9)) {
      case 0:
        Break(&header.chunk_bytes);
        break;
      case 8:
        header.incompat ^= format::kIncompatRegions;
        header.regions = static_cast<uint8_t>(random_.Uniform(6));
        header.list_kind = static_cast<uint8_t>(random_.Uniform(6));
        break;
      case 1:
        Break(&header.segments);
        break;
      case 2:
        Break(&header.update_count);
        break;
      case 3:
        header.clean = static_cast<uint8_t>(random_.Uniform(3));
        break;
      case 4:
        header.media_class = static_cast<uint32_t>(random_.Uniform(5));
        break;
      case 5:
        header.boot_id[random_.Uniform(sizeof header.boot_id)] = 'x';
        break;
      case 6:
        if (random_.OneIn(2)) {
          const std::string_view name = Pick(design::Designs()).name;
          std::memset(header.design, 0, sizeof header.design);
          std::memcpy(header.design, name.data(), name.size());
          header.incompat ^= random_.OneIn(2) ? format::kIncompatLeaves : 0;
        } else {
          std::memset(header.design + 5, 'x', sizeof header.design - 5);
        }
        break;
      default:
        std::memset(header.comparator + 8, 'x', sizeof header.comparator - 8);
        break;
    }
    for (int copy = 0; copy < 2; ++copy) {
      if (random_.OneIn(4)) continue;
      *at_.Header(copy) = header;
      at_.SealHeader(copy);
    }
  }

  void ChangeManifest() {
    format::ManifestRecord* record = at_.Manifest();
    uint64_t* const fields[] = {
        &record->commit_count,        &record->flushed_table_id,
        &record->next_table_id,       &record->last_sequence,
        &record->merges[0].id,        &record->merges[0].source_id,
        &record->merges[0].target_id, &record->next_merge_id,
        &record->collected_table_id,  &record->merged_table_id,
        &record->extension,           &record->extension_check,
        &record->merges[1].id,        &record->merges[0].redo_chunks[random_.Uniform(2)]};
    format::TableRecord* table = &record->tables[random_.Uniform(
        std::min(record->table_count, format::kTablesInRecord - 1) + 1ull)];
    switch (random_.Uniform(8)) {
      case 0:
      case 1:
        Break(fields[random_.Uniform(std::size(fields))]);
        break;
      case 2:
        Break(random_.OneIn(4) ? &record->level_count : &record->table_count);
        break;
      case 3:
        table->flags ^= 1;
        break;
      case 4:
        Break(random_.OneIn(2) ? &table->entries : &table->max_sequence);
        break;
      case 5:
        table->level ^= 1;
        break;
      case 6:
        random_.OneIn(2) ? Break(&table->id) : Break(&table->head);
        break;
      default:
        AddTable(record);
        break;
    }
    at_.SpreadManifest();
  }

  /// A table more, which may have the list of another.
  void AddTable(format::ManifestRecord* record) {
    if (record->table_count >= format::kTablesInRecord) return;
    const format::TableRecord copy = record->tables[random_.Uniform(record->table_count + 1ull)];
    format::TableRecord* added = &record->tables[record->table_count++];
    *added = copy;
    added->id = random_.OneIn(8) ? copy.id : ++record->next_table_id;
    added->level = random_.OneIn(8) ? 1 : 0;
    added->flags = random_.OneIn(3) ? format::kTableOfCopies : 0;
    added->head = static_cast<uint32_t>(random_.Uniform(format::kTableHeads));
    *at_.Head(added->head) = *at_.Head(copy.head % format::kTableHeads);
    if (random_.OneIn(2)) {
      record->merges[0].source_id = added->id;
      if (record->merges[0].id == 0) record->merges[0].id = record->next_merge_id++;
    }
  }

  void ChangeState() {
    const uint64_t chunk = random_.Uniform(at_.chunks());
    const format::ChunkState state = at_.State(chunk);
    if (random_.OneIn(2)) {
      at_.SetState(chunk, static_cast<Kind>(1 + random_.Uniform(13)), state.generation());
    } else {
      uint32_t generation = state.generation();
      Break(&generation);
      at_.SetState(chunk, state.kind(), generation);
    }
    MendChunk(chunk);
  }

  /// Checks of what the chunk seems to hold, for its generation of now.
  void MendChunk(uint64_t chunk) {
    if (at_.ChunkOffset(chunk + 1) > at_.size()) return;
    const uint32_t generation = at_.State(chunk).generation();
    if (at_.LogHeader(chunk)->magic == format::kLogChunkMagic) {
      at_.LogHeader(chunk)->generation = generation;
      at_.SealLogChunk(chunk);
      for (const uint64_t entry : at_.EntriesOf(chunk)) at_.SealEntry(entry);
    } else if (at_.Extent(chunk)->magic == format::kExtentMagic) {
      at_.Extent(chunk)->generation = generation;
      at_.SealExtent(chunk);
    }
  }

  void ChangeLogChunk() {
    constexpr Kind kKinds[] = {Kind::kLog, Kind::kLog, Kind::kCollected, Kind::kWriteAhead,
                               Kind::kCopied};
    const std::vector<uint64_t> chunks = at_.ChunksOf(kKinds[random_.Uniform(std::size(kKinds))]);
    if (chunks.empty()) return;
    const uint64_t chunk = Pick(chunks);
    format::LogChunkHeader* header = at_.LogHeader(chunk);
    switch (random_.Uniform(5)) {
      case 0:
        Break(&header->table_id);
        break;
      case 1:
        Break(&header->shard);
        break;
      case 2:
        Break(&header->ordinal);
        break;
      case 3:
        Break(&header->previous_used);
        break;
      default:
        header->within_unit ^= 1;
        break;
    }
    at_.SealLogChunk(chunk);
  }

  void ChangeEntry() {
    const std::vector<uint64_t> entries = at_.AllEntries();
    if (entries.empty()) return;
    const uint64_t offset = Pick(entries);
    format::EntryHeader* entry = at_.Entry(offset);
    uint32_t key_bytes = entry->key_bytes();
    uint32_t height = entry->height();
    switch (random_.Uniform(9)) {
      case 0: {
        uint64_t sequence = entry->sequence();
        Break(&sequence);
        entry->sequence_and_op = (sequence << 8) | (entry->sequence_and_op & 0xFF);
        break;
      }
      case 1:
        entry->sequence_and_op ^= 1ull << random_.Uniform(8);
        break;
      case 2:
        Break(&entry->value_bytes);
        break;
      case 3:
        Break(&key_bytes);
        break;
      case 4:
        height = static_cast<uint32_t>(random_.Uniform(32));
        break;
      case 5:
        *entry->state_byte() =
            random_.OneIn(4) ? static_cast<uint8_t>(random_.Next())
                             : *entry->state_byte() ^ (format::kStateLive ^ format::kStateObsolete);
        return;
      case 6:  // a key of another entry
        CopyKey(at_.Entry(Pick(entries)), entry);
        break;
      default:
        if (at_.FitsChunk(offset) && entry->key_bytes() + entry->value_bytes > 0) {
          char* const body = reinterpret_cast<char*>(entry->links() + height);
          body[random_.Uniform(entry->key_bytes() + entry->value_bytes)] =
              static_cast<char>(random_.Next());
        }
        break;
    }
    entry->key_and_height =
        (entry->key_and_height & 0xFF000000u) | (key_bytes & 0x1FFFFu) | ((height & 0x1F) << 17);
    at_.SealEntry(offset);
  }

  void CopyKey(format::EntryHeader* from, format::EntryHeader* to) {
    const uint32_t bytes = std::min(from->key_bytes(), to->key_bytes());
    std::memcpy(const_cast<char*>(to->key_data()), from->key_data(), bytes);
  }

  /// Where a link might lead: an entry, the end, or anywhere.
  uint64_t Target(const std::vector<uint64_t>& entries) {
    if (random_.OneIn(10)) return format::EntryPtr::End().raw;
    if (random_.OneIn(10)) return at_.LinkTo(Number(0));
    return at_.LinkTo(entries.empty() ? 0 : Pick(entries));
  }

  void ChangeLink() {
    const std::vector<uint64_t> entries = at_.AllEntries();
    uint64_t target = Target(entries);
    if (entries.empty() || random_.OneIn(5)) {
      const uint32_t table = static_cast<uint32_t>(random_.Uniform(4));
      at_.Head(table)->links[random_.Uniform(random_.OneIn(2) ? 2 : format::kMaxHeight)] = target;
      return;
    }
    const uint64_t from = Pick(entries);
    if (random_.OneIn(4)) target = at_.LinkTo(from);  // a circle of one
    const uint32_t height = std::clamp(at_.Entry(from)->height(), 1u, format::kMaxHeight);
    const uint32_t layer = random_.OneIn(2) ? 0 : static_cast<uint32_t>(random_.Uniform(height));
    at_.Entry(from)->links()[layer] = random_.OneIn(30) ? random_.Next() : target;
  }

  void ChangeRedo() {
    const std::vector<uint64_t> chunks = at_.ChunksOf(Kind::kRedo);
    if (chunks.empty()) return;
    const std::vector<uint64_t> entries = at_.AllEntries();
    const uint64_t chunk = Pick(chunks);
    format::ManifestRecord* record = at_.Manifest();
    format::MergeRecord* merge = &record->merges[0];
    if (merge->id == 0 && record->table_count > 0) {  // a merge is under way
      merge->id = record->next_merge_id++;
      merge->source_id = record->tables[(record->table_count - 1) % format::kTablesInRecord].id;
      if (random_.OneIn(2)) merge->source_id = record->tables[0].id;
      merge->target_id = format::kL1Id;
      at_.SpreadManifest();
    }
    format::RedoHeader* header = at_.Redo(chunk);
    if (header->merge_id != merge->id || random_.OneIn(4)) {
      *header = {};
      header->magic = format::kRedoMagic;
      header->merge_id = merge->id;
      header->batch = 1 + random_.Uniform(4);
      header->generation = at_.State(chunk).generation();
      header->count = static_cast<uint32_t>(random_.Uniform(6));
      header->boundary = entries.empty() ? 0 : Pick(entries);
      for (uint32_t i = 0; i < header->count; ++i) MakeUpdate(chunk, i, entries);
    }
    switch (random_.Uniform(5)) {
      case 0:
        Break(&header->boundary);
        break;
      case 1:
        Break(&header->entries_delta);
        break;
      case 2:
        Break(&header->merged_entries);
        break;
      case 3:
        Break(&header->count);
        break;
      default:
        if (header->count != 0) {
          const uint64_t most = std::min(header->count, at_.redo_capacity());
          MakeUpdate(chunk, static_cast<uint32_t>(random_.Uniform(most)), entries);
        }
        break;
    }
    at_.SealRedo(chunk);
  }

  void MakeUpdate(uint64_t chunk, uint32_t index, const std::vector<uint64_t>& entries) {
    format::RedoUpdate* update = at_.RedoUpdates(chunk) + index;
    if (entries.empty() || random_.OneIn(5)) {
      *update = {Number(format::kTableHeadsOffset), Target(entries)};
    } else if (random_.OneIn(3)) {
      *update = {Pick(entries) | format::kRedoMarkObsolete, 0};
    } else {
      const uint64_t from = Pick(entries);
      const uint64_t place = random_.Uniform(at_.Entry(from)->height() + 1ull) * 8;
      *update = {from + sizeof(format::EntryHeader) + place, Target(entries)};
    }
  }

  void ChangeExtent() {
    const std::vector<uint64_t> chunks = at_.ChunksOf(Kind::kExtentHead);
    if (!chunks.empty() && random_.OneIn(2)) {
      const uint64_t chunk = Pick(chunks);
      format::ExtentHeader* header = at_.Extent(chunk);
      uint64_t* const fields[] = {&header->chunks, &header->value_bytes, &header->owner};
      Break(fields[random_.Uniform(std::size(fields))]);
      at_.SealExtent(chunk);
      return;
    }
    // An entry whose value is taken for a reference.
    const std::vector<uint64_t> entries = at_.AllEntries();
    if (entries.empty()) return;
    const uint64_t offset = Pick(entries);
    if (!at_.FitsChunk(offset) || at_.Entry(offset)->value_bytes < sizeof(format::ExtentRef)) {
      return;
    }
    format::EntryHeader* entry = at_.Entry(offset);
    format::ExtentRef ref;
    char* const place = const_cast<char*>(entry->value().data());
    std::memcpy(&ref, place, sizeof ref);
    if (!entry->has(format::kValueInExtent)) {
      entry->sequence_and_op |= format::kValueInExtent;
      entry->value_bytes = sizeof ref;
      ref = {chunks.empty() ? Number(0) : at_.ChunkOffset(Pick(chunks)), Number(100), 0};
    }
    uint64_t* const fields[] = {&ref.offset, &ref.bytes, &ref.check};
    Break(fields[random_.Uniform(std::size(fields))]);
    if (ref.offset < at_.size() - 64 && ref.bytes <= at_.size() - 64 - ref.offset) {
      ref.check = base::Hash64(at_.As<char>(ref.offset + 64), ref.bytes);
    }
    std::memcpy(place, &ref, sizeof ref);
    at_.SealEntry(offset);
  }

  /// An entry over the bytes of others, with a link to it: what one changes, the other reads.
  void OverlayEntry() {
    const std::vector<uint64_t> entries = at_.AllEntries();
    if (entries.empty()) return;
    const uint64_t from = Pick(entries);
    uint64_t to = (Pick(entries) + 8 * random_.Uniform(12)) & ~7ull;
    if (random_.OneIn(5)) to = at_.ChunkOffset(at_.ChunkOf(to) + 1) - 8 * (1 + random_.Uniform(20));
    if (!at_.FitsChunk(from) || to % at_.chunk_bytes() < 64) return;
    const uint64_t room = at_.chunk_bytes() - to % at_.chunk_bytes();
    if (room < sizeof(format::EntryHeader) || to + room > at_.size()) return;
    std::memmove(at_.As<char>(to), at_.As<char>(from), std::min(at_.Entry(from)->size(), room));
    if (random_.OneIn(2)) {
      uint64_t sequence = at_.Entry(to)->sequence() + 1;
      at_.Entry(to)->sequence_and_op = (sequence << 8) | (at_.Entry(to)->sequence_and_op & 0xFF);
    }
    at_.SealEntry(to);
    if (!random_.OneIn(3)) at_.Entry(Pick(entries))->links()[0] = at_.LinkTo(to);
  }

  void CopyChunk() {
    const uint64_t from = random_.Uniform(at_.chunks());
    const uint64_t to = random_.Uniform(at_.chunks());
    if (at_.ChunkOffset(std::min(from, to)) < PoolSurgery::kLeastBytes) return;
    std::memmove(at_.As<char>(at_.ChunkOffset(to)), at_.As<char>(at_.ChunkOffset(from)),
                 at_.chunk_bytes());
    at_.SetState(to, at_.State(from).kind(), at_.State(to).generation());
    MendChunk(to);
  }

  /// A slot, a bit or a link of a leaf, or the link to the first one.
  void ChangeLeaf() {
    const std::vector<uint64_t> leaves = at_.Leaves();
    if (leaves.empty()) return;
    const uint64_t place = Pick(leaves);
    const uint64_t other = random_.OneIn(6) ? Number(place) : Pick(leaves);
    const uint64_t link = format::LeafPtr::To(random_.OneIn(6) ? 0 : other).raw;
    auto* leaf = at_.As<format::Leaf>(place);
    format::LeafSlot* slot = &leaf->slots[random_.Uniform(format::kLeafSlots)];
    const std::vector<uint64_t> entries = at_.AllEntries();
    switch (random_.Uniform(6)) {
      case 0:
        *at_.As<uint64_t>(format::kLeafHeadOffset) = link;
        return;
      case 1:
      case 2:
        leaf->next = link;
        break;
      case 3:
        leaf->commit ^= 1ull << random_.Uniform(format::kLeafSlots);
        break;
      case 4:
        slot->tag ^= 1ull << random_.Uniform(32);
        break;
      default:
        slot->entry = Target(entries);
        if (random_.OneIn(2)) slot->entry = leaf->slots[0].entry;
        break;
    }
    at_.SealLeaf(place);
  }

  void ChangeSegment() {
    const size_t index = random_.Uniform(at_.segments());
    auto* header = at_.As<format::SegmentHeader>(at_.SegmentBase(index));
    uint64_t* const fields[] = {&header->base_offset, &header->segment_bytes, &header->chunk_bytes,
                                &header->meta_chunks};
    Break(fields[random_.Uniform(std::size(fields))]);
    at_.SealSegment(index);
  }

  /// Bytes as they come; checks are left broken half of the time.
  void ChangeBytes() {
    const uint64_t chunk = random_.Uniform(at_.chunks());
    const uint64_t at = at_.ChunkOffset(chunk) + random_.Uniform(at_.chunk_bytes());
    const size_t size = static_cast<size_t>(
        std::min<uint64_t>(1 + random_.Uniform(64), at_.size() - std::min(at, at_.size())));
    if (size == 0) return;
    LLVMFuzzerMutate(at_.As<uint8_t>(at), size, size);
    if (random_.OneIn(2)) MendChunk(chunk);
  }

  Random random_;
  PoolSurgery at_;
};

}  // namespace braid::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  using namespace braid::fuzz;
  std::optional<PoolBytes> pool = DecodePool(data, size);
  const bool usable =
      pool && !pool->segments.empty() && pool->segments[0] >= PoolSurgery::kLeastBytes;
  if (!usable || seed % 32 == 0) return LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 == 1) pool->how = static_cast<uint8_t>(pool->how ^ (1u << (seed / 8 % 8)));
  if (seed % 8 == 2) pool->seed = static_cast<uint8_t>(seed / 8);
  PoolMutator(&*pool, seed).Mutate();
  const std::string encoded = EncodePool(*pool);
  if (encoded.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, encoded.data(), encoded.size());
  return encoded.size();
}

#endif  // BRAID_LIBFUZZER
