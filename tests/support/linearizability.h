// Purpose: decides whether a concurrent history of a few registers is linearizable.
// Method: Wing and Gong's search (J. Parallel Distrib. Comput. 1993) over the call and return
// events, with Lowe's memory of configurations already seen (Concurrency Comput. 2017): a set of
// linearized operations together with the state they lead to is explored once.
// Thread safety: none; the history is checked after its threads have joined.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <unordered_set>
#include <vector>

namespace braid::test {

inline constexpr size_t kRegisters = 3;
inline constexpr size_t kMaxOperations = 256;

/// Register content: 0 is "no such key".
using RegisterValue = int32_t;
/// In an operation: this register is not read, or not written.
inline constexpr RegisterValue kUntouched = -1;
/// An operation that never returned: it may have taken effect or not.
inline constexpr uint64_t kNeverReturned = std::numeric_limits<uint64_t>::max();

using Registers = std::array<RegisterValue, kRegisters>;

inline Registers Untouched() {
  Registers registers;
  registers.fill(kUntouched);
  return registers;
}

/// Which call it was, for people and for the history file; the checker looks at what it did.
enum class Call : uint8_t { kPut, kDelete, kGet, kCompareAndSwap, kPutIfAbsent, kBatch, kScan };

inline const char* NameOf(Call call) {
  static const char* const kNames[] = {"put",           "delete", "get", "compare_and_swap",
                                       "put_if_absent", "batch",  "scan"};
  return kNames[static_cast<size_t>(call)];
}

/// One atomic step: what it read, then what it wrote. Times are of one clock over all threads;
/// intervals that share an end are taken to overlap.
struct Operation {
  Call kind = Call::kGet;
  uint64_t call = 0;
  uint64_t returned = kNeverReturned;
  Registers reads = Untouched();
  Registers writes = Untouched();
  Registers differs = Untouched();  ///< what a register was found not to hold: a refused swap
  int thread = 0;

  std::string ToString() const {
    std::string text = "thread " + std::to_string(thread) + " [" + std::to_string(call) + ", ";
    text += returned == kNeverReturned ? "never" : std::to_string(returned);
    text += std::string("] ") + NameOf(kind);
    for (size_t r = 0; r < kRegisters; ++r) {
      if (reads[r] != kUntouched) {
        text += " read " + std::to_string(r) + " = " + std::to_string(reads[r]);
      }
      if (differs[r] != kUntouched) {
        text += " not " + std::to_string(r) + " = " + std::to_string(differs[r]);
      }
      if (writes[r] != kUntouched) {
        text += " write " + std::to_string(r) + " = " + std::to_string(writes[r]);
      }
    }
    return text;
  }
};

using History = std::vector<Operation>;

/// A history as lines, in the order of the calls.
inline std::string ToString(History history) {
  std::sort(history.begin(), history.end(),
            [](const Operation& a, const Operation& b) { return a.call < b.call; });
  std::string text;
  for (const Operation& operation : history) text += "  " + operation.ToString() + "\n";
  return text;
}

/// The search over one history. Exponential at worst; histories of some 50 operations of 8 threads
/// take well under a millisecond.
class LinearizabilityChecker {
 public:
  LinearizabilityChecker(const History& history, Registers initial)
      : history_(history), state_(initial) {}

  /// True when some order of the operations, each between its call and its return, explains
  /// every read. A history over the limit of kMaxOperations is refused as not linearizable.
  bool Check() {
    if (history_.size() > kMaxOperations) return false;
    BuildEvents();
    std::vector<Applied> stack;
    uint32_t at = events_[0].next;
    while (true) {
      if (unreturned_left_ == 0) return true;  // what never returned may be left out
      if (at != 0 && events_[at].is_call) {
        const uint32_t operation = events_[at].operation;
        const Registers before = state_;
        if (Apply(history_[operation]) && Remember(operation)) {
          stack.push_back({at, before});
          linearized_.set(operation);
          Lift(at);
          at = events_[0].next;
        } else {
          state_ = before;
          at = events_[at].next;
        }
        continue;
      }
      // A return of an operation that is not linearized yet, or the end: the last choice was wrong.
      if (stack.empty()) return false;
      const Applied last = stack.back();
      stack.pop_back();
      state_ = last.before;
      linearized_.reset(events_[last.event].operation);
      Unlift(last.event);
      at = events_[last.event].next;
    }
  }

