// A process that writes is killed with SIGKILL again and again; the pool must hold every
// acknowledged write, and of those in flight the old or the new content.
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>
#include <vector>

#include "kill_options.h"
#include "oracle.h"
#include "support/database.h"
#include "support/temp_folder.h"
#include "writer.h"

namespace braid::test {
namespace {

using Clock = std::chrono::steady_clock;

/// When a cycle kills.
enum class Moment { kAtStart, kWhileOpening, kWhileWriting, kWhileClosing };

pid_t Spawn(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  std::string self = "/proc/self/exe";
  argv.push_back(self.data());
  std::vector<std::string> copies = arguments;
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execv(self.c_str(), argv.data());
    ::_exit(127);
  }
  return pid;
}

class KillCycles {
 public:
  KillCycles(Medium medium, uint64_t seed)
      : folder_(medium), pool_(folder_.Sub("pool")), random_(seed) {}

  /// One kill (sometimes several in a row, the later ones during recovery), then a full check.
  void Cycle(uint64_t number) {
    SCOPED_TRACE("cycle " + std::to_string(number) + "; " + ReplayLine());
    const auto moment = static_cast<Moment>(random_.Below(4));
    Kill(random_.OneIn(3) ? Moment::kWhileWriting : moment);
    while (!::testing::Test::HasFailure() && random_.OneIn(4)) {
      Kill(random_.OneIn(2) ? Moment::kWhileOpening : Moment::kAtStart, /*open_only=*/true);
    }
    if (!::testing::Test::HasFailure()) CheckPool();
  }

  uint64_t writes() { return oracle_->writes.load(); }
  uint64_t resolved_old() const { return resolved_old_; }
  uint64_t resolved_new() const { return resolved_new_; }
  uint64_t opens_interrupted() const { return opens_interrupted_; }

 private:
  void SleepMicros(uint64_t micros) {
    std::this_thread::sleep_for(std::chrono::microseconds(micros));
  }
  bool WaitForStage(Stage stage) {
    const auto deadline = Clock::now() + std::chrono::seconds(kSanitizer ? 120 : 30);
    while (oracle_.stage() < stage && Clock::now() < deadline) SleepMicros(20);
    return oracle_.stage() >= stage;
  }

