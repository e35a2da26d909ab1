// Purpose: one leaf of the wB+-tree: the search through its slots, and the failure-atomic changes
// of its entries (Chen, Jin: "Persistent B+-Trees in Non-Volatile Main Memory", VLDB 2015; NV-
// Skiplist, section 4.1).
//
// Thread safety: FindInLeaf may race with a writer and then gives nonsense that stays in bounds;
// the caller notices by the leaf's version. The changes need the leaf's lock.
//
// Invariants: those of wb_format.h. A change leaves them true, whatever a crash interrupts.
//
// Persistence: a change of the order takes three steps, a fence each: (a) the slots are declared
// invalid; (b) the new entry, which has no bit yet, and the slots are written; (c) one store of the
// bitmap shows the entry, hides the one it replaces, and declares the slots valid. (c) commits.
// Before (c) a crash leaves the old entries, and slots that recovery makes anew from them.
#pragma once

#include "bench/wbtree/wb_format.h"
#include "media/persist.h"

namespace braid::bench::wbtree {

struct LeafPosition {
  uint32_t rank = 0;  ///< number of keys before the key
  bool found = false;
  uint32_t entry = 0;  ///< when found: its place
};

/// Binary search through the slots, which are valid.
inline LeafPosition FindInLeaf(const Leaf& leaf, uint64_t key) {
  const uint32_t count = std::min(LoadSlot(leaf, 0), kLeafEntries);
  LeafPosition at;
  uint32_t n = count;
  while (n > 0) {
    const uint32_t half = n / 2;
    const uint32_t entry = LoadSlot(leaf, 1 + at.rank + half);
    const uint64_t there = LoadWord(leaf.entries[entry].key);
    if (there == key) return {at.rank + half, true, entry};
    at.rank = there < key ? at.rank + half + 1 : at.rank;
    n = there < key ? n - half - 1 : half;
  }
  return at;
}

/// Adds an entry at `rank`; there is room and the key is new. Four lines, three fences.
void InsertEntry(media::PersistOps* ops, Leaf* leaf, uint32_t rank, Entry entry);
/// Replaces the entry at `rank` by one with the same key, in another place; there is room. Four
/// lines, three fences.
void ReplaceEntry(media::PersistOps* ops, Leaf* leaf, uint32_t rank, Entry entry);
/// Overwrites the value of the entry at place `entry`: eight bytes, so that the store commits. One
/// line, one fence.
void OverwriteValue(media::PersistOps* ops, Leaf* leaf, uint32_t entry, uint64_t value);
/// Takes the entry at `rank` away. Three lines, three fences.
void EraseEntry(media::PersistOps* ops, Leaf* leaf, uint32_t rank);
/// Makes the slots from the entries that the bitmap shows. For recovery.
void RebuildSlots(media::PersistOps* ops, Leaf* leaf);

/// Whether the slots name the entries that the bitmap shows, each once. Keys are not looked at.
bool SlotsMatchBitmap(const Leaf& leaf);

/// Stores the slots; only words that change are touched.
void StoreSlots(media::PersistOps* ops, Leaf* leaf, const Slots& slots);

}  // namespace braid::bench::wbtree