  /// Configurations visited, to see that the memory works.
  size_t visited() const { return seen_.size(); }

 private:
  struct Event {
    uint32_t operation = 0;
    uint32_t previous = 0;
    uint32_t next = 0;
    uint32_t match = 0;  // of a call: its return; 0 when it never returned
    bool is_call = false;
  };
  struct Applied {
    uint32_t event;
    Registers before;
  };
  struct Configuration {
    std::bitset<kMaxOperations> linearized;
    Registers state;
    bool operator==(const Configuration& other) const = default;
  };
  struct ConfigurationHash {
    size_t operator()(const Configuration& configuration) const {
      uint64_t hash = std::hash<std::bitset<kMaxOperations>>{}(configuration.linearized);
      for (const RegisterValue value : configuration.state) {
        hash = (hash ^ static_cast<uint32_t>(value)) * 0x9E3779B97F4A7C15ull;
        hash ^= hash >> 29;
      }
      return hash;
    }
  };

  // Event 0 is the head of a ring: its next is the first event, and next == 0 is the end.
  void BuildEvents() {
    struct Moment {
      uint64_t time;
      bool is_return;
      uint32_t operation;
    };
    std::vector<Moment> moments;
    for (uint32_t i = 0; i < history_.size(); ++i) {
      moments.push_back({history_[i].call, false, i});
      if (history_[i].returned == kNeverReturned) continue;
      moments.push_back({history_[i].returned, true, i});
      ++unreturned_left_;
    }
    // At equal times calls come first, so that the two operations overlap.
    std::sort(moments.begin(), moments.end(), [](const Moment& a, const Moment& b) {
      return a.time != b.time ? a.time < b.time : a.is_return < b.is_return;
    });
    events_.assign(moments.size() + 1, {});
    std::vector<uint32_t> call_of(history_.size(), 0);
    for (uint32_t i = 0; i < moments.size(); ++i) {
      Event& event = events_[i + 1];
      event.operation = moments[i].operation;
      event.is_call = !moments[i].is_return;
      event.previous = i;
      event.next = i + 1 < moments.size() ? i + 2 : 0;
      if (event.is_call) {
        call_of[event.operation] = i + 1;
      } else {
        events_[call_of[event.operation]].match = i + 1;
      }
    }
    events_[0].next = moments.empty() ? 0 : 1;
    events_[0].previous = static_cast<uint32_t>(moments.size());
  }

  bool Apply(const Operation& operation) {
    for (size_t r = 0; r < kRegisters; ++r) {
      if (operation.reads[r] != kUntouched && operation.reads[r] != state_[r]) return false;
      if (operation.differs[r] != kUntouched && operation.differs[r] == state_[r]) return false;
    }
    for (size_t r = 0; r < kRegisters; ++r) {
      if (operation.writes[r] != kUntouched) state_[r] = operation.writes[r];
    }
    return true;
  }

  bool Remember(uint32_t operation) {
    Configuration configuration{linearized_, state_};
    configuration.linearized.set(operation);
    return seen_.insert(configuration).second;
  }

  void Unlink(uint32_t at) {
    events_[events_[at].previous].next = events_[at].next;
    events_[events_[at].next].previous = events_[at].previous;
  }
  void Relink(uint32_t at) {
    events_[events_[at].previous].next = at;
    events_[events_[at].next].previous = at;
  }
  void Lift(uint32_t call) {
    Unlink(call);
    if (events_[call].match != 0) {
      Unlink(events_[call].match);
      --unreturned_left_;
    }
  }
  void Unlift(uint32_t call) {
    if (events_[call].match != 0) {
      Relink(events_[call].match);
      ++unreturned_left_;
    }
    Relink(call);
  }

  const History& history_;
  Registers state_;
  std::vector<Event> events_;
  std::bitset<kMaxOperations> linearized_;
  std::unordered_set<Configuration, ConfigurationHash> seen_;
  size_t unreturned_left_ = 0;  // returned operations that are not linearized yet
};

/// True when `history`, begun with all registers at `initial`, is linearizable.
inline bool IsLinearizable(const History& history, Registers initial = {}) {
  return LinearizabilityChecker(history, initial).Check();
}

}  // namespace braid::test
