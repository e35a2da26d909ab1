// Purpose: the error convention of braid/c.h (handles.h).
// Thread safety: all calls are safe.
// Persistence: none.
#include "capi/handles.h"

#include <cstdlib>
#include <cstring>

namespace braid::capi {

char out_of_memory_text[] = "IO error: out of memory: free some, or lower the memory budget";

bool SaveText(char** errptr, const char* text) noexcept {
  if (text == nullptr) return false;
  if (errptr == nullptr) return true;
  // Copied first: `text` may be the very message that is about to be freed.
  char* copy = CopyBytes(text);
  braid_free(*errptr);
  *errptr = copy != nullptr ? copy : out_of_memory_text;
  return true;
}

bool SaveError(char** errptr, const Status& status) noexcept {
  if (status.ok()) return false;
  if (errptr == nullptr) return true;
  try {
    return SaveText(errptr, status.ToString().c_str());
  } catch (...) {
    return SaveText(errptr, out_of_memory_text);
  }
}

char* CopyBytes(std::string_view bytes) noexcept {
  char* copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (copy == nullptr) return nullptr;
  if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
  copy[bytes.size()] = '\0';
  return copy;
}

}  // namespace braid::capi

void braid_free(void* ptr) {
  if (ptr != braid::capi::out_of_memory_text) std::free(ptr);
}
