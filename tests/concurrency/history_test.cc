// Many short concurrent histories on one to three keys; each must be linearizable.
#include <array>
#include <cstdlib>

#include "concurrency.h"
#include "support/linearizability.h"

namespace braid::test {
namespace {

constexpr uint64_t kGroups = 8;

/// Runs histories: all threads work on the same few keys between two barriers, then one of them
/// checks what was seen. The keys of a group are used again, from the state they were left in.
class HistoryRun {
 public:
  HistoryRun(DB* db, FirstFailure* failure, uint32_t threads, uint64_t operations, uint64_t seed)
      : db_(db),
        failure_(failure),
        threads_(threads),
        operations_(operations),
        barrier_(threads),
        step_(threads),
        seed_(seed),
        random_(seed),
        recorded_(threads) {}

  void Thread(uint32_t number) {
    Random random(seed_ + 1 + number);
    while (true) {
      if (number == 0) Prepare();
      barrier_.Wait();
      if (done_) return;
      if (spread_) SpreadOverProcessors(number);
      for (uint64_t i = 0; i < operations_each_; ++i) {
        if (in_step_) step_.Wait();
        recorded_[number].push_back(Step(&random, static_cast<int>(number)));
      }
      barrier_.Wait();
      if (number == 0) Judge();
    }
  }
  uint64_t performed() const { return performed_; }
  uint64_t overlapping() const { return overlapping_; }

 private:
  void Prepare() {
    done_ = performed_ >= operations_ || failure_->failed();
    group_ = random_.Below(kGroups);
    keys_ = 1 + random_.Below(kRegisters);
    operations_each_ = random_.Between(3, 60 / threads_);
    in_step_ = !random_.OneIn(4);
    // Threads that hand a barrier to each other are drawn to one processor; move them apart again.
    spread_ = overlapping_ < performed_ / 2;
    for (History& history : recorded_) history.clear();
  }

  std::string Key(size_t r) const {
    return std::to_string(threads_) + "threads/group" + std::to_string(group_) + "/" +
           std::to_string(r);
  }
  std::string NewValue(Random* random, RegisterValue id) {
    std::string value = std::to_string(id) + ".";
    value.resize(value.size() + random->Below(120), 'x');
    return value;
  }
  RegisterValue IdOf(const Status& status, Slice value) {
    if (status.IsNotFound()) return 0;
    if (!failure_->Check(status, "read")) return 0;
    return static_cast<RegisterValue>(std::strtol(std::string(value).c_str(), nullptr, 10));
  }
  /// The call's tick. Now and then others get to run between it and the call itself, so that
  /// operations overlap even where threads share a processor.
  uint64_t CallTick() {
    const uint64_t now = Tick();
    if (now % 8 == 0) std::this_thread::yield();
    return now;
  }
  uint64_t Tick() { return clock_.fetch_add(1, std::memory_order_seq_cst); }

  Operation Step(Random* random, int thread) {
    Operation operation;
    operation.thread = thread;
    const size_t reg = random->Below(keys_);
    switch (random->Below(8)) {
      case 0:
      case 1:
        Write(random, &operation, {reg});
        break;
      case 2:
        Erase(&operation, reg);
        break;
      case 3: {
        const size_t other = (reg + 1 + random->Below(keys_)) % keys_;
        Write(random, &operation, {reg, other});
        break;
      }
      case 4:
        SnapshotScan(random, &operation);
        break;
      case 5:
        IteratorScan(&operation, random->OneIn(2));
        break;
      default:
        Read(&operation, reg);
        break;
    }
    return operation;
  }

