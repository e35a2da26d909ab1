// braid options: the options that can be set by name, with what they take and their defaults.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "braid/options.h"
#include "tools/common.h"

namespace braid::tools {
namespace {

class OptionsVerb final : public Verb {
 public:
  std::string name() const override { return "options"; }
  std::string summary() const override { return "list the options that can be set by name"; }

  void Configure(CLI::App& app) override {
    AddJsonFlag(app, &json_, "print one object a line");
    app.footer(
        "braid bench --set NAME=VALUE sets them; in C++, Options::Set does. \"design's\" means\n"
        "that the design of the pool chooses.");
  }

  int Run() override {
    Output out;
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
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeOptionsVerb() { return std::make_unique<OptionsVerb>(); }

}  // namespace braid::tools
