// braid scan POOL: prints records in the order of their keys.
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "tools/key_range_flags.h"
#include "tools/pool_flags.h"
#include "tools/record_text.h"

namespace braid::tools {
namespace {

class ScanVerb final : public Verb {
 public:
  std::string name() const override { return "scan"; }
  std::string summary() const override { return "print records in key order"; }
  std::string description() const override {
    return "Prints the records of one moment in the byte order of their keys, all or those within "
           "the bounds. Several bounds together mean the keys that satisfy all of them. While "
           "another process writes to the pool a long scan may be of several moments; it says so.";
  }

  void Configure(CLI::App& app) override {
    pool_.AddTo(app);
    range_.AddTo(app);
    AddCountOption(app, "--limit", &limit_, 0, "stop after so many records");
    app.add_flag("--reverse", reverse_, "from the last key to the first");
    app.add_flag("--keys-only", style_.keys_only, "without the values");
    AddHexFlag(app, &style_.hex, "keys and values as hex digits, in the arguments too");
    AddJsonFlag(app, &style_.json, "an object a line; NAME_hex for bytes that are not UTF-8");
    app.footer(
        "A line is KEY, TAB, VALUE with the escapes \\t \\n \\r \\\\ and \\xHH; 'braid load' "
        "reads\n"
        "it back byte for byte, and with --format jsonl what --json prints.\n"
        "\n"
        "Example: braid scan POOL --prefix user/ --limit 10");
  }

  int Run() override {
    Result<KeyRange> range = range_.MakeRange(style_.hex, pool_.KeyOrderOfPool().get());
    if (!range.ok()) return Fail(range.status());
    auto opened = pool_.OpenToRead();
    if (!opened.ok()) return Fail(opened.status());
    Output out;
    Status status;
    Position position{.left = limit_, .last = {}};
    if (!range->empty) {
      status =
          pool_.Read(&*opened, [&](DB& db) { return Print(db, range->options, &position, &out); });
    }
    if (!status.ok()) {
      out.Finish(kExitOk);
      return Fail(status);
    }
    DB& db = **opened;
    return out.Finish(CloseAndReturn(db, kExitOk));
  }

 private:
  /// What is printed already.
  struct Position {
    uint64_t left;
    std::optional<std::string> last;
  };

  /// Goes on behind `position`.
  Status Print(DB& db, const ReadOptions& options, Position* position, Output* out) const {
    const std::unique_ptr<Iterator> it = db.NewIterator(options);
    std::string line;
    Start(it.get(), *position);
    while (position->left > 0 && it->Valid()) {
      line.clear();
      AppendRecordLine(it->key(), it->value(), style_, &line);
      position->last = std::string(it->key());
      --position->left;
      if (!out->Write(line)) break;
      if (reverse_) {
        it->Prev();
      } else {
        it->Next();
      }
    }
    return it->status();
  }

  void Start(Iterator* it, const Position& position) const {
    if (!position.last) return reverse_ ? it->SeekToLast() : it->SeekToFirst();
    std::fputs(
        "braid: the process that writes to the pool has merged what was read: the records "
        "from here on are of a newer state\n",
        stderr);
    if (reverse_) {
      it->SeekForPrev(*position.last);
      if (it->Valid() && it->key() == *position.last) it->Prev();
    } else {
      it->Seek(*position.last);
      if (it->Valid() && it->key() == *position.last) it->Next();
    }
  }

  PoolFlags pool_;
  RangeFlags range_;
  uint64_t limit_ = std::numeric_limits<uint64_t>::max();
  bool reverse_ = false;
  RecordStyle style_;
};

}  // namespace

std::unique_ptr<Verb> MakeScanVerb() { return std::make_unique<ScanVerb>(); }

}  // namespace braid::tools
