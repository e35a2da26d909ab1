// Every capability test runs for each store (store_kind.h) that has the capability, and each way to
// open it: tiny or default options, with background threads or without.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "braid/db.h"
#include "support/database.h"
#include "support/store_kind.h"
#include "support/temp_folder.h"

namespace braid::test {

/// One way to open a store.
struct Setup {
  StoreKind kind;
  bool tiny = true;
  bool background = true;
};

inline void PrintTo(const Setup& setup, std::ostream* out) {
  *out << setup.kind.name << (setup.tiny ? " tiny" : " default")
       << (setup.background ? " background" : " inline");
}

inline std::string NameOf(const Setup& setup) {
  return setup.kind.name + (setup.tiny ? "_tiny" : "_default") +
         (setup.background ? "_background" : "_inline");
}

inline std::string SetupName(const ::testing::TestParamInfo<Setup>& info) {
  return NameOf(info.param);
}

/// The name of the setup to register, empty for all (main.cc).
inline std::string& TheOnlySetup() {
  static std::string name;
  return name;
}

inline std::vector<Setup> SetupsOf(const StoreKind& kind) {
  std::vector<Setup> setups;
  for (const bool tiny : {true, false}) {
    for (const bool background : {true, false}) {
      Setup setup{kind, tiny, background};
      if (TheOnlySetup().empty() || TheOnlySetup() == NameOf(setup)) {
        setups.push_back(std::move(setup));
      }
    }
  }
  return setups;
}

/// The design that stores nothing.
inline std::vector<Setup> BlackholeSetups() { return SetupsOf({"blackhole", "blackhole"}); }

/// Stores that have `capability`, a member of Capabilities.
inline std::vector<Setup> StoringSetups(bool Capabilities::*capability = &Capabilities::stores) {
  std::vector<Setup> setups;
  for (const StoreKind& kind : StoreKinds()) {
    if (!(kind.capabilities().*capability)) continue;
    for (Setup& setup : SetupsOf(kind)) setups.push_back(std::move(setup));
  }
  return setups;
}

/// All of them, also the one that stores nothing.
inline std::vector<Setup> AllSetups() {
  std::vector<Setup> setups = StoringSetups();
  for (Setup& setup : BlackholeSetups()) setups.push_back(std::move(setup));
  return setups;
}

/// Leaves a test out where the store can't do what it is about.
#define BRAID_NEEDS(capability) \
  if (!Has(&Capabilities::capability)) GTEST_SKIP() << "the design has no " #capability

/// Opens a fresh pool for the test; Reopen closes and opens it again.
class ConformanceTest : public ::testing::TestWithParam<Setup> {
 protected:
  void SetUp() override {
    options_ = GetParam().tiny ? TinyOptions() : Options{};
    GetParam().kind.ApplyTo(&options_);
    options_.background_threads = GetParam().background;
    path_ = folder_.Sub("pool");
    db_ = OpenOrFail(options_, path_);
    ASSERT_NE(db_, nullptr);
  }

  /// Whether the store has `capability`, a member of Capabilities.
  bool Has(bool Capabilities::*capability) const {
    return GetParam().kind.capabilities().*capability;
  }
  /// Closes in order and opens again.
  void Reopen() {
    BRAID_ASSERT_OK(db_->Close());
    db_.reset();
    db_ = OpenOrFail(options_, path_);
    ASSERT_NE(db_, nullptr);
  }
  /// Drops the object without a Close and opens again.
  void AbandonAndReopen() {
    db_.reset();
    db_ = OpenOrFail(options_, path_);
    ASSERT_NE(db_, nullptr);
  }

  /// Puts in the database and in the model.
  void Put(const std::string& key, const std::string& value) {
    BRAID_ASSERT_OK(db_->Put(key, value));
    model_[key] = value;
  }
  void Delete(const std::string& key) {
    BRAID_ASSERT_OK(db_->Delete(key));
    model_.erase(key);
  }
  /// Puts `count` numbered keys with values of about `value_bytes`.
  void Fill(uint64_t first, uint64_t count, size_t value_bytes, const std::string& tag = "v") {
    for (uint64_t i = first; i < first + count; ++i) {
      std::string value = tag + std::to_string(i);
      value.resize(std::max(value.size(), value_bytes), '.');
      ASSERT_NO_FATAL_FAILURE(Put(NumberedKey(i), value));
    }
  }

  TempFolder folder_;
  Options options_;
  std::string path_;
  std::unique_ptr<DB> db_;
  Model model_;
};

}  // namespace braid::test
