// Purpose: the tier in memory.
// Thread safety, persistence: see memory_store.h.
#include "tier/memory_store.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/check.h"

namespace braid::tier {

namespace {

struct Registry {
  base::Mutex mutex;
  std::map<std::string, MemoryDevice*, std::less<>> devices BRAID_GUARDED_BY(mutex);
};

Registry& Devices() {
  static Registry registry;
  return registry;
}

class MemoryWalk final : public Walk {
 public:
  explicit MemoryWalk(std::shared_ptr<const MemoryDevice::Records> records)
      : records_(std::move(records)), at_(records_->end()) {}

  bool Valid() const override { return at_ != records_->end(); }
  void SeekToFirst() override { at_ = records_->begin(); }
  void SeekToLast() override { at_ = BeforeOf(records_->end()); }
  void SeekGE(std::string_view key) override { at_ = records_->lower_bound(key); }
  void SeekLE(std::string_view key) override { at_ = BeforeOf(records_->upper_bound(key)); }
  void Next() override { ++at_; }
  void Prev() override { at_ = BeforeOf(at_); }
  std::string_view key() const override { return at_->first; }
  std::string_view record() const override { return at_->second; }
  Status status() const override { return Status::OK(); }

 private:
  using Place = MemoryDevice::Records::const_iterator;
  Place BeforeOf(Place at) const {
    return at == records_->begin() ? records_->end() : std::prev(at);
  }

  const std::shared_ptr<const MemoryDevice::Records> records_;
  Place at_;
};

}  // namespace

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(MemoryDevice* device) : device_(*device) {
    const MemoryDevice::State state = device_.state();
    id_ = *state.id;
    pool_id_ = state.pool_id;
  }

  const Id& id() const noexcept override { return id_; }
  const Id& pool_id() const noexcept override { return pool_id_; }

  Status Ingest(std::span<const RunEntry> run) override {
    const base::MutexLock lock(device_.mutex_);
    MemoryDevice::State& state = device_.state_;
    auto records = std::make_shared<MemoryDevice::Records>(*state.shown);
    ++state.last_run;
    for (const RunEntry& entry : run) {
      std::string record;
      AppendRecord(entry.sequence, entry.is_delete, state.last_run, entry.value, &record);
      (*records)[std::string(entry.key)] = std::move(record);
      state.newest_sequence = std::max(state.newest_sequence, entry.sequence);
    }
    state.shown = std::move(records);
    ++state.changes;
    return Status::OK();
  }
  Status Sync() override {
    const base::MutexLock lock(device_.mutex_);
    device_.state_.durable = device_.state_.shown;
    device_.state_.durable_run = device_.state_.last_run;
    ++device_.state_.changes;
    return Status::OK();
  }
  uint64_t last_run() const noexcept override {
    const base::MutexLock lock(device_.mutex_);
    return device_.state_.last_run;
  }
  /// At once: the tests are to see what it does.
  void Settle(uint64_t run) noexcept override {
    const base::MutexLock lock(device_.mutex_);
    MemoryDevice::State& state = device_.state_;
    BRAID_DCHECK(state.shown == state.durable && run <= state.durable_run);
    auto left = std::make_shared<MemoryDevice::Records>(*state.durable);
    std::erase_if(*left, [&](const auto& item) {
      RecordHead head;
      return ReadRecordHead(item.second, &head) && head.is_delete() && head.run <= run;
    });
    if (left->size() == state.durable->size()) return;
    state.durable = std::move(left);
    state.shown = state.durable;
    ++state.changes;
  }

  Status Get(std::string_view key, Found* found) const override {
    const auto records = Shown();
    const auto at = records->find(key);
    if (at == records->end()) return Status::OK();
    std::string record = at->second;
    BRAID_CHECK(found->Take(std::move(record)));
    return Status::OK();
  }
  bool MayHold(std::string_view key) const noexcept override {
    const auto records = Shown();
    return records->find(key) != records->end();
  }
  std::unique_ptr<Walk> NewWalk() const override { return std::make_unique<MemoryWalk>(Shown()); }
  uint64_t newest_sequence() const noexcept override {
    const base::MutexLock lock(device_.mutex_);
    return device_.state_.newest_sequence;
  }
  Sizes sizes() const override {
    Sizes sizes;
    const auto records = Shown();
    for (const auto& [key, record] : *records) {
      sizes.bytes += key.size() + record.size();
      ++sizes.records;
    }
    return sizes;
  }
  Status Verify() const override { return Status::OK(); }
  /// Nothing of it is ever damaged.
  Status ForEachReadable(const Take& take, const TellDamage&) const override {
    const auto records = Shown();
    for (const auto& [key, record] : *records) {
      if (Status s = take(key, record); !s.ok()) return s;
    }
    return Status::OK();
  }

 private:
  std::shared_ptr<const MemoryDevice::Records> Shown() const noexcept {
    const base::MutexLock lock(device_.mutex_);
    return device_.state_.shown;
  }

  MemoryDevice& device_;
  Id id_{};
  Id pool_id_{};
};

MemoryDevice::MemoryDevice(std::string path) : path_(std::move(path)) {
  BRAID_CHECK(IsNamed(path_));
  const base::MutexLock lock(Devices().mutex);
  BRAID_CHECK(Devices().devices.emplace(path_, this).second);
}

MemoryDevice::~MemoryDevice() {
  const base::MutexLock lock(Devices().mutex);
  Devices().devices.erase(path_);
}

Result<std::unique_ptr<Store>> MemoryDevice::OpenStoreOn(const OpenRequest& request) {
  MemoryDevice* device = nullptr;
  {
    const base::MutexLock lock(Devices().mutex);
    const auto found = Devices().devices.find(request.path);
    if (found != Devices().devices.end()) device = found->second;
  }
  if (device == nullptr) return Status::NotFound("there is no tier at " + request.path);
  {
    const base::MutexLock lock(device->mutex_);
    State& state = device->state_;
    if (!state.id) {
      if (!request.may_create) return Status::NotFound("there is no tier at " + request.path);
      state.id.emplace();
      std::random_device random;
      for (uint8_t& byte : *state.id) byte = static_cast<uint8_t>(random());
      state.pool_id = request.pool_id;
      ++state.changes;
    }
  }
  return std::unique_ptr<Store>(std::make_unique<MemoryStore>(device));
}

}  // namespace braid::tier
