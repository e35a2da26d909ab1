// What is done while calls fail, and what must hold afterwards.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "injector.h"
#include "support/database.h"

namespace braid::test {

/// What was acknowledged, and what may or may not have happened: an update that failed after its
/// commit point (docs/internals/persistence.md), as a whole.
struct Ledger {
  Model model;
  std::vector<Model> maybe;  // each: key to value, "" for a delete
  std::vector<std::string> complaints;
  Statistics reached;  // by a scenario that writes

  void Complain(const std::string& text) { complaints.push_back(text); }
};

/// A status that a failed call may give: it names a cause that the world can have, and says what
/// to do. Adds a complaint otherwise.
void ExpectHonest(const Status& status, const std::string& what, Ledger* ledger);

/// One run: prepares a folder, does its work with calls failing, and leaves a pool to be checked.
struct Scenario {
  const char* name;
  bool threads;  ///< background threads, so that which operation fails is not the same each time
  void (*prepare)(const Options& options, const std::string& pool, Ledger* ledger);
  void (*run)(const Options& options, const std::string& pool, Ledger* ledger);
};

extern const Scenario kScenarios[];
extern const size_t kScenarioCount;

Options FaultOptions(const Scenario& scenario);

/// Opens the pool without failures and compares its content with the ledger; verifies it.
void CheckAfterwards(const Options& options, const std::string& pool, Ledger* ledger);

/// True when the content is the model with any number of the uncertain updates applied whole.
bool IsExplained(const Pairs& content, const Ledger& ledger);

}  // namespace braid::test
