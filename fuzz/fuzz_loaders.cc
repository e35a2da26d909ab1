// Text as `braid load` and the command line take it: tsv, jsonl and deb822 records, escapes, hex,
// sizes, ranges. What is read must be in bounds and come back from its own printed form.
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "fuzz_common.h"
#include "tools/key_range_flags.h"
#include "tools/line_source.h"
#include "tools/record_reader.h"
#include "tools/text_format.h"

namespace braid::fuzz {
namespace {

/// A file with these bytes that is gone with this object.
class TextFile {
 public:
  explicit TextFile(std::string_view bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    Require(fd_ >= 0, "no file in memory");
    Require(::write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
            "a file in memory can't be written");
  }
  ~TextFile() { ::close(fd_); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

void ReadRecords(const tools::ReaderSettings& settings, std::string_view text) {
  const TextFile file(text);
  Result<tools::LineSource> source = tools::LineSource::Open(file.path());
  Require(source.ok(), "a file in memory can't be opened");
  auto made = tools::MakeRecordReader(settings, &*source);
  if (!made.ok()) return;
  tools::Record record;
  std::string problem;
  size_t outcomes = 0;
  uint64_t line = 0;
  for (;;) {
    problem.clear();
    const tools::RecordReader::Outcome outcome = (*made)->Next(&record, &problem);
    if (outcome == tools::RecordReader::Outcome::kEnd) break;
    Require(outcome == tools::RecordReader::Outcome::kRecord ||
                outcome == tools::RecordReader::Outcome::kBad,
            "a file in memory gives an error of reading");
    Require(outcome == tools::RecordReader::Outcome::kRecord || !problem.empty(),
            "a bad record without a reason");
    Require(record.line >= line, "lines are counted backwards");
    line = record.line;
    Require(++outcomes <= text.size() + 1, "more records than bytes");
  }
}

/// A record that is printed the way `scan` prints it reads back as it was.
void PrintAndRead(std::string_view key, std::string_view value) {
  const std::string line = tools::EscapeText(key) + "\t" + tools::EscapeText(value) + "\n";
  if (line.size() == 2) return;
  const TextFile file(line);
  Result<tools::LineSource> source = tools::LineSource::Open(file.path());
  Require(source.ok(), "a file in memory can't be opened");
  const auto reader = tools::MakeTsvReader(false, &*source);
  tools::Record record;
  std::string problem;
  Require(reader->Next(&record, &problem) == tools::RecordReader::Outcome::kRecord,
          "what scan prints is not read");
  Require(record.key == key && record.value == value, "what scan prints is read as another record");
}

void CheckText(std::string_view text) {
  std::string bytes;
  (void)tools::UnescapeText(text, &bytes);
  bytes.clear();
  Require(tools::UnescapeText(tools::EscapeText(text), &bytes).ok() && bytes == text,
          "escaped text does not come back");
  (void)tools::EscapeForTerminal(text);
  bytes.clear();
  Require(tools::DecodeHex(tools::EncodeHex(text), &bytes).ok() && bytes == text,
          "hex does not come back");
  bytes.clear();
  (void)tools::DecodeHex(text, &bytes);
  (void)tools::ParseBytes(text, (text.size() & 1) != 0, &bytes);
  std::string json = "{";
  tools::AppendJsonField("f", text, false, &json);
  json += "}";
  std::vector<tools::JsonMember> members;
  Require(tools::SplitJsonObject(json, &members).ok() && members.size() == 1,
          "a JSON field that was printed is not read");
  members.clear();
  (void)tools::SplitJsonObject(text, &members);
  if (const auto size = tools::ParseSize(text)) {
    (void)tools::SizeText(*size);
    (void)tools::GroupDigits(*size);
  }
  if (const auto end = tools::PrefixEnd(text)) {
    Require(*end > text, "the end of a prefix lies before it");
  }
  const std::string cut = tools::Shortened(text, 20);
  Require(cut.size() <= 20 + 3, "a shortened text is longer than allowed");
  if (text.size() <= 200) (void)tools::EditDistance(text, "verify");
}

}  // namespace
}  // namespace braid::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace braid::fuzz;
  Input input(data, size);
  const uint8_t how = input.Byte();
  const std::string_view text = input.Bytes(input.left());
  braid::tools::ReaderSettings settings;
  switch (how % 5) {
    case 0:
    case 1:
      settings.hex = how % 5 == 1;
      break;
    case 2:
      settings.format = "jsonl";
      if ((how & 0x80) != 0) settings.value_field = ".";
      break;
    case 3:
      settings.format = "deb822";
      break;
    default:
      CheckText(text);
      PrintAndRead(text.substr(0, text.size() / 2), text.substr(text.size() / 2));
      return 0;
  }
  ReadRecords(settings, text);
  return 0;
}
