// JSON lines: an object a line. A field that is a string is stored as its text; any other value is
// stored as it is written in the file, so that no digit of a number is lost. NAME_hex, a string
// of hex digits, stands for NAME when that holds bytes that are not UTF-8; `braid scan --json`
// writes it so.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "tools/record_reader.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

using nlohmann::json;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void SkipSpace(std::string_view text, size_t* at) {
  while (*at < text.size() && IsSpace(text[*at])) ++*at;
}

// Moves behind the string that starts at `*at`.
void SkipString(std::string_view text, size_t* at) {
  for (++*at; text[*at] != '"'; ++*at) {
    if (text[*at] == '\\') ++*at;
  }
  ++*at;
}

// Moves behind the value that starts at `*at`.
void SkipValue(std::string_view text, size_t* at) {
  int depth = 0;
  while (true) {
    const char c = text[*at];
    if (c == '"') {
      SkipString(text, at);
    } else if (c == '{' || c == '[') {
      ++depth;
      ++*at;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return;
      --depth;
      ++*at;
    } else if (depth == 0 && (c == ',' || IsSpace(c))) {
      return;
    } else {
      ++*at;
      continue;
    }
    if (depth == 0) return;
  }
}

// What nlohmann says, without its error number and its line, which is always the first.
std::string ParseProblem(const json::parse_error& error) {
  std::string text = error.what();
  if (const size_t bracket = text.find("] "); bracket != std::string::npos) {
    text.erase(0, bracket + 2);
  }
  if (const size_t line = text.find("line 1, "); line != std::string::npos) text.erase(line, 8);
  return Shortened(text, 160);
}

class JsonlReader final : public RecordReader {
 public:
  JsonlReader(std::string key_field, std::string value_field, LineSource* source)
      : key_field_(std::move(key_field)), value_field_(std::move(value_field)), source_(source) {}

  Outcome Next(Record* record, std::string* problem) override {
    std::string_view line;
    size_t start = 0;
    do {
      const LineSource::Outcome outcome = source_->Next(&line);
      if (outcome != LineSource::Outcome::kLine) return FromSource(outcome);
      start = 0;
      SkipSpace(line, &start);
    } while (start == line.size());
    record->line = source_->line_number();
    line.remove_prefix(start);
    while (IsSpace(line.back())) line.remove_suffix(1);
    Status status = SplitJsonObject(line, &members_);
    if (status.ok()) status = Field(key_field_, "--key-field", true, &record->key);
    if (status.ok()) {
      if (value_field_ == ".") {
        record->value.assign(line);
      } else {
        status = Field(value_field_, "--value-field", false, &record->value);
      }
    }
    if (!status.ok()) problem->assign(status.message());
    return status.ok() ? Outcome::kRecord : Outcome::kBad;
  }

 private:
  Status Find(const std::string& name, const JsonMember** found) const {
    *found = nullptr;
    for (const JsonMember& member : members_) {
      if (member.name != name) continue;
      if (*found != nullptr) {
        return Status::InvalidArgument(
            fmt::format("the field \"{}\" occurs twice: keep one of the two", name));
      }
      *found = &member;
    }
    return Status::OK();
  }

  Status Field(const std::string& name, const char* option, bool is_key, std::string* bytes) const {
    const JsonMember* member = nullptr;
    if (Status status = Find(name, &member); !status.ok()) return status;
    if (member != nullptr) {
      const char first = member->value.front();
      if (first == '"') {
        *bytes = json::parse(member->value).get<std::string>();
      } else if (is_key && first != '-' && (first < '0' || first > '9')) {
        return Status::InvalidArgument(
            fmt::format("the field \"{}\" is not a string or number and can't be a key: choose "
                        "another field with --key-field",
                        name));
      } else {
        bytes->assign(member->value);
      }
      return Status::OK();
    }
    if (Status status = Find(name + "_hex", &member); !status.ok()) return status;
    if (member == nullptr) {
      return Status::InvalidArgument(
          fmt::format("no field \"{}\": add it, or name another with {}", name, option));
    }
    const json digits = json::parse(member->value);
    if (!digits.is_string()) {
      return Status::InvalidArgument(fmt::format("\"{}_hex\" is not a string of hex digits", name));
    }
    return DecodeHex(digits.get<std::string>(), bytes);
  }

  const std::string key_field_;
  const std::string value_field_;
  LineSource* const source_;
  std::vector<JsonMember> members_;
};

}  // namespace

Status SplitJsonObject(std::string_view text, std::vector<JsonMember>* members) {
  members->clear();
  try {
    if (!json::parse(text).is_object()) {
      return Status::InvalidArgument(
          "not a JSON object: write {\"key\":...,\"value\":...} on a line");
    }
  } catch (const json::parse_error& error) {
    return Status::InvalidArgument(
        fmt::format("not valid JSON ({}): write one object a line", ParseProblem(error)));
  }
  // The text is valid from here on, so the walk needs no checks of its own.
  size_t at = text.find('{') + 1;
  while (true) {
    SkipSpace(text, &at);
    if (text[at] == '}') return Status::OK();
    if (text[at] == ',') {
      ++at;
      continue;
    }
    const size_t name_start = at;
    SkipString(text, &at);
    const std::string_view name = text.substr(name_start, at - name_start);
    at = text.find(':', at) + 1;
    SkipSpace(text, &at);
    const size_t value_start = at;
    SkipValue(text, &at);
    members->push_back(
        {json::parse(name).get<std::string>(), text.substr(value_start, at - value_start)});
  }
}

std::unique_ptr<RecordReader> MakeJsonlReader(std::string key_field, std::string value_field,
                                              LineSource* source) {
  return std::make_unique<JsonlReader>(std::move(key_field), std::move(value_field), source);
}

}  // namespace braid::tools
