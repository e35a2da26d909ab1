// Where `dump` writes: a file that takes its name when it is whole, or stdout.
//
// Thread safety: one thread.
// Invariants:
//   1. Under the file's name there is what was there before, or the whole of what was written; a
//      dump that fails or is stopped leaves neither a part of it nor anything beside it.
// Persistence: the bytes of the file are synced before it takes its name, and its folder after
// that. stdout is not synced.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "braid/status.h"

namespace braid::tools {

class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// Keys come in ascending order.
  virtual Status Add(Slice key, Slice value) = 0;
  /// True when nobody reads what is written any more (`braid dump POOL | head`).
  virtual bool reader_is_gone() const { return false; }
  /// Bytes written so far.
  virtual uint64_t bytes() const = 0;
  /// Completes the file. Without it, what was written is thrown away.
  virtual Status Finish() = 0;
};

struct SinkSettings {
  std::string format = "tsv";  ///< tsv, jsonl or sst
  std::string path;            ///< "-" is stdout
  bool hex = false;            ///< text: hex digits
  bool overwrite = false;      ///< a file that is there is replaced
};

/// InvalidArgument when the settings don't go together or the file is there, NotSupported when this
/// braid was built without the format.
Result<std::unique_ptr<RecordSink>> MakeRecordSink(const SinkSettings& settings);

/// The name that a file has until it is whole.
std::string PartialPath(const std::string& path);
/// Gives the file at PartialPath(path) its name: synced, and without a moment in which it is half.
Status PublishFile(const std::string& path);

/// Files of RocksDB. NotSupported when braid was built without it.
Result<std::unique_ptr<RecordSink>> MakeSstSink(const std::string& path);

}  // namespace braid::tools
