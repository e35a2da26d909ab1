// Purpose: the store "local": a pool a region, of what the region's threads wrote. A write goes to
// the pool of its thread's region, a read asks all pools and takes the newest answer.
//
// Thread safety: as kv_engine.h says.
// Invariants: 1. Each value begins with its version, taken from one counter; a deletion is stored
// as a version without a value, since an older value may lie in another pool. 2. A key's versions
// grow within a pool: they are taken and stored under the key's lock of that pool. So the highest
// version that a reader finds is never lower than one that was found before. 3. An update is in one
// pool, hence as atomic and as durable as the pool makes it.
// Persistence: the pools' own; the counter goes on behind the highest version that is found at
// open.
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "bench/engines/engines.h"
#include "bench/engines/regional_pools.h"
#include "braid/version.h"

namespace braid::bench {
namespace {

/// Eight bytes before each value: the version in the upper 63 bits, and whether it is a deletion.
struct Stamp {
  static constexpr size_t kBytes = sizeof(uint64_t);
  uint64_t version = 0;  // 0: none
  bool deleted = false;

  static std::optional<Stamp> Of(std::string_view record) {
    if (record.size() < kBytes) return std::nullopt;
    uint64_t word = 0;
    std::memcpy(&word, record.data(), kBytes);
    return Stamp{word >> 1, (word & 1) != 0};
  }
  void Write(char* record) const {
    const uint64_t word = version << 1 | (deleted ? 1 : 0);
    std::memcpy(record, &word, kBytes);
  }
};

Status NoStamp() { return Status::Corruption("a value without a version"); }

/// The newest of what the pools have for a key.
struct Newest {
  Stamp stamp;
  std::string_view value;
};
std::optional<Newest> NewestOf(const std::vector<std::string_view>& records) {
  Newest newest;
  for (const std::string_view record : records) {
    const std::optional<Stamp> stamp = Stamp::Of(record);
    if (!stamp) return std::nullopt;
    if (stamp->version > newest.stamp.version) newest = {*stamp, record.substr(Stamp::kBytes)};
  }
  return newest;
}

constexpr size_t kLocks = 64;
constexpr size_t kLineBytes = 64;

/// What the sessions of a region share.
struct alignas(kLineBytes) RegionShare {
  std::array<std::mutex, kLocks> locks;  // of the pool's keys, by hash
  alignas(kLineBytes) std::atomic<uint64_t> gets{0};
};

struct LocalState {
  RegionalPools pools;
  std::array<RegionShare, format::kMaxRegions> shares;
  alignas(kLineBytes) std::atomic<uint64_t> next_version{1};

  // Relaxed: order between versions of a key is the locks' matter, and between pools any order of
  // writes that run at the same time is right.
  uint64_t TakeVersion() { return next_version.fetch_add(1, std::memory_order_relaxed); }
};

class LocalSession : public KvSession {
 public:
  explicit LocalSession(LocalState* state) : state_(state), number_(state->pools.NextSession()) {}

  Status Put(std::string_view key, std::string_view value) override {
    return Store(key, value, false);
  }
  Status Delete(std::string_view key) override { return Store(key, {}, true); }

  Status Get(std::string_view key, std::string* value) override {
    const uint32_t regions = state_->pools.regions();
    const uint32_t own = Region();
    // Relaxed: a statistic.
    state_->shares[own].gets.fetch_add(1, std::memory_order_relaxed);
    Stamp newest;
    for (uint32_t i = 0; i < regions; ++i) {
      DB* pool = state_->pools.pool((own + i) % regions);
      const Status s = pool->Get(ReadOptions(), key, &record_);
      if (s.IsNotFound()) continue;
      if (!s.ok()) return s;
      const std::optional<Stamp> stamp = Stamp::Of(record_);
      if (!stamp) return NoStamp();
      if (stamp->version <= newest.version) continue;
      newest = *stamp;
      std::swap(record_, newest_record_);
    }
    if (newest.version == 0 || newest.deleted) return Status::NotFound();
    value->assign(newest_record_, Stamp::kBytes);
    return Status::OK();
  }

  Status Write(const std::vector<BatchUpdate>& batch) override {
    const uint32_t region = Region();
    uint64_t wanted = 0;
    for (const BatchUpdate& update : batch) wanted |= uint64_t{1} << LockOf(update.key);
    // Ascending, as in every batch: no two of them wait for each other.
    std::array<std::unique_lock<std::mutex>, kLocks> held;
    for (uint64_t left = wanted; left != 0; left &= left - 1) {
      const auto lock = static_cast<size_t>(std::countr_zero(left));
      held[lock] = std::unique_lock(state_->shares[region].locks[lock]);
    }
    batch_.Clear();
    for (const BatchUpdate& update : batch) {
      MakeRecord(update.value);
      Stamp{state_->TakeVersion(), false}.Write(record_.data());
      batch_.Put(update.key, record_);
    }
    return state_->pools.pool(region)->Write(state_->pools.write_options(), batch_);
  }

