// Purpose: the calls of braid/c.h that make event listeners.
// Thread safety: as in braid/c.h.
// Persistence: none.
#include "braid/event_listener.h"

#include "capi/handles.h"

namespace braid::capi {

namespace {

/// A listener whose functions are the caller's; each may be null.
class CListener final : public EventListener {
 public:
  CListener(void* state, const braid_event_functions_t& functions)
      : state_(state), functions_(functions) {}
  ~CListener() override {
    if (destructor_ != nullptr) destructor_(state_);
  }
  CListener(const CListener&) = delete;
  CListener& operator=(const CListener&) = delete;

  /// From now on the state is this object's.
  void TakeState(void (*destructor)(void*)) noexcept { destructor_ = destructor; }

  void OnFlush(const Flush& flush) noexcept override {
    if (functions_.flush != nullptr) functions_.flush(state_, flush.entries, flush.nanos);
  }
  void OnMerge(const Merge& merge) noexcept override {
    if (functions_.merge != nullptr) {
      functions_.merge(state_, merge.tables, merge.entries, merge.nanos);
    }
  }
  void OnStall(const Stall& stall) noexcept override {
    if (functions_.stall != nullptr) functions_.stall(state_, stall.nanos);
  }
  void OnRecovery(const Recovery& recovery) noexcept override {
    if (functions_.recovery != nullptr) {
      functions_.recovery(state_, recovery.clean ? 1 : 0, recovery.replayed_entries,
                          recovery.micros, recovery.media_loss_possible ? 1 : 0);
    }
  }
  void OnBackgroundError(const Status& status) noexcept override {
    if (functions_.background_error == nullptr) return;
    try {
      functions_.background_error(state_, status.ToString().c_str());
    } catch (const std::bad_alloc&) {
      functions_.background_error(state_, out_of_memory_text);
    }
  }

 private:
  void* const state_;
  const braid_event_functions_t functions_;
  void (*destructor_)(void*) = nullptr;
};

}  // namespace

}  // namespace braid::capi

braid_event_listener_t* braid_event_listener_create(void* state, void (*destructor)(void*),
                                                    const braid_event_functions_t* functions) {
  return braid::capi::NullOnThrow([&] {
    // The destructor is set last: what fails on the way leaves `state` to the caller.
    auto handle = std::make_unique<braid_event_listener_t>();
    auto listener = std::make_shared<braid::capi::CListener>(state, *functions);
    handle->rep = listener;
    listener->TakeState(destructor);
    return handle.release();
  });
}

void braid_event_listener_destroy(braid_event_listener_t* listener) { delete listener; }

void braid_options_set_event_listener(braid_options_t* options, braid_event_listener_t* listener) {
  options->rep.listener = listener != nullptr ? listener->rep : nullptr;
}
