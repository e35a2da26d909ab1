// Verbs that read while another process writes reopen the pool when the grant is revoked.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "support/database.h"
#include "support/temp_folder.h"
#include "tools/pool_flags.h"

namespace braid::tools {
namespace {

TEST(PoolFlagsTest, WhatIsTakenBackIsReadAgainOfANewerState) {
  test::TempFolder folder;
  const std::string path = folder.Sub("pool");
  const auto writer = test::OpenOrFail(test::TinyOptions(), path);
  ASSERT_NE(writer, nullptr);
  BRAID_ASSERT_OK(writer->Put("key", "0"));
  CLI::App app;
  PoolFlags pool;
  pool.AddTo(app);
  app.parse(path);
  auto db = pool.OpenToRead();
  BRAID_ASSERT_OK(db.status());
  int calls = 0;
  std::string value;
  BRAID_EXPECT_OK(pool.Read(&*db, [&](DB& reader) {
    if (++calls < 3) {
      BRAID_EXPECT_OK(writer->Put("key", std::to_string(calls)));
      BRAID_EXPECT_OK(writer->Compact());
    }
    return reader.Get("key", &value);
  }));
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(value, "2");
  // Not forever.
  const Status status = pool.Read(&*db, [](DB&) { return Status::TryAgain("taken back"); });
  EXPECT_TRUE(test::HasCode(status, Status::Code::kTryAgain));
  EXPECT_NE(status.ToString().find("merges too often"), std::string::npos);
  EXPECT_TRUE(pool.Read(&*db, [](DB&) { return Status::NotFound(); }).IsNotFound());
}

}  // namespace
}  // namespace braid::tools
