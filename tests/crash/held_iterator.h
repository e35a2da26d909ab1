// An iterator that is kept open while the database moves on, and what it must show.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/random.h"
#include "braid/db.h"
#include "crash/oracle.h"

namespace braid::crash {

class HeldIterator {
 public:
  /// `content`: of the view that `options` name.
  HeldIterator(DB* db, const ReadOptions& options, const Content& content)
      : content_(content), at_(content_.end()), iterator_(db->NewIterator(options)) {}
  HeldIterator(const HeldIterator&) = delete;
  HeldIterator& operator=(const HeldIterator&) = delete;

  /// Looks at what it stands on, makes a few moves at random, and looks after each. Empty when all
  /// is well.
  std::string Move(Random* random);

 private:
  std::string Look() const;
  void MoveOnce(Random* random);

  Content content_;
  Content::const_iterator at_;  // where the iterator should be; end: not valid
  std::unique_ptr<Iterator> iterator_;
};

}  // namespace braid::crash
