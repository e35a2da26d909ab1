// Purpose: atomic read-modify-write: repeats compare-and-swap until no other write intervenes.
// Thread safety: any thread.
// Persistence: that of CompareAndSwap.
#include "braid/update.h"

#include "base/no_throw.h"

namespace braid {

Result<bool> Update(DB* db, const WriteOptions& options, Slice key, const ValueChange& change) {
  return base::CatchToStatus([&]() -> Result<bool> {
    for (;;) {
      std::string value;
      const Status found = db->Get(key, &value);
      if (!found.ok() && !found.IsNotFound()) return found;
      const std::optional<Slice> now = found.ok() ? std::optional<Slice>(value) : std::nullopt;
      const std::optional<std::string> next = change(now);
      if (!next) return false;
      Result<bool> swapped = db->CompareAndSwap(options, key, now, *next);
      if (!swapped.ok() || *swapped) return swapped;
    }
  });
}

}  // namespace braid