  /// With `open_only` the writer recovers and closes but writes nothing: what was in flight at the
  /// kill before is not resolved yet.
  void Kill(Moment moment, bool open_only = false) {
    oracle_.SetStage(Stage::kStarting);
    oracle_->stop.store(open_only ? 1 : 0);
    const uint64_t writer_seed = random_.Next() >> 1;
    const pid_t pid =
        Spawn({kWriterArgument, pool_, std::to_string(oracle_.fd()), std::to_string(writer_seed)});
    ASSERT_GT(pid, 0);
    bool reached = true;
    switch (moment) {
      case Moment::kAtStart:
        SleepMicros(random_.Below(10'000));
        break;
      case Moment::kWhileOpening:
        reached = WaitForStage(Stage::kOpening);
        SleepMicros(random_.Below(random_.OneIn(2) ? 300 : 4000));
        break;
      case Moment::kWhileWriting:
        reached = WaitForStage(Stage::kWriting);
        SleepMicros(random_.Below(60'000));
        break;
      case Moment::kWhileClosing:
        reached = WaitForStage(Stage::kWriting);
        SleepMicros(random_.Below(20'000));
        oracle_->stop.store(1);
        SleepMicros(random_.Below(6'000));
        break;
    }
    const Stage stage = oracle_.stage();
    ::kill(pid, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    if (stage == Stage::kOpening) ++opens_interrupted_;
    ASSERT_NE(oracle_.stage(), Stage::kFailed) << "the writer failed: " << oracle_->message
                                               << "\n  " << Describe(KillOptions(writer_seed));
    ASSERT_TRUE(reached) << "the writer hangs at stage " << static_cast<int>(stage);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        << "the writer ended by itself, status " << status << "\n  "
        << Describe(KillOptions(writer_seed));
  }

  void CheckPool() {
    const uint64_t seed = random_.Next() >> 1;
    Options options = KillOptions(seed);
    if (random_.OneIn(4)) options.verify_on_open = VerifyOnOpen::kFull;
    SCOPED_TRACE(Describe(options));
    const std::unique_ptr<DB> db = OpenOrFail(options, pool_);
    ASSERT_NE(db, nullptr);
    for (uint32_t t = 0; t < kThreads; ++t) {
      ResolveThread(db.get(), t);
      if (::testing::Test::HasFatalFailure()) return;
    }
    ExpectVerified(db.get());
    Model model;
    for (uint32_t t = 0; t < kThreads; ++t) {
      for (uint32_t key = 0; key < kKeysPerThread; ++key) {
        const uint64_t number = oracle_->threads[t].keys[key].acknowledged.load();
        if (const auto content = ContentOf(t, key, number)) model[KeyName(t, key)] = *content;
      }
    }
    EXPECT_TRUE(SamePairs(ScanForward(db.get()), model)) << "forward scan";
    EXPECT_TRUE(SamePairs(ScanBackward(db.get()), model)) << "backward scan";
    if (random_.OneIn(3)) {
      BRAID_EXPECT_OK(db->Compact());
      EXPECT_TRUE(SamePairs(ScanForward(db.get()), model)) << "after Compact";
    }
  }

  /// Every key holds what was acknowledged; the one write in flight is there whole or not at all.
  void ResolveThread(DB* db, uint32_t t) {
    ThreadState& thread = oracle_->threads[t];
    const auto phase = static_cast<Phase>(thread.phase.load());
    bool may_be_old = phase != Phase::kAcked;
    bool may_be_new = phase != Phase::kIdle;
    std::string in_flight;
    for (uint32_t key = 0; key < kKeysPerThread; ++key) {
      KeyState& state = thread.keys[key];
      const uint64_t pending = state.pending.load();
      const uint64_t acknowledged = state.acknowledged.load();
      const std::string got = GetText(db, KeyName(t, key));
      const std::string old_text = ContentOf(t, key, acknowledged).value_or("(not found)");
      if (pending == 0 || pending == acknowledged) {
        ASSERT_EQ(Printable(got), Printable(old_text))
            << "acknowledged write " << acknowledged << " of " << KeyName(t, key);
        ASSERT_EQ(got, old_text);
        ASSERT_LE(state.observed.load(), acknowledged) << KeyName(t, key);
        continue;
      }
      const std::string new_text = ContentOf(t, key, pending).value_or("(not found)");
      in_flight += " " + KeyName(t, key) + "=" + Printable(got, 24);
      ASSERT_TRUE(got == old_text || got == new_text)
          << KeyName(t, key) << " holds " << Printable(got) << ", which is neither write "
          << acknowledged << " nor write " << pending;
      if (got != new_text) may_be_new = false;
      if (got != old_text || state.observed.load() == pending) may_be_old = false;
    }
    ASSERT_TRUE(may_be_old || may_be_new)
        << "the write in flight of thread " << t << " (phase " << static_cast<int>(phase)
        << ") is neither whole nor absent, or was read before and is gone:" << in_flight;
    if (!in_flight.empty()) may_be_new ? ++resolved_new_ : ++resolved_old_;
    for (KeyState& state : thread.keys) {
      const uint64_t pending = state.pending.exchange(0);
      if (pending != 0 && may_be_new) state.acknowledged.store(pending);
    }
    thread.phase.store(static_cast<uint32_t>(Phase::kIdle));
  }

  TempFolder folder_;
  const std::string pool_;
  Random random_;
  Oracle oracle_;
  uint64_t resolved_old_ = 0;
  uint64_t resolved_new_ = 0;
  uint64_t opens_interrupted_ = 0;
};

void RunCycles(Medium medium, uint64_t cycles, uint64_t seed) {
  KillCycles run(medium, seed);
  for (uint64_t i = 0; i < cycles && !::testing::Test::HasFailure(); ++i) run.Cycle(i);
  std::printf(
      "[ kill     ] %llu writes acknowledged; in flight at the kill: %llu old, %llu new; "
      "%llu opens interrupted\n",
      static_cast<unsigned long long>(run.writes()),
      static_cast<unsigned long long>(run.resolved_old()),
      static_cast<unsigned long long>(run.resolved_new()),
      static_cast<unsigned long long>(run.opens_interrupted()));
  EXPECT_GT(run.writes(), 0u);
}

TEST(KillTest, AcknowledgedWritesSurviveKillsInMemory) {
  RunCycles(Medium::kMemory, Sized(200, 20'000), DeriveSeed(501));
}

TEST(KillTest, AcknowledgedWritesSurviveKillsOnAFile) {
  RunCycles(Medium::kFile, Sized(20, 2'000), DeriveSeed(502));
}

TEST(KillTest, OpenAfterAKillHoldsAMillionRecords) {
  const uint64_t records = Sized(1'000'000, 10'000'000);
  TempFolder folder;
  const pid_t pid = Spawn({kLoaderArgument, folder.Sub("pool"), std::to_string(records)});
  ASSERT_GT(pid, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "status " << status;
  const auto start = Clock::now();
  const std::unique_ptr<DB> db = OpenOrFail(Options{}, folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  ASSERT_EQ(GetText(db.get(), LoadedKey(records / 2)), LoadedValue(records / 2));
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
  const Statistics statistics = db->GetStatistics();
  EXPECT_EQ(statistics.clean_open, 0u);
  std::printf(
      "[ open     ] %llu records, killed: open and first read in %lld us, %llu entries "
      "replayed\n",
      static_cast<unsigned long long>(records), static_cast<long long>(micros),
      static_cast<unsigned long long>(statistics.recovered_entries));
  ::testing::Test::RecordProperty("records", std::to_string(records));
  ::testing::Test::RecordProperty("open_and_first_read_micros", std::to_string(micros));
  ::testing::Test::RecordProperty("recovered_entries",
                                  std::to_string(statistics.recovered_entries));
  for (uint64_t i = 0; i < records; i += 7) {
    ASSERT_EQ(GetText(db.get(), LoadedKey(i)), LoadedValue(i)) << "record " << i;
  }
  EXPECT_EQ(ScanForward(db.get()).size(), records);
}

}  // namespace
}  // namespace braid::test
