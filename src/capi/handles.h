// Purpose: what the opaque types of braid/c.h hold, and how errors cross into C.
// Thread safety: as stated in braid/c.h; nothing here has state of its own.
// Persistence: none.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "braid/c.h"
#include "braid/db.h"
#include "braid/shared_resources.h"
#include "braid/transaction.h"

struct braid_t {
  std::unique_ptr<braid::DB> rep;
  std::shared_ptr<const braid::KeyOrder> order = nullptr;  // null: bytes, or
  std::shared_ptr<const braid::Comparator> comparator = nullptr;
};

struct braid_snapshot_t {
  std::shared_ptr<const braid::Snapshot> rep;  // null when there is none
  // Why there is none. braid_create_snapshot can't report it, so the reads through it do.
  braid::Status status = braid::Status::OK();
};

struct braid_iterator_t {
  std::unique_ptr<braid::Iterator> rep;
  bool out_of_memory = false;  // a seek or step was given up; the position is unknown
};

struct braid_pinned_t {
  braid::PinnedValue rep;
};

struct braid_writebatch_t {
  // Why an update could not be taken. braid_writebatch_put can't report it, so braid_write does.
  enum class Refusal : uint8_t { kNone, kOutOfMemory, kTooLarge };

  braid::WriteBatch rep;
  Refusal refusal = Refusal::kNone;

  void Refuse(Refusal why) noexcept {
    rep.Clear();
    refusal = why;
  }
};

struct braid_transaction_t {
  std::unique_ptr<braid::Transaction> rep;
  braid_snapshot_t snapshot;  // of its begin; goes first, as it belongs to `rep`
};

struct braid_event_listener_t {
  /// Shared with the options and databases that use it; the last one calls the destructor.
  std::shared_ptr<braid::EventListener> rep;
};

struct braid_comparator_t {
  /// Shared with the options and databases that use it; the last one calls the destructor.
  std::shared_ptr<const braid::Comparator> rep;
};

struct braid_key_order_t {
  /// Shared with the options and databases that use it; the last one calls the destructor.
  std::shared_ptr<const braid::KeyOrder> rep;
};

struct braid_filterpolicy_t {
  void* state;
  void (*destructor)(void*);
};

struct braid_logger_t {
  /// Shared with the options and databases that use it; the last one calls the destructor.
  std::shared_ptr<const std::function<void(std::string_view)>> rep;
};

struct braid_cache_t {
  uint64_t capacity;
};

struct braid_env_t {
  char unused;
};

struct braid_options_t {
  braid::Options rep;
  uint64_t cache_bytes = 0;
  bool budget_is_set = false;
  std::shared_ptr<const braid::KeyOrder> order;  // null: bytes
  std::shared_ptr<const braid::Comparator> comparator;
  bool out_of_memory = false;  // a setter could not keep its value; braid_open reports it
};

struct braid_resources_t {
  /// Shared with the options and databases that use it.
  std::shared_ptr<braid::SharedResources> rep;
};

struct braid_readoptions_t {
  braid::ReadOptions rep;
  braid::Status refusal = braid::Status::OK();  // of the snapshot: null in `rep` is no snapshot
};

struct braid_writeoptions_t {
  braid::WriteOptions rep;
};

namespace braid::capi {

/// Applies the error convention of braid/c.h: nothing when `text` is null, else frees the earlier
/// message and stores a copy. Returns whether `text` is an error.
bool SaveText(char** errptr, const char* text) noexcept;
bool SaveError(char** errptr, const Status& status) noexcept;

/// A copy from malloc, with a zero byte after it; null when memory runs out.
char* CopyBytes(std::string_view bytes) noexcept;

/// The options that DB::Open gets, or why `options` is refused.
Result<Options> MakeOptions(const braid_options_t& options);

/// The message that needs no memory.
extern char out_of_memory_text[];

/// Runs `call`, which returns a Status, and stores what went wrong, exceptions included. Returns
/// whether something did.
template <class Call>
bool Guard(char** errptr, Call&& call) noexcept {
  try {
    return SaveError(errptr, std::forward<Call>(call)());
  } catch (const std::bad_alloc&) {
    return SaveText(errptr, out_of_memory_text);
  } catch (const std::exception& error) {
    return SaveText(errptr, error.what());
  } catch (...) {
    return SaveText(errptr, "unknown exception inside braid");
  }
}

/// Runs `call`, which returns a pointer; null when it throws.
template <class Call>
auto NullOnThrow(Call&& call) noexcept -> decltype(call()) {
  try {
    return std::forward<Call>(call)();
  } catch (...) {
    return nullptr;
  }
}

}  // namespace braid::capi
