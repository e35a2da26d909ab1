// braid options: the options that can be set by name, with what they take and their defaults.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "braid/options.h"
#include "tools/pool_flags.h"

namespace braid::tools {
namespace {

class OptionsVerb final : public Verb {
 public:
  std::string name() const override { return "options"; }
  std::string summary() const override { return "list the options that can be set by name"; }
  std::string description() const override {
    return "Lists the options of the store that can be set by name, what they take and their "
           "defaults.";
  }

  void Configure(CLI::App& app) override {
    AddJsonFlag(app, &json_, "print one object a line");
    app.add_flag("--markdown", markdown_, "print docs/guide/options.md, the table of all options")
        ->excludes("--json");
    app.footer(
        "braid bench --set NAME=VALUE sets them; in C++, Options::Set does. \"design's\" means\n"
        "that the design of the pool chooses.");
  }

  int Run() override {
    Output out;
    if (markdown_) {
      PrintPage(&out);
      return out.Finish(kExitOk);
    }
    for (const OptionName& option : OptionNames()) {
      if (json_) {
        out.WriteLine(nlohmann::ordered_json{{"name", option.name},
                                             {"values", option.values},
                                             {"default", option.preset},
                                             {"summary", option.summary}}
                          .dump());
      } else {
        out.WriteLine(fmt::format("{:<31}{}", option.name, option.summary));
        out.WriteLine(
            fmt::format("{:<31}  takes {}; default {}", "", option.values, option.preset));
      }
    }
    return out.Finish(kExitOk);
  }

 private:
  static void PrintPage(Output* out) {
    out->Write(
        "# Options by name\n"
        "\n"
        "`braid bench --set NAME=VALUE` sets these; in C++, `Options::Set` does, and\n"
        "[include/braid/options.h](../../include/braid/options.h) has the fields themselves. "
        "Sizes\n"
        "are bytes, or a number with `K`, `M`, `G` or `T` (powers of 1024). Where the default is\n"
        "*design's*, the design of the pool chooses. A value that is outside its limits, or that\n"
        "does not go together with others, is refused when the pool is opened, with the reason.\n"
        "\n"
        "This page is made by `braid options --markdown`; `scripts/docs.sh` renews it.\n"
        "\n"
        "| option | takes | default | what it does |\n"
        "|---|---|---|---|\n");
    for (const OptionName& option : OptionNames()) {
      const bool designs = option.preset == "design's";
      out->WriteLine(fmt::format("| `{}` | {} | {} | {} |", option.name, option.values,
                                 designs ? "*design's*" : "`" + option.preset + "`",
                                 option.summary));
    }
  }

  bool json_ = false;
  bool markdown_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeOptionsVerb() { return std::make_unique<OptionsVerb>(); }

}  // namespace braid::tools
