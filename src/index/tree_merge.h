// Purpose: the keys of several trees as one sequence of refs. What the trees know of their keys
// decides nearly every comparison, so that entries are not looked at, and who reads them can ask
// for them in the order in which it comes to them, and for no others.
// Thread safety: one thread at a time, inside an EpochGuard; others may change the trees meanwhile.
// Invariants:
//   1. A ref is given out when each tree has been copied to its key, or beyond.
//   2. Lanes that have something copied stand in `order_` as their trees: newest first.
// Persistence: none.
// Source: a merge by key prefixes, as sorts of strings do it (poor man's normalized keys; Graefe,
// "Implementing Sorting in Database Systems", 2006), with the heads of DramBTree's leaves.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "braid/status.h"
#include "index/entry_index.h"
#include "index/keyed_refs.h"
#include "pool/pool.h"

namespace braid::index {

/// A tree that is read together with others.
struct TreeSource {
  std::shared_ptr<const EntryIndex> tree;
  /// Grows by the keys that a cursor has passed, some at a time; may be null, else it outlives the
  /// cursor.
  std::atomic<uint64_t>* passed = nullptr;
  uint64_t entries = 1;  ///< about; of several trees it says how much to copy of each
};

class TreeMerge {
 public:
  /// In a ref: the key is that of the ref before it, which is of a newer tree. Offsets of entries
  /// are multiples of eight.
  static constexpr uint64_t kOlder = 1;

  /// `sources` newest first; of several, each must know its keys.
  TreeMerge(const pool::PmemPool* pool, std::vector<TreeSource> sources);
  TreeMerge(const TreeMerge&) = delete;
  TreeMerge& operator=(const TreeMerge&) = delete;

  size_t sources() const noexcept { return sources_.size(); }
  /// The largest tree.
  const EntryIndex& main() const noexcept { return *sources_[main_].tree; }

  /// Begins at `start`, and puts the first refs into `out`, at most `cap`. Returns their number; 0
  /// when there are none. Cost: a descent for each tree. Throws std::bad_alloc.
  size_t Seek(const ScanStart& start, uint64_t* out, size_t cap);
  /// The same with those that come next. `cap` is at least the number of sources, since a key is
  /// not divided. 0 at the end, and when status() is not ok: what comes next may have to be found
  /// by a key in the pool, and where that is damaged the walk would not end.
  size_t Next(uint64_t* out, size_t cap);
  const Status& status() const noexcept { return status_; }

  /// Adds to the sources' counts what was given out since the last call, except the last `left`.
  void TellPassed(size_t left) noexcept;

 private:
  /// A tree and what was copied from it: refs from `at` on are still to come.
  struct Lane {
    Lane() noexcept {}  // NOLINT(modernize-use-equals-default): the arrays stay as they are

    const EntryIndex* tree;
    size_t index;    // of its source
    size_t at;       // below copied.count while it is in order_
    size_t part;     // the one that `at` is in
    size_t want;     // to copy next time
    uint64_t given;  // since TellPassed
    uint64_t last;   // as last_before_
    // Of the part. All keys that lanes stand on begin with the same `base` bytes: their words are
    // what comes behind these, eight bytes. As they grow the keys come, in either direction.
    size_t base;
    uint32_t exact;  // the length of its keys, where nothing comes behind their words
    KeyedRefs copied;
    std::array<uint64_t, KeyedRefs::kMost> words;  // of the part, from `at` on

    const LeafPart& leaf() const { return copied.part[part]; }
    uint64_t head() const { return copied.heads[at]; }
    uint64_t ref() const { return copied.refs[at]; }
    uint64_t word() const { return words[at]; }
  };
  /// What TakeByWords has at hand of a lane.
  struct Way {
    const uint64_t* words;
    const uint64_t* refs;
    size_t at;
    size_t end;  // of the part
    uint64_t word;
  };
  /// Refs that are first copied of a tree beyond its share: keys come from it in no even order.
  static constexpr size_t kMore = 4;
  /// Refs of several trees that are given out in each of the first calls.
  static constexpr size_t kShort = 24;
  static constexpr size_t kShortCalls = 4;
  /// Refs of one lane before the next of another: so many are taken together.
  static constexpr size_t kRun = 8;
  /// Lanes that have their merge in registers.
  static constexpr size_t kFew = 4;
  static constexpr uint32_t kNotExact = ~uint32_t{0};

  void MakeLanes();
  const TreeSource* OnlyOne() const;
  size_t ScanOne(const ScanStart& start, uint64_t* out, size_t cap);
  bool IsFarther(uint64_t last, uint64_t before);
  std::string_view LastKey(Lane* lane, char* whole);
  void Copy(Lane* lane, const ScanStart& start, size_t want);
  bool CopyMore();
  void Enter();
  void Align();
  void SetWords(Lane* lane, size_t base) const;
  int Compare(const Lane& a, const Lane& b) const;
  int CompareKnown(const Lane& a, const Lane& b) const;
  size_t Take(uint64_t* out, size_t cap);
  size_t TakeRun(uint64_t* out, size_t cap);
  template <size_t lanes>
  size_t TakeByWords(uint64_t* out, size_t cap);
  size_t TakeKey(uint64_t* out);
  bool LeaveParts();

  const pool::PmemPool* const pool_;
  std::vector<TreeSource> sources_;
  size_t main_ = 0;
  const TreeSource* only_ = nullptr;  // the rest has nothing
  bool forward_ = true;
  Status status_;
  // Of a single tree, the only one or all others are empty: the last ref that was given out; the
  // last one of the copy before, 0 if there was none; how many were given out since TellPassed.
  uint64_t last_ = 0;
  uint64_t last_before_ = 0;
  uint64_t given_ = 0;
  // Of several, once there are.
  std::unique_ptr<Lane[]> lanes_of_sources_;
  std::span<Lane> lanes_;     // all of these
  std::vector<Lane*> order_;  // invariant 2
  std::vector<Way> ways_;     // room for one a lane, where there are more than kFew
  bool run_out_ = false;      // of some lane all was given out: it is to be copied again
  bool exact_ = false;        // lanes that stand on the same word stand on the same key
  size_t calls_ = 0;          // of Next since Seek
  uint64_t flip_ = 0;         // all bits in a backward scan
};

}  // namespace braid::index
