// TSV: KEY, TAB, VALUE, newline, with the escapes of text_format.h; what `braid scan` prints.
// Blank lines are skipped, and a carriage return before the newline is dropped: `scan` writes one
// that belongs to the value as \r.
#include <fmt/format.h>

#include "tools/record_reader.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

class TsvReader final : public RecordReader {
 public:
  TsvReader(bool hex, LineSource* source) : hex_(hex), source_(source) {}

  Outcome Next(Record* record, std::string* problem) override {
    std::string_view line;
    do {
      const LineSource::Outcome outcome = source_->Next(&line);
      if (outcome != LineSource::Outcome::kLine) return FromSource(outcome);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    } while (line.empty());
    record->line = source_->line_number();
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos) {
      *problem = "no TAB between key and value: write KEY, TAB, VALUE, or choose another --format";
      return Outcome::kBad;
    }
    const std::string_view value = line.substr(tab + 1);
    if (value.find('\t') != std::string_view::npos) {
      *problem = "a second TAB: write a TAB that belongs to the value as \\t";
      return Outcome::kBad;
    }
    return Decode("key", line.substr(0, tab), &record->key, problem) &&
                   Decode("value", value, &record->value, problem)
               ? Outcome::kRecord
               : Outcome::kBad;
  }

 private:
  bool Decode(const char* what, std::string_view text, std::string* bytes, std::string* problem) {
    const Status status = hex_ ? DecodeHex(text, bytes) : UnescapeText(text, bytes);
    if (!status.ok()) *problem = fmt::format("in the {}: {}", what, status.message());
    return status.ok();
  }

  const bool hex_;
  LineSource* const source_;
};

}  // namespace

std::unique_ptr<RecordReader> MakeTsvReader(bool hex, LineSource* source) {
  return std::make_unique<TsvReader>(hex, source);
}

RecordReader::Outcome FromSource(LineSource::Outcome outcome) {
  switch (outcome) {
    case LineSource::Outcome::kStopped:
      return RecordReader::Outcome::kStopped;
    case LineSource::Outcome::kError:
      return RecordReader::Outcome::kError;
    default:
      return RecordReader::Outcome::kEnd;
  }
}

Result<std::unique_ptr<RecordReader>> MakeRecordReader(const ReaderSettings& settings,
                                                       LineSource* source) {
  if (settings.hex && settings.format != "tsv") {
    return Status::InvalidArgument(
        "--hex is for --format tsv: in jsonl write key_hex and value_hex instead");
  }
  if (settings.format == "tsv") return MakeTsvReader(settings.hex, source);
  if (settings.format == "jsonl") {
    return MakeJsonlReader(settings.key_field, settings.value_field, source);
  }
  if (settings.format == "deb822") return MakeDeb822Reader(settings.deb822_field, source);
  return Status::InvalidArgument(
      fmt::format("unknown format '{}': choose --format tsv, jsonl or deb822", settings.format));
}

}  // namespace braid::tools
