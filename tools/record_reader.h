// Formats that `load` reads. One reader a format; each turns lines into records and says of a bad
// record where it is, what is wrong and what to do.
//
// Thread safety: one thread.
// Persistence: none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "braid/status.h"
#include "tools/line_source.h"

namespace braid::tools {

struct Record {
  std::string key;
  std::string value;
  uint64_t line = 0;  ///< where the record begins
};

class RecordReader {
 public:
  enum class Outcome : uint8_t {
    kRecord,
    kBad,  ///< *problem says why; the next call goes on behind the bad record
    kEnd,
    kStopped,  ///< a signal asked to stop
    kError,    ///< the input can't be read on: source status
  };

  virtual ~RecordReader() = default;
  /// The next record. After kBad, record->line is the line that is at fault.
  virtual Outcome Next(Record* record, std::string* problem) = 0;
};

struct ReaderSettings {
  std::string format = "tsv";            ///< tsv, jsonl or deb822
  bool hex = false;                      ///< tsv: key and value are hex digits
  std::string key_field = "key";         ///< jsonl
  std::string value_field = "value";     ///< jsonl; "." is the whole line
  std::string deb822_field = "Package";  ///< deb822: the field that is the key
};

/// `source` must outlive the reader. InvalidArgument when the settings don't fit together.
Result<std::unique_ptr<RecordReader>> MakeRecordReader(const ReaderSettings& settings,
                                                       LineSource* source);
std::unique_ptr<RecordReader> MakeTsvReader(bool hex, LineSource* source);
std::unique_ptr<RecordReader> MakeJsonlReader(std::string key_field, std::string value_field,
                                              LineSource* source);
std::unique_ptr<RecordReader> MakeDeb822Reader(std::string key_field, LineSource* source);

/// What a reader returns when its source has no line for it.
RecordReader::Outcome FromSource(LineSource::Outcome outcome);

/// A member of a JSON object and its value as it is written there.
struct JsonMember {
  std::string name;
  std::string_view value;
};
/// The members of the object `text`, in order. InvalidArgument says what is wrong with it.
Status SplitJsonObject(std::string_view text, std::vector<JsonMember>* members);

}  // namespace braid::tools
