// top: a pool that a load or a benchmark publishes about, and every reason why there is none.
#include <pty.h>
#include <sys/ioctl.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "braid/db.h"
#include "command/command_runner.h"

namespace braid::test {
namespace {

using nlohmann::json;

class TopCommandTest : public CommandTest {
 protected:
  std::string StatsFile() const { return Pool() + ".stats.json"; }
  /// A load that waits for its input, with the pool open.
  std::unique_ptr<RunningCommand> StartLoad() {
    auto load = std::make_unique<RunningCommand>(
        folder_.path(),
        std::vector<std::string>{"load", Pool(), "-", "--publish-stats", "--batch", "1"});
    EXPECT_TRUE(WaitUntil([this] { return Exists(StatsFile()); }));
    return load;
  }
};

TEST_F(TopCommandTest, LinesTellWhatALoadDoes) {
  const auto load = StartLoad();
  EXPECT_TRUE(load->Feed("a\t1\nb\t2\nc\t3\n"));
  EXPECT_TRUE(WaitUntil(
      [this] { return json::parse(ReadFileText(StatsFile())).at("values").at("puts") == 3; }));
  const std::vector<std::string> lines = Lines(Out({"top", Pool(), "--count=2", "--interval=0.2"}));
  ASSERT_EQ(lines.size(), 3u) << "names, and two looks";
  EXPECT_NE(lines[0].find("put/s"), std::string::npos);
  for (size_t i = 1; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].size(), lines[0].size());
    EXPECT_EQ(lines[i].find('\x1b'), std::string::npos) << "no colours or moves in a file";
  }
  const json look = json::parse(Out({"top", Pool(), "--count=1", "--json"}));
  EXPECT_EQ(look.at("pid"), load->pid());
  EXPECT_EQ(look.at("values").at("puts"), 3);
  EXPECT_EQ(look.at("a_second").at("puts"), 0.0);
  EXPECT_EQ(look.at("values").at("latency_put_count"), 3);
  EXPECT_FALSE(look.at("latencies").contains("put")) << "none since the look before";
  const json told = json::parse(ReadFileText(StatsFile()));
  EXPECT_EQ(told.at("latencies").at("put").at("count"), 3);
  uint64_t in_buckets = 0;
  for (const json& bucket : told.at("latencies").at("put").at("buckets")) {
    in_buckets += bucket.at(1).get<uint64_t>();
  }
  EXPECT_EQ(in_buckets, 3u);
  const std::string metrics = Out({"metrics", Pool()});
  EXPECT_NE(metrics.find("kind=\"put\",le=\"+Inf\"} 3\n"), std::string::npos) << metrics;
  EXPECT_NE(
      metrics.find("braid_space_bytes{pool=\"" + Pool() + "\",level=\"log\",state=\"live\"} "),
      std::string::npos)
      << metrics;
  const std::string info = Out({"info", Pool()});
  EXPECT_NE(info.find("live "), std::string::npos) << info;
  EXPECT_NE(info.find(" waits for readers and snapshots"), std::string::npos) << info;
  EXPECT_EQ(load->Finish().exit_code, 0);
  EXPECT_FALSE(Exists(StatsFile())) << "the file goes away with the open";
}

TEST_F(TopCommandTest, EndsWhenTheProcessClosesThePool) {
  const auto load = StartLoad();
  RunningCommand top(folder_.path(), {"top", Pool(), "--interval=0.1"});
  EXPECT_TRUE(WaitUntil([&top] { return !top.OutSoFar().empty(); }));
  EXPECT_EQ(load->Finish().exit_code, 0);
  const CommandResult result = top.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
}

TEST_F(TopCommandTest, SaysThatTheProcessHasDied) {
  const auto load = StartLoad();
  RunningCommand top(folder_.path(), {"top", Pool(), "--interval=0.1"});
  load->Signal(SIGKILL);
  EXPECT_EQ(load->Wait().signal, SIGKILL);
  const CommandResult result = top.Wait();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("has ended without closing the pool"), std::string::npos) << result.err;
  ExpectError({"top", Pool()}, "has ended without closing the pool");
  // What was left behind is not in the way of the next open, nor of a pool's end.
  EXPECT_EQ(Run({"verify", Pool()}).exit_code, 0);
  EXPECT_TRUE(DB::Destroy(Pool()).ok());
  EXPECT_FALSE(Exists(Pool()));
}

TEST_F(TopCommandTest, SaysWhyThereIsNothingToSee) {
  ExpectError({"top", Pool()}, "no pool");
  Out({"put", Pool(), "a", "1"});
  ExpectError({"top", Pool()}, "no process has the pool open");
  RunningCommand load(folder_.path(), {"load", Pool(), "-"});
  EXPECT_TRUE(WaitUntil([this] {
    return json::parse(Out({"info", Pool(), "--json"})).at("in_use").get<bool>();
  }));
  ExpectError({"top", Pool()}, "--publish-stats");
  EXPECT_EQ(load.Finish().exit_code, 0);
  WriteFileText(StatsFile(), "{\"schema\":\"another\"}");
  ExpectError({"top", Pool()}, "another version");
}