  Status Scan(const ScanRange& range, const ScanVisitor& visit) override {
    Status bad;
    const Status s = state_->pools.Scan(
        range, [&](std::string_view key, const std::vector<std::string_view>& records) {
          const std::optional<Newest> newest = NewestOf(records);
          if (!newest) bad = NoStamp();
          if (!newest) return false;
          return newest->stamp.deleted || visit(key, newest->value);
        });
    return bad.ok() ? s : bad;
  }

 private:
  uint32_t Region() const { return state_->pools.RegionOfThread(number_); }
  static size_t LockOf(std::string_view key) { return HashOfKey(key) % kLocks; }

  void MakeRecord(std::string_view value) {
    record_.resize(Stamp::kBytes);
    record_.append(value);
  }

  Status Store(std::string_view key, std::string_view value, bool deleted) {
    const uint32_t region = Region();
    MakeRecord(value);
    const std::lock_guard lock(state_->shares[region].locks[LockOf(key)]);
    Stamp{state_->TakeVersion(), deleted}.Write(record_.data());
    return state_->pools.pool(region)->Put(state_->pools.write_options(), key, record_);
  }

  LocalState* state_;
  uint32_t number_;
  std::string record_;
  std::string newest_record_;
  WriteBatch batch_;
};

/// Visits of one layer of nodes, told apart by whether the reader's region was the pool's.
struct LayerVisits {
  uint64_t seen = 0;  // of which were shared out
  uint64_t local = 0;
  uint64_t remote = 0;

  /// Shares out what has come since the last call: `own` of `all` asks came from the region itself.
  void Take(uint64_t total, uint64_t own, uint64_t all) {
    const uint64_t grown = total - seen;
    seen = total;
    const uint64_t near =
        all == 0 ? grown
                 : static_cast<uint64_t>(static_cast<double>(grown) * static_cast<double>(own) /
                                         static_cast<double>(all));
    local += near;
    remote += grown - near;
  }
};

class LocalEngine : public KvEngine {
 public:
  std::string name() const override { return "local"; }
  std::string version() const override { return BRAID_VERSION_STRING; }
  std::string parameters() const override { return parameters_; }
  std::string caveat() const override {
    return "a comparison, no design of braid: deletions leave versions behind, and a scan sees "
           "each "
           "pool at another moment";
  }

  Status Open(const EngineConfig& config) override {
    state_ = std::make_unique<LocalState>();
    visits_ = {};
    if (Status s = state_->pools.Open(config); !s.ok()) return s;
    parameters_ = state_->pools.parameters();
    return FindNextVersion();
  }

  std::unique_ptr<KvSession> NewSession() override {
    return std::make_unique<LocalSession>(state_.get());
  }

  Status Settle() override { return state_->pools.Settle(); }
  EngineCounters Counters() override { return state_->pools.Counters(); }

  /// The pools know one region each, and count every visit as near: asks tell how many were not.
  std::vector<EngineField> Fields() override {
    const std::lock_guard lock(fields_mutex_);
    std::vector<Statistics> pools = state_->pools.PoolStatistics();
    std::array<uint64_t, format::kMaxRegions> grown{};
    uint64_t all = 0;
    for (size_t region = 0; region < pools.size(); ++region) {
      // Relaxed: a statistic.
      const uint64_t gets = state_->shares[region].gets.load(std::memory_order_relaxed);
      grown[region] = gets - std::exchange(visits_[region].gets, gets);
      all += grown[region];
    }
    for (size_t region = 0; region < pools.size(); ++region) {
      Statistics& pool = pools[region];
      RegionVisits& visits = visits_[region];
      visits.upper.Take(pool.upper_visits_local + pool.upper_visits_remote, grown[region], all);
      visits.bottom.Take(pool.bottom_visits_local + pool.bottom_visits_remote, grown[region], all);
      pool.upper_visits_local = visits.upper.local;
      pool.upper_visits_remote = visits.upper.remote;
      pool.bottom_visits_local = visits.bottom.local;
      pool.bottom_visits_remote = visits.bottom.remote;
    }
    return SumOfFields(pools);
  }

  Status Close() override {
    if (!state_) return Status::OK();
    Status s = state_->pools.Close();
    state_.reset();
    return s;
  }

 private:
  struct RegionVisits {
    uint64_t gets = 0;
    LayerVisits upper;
    LayerVisits bottom;
  };

  Status FindNextVersion() {
    uint64_t highest = 0;
    Status bad;
    const Status s =
        state_->pools.Scan({}, [&](std::string_view, const std::vector<std::string_view>& records) {
          const std::optional<Newest> newest = NewestOf(records);
          if (!newest) bad = NoStamp();
          if (newest) highest = std::max(highest, newest->stamp.version);
          return newest.has_value();
        });
    state_->next_version = highest + 1;
    return bad.ok() ? s : bad;
  }

  std::unique_ptr<LocalState> state_;
  std::string parameters_;  // told after Close, too
  std::mutex fields_mutex_;
  std::array<RegionVisits, format::kMaxRegions> visits_{};
};

}  // namespace

std::unique_ptr<KvEngine> MakeLocalEngine() { return std::make_unique<LocalEngine>(); }

}  // namespace braid::bench
