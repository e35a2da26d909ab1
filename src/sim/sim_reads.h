// Purpose: tells which words of a simulated memory a piece of code reads. The crashsim build
// compiles the library and the crash tests so that every load is checked (the checks of
// -fsanitize=kernel-address, without a sanitizer); what they call is in sim_reads.cc, and
// tests/crash stands in for memcpy and its like. Only in the crashsim build.
// Thread safety: one thread at a time while a tracker is active.
// Invariants:
//   1. Between Begin and End, a watched word whose content at Begin was read is in the trace.
//   2. A word that was overwritten as a whole before it was read is not.
// Persistence: none.
#pragma once

#if defined(BRAID_CRASHSIM)

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace braid::sim {

class SimArea;

/// Where the active tracker looks; nothing is watched while `bytes` is 0.
struct ReadWatch {
  uintptr_t base = 0;
  uint64_t bytes = 0;
  uint8_t* watched = nullptr;  // by line: a bit for each word that is watched and not yet seen
  class ReadTracker* tracker = nullptr;
};
extern ReadWatch read_watch;

/// True where loads call the hooks, so that a trace is complete.
bool ReadsAreHooked() noexcept;

void NoteReadSlowly(uint64_t offset, size_t n) noexcept;

/// `n` bytes at `address` are read.
inline void NoteRead(const void* address, size_t n) noexcept {
  const uint64_t offset = reinterpret_cast<uintptr_t>(address) - read_watch.base;
  if (offset >= read_watch.bytes || n == 0) [[likely]] {
    return;
  }
  NoteReadSlowly(offset, n);
}

/// `n` bytes at `address` are overwritten.
void NoteStore(const void* address, size_t n) noexcept;

/// Nothing is noted for its lifetime: what the simulator reads is no business of the database.
class ReadPause {
 public:
  ReadPause() noexcept : bytes_(read_watch.bytes) { read_watch.bytes = 0; }
  ~ReadPause() { read_watch.bytes = bytes_; }
  ReadPause(const ReadPause&) = delete;
  ReadPause& operator=(const ReadPause&) = delete;

 private:
  uint64_t bytes_;
};

class ReadTracker {
 public:
  explicit ReadTracker(const SimArea& area);
  ~ReadTracker() { End(); }
  ReadTracker(const ReadTracker&) = delete;
  ReadTracker& operator=(const ReadTracker&) = delete;

  /// Watches these words of the area (by number, ascending) in place of others.
  void Watch(const std::vector<uint64_t>& words);
  /// Starts a trace. The tracker that was active until now sleeps until End.
  void Begin();
  void End();
  bool active() const noexcept { return active_; }
  /// Stores that will be taken back hide nothing.
  void set_stores_stay(bool stay) noexcept { stores_stay_ = stay; }
  /// Watched words in the order of their first reads, as positions in the list given to Watch.
  const std::vector<uint32_t>& trace() const noexcept { return trace_; }

 private:
  friend void NoteReadSlowly(uint64_t offset, size_t n) noexcept;
  friend void NoteStore(const void* address, size_t n) noexcept;
  void Arm();
  void Disarm();
  void Seen(uint64_t line, unsigned words) noexcept;
  void SeeLine(uint64_t line, unsigned words) noexcept;

  const SimArea& area_;
  std::vector<uint8_t> watched_;
  std::vector<uint64_t> words_;
  std::unordered_map<uint64_t, uint32_t> first_of_line_;  // position of the line's first word
  std::vector<uint32_t> trace_;
  bool active_ = false;
  bool stores_stay_ = true;
  ReadWatch before_;
};

}  // namespace braid::sim

#endif  // BRAID_CRASHSIM
