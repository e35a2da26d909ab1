#include "crash/held_iterator.h"

namespace braid::crash {

std::string HeldIterator::Look() const {
  if (!iterator_->status().ok()) return "a held iterator: " + iterator_->status().ToString();
  const bool valid = at_ != content_.end();
  if (iterator_->Valid() != valid) {
    return valid ? "a held iterator has lost " + Readable(at_->first)
                 : "a held iterator shows " + Readable(iterator_->key()) + " instead of its end";
  }
  if (!valid || (iterator_->key() == at_->first && iterator_->value() == at_->second)) return {};
  return "a held iterator shows " + Readable(iterator_->key()) + " = " +
         Readable(iterator_->value()) + " instead of " + Readable(at_->first) + " = " +
         Readable(at_->second);
}

void HeldIterator::MoveOnce(Random* random) {
  const auto back_from = [&](Content::const_iterator place) {
    return place == content_.begin() ? content_.end() : std::prev(place);
  };
  if (at_ == content_.end() || random->OneIn(4)) {
    const bool forward = random->OneIn(2);
    forward ? iterator_->SeekToFirst() : iterator_->SeekToLast();
    at_ = forward ? content_.begin() : back_from(content_.end());
  } else if (random->OneIn(3)) {
    iterator_->Prev();
    at_ = back_from(at_);
  } else {
    iterator_->Next();
    ++at_;
  }
}

std::string HeldIterator::Move(Random* random) {
  std::string wrong = Look();
  for (uint64_t moves = 1 + random->Uniform(6); moves > 0 && wrong.empty(); --moves) {
    MoveOnce(random);
    wrong = Look();
  }
  return wrong;
}

}  // namespace braid::crash
