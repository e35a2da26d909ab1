// What every byte of a sound pool is for, and every entry in it: an oracle that reads the format by
// itself, apart from the code under test.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "format/layout.h"
#include "pool_states.h"

namespace braid::test {

/// What a byte is for. Only damage to kNeeded must be noticed.
enum class ByteUse : uint8_t {
  kUnused,     ///< no structure covers it: rest of a page, of a chunk, reserved, padding
  kFree,       ///< in a free chunk
  kObsolete,   ///< in an entry that is obsolete or superseded, or in its extent
  kSpareCopy,  ///< one of two copies: the other is used in its place
  kSpareRedo,  ///< a redo record of a merge that has ended
  kLogOnly,    ///< links and states set anew: of a log, of an open merge, upper ones of L0
  kNeeded,
};
inline constexpr int kByteUses = 7;
const char* ByteUseName(ByteUse use);

struct MappedEntry {
  std::string_view key;
  std::string_view value;  // in the map's image; of an extent: its bytes
  uint64_t sequence = 0;
  uint64_t offset = 0;  // in the pool
  uint64_t size = 0;
  uint64_t links = 0;  // bytes of links, behind the 24 of the header
  uint64_t extent = 0;
  bool put = false;
  bool live = false;     // or its value is
  bool carrier = false;  // only its value is
  bool flushed = false;
  bool merged = false;  // its table is L1
  bool copy = false;    // collected, and on its way into L1
  bool first = false;   // of its write
  bool more = false;
};

class PoolMap {
 public:
  explicit PoolMap(const PoolImage& image);

  const std::vector<MappedEntry>& entries() const { return entries_; }
  ByteUse UseOf(uint64_t offset) const { return static_cast<ByteUse>(uses_[offset]); }
  /// Of the merge that is open, of which there is one at most; or 0.
  uint64_t merge_id() const { return manifest_.merges[0].id; }
  /// Of the table of collected copies that are being merged, or 0.
  uint64_t copies_id() const {
    const format::TableRecord* copies = manifest_.Copies();
    return copies == nullptr ? 0 : copies->id;
  }
  /// Where the head of the list of the last level lies; that of a table where there is no such
  /// list.
  uint64_t OffsetOfLastHead() const;
  bool HasKind(format::ChunkKind kind) const;

  /// For each use how many bytes differ between the map's image and `harmed`; missing ones do.
  std::vector<uint64_t> Changed(const PoolImage& harmed) const;
  /// True when the state of a free chunk is, in `harmed`, one of before it was freed, and nothing
  /// of that life counts any more: what a crash right before the free leaves, and so no damage.
  bool IsStateBeforeFree(const PoolImage& harmed, uint64_t chunk) const;
  uint64_t chunks() const { return states_.size(); }
  format::ChunkState state(uint64_t chunk) const { return states_[chunk]; }
  format::ChunkState StateIn(const PoolImage& image, uint64_t chunk) const;
  /// Copies the state of `chunk` from `from` to `to`.
  void CopyState(uint64_t chunk, const PoolImage& from, PoolImage* to) const;
  /// True when header, key and value of the entry are the same in `harmed`; its links may differ.
  /// `state_too`: the state byte as well.
  bool SameIn(const PoolImage& harmed, const MappedEntry& entry, bool state_too) const;
  /// True when neither its chunk's state nor its chunk's header tells the entry's life any more.
  bool LifeUnknownIn(const PoolImage& harmed, const MappedEntry& entry) const;

  /// What a pool whose logs were not flushed may hold when the ends of logs are damaged: damage
  /// behind which no write begins can't be told from a write that a crash tore. `*torn` (may be
  /// null) tells whether there is any.
  Model WithoutTornEnds(const PoolImage& harmed, const Model& content, bool* torn = nullptr) const;
  /// Offsets of the entries of logs whose write is not whole any more: a batch is left out as one.
  std::set<uint64_t> OfBrokenWrites(const PoolImage& harmed) const;
  /// The same for a repair, which goes on behind damage: only the last write of each log may be
  /// taken for a torn one.
  Model WithoutLastWrites(const PoolImage& harmed, const Model& content) const;

 private:
  char At(uint64_t offset) const { return bytes_[offset]; }
  template <class T>
  T Read(uint64_t offset) const;
  /// The bytes of `image` at an offset in the pool; null where its files do not have them.
  const char* BytesIn(const PoolImage& image, uint64_t offset, uint64_t size) const;
  bool Same(const PoolImage& harmed, uint64_t offset, uint64_t size) const;
  bool HoldsNothingThatCounts(const PoolImage& harmed, uint64_t chunk) const;
  void Mark(uint64_t offset, uint64_t size, ByteUse use);
  void MapSegment(uint32_t index, uint64_t base, uint64_t bytes);
  void MapHead();
  void MapChunk(uint64_t chunk, format::ChunkState state);
  /// True of a write-ahead log whose table has copies of its entries: only a crash leaves one.
  bool IsRetiredLog(uint64_t chunk, format::ChunkState state) const;
  /// The entry at an offset, if one of that life of the chunk is there; else null.
  std::string_view ValueElsewhere(const format::EntryHeader& node) const;
  const format::EntryHeader* EntryOfLife(uint64_t chunk, uint64_t at, uint32_t generation) const;
  void MapEntries(uint64_t chunk, uint32_t generation, bool collected);
  void MarkEntry(const MappedEntry& entry);
  std::vector<std::vector<size_t>> LogsInOrder() const;
  Model Without(const std::vector<bool>& dropped, Model model) const;

  std::string bytes_;  // all segments
  std::vector<uint8_t> uses_;
  std::vector<uint64_t> bases_;  // of the files of the image; ~0 for what is no segment
  std::vector<std::string> names_;
  uint64_t chunk_bytes_ = 0;
  uint32_t regions_ = 1;
  uint32_t strands_ = 1;
  std::vector<uint64_t> state_words_;  // offset of each chunk's state
  std::vector<format::ChunkState> states_;
  format::ManifestState manifest_;
  std::vector<MappedEntry> entries_;
  std::map<std::string_view, uint64_t> newest_;  // sequence number
  std::set<uint64_t> copied_;                    // sequence numbers of copies on their way
  std::map<std::pair<uint64_t, uint32_t>, std::map<uint32_t, std::vector<size_t>>> logs_;
};

}  // namespace braid::test
