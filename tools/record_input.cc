#include "tools/record_input.h"

#include <fmt/format.h>

#include <utility>

#include "braid/options.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

class TextInput final : public RecordInput {
 public:
  explicit TextInput(LineSource&& source) : source_(std::move(source)) {}
  Status Begin(const ReaderSettings& settings) {
    auto reader = MakeRecordReader(settings, &source_);
    if (!reader.ok()) return reader.status();
    reader_ = std::move(reader).value();
    return Status::OK();
  }

  RecordReader::Outcome Next(Record* record, std::string* problem) override {
    return reader_->Next(record, problem);
  }
  RecordReader::Outcome Skip(uint64_t lines) override {
    const LineSource::Outcome outcome = source_.Skip(lines);
    return outcome == LineSource::Outcome::kLine ? RecordReader::Outcome::kEnd
                                                 : FromSource(outcome);
  }
  const Status& status() const override { return source_.status(); }
  const std::string& name() const override { return source_.name(); }
  uint64_t line_number() const override { return source_.line_number(); }
  double Share() const override { return source_.Share(); }

 private:
  LineSource source_;
  std::unique_ptr<RecordReader> reader_;
};

}  // namespace

Result<std::unique_ptr<RecordInput>> OpenRecordInput(const ReaderSettings& settings,
                                                     const std::string& path) {
  if (settings.format == "sst") {
    if (settings.hex) return Status::InvalidArgument("--hex is for --format tsv: an SST is binary");
    if (path == "-") return Status::InvalidArgument("an SST can't come from stdin: name a FILE");
    return OpenSstInput(path);
  }
  Result<LineSource> source = LineSource::Open(path);
  if (!source.ok()) return source.status();
  auto input = std::make_unique<TextInput>(std::move(source).value());
  if (Status status = input->Begin(settings); !status.ok()) return status;
  return std::unique_ptr<RecordInput>(std::move(input));
}

void AddReaderFlags(CLI::App& app, ReaderSettings* settings) {
  app.add_option("--format", settings->format, "tsv (default), jsonl, deb822 or sst")
      ->type_name("NAME")
      ->check(CLI::IsMember({"tsv", "jsonl", "deb822", "sst"}));
  app.add_option("--key-field", settings->key_field, "jsonl: field that is the key; default: key")
      ->type_name("FIELD");
  app.add_option("--value-field", settings->value_field,
                 "jsonl: field that is the value, . for the whole object; default: value")
      ->type_name("FIELD");
  app.add_option("--key", settings->deb822_field, "deb822: field that is the key; default: Package")
      ->type_name("FIELD");
  app.add_flag("--hex", settings->hex, "tsv: keys and values are hex digits");
}

Status CheckRecordLimits(const Record& record) {
  if (record.key.size() > kMaxKeyBytes) {
    return Status::InvalidArgument(fmt::format("the key has {} bytes, more than {}: shorten it",
                                               GroupDigits(record.key.size()),
                                               GroupDigits(kMaxKeyBytes)));
  }
  if (record.value.size() > kMaxValueBytes) {
    return Status::InvalidArgument(fmt::format("the value has {} bytes, more than {}: split it",
                                               GroupDigits(record.value.size()),
                                               GroupDigits(kMaxValueBytes)));
  }
  return Status::OK();
}

}  // namespace braid::tools
