// The test program starts itself again as the writer that is killed.
#include <gtest/gtest.h>

#include "writer.h"

int main(int argc, char** argv) {
  int code = 0;
  if (braid::test::RunWriterIfAsked(argc, argv, &code)) return code;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
