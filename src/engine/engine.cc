// Purpose: limits that every design refuses alike. Thread safety: pure. Persistence: none.
#include "engine/engine.h"

namespace braid::engine {

Status CheckKey(Slice key) {
  if (key.size() <= kMaxKeyBytes) return Status::OK();
  return Status::InvalidArgument("the key has " + std::to_string(key.size()) +
                                 " bytes; the limit is " + std::to_string(kMaxKeyBytes));
}

Status CheckValue(Slice value) {
  if (value.size() <= kMaxValueBytes) return Status::OK();
  return Status::InvalidArgument("the value has " + std::to_string(value.size()) +
                                 " bytes; the limit is " + std::to_string(kMaxValueBytes));
}

}  // namespace braid::engine
