// Purpose: iterators over nothing that say why: for a closed database, for an engine that stores
// nothing, and where there was no memory for another one.
// Thread safety: one thread at a time.
// Persistence: none.
#pragma once

#include <functional>

#include "braid/db.h"

namespace braid::engine {

/// All but the status.
class EmptyIterator : public Iterator {
 public:
  bool Valid() const override { return false; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(Slice) override {}
  void SeekForPrev(Slice) override {}
  void Next() override {}
  void Prev() override {}
  Slice key() const override { return {}; }
  Slice value() const override { return {}; }
};

/// With a status that is asked for when it is wanted.
class StatusIterator final : public EmptyIterator {
 public:
  explicit StatusIterator(std::function<Status()> status) : status_(std::move(status)) {}
  Status status() const override { return status_(); }

 private:
  std::function<Status()> status_;
};

}  // namespace braid::engine
