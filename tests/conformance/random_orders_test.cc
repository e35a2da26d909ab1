// Handles of all kinds made, used and dropped in random orders: databases are opened, closed,
// dropped without a close and opened again, while iterators and snapshots of this one and of former
// ones live on. Nothing crashes (the sanitizers look), what is closed says so, and what is open is
// right.
#include <array>
#include <cstdlib>

#include "conformance.h"

namespace braid::test {
namespace {

/// One order: up to `kSteps` random calls on at most one open database and all that hangs on it.
class RandomOrder {
 public:
  RandomOrder(const Options& options, std::string path, uint64_t seed)
      : options_(options), path_(std::move(path)), random_(seed) {}

  void Run() {
    const uint64_t steps = random_.Between(5, 40);
    for (uint64_t i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) Step();
    // What is left goes in the order of a drawn lot.
    std::array<int, 3> last = {0, 1, 2};
    for (size_t i = last.size(); i > 1; --i) std::swap(last[i - 1], last[random_.Below(i)]);
    for (const int what : last) {
      if (what == 0) iterators_.clear();
      if (what == 1) snapshots_.clear();
      if (what == 2) db_.reset();
    }
  }

 private:
  struct HeldIterator {
    std::unique_ptr<Iterator> rep;
    uint64_t opening;  ///< the number of the open it was made in
    Model state;
  };
  struct HeldSnapshot {
    std::shared_ptr<const Snapshot> rep;
    uint64_t opening;
    Model state;
  };

  void Step() {
    switch (random_.Below(10)) {
      case 0:
      case 1:
        return db_ == nullptr ? Open() : Write();
      case 2:
        return Close();
      case 3:
        return MakeSnapshot();
      case 4:
      case 5:
        return MakeIterator();
      case 6:
      case 7:
        return MoveIterator();
      case 8:
        return Drop();
      default:
        return Read();
    }
  }

  void Open() {
    db_ = OpenOrFail(options_, path_);
    ASSERT_NE(db_, nullptr);
    open_ = true;
    ++opening_;
  }

  /// A close in order, one that is only the end of the object, or both; the object may stay.
  void Close() {
    if (db_ == nullptr) return;
    if (random_.OneIn(2)) {
      const Status closed = db_->Close();
      if (open_) {
        BRAID_EXPECT_OK(closed);
      }
      open_ = false;
    }
    if (random_.OneIn(3)) return;
    db_.reset();
    open_ = false;
  }

  void Write() {
    for (uint64_t n = random_.Between(1, 20); n > 0; --n) {
      const std::string key = Key();
      if (random_.OneIn(4)) {
        const Status done = db_->Delete(key);
        EXPECT_EQ(done.ok(), open_) << done.ToString();
        if (open_) model_.erase(key);
      } else {
        std::string value(random_.Below(300), static_cast<char>('a' + random_.Below(26)));
        const Status done = db_->Put(key, value);
        EXPECT_EQ(done.ok(), open_) << done.ToString();
        if (open_) model_[key] = value;
      }
    }
    if (random_.OneIn(8)) {
      EXPECT_EQ(db_->Flush().ok(), open_);
    }
    if (random_.OneIn(16)) {
      EXPECT_EQ(db_->Compact().ok(), open_);
    }
  }

  void MakeSnapshot() {
    if (db_ == nullptr) return;
    auto made = db_->GetSnapshot();
    if (!made->status().ok() || !open_) return;
    snapshots_.push_back({std::move(made), opening_, model_});
  }

  void MakeIterator() {
    if (db_ == nullptr) return;
    ReadOptions options;
    Model state = model_;
    if (!snapshots_.empty() && snapshots_.back().opening == opening_ && random_.OneIn(2)) {
      options.snapshot = snapshots_.back().rep.get();
      state = snapshots_.back().state;
    }
    iterators_.push_back({db_->NewIterator(options), opening_, std::move(state)});
    if (random_.OneIn(2)) iterators_.back().rep->SeekToFirst();
  }

