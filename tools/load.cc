// braid load POOL FILE: stores the records of a file.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "tools/batch_writer.h"
#include "tools/interrupt.h"
#include "tools/pool_flags.h"
#include "tools/progress.h"
#include "tools/record_input.h"
#include "tools/stats_file.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

// Bad records are named one by one up to here, and only counted from then on.
constexpr uint64_t kNamedBadRecords = 20;
constexpr uint64_t kLoadProgressStep = 256;

class LoadVerb final : public Verb {
 public:
  std::string name() const override { return "load"; }
  std::string summary() const override {
    return "store the records of a file: TSV, JSON, Debian, SST";
  }
  std::string description() const override {
    return "Stores the records of a file one batch after the other, as a program would. A bad "
           "record stops it, or is left out; what was read before is stored, and the message says "
           "how to go on.";
  }
  void Configure(CLI::App& app) override;
  int Run() override;

 private:
  // How reading ended.
  enum class End : uint8_t { kDone, kBadRecord, kStopped, kReadError, kWriteError };

  End ReadRecords(RecordInput& source, BatchWriter& writer, Progress& progress);
  void NoteBadRecord(const std::string& where, const std::string& problem, Progress& progress);
  int Report(End end, const RecordInput& source, const BatchWriter& writer, const Status& written,
             double seconds);
  std::string GoOn(const RecordInput& source) const;
  Status OpenAcknowledgeFile(int* fd) const;

  PoolFlags pool_;
  std::string file_;
  ReaderSettings reader_;
  BatchSettings writer_;
  std::string prefix_;
  std::string on_error_ = "stop";
  std::string acknowledge_;
  uint64_t from_line_ = 1;
  bool json_ = false;
  bool plain_progress_ = false;
  bool publish_stats_ = false;

  uint64_t skipped_ = 0;
  uint64_t next_line_ = 1;  // everything on earlier lines was handed to the writer or is bad
  std::string bad_record_;  // the one that stopped the load
};

void LoadVerb::Configure(CLI::App& app) {
  pool_.AddTo(app);
  app.add_option("FILE", file_, "the records; - is stdin")->required()->type_name("");
  AddReaderFlags(app, &reader_);
  app.add_option("--prefix", prefix_, "put this before each key")->type_name("STRING");
  app.add_option("--batch", writer_.batch_records, "records a write; default: 256")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--threads", writer_.threads, "threads that write; default: 1")
      ->type_name("N")
      ->check(CLI::Range(1, 256));
  app.add_flag("--sync", writer_.sync, "each write survives power loss on page-cache media too");
  app.add_option("--on-error", on_error_, "at a bad record: stop (default) or skip it")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"stop", "skip"}));
  AddCountOption(app, "--from-line", &from_line_, 1, "begin at this line, to resume after a stop");
  app.add_option("--acknowledge", acknowledge_,
                 "append each key to this file, a line each, once its write is acknowledged")
      ->type_name("FILE");
  app.add_flag("--publish-stats", publish_stats_, "let 'braid top POOL' watch this command");
  app.add_flag("--progress", plain_progress_,
               "a line every 10 s when stderr is not a terminal, too");
  AddJsonFlag(app, &json_, "print the counts as one object");
  app.footer(
      std::string(kFormatsText) +
      "Makes the pool when there is none. A key that is there already gets the new value, so\n"
      "loading a file twice is harmless. Ctrl-C stops after the records read so far.\n"
      "\n"
      "Example: braid load POOL /var/lib/dpkg/status --format deb822 --prefix package/");
}

int LoadVerb::Run() {
  auto source = OpenRecordInput(reader_, file_);
  if (!source.ok()) return Fail(source.status());
  writer_.hex = reader_.hex;
  Status status = OpenAcknowledgeFile(&writer_.acknowledge_fd);
  if (!status.ok()) return Fail(status);
  auto opened = pool_.OpenOrCreate();
  if (!opened.ok()) return Fail(opened.status());
  StopOnSignal();
  DB& db = **opened;
  std::unique_ptr<StatsPublisher> publisher;
  if (publish_stats_) {
    auto started =
        StatsPublisher::Start(pool_.path(), [&db] { return MakeSnapshot(db.GetStatistics()); });
    if (!started.ok()) return Fail(started.status());
    publisher = std::move(started).value();
  }
  BatchWriter writer(&db, writer_);
  Progress progress("load", "records",
                    plain_progress_ ? Progress::Style::kPlain : Progress::Style::kAuto);
  End end = ReadRecords(**source, writer, progress);
  status = writer.Finish();
  if (!status.ok()) end = End::kWriteError;
  const double seconds = progress.ElapsedSeconds();
  progress.Finish();
  if (writer_.acknowledge_fd >= 0) ::close(writer_.acknowledge_fd);
  publisher.reset();
  const int exit_code = Report(end, **source, writer, status, seconds);
  return exit_code == kExitOk ? CloseAndReturn(db, kExitOk) : exit_code;
}

