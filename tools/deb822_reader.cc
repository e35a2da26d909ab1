// deb822: the control files of Debian (dpkg's status, a Packages file). A record is a stanza:
// "Field: text" lines, lines that start with a space or TAB and continue the field above, ended by
// a blank line. The value is the stanza as it is written, without comment lines (#) and without
// the last newline; the key is one of its fields.
#include <fmt/format.h>
#include <strings.h>

#include <utility>

#include "tools/record_reader.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

bool SameName(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

class Deb822Reader final : public RecordReader {
 public:
  Deb822Reader(std::string key_field, LineSource* source)
      : key_field_(std::move(key_field)), source_(source) {}

  Outcome Next(Record* record, std::string* problem) override {
    Begin(record);
    std::string_view line;
    while (true) {
      const LineSource::Outcome outcome = source_->Next(&line);
      if (outcome == LineSource::Outcome::kEnd) break;
      if (outcome != LineSource::Outcome::kLine) return FromSource(outcome);
      if (Trim(line).empty()) {
        if (record->line == 0) continue;  // blank lines before the stanza
        break;
      }
      if (line.front() == '#') continue;
      if (record->line == 0) record->line = source_->line_number();
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      if (problem_.empty()) TakeLine(line, record);
      record->value.append(line).push_back('\n');
    }
    if (record->line == 0) return Outcome::kEnd;
    record->value.pop_back();
    if (problem_.empty() && !found_key_) {
      problem_ = fmt::format("the stanza has no field '{}': add it, or name another with --key",
                             key_field_);
    } else if (problem_.empty() && record->key.empty()) {
      problem_ = fmt::format("the field '{}' is empty: give it a text", key_field_);
    }
    if (problem_.empty()) return Outcome::kRecord;
    if (problem_line_ != 0) record->line = problem_line_;
    *problem = problem_;
    return Outcome::kBad;
  }

 private:
  void Begin(Record* record) {
    *record = Record();
    problem_.clear();
    problem_line_ = 0;
    found_key_ = false;
    in_field_ = false;
    in_key_ = false;
  }

  void Problem(std::string text) {
    problem_ = std::move(text);
    problem_line_ = source_->line_number();
  }

  void TakeLine(std::string_view line, Record* record) {
    if (line.front() == ' ' || line.front() == '\t') {
      if (!in_field_) Problem("a continued line without a field above: start it with 'Field: '");
      if (in_key_) {
        Problem(
            fmt::format("the field '{}' goes over several lines and can't be a key: choose "
                        "another with --key",
                        key_field_));
      }
      return;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) {
      Problem(
          "no 'Field: text': add the colon, start a continued line with a space, or choose "
          "another --format");
      return;
    }
    in_field_ = true;
    in_key_ = SameName(line.substr(0, colon), key_field_);
    if (!in_key_) return;
    if (found_key_) {
      Problem(fmt::format("the field '{}' occurs twice: put a blank line between two stanzas",
                          key_field_));
    }
    found_key_ = true;
    record->key.assign(Trim(line.substr(colon + 1)));
  }

  const std::string key_field_;
  LineSource* const source_;
  std::string problem_;
  uint64_t problem_line_ = 0;
  bool found_key_ = false;
  bool in_field_ = false;
  bool in_key_ = false;
};

}  // namespace

std::unique_ptr<RecordReader> MakeDeb822Reader(std::string key_field, LineSource* source) {
  return std::make_unique<Deb822Reader>(std::move(key_field), source);
}

}  // namespace braid::tools
