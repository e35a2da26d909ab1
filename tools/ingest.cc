// braid ingest POOL FILE: loads the records of a file past log and memtable.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/interrupt.h"
#include "tools/pool_flags.h"
#include "tools/progress.h"
#include "tools/record_input.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

/// The file's records for the store. A bad record ends it, with a message that names the line.
class InputSource final : public RecordSource {
 public:
  InputSource(RecordInput* input, std::string prefix) : input_(input), prefix_(std::move(prefix)) {}

  bool Next(Slice* key, Slice* value) override {
    std::string problem;
    // Reading a file looks for a signal only where it waits.
    if (StopRequested()) return Stopped();
    switch (input_->Next(&record_, &problem)) {
      case RecordReader::Outcome::kRecord:
        break;
      case RecordReader::Outcome::kBad:
        return Bad(problem);
      case RecordReader::Outcome::kEnd:
        return false;
      case RecordReader::Outcome::kStopped:
        return Stopped();
      case RecordReader::Outcome::kError:
        status_ = input_->status();
        return false;
    }
    record_.key.insert(0, prefix_);
    if (const Status fits = CheckRecordLimits(record_); !fits.ok()) return Bad(fits.message());
    *key = record_.key;
    *value = record_.value;
    return true;
  }
  Status status() const override { return status_; }
  /// Line of the record that was read last.
  uint64_t line() const { return record_.line; }

 private:
  bool Bad(std::string_view problem) {
    status_ =
        Status::InvalidArgument(fmt::format("{}:{}: {}", input_->name(), record_.line, problem));
    return false;
  }
  bool Stopped() {
    status_ = Status::Aborted("stopped by a signal");
    return false;
  }

  RecordInput* const input_;
  const std::string prefix_;
  Record record_;
  Status status_;
};

class IngestVerb final : public Verb {
 public:
  std::string name() const override { return "ingest"; }
  std::string summary() const override {
    return "load many records of a file at once, past the log";
  }
  std::string description() const override {
    return "Loads the records of a file past log and memtable: each is written once, in the order "
           "of keys, and they become a table of the store in one step.";
  }

  void Configure(CLI::App& app) override {
    pool_.AddTo(app);
    app.add_option("FILE", file_, "the records; - is stdin")->required()->type_name("");
    AddReaderFlags(app, &reader_);
    app.add_flag("--sorted", sorted_,
                 "the keys ascend, as in what dump writes: all records are there at once, or none");
    app.add_option("--prefix", prefix_, "put this before each key")->type_name("STRING");
    app.add_flag("--progress", plain_progress_,
                 "a line every 10 s when stderr is not a terminal, too");
    AddJsonFlag(app, &json_, "print the counts as one object");
    app.footer(
        std::string(kFormatsText) +
        "Writes each record once, in the order of keys, and leaves nothing to be flushed or\n"
        "replayed; with --sorted all records are there at once, or none. Unsorted records are\n"
        "sorted in memory, a run of them at a time (--memory-budget), and the later one of a\n"
        "key counts; when such a load fails, the runs before are there. An SST is always sorted.\n"
        "Designs without this are loaded with 'braid load'. Makes the pool when there is none.\n"
        "\n"
        "Example: braid dump OLD - | braid ingest POOL - --sorted");
  }

  int Run() override {
    auto input = OpenRecordInput(reader_, file_);
    if (!input.ok()) return Fail(input.status());
    auto opened = pool_.OpenOrCreate();
    if (!opened.ok()) return Fail(opened.status());
    DB& db = **opened;
    StopOnSignal();
    InputSource source(input->get(), prefix_);
    Progress progress("ingest", "records",
                      plain_progress_ ? Progress::Style::kPlain : Progress::Style::kAuto);
    IngestOptions options;
    options.sorted = sorted_ || reader_.format == "sst";
    options.progress = [&](uint64_t records) { progress.Update(records, (*input)->Share()); };
    IngestReport report;
    const Status status = db.Ingest(&source, options, &report);
    const double seconds = progress.ElapsedSeconds();
    progress.Finish();
    const int exit_code = Report(report, status, seconds);
    if (!status.ok()) return FailIngest(status, source, report, options.sorted);
    return exit_code == kExitOk ? CloseAndReturn(db, kExitOk) : exit_code;
  }

 private:
  int Report(const IngestReport& report, const Status& status, double seconds) const {
    // A failure that left nothing has nothing to count.
    if (!status.ok() && report.records == 0 && !json_) return kExitOk;
    const double rate = seconds > 0 ? static_cast<double>(report.records) / seconds : 0;
    Output out;
    if (json_) {
      out.WriteLine(nlohmann::ordered_json{
          {"ingested", report.records},
          {"bytes", report.bytes},
          {"seconds", seconds},
          {"complete",
           status.ok()}}.dump());
    } else {
      out.WriteLine(fmt::format("ingested {}, {} in {} ({}/s)", Counted(report.records, "record"),
                                SizeText(report.bytes), DurationText(seconds),
                                GroupDigits(static_cast<uint64_t>(rate))));
    }
    return out.Finish(kExitOk);
  }

  int FailIngest(const Status& status, const InputSource& source, const IngestReport& report,
                 bool sorted) const {
    if (status.IsNotSupported()) {
      return Fail(fmt::format("{}: use 'braid load' instead", status.ToString()));
    }
    std::string text(status.IsInvalidArgument() ? status.message() : status.ToString());
    // The store names a record that is out of order by its number; the line is easier to find.
    if (source.status().ok() && status.IsInvalidArgument()) {
      text = fmt::format("{}:{}: {}", file_ == "-" ? "stdin" : file_, source.line(), text);
    }
    const std::string left = report.records == 0
                                 ? "nothing was loaded"
                                 : Counted(report.records, "record") + " before it are loaded";
    return Fail(fmt::format(
        "{}; {}: fix this and ingest '{}' again{}", text, left, file_,
        sorted && source.status().ok() && status.IsInvalidArgument() && reader_.format != "sst"
            ? ", or leave --sorted out"
            : ""));
  }

  PoolFlags pool_;
  std::string file_;
  ReaderSettings reader_;
  std::string prefix_;
  bool sorted_ = false;
  bool json_ = false;
  bool plain_progress_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeIngestVerb() { return std::make_unique<IngestVerb>(); }

}  // namespace braid::tools
