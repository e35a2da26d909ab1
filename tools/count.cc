// braid count POOL: counts keys by reading them.
#include <fmt/format.h>

#include <cstdint>
#include <memory>

#include "tools/key_range_flags.h"
#include "tools/pool_flags.h"
#include "tools/progress.h"

namespace braid::tools {
namespace {

class CountVerb final : public Verb {
 public:
  std::string name() const override { return "count"; }
  std::string summary() const override { return "count the keys, all or in a range"; }
  std::string description() const override {
    return "Counts the keys of one moment, all or those within the bounds.";
  }

  void Configure(CLI::App& app) override {
    pool_.AddTo(app);
    range_.AddTo(app);
    AddHexFlag(app, &hex_, "--from, --to and --prefix are hex digits");
    AddJsonFlag(app, &json_, "print {\"count\":N}");
    app.footer("Example: braid count POOL --prefix user/");
  }

  int Run() override {
    Result<KeyRange> range = range_.MakeRange(hex_, pool_.KeyOrderOfPool().get());
    if (!range.ok()) return Fail(range.status());
    auto opened = pool_.OpenToRead();
    if (!opened.ok()) return Fail(opened.status());
    uint64_t count = 0;
    if (!range->empty) {
      // From the first key again: the count is that of one moment.
      const Status status =
          pool_.Read(&*opened, [&](DB& db) { return CountKeys(db, range->options, &count); });
      if (!status.ok()) return Fail(status);
    }
    DB& db = **opened;
    Output out;
    out.WriteLine(json_ ? fmt::format("{{\"count\":{}}}", count) : std::to_string(count));
    return out.Finish(CloseAndReturn(db, kExitOk));
  }

 private:
  static Status CountKeys(DB& db, const ReadOptions& options, uint64_t* count) {
    constexpr uint64_t kProgressStep = 4096;
    *count = 0;
    Progress progress("count", "keys", Progress::Style::kAuto);
    const std::unique_ptr<Iterator> it = db.NewIterator(options);
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      if (++*count % kProgressStep == 0) progress.Update(*count, Progress::kUnknownShare);
    }
    return it->status();
  }

  PoolFlags pool_;
  RangeFlags range_;
  bool hex_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeCountVerb() { return std::make_unique<CountVerb>(); }

}  // namespace braid::tools
