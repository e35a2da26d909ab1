// braid delete POOL KEY: removes a key.
#include <fmt/format.h>

#include "tools/common.h"
#include "tools/common_text.h"

namespace braid::tools {
namespace {

class DeleteVerb final : public Verb {
 public:
  std::string name() const override { return "delete"; }
  std::string summary() const override { return "remove a key"; }
  std::string description() const override { return "Removes a key and its value."; }
  std::string exit_code_one() const override { return "There is no such key."; }

  void Configure(CLI::App& app) override {
    pool_.AddTo(app);
    app.add_option("KEY", key_, "the key; write -- before one that starts with a dash")
        ->required()
        ->type_name("");
    AddHexFlag(app, &hex_, "KEY is hex digits");
    app.add_flag("--sync", sync_, "survive power loss on page-cache media too");
    app.footer("Exit code 1 when there is no such key.");
  }

  int Run() override {
    std::string key;
    Status status = ParseBytes(key_, hex_, &key);
    if (!status.ok()) return Fail(status);
    auto opened = pool_.OpenExisting();
    if (!opened.ok()) return Fail(opened.status());
    DB& db = **opened;
    // The pool is open here alone, so nobody else comes between these two calls.
    std::string value;
    status = db.Get(key, &value);
    if (status.IsNotFound()) {
      std::fputs(fmt::format("braid: no key '{}' in the pool: nothing was deleted\n",
                             hex_ ? key_ : EscapeText(Shortened(key, 200)))
                     .c_str(),
                 stderr);
      return CloseAndReturn(db, kExitNotFound);
    }
    // A value that can't be read any more may still be deleted.
    if (status.ok() || status.IsCorruption()) status = db.Delete(WriteOptions{.sync = sync_}, key);
    if (!status.ok()) return Fail(status);
    return CloseAndReturn(db, kExitOk);
  }

 private:
  PoolFlags pool_;
  std::string key_;
  bool hex_ = false;
  bool sync_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeDeleteVerb() { return std::make_unique<DeleteVerb>(); }

}  // namespace braid::tools
