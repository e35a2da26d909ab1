#include "tools/verb_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "braid/version.h"

namespace braid::tools {
namespace {

constexpr size_t kColumn = 26;  // where descriptions begin
constexpr size_t kWidth = 80;
constexpr std::string_view kExample = "Example: ";

/// "--from KEY", "-h, --help".
std::string Signature(const Argument& argument) {
  std::string text;
  for (auto name = argument.names.rbegin(); name != argument.names.rend(); ++name) {
    if (argument.positional && !name->starts_with("-")) continue;
    text += (text.empty() ? "" : ", ") + *name;
  }
  if (!argument.flag && !argument.value.empty()) text += " " + argument.value;
  return text;
}

std::string Synopsis(const std::vector<Argument>& arguments, std::string_view verb) {
  std::string text = fmt::format("braid {} [OPTIONS]", verb);
  for (const Argument& argument : arguments) {
    if (!argument.positional) continue;
    const std::string& name = argument.names.front();
    text += argument.required ? " " + name : " [" + name + "]";
  }
  return text;
}

/// Appends the words of `text`, broken at kWidth, further lines beginning at `indent`. The last
/// line of `out` has `column` columns so far.
void AppendWrapped(std::string_view text, size_t column, size_t indent, std::string* out) {
  bool first = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    if (!first && column + 1 + end > kWidth) {
      *out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      out->push_back(' ');
      ++column;
    }
    first = false;
    out->append(text.substr(0, end));
    column += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  out->push_back('\n');
}

/// A name and, from kColumn on, its description in as many lines as it takes.
std::string Entry(const std::string& name, std::string_view description) {
  std::string text = "  " + name;
  size_t column = text.size();
  if (column + 2 > kColumn) {
    text.push_back('\n');
    column = 0;
  }
  text.append(kColumn - column, ' ');
  AppendWrapped(description, kColumn, kColumn, &text);
  return text;
}

/// A paragraph of a footer. What has columns is shown as it was written.
struct Paragraph {
  std::string text;
  bool columns = false;
};
std::vector<Paragraph> SplitParagraphs(std::string_view text) {
  std::vector<Paragraph> paragraphs;
  while (!text.empty()) {
    const size_t end = std::min(text.find("\n\n"), text.size());
    Paragraph paragraph{std::string(text.substr(0, end)), false};
    while (!paragraph.text.empty() && paragraph.text.back() == '\n') paragraph.text.pop_back();
    paragraph.columns = paragraph.text.find("  ") != std::string::npos;
    if (!paragraph.text.empty()) paragraphs.push_back(std::move(paragraph));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return paragraphs;
}

std::string Sections(const std::vector<Argument>& arguments) {
  std::string text;
  std::string group;
  for (const Argument& argument : arguments) {
    const std::string wanted = argument.positional ? "Arguments" : argument.group;
    if (wanted != group) text += fmt::format("\n{}:\n", wanted);
    group = wanted;
    std::string name = argument.positional ? argument.names.front() : Signature(argument);
    text += Entry(name, argument.description);
  }
  return text;
}

/// What follows the options of --help; its last paragraph may be an example.
struct Footer {
  std::string text;
  std::string example;
};
Footer SplitFooter(std::string footer) {
  const size_t at = footer.rfind(kExample);
  if (at == std::string::npos || (at > 0 && footer[at - 1] != '\n')) return {footer, ""};
  Footer result{footer.substr(0, at), footer.substr(at + kExample.size())};
  while (!result.text.empty() && result.text.back() == '\n') result.text.pop_back();
  return result;
}

/// Text as roff prints it: nothing in it is a request or an escape.
std::string Roff(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else {
      out.push_back(c);
    }
    line_start = c == '\n';
  }
  return out;
}

std::string RoffHead(const std::string& title) {
  std::string upper;
  for (const char c : title) {
    upper.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
  }
  // Names of commands are not parted at the end of a line.
  return fmt::format(".TH {} 1 \"\" \"braid {}\" \"User Commands\"\n.nh\n", Roff(upper),
                     BRAID_VERSION_STRING);
}

std::string RoffLines(std::string_view text) { return fmt::format(".nf\n{}\n.fi\n", Roff(text)); }

std::string RoffArguments(const std::vector<Argument>& arguments) {
  std::string text;
  std::string group;
  for (const Argument& argument : arguments) {
    const std::string wanted = argument.positional ? "Arguments" : argument.group;
    if (wanted != group) {
      text += wanted == "Arguments" || wanted == "Options"
                  ? fmt::format(".SH {}\n", wanted == "Options" ? "OPTIONS" : "ARGUMENTS")
                  : fmt::format(".SS {}\n", Roff(wanted));
    }
    group = wanted;
    if (argument.positional) {
      text += fmt::format(".TP\n\\fI{}\\fR\n", Roff(argument.names.front()));
    } else {
      std::string names;
      for (const std::string& name : argument.names) {
        names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", Roff(name));
      }
      const bool value = !argument.flag && !argument.value.empty();
      text += fmt::format(".TP\n{}{}\n", names,
                          value ? fmt::format(" \\fI{}\\fR", Roff(argument.value)) : "");
    }
    text += Roff(argument.description) + "\n";
  }
  return text;
}

Status WriteText(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  if (file.flush().good()) return Status::OK();
  return Status::IOError(fmt::format("can't write '{}': choose another folder", path.string()));
}

}  // namespace

std::string HelpText(Verb& verb) {
  const auto app = MakeApp(verb);
  const std::vector<Argument> arguments = ListArguments(*app);
  std::string text = fmt::format("braid {}: {}\n\nUsage: {}\n", verb.name(), verb.summary(),
                                 Synopsis(arguments, verb.name()));
  text += Sections(arguments);
  for (const Paragraph& paragraph : SplitParagraphs(app->get_footer())) {
    text.push_back('\n');
    if (paragraph.columns) {
      text += paragraph.text + "\n";
    } else {
      AppendWrapped(paragraph.text, 0, 0, &text);
    }
  }
  return text;
}

std::string ManPage(Verb& verb) {
  const auto app = MakeApp(verb);
  const std::vector<Argument> arguments = ListArguments(*app);
  const Footer footer = SplitFooter(app->get_footer());
  std::string text = RoffHead("braid-" + verb.name());
  text += fmt::format(".SH NAME\nbraid\\-{} \\- {}\n", Roff(verb.name()), Roff(verb.summary()));
  text += fmt::format(".SH SYNOPSIS\n.B {}\n", Roff(Synopsis(arguments, verb.name())));
  text += ".SH DESCRIPTION\n" + Roff(verb.description()) + "\n";
  text += RoffArguments(arguments);
  if (!footer.text.empty()) text += ".SH NOTES\n";
  for (const Paragraph& paragraph : SplitParagraphs(footer.text)) {
    text += ".PP\n" + (paragraph.columns ? RoffLines(paragraph.text) : Roff(paragraph.text) + "\n");
  }
  if (!footer.example.empty()) text += ".SH EXAMPLES\n" + RoffLines(footer.example);
  text += ".SH EXIT STATUS\n.TP\n0\nAll went well.\n";
  if (const std::string one = verb.exit_code_one(); !one.empty()) {
    text += ".TP\n1\n" + Roff(one) + "\n";
  }
  text += ".TP\n2\nAn error; one line on stderr says what is wrong and what to do.\n";
  return text + ".SH SEE ALSO\n.BR braid (1)\n";
}

std::string ManPageOfCommand(const Verbs& verbs) {
  std::string text = RoffHead("braid");
  text +=
      ".SH NAME\nbraid \\- an ordered key\\-value store for persistent memory\n"
      ".SH SYNOPSIS\n.B braid \\fIVERB\\fR [\\fIOPTIONS\\fR] \\fIPOOL\\fR "
      "[\\fIARGUMENTS\\fR]\n.br\n"
      ".B braid help\n[\\fIVERB\\fR]\n.br\n.B braid \\-\\-version\n"
      ".SH DESCRIPTION\n"
      "braid is a library that programs embed: an ordered key\\-value store on persistent memory,\n"
      "or on an ordinary file system. This command reads, writes, measures and repairs its pools. "
      "A\n"
      "pool is a directory that holds one database, and is open in one process at a time.\n"
      ".PP\n"
      "Keys and values are bytes. Arguments are taken as they are; with \\fB\\-\\-hex\\fR they "
      "are\n"
      "hex digits, and so is what is printed. Results go to stdout, progress and messages to\n"
      "stderr; \\fB\\-\\-json\\fR is for programs.\n"
      ".SH VERBS\n";
  for (const auto& verb : verbs) {
    text += fmt::format(".TP\n.BR braid\\-{} (1)\n{}\n", Roff(verb->name()), Roff(verb->summary()));
  }
  text +=
      ".SH EXIT STATUS\n.TP\n0\nAll went well.\n"
      ".TP\n1\nThe question was fine, the answer is no: there is no such key, or a repair had\n"
      "losses.\n"
      ".TP\n2\nAn error; one line on stderr says what is wrong and what to do.\n"
      ".SH ENVIRONMENT\n"
      ".TP\nBRAID_TMP\nWhere \\fBbraid bench\\fR makes its temporary pools.\n"
      ".TP\nXDG_STATE_HOME\nBelow it \\fBbraid shell\\fR keeps its history; ~/.local/state if it "
      "is\n"
      "not set.\n"
      ".SH FILES\n"
      ".TP\n\\fIPOOL\\fR.stats.json\nWhat a process tells about the pool that it has open, with\n"
      "\\fB\\-\\-publish\\-stats\\fR.\n"
      ".SH EXAMPLES\n";
  return text + RoffLines(
                    "braid put colors apple red\n"
                    "braid get colors apple\n"
                    "braid dump colors colors.tsv\n"
                    "braid checkpoint colors /backup/colors");
}

Status WritePages(const Verbs& verbs, const std::string& folder) {
  const std::filesystem::path man = std::filesystem::path(folder) / "man" / "man1";
  const auto completions = std::filesystem::path(folder) / "bash-completion" / "completions";
  std::error_code error;
  std::filesystem::create_directories(man, error);
  if (!error) std::filesystem::create_directories(completions, error);
  if (error) {
    return Status::IOError(
        fmt::format("can't make '{}': {}: choose another folder", folder, error.message()));
  }
  Status status = WriteText(man / "braid.1", ManPageOfCommand(verbs));
  for (const auto& verb : verbs) {
    if (!status.ok()) return status;
    status = WriteText(man / ("braid-" + verb->name() + ".1"), ManPage(*verb));
  }
  return status.ok() ? WriteText(completions / "braid", BashCompletion()) : status;
}

}  // namespace braid::tools
