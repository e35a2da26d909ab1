// Keys in an order of their own: every call speaks the caller's keys, and a pool keeps its order.
#include "support/key_orders.h"

#include <filesystem>
#include <new>

#include "braid/statistics.h"
#include "conformance.h"
#include "support/records.h"

namespace braid::test {
namespace {

using OrderedPairs = std::map<std::string, std::string, KeyLess>;

struct OrderedSetup {
  StoreKind kind;
  TestedOrder order;
};

void PrintTo(const OrderedSetup& setup, std::ostream* out) {
  *out << setup.kind.name << " " << setup.order.name;
}

std::vector<OrderedSetup> OrderedSetups() {
  std::vector<OrderedSetup> setups;
  for (const StoreKind& kind : StoreKinds()) {
    if (!kind.settings.empty()) continue;  // the order stands above the parts
    for (const TestedOrder& order : TestedOrders()) setups.push_back({kind, order});
  }
  return setups;
}

/// A pool of each design in each order, filled over several tables.
class KeyOrderTest : public ::testing::TestWithParam<OrderedSetup> {
 protected:
  void SetUp() override {
    options_ = TinyOptions();
    GetParam().kind.ApplyTo(&options_);
    path_ = folder_.Sub("pool");
    Open();
  }
  const TestedOrder& tested() const { return GetParam().order; }
  Capabilities can() const { return GetParam().kind.capabilities(); }
  std::string Key() { return tested().key(&random_, 700); }
  void Open() {
    auto opened = DB::Open(options_, path_, tested().order);
    BRAID_ASSERT_OK(opened.status());
    db_ = std::move(opened).value();
  }
  void Close() {
    BRAID_ASSERT_OK(db_->Close());
    db_.reset();
  }
  void Put(const std::string& key, const std::string& value) {
    BRAID_ASSERT_OK(db_->Put(key, value));
    model_[key] = value;
  }
  void Fill() {
    for (const char* tag : {"merged", "flushed", "new"}) {
      for (int i = 0; i < 400; ++i) Put(Key(), tag + std::to_string(i));
      if (*tag == 'n') continue;
      BRAID_ASSERT_OK(*tag == 'm' ? db_->Compact() : db_->Flush());
    }
  }
  /// Two different keys in ascending order.
  std::pair<std::string, std::string> TwoKeys() {
    std::string a = Key(), b = Key();
    while (a == b) b = Key();
    if (tested().less(b, a)) std::swap(a, b);
    return {a, b};
  }
  /// Opens the pool at `path` and compares.
  void ExpectAt(const std::string& path) {
    auto opened = DB::Open(options_, path, tested().order);
    BRAID_ASSERT_OK(opened.status());
    ExpectContent(opened->get(), model_);
    ExpectVerified(opened->get());
    BRAID_EXPECT_OK((*opened)->Close());
  }

