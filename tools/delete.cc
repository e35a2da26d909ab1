// braid delete POOL KEY, or POOL --from/--to/--prefix: removes a key, or the keys of a range.
#include <fmt/format.h>

#include "tools/key_range_flags.h"
#include "tools/pool_flags.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

class DeleteVerb final : public Verb {
 public:
  std::string name() const override { return "delete"; }
  std::string summary() const override { return "remove a key, or all keys of a range"; }
  std::string description() const override {
    return "Removes a key and its value, or all keys of a range.";
  }
  std::string exit_code_one() const override {
    return "There is no such key, or none in the range.";
  }

  void Configure(CLI::App& app) override {
    pool_.AddTo(app);
    app.add_option("KEY", key_, "the key; write -- before one that starts with a dash")
        ->type_name("");
    range_.AddTo(app);
    app.add_flag("--all", all_, "remove every key of the pool");
    AddHexFlag(app, &hex_, "KEY and the arguments of --from, --to and --prefix are hex digits");
    app.add_flag("--json", json_, "print the number of keys that a range had as JSON");
    app.add_flag("--sync", sync_, "survive power loss on page-cache media too");
    app.footer("Exit code 1 when there is no such key, or none in the range.");
  }

  int Run() override {
    if (key_ && (all_ || range_.given())) {
      return Fail("give KEY or a range (--from, --to, --prefix or --all), not both");
    }
    if (all_ && range_.given()) {
      return Fail("--all is every key: leave out --from, --to and --prefix");
    }
    if (const char* const flag = range_.empty_flag()) {
      return Fail(
          fmt::format("the argument of {} is empty, as of a shell variable that is not "
                      "set: leave {} out where the range has no such end, or delete every "
                      "key with --all",
                      flag, flag));
    }
    if (key_) return DeleteKey();
    if (all_ || range_.given()) return DeleteRange();
    return Fail("give the key, or a range with --from, --to or --prefix; --all is every key");
  }

 private:
  int DeleteRange() {
    Result<KeyRange> range = range_.MakeRange(hex_, pool_.KeyOrderOfPool().get());
    if (!range.ok()) return Fail(range.status());
    auto opened = pool_.OpenExisting();
    if (!opened.ok()) return Fail(opened.status());
    DB& db = **opened;
    uint64_t deleted = 0;
    if (!range->empty) {
      std::string from = range->options.lower_bound.value_or("");
      if (!range->options.lower_bound && pool_.KeyOrderOfPool() != nullptr) {
        // The empty key comes first in byte order only. Nobody else has the pool open.
        const std::unique_ptr<Iterator> it = db.NewIterator({});
        it->SeekToFirst();
        if (!it->status().ok()) return Fail(it->status());
        range->empty = !it->Valid();
        if (it->Valid()) from = it->key();
      }
      if (range->empty) return Report(db, 0);
      std::optional<Slice> to;
      if (range->options.upper_bound) to = *range->options.upper_bound;
      const Status s = db.DeleteRange(WriteOptions{.sync = sync_}, from, to, &deleted);
      if (!s.ok()) return Fail(s);
    }
    return Report(db, deleted);
  }

  int Report(DB& db, uint64_t deleted) const {
    Output out;
    out.Write(json_ ? fmt::format("{{\"deleted\":{}}}\n", deleted)
                    : fmt::format("{} {} deleted\n", deleted, deleted == 1 ? "key" : "keys"));
    return CloseAndReturn(db, out.Finish(deleted == 0 ? kExitNotFound : kExitOk));
  }

  int DeleteKey() {
    std::string key;
    Status status = ParseBytes(*key_, hex_, &key);
    if (!status.ok()) return Fail(status);
    auto opened = pool_.OpenExisting();
    if (!opened.ok()) return Fail(opened.status());
    DB& db = **opened;
    // The pool is open here alone, so nobody else comes between these two calls.
    std::string value;
    status = db.Get(key, &value);
    if (status.IsNotFound()) {
      std::fputs(fmt::format("braid: no key '{}' in the pool: nothing was deleted\n",
                             hex_ ? *key_ : EscapeText(Shortened(key, 200)))
                     .c_str(),
                 stderr);
      return CloseAndReturn(db, kExitNotFound);
    }
    // A value that can't be read any more may still be deleted.
    if (status.ok() || status.IsCorruption()) status = db.Delete(WriteOptions{.sync = sync_}, key);
    if (!status.ok()) return Fail(status);
    return CloseAndReturn(db, kExitOk);
  }

  PoolFlags pool_;
  RangeFlags range_;
  std::optional<std::string> key_;
  bool all_ = false;
  bool json_ = false;
  bool hex_ = false;
  bool sync_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeDeleteVerb() { return std::make_unique<DeleteVerb>(); }

}  // namespace braid::tools
