// braid VERB POOL [ARGS]: finds the verb, parses its arguments, runs it.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "braid/version.h"
#include "tools/pool_flags.h"
#include "tools/text_format.h"
#include "tools/verb.h"
#include "tools/verb_list.h"
#include "tools/verb_pages.h"

namespace braid::tools {
namespace {

std::string Help(const Verbs& verbs) {
  std::string text =
      "braid: an embedded, ordered key-value store for persistent memory\n"
      "\n"
      "Usage: braid VERB POOL [ARGS]\n"
      "       braid help [VERB]\n"
      "       braid --version\n"
      "\n"
      "Verbs:\n";
  for (const auto& verb : verbs) text += fmt::format("  {:<12}{}\n", verb->name(), verb->summary());
  text +=
      "\n"
      "POOL is the directory of a pool. put, load, ingest and restore make it; the\n"
      "other verbs never do.\n"
      "Exit codes: 0 ok, 1 key not found, 2 error, with one message on stderr.\n";
  return text;
}

int FailUnknownVerb(const Verbs& verbs, std::string_view name) {
  std::string nearest;
  size_t least = 3;
  for (const auto& verb : verbs) {
    const std::string candidate = verb->name();
    const size_t distance = EditDistance(name, candidate);
    // A word that shares no letter in place is no slip of the finger.
    if (distance < least && distance < candidate.size()) {
      least = distance;
      nearest = candidate;
    }
  }
  if (name.starts_with("-")) {
    return Fail(
        fmt::format("option '{}' comes before the verb: write 'braid VERB POOL {}'", name, name));
  }
  if (nearest.empty()) {
    return Fail(fmt::format("unknown verb '{}': 'braid help' lists the verbs", name));
  }
  return Fail(fmt::format("unknown verb '{}': did you mean '{}'? 'braid help' lists the verbs",
                          name, nearest));
}

int PrintHelp(std::string_view text) {
  Output out;
  out.Write(text);
  return out.Finish(kExitOk);
}

int RunVerb(Verb& verb, int argc, char** argv) {
  const std::unique_ptr<CLI::App> app = MakeApp(verb);
  try {
    app->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return PrintHelp(HelpText(verb));
  } catch (const CLI::ParseError& error) {
    std::string problem = error.what();
    while (!problem.empty() && (problem.back() == '.' || problem.back() == '\n')) {
      problem.pop_back();
    }
    return Fail(fmt::format("{}: see 'braid {} --help'", problem, verb.name()));
  }
  return verb.Run();
}

/// What the build makes pages with: `help --man [VERB]` and `help --write-pages FOLDER`.
int RunHelpOption(const Verbs& verbs, int argc, char** argv) {
  const std::string_view option = argv[2];
  if (option == "--man") {
    if (argc < 4) return PrintHelp(ManPageOfCommand(verbs));
    Verb* verb = FindVerb(verbs, argv[3]);
    return verb == nullptr ? FailUnknownVerb(verbs, argv[3]) : PrintHelp(ManPage(*verb));
  }
  if (option == "--write-pages") {
    if (argc < 4) return Fail("no FOLDER: write 'braid help --write-pages FOLDER'");
    const Status status = WritePages(verbs, argv[3]);
    return status.ok() ? kExitOk : Fail(status);
  }
  return Fail(fmt::format("'{}' is not a verb: 'braid help' lists the verbs", option));
}

int Main(int argc, char** argv) {
  const Verbs verbs = AllVerbs();
  if (argc < 2) {
    return Fail("no verb: write 'braid VERB POOL', or 'braid help' for the list of verbs");
  }
  const std::string_view word = argv[1];
  if (word == "--version" || word == "-V" || word == "version") {
    return PrintHelp(fmt::format("braid {} (format {})\n", BRAID_VERSION_STRING, kFormatVersion));
  }
  if (word == "help" || word == "--help" || word == "-h") {
    if (argc < 3) return PrintHelp(Help(verbs));
    if (std::string_view(argv[2]).starts_with("--")) return RunHelpOption(verbs, argc, argv);
    Verb* verb = FindVerb(verbs, argv[2]);
    return verb == nullptr ? FailUnknownVerb(verbs, argv[2]) : PrintHelp(HelpText(*verb));
  }
  Verb* verb = FindVerb(verbs, word);
  return verb == nullptr ? FailUnknownVerb(verbs, word) : RunVerb(*verb, argc - 1, argv + 1);
}

/// Fills the places of standard streams that the caller has closed, so that no file that is opened
/// later takes one. Reading or writing them still fails.
void HoldStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    if (::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

}  // namespace
}  // namespace braid::tools

int main(int argc, char** argv) {
  // A pipe whose reader has gone away shows as EPIPE, so that the pool is closed in order.
  std::signal(SIGPIPE, SIG_IGN);
  braid::tools::HoldStandardStreams();
  try {
    return braid::tools::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    // Without memory of its own.
    constexpr std::string_view kText =
        "braid: out of memory: give the command more, or lower --memory-budget\n";
    std::fwrite(kText.data(), 1, kText.size(), stderr);
  } catch (const std::system_error& error) {
    // Of all that the command calls, only the start of a thread throws this.
    std::fprintf(stderr,
                 "braid: cannot start a thread: %s: raise the limit on processes (ulimit -u), or "
                 "lower --threads\n",
                 error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "braid: unexpected failure: %s: please report it with the command line\n",
                 error.what());
  }
  return braid::tools::kExitError;
}
