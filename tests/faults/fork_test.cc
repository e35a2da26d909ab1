// fork(), exec() and exit() with an open database: a child can use nothing of it and harms nothing,
// whatever it does to end; the locks are the parent's, and go with it; a child has its own pools.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "braid/c.h"
#include "braid/update.h"
#include "support/child_process.h"
#include "support/database.h"
#include "support/temp_folder.h"

#if defined(__SANITIZE_THREAD__)
#define BRAID_NO_THREADS_IN_CHILDREN() \
  GTEST_SKIP() << "ThreadSanitizer can't follow a child of several threads"
#else
#define BRAID_NO_THREADS_IN_CHILDREN() (void)0
#endif

namespace braid::test {
namespace {

constexpr unsigned kAlarm = 60;
constexpr uint64_t kKeys = 400;

/// Of static duration, as in programs that never close: exit() destroys it.
std::unique_ptr<DB> static_db;  // NOLINT: its end at exit() is what is tested

struct Way {
  const char* name;
  const char* design;
  bool background;
};

/// Collects what a child finds wrong.
class Findings {
 public:
  void Expect(bool good, const std::string& what) {
    if (!good) text_ += what + "; ";
  }
  void ExpectRefused(const Status& s, const std::string& what) {
    const bool told = s.IsInvalidArgument() && s.message().find("fork") != std::string_view::npos;
    Expect(told, what + ": " + s.ToString());
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class NoRecords final : public RecordSource {
 public:
  bool Next(Slice*, Slice*) override { return false; }
  Status status() const override { return Status::OK(); }
};

class ForkTest : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    options_ = TinyOptions();
    options_.design = GetParam().design;
    options_.background_threads = GetParam().background;
    static_db = OpenOrFail(options_, path());
    ASSERT_NE(static_db, nullptr);
    for (uint64_t i = 0; i < kKeys; ++i) Put(i);
  }
  void TearDown() override { static_db.reset(); }

  std::string path() const { return folder_.Sub("pool"); }
  void Put(uint64_t i) { BRAID_ASSERT_OK(static_db->Put(NumberedKey(i), ValueOf(i))); }
  static std::string ValueOf(uint64_t i) { return std::string(200, 'v') + std::to_string(i); }

  static void ExpectNoCallWorks(DB* db, Findings* findings) {
    std::string value;
    std::vector<std::string> values;
    PinnedValue pinned;
    WriteBatch batch;
    batch.Put("k", "v");
    batch.Put("l", "v");
    VerifyReport report;
    NoRecords none;
    const std::vector<Slice> keys{"a", "b"};
    findings->ExpectRefused(db->Put("k", "v"), "put");
    findings->ExpectRefused(db->Delete("k"), "delete");
    findings->ExpectRefused(db->Write(batch), "write");
    findings->ExpectRefused(db->DeleteRange("", std::nullopt), "delete range");
    findings->ExpectRefused(db->PutIfAbsent("k", "v").status(), "put if absent");
    findings->ExpectRefused(Update(db, {}, "k", [](std::optional<Slice>) { return "v"; }).status(),
                            "update");
    findings->ExpectRefused(db->BeginTransaction().status(), "begin");
    findings->ExpectRefused(db->Get(NumberedKey(1), &value), "get");
    findings->ExpectRefused(db->GetPinned(NumberedKey(1), &pinned), "get pinned");
    findings->ExpectRefused(db->MultiGet(keys, &values)[1], "multi get");
    findings->ExpectRefused(db->Flush(), "flush");
    findings->ExpectRefused(db->Compact(), "compact");
    findings->ExpectRefused(db->Ingest(&none, {}, nullptr), "ingest");
    findings->ExpectRefused(db->CreateCheckpoint("/nowhere/at/all"), "checkpoint");
    findings->ExpectRefused(db->Verify(&report), "verify");
    findings->ExpectRefused(db->BackgroundStatus(), "background status");
    findings->ExpectRefused(db->Resume(), "resume");
    const std::shared_ptr<const Snapshot> snapshot = db->GetSnapshot();
    ReadOptions at;
    at.snapshot = snapshot.get();
    findings->ExpectRefused(db->Get(at, "k", &value), "get at a snapshot");
    (void)db->GetStatistics();
    findings->Expect(!db->GetProperty("braid.stats", &value), "a property");
    ExpectIteratorRefused(db->NewIterator({}).get(), findings);
    findings->ExpectRefused(db->Close(), "close");
  }
  static void ExpectIteratorRefused(Iterator* it, Findings* findings) {
    findings->Expect(!it->Valid(), "an iterator is valid");
    it->Next();
    it->SeekToFirst();
    findings->Expect(!it->Valid(), "an iterator moves");
    findings->ExpectRefused(it->status(), "iterator");
  }

