// braid top POOL: a live view of a pool that another process has open and tells about.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tools/interrupt.h"
#include "tools/pool_flags.h"
#include "tools/stats_file.h"
#include "tools/text_format.h"
#include "tools/top_text.h"

namespace braid::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLookAgain = std::chrono::milliseconds(50);
constexpr auto kGrace = std::chrono::seconds(2);  // a benchmark that recreates its pool
constexpr int kHeaderEvery = 20;

/// Keys without echo and Enter, and a screen of our own, for as long as it lives.
class Terminal {
 public:
  explicit Terminal(bool active) : active_(active) {
    if (!active_) return;
    has_keys_ = ::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &saved_) == 0;
    if (has_keys_) {
      termios raw = saved_;
      // ISIG stays: Ctrl-C is a signal.
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      raw.c_cc[VMIN] = 0;
      raw.c_cc[VTIME] = 0;
      has_keys_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    }
    Print("\x1b[?1049h\x1b[?25l");  // the alternate screen, no cursor
  }
  ~Terminal() { Leave(); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void Leave() {
    if (!active_) return;
    active_ = false;
    Print("\x1b[?25h\x1b[?1049l");
    if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &saved_);
  }

  /// Over the present screen, line by line, so that nothing flickers; as many lines as there is
  /// room for, so that nothing scrolls. Where there is too little, empty lines go first.
  static bool Draw(std::string screen) {
    screen += "\n  q quits\n";
    size_t room = Size().ws_row;
    if (static_cast<size_t>(std::count(screen.begin(), screen.end(), '\n')) > room) {
      for (size_t at = 0; (at = screen.find("\n\n", at)) != std::string::npos;) screen.erase(at, 1);
    }
    std::string text = "\x1b[H";
    for (size_t at = 0; at < screen.size() && room > 0; --room) {
      const size_t end = screen.find('\n', at);
      text += screen.substr(at, end - at) + "\x1b[K";
      at = end + 1;
      if (at < screen.size() && room > 1) text += "\r\n";
    }
    return Print(text + "\x1b[J");
  }
  static size_t Columns() { return Size().ws_col; }

  /// Waits; true when it is time to quit: q, Ctrl-C.
  bool WaitForQuit(std::chrono::milliseconds time) const {
    const bool input = WaitForInput(has_keys_ ? STDIN_FILENO : -1, static_cast<int>(time.count()));
    if (StopRequested()) return true;
    char keys[64];
    const ssize_t count = input ? ::read(STDIN_FILENO, keys, sizeof keys) : 0;
    return std::any_of(keys, keys + std::max<ssize_t>(0, count),
                       [](char key) { return key == 'q' || key == 'Q' || key == '\x03'; });
  }

 private:
  static winsize Size() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) size = {};
    if (size.ws_row == 0) size.ws_row = 24;
    if (size.ws_col == 0) size.ws_col = 80;
    return size;
  }
  static bool Print(const std::string& text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    return std::fflush(stdout) == 0 && written;
  }
  bool active_;
  bool has_keys_ = false;
  termios saved_{};
};

class TopVerb final : public Verb {
 public:
  std::string name() const override { return "top"; }
  std::string summary() const override {
    return "watch a pool that another process has open (--publish-stats)";
  }
  std::string description() const override {
    return "Shows what a process does with its pool, once a second: operations, flushes and "
           "merges, levels, stalls, memory and space.";
  }

