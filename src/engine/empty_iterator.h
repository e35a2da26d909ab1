// Purpose: an iterator over nothing, with a status: for a closed database, and for an engine that
// stores nothing. Thread safety: one thread at a time. Persistence: none.
#pragma once

#include <functional>

#include "braid/db.h"

namespace braid::engine {

class EmptyIterator final : public Iterator {
 public:
  explicit EmptyIterator(std::function<Status()> status) : status_(std::move(status)) {}
  bool Valid() const override { return false; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(Slice) override {}
  void SeekForPrev(Slice) override {}
  void Next() override {}
  void Prev() override {}
  Slice key() const override { return {}; }
  Slice value() const override { return {}; }
  Status status() const override { return status_(); }

 private:
  std::function<Status()> status_;
};

}  // namespace braid::engine
