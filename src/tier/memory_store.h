// Purpose: a tier in memory that forgets, at a simulated power loss, what was not synced: for the
// crash simulator and tests.
// Thread safety: that of a Store; devices are made, copied and destroyed by one thread at a time.
// Persistence: none; a device outlives the stores that are opened on it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "tier/open_store.h"
#include "tier/store.h"

namespace braid::tier {

/// What a tier.path of "memory:NAME" leads to, as long as it lives.
class MemoryDevice {
 public:
  using Records = std::map<std::string, std::string, std::less<>>;

  /// What is on the device.
  struct State {
    std::optional<Id> id;
    Id pool_id{};
    std::shared_ptr<const Records> durable = std::make_shared<Records>();
    std::shared_ptr<const Records> shown = durable;  // with runs that are not durable
    uint64_t newest_sequence = 0;
    uint64_t last_run = 0;
    uint64_t durable_run = 0;
    uint64_t changes = 0;

    /// Without what is not durable.
    void LosePower() {
      shown = durable;
      last_run = durable_run;
    }
  };

  explicit MemoryDevice(std::string path);
  ~MemoryDevice();
  MemoryDevice(const MemoryDevice&) = delete;
  MemoryDevice& operator=(const MemoryDevice&) = delete;

  static bool IsNamed(std::string_view path) noexcept { return path.starts_with("memory:"); }
  static Result<std::unique_ptr<Store>> OpenStoreOn(const OpenRequest& request);

  State state() const {
    const base::MutexLock lock(mutex_);
    return state_;
  }
  void set_state(State state) {
    const base::MutexLock lock(mutex_);
    state_ = std::move(state);
  }

 private:
  friend class MemoryStore;

  const std::string path_;
  mutable base::Mutex mutex_;
  State state_ BRAID_GUARDED_BY(mutex_);
};

}  // namespace braid::tier