  /// Writes go on, nobody else gets the pool before the close, and then all is there.
  void ExpectParentUnharmed() {
    for (uint64_t i = kKeys; i < 2 * kKeys; ++i) Put(i);
    BRAID_EXPECT_OK(static_db->Compact());
    EXPECT_TRUE(DB::Open(options_, path()).status().IsBusy()) << "the lock is gone";
    BRAID_EXPECT_OK(static_db->Close());
    static_db = OpenOrFail(options_, path());
    ASSERT_NE(static_db, nullptr);
    for (uint64_t i = 0; i < 2 * kKeys; ++i) {
      ASSERT_EQ(GetText(static_db.get(), NumberedKey(i)), ValueOf(i));
    }
    VerifyReport report;
    BRAID_EXPECT_OK(static_db->Verify(&report));
  }

  TempFolder folder_;
  Options options_;
};
INSTANTIATE_TEST_SUITE_P(Faults, ForkTest,
                         ::testing::Values(Way{"braid_inline", "braid", false},
                                           Way{"braid_background", "braid", true},
                                           Way{"nvskiplist_inline", "nvskiplist", false},
                                           Way{"nvskiplist_background", "nvskiplist", true},
                                           Way{"blackhole_inline", "blackhole", false}),
                         [](const auto& way) { return way.param.name; });

#define BRAID_NEEDS_STORES() \
  if (!static_db->GetCapabilities().stores) GTEST_SKIP() << "it stores nothing"

TEST_P(ForkTest, AChildCanUseNothingAndItsExitHarmsNothing) {
  BRAID_NEEDS_STORES();
  const bool snapshots = static_db->GetCapabilities().snapshots;
  std::unique_ptr<Iterator> it = static_db->NewIterator({});
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  std::shared_ptr<const Snapshot> snapshot = static_db->GetSnapshot();
  std::unique_ptr<Transaction> transaction;
  if (snapshots) transaction = std::move(static_db->BeginTransaction()).value();
  PinnedValue pinned;
  BRAID_ASSERT_OK(static_db->Put("large", std::string(8000, 'l')));
  BRAID_ASSERT_OK(static_db->GetPinned("large", &pinned));
  const ChildOutcome outcome = RunInChild(kAlarm, [&](int fd) -> int {
    Findings findings;
    ExpectNoCallWorks(static_db.get(), &findings);
    ExpectIteratorRefused(it.get(), &findings);
    if (transaction != nullptr) {
      std::string value;
      findings.ExpectRefused(transaction->Get("k", &value), "transaction: get");
      findings.ExpectRefused(transaction->Put("k", "v"), "transaction: put");
      findings.ExpectRefused(transaction->Commit(), "transaction: commit");
    }
    it.reset();
    snapshot.reset();
    transaction.reset();
    pinned.Reset();
    SayTo(fd, findings.text());
    std::exit(findings.text().empty() ? 0 : 1);
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
  it.reset();
  snapshot.reset();
  transaction.reset();
  pinned.Reset();
  ExpectParentUnharmed();
}

TEST_P(ForkTest, AChildMayDestroyTheObjectFirst) {
  BRAID_NEEDS_STORES();
  const ChildOutcome outcome = RunInChild(kAlarm, [&](int) -> int {
    static_db.reset();
    std::exit(0);
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
  ExpectParentUnharmed();
}

TEST_P(ForkTest, AChildOpensPoolsOfItsOwn) {
  BRAID_NO_THREADS_IN_CHILDREN();
  const ChildOutcome outcome = RunInChild(kAlarm, [&](int fd) -> int {
    const Status busy = DB::Open(options_, path()).status();
    if (!busy.IsBusy()) return SayTo(fd, "the parent's: " + busy.ToString()), 1;
    Result<std::unique_ptr<DB>> own = DB::Open(options_, folder_.Sub("own"));
    if (!own.ok()) return SayTo(fd, own.status().ToString()), 2;
    for (uint64_t i = 0; i < kKeys; ++i) {
      if (Status s = (*own)->Put(NumberedKey(i), ValueOf(i)); !s.ok()) {
        return SayTo(fd, s.ToString()), 3;
      }
    }
    if (Status s = (*own)->Compact(); !s.ok()) return SayTo(fd, s.ToString()), 4;
    if (Status s = (*own)->Close(); !s.ok()) return SayTo(fd, s.ToString()), 5;
    own->reset();
    std::exit(0);
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
  if (static_db->GetCapabilities().stores) ExpectParentUnharmed();
}

/// Two ends of a pipe; a child that holds one open can be waited for, and be let go.
struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    CloseRead();
    CloseWrite();
  }
  void CloseRead() { Close(&read_end); }
  void CloseWrite() { Close(&write_end); }
  void Close(int* end) {
    if (*end >= 0) ::close(*end);
    *end = -1;
  }
  void Tell() const {
    if (::write(write_end, "x", 1) != 1) std::abort();
  }
  void AwaitTold() const {
    char byte = 0;
    if (::read(read_end, &byte, 1) != 1) std::abort();
  }
  void AwaitEnd() const {
    char byte = 0;
    while (::read(read_end, &byte, 1) > 0) {
    }
  }
};

TEST_P(ForkTest, AChildThatLivesOnDoesNotKeepThePool) {
  Pipe lives;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(kAlarm);
    lives.CloseWrite();
    lives.AwaitEnd();
    ::_exit(0);
  }
  BRAID_EXPECT_OK(static_db->Close());
  const Status opened = DB::Open(options_, path()).status();
  BRAID_EXPECT_OK(opened);
  lives.CloseWrite();
  int how = 0;
  EXPECT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_EQ(how, 0);
}

/// A process opens the pool, makes a child that lives on (`replaced`: as another program), and
/// dies.
void LeaveAChildBehind(const Options& options, const std::string& path, Pipe* lives,
                       bool replaced) {
  Pipe began;
  const ChildOutcome outcome = RunInChild(kAlarm, [&](int fd) -> int {
    Result<std::unique_ptr<DB>> db = DB::Open(options, path);
    if (!db.ok() || !(*db)->Put("acknowledged", "v").ok()) return 1;
    const pid_t left = ::fork();
    if (left < 0) return 2;
    if (left == 0) {
      ::alarm(kAlarm);
      ::close(fd);  // or its parent's end would not be noticed
      lives->CloseWrite();
      began.Tell();
      if (replaced) {
        ::dup2(lives->read_end, STDIN_FILENO);
        ::execlp("cat", "cat", static_cast<char*>(nullptr));
        ::_exit(3);
      }
      lives->AwaitEnd();
      ::_exit(0);
    }
    // Until its fork has returned: before that it has what its parent had.
    began.AwaitTold();
    ::kill(::getpid(), SIGKILL);
    return 4;
  });
  EXPECT_EQ(outcome.signal, SIGKILL) << outcome.ToString();
}

TEST_P(ForkTest, ALockGoesWithTheProcessThatHasOpenedThePool) {
  BRAID_NO_THREADS_IN_CHILDREN();
  BRAID_NEEDS_STORES();
  static_db.reset();
  for (const bool replaced : {false, true}) {
    Pipe lives;
    ASSERT_NO_FATAL_FAILURE(LeaveAChildBehind(options_, path(), &lives, replaced));
    static_db = OpenOrFail(options_, path());
    ASSERT_NE(static_db, nullptr) << "the child that was left has the lock";
    EXPECT_EQ(GetText(static_db.get(), "acknowledged"), "v");
    static_db.reset();
  }
}

TEST_P(ForkTest, ChildrenMadeWhileThreadsAreInsideCallsEndInOrder) {
  BRAID_NO_THREADS_IN_CHILDREN();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; !stop.load(); ++i) {
        const std::string key = std::to_string(t) + NumberedKey(i % 500);
        (void)static_db->Put(key, ValueOf(i));
        if (i % 64 == t) (void)static_db->NewIterator({});
        if (i % 1024 == 512 + t) (void)static_db->Compact();
      }
    });
  }
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    const std::unique_ptr<Iterator> it = static_db->NewIterator({});
    it->SeekToFirst();
    const std::string own = folder_.Sub("own" + std::to_string(round));
    const ChildOutcome outcome = RunInChild(kAlarm, [&](int fd) -> int {
      if (static_db->Put("k", "v").ok()) return SayTo(fd, "a put is taken"), 1;
      if (round % 2 == 0) {
        Result<std::unique_ptr<DB>> db = DB::Open(options_, own);
        if (!db.ok()) return SayTo(fd, db.status().ToString()), 2;
        for (uint64_t i = 0; i < 50; ++i) {
          if (!(*db)->Put(NumberedKey(i), ValueOf(i)).ok()) return 3;
        }
        if (Status s = (*db)->Compact(); !s.ok()) return SayTo(fd, s.ToString()), 4;
        db->reset();
      }
      std::exit(0);
    });
    EXPECT_EQ(outcome.exit_code, 0) << "round " << round << ": " << outcome.ToString();
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  BRAID_EXPECT_OK(static_db->BackgroundStatus());
  BRAID_EXPECT_OK(static_db->Close());
}

TEST(ForkConcurrentReaderTest, AChildOfAReaderDoesNotGiveUpItsPlace) {
  TempFolder folder;
  Options options = TinyOptions();
  const std::unique_ptr<DB> writer = OpenOrFail(options, folder.Sub("pool"));
  ASSERT_NE(writer, nullptr);
  BRAID_ASSERT_OK(writer->Put("k", "v"));
  Options reading = options;
  reading.read_only = true;
  std::unique_ptr<DB> reader = OpenOrFail(reading, folder.Sub("pool"));
  ASSERT_NE(reader, nullptr);
  const ChildOutcome outcome = RunInChild(kAlarm, [&](int fd) -> int {
    std::string value;
    const Status s = reader->Get("k", &value);
    SayTo(fd, s.ToString());
    reader.reset();
    std::exit(s.IsInvalidArgument() ? 0 : 1);
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
  EXPECT_EQ(GetText(reader.get(), "k"), "v") << "its place was given up";
}

TEST(ForkInCTest, AChildGetsErrorsAndMayClose) {
  TempFolder folder;
  char* error = nullptr;
  braid_options_t* options = braid_options_create();
  braid_options_set_create_if_missing(options, 1);
  braid_t* db = braid_open(options, folder.Sub("pool").c_str(), &error);
  ASSERT_NE(db, nullptr) << error;
  braid_writeoptions_t* write = braid_writeoptions_create();
  braid_put(db, write, "k", 1, "v", 1, &error);
  ASSERT_EQ(error, nullptr);
  const ChildOutcome outcome = RunInChild(kAlarm, [&](int) -> int {
    char* refused = nullptr;
    braid_put(db, write, "k", 1, "w", 1, &refused);
    const bool told =
        refused != nullptr && std::string_view(refused).find("fork") != std::string_view::npos;
    braid_free(refused);
    braid_close(db);
    std::exit(told ? 0 : 1);
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
  braid_readoptions_t* read = braid_readoptions_create();
  size_t length = 0;
  char* value = braid_get(db, read, "k", 1, &length, &error);
  ASSERT_EQ(error, nullptr);
  EXPECT_EQ(std::string_view(value, length), "v");
  braid_free(value);
  braid_readoptions_destroy(read);
  braid_writeoptions_destroy(write);
  braid_close(db);
  braid_options_destroy(options);
}

}  // namespace
}  // namespace braid::test
