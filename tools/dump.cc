// braid dump POOL [FILE]: writes the records of one moment to a file.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/interrupt.h"
#include "tools/key_range_flags.h"
#include "tools/pool_flags.h"
#include "tools/progress.h"
#include "tools/record_sink.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

constexpr uint64_t kDumpProgressStep = 256;

class DumpVerb final : public Verb {
 public:
  std::string name() const override { return "dump"; }
  std::string summary() const override { return "write the records to a file: TSV, JSON, SST"; }
  std::string description() const override {
    return "Writes the records of one moment to a file, from which braid load and braid ingest "
           "read them back byte for byte, or RocksDB in the format sst.";
  }

  void Configure(CLI::App& app) override {
    pool_.AddTo(app);
    app.add_option("FILE", sink_.path, "where to; stdout when it is left out")->type_name("");
    app.add_option("--format", sink_.format, "tsv (default), jsonl or sst")
        ->type_name("NAME")
        ->check(CLI::IsMember({"tsv", "jsonl", "sst"}));
    range_.AddTo(app);
    AddHexFlag(app, &sink_.hex, "tsv: hex digits, and so are the bounds");
    app.add_flag("--force", sink_.overwrite, "replace FILE if it is there");
    app.add_flag("--progress", plain_progress_,
                 "a line every 10 s when stderr is not a terminal, too");
    AddJsonFlag(app, &json_, "print the counts as one object; needs FILE");
    app.footer(
        "tsv     KEY, TAB, VALUE with the escapes \\t \\n \\r \\\\ and \\xHH\n"
        "jsonl   {\"key\":...,\"value\":...} a line; NAME_hex for bytes that are not UTF-8\n"
        "sst     a table that RocksDB ingests, where braid was built with it\n"
        "\n"
        "'braid load' and 'braid ingest' read each of them back byte for byte. FILE takes its "
        "name\n"
        "when it is whole. For a copy that can be opened at once, see 'braid help checkpoint'.\n"
        "\n"
        "Example: braid dump POOL users.tsv --prefix user/");
  }

  int Run() override {
    if (json_ && sink_.path == "-") return Fail("--json needs FILE: stdout has the records");
    Result<KeyRange> range = range_.MakeRange(sink_.hex, pool_.KeyOrderOfPool().get());
    if (!range.ok()) return Fail(range.status());
    auto opened = pool_.OpenToRead();
    if (!opened.ok()) return Fail(opened.status());
    DB& db = **opened;
    auto sink = MakeRecordSink(sink_);
    if (!sink.ok()) return Fail(sink.status());
    StopOnSignal();
    Progress progress("dump", "records",
                      plain_progress_ ? Progress::Style::kPlain : Progress::Style::kAuto);
    uint64_t records = 0;
    Status status;
    if (!range->empty) status = Copy(db, range->options, **sink, progress, &records);
    if (status.ok()) status = (*sink)->Finish();
    const double seconds = progress.ElapsedSeconds();
    progress.Finish();
    if (!status.ok()) return Fail(status);
    const int exit_code = sink_.path == "-" ? kExitOk : Report(**sink, records, seconds);
    return exit_code == kExitOk ? CloseAndReturn(db, kExitOk) : exit_code;
  }

 private:
  Status Copy(DB& db, const ReadOptions& options, RecordSink& sink, Progress& progress,
              uint64_t* records) const {
    // Versions that are overwritten count here, so that the share runs ahead of the end at worst.
    const Statistics facts = db.GetStatistics();
    const auto total =
        static_cast<double>(facts.memtable_entries + facts.l0_entries + facts.l1_entries);
    const bool whole = !options.lower_bound && !options.upper_bound && total > 0;
    const std::unique_ptr<Iterator> it = db.NewIterator(options);
    for (it->SeekToFirst(); it->Valid() && !sink.reader_is_gone(); it->Next()) {
      if (StopRequested()) {
        return Status::Aborted(sink_.path == "-" ? "stopped by a signal"
                                                 : "stopped by a signal; nothing is kept of FILE");
      }
      if (Status status = sink.Add(it->key(), it->value()); !status.ok()) return status;
      ++*records;
      if (*records % kDumpProgressStep != 0) continue;
      progress.Update(*records,
                      whole ? static_cast<double>(*records) / total : Progress::kUnknownShare);
    }
    if (it->status().IsTryAgain()) {
      return Status::TryAgain(
          "the process that writes to the pool has merged what was being dumped: dump again when "
          "it writes less, or dump a checkpoint that it makes");
    }
    return it->status();
  }

  int Report(const RecordSink& sink, uint64_t records, double seconds) const {
    Output out;
    if (json_) {
      out.WriteLine(nlohmann::ordered_json{
          {"records", records}, {"bytes", sink.bytes()}, {"seconds", seconds}}
                        .dump());
    } else {
      out.WriteLine(fmt::format("dumped {}, {} in {} to '{}'", Counted(records, "record"),
                                SizeText(sink.bytes()), DurationText(seconds),
                                EscapeForTerminal(sink_.path)));
    }
    return out.Finish(kExitOk);
  }

  PoolFlags pool_;
  RangeFlags range_;
  SinkSettings sink_{.path = "-"};
  bool json_ = false;
  bool plain_progress_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeDumpVerb() { return std::make_unique<DumpVerb>(); }

}  // namespace braid::tools
