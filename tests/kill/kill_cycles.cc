#include "kill_cycles.h"

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "kill_options.h"
#include "support/folder_state.h"
#include "writer.h"

namespace braid::test {
namespace {

using base::Activity;
using Clock = std::chrono::steady_clock;

/// Tries of one aimed kill: on a busy machine the signal often comes after the job.
constexpr int kShots = 8;
/// Looks at a writer that was stopped, within one try.
constexpr int kHolds = 100;
constexpr std::chrono::seconds kPatience{kSanitizer ? 120 : 30};

void SleepMicros(uint64_t micros) {
  std::this_thread::sleep_for(std::chrono::microseconds(micros));
}

/// Shorter than a sleep can be.
void SpinMicros(uint64_t micros) {
  const auto end = Clock::now() + std::chrono::microseconds(micros);
  while (Clock::now() < end) {
  }
}

Activity ActivityOf(Moment moment) {
  switch (moment) {
    case Moment::kRecovery:
      return Activity::kRecovery;
    case Moment::kMerge:
      return Activity::kMerge;
    case Moment::kGrowth:
      return Activity::kGrowth;
    default:
      return Activity::kOpen;
  }
}

}  // namespace

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

void KillCycles::Cycle(uint64_t number) {
  SCOPED_TRACE("cycle " + std::to_string(number) + "; " + ReplayLine());
  using enum Moment;
  // A new pool grows as soon as it is written to; an old one seldom does.
  constexpr std::array<Moment, 8> kTurns = {kGrowth,  kWriting, kMerge, kClosing,
                                            kAtStart, kWriting, kMerge, kWriting};
  const Moment moment = kTurns[number % kTurns.size()];
  if (moment == kGrowth) StartOver();
  if (moment == kGrowth || moment == kMerge) {
    KillAimed(moment, false);
  } else {
    Kill(moment, false);
  }
  const bool more = !::testing::Test::HasFailure();
  if (more && number % 2 == 0) KillAimed(kRecovery, true);
  if (more && number % 4 == 1) KillAimed(kOpen, true);
  while (!::testing::Test::HasFailure() && random_.OneIn(6)) {
    Kill(random_.OneIn(2) ? kOpen : kAtStart, true);
  }
  if (!::testing::Test::HasFailure()) CheckPool();
}

void KillCycles::StartOver() {
  const Status removed = DB::Destroy(pool_);
  ASSERT_TRUE(IsOk(removed));
  if (!tier_.empty()) std::filesystem::remove_all(tier_);
  ++store_;
  oracle_.Reset();
}

void KillCycles::KillAimed(Moment moment, bool open_only) {
  const auto hits = [&] {
    switch (moment) {
      case Moment::kOpen:
        return kills_.open;
      case Moment::kRecovery:
        return kills_.recovery;
      case Moment::kMerge:
        return kills_.merge;
      default:
        return kills_.growth;
    }
  };
  const uint64_t before = hits();
  for (int shot = 0; shot < kShots && hits() == before; ++shot) {
    // A pool that has grown does not do so again soon.
    if (shot > 0 && moment == Moment::kGrowth) {
      CheckPool();
      if (!::testing::Test::HasFailure()) StartOver();
    } else if (shot > 0 && !open_only) {
      CheckPool();
    }
    if (::testing::Test::HasFailure()) return;
    Kill(moment, open_only);
  }
}

bool KillCycles::WaitForStage(Stage stage) {
  const auto deadline = Clock::now() + kPatience;
  while (oracle_.stage() < stage && Clock::now() < deadline) SleepMicros(20);
  return oracle_.stage() >= stage;
}

bool KillCycles::AwaitActivity(Activity activity) {
  const auto deadline = Clock::now() + std::chrono::seconds(kSanitizer ? 20 : 2);
  while (!oracle_.IsDoing(activity)) {
    if (oracle_.stage() >= Stage::kClosed || Clock::now() >= deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

bool KillCycles::AwaitMoment(Moment moment, pid_t pid) {
  switch (moment) {
    case Moment::kAtStart:
      SleepMicros(random_.Below(10'000));
      return true;
    case Moment::kWriting:
      if (!WaitForStage(Stage::kWriting)) return false;
      SleepMicros(random_.Below(60'000));
      return true;
    case Moment::kClosing:
      if (!WaitForStage(Stage::kWriting)) return false;
      SleepMicros(random_.Below(20'000));
      oracle_->stop.store(1);
      SleepMicros(random_.Below(6'000));
      return true;
    default:
      break;
  }
  // Something to merge, and some writes that are under way in it.
  if (moment == Moment::kMerge) {
    if (!WaitForStage(Stage::kWriting)) return false;
    SleepMicros(random_.Below(30'000));
  }
  HoldIn(pid, ActivityOf(moment));
  return true;
}

/// Stops the writer in the job, at a random moment of it: on a busy machine a signal often comes
/// after the job, so that it is looked at again when the writer stands still. Returns without when
/// the writer does no such job any more.
void KillCycles::HoldIn(pid_t pid, Activity activity) {
  for (int i = 0; i < kHolds && AwaitActivity(activity); ++i) {
    if (random_.OneIn(2)) SpinMicros(random_.Below(200));
    siginfo_t info{};
    const auto id = static_cast<id_t>(pid);
    // Left to be waited for if it has ended instead.
    if (::kill(pid, SIGSTOP) != 0 ||
        ::waitid(P_PID, id, &info, WSTOPPED | WEXITED | WNOWAIT) != 0 ||
        info.si_code != CLD_STOPPED || oracle_.IsDoing(activity)) {
      return;
    }
    ::waitid(P_PID, id, &info, WSTOPPED);
    ::kill(pid, SIGCONT);
  }
}

void KillCycles::CountKill(Stage stage) {
  ++kills_.all;
  if (stage == Stage::kClosed) return;
  if (oracle_.IsDoing(Activity::kGrowth)) {
    ++kills_.growth;
  } else if (oracle_.IsDoing(Activity::kRecovery)) {
    ++kills_.recovery;
  } else if (oracle_.IsDoing(Activity::kOpen)) {
    ++kills_.open;
  } else if (oracle_.IsDoing(Activity::kMerge) || oracle_.IsDoing(Activity::kCollect)) {
    ++kills_.merge;
  } else if (oracle_.IsDoing(Activity::kFlush)) {
    ++kills_.flush;
  }
}

void KillCycles::Kill(Moment moment, bool open_only) {
  oracle_.SetStage(Stage::kStarting);
  oracle_->stop.store(open_only ? 1 : 0);
  for (auto& count : oracle_->activities) count.store(0);
  const uint64_t writer_seed = random_.Next() >> 1;
  const pid_t pid = Spawn({kWriterArgument, pool_, std::to_string(oracle_.fd()),
                           std::to_string(writer_seed), std::to_string(store_), tier_});
  const std::string how = store().name + ": " + Describe(OptionsOf(writer_seed));
  ASSERT_GT(pid, 0);
  const bool reached = AwaitMoment(moment, pid);
  ::kill(pid, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  const Stage stage = oracle_.stage();
  CountKill(stage);
  ASSERT_NE(stage, Stage::kFailed) << "the writer failed: " << oracle_->message << "\n  " << how;
  ASSERT_TRUE(reached) << "the writer hangs at stage " << static_cast<int>(stage);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
      << "the writer ended by itself, status " << status << "\n  " << how;
}

/// A counter holds the number of swaps that succeeded, and never less than anybody has read.
void KillCycles::CheckCounters(DB* db, Model* model) {
  for (uint32_t c = 0; c < kCounters; ++c) {
    CounterState& state = oracle_->counters[c];
    const std::string text = GetText(db, CounterName(c));
    const bool absent = text == "(not found)";
    const uint64_t got = absent ? 0 : std::strtoull(text.c_str(), nullptr, 10);
    const uint64_t acknowledged = state.acknowledged.load();
    ASSERT_EQ(text, absent ? text : std::to_string(got));
    ASSERT_GE(got, acknowledged) << CounterName(c) << " has lost an acknowledged swap";
    ASSERT_LE(got, acknowledged + kThreads)
        << CounterName(c) << ": more than one swap in flight a thread";
    ASSERT_GE(got, state.observed.load()) << CounterName(c) << " held more when it was read";
    state.acknowledged.store(got);
    if (!absent) (*model)[CounterName(c)] = text;
  }
}

Options KillCycles::OptionsOf(uint64_t seed) const {
  Options options = KillOptions(seed, store());
  if (!tier_.empty()) AddKillTier(seed, tier_, &options);
  return options;
}

void KillCycles::CheckPool() {
  const uint64_t seed = random_.Next() >> 1;
  Options options = OptionsOf(seed);
  if (random_.OneIn(4)) options.verify_on_open = VerifyOnOpen::kFull;
  SCOPED_TRACE(store().name + ": " + Describe(options));
  std::optional<Model> repaired;
  if (random_.OneIn(2)) Repair(options, &repaired);
  if (::testing::Test::HasFatalFailure()) return;
  std::optional<Pairs> shown;
  if (random_.OneIn(2)) ReadOnly(options, &shown);
  if (::testing::Test::HasFatalFailure()) return;
  std::unique_ptr<DB> db = OpenOrFail(options, pool_);
  ASSERT_NE(db, nullptr);
  if (shown) {
    EXPECT_TRUE(*shown == ScanForward(db.get())) << "a reader was shown something else";
    ++read_only_;
  }
  if (repaired) CheckRepaired(db.get(), *repaired);
  tier_entries_ += db->GetStatistics().tier_entries;
  for (uint32_t t = 0; t < kThreads; ++t) {
    ResolveThread(db.get(), t);
    if (::testing::Test::HasFatalFailure()) return;
  }
  if (random_.OneIn(2)) ExpectVerified(db.get());
  Model model;
  CheckCounters(db.get(), &model);
  for (uint32_t t = 0; t < kThreads; ++t) {
    for (uint32_t key = 0; key < kKeysPerThread; ++key) {
      const uint64_t number = oracle_->threads[t].keys[key].acknowledged.load();
      if (const auto content = ContentOf(t, key, number)) model[KeyName(t, key)] = *content;
    }
  }
  EXPECT_TRUE(SamePairs(ScanForward(db.get()), model)) << "forward scan";
  EXPECT_TRUE(SamePairs(ScanBackward(db.get()), model)) << "backward scan";
  // Of few kills none may have left anything in the tier that is newest there.
  const bool no_repair_had_a_tier = !tier_.empty() && of_tiers_ == 0;
  if (random_.OneIn(3) || no_repair_had_a_tier) {
    BRAID_EXPECT_OK(db->Compact());
    ExpectVerified(db.get());
    EXPECT_TRUE(SamePairs(ScanForward(db.get()), model)) << "after Compact";
  }
  if (!no_repair_had_a_tier) return;
  tier_entries_ += db->GetStatistics().tier_entries;
  db.reset();
  Repair(options, &repaired);
  EXPECT_TRUE(repaired == model) << "a repair of what was closed";
}

void KillCycles::Repair(const Options& options, std::optional<Model>* repaired) {
  const std::string target = folder_.Sub("repaired");
  RepairReport report;
  RepairOptions how;
  if (!tier_.empty() && random_.OneIn(2)) how.new_tier = folder_.Sub("tier of the repaired");
  const Status status = DB::Repair(options, pool_, target, &report, how);
  if (!status.ok()) {
    // Killed before there was a pool.
    ASSERT_TRUE(status.IsNotFound() || !DB::Inspect(pool_).ok()) << status.ToString();
    return;
  }
  const auto findings = [&] {
    std::string text;
    for (size_t i = 0; i < report.findings.size() && i < 6; ++i) {
      text += "\n  " + report.findings[i].ToString();
    }
    return text;
  };
  EXPECT_EQ(report.losses(), 0u) << "of a pool that nobody has damaged" << findings();
  {
    Options of_new = options;
    of_new.tier.path = how.new_tier;
    const std::unique_ptr<DB> db = OpenOrFail(of_new, target);
    ASSERT_NE(db, nullptr);
    const Pairs pairs = ScanForward(db.get());
    repaired->emplace(pairs.begin(), pairs.end());
  }
  BRAID_ASSERT_OK(DB::Destroy(target));
  if (!how.new_tier.empty()) std::filesystem::remove_all(how.new_tier);
  of_tiers_ += report.tier_records;
  ++repaired_;
}

/// An open shows the same as the repair has brought back, but for what was in flight at the kill.
void KillCycles::CheckRepaired(DB* db, const Model& repaired) {
  Model opened;
  for (auto& [key, value] : ScanForward(db)) opened[key] = value;
  const auto text_of = [](const Model& model, const std::string& key) {
    const auto found = model.find(key);
    return found == model.end() ? std::string("(not found)") : Printable(found->second);
  };
  for (uint32_t t = 0; t < kThreads; ++t) {
    for (uint32_t key = 0; key < kKeysPerThread; ++key) {
      const KeyState& state = oracle_->threads[t].keys[key];
      const std::string name = KeyName(t, key);
      const uint64_t pending = state.pending.load();
      const bool in_flight = pending != 0 && pending != state.acknowledged.load();
      if (!in_flight) {
        ASSERT_EQ(text_of(repaired, name), text_of(opened, name)) << "repaired: " << name;
      }
      opened.erase(name);
    }
  }
  for (uint32_t c = 0; c < kCounters; ++c) {
    const auto found = repaired.find(CounterName(c));
    const uint64_t got =
        found == repaired.end() ? 0 : std::strtoull(found->second.c_str(), nullptr, 10);
    EXPECT_GE(got, oracle_->counters[c].acknowledged.load()) << "repaired: " << CounterName(c);
    opened.erase(CounterName(c));
  }
  EXPECT_TRUE(opened.empty()) << "a key that nobody wrote";
}

/// What a reader shows of the pool that the killed writer has left, which stays as it is. Nothing
/// when the writer was killed before there was a pool.
void KillCycles::ReadOnly(Options options, std::optional<Pairs>* shown) {
  options.read_only = true;
  const FolderState before = StateOfFolder(folder_.path());
  Result<std::unique_ptr<DB>> reader = DB::Open(options, pool_);
  if (reader.ok()) {
    *shown = ScanForward(reader.value().get());
    EXPECT_TRUE(**shown == ScanBackward(reader.value().get())) << "backwards";
    ExpectVerified(reader.value().get());
    BRAID_EXPECT_OK(reader.value()->Close());
  } else {
    ASSERT_TRUE(reader.status().IsNotFound()) << reader.status().ToString();
  }
  ASSERT_EQ(FirstDifference(before, StateOfFolder(folder_.path())), "");
}

/// Every key holds what was acknowledged; the one write in flight is there whole or not at all.
void KillCycles::ResolveThread(DB* db, uint32_t t) {
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

}  // namespace braid::test