TEST_F(TopCommandTest, InterruptedItEndsInOrder) {
  const auto load = StartLoad();
  RunningCommand top(folder_.path(), {"top", Pool(), "--interval=0.1"});
  EXPECT_TRUE(WaitUntil([&top] { return !top.OutSoFar().empty(); }));
  top.Signal(SIGINT);
  const CommandResult result = top.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(load->Finish().exit_code, 0);
}

/// `braid top` on a terminal of its own.
class TopOnTerminal {
 public:
  explicit TopOnTerminal(const std::string& pool) {
    winsize size{};
    size.ws_row = 30;
    size.ws_col = 90;
    pid_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (pid_ != 0) return;
    ::setenv("TERM", "xterm", 1);
    ::execl(CommandPath().c_str(), "braid", "top", pool.c_str(), "--interval=0.2", nullptr);
    ::_exit(127);
  }
  ~TopOnTerminal() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    ::close(terminal_);
  }
  /// Reads until `text` was shown so many times; false when the terminal closes before.
  bool WaitFor(const std::string& text, size_t times) {
    char bytes[4096];
    for (;;) {
      size_t seen = 0;
      for (size_t at = shown_.find(text); at != std::string::npos; at = shown_.find(text, at + 1)) {
        ++seen;
      }
      if (seen >= times) return true;
      const ssize_t count = ::read(terminal_, bytes, sizeof bytes);
      if (count <= 0) return false;
      shown_.append(bytes, static_cast<size_t>(count));
    }
  }
  void Type(const std::string& keys) const {
    EXPECT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  int ExitCode() {
    (void)WaitFor("never shown", 1);  // until the terminal closes
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    // The system passes on what was written last in its own time, and may say before that the
    // other end is closed.
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      (void)WaitFor("never shown", 1);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  const std::string& shown() const { return shown_; }

 private:
  pid_t pid_ = 0;
  int terminal_ = -1;
  std::string shown_;
};

TEST_F(TopCommandTest, OnATerminalTheScreenIsRedrawnUntilQ) {
  const auto load = StartLoad();
  for (const char* quit : {"q", "\x03"}) {
    TopOnTerminal top(Pool());
    EXPECT_TRUE(top.WaitFor("\x1b[H", 3)) << "three screens, each over the one before";
    top.Type("x");
    EXPECT_TRUE(top.WaitFor("\x1b[H", 4)) << "another key changes nothing";
    top.Type(quit);
    EXPECT_EQ(top.ExitCode(), 0);
    const std::string& shown = top.shown();
    EXPECT_TRUE(shown.starts_with("\x1b[?1049h\x1b[?25l"));
    const size_t back = shown.find("\x1b[?25h\x1b[?1049l");
    ASSERT_NE(back, std::string::npos) << "the terminal gets back its screen and its cursor";
    EXPECT_NE(shown.find("braid top", back), std::string::npos) << "the last look stays";
    EXPECT_EQ(shown.find('\x1b', back + 14), std::string::npos);
  }
  EXPECT_EQ(load->Finish().exit_code, 0);
}

TEST_F(TopCommandTest, ABenchmarkThatIsInterruptedLeavesNothing) {
  RunningCommand bench(folder_.path(), {"bench", Pool(), "--publish-stats", "--pin=0", "--num=1000",
                                        "--duration=60", "--benchmarks=fillrandom,readrandom"});
  EXPECT_TRUE(WaitUntil([this] { return Exists(StatsFile()); }));
  bench.Signal(SIGINT);
  EXPECT_EQ(bench.Wait().exit_code, 130);
  EXPECT_FALSE(Exists(StatsFile()));
  EXPECT_FALSE(Exists(Pool()));
}

TEST_F(TopCommandTest, ABenchmarkCanBeWatchedThroughAllItsStores) {
  // The second fill makes the pool anew.
  RunningCommand bench(
      folder_.path(), {"bench", Pool(), "--publish-stats", "--pin=0", "--num=20000", "--duration=4",
                       "--benchmarks=fillrandom,readrandom,fillrandom,readrandom"});
  EXPECT_TRUE(WaitUntil([this] { return Exists(StatsFile()); }));
  const CommandResult top = Run({"top", Pool(), "--interval=0.1", "--json"});
  EXPECT_EQ(top.exit_code, 0) << top.err;
  bool anew = false;
  double before = 0;
  const std::vector<std::string> lines = Lines(top.out);
  ASSERT_GE(lines.size(), 2u);
  for (const std::string& line : lines) {
    const json look = json::parse(line);
    EXPECT_GT(look.at("values").size(), 30u);
    anew = anew || look.at("seconds") < before;
    before = look.at("seconds");
    for (const auto& [name, rate] : look.at("a_second").items()) EXPECT_GE(rate, 0) << name;
  }
  EXPECT_TRUE(anew) << "it was watched over the change";
  EXPECT_EQ(bench.Finish().exit_code, 0);
}

}  // namespace
}  // namespace braid::test
