// A database does what a std::map does, over a million random operations.
#include <atomic>
#include <thread>

#include "model_runner.h"
#include "support/store_kind.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

enum class Sizing { kTinyInline, kTinyBackground, kDefault };

struct Workload {
  StoreKind kind;
  KeyShape shape;
  Sizing sizing;
};

std::string WorkloadName(const ::testing::TestParamInfo<Workload>& workload) {
  static const char* const kShapes[] = {"ShortRandom", "LongPrefix", "Decimal"};
  static const char* const kSizings[] = {"TinyInline", "TinyBackground", "Default"};
  return workload.param.kind.name + "_" + kShapes[static_cast<int>(workload.param.shape)] +
         kSizings[static_cast<int>(workload.param.sizing)];
}

std::vector<Workload> Workloads() {
  std::vector<Workload> all;
  for (const StoreKind& kind : StoreKinds()) {
    for (const KeyShape shape :
         {KeyShape::kShortRandom, KeyShape::kLongPrefix, KeyShape::kDecimal}) {
      for (const Sizing sizing : {Sizing::kTinyInline, Sizing::kTinyBackground, Sizing::kDefault}) {
        all.push_back({kind, shape, sizing});
      }
    }
  }
  return all;
}

Options OptionsFor(const Workload& workload, Random* random) {
  Options options = workload.sizing == Sizing::kDefault ? Options{} : RandomTinyOptions(random);
  workload.kind.ApplyTo(&options);
  options.background_threads = workload.sizing != Sizing::kTinyInline;
  return options;
}

void ReportOperations(uint64_t operations) {
  std::printf("[ model    ] %llu operations\n", static_cast<unsigned long long>(operations));
}

class ModelTest : public ::testing::TestWithParam<Workload> {};
INSTANTIATE_TEST_SUITE_P(Workloads, ModelTest, ::testing::ValuesIn(Workloads()), WorkloadName);

// Nine workloads of a store make up its million.
TEST_P(ModelTest, OneThreadAgreesWithAMap) {
  const uint64_t operations = Sized(112'000 / GetParam().kind.share_of_trials(), 20'000'000);
  Random random(DeriveSeed(100 + static_cast<uint64_t>(GetParam().shape)));
  const uint64_t key_count = random.OneIn(2) ? 2000 : 20000;
  TempFolder folder;
  Options options;
  const auto open = [&] {
    options = OptionsFor(GetParam(), &random);
    return OpenOrFail(options, folder.Sub("pool"));
  };
  std::unique_ptr<DB> db = open();
  ASSERT_NE(db, nullptr);
  ModelRunner runner(&db, KeySpace(GetParam().shape, key_count, random.Next()), "",
                     {.reopen = true, .compact = true}, open, random.Next());
  ASSERT_TRUE(runner.Run(operations)) << runner.failure() << "\n"
                                      << Describe(options) << "\n"
                                      << ReplayLine();
  ReportOperations(operations);
  ExpectVerified(db.get());
  BRAID_ASSERT_OK(db->Close());
  db = open();
  ASSERT_NE(db, nullptr);
  EXPECT_TRUE(SamePairs(ScanForward(db.get()), runner.model())) << ReplayLine();
}

/// Reads of all ranges while their owners write: shape only, since the model of a range is its
/// owner's. Keys come in order, values begin with the number of their write.
void ReadEverything(DB* db, const std::atomic<bool>& stop, std::string* failure) {
  while (!stop.load() && failure->empty()) {
    for (const bool forward : {true, false}) {
      const auto it = db->NewIterator({});
      std::string last;
      bool first = true;
      for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid();
           forward ? it->Next() : it->Prev()) {
        const std::string key(it->key());
        if (!first && (forward ? key <= last : key >= last)) {
          *failure = "scan out of order: " + Printable(key) + " after " + Printable(last);
          return;
        }
        first = false;
        last = key;
        std::string value;
        const Status status = db->Get(key, &value);
        if (!status.ok() && !status.IsNotFound()) {
          *failure = "get " + Printable(key) + ": " + status.ToString();
          return;
        }
        const Slice shown = it->value();
        if (!shown.empty() && (shown[0] < '0' || shown[0] > '9')) {
          *failure = "value of " + Printable(key) + " was never written: " + Printable(shown);
          return;
        }
      }
      if (!it->status().ok()) {
        *failure = "scan: " + it->status().ToString();
        return;
      }
    }
  }
}

TEST_P(ModelTest, ThreadsWithRangesOfTheirOwnAgreeWithTheirMaps) {
  constexpr uint64_t kWriters = 4;
  const uint64_t operations =
      Sized(112'000 / GetParam().kind.share_of_trials(), 20'000'000) / kWriters;
  Random random(DeriveSeed(200 + static_cast<uint64_t>(GetParam().shape)));
  TempFolder folder;
  const Options options = OptionsFor(GetParam(), &random);
  std::unique_ptr<DB> db = OpenOrFail(options, folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  std::vector<std::unique_ptr<ModelRunner>> runners;
  for (uint64_t i = 0; i < kWriters; ++i) {
    runners.push_back(std::make_unique<ModelRunner>(
        &db, KeySpace(GetParam().shape, 2000, random.Next()),
        std::string(1, static_cast<char>('0' + i)),
        ModelRunner::Rights{.reopen = false, .compact = true}, nullptr, random.Next()));
  }
  std::atomic<bool> stop{false};
  std::string reader_failure;
  std::thread reader([&] { ReadEverything(db.get(), stop, &reader_failure); });
  std::vector<std::thread> writers;
  for (const auto& runner : runners) {
    writers.emplace_back([&runner, operations] { (void)runner->Run(operations); });
  }
  for (std::thread& writer : writers) writer.join();
  stop.store(true);
  reader.join();
  EXPECT_EQ(reader_failure, "") << Describe(options) << "\n" << ReplayLine();
  Model all;
  for (const auto& runner : runners) {
    ASSERT_EQ(runner->failure(), "") << Describe(options) << "\n" << ReplayLine();
    all.insert(runner->model().begin(), runner->model().end());
  }
  ReportOperations(operations * kWriters);
  runners.clear();
  ExpectVerified(db.get());
  BRAID_ASSERT_OK(db->Close());
  db = OpenOrFail(options, folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  ExpectContent(db.get(), all);
}

}  // namespace
}  // namespace braid::test