  void Write(Random* random, Operation* operation, const std::vector<size_t>& registers) {
    WriteBatch batch;
    std::vector<std::string> values;
    for (const size_t r : registers) {
      const bool erase = registers.size() > 1 && random->OneIn(4);
      const RegisterValue id = erase ? 0 : next_id_.fetch_add(1, std::memory_order_relaxed);
      operation->writes[r] = id;
      values.push_back(erase ? std::string() : NewValue(random, id));
      if (erase) {
        batch.Delete(Key(r));
      } else {
        batch.Put(Key(r), values.back());
      }
    }
    const bool single = registers.size() == 1 && !random->OneIn(4);
    operation->call = CallTick();
    const Status status = single ? db_->Put(Key(registers[0]), values[0]) : db_->Write(batch);
    operation->returned = Tick();
    failure_->Check(status, "write");
  }
  void Erase(Operation* operation, size_t r) {
    operation->writes[r] = 0;
    operation->call = CallTick();
    const Status status = db_->Delete(Key(r));
    operation->returned = Tick();
    failure_->Check(status, "delete");
  }
  void Read(Operation* operation, size_t r) {
    std::string value;
    operation->call = CallTick();
    const Status status = db_->Get(Key(r), &value);
    operation->returned = Tick();
    operation->reads[r] = IdOf(status, value);
  }
  /// The moment of a snapshot is when it is taken, not when it is read.
  void SnapshotScan(Random* random, Operation* operation) {
    operation->call = CallTick();
    const auto snapshot = db_->GetSnapshot();
    operation->returned = Tick();
    if (random->OneIn(2)) std::this_thread::yield();
    ReadOptions options;
    options.snapshot = snapshot.get();
    if (random->OneIn(2)) {
      const std::unique_ptr<Iterator> it = db_->NewIterator(options);
      ReadBy(it.get(), random->OneIn(2), operation);
      return;
    }
    for (size_t r = keys_; r-- > 0;) {
      std::string value;
      const Status status = db_->Get(options, Key(r), &value);
      operation->reads[r] = IdOf(status, value);
    }
  }
  void IteratorScan(Operation* operation, bool forward) {
    operation->call = CallTick();
    const std::unique_ptr<Iterator> it = db_->NewIterator({});
    operation->returned = Tick();
    ReadBy(it.get(), forward, operation);
  }
  void ReadBy(Iterator* it, bool forward, Operation* operation) {
    for (size_t r = 0; r < keys_; ++r) operation->reads[r] = 0;
    const std::string prefix = Key(0).substr(0, Key(0).size() - 1);
    if (forward) {
      it->Seek(prefix);
    } else {
      it->SeekForPrev(Key(kRegisters - 1));
    }
    while (it->Valid() && it->key().substr(0, prefix.size()) == prefix) {
      const size_t r = static_cast<size_t>(it->key().back() - '0');
      if (r < keys_) operation->reads[r] = IdOf(Status::OK(), it->value());
      if (forward) {
        it->Next();
      } else {
        it->Prev();
      }
    }
    failure_->Check(it->status(), "scan");
  }

  void Judge() {
    // Nobody else runs: these reads must see the end of the history, by every way to read.
    for (size_t r = 0; r < keys_; ++r) {
      recorded_[0].push_back({});
      Read(&recorded_[0].back(), r);
    }
    recorded_[0].push_back({});
    IteratorScan(&recorded_[0].back(), true);
    History history;
    for (const History& part : recorded_) history.insert(history.end(), part.begin(), part.end());
    performed_ += history.size();
    CountOverlaps(history);
    Registers& state = state_[group_];
    if (!IsLinearizable(history, state)) {
      failure_->Report("not linearizable, from state " + std::to_string(state[0]) + " " +
                       std::to_string(state[1]) + " " + std::to_string(state[2]) + ":\n" +
                       ToString(history));
    }
    for (size_t r = 0; r < keys_; ++r) state[r] = recorded_[0].back().reads[r];
  }

  /// A history without overlaps would prove nothing.
  void CountOverlaps(const History& history) {
    for (const Operation& one : history) {
      for (const Operation& other : history) {
        if (one.thread != other.thread && one.call < other.returned && other.call < one.returned) {
          ++overlapping_;
          break;
        }
      }
    }
  }

  DB* const db_;
  FirstFailure* const failure_;
  const uint32_t threads_;
  const uint64_t operations_;
  SpinBarrier barrier_;
  SpinBarrier step_;
  const uint64_t seed_;
  Random random_;
  std::vector<History> recorded_;
  std::array<Registers, kGroups> state_{};
  std::atomic<uint64_t> clock_{1};
  std::atomic<RegisterValue> next_id_{1};
  uint64_t group_ = 0;
  size_t keys_ = 1;
  uint64_t operations_each_ = 0;
  uint64_t performed_ = 0;
  uint64_t overlapping_ = 0;
  bool in_step_ = false;  // every operation starts together with those of the other threads
  bool spread_ = true;
  bool done_ = false;
};

class HistoryTest : public ConcurrencyTest {};
INSTANTIATE_TEST_SUITE_P(Threads, HistoryTest, ::testing::Bool(), BackgroundName);

TEST_P(HistoryTest, ShortHistoriesAreLinearizable) {
  // 200,000 operations over four numbers of threads and both kinds of background work.
  for (const uint32_t threads : {4u, 5u, 6u, 8u}) {
    const uint64_t operations = Sized(25'000, 6'000'000);
    HistoryRun run(db_.get(), &failure_, threads, operations, DeriveSeed(310 + threads));
    {
      BackgroundMaintenance maintenance(db_.get(), &failure_, DeriveSeed(320 + threads));
      std::vector<std::function<void()>> bodies;
      for (uint32_t i = 0; i < threads; ++i) bodies.push_back([&run, i] { run.Thread(i); });
      RunThreads(bodies);
    }
    ExpectNoFailure();
    if (HasFailure()) return;
    EXPECT_GE(run.performed(), operations);
    RecordProperty("overlapping_percent_" + std::to_string(threads),
                   std::to_string(run.overlapping() * 100 / run.performed()));
    EXPECT_GT(run.overlapping(), 0u) << "no two operations ever overlapped";
  }
}

}  // namespace
}  // namespace braid::test
