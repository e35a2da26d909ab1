// Purpose: Update, a read, a change and a write of one key, as one step.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "braid/db.h"

namespace braid {

/// Gets the value of a key, nothing when there is none, and returns what it shall become; nothing:
/// it stays as it is. May be called several times; nothing is locked meanwhile.
using ValueChange = std::function<std::optional<std::string>(std::optional<Slice> value)>;

/// Reads the value of `key`, has `change` say what it shall become, and stores that, if nobody else
/// has written the key in between; else again, with what is there then. So no change of another is
/// lost: counters, lists, and whatever elsewhere is a merge operator. True: stored, and durable as
/// after Put. False: `change` left it as it is. Always ends, since of several that meet one stores;
/// but who meets many others may wait for as many. Cost: two Gets and a Put, as often as it is
/// tried. Errors: those of Get and CompareAndSwap.
Result<bool> Update(DB* db, const WriteOptions& options, Slice key, const ValueChange& change);
inline Result<bool> Update(DB* db, Slice key, const ValueChange& change) {
  return Update(db, WriteOptions{}, key, change);
}

}  // namespace braid
