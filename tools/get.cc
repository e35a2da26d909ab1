// braid get POOL KEY: prints the value of a key.
#include <unistd.h>

#include <fmt/format.h>

#include "tools/pool_flags.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

class GetVerb final : public Verb {
 public:
  std::string name() const override { return "get"; }
  std::string summary() const override { return "print the value of a key"; }
  std::string description() const override { return "Looks a key up and prints its value."; }
  std::string exit_code_one() const override { return "There is no such key."; }

  void Configure(CLI::App& app) override {
    pool_.AddTo(app);
    app.add_option("KEY", key_, "the key; write -- before one that starts with a dash")
        ->required()
        ->type_name("");
    AddHexFlag(app, &hex_, "KEY is hex digits, and so is the value that is printed");
    AddJsonFlag(app, &json_, "print {\"key\":...,\"value\":...}; NAME_hex for bytes not UTF-8");
    app.add_flag("--raw", raw_, "print the bytes of the value alone, without a newline")
        ->excludes("--hex")
        ->excludes("--json");
    app.footer(
        "The value is printed as it is, with a newline behind it. On a terminal, control\n"
        "characters and bytes that are not UTF-8 show as \\xHH.");
  }

  int Run() override {
    std::string key;
    if (const Status status = ParseBytes(key_, hex_, &key); !status.ok()) return Fail(status);
    auto opened = pool_.OpenToRead();
    if (!opened.ok()) return Fail(opened.status());
    std::string value;
    const Status status = pool_.Read(&*opened, [&](DB& db) { return db.Get(key, &value); });
    if (!status.ok() && !status.IsNotFound()) return Fail(status);
    DB& db = **opened;
    if (status.IsNotFound()) {
      std::fputs(fmt::format("braid: no key '{}' in the pool: 'braid scan POOL --prefix ...' shows "
                             "what is there\n",
                             hex_ ? key_ : EscapeText(Shortened(key, 200)))
                     .c_str(),
                 stderr);
      return CloseAndReturn(db, kExitNotFound);
    }
    Output out;
    Print(key, value, &out);
    return out.Finish(CloseAndReturn(db, kExitOk));
  }

 private:
  void Print(const std::string& key, const std::string& value, Output* out) const {
    if (raw_) {
      out->Write(value);
    } else if (json_) {
      std::string line = "{";
      AppendJsonField("key", key, hex_, &line);
      line += ",";
      AppendJsonField("value", value, hex_, &line);
      out->WriteLine(line + "}");
    } else if (hex_) {
      out->WriteLine(EncodeHex(value));
    } else {
      out->WriteLine(::isatty(STDOUT_FILENO) == 1 ? EscapeForTerminal(value) : value);
    }
  }

  PoolFlags pool_;
  std::string key_;
  bool hex_ = false;
  bool json_ = false;
  bool raw_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeGetVerb() { return std::make_unique<GetVerb>(); }

}  // namespace braid::tools
