// braid completion bash: the script that lets a shell complete the command's words.
//
// All of it but the frame is made from the definitions of the verbs, so that it can't fall behind
// them. What follows a value's name (POOL, FILE, NAME=VALUE) tells what may follow.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "braid/options.h"
#include "braid/statistics.h"
#include "design/design.h"
#include "tools/pool_flags.h"
#include "tools/verb_pages.h"

namespace braid::tools {
namespace {

// Reads the line into words. bash splits them at '=', so that --set log.kind=copy comes as four.
constexpr std::string_view kFrame = R"(
_braid_words() {
  mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$1" -- "$current")
}
_braid_paths() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -P "$prefix" "$1" -- "$current")
}
_braid() {
  local current previous prefix= verb word index count=0 ended= joined=
  local -a words=() arguments=()
  local flags= valued=
  for ((index = 0; index <= COMP_CWORD; index++)); do
    word=${COMP_WORDS[index]}
    if [[ -n $joined || $word == "=" ]] && ((${#words[@]} > 1)); then
      words[-1]+=$word
    else
      words+=("$word")
    fi
    joined=
    [[ $word == "=" ]] && joined=yes
  done
  # An empty word behind '=' is the one that is completed.
  current=${words[-1]} previous=${words[-2]} verb=${words[1]}
  if ((${#words[@]} == 2)); then
    _braid_words "$_braid_verbs help --help --version"
    return
  fi
  if [[ $current == --*=* ]]; then
    previous=${current%%=*} current=${current#*=}
    [[ $COMP_WORDBREAKS == *=* ]] || prefix=$previous=
  fi
  _braid_verb "$verb" || return
  # Which argument this is: words that are neither options nor their values count.
  for ((index = 2; index < ${#words[@]} - 1; index++)); do
    word=${words[index]}
    if [[ -z $ended && $word == -- ]]; then
      ended=yes
    elif [[ -z $ended && $word == -?* ]]; then
      [[ $word != *=* && " $valued " == *" $word "* ]] && ((index++))
    else
      ((count++))
    fi
  done
  if [[ -z $ended && ($current == -* || $count -ge ${#arguments[@]}) ]]; then
    _braid_words "$flags"
    return
  fi
  case ${arguments[count]} in
    directory) _braid_paths -d ;;
    file) _braid_paths -f ;;
    "") ;;
    *) _braid_words "${arguments[count]}" ;;
  esac
}
complete -F _braid braid
)";

std::string Joined(const std::vector<std::string>& words, std::string_view between = " ") {
  return fmt::format("{}", fmt::join(words, between));
}

std::vector<std::string> SplitList(const std::string& text) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(", ", begin), text.size());
    words.push_back(text.substr(begin, comma - begin));
    begin = comma + 2;
  }
  return words;
}

/// What an option called by name takes, where its definition names no values.
std::vector<std::string> KnownWords(const Verb& verb, const std::string& name) {
  std::vector<std::string> words = verb.Choices(name);
  if (name == "--design") {
    for (const design::Design& design : design::Designs()) words.emplace_back(design.name);
  } else if (name == "FIELD") {
    for (const StatisticsField& field : ListFields({})) words.emplace_back(field.name);
  }
  return words;
}

/// "directory", "file", words to choose from, or nothing.
std::string Kind(const Verb& verb, const Argument& argument, const std::string& name) {
  if (!argument.choices.empty()) return Joined(argument.choices);
  const std::string& value = argument.positional ? argument.names.front() : argument.value;
  for (const char* directory : {"POOL", "NEW-POOL", "TARGET", "CHECKPOINT", "FOLDER"}) {
    if (value == directory) return "directory";
  }
  if (value.starts_with("FILE")) return "file";
  return Joined(KnownWords(verb, name));
}

/// The lines of `case $previous` for an option that takes a value.
std::string ValueCase(const Verb& verb, const Argument& argument) {
  std::vector<std::string> names;
  for (const std::string& name : argument.names) {
    if (name.starts_with("-")) names.push_back(name);
  }
  const std::string kind = Kind(verb, argument, names.front());
  std::string action;
  if (names.front() == "--set") {
    action = "_braid_settings; ";
  } else if (kind == "directory") {
    action = "_braid_paths -d; ";
  } else if (kind == "file") {
    action = "_braid_paths -f; ";
  } else if (!kind.empty()) {
    action = fmt::format("_braid_words '{}'; ", kind);
  }
  return fmt::format("        {}) {}return 1 ;;\n", Joined(names, " | "), action);
}

std::string VerbCase(Verb& verb) {
  const auto app = MakeApp(verb);
  std::vector<std::string> flags;
  std::vector<std::string> valued;
  std::vector<std::string> arguments;
  std::string cases;
  for (const Argument& argument : ListArguments(*app)) {
    bool named = false;
    for (const std::string& name : argument.names) {
      if (!name.starts_with("-")) {
        arguments.push_back("'" + Kind(verb, argument, name) + "'");
        continue;
      }
      named = true;
      flags.push_back(name);
      if (!argument.flag) valued.push_back(name);
    }
    if (named && !argument.flag) cases += ValueCase(verb, argument);
  }
  std::string text = fmt::format("    {})\n      arguments=({})\n", verb.name(), Joined(arguments));
  text += fmt::format("      flags='{}'\n      valued='{}'\n", Joined(flags), Joined(valued));
  if (!cases.empty()) text += "      case $previous in\n" + cases + "      esac\n";
  return text + "      ;;\n";
}

/// NAME=VALUE of --set: names first, then the values of those that take one of a few.
std::string Settings() {
  std::vector<std::string> names;
  std::string cases;
  for (const OptionName& option : OptionNames()) {
    names.push_back(option.name + "=");
    std::string list = option.values;
    if (const size_t either = list.find(" or "); either != std::string::npos) {
      list.replace(either, 4, ", ");
    }
    if (list.find(", ") == std::string::npos) continue;
    const std::vector<std::string> values = SplitList(list);
    const bool words = std::all_of(values.begin(), values.end(), [](const std::string& value) {
      return value.find(' ') == std::string::npos;
    });
    if (!words) continue;
    cases += fmt::format("    {}) words='{}' ;;\n", option.name, Joined(values));
  }
  return fmt::format(
      "_braid_settings() {{\n  local words=\n"
      "  if [[ $current != *=* ]]; then\n"
      "    compopt -o nospace 2>/dev/null\n    _braid_words '{}'\n    return\n  fi\n"
      "  case ${{current%%=*}} in\n{}  esac\n"
      "  [[ $COMP_WORDBREAKS == *=* ]] || prefix+=${{current%%=*}}=\n"
      "  current=${{current#*=}}\n  _braid_words \"$words\"\n}}\n",
      Joined(names), cases);
}

class CompletionVerb final : public Verb {
 public:
  std::string name() const override { return "completion"; }
  std::string summary() const override {
    return "print the script that completes words in a shell";
  }
  std::string description() const override {
    return "Prints a script for the shell that completes the verbs of braid, their options and "
           "arguments.";
  }

  void Configure(CLI::App& app) override {
    app.add_option("SHELL", shell_, "the shell: bash")
        ->required()
        ->type_name("")
        ->check(CLI::IsMember({"bash"}));
    app.footer(
        "Completes verbs, options, names of --set, and paths. An installed braid has it already,\n"
        "where bash-completion is set up; otherwise write into ~/.bashrc:\n"
        "\n"
        "  source <(braid completion bash)");
  }

  int Run() override {
    Output out;
    out.Write(BashCompletion());
    return out.Finish(kExitOk);
  }

 private:
  std::string shell_;
};

}  // namespace

std::string BashCompletion() {
  const Verbs verbs = AllVerbs();
  std::vector<std::string> names;
  for (const auto& verb : verbs) names.push_back(verb->name());
  std::string text = "# Completion of braid for bash. Made by 'braid completion bash'.\n";
  text += fmt::format("_braid_verbs='{}'\n", Joined(names)) + Settings();
  // Non-zero when all is said about the current word.
  text += "_braid_verb() {\n  case $1 in\n";
  for (const auto& verb : verbs) text += VerbCase(*verb);
  text += "    help) _braid_words \"$_braid_verbs\"; return 1 ;;\n    *) return 1 ;;\n  esac\n}";
  return text.append(kFrame);
}

std::unique_ptr<Verb> MakeCompletionVerb() { return std::make_unique<CompletionVerb>(); }

}  // namespace braid::tools