LoadVerb::End LoadVerb::ReadRecords(RecordInput& source, BatchWriter& writer, Progress& progress) {
  const RecordReader::Outcome skipped = source.Skip(from_line_ - 1);
  next_line_ = from_line_;
  if (skipped == RecordReader::Outcome::kError) return End::kReadError;
  if (skipped == RecordReader::Outcome::kStopped) return End::kStopped;
  Record record;
  std::string problem;
  for (uint64_t step = 1;; ++step) {
    if (StopRequested()) return End::kStopped;
    RecordReader::Outcome outcome = source.Next(&record, &problem);
    switch (outcome) {
      case RecordReader::Outcome::kEnd:
        return End::kDone;
      case RecordReader::Outcome::kStopped:
        return End::kStopped;
      case RecordReader::Outcome::kError:
        return End::kReadError;
      case RecordReader::Outcome::kRecord:
        record.key.insert(0, prefix_);
        if (const Status fits = CheckRecordLimits(record); !fits.ok()) {
          problem = fits.message();
          outcome = RecordReader::Outcome::kBad;
        }
        break;
      case RecordReader::Outcome::kBad:
        break;
    }
    if (outcome == RecordReader::Outcome::kBad) {
      NoteBadRecord(fmt::format("{}:{}", source.name(), record.line), problem, progress);
      if (on_error_ == "stop") return End::kBadRecord;
    } else if (!writer.Add(std::move(record))) {
      return End::kWriteError;
    }
    next_line_ = source.line_number() + 1;
    if (step % kLoadProgressStep == 0) progress.Update(writer.written(), source.Share());
  }
}

void LoadVerb::NoteBadRecord(const std::string& where, const std::string& problem,
                             Progress& progress) {
  if (on_error_ == "stop") {
    bad_record_ = where + ": " + problem;
    return;
  }
  ++skipped_;
  if (skipped_ > kNamedBadRecords) return;
  progress.Clear();
  Fail(fmt::format("{}: {} (skipped)", where, problem));
  if (skipped_ == kNamedBadRecords) Fail("further bad records are counted, but not named");
}

std::string LoadVerb::GoOn(const RecordInput& source) const {
  if (file_ == "-") return fmt::format("go on with line {} of the input", next_line_);
  return fmt::format("go on with --from-line {}, or load '{}' again from its start", next_line_,
                     source.name());
}

int LoadVerb::Report(End end, const RecordInput& source, const BatchWriter& writer,
                     const Status& written, double seconds) {
  // The first lines that a failed write left out come before what was read last.
  if (const auto line = writer.first_unwritten_line()) next_line_ = std::min(next_line_, *line);
  const double rate = seconds > 0 ? static_cast<double>(writer.written()) / seconds : 0;
  Output out;
  if (json_) {
    const nlohmann::ordered_json object = {{"loaded", writer.written()},
                                           {"skipped", skipped_},
                                           {"seconds", seconds},
                                           {"complete", end == End::kDone},
                                           {"next_line", next_line_}};
    out.WriteLine(object.dump());
  } else {
    out.WriteLine(fmt::format("loaded {} in {} ({}/s), skipped {}",
                              Counted(writer.written(), "record"), DurationText(seconds),
                              GroupDigits(static_cast<uint64_t>(rate)), GroupDigits(skipped_)));
  }
  const int exit_code = out.Finish(end == End::kDone ? kExitOk : kExitError);
  switch (end) {
    case End::kDone:
      return exit_code;
    case End::kBadRecord:
      return Fail(
          fmt::format("{}; the records before it are loaded: fix it and {}, or leave bad "
                      "records out with --on-error skip",
                      bad_record_, GoOn(source)));
    case End::kStopped:
      return Fail(fmt::format("stopped by a signal; the records before line {} are loaded: {}",
                              next_line_, GoOn(source)));
    case End::kReadError:
      return Fail(source.status());
    case End::kWriteError:
      return Fail(fmt::format("{}; the records before line {} are loaded: fix this, then {}",
                              written.ToString(), next_line_, GoOn(source)));
  }
  return kExitError;
}

Status LoadVerb::OpenAcknowledgeFile(int* fd) const {
  if (acknowledge_.empty()) return Status::OK();
  *fd = ::open(acknowledge_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (*fd >= 0) return Status::OK();
  return Status::IOError(fmt::format("can't write '{}': {}: choose another file for --acknowledge",
                                     acknowledge_, std::strerror(errno)));
}

}  // namespace

std::unique_ptr<Verb> MakeLoadVerb() { return std::make_unique<LoadVerb>(); }

}  // namespace braid::tools