  TempFolder folder_;
  Options options_;
  std::string path_;
  std::unique_ptr<DB> db_;
  Random random_{DeriveSeed(17)};
  OrderedPairs model_{KeyLess{GetParam().order.less}};
};
INSTANTIATE_TEST_SUITE_P(Designs, KeyOrderTest, ::testing::ValuesIn(OrderedSetups()),
                         [](const auto& setup) {
                           return setup.param.kind.name + "_" + setup.param.order.name;
                         });

TEST_P(KeyOrderTest, ScansAndGetsAreInThatOrderAndStayAfterAReopen) {
  Fill();
  ExpectContent(db_.get(), model_);
  Close();
  Open();
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(KeyOrderTest, SeeksAndBoundsSpeakTheCallersKeys) {
  Fill();
  SCOPED_TRACE(ReplayLine());
  for (int trial = 0; trial < 200; ++trial) {
    const auto [from, to] = TwoKeys();
    ReadOptions bounds;
    bounds.lower_bound = from;
    bounds.upper_bound = to;
    const OrderedPairs want(model_.lower_bound(from), model_.lower_bound(to), model_.key_comp());
    ASSERT_TRUE(SamePairs(ScanForward(db_.get(), bounds), want));
    ASSERT_TRUE(SamePairs(ScanBackward(db_.get(), bounds), want));
    const auto it = db_->NewIterator({});
    it->Seek(from);
    const auto at = model_.lower_bound(from);
    ASSERT_EQ(it->Valid(), at != model_.end());
    if (it->Valid()) {
      ASSERT_EQ(it->key(), at->first);
    }
    it->SeekForPrev(from);
    const auto above = model_.upper_bound(from);
    ASSERT_EQ(it->Valid(), above != model_.begin());
    if (it->Valid()) {
      ASSERT_EQ(it->key(), std::prev(above)->first);
    }
  }
}

TEST_P(KeyOrderTest, RangesAreDeletedInThatOrder) {
  Fill();
  for (int trial = 0; trial < 5; ++trial) {
    const auto [from, to] = TwoKeys();
    uint64_t deleted = 99;
    BRAID_ASSERT_OK(db_->DeleteRange(to, from, &deleted));
    EXPECT_EQ(deleted, 0u) << "turned round it is empty";
    const auto first = model_.lower_bound(from), last = model_.lower_bound(to);
    BRAID_ASSERT_OK(db_->DeleteRange(from, to, &deleted));
    EXPECT_EQ(deleted, static_cast<uint64_t>(std::distance(first, last)));
    model_.erase(first, last);
    ExpectContent(db_.get(), model_);
  }
  const std::string key = Key();
  BRAID_ASSERT_OK(db_->DeleteRange(key, std::nullopt));
  model_.erase(model_.lower_bound(key), model_.end());
  ExpectContent(db_.get(), model_);
}

TEST_P(KeyOrderTest, MultiGetBatchesPinsSwapsAndSnapshotsSpeakTheCallersKeys) {
  Fill();
  const OrderedPairs before = model_;
  const auto snapshot = can().snapshots ? db_->GetSnapshot() : nullptr;
  WriteBatch batch;
  for (int i = 0; i < (can().atomic_batches ? 50 : 1); ++i) {
    const std::string key = Key();
    if (i % 3 == 0) {
      batch.Delete(key);
      model_.erase(key);
    } else {
      batch.Put(key, "batch");
      model_[key] = "batch";
    }
  }
  BRAID_ASSERT_OK(db_->Write(batch));
  const std::string key = Key();
  const std::optional<std::string> there =
      model_.contains(key) ? std::optional(model_[key]) : std::nullopt;
  EXPECT_FALSE(db_->CompareAndSwap(key, "something else", "swapped").value());
  EXPECT_TRUE(db_->CompareAndSwap(key, there, "swapped").value());
  model_[key] = "swapped";
  PinnedValue pinned;
  BRAID_ASSERT_OK(db_->GetPinned(key, &pinned));
  EXPECT_EQ(pinned.data(), "swapped");
  BRAID_ASSERT_OK(db_->Delete(key));
  EXPECT_TRUE(db_->GetPinned(key, &pinned).IsNotFound());
  EXPECT_EQ(pinned.data(), "");
  model_.erase(key);
  ExpectContent(db_.get(), model_);
  if (snapshot != nullptr) ExpectContent(db_.get(), before, snapshot.get());

  std::vector<std::string> asked;
  for (int i = 0; i < 90; ++i) asked.push_back(i % 4 == 1 ? tested().no_key : Key());
  std::vector<std::string> values = {"left over"};
  const std::vector<Slice> keys(asked.begin(), asked.end());
  const std::vector<Status> statuses = db_->MultiGet(keys, &values);
  ASSERT_EQ(statuses.size(), asked.size());
  ASSERT_EQ(values.size(), asked.size());
  for (size_t i = 0; i < asked.size(); ++i) {
    if (asked[i] == tested().no_key && !tested().no_key.empty()) {
      EXPECT_TRUE(HasCode(statuses[i], Status::Code::kInvalidArgument)) << i;
      EXPECT_EQ(values[i], "") << i;
    } else if (model_.contains(asked[i])) {
      EXPECT_TRUE(IsOk(statuses[i])) << i;
      EXPECT_EQ(values[i], model_[asked[i]]) << i;
    } else {
      EXPECT_TRUE(statuses[i].IsNotFound()) << i;
      EXPECT_EQ(values[i], "") << i;
    }
  }
}

TEST_P(KeyOrderTest, WhatIsNoKeyOfTheOrderIsRefusedByEveryCallAndChangesNothing) {
  if (tested().no_key.empty()) GTEST_SKIP() << "the order takes all keys";
  Fill();
  const std::string bad = tested().no_key, good = model_.begin()->first;
  const auto refused = [](const Status& s) { return HasCode(s, Status::Code::kInvalidArgument); };
  std::string value;
  PinnedValue pinned;
  EXPECT_TRUE(refused(db_->Put(bad, "v")));
  EXPECT_TRUE(refused(db_->Delete(bad)));
  EXPECT_TRUE(refused(db_->Get(bad, &value)));
  EXPECT_TRUE(refused(db_->GetPinned(bad, &pinned)));
  EXPECT_TRUE(refused(db_->CompareAndSwap(bad, std::nullopt, "v").status()));
  EXPECT_TRUE(refused(db_->DeleteRange(bad, std::nullopt)));
  EXPECT_TRUE(refused(db_->DeleteRange(good, bad)));
  WriteBatch batch;
  batch.Put(good, "of the batch");
  batch.Put(bad, "v");
  EXPECT_TRUE(refused(db_->Write(batch)));
  ReadOptions bounds;
  bounds.upper_bound = bad;
  auto it = db_->NewIterator(bounds);
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(refused(it->status()));
  it = db_->NewIterator({});
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  it->Seek(bad);
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(refused(it->status()));
  it->Seek(good);
  ASSERT_TRUE(it->Valid()) << "it can be placed anew";
  BRAID_EXPECT_OK(it->status());
  ExpectContent(db_.get(), model_);
}

TEST_P(KeyOrderTest, SortedRecordsAreCheckedInThatOrder) {
  if (!can().ingest) GTEST_SKIP() << "the design has no ingest";
  Fill();
  OrderedPairs load{model_.key_comp()};
  for (int i = 0; i < 300; ++i) load[Key()] = "load" + std::to_string(i);
  Pairs turned(load.begin(), load.end());
  std::swap(turned[5], turned[6]);
  PairSource wrong(turned);
  IngestReport report;
  const Status status = IngestSorted(db_.get(), &wrong, &report);
  EXPECT_TRUE(HasCode(status, Status::Code::kInvalidArgument));
  EXPECT_NE(status.message().find("record 7"), std::string_view::npos) << status.ToString();
  EXPECT_EQ(report.records, 0u);
  ExpectContent(db_.get(), model_);
  PairSource right(Pairs(load.begin(), load.end()));
  BRAID_ASSERT_OK(IngestSorted(db_.get(), &right, &report));
  EXPECT_EQ(report.records, load.size());
  for (const auto& [key, value] : load) model_[key] = value;
  ExpectContent(db_.get(), model_);
  std::reverse(turned.begin(), turned.end());
  for (auto& [key, value] : turned) model_[key] = value = "unsorted";
  PairSource unsorted(turned);
  BRAID_ASSERT_OK(db_->Ingest(&unsorted, {}, &report));
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(KeyOrderTest, CopiesAndRepairedPoolsKeepTheOrder) {
  Fill();
  if (can().checkpoints) {
    BRAID_ASSERT_OK(db_->CreateCheckpoint(folder_.Sub("checkpoint")));
    ExpectAt(folder_.Sub("checkpoint"));
  }
  Close();
  BRAID_ASSERT_OK(DB::Restore(options_, path_, folder_.Sub("restored")));
  ExpectAt(folder_.Sub("restored"));
  RepairReport report;
  RepairOptions how;
  how.key_order =
      tested().name == "Reverse" ? IntegerOrder(IntegerKind::kInt32) : ReverseBytewiseOrder();
  EXPECT_TRUE(HasCode(DB::Repair(options_, path_, folder_.Sub("other"), &report, how),
                      Status::Code::kInvalidArgument));
  EXPECT_FALSE(std::filesystem::exists(folder_.Sub("other")));
  for (const bool told : {false, true}) {
    how.key_order = told ? tested().order : nullptr;
    const std::string target = folder_.Sub(told ? "told" : "untold");
    BRAID_ASSERT_OK(DB::Repair(options_, path_, target, &report, how));
    EXPECT_EQ(report.records, model_.size());
    ExpectAt(target);
  }
}

TEST_P(KeyOrderTest, APoolIsRefusedWithAnotherOrderAndShownWithoutOne) {
  Fill();
  Close();
  const std::string name(tested().order->Name());
  const auto& other = tested().name == "Reverse" ? TestedOrders()[1] : TestedOrders()[0];
  for (const bool bytewise : {true, false}) {
    const Status status = DB::Open(options_, path_, bytewise ? nullptr : other.order).status();
    EXPECT_TRUE(HasCode(status, Status::Code::kInvalidArgument));
    const std::string text = status.ToString();
    EXPECT_NE(text.find('"' + name + '"'), std::string::npos) << text;
    EXPECT_NE(text.find(bytewise ? std::string("\"bytewise\"")
                                 : '"' + std::string(other.order->Name()) + '"'),
              std::string::npos)
        << text;
  }
  EXPECT_EQ(DB::Inspect(path_).value().comparator, name);
  EXPECT_TRUE(HasCode(DB::OpenEncoded(options_, path_).status(), Status::Code::kInvalidArgument));
  Options reading = options_;
  reading.read_only = true;
  auto opened = DB::OpenEncoded(reading, path_);
  BRAID_ASSERT_OK(opened.status());
  Model encoded;
  for (const auto& [key, value] : model_) {
    std::string bytes;
    BRAID_ASSERT_OK(tested().order->Encode(key, &bytes));
    encoded[bytes] = value;
  }
  ExpectContent(opened->get(), encoded);
  EXPECT_TRUE(HasCode((*opened)->Put("k", "v"), Status::Code::kNotSupported));
  BRAID_EXPECT_OK((*opened)->Close());
}

TEST_P(KeyOrderTest, AfterCloseEveryCallIsClosed) {
  Fill();
  const std::string key = model_.begin()->first;
  const auto it = db_->NewIterator({});
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  BRAID_ASSERT_OK(db_->Close());
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(it->status().IsClosed());
  it->Next();
  it->Seek(key);
  EXPECT_FALSE(it->Valid());
  std::string value;
  EXPECT_TRUE(db_->Get(key, &value).IsClosed());
  EXPECT_TRUE(db_->Put(key, "v").IsClosed());
  db_.reset();
  EXPECT_TRUE(it->status().IsClosed());
}

// What the encoding of an order promises.
class KeyOrderEncodingTest : public ::testing::TestWithParam<TestedOrder> {};
INSTANTIATE_TEST_SUITE_P(Orders, KeyOrderEncodingTest, ::testing::ValuesIn(TestedOrders()),
                         [](const auto& order) { return order.param.name; });

TEST_P(KeyOrderEncodingTest, EncodedBytesSortAsTheOrderSaysAndComeBack) {
  const TestedOrder& tested = GetParam();
  Random random(DeriveSeed(18));
  SCOPED_TRACE(ReplayLine());
  const uint64_t trials = Sized(200'000, 20'000'000);
  std::string last, last_encoded;
  for (uint64_t i = 0; i < trials; ++i) {
    // Few keys in a part of the trials, so that equal and neighbouring ones meet.
    const std::string key = tested.key(&random, i % 3 == 0 ? 40 : 1ull << random.Between(1, 40));
    std::string encoded, decoded;
    BRAID_ASSERT_OK(tested.order->Encode(key, &encoded));
    BRAID_ASSERT_OK(tested.order->Decode(encoded, &decoded));
    ASSERT_EQ(decoded, key);
    if (i != 0) {
      ASSERT_EQ(encoded < last_encoded, tested.less(key, last))
          << Printable(key) << " and " << Printable(last);
      ASSERT_EQ(encoded == last_encoded, key == last);
    }
    last = key;
    last_encoded = encoded;
  }
}

TEST_P(KeyOrderEncodingTest, DecodesBytesOrSaysThatTheyAreNoKey) {
  const TestedOrder& tested = GetParam();
  Random random(DeriveSeed(19));
  SCOPED_TRACE(ReplayLine());
  uint64_t refused = 0;
  for (uint64_t i = 0; i < 20'000; ++i) {
    std::string encoded;
    BRAID_ASSERT_OK(tested.order->Encode(tested.key(&random, 1000), &encoded));
    if (random.OneIn(2) && !encoded.empty()) encoded.pop_back();
    if (random.OneIn(2)) encoded.push_back(static_cast<char>(random.Below(3) - 1));
    if (random.OneIn(2) && !encoded.empty()) {
      encoded[random.Below(encoded.size())] = static_cast<char>(random.Next());
    }
    std::string key, again;
    const Status status = tested.order->Decode(encoded, &key);
    if (!status.ok()) {
      ++refused;
      ASSERT_TRUE(HasCode(status, Status::Code::kCorruption));
      continue;
    }
    BRAID_ASSERT_OK(tested.order->Encode(key, &again));
    ASSERT_EQ(again, encoded) << "two encodings of a key";
  }
  EXPECT_GT(refused, 100u);
}

/// An order of which a test decides what it answers.
class OddOrder final : public KeyOrder {
 public:
  explicit OddOrder(std::string name) : name_(std::move(name)) {}
  std::string_view Name() const override { return name_; }
  Status Encode(Slice key, std::string* out) const override {
    if (key == "throw") throw std::bad_alloc();
    if (key == "long") {
      out->assign(kMaxKeyBytes + 1, 'x');
    } else {
      out->assign(key);
    }
    return Status::OK();
  }
  Status Decode(Slice encoded, std::string* out) const override {
    if (encoded == "undecodable") return Status::InvalidArgument("what is that");
    out->assign(encoded);
    return Status::OK();
  }

 private:
  const std::string name_;
};

TEST(KeyOrderNameTest, OnlyPrintableNamesOfAtMost23BytesThatAreNoBuiltInOnes) {
  TempFolder folder;
  const auto open = [&](const std::string& name) {
    return DB::Open(TinyOptions(), folder.Sub("pool"), std::make_shared<OddOrder>(name)).status();
  };
  for (const std::string& name :
       {std::string(), std::string(24, 'n'), std::string("two\nlines"), std::string("z\0ro", 4),
        std::string("bytewise"), std::string("reverse-bytewise"), std::string("int64-le")}) {
    EXPECT_TRUE(HasCode(open(name), Status::Code::kInvalidArgument)) << Printable(name);
    EXPECT_FALSE(std::filesystem::exists(folder.Sub("pool")));
  }
  BRAID_EXPECT_OK(open(std::string(23, 'n')));
  EXPECT_EQ(DB::Inspect(folder.Sub("pool")).value().comparator, std::string(23, 'n'));
}

TEST(KeyOrderNameTest, BuiltInOrdersAreFoundByName) {
  EXPECT_EQ(KeyOrderNames().size(), 5u);
  for (const std::string_view name : KeyOrderNames()) {
    ASSERT_NE(FindKeyOrder(name), nullptr);
    EXPECT_EQ(FindKeyOrder(name)->Name(), name);
    EXPECT_LE(name.size(), kMaxKeyOrderName);
  }
  EXPECT_EQ(FindKeyOrder("bytewise"), nullptr);
  EXPECT_EQ(FindKeyOrder(""), nullptr);
  EXPECT_EQ(IntegerOrder(IntegerKind::kUint32)->Name(), "uint32-le");
  EXPECT_EQ(IntegerOrder(IntegerKind::kInt64)->Name(), "int64-le");
}

TEST(KeyOrderNameTest, WhatTheOrderThrowsOrGetsWrongIsAStatus) {
  TempFolder folder;
  auto opened = DB::Open(TinyOptions(), folder.Sub("pool"), std::make_shared<OddOrder>("test.odd"));
  BRAID_ASSERT_OK(opened.status());
  DB& db = **opened;
  EXPECT_TRUE(db.Put("throw", "v").IsOutOfMemory());
  EXPECT_TRUE(HasCode(db.Put("long", "v"), Status::Code::kInvalidArgument));
  BRAID_ASSERT_OK(db.Put("a", "1"));
  BRAID_ASSERT_OK(db.Put("undecodable", "2"));
  BRAID_ASSERT_OK(db.Put("z", "3"));
  const auto it = db.NewIterator({});
  it->Seek("throw");
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(it->status().IsOutOfMemory());
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  it->Next();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(HasCode(it->status(), Status::Code::kCorruption));
  it->Seek("v");
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "z");
  BRAID_EXPECT_OK(it->status());
}

TEST(KeyOrderNameTest, WithoutAnOrderAPoolIsInByteOrder) {
  TempFolder folder;
  auto opened = DB::Open(TinyOptions(), folder.Sub("pool"), nullptr);
  BRAID_ASSERT_OK(opened.status());
  BRAID_ASSERT_OK((*opened)->Close());
  EXPECT_EQ(DB::Inspect(folder.Sub("pool")).value().comparator, "bytewise");
}

}  // namespace
}  // namespace braid::test
