#include "tools/verb_list.h"

#include <algorithm>
#include <string>

namespace braid::tools {
namespace {

// "NAME:{tsv,jsonl}" is a value's name and what it is limited to.
void SplitTypeName(const std::string& type_name, Argument* argument) {
  const size_t colon = type_name.find(":{");
  argument->value = type_name.substr(0, std::min(colon, type_name.find(':')));
  if (colon == std::string::npos || type_name.back() != '}') return;
  const std::string list = type_name.substr(colon + 2, type_name.size() - colon - 3);
  for (size_t begin = 0; begin <= list.size();) {
    const size_t comma = std::min(list.find(',', begin), list.size());
    argument->choices.push_back(list.substr(begin, comma - begin));
    begin = comma + 1;
  }
}

}  // namespace

Verbs AllVerbs() {
  Verbs verbs;
  verbs.push_back(MakeInfoVerb());
  verbs.push_back(MakeStatVerb());
  verbs.push_back(MakeGetVerb());
  verbs.push_back(MakePutVerb());
  verbs.push_back(MakeDeleteVerb());
  verbs.push_back(MakeScanVerb());
  verbs.push_back(MakeCountVerb());
  verbs.push_back(MakeShellVerb());
  verbs.push_back(MakeLoadVerb());
  verbs.push_back(MakeIngestVerb());
  verbs.push_back(MakeDumpVerb());
  verbs.push_back(MakeCheckpointVerb());
  verbs.push_back(MakeRestoreVerb());
  verbs.push_back(MakeVerifyVerb());
  verbs.push_back(MakeRepairVerb());
  verbs.push_back(MakeCompactVerb());
  verbs.push_back(MakeTopVerb());
  verbs.push_back(MakeMetricsVerb());
  verbs.push_back(MakeBenchVerb());
  verbs.push_back(MakeOptionsVerb());
  verbs.push_back(MakeCompletionVerb());
  return verbs;
}

Verb* FindVerb(const Verbs& verbs, std::string_view name) {
  for (const auto& verb : verbs) {
    if (verb->name() == name) return verb.get();
  }
  return nullptr;
}

std::unique_ptr<CLI::App> MakeApp(Verb& verb) {
  auto app = std::make_unique<CLI::App>("braid " + verb.name() + ": " + verb.summary(),
                                        "braid " + verb.name());
  // Not by get_option, whose noexcept helper ends the process when memory is out.
  app->set_help_flag("-h,--help", "print this help");
  verb.Configure(*app);
  return app;
}

std::vector<Argument> ListArguments(const CLI::App& app) {
  std::vector<Argument> arguments;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    Argument argument;
    argument.positional = option->get_positional();
    argument.required = option->get_required();
    argument.flag = option->get_expected_max() == 0;
    SplitTypeName(option->get_type_name(), &argument);
    if (argument.positional) {
      argument.names = {option->get_name(true, false)};
    }
    for (const std::string& name : option->get_lnames()) argument.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) argument.names.push_back("-" + name);
    argument.group = option->get_group();
    argument.description = option->get_description();
    arguments.push_back(std::move(argument));
  }
  // Arguments, then the verb's own options with --help behind them, then what verbs share.
  const auto rank = [](const Argument& argument) {
    if (argument.positional) return 0;
    if (argument.group != "Options") return 3;
    return argument.names.front() == "--help" ? 2 : 1;
  };
  std::stable_sort(arguments.begin(), arguments.end(),
                   [&](const Argument& a, const Argument& b) { return rank(a) < rank(b); });
  return arguments;
}

}  // namespace braid::tools
