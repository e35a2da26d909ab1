// One line on stderr that tells how far long work is: rate, share done, time left.
//
// On a terminal the line is redrawn in place, at most ten times a second. Elsewhere nothing is
// printed, or with Style::kPlain an ordinary line every ten seconds.
//
// Thread safety: one thread.
// Persistence: none.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace braid::tools {

class Progress {
 public:
  enum class Style : uint8_t {
    kAuto,   ///< bar on a terminal, silence elsewhere
    kPlain,  ///< bar on a terminal, a line every ten seconds elsewhere
    kOff,
  };
  static constexpr double kUnknownShare = -1;

  /// `label` says what is going on ("load"), `unit` what is counted ("records", may be empty).
  Progress(std::string label, std::string unit, Style style);
  ~Progress() { Finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` units so far; `share` of the work from 0 to 1, or kUnknownShare. Cheap to call often:
  /// it reads the clock and mostly returns.
  void Update(uint64_t done, double share);
  /// Removes the bar, so that results and messages stand alone. Later updates do nothing.
  void Finish();
  /// Removes the bar for now; the next update draws it again. Call before printing a message.
  void Clear();

  double ElapsedSeconds() const;

 private:
  std::string Line(uint64_t done, double share, bool with_bar) const;

  using Clock = std::chrono::steady_clock;
  const std::string label_;
  const std::string unit_;
  const bool terminal_;
  bool active_;
  bool drawn_ = false;
  const Clock::time_point start_;
  Clock::time_point next_;
};

}  // namespace braid::tools
