// A database in the order of a comparator does what a std::map with this order does.
#include "model_runner.h"
#include "support/comparators.h"
#include "support/store_kind.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

struct ComparedWorkload {
  StoreKind kind;
  std::string name;
  Compares compares;
  KeyLess::Less less;
  bool background;
};

void PrintTo(const ComparedWorkload& workload, std::ostream* out) {
  *out << workload.kind.name << " " << workload.name;
}

bool ShortFirstLess(const std::string& a, const std::string& b) {
  return CompareShortFirst(a, b) < 0;
}

std::vector<ComparedWorkload> ComparedWorkloads() {
  std::vector<ComparedWorkload> all;
  for (const StoreKind& kind : StoreKinds()) {
    // The order stands above the parts: of their combinations one is enough.
    if (!kind.settings.empty() && kind.name != "regions4") continue;
    if (!kind.capabilities().atomic_batches || !kind.capabilities().snapshots) continue;
    for (const bool background : {true, false}) {
      all.push_back({kind, "reversed", CompareReversed, ReverseLess, background});
      all.push_back({kind, "short_first", CompareShortFirst, ShortFirstLess, background});
    }
  }
  return all;
}

class ComparatorModelTest : public ::testing::TestWithParam<ComparedWorkload> {};
INSTANTIATE_TEST_SUITE_P(Workloads, ComparatorModelTest, ::testing::ValuesIn(ComparedWorkloads()),
                         [](const auto& workload) {
                           return workload.param.kind.name + "_" + workload.param.name +
                                  (workload.param.background ? "_background" : "_inline");
                         });

TEST_P(ComparatorModelTest, AgreesWithAMapInThatOrder) {
  const ComparedWorkload& workload = GetParam();
  const uint64_t operations = Sized(5'000, 500'000);
  Random random(DeriveSeed(310));
  TempFolder folder;
  Options options;
  const auto open = [&]() -> std::unique_ptr<DB> {
    options = RandomTinyOptions(&random);
    workload.kind.ApplyTo(&options);
    options.background_threads = workload.background;
    auto opened = DB::OpenWithComparator(options, folder.Sub("pool"),
                                         MakeComparator(workload.name, workload.compares));
    EXPECT_TRUE(IsOk(opened.status()));
    return opened.ok() ? std::move(opened).value() : nullptr;
  };
  std::unique_ptr<DB> db = open();
  ASSERT_NE(db, nullptr);
  for (const KeyShape shape : {KeyShape::kShortRandom, KeyShape::kLongPrefix}) {
    ModelRunner runner(&db, KeySpace(shape, 1500, random.Next()), "",
                       {.reopen = true, .compact = true}, open, random.Next(),
                       KeyLess{workload.less});
    ASSERT_TRUE(runner.Run(operations)) << runner.failure() << "\n"
                                        << Describe(options) << "\n"
                                        << ReplayLine();
    ExpectVerified(db.get());
    BRAID_ASSERT_OK(db->Close());
    db = open();
    ASSERT_NE(db, nullptr);
    EXPECT_TRUE(SamePairs(ScanForward(db.get()), runner.model())) << ReplayLine();
    WriteBatch clear;
    clear.DeleteRange(std::nullopt, std::nullopt);
    BRAID_ASSERT_OK(db->Write(clear));
  }
}

}  // namespace
}  // namespace braid::test
