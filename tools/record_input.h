// A file of records in any of the formats that `load` and `ingest` read.
//
// Thread safety: one thread.
// Persistence: none.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tools/record_reader.h"

namespace braid::tools {

class RecordInput {
 public:
  virtual ~RecordInput() = default;
  /// The next record; see RecordReader. kError: see status().
  virtual RecordReader::Outcome Next(Record* record, std::string* problem) = 0;
  /// Leaves out so many lines, or records where the format has no lines. kEnd also when there were
  /// fewer.
  virtual RecordReader::Outcome Skip(uint64_t lines) = 0;
  virtual const Status& status() const = 0;
  /// Name for messages.
  virtual const std::string& name() const = 0;
  /// Number of the line (or record) that was read last, from 1; 0 before.
  virtual uint64_t line_number() const = 0;
  /// Share that was read, 0 to 1; negative when it is not known.
  virtual double Share() const = 0;
};

/// "-" is stdin. Errors: IOError, InvalidArgument (the settings don't go together), Corruption (no
/// file of that format), NotSupported (built without the format).
Result<std::unique_ptr<RecordInput>> OpenRecordInput(const ReaderSettings& settings,
                                                     const std::string& path);
/// Tables of RocksDB; `path` is no "-".
Result<std::unique_ptr<RecordInput>> OpenSstInput(const std::string& path);

/// The options that say how a file is read.
void AddReaderFlags(CLI::App& app, ReaderSettings* settings);
/// What the formats are, for a footer; ends with an empty line.
inline constexpr std::string_view kFormatsText =
    "tsv     KEY, TAB, VALUE with \\t \\n \\r \\\\ and \\xHH, as 'scan' prints it\n"
    "jsonl   {\"key\":...,\"value\":...} a line, as 'scan --json' prints it; a value\n"
    "        that is no string is stored as its JSON text; key_hex and value_hex hold\n"
    "        other bytes\n"
    "deb822  Debian control files; the value is the stanza as it is written\n"
    "sst     a table of RocksDB, where braid was built with it\n"
    "\n";

/// InvalidArgument when the record is beyond what a pool takes.
Status CheckRecordLimits(const Record& record);

}  // namespace braid::tools
