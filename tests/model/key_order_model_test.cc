// A database whose keys are in an order of their own does what a std::map with this order does.
#include "model_runner.h"
#include "support/store_kind.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

struct OrderedWorkload {
  StoreKind kind;
  TestedOrder order;
  bool background;
};

void PrintTo(const OrderedWorkload& workload, std::ostream* out) {
  *out << workload.kind.name << " " << workload.order.name;
}

std::vector<OrderedWorkload> OrderedWorkloads() {
  std::vector<OrderedWorkload> all;
  for (const StoreKind& kind : StoreKinds()) {
    // The order stands above the parts: of their combinations one is enough.
    if (!kind.settings.empty() && kind.name != "regions4") continue;
    for (const TestedOrder& order : TestedOrders()) {
      for (const bool background : {true, false}) all.push_back({kind, order, background});
    }
  }
  return all;
}

class KeyOrderModelTest : public ::testing::TestWithParam<OrderedWorkload> {};
INSTANTIATE_TEST_SUITE_P(Workloads, KeyOrderModelTest, ::testing::ValuesIn(OrderedWorkloads()),
                         [](const auto& workload) {
                           return workload.param.kind.name + "_" + workload.param.order.name +
                                  (workload.param.background ? "_background" : "_inline");
                         });

TEST_P(KeyOrderModelTest, AgreesWithAMapInThatOrder) {
  const OrderedWorkload& workload = GetParam();
  const uint64_t operations = Sized(12'000, 1'000'000);
  Random random(DeriveSeed(300));
  TempFolder folder;
  Options options;
  const auto open = [&]() -> std::unique_ptr<DB> {
    options = RandomTinyOptions(&random);
    workload.kind.ApplyTo(&options);
    options.background_threads = workload.background;
    auto opened = DB::Open(options, folder.Sub("pool"), workload.order.order);
    EXPECT_TRUE(IsOk(opened.status()));
    return opened.ok() ? std::move(opened).value() : nullptr;
  };
  std::unique_ptr<DB> db = open();
  ASSERT_NE(db, nullptr);
  ModelRunner runner(&db, KeySpace(workload.order.key, 1500), "", {.reopen = true, .compact = true},
                     open, random.Next(), KeyLess{workload.order.less});
  ASSERT_TRUE(runner.Run(operations)) << runner.failure() << "\n"
                                      << Describe(options) << "\n"
                                      << ReplayLine();
  ExpectVerified(db.get());
  BRAID_ASSERT_OK(db->Close());
  db = open();
  ASSERT_NE(db, nullptr);
  EXPECT_TRUE(SamePairs(ScanForward(db.get()), runner.model())) << ReplayLine();
}

}  // namespace
}  // namespace braid::test
