// Runs many short concurrent histories on one to three keys, and has each one checked.
#pragma once

#include <array>
#include <cstdlib>
#include <optional>

#include "concurrency.h"
#include "support/history_file.h"
#include "support/linearizability.h"

namespace braid::test {

inline constexpr uint64_t kHistoryGroups = 8;

/// Runs histories: all threads work on the same few keys between two barriers, then one of them
/// checks what was seen. The keys of a group are used again, from the state they were left in.
class HistoryRun {
 public:
  HistoryRun(DB* db, FirstFailure* failure, uint32_t threads, WorkBudget budget, uint64_t seed)
      : db_(db),
        failure_(failure),
        threads_(threads),
        budget_(budget),
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
  uint64_t swapped() const { return swapped_.load(); }
  uint64_t refused() const { return refused_.load(); }

 private:
  void Prepare() {
    done_ = budget_.Spent(performed_) || failure_->failed();
    WriteBallast();
    group_ = random_.Below(kHistoryGroups);
    keys_ = 1 + random_.Below(kRegisters);
    operations_each_ = random_.Between(3, 64 / threads_);
    in_step_ = !random_.OneIn(4);
    // Threads that hand a barrier to each other are drawn to one processor; move them apart again.
    spread_ = overlapping_ < performed_ / 2;
    for (History& history : recorded_) history.clear();
    for (size_t r = 0; r < kRegisters; ++r) hint_[r].store(state_[group_][r]);
  }

  /// Keys that no history reads. They live on in old chunks among the obsolete versions of the
  /// others, so that collection has something to copy.
  void WriteBallast() {
    for (int i = 0; i < 2; ++i) {
      const std::string key = "ballast" + std::to_string(random_.Below(500));
      failure_->Check(db_->Put(key, std::string(60, 'b')), "put ballast");
    }
  }

  std::string Key(size_t r) const {
    return std::to_string(threads_) + "threads/group" + std::to_string(group_) + "/" +
           std::to_string(r);
  }
  static std::string ValueOf(RegisterValue id) {
    std::string value = std::to_string(id) + ".";
    // Some are too large for an entry.
    const auto number = static_cast<size_t>(id);
    value.resize(value.size() + (number % 251 == 0 ? 20'000 : number * 37 % 120), 'x');
    return value;
  }
  RegisterValue NewId() { return next_id_.fetch_add(1, std::memory_order_relaxed); }
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
    switch (random->Below(10)) {
      case 0:
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
      case 6:
      case 7:
        CompareAndSwap(random, &operation, reg);
        break;
      case 1:
        PutIfAbsent(&operation, reg);
        break;
      default:
        Read(&operation, reg);
        break;
    }
    return operation;
  }

  void Write(Random* random, Operation* operation, const std::vector<size_t>& registers) {
    WriteBatch batch;
    for (const size_t r : registers) {
      const bool erase = registers.size() > 1 && random->OneIn(4);
      operation->writes[r] = erase ? 0 : NewId();
      if (erase) {
        batch.Delete(Key(r));
      } else {
        batch.Put(Key(r), ValueOf(operation->writes[r]));
      }
    }
    const size_t first = registers[0];
    const std::string value = ValueOf(operation->writes[first]);
    const bool single = registers.size() == 1 && !random->OneIn(4);
    operation->kind = single ? Call::kPut : Call::kBatch;
    operation->call = CallTick();
    const Status status = single ? db_->Put(Key(first), value) : db_->Write(batch);
    operation->returned = Tick();
    failure_->Check(status, "write");
    for (const size_t r : registers) Hint(r, operation->writes[r]);
  }
  /// What was last seen of a register by anybody: mostly still there, but not always.
  void Hint(size_t r, RegisterValue id) { hint_[r].store(id, std::memory_order_relaxed); }

  void CompareAndSwap(Random* random, Operation* operation, size_t r) {
    RegisterValue expected = hint_[r].load(std::memory_order_relaxed);
    if (random->OneIn(8)) expected = state_[group_][r];
    if (random->OneIn(16)) expected = 0;
    Swap(operation, r, expected, Call::kCompareAndSwap);
  }
  void PutIfAbsent(Operation* operation, size_t r) { Swap(operation, r, 0, Call::kPutIfAbsent); }
  void Swap(Operation* operation, size_t r, RegisterValue expected, Call kind) {
    const RegisterValue desired = NewId();
    const std::string value = ValueOf(desired);
    const std::string content = ValueOf(expected);
    std::optional<Slice> old;
    if (expected != 0) old = content;
    operation->kind = kind;
    operation->call = CallTick();
    const Result<bool> swapped = kind == Call::kPutIfAbsent
                                     ? db_->PutIfAbsent(Key(r), value)
                                     : db_->CompareAndSwap(Key(r), old, value);
    operation->returned = Tick();
    if (!failure_->Check(swapped.status(), NameOf(kind))) return;
    if (swapped.value()) {
      operation->reads[r] = expected;
      operation->writes[r] = desired;
      Hint(r, desired);
      swapped_.fetch_add(1, std::memory_order_relaxed);
    } else {
      operation->differs[r] = expected;
      refused_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void Erase(Operation* operation, size_t r) {
    operation->kind = Call::kDelete;
    operation->writes[r] = 0;
    operation->call = CallTick();
    const Status status = db_->Delete(Key(r));
    operation->returned = Tick();
    failure_->Check(status, "delete");
    Hint(r, 0);
  }
  void Read(Operation* operation, size_t r) {
    std::string value;
    operation->kind = Call::kGet;
    operation->call = CallTick();
    const Status status = db_->Get(Key(r), &value);
    operation->returned = Tick();
    operation->reads[r] = IdOf(status, value);
    Hint(r, operation->reads[r]);
  }
  /// The moment of a snapshot is when it is taken, not when it is read.
  void SnapshotScan(Random* random, Operation* operation) {
    operation->kind = Call::kScan;
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
    operation->kind = Call::kScan;
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
    HistoryFile::Write(history, state, keys_);
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
  const WorkBudget budget_;
  SpinBarrier barrier_;
  SpinBarrier step_;
  const uint64_t seed_;
  Random random_;
  std::vector<History> recorded_;
  std::array<Registers, kHistoryGroups> state_{};
  std::atomic<uint64_t> clock_{1};
  std::atomic<RegisterValue> next_id_{1};
  std::array<std::atomic<RegisterValue>, kRegisters> hint_{};
  std::atomic<uint64_t> swapped_{0};
  std::atomic<uint64_t> refused_{0};
  uint64_t group_ = 0;
  size_t keys_ = 1;
  uint64_t operations_each_ = 0;
  uint64_t performed_ = 0;
  uint64_t overlapping_ = 0;
  bool in_step_ = false;  // every operation starts together with those of the other threads
  bool spread_ = true;
  bool done_ = false;
};

}  // namespace braid::test
