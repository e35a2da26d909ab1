// Purpose: the changes of one leaf. Thread safety, invariants, persistence: see leaf_ops.h.
#include "bench/wbtree/leaf_ops.h"

#include <cstring>

namespace braid::bench::wbtree {
namespace {

Slots SlotsOf(const Leaf& leaf) {
  Slots slots;
  std::memcpy(slots.data(), leaf.slots, sizeof slots);
  return slots;
}

/// Step (a).
void InvalidateSlots(media::PersistOps* ops, Leaf* leaf) {
  ops->StoreU64(&leaf->bitmap, leaf->bitmap & ~kSlotsValid);
  ops->Persist(&leaf->bitmap, sizeof leaf->bitmap, media::Site::kOutside);
}

/// Steps (b) and (c). The caller may have flushed an entry; the first fence covers it.
void CommitSlots(media::PersistOps* ops, Leaf* leaf, const Slots& slots, uint64_t bits) {
  StoreSlots(ops, leaf, slots);
  ops->Persist(leaf->slots, sizeof leaf->slots, media::Site::kOutside);
  ops->StoreU64(&leaf->bitmap, bits | kSlotsValid);
  ops->Persist(&leaf->bitmap, sizeof leaf->bitmap, media::Site::kOutside);
}

/// Writes the entry to a free place and flushes it.
uint32_t AppendEntry(media::PersistOps* ops, Leaf* leaf, Entry entry) {
  const auto place = static_cast<uint32_t>(std::countr_one(leaf->bitmap));
  ops->StoreU64(&leaf->entries[place].key, entry.key);
  ops->StoreU64(&leaf->entries[place].value, entry.value);
  ops->Flush(&leaf->entries[place], sizeof entry, media::Site::kOutside);
  return place;
}

}  // namespace

void StoreSlots(media::PersistOps* ops, Leaf* leaf, const Slots& slots) {
  uint64_t words[8];
  static_assert(sizeof words == sizeof(Slots));
  std::memcpy(words, slots.data(), sizeof words);
  for (size_t i = 0; i < 8; ++i) {
    if (words[i] != leaf->slots[i]) ops->StoreU64(&leaf->slots[i], words[i]);
  }
}

void InsertEntry(media::PersistOps* ops, Leaf* leaf, uint32_t rank, Entry entry) {
  InvalidateSlots(ops, leaf);
  const uint32_t place = AppendEntry(ops, leaf, entry);
  Slots slots = SlotsOf(*leaf);
  const uint32_t count = slots[0];
  std::memmove(&slots[rank + 2], &slots[rank + 1], count - rank);
  slots[rank + 1] = static_cast<uint8_t>(place);
  slots[0] = static_cast<uint8_t>(count + 1);
  CommitSlots(ops, leaf, slots, leaf->bitmap | uint64_t{1} << place);
}

void ReplaceEntry(media::PersistOps* ops, Leaf* leaf, uint32_t rank, Entry entry) {
  InvalidateSlots(ops, leaf);
  const uint32_t place = AppendEntry(ops, leaf, entry);
  Slots slots = SlotsOf(*leaf);
  const uint32_t old_place = slots[rank + 1];
  slots[rank + 1] = static_cast<uint8_t>(place);
  const uint64_t others = leaf->bitmap & ~(uint64_t{1} << old_place);
  CommitSlots(ops, leaf, slots, others | uint64_t{1} << place);
}

void OverwriteValue(media::PersistOps* ops, Leaf* leaf, uint32_t entry, uint64_t value) {
  ops->StoreU64(&leaf->entries[entry].value, value);
  ops->Persist(&leaf->entries[entry].value, sizeof value, media::Site::kOutside);
}

void EraseEntry(media::PersistOps* ops, Leaf* leaf, uint32_t rank) {
  InvalidateSlots(ops, leaf);
  Slots slots = SlotsOf(*leaf);
  const uint32_t place = slots[rank + 1];
  std::memmove(&slots[rank + 1], &slots[rank + 2], slots[0] - rank - 1u);
  slots[0] = static_cast<uint8_t>(slots[0] - 1);
  CommitSlots(ops, leaf, slots, leaf->bitmap & ~(uint64_t{1} << place));
}

void RebuildSlots(media::PersistOps* ops, Leaf* leaf) {
  const uint64_t bits = leaf->bitmap & kEntryBits;
  Slots slots = SlotsOf(*leaf);
  uint32_t count = 0;
  for (uint64_t rest = bits; rest != 0; rest &= rest - 1) {
    slots[++count] = static_cast<uint8_t>(std::countr_zero(rest));
  }
  std::sort(slots.begin() + 1, slots.begin() + 1 + count,
            [&](uint8_t a, uint8_t b) { return leaf->entries[a].key < leaf->entries[b].key; });
  slots[0] = static_cast<uint8_t>(count);
  CommitSlots(ops, leaf, slots, bits);
}

bool SlotsMatchBitmap(const Leaf& leaf) {
  const Slots slots = SlotsOf(leaf);
  const uint32_t count = leaf.count();
  if (slots[0] != count) return false;
  uint64_t named = 0;
  for (uint32_t i = 1; i <= count; ++i) {
    if (slots[i] >= kLeafEntries) return false;
    named |= uint64_t{1} << slots[i];
  }
  return named == (leaf.bitmap & kEntryBits);
}

}  // namespace braid::bench::wbtree
