#include "tools/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tools/text_format.h"

namespace braid::tools {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kPlainInterval = std::chrono::seconds(10);
constexpr int kBarWidth = 24;

bool StderrIsTerminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

size_t TerminalColumns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

void Print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string label, std::string unit, Style style)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      terminal_(StderrIsTerminal()),
      active_(style == Style::kPlain || (style == Style::kAuto && terminal_)),
      start_(Clock::now()),
      next_(start_ + (terminal_ ? Clock::duration(kRedraw) : Clock::duration(kPlainInterval))) {}

double Progress::ElapsedSeconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

std::string Progress::Line(uint64_t done, double share, bool with_bar) const {
  std::string line = label_;
  const double elapsed = ElapsedSeconds();
  if (share >= 0) {
    share = std::min(share, 1.0);
    if (with_bar) {
      const auto filled = static_cast<size_t>(share * kBarWidth);
      line += fmt::format("  [{:#<{}}{:-<{}}]", "", filled, "", kBarWidth - filled);
    }
    line += fmt::format("  {:3.0f}%", share * 100);
  }
  if (!unit_.empty()) {
    line += fmt::format("  {} {}", GroupDigits(done), unit_);
    if (elapsed > 0) {
      line += fmt::format("  {}/s",
                          GroupDigits(static_cast<uint64_t>(static_cast<double>(done) / elapsed)));
    }
  }
  if (share > 0) {
    line += fmt::format("  {} left", DurationText(elapsed * (1 - share) / share));
  } else {
    line += fmt::format("  {} so far", DurationText(elapsed));
  }
  return line;
}

void Progress::Update(uint64_t done, double share) {
  if (!active_ || Clock::now() < next_) return;
  if (terminal_) {
    next_ = Clock::now() + kRedraw;
    // A line that wraps can't be redrawn in place.
    const std::string line = Line(done, share, true).substr(0, TerminalColumns() - 1);
    Print("\r" + line + "\x1b[K");
    drawn_ = true;
  } else {
    next_ = Clock::now() + kPlainInterval;
    Print(Line(done, share, false) + "\n");
  }
}

void Progress::Clear() {
  if (!drawn_) return;
  Print("\r\x1b[K");
  drawn_ = false;
}

void Progress::Finish() {
  Clear();
  active_ = false;
}

}  // namespace braid::tools
