// "With a prefix set, scans leave keys out" (rocksdb#11718): a scan by prefix is two bounds on the
// one order of keys, whatever the store is made of, and shows exactly the keys that start so.
#include <gtest/gtest.h>

#include <set>

#include "support/database.h"
#include "support/store_kind.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

/// The first key behind all that start with `prefix`; none when the prefix is all 0xFF.
std::optional<std::string> BehindPrefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

class PrefixTest : public ::testing::TestWithParam<StoreKind> {};

INSTANTIATE_TEST_SUITE_P(Stores, PrefixTest, ::testing::ValuesIn(StoreKinds()),
                         [](const auto& store) { return store.param.name; });

TEST_P(PrefixTest, AScanShowsExactlyTheKeysThatStartSo) {
  SCOPED_TRACE(ReplayLine());
  Random random(DeriveSeed(1));
  TempFolder folder;
  Options options = TinyOptions();
  GetParam().ApplyTo(&options);
  auto db = OpenOrFail(options, folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  // Few different bytes, the largest and the smallest among them: prefixes nest and end in each
  // other.
  constexpr std::string_view kBytes{
      "\0\x01"
      "a\xfe\xff",
      5};
  const auto some_key = [&](uint64_t most) {
    std::string key;
    for (uint64_t n = random.Below(most + 1); n > 0; --n)
      key += kBytes[random.Below(kBytes.size())];
    return key;
  };
  Model model;
  for (int i = 0; i < 6000; ++i) {
    const std::string key = some_key(6);
    if (random.OneIn(4)) {
      BRAID_ASSERT_OK(db->Delete(key));
      model.erase(key);
    } else {
      BRAID_ASSERT_OK(db->Put(key, std::to_string(i)));
      model[key] = std::to_string(i);
    }
    if (i == 3000) {
      BRAID_ASSERT_OK(db->Compact());
    }
  }
  std::set<std::string> prefixes = {"", "\xff", "\xff\xff", std::string(1, '\0')};
  while (prefixes.size() < 100) prefixes.insert(some_key(4));
  for (const std::string& prefix : prefixes) {
    SCOPED_TRACE(Printable(prefix));
    ReadOptions read;
    read.lower_bound = prefix;
    read.upper_bound = BehindPrefix(prefix);
    Model wanted;
    for (const auto& [key, value] : model) {
      if (key.starts_with(prefix)) wanted[key] = value;
    }
    EXPECT_TRUE(SamePairs(ScanForward(db.get(), read), wanted));
    EXPECT_TRUE(SamePairs(ScanBackward(db.get(), read), wanted));
  }
}

}  // namespace
}  // namespace braid::test
