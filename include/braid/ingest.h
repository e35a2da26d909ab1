// Purpose: the arguments and results of DB::Ingest.
#pragma once

#include <cstdint>
#include <functional>

#include "braid/status.h"

namespace braid {

/// Where DB::Ingest gets its records from. Used by one thread, that of the call. Must not call back
/// into the database.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// The next record; false when there is none, or when reading it failed: status() tells which.
  /// Both slices stay until the next call.
  virtual bool Next(Slice* key, Slice* value) = 0;
  /// ok, or why Next ended before the end.
  virtual Status status() const = 0;
};

/// How records are loaded.
struct IngestOptions {
  /// Keys come strictly ascending, in the order of the database; one that does not ends the call.
  bool sorted = false;
  /// Called now and then with the number of records read; may be empty.
  std::function<void(uint64_t records)> progress;
};

/// What DB::Ingest has done.
struct IngestReport {
  uint64_t records = 0;  ///< in the store now, by this call; of equal keys in one run the last
  uint64_t bytes = 0;    ///< of their keys and values
};

}  // namespace braid
