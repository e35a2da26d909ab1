// Purpose: the interface of ordered iteration over one table: user keys in byte order, each with
// the newest version that a view sees (which may be a delete).
// Thread safety: one thread at a time; the caller keeps the entries alive (a registered view).
// Persistence: none.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/check.h"
#include "braid/status.h"
#include "format/entry.h"

namespace braid::index {

/// What a cursor came to.
using CursorItem = format::EntryView;

class Cursor {
 public:
  virtual ~Cursor() = default;
  /// What part of the keys that a scan over several cursors meets is expected to be its own: it
  /// reads ahead accordingly. Before it is placed.
  virtual void ExpectShare(double share) { BRAID_DCHECK(share >= 0 && share <= 1); }
  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  /// To the first key >= `key` / the last key <= `key` that has a visible version.
  virtual void SeekGE(std::string_view key) = 0;
  virtual void SeekLE(std::string_view key) = 0;
  virtual void Next() = 0;
  virtual void Prev() = 0;
  /// Next, or Prev, up to `cap` times; `out` is what it came to each time. One virtual call for
  /// many steps. Returns their number; fewer than `cap` at the end or at damage, and then it is not
  /// valid any more, or where it has items in memory of its own. The cursor must be valid.
  virtual size_t Run(bool forward, CursorItem* out, size_t cap) {
    BRAID_DCHECK(Valid());
    for (size_t n = 0; n < cap; ++n) {
      forward ? Next() : Prev();
      if (!Valid()) return n;
      out[n] = item();
    }
    return cap;
  }
  /// What it stands on, while it is valid; within its chunk whatever becomes of the entry.
  virtual const CursorItem& item() const = 0;
  /// Of what it has come to, only the last `keep` are still looked at. For one that has items in
  /// memory of its own.
  virtual void Forget(size_t keep) { (void)keep; }
  /// Not ok when the cursor stopped at damage; it is not valid then.
  virtual Status status() const = 0;
};

}  // namespace braid::index
