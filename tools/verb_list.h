// All verbs of the command, and the definition of a verb's command line: what parses, helps,
// completes and documents it comes from the same place.
//
// Thread safety: one thread.
// Persistence: none.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string_view>
#include <vector>

#include "tools/verb.h"

namespace braid::tools {

using Verbs = std::vector<std::unique_ptr<Verb>>;

/// Every verb, in the order of `braid help`.
Verbs AllVerbs();
/// The verb of that name in `verbs`; null when there is none.
Verb* FindVerb(const Verbs& verbs, std::string_view name);

/// The command line of `verb`, whose members it is bound to.
std::unique_ptr<CLI::App> MakeApp(Verb& verb);

/// An option or argument as CLI11 knows it, in the words that pages and completion need.
struct Argument {
  bool positional = false;
  bool required = false;
  bool flag = false;                 ///< takes no value
  std::vector<std::string> names;    ///< "--from", "-f"; of a positional its one name, "POOL"
  std::string value;                 ///< "KEY", "NAME"; empty with flags
  std::vector<std::string> choices;  ///< the values it is limited to, if it is
  std::string group;
  std::string description;
};
/// Positionals first, in their order.
std::vector<Argument> ListArguments(const CLI::App& app);

}  // namespace braid::tools
