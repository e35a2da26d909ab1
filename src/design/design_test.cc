// What holds for each design, whatever its recipe chooses.
#include "design/design.h"

#include <gtest/gtest.h>

namespace braid::design {
namespace {

TEST(DesignTest, ChoicesOfTheUserStay) {
  for (const Design& design : Designs()) {
    Options options;
    options.log.kind = LogKind::kWriteAhead;
    options.cache.lookup_bytes = 12345;
    options.flush.group_tables = 7;
    options.leaf.span = 9;
    design.choose(&options);
    EXPECT_EQ(options.log.kind, LogKind::kWriteAhead) << design.name;
    EXPECT_EQ(options.cache.lookup_bytes, 12345u) << design.name;
    EXPECT_EQ(options.flush.group_tables, 7u) << design.name;
    EXPECT_EQ(options.leaf.span, 9u) << design.name;
  }
}

}  // namespace
}  // namespace braid::design