  void Configure(CLI::App& app) override {
    app.add_option("POOL", pool_, "the pool to watch")->required()->type_name("");
    app.add_option("--interval", interval_, "seconds between two looks; default: 1")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.1, 3600.0));
    app.add_option("--count", count_, "end after so many looks; default: with the process")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    AddJsonFlag(app, &json_, "print an object for each look, on a line of its own");
    app.footer(
        "A pool is open in one process at a time, so that process has to tell what it does: it\n"
        "writes POOL.stats.json once a second when it was started with --publish-stats, as\n"
        "'braid bench' and 'braid load' can be.\n"
        "\n"
        "On a terminal the screen is redrawn in place; q or Ctrl-C ends it. Elsewhere each look "
        "is\n"
        "a line. Flushes and merges count their entries when a table is done.\n"
        "\n"
        "Example: braid top POOL");
  }

  int Run() override {
    StatsSnapshot first;
    if (const Seen seen = Look(&first); seen != Seen::kSnapshot) return FailFirst(seen);
    const char* term = std::getenv("TERM");
    const bool terminal = !json_ && ::isatty(STDOUT_FILENO) == 1 && term != nullptr &&
                          std::string_view(term) != "dumb";
    StopOnSignal();
    std::string last;
    int exit_code = kExitOk;
    {
      Terminal screen(terminal);
      exit_code = Watch(first, terminal, screen, &last);
    }
    Output out;
    // The last screen stays behind when the terminal's own comes back.
    out.Write(last);
    exit_code = out.Finish(exit_code);
    return message_.empty() ? exit_code : Fail(message_);
  }

 private:
  Seen Look(StatsSnapshot* snapshot) { return ReadStatsFile(pool_, snapshot, &why_); }

  int FailFirst(Seen seen) {
    if (seen == Seen::kStale) return Fail(why_ + "; 'braid info POOL' says what the pool is");
    if (seen == Seen::kUnreadable) {
      return Fail(fmt::format("can't read '{}': {}: is it of another version of braid?",
                              StatsFilePath(pool_), why_));
    }
    Result<PoolInfo> info = DB::Inspect(pool_);
    if (!info.ok()) return Fail(info.status());
    if (!info->in_use || info->in_use_for_reading) {
      return Fail(
          "no process has the pool open to write, so there is nothing to watch: 'braid stat POOL' "
          "shows its sizes");
    }
    const std::string holder =
        info->in_use_by_pid == 0 ? "a process" : fmt::format("process {}", info->in_use_by_pid);
    return Fail(holder +
                " has the pool open and does not tell what it does: start 'braid bench' or "
                "'braid load' with --publish-stats");
  }

  /// Shows one look after the other. `last` is what to leave on the terminal.
  int Watch(StatsSnapshot before, bool terminal, const Terminal& screen, std::string* last) {
    StatsSnapshot now = before;
    if (terminal) Terminal::Draw(*last = TopScreen(pool_, now, nullptr, Terminal::Columns()));
    for (uint64_t looks = 0; count_ == 0 || looks < count_; ++looks) {
      if (!WaitForNext(before, screen, &now)) return kExitOk;
      // A process that has reopened the pool counts from zero.
      const bool same = now.pid == before.pid && now.seconds > before.seconds;
      const StatsSnapshot* earlier = same ? &before : nullptr;
      bool shown = true;
      if (terminal) {
        shown = Terminal::Draw(*last = TopScreen(pool_, now, earlier, Terminal::Columns()));
      } else {
        shown = PrintLine(now, earlier, looks);
      }
      if (!shown) return kExitOk;  // nobody looks any more
      before = now;
    }
    return kExitOk;
  }

  bool PrintLine(const StatsSnapshot& now, const StatsSnapshot* before, uint64_t looks) const {
    std::string text;
    if (json_) {
      text = TopJson(now, before);
    } else {
      if (looks % kHeaderEvery == 0) text = TopHeader() + "\n";
      text += TopLine(now, before);
    }
    text += "\n";
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    return std::fflush(stdout) == 0 && written;
  }

  /// Waits for the interval, then for a snapshot that `before` is not. False when it is over:
  /// somebody quits, or the process has ended; `message_` says when that is an error.
  bool WaitForNext(const StatsSnapshot& before, const Terminal& screen, StatsSnapshot* now) {
    const auto due = Clock::now() + std::chrono::milliseconds(std::llround(interval_ * 1000));
    auto missing_until = Clock::time_point::max();
    for (;;) {
      const auto rest = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
      if (screen.WaitForQuit(std::max<std::chrono::milliseconds>(kLookAgain, rest))) return false;
      if (Clock::now() < due) continue;
      const Seen seen = Look(now);
      if (seen == Seen::kSnapshot) {
        if (now->pid != before.pid || now->seconds != before.seconds) return true;
        missing_until = Clock::time_point::max();
        continue;
      }
      if (seen != Seen::kNoFile) {
        message_ =
            seen == Seen::kStale ? why_ : "can't read '" + StatsFilePath(pool_) + "': " + why_;
        return false;
      }
      missing_until = std::min(missing_until, Clock::now() + kGrace);
      if (Clock::now() >= missing_until) return false;  // it has closed the pool
    }
  }

  std::string pool_;
  double interval_ = 1;
  uint64_t count_ = 0;
  bool json_ = false;
  std::string why_;
  std::string message_;
};

}  // namespace

std::unique_ptr<Verb> MakeTopVerb() { return std::make_unique<TopVerb>(); }

}  // namespace braid::tools
