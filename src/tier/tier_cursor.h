// Purpose: the tier as a source of a merging iterator: what a walk comes to, in the shape of
// entries, with memory of its own.
// Thread safety: one thread at a time.
// Invariants:
//   1. An item stays as it is until Forget lets it go.
// Persistence: none.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "index/cursor.h"
#include "index/read_view.h"
#include "tier/store.h"

namespace braid::tier {

class TierCursor final : public index::Cursor {
 public:
  /// The caller keeps the store that the walk is of.
  TierCursor(std::unique_ptr<Walk> walk, const index::ReadView& view);

  bool Valid() const override { return valid_; }
  void SeekToFirst() override {
    Seek([](Walk& walk) { walk.SeekToFirst(); }, true);
  }
  void SeekToLast() override {
    Seek([](Walk& walk) { walk.SeekToLast(); }, false);
  }
  void SeekGE(std::string_view key) override {
    Seek([&](Walk& walk) { walk.SeekGE(key); }, true);
  }
  void SeekLE(std::string_view key) override {
    Seek([&](Walk& walk) { walk.SeekLE(key); }, false);
  }
  void Next() override {
    Seek([](Walk& walk) { walk.Next(); }, true);
  }
  void Prev() override {
    Seek([](Walk& walk) { walk.Prev(); }, false);
  }
  /// Ends early, too, when what it has come to takes a lot of memory.
  size_t Run(bool forward, index::CursorItem* out, size_t cap) override;
  const index::CursorItem& item() const override {
    BRAID_DCHECK(valid_ && !items_.empty());
    return items_.back().view;
  }
  void Forget(size_t keep) override;
  Status status() const override { return status_; }

 private:
  struct Item {
    format::EntryHeader header{};
    index::CursorItem view{};
  };
  /// Bytes of the keys and values of some items, one behind the other.
  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
    size_t used = 0;
    size_t items = 0;  // that are not forgotten
  };

  template <class Move>
  void Seek(Move&& move, bool forward) {
    move(*walk_);
    Take(forward);
  }
  void Take(bool forward);
  char* Room(size_t bytes);

  const std::unique_ptr<Walk> walk_;
  const uint64_t newest_;     // that the view sees
  std::deque<Item> items_;    // their addresses stay
  std::deque<Block> blocks_;  // in the order of the items
  bool valid_ = false;
  Status status_;
};

}  // namespace braid::tier
