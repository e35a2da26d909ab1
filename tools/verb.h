// A verb of the command: `braid VERB POOL [ARGS]`. One file a verb: NAME.cc defines the class and
// MakeNameVerb() (of bench it is bench/verb/bench_verb.cc), and AllVerbs() names it.
//
// main.cc calls Configure() once on every verb, parses the command line, and calls Run() on the one
// that was chosen. A verb prints its result on stdout, progress and messages on stderr, and
// returns an exit code. Errors go through Fail() (pool_flags.h): one line, "braid: ...: what to
// do".
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace braid::tools {

inline constexpr int kExitOk = 0;
inline constexpr int kExitNotFound = 1;  ///< the question was fine, the key is not there
inline constexpr int kExitError = 2;     ///< one message on stderr says what to do

class Verb {
 public:
  virtual ~Verb() = default;
  virtual std::string name() const = 0;
  /// One line for `braid help`, starting with a small letter, without a full stop.
  virtual std::string summary() const = 0;
  /// What it does, in a few sentences, for its manual page.
  virtual std::string description() const = 0;
  /// What exit code 1 tells; empty when the verb never ends with it.
  virtual std::string exit_code_one() const { return {}; }
  /// Words that the value of this option may have, for completion; none: any. Of options whose
  /// definition does not limit their values.
  virtual std::vector<std::string> Choices(const std::string& option) const {
    (void)option;
    return {};
  }
  /// Adds this verb's arguments and options to `app`, bound to members of the verb.
  virtual void Configure(CLI::App& app) = 0;
  /// Does the work after the command line was parsed. Returns one of the exit codes above.
  virtual int Run() = 0;
};

std::unique_ptr<Verb> MakeInfoVerb();
std::unique_ptr<Verb> MakeStatVerb();
std::unique_ptr<Verb> MakeGetVerb();
std::unique_ptr<Verb> MakePutVerb();
std::unique_ptr<Verb> MakeDeleteVerb();
std::unique_ptr<Verb> MakeScanVerb();
std::unique_ptr<Verb> MakeCountVerb();
std::unique_ptr<Verb> MakeShellVerb();
std::unique_ptr<Verb> MakeLoadVerb();
std::unique_ptr<Verb> MakeIngestVerb();
std::unique_ptr<Verb> MakeDumpVerb();
std::unique_ptr<Verb> MakeCheckpointVerb();
std::unique_ptr<Verb> MakeRestoreVerb();
std::unique_ptr<Verb> MakeVerifyVerb();
std::unique_ptr<Verb> MakeRepairVerb();
std::unique_ptr<Verb> MakeCompactVerb();
std::unique_ptr<Verb> MakeTopVerb();
std::unique_ptr<Verb> MakeMetricsVerb();
std::unique_ptr<Verb> MakeBenchVerb();
std::unique_ptr<Verb> MakeOptionsVerb();
std::unique_ptr<Verb> MakeCompletionVerb();

}  // namespace braid::tools