  void MoveIterator() {
    if (iterators_.empty()) return;
    HeldIterator& held = iterators_[random_.Below(iterators_.size())];
    const bool alive = open_ && held.opening == opening_;
    const std::string target = Key();
    held.rep->Seek(target);
    const auto expected = held.state.lower_bound(target);
    if (!alive) {
      EXPECT_FALSE(held.rep->Valid());
      EXPECT_TRUE(HasCode(held.rep->status(), Status::Code::kClosed));
    } else if (ShowsItsMoment()) {
      BRAID_EXPECT_OK(held.rep->status());
      ASSERT_EQ(held.rep->Valid(), expected != held.state.end());
      if (held.rep->Valid()) {
        EXPECT_EQ(held.rep->key(), expected->first);
        EXPECT_EQ(held.rep->value(), expected->second);
      }
    }
    for (uint64_t n = random_.Below(4); n > 0; --n) {
      random_.OneIn(2) ? held.rep->Next() : held.rep->Prev();
      if (held.rep->Valid()) {
        EXPECT_FALSE(held.rep->key().empty());
      }
    }
  }

  /// Lets something go, the oldest or the newest.
  void Drop() {
    if (random_.OneIn(2)) {
      if (snapshots_.empty()) return;
      snapshots_.erase(random_.OneIn(2) ? snapshots_.begin() : snapshots_.end() - 1);
    } else if (!iterators_.empty()) {
      iterators_.erase(random_.OneIn(2) ? iterators_.begin() : iterators_.end() - 1);
    }
  }

  void Read() {
    if (db_ == nullptr) return;
    const std::string key = Key();
    std::string value;
    ReadOptions options;
    const Model* state = &model_;
    if (!snapshots_.empty() && snapshots_.back().opening == opening_ && random_.OneIn(2)) {
      options.snapshot = snapshots_.back().rep.get();
      state = &snapshots_.back().state;
    }
    const Status found = db_->Get(options, key, &value);
    if (!open_) {
      EXPECT_TRUE(HasCode(found, Status::Code::kClosed));
      return;
    }
    const auto wanted = state->find(key);
    ASSERT_EQ(found.ok(), wanted != state->end()) << Printable(key) << " " << found.ToString();
    if (found.ok()) {
      EXPECT_EQ(value, wanted->second);
    }
  }

  std::string Key() { return NumberedKey(random_.Below(64)); }
  /// A store without snapshots may show what came after the iterator.
  bool ShowsItsMoment() const { return db_->GetCapabilities().snapshots; }

  Options options_;
  std::string path_;
  Random random_;
  std::unique_ptr<DB> db_;
  bool open_ = false;
  uint64_t opening_ = 0;
  Model model_;
  std::vector<HeldIterator> iterators_;
  std::vector<HeldSnapshot> snapshots_;
};

class RandomOrdersTest : public ::testing::TestWithParam<StoreKind> {};

INSTANTIATE_TEST_SUITE_P(Stores, RandomOrdersTest, ::testing::ValuesIn(StoreKinds()),
                         [](const auto& store) { return store.param.name; });

/// A number from the environment, or `otherwise`.
uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// BRAID_TEST_SIZE=night runs more than 10,000 on the default store alone; fewer under a sanitizer.
/// BRAID_ORDERS says how many, BRAID_FIRST_ORDER which is the first: a long run goes in parts
/// (scripts/random_orders.sh), and one order is replayed alone.
TEST_P(RandomOrdersTest, OfOpenCloseIterateAndSnapshotHarmNothing) {
  SCOPED_TRACE(ReplayLine());
  const uint64_t share =
      std::max<uint64_t>(Sized(400, 12'000, 40'000) / GetParam().share_of_trials(), 16);
  const uint64_t first = NumberFrom("BRAID_FIRST_ORDER", 0);
  const uint64_t orders = NumberFrom("BRAID_ORDERS", share);
  TempFolder folder;
  for (uint64_t i = first; i < first + orders && !HasFailure(); ++i) {
    SCOPED_TRACE("order BRAID_ORDERS=1 BRAID_FIRST_ORDER=" + std::to_string(i));
    Options options = TinyOptions();
    options.pool.initial_bytes = 256u << 10;
    GetParam().ApplyTo(&options);
    options.background_threads = i % 4 != 0;
    const std::string path = folder.Sub("pool");
    RandomOrder(options, path, DeriveSeed(i)).Run();
    BRAID_ASSERT_OK(DB::Destroy(path));
  }
  RecordProperty("orders", static_cast<int>(orders));
}

}  // namespace
}  // namespace braid::test
