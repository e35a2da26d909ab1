// Purpose: an iterator that walks a tree of keys and looks their values up.
// Thread safety, persistence: see compared_iterator.h. The comparator is code of the caller, that
// may throw: every call of it stands inside CatchToStatus.
#include "db/compared_iterator.h"

#include <optional>
#include <string>
#include <utility>

#include "base/no_throw.h"

namespace braid {

namespace {

std::optional<std::string> BoundOf(const std::optional<Slice>& slice,
                                   const std::optional<std::string>& bound) {
  return slice ? std::optional<std::string>(*slice) : bound;
}
std::optional<std::string> LowerOf(const ReadOptions& options) {
  return BoundOf(options.lower_slice, options.lower_bound);
}
std::optional<std::string> UpperOf(const ReadOptions& options) {
  return BoundOf(options.upper_slice, options.upper_bound);
}

class ComparedIterator final : public Iterator {
 public:
  ComparedIterator(std::shared_ptr<DB> below, std::shared_ptr<const Comparator> comparator,
                   const ReadOptions& options)
      : below_(std::move(below)),
        comparator_(std::move(comparator)),
        lower_(LowerOf(options)),
        upper_(UpperOf(options)) {
    if (options.snapshot != nullptr) {
      Show(options.snapshot);
    } else {
      // One that could not be made makes the iterators say why.
      Show(below_->GetSnapshot().get());
    }
  }

  bool Valid() const override { return valid_ && values_->Valid(); }
  void SeekToFirst() override {
    Move(true, [&] { return lower_ ? cursor_->Seek(*lower_) : cursor_->SeekToFirst(); });
  }
  void SeekToLast() override {
    Move(false, [&] { return ToLast(); });
  }
  void Seek(Slice target) override {
    Move(true, [&] {
      const bool is_below = lower_ && comparator_->Compare(target, *lower_) < 0;
      return cursor_->Seek(is_below ? Slice(*lower_) : target);
    });
  }
  void SeekForPrev(Slice target) override {
    Move(false, [&] {
      const bool is_beyond = upper_ && comparator_->Compare(target, *upper_) >= 0;
      return is_beyond ? ToLast() : cursor_->SeekForPrev(target);
    });
  }
  void Next() override {
    if (valid_) Move(true, [&] { return cursor_->Next(); });
  }
  void Prev() override {
    if (valid_) Move(false, [&] { return cursor_->Prev(); });
  }
  Slice key() const override { return cursor_->key(); }
  Slice value() const override { return values_->value(); }
  Status status() const override {
    for (const Iterator* below : {nodes_.get(), values_.get()}) {
      if (Status s = below->status(); !s.ok()) return s;
    }
    return status_;
  }
  Status Refresh() override {
    return base::CatchToStatus([&] {
      std::shared_ptr<const Snapshot> now;
      if (Status s = below_->GetSnapshot(&now); !s.ok()) return s;
      Show(now.get());
      valid_ = false;
      status_ = Status::OK();
      return Status::OK();
    });
  }

 private:
  /// Walks the tree and the values of one moment from now on; null: of two.
  void Show(const Snapshot* moment) {
    ReadOptions at;
    at.snapshot = moment;
    std::unique_ptr<Iterator> nodes = below_->NewIterator(at);
    std::unique_ptr<Iterator> values = below_->NewIterator(at);
    cursor_.emplace(comparator_.get(), NodesOf(nodes.get()));
    nodes_ = std::move(nodes);
    values_ = std::move(values);
  }
  Status ToLast() { return upper_ ? cursor_->SeekForPrev(*upper_, true) : cursor_->SeekToLast(); }
  bool IsWithin() const {
    if (lower_ && comparator_->Compare(cursor_->key(), *lower_) < 0) return false;
    return !upper_ || comparator_->Compare(cursor_->key(), *upper_) < 0;
  }
  /// Moves, and on in that direction to a key that has a value.
  template <class Step>
  void Move(bool forward, Step&& step) noexcept {
    valid_ = false;
    status_ = base::CatchToStatus([&] {
      Status s = step();
      while (s.ok() && cursor_->Valid() && IsWithin()) {
        const std::string at = ValueKey(cursor_->key());
        values_->Seek(at);
        if (!values_->status().ok()) break;
        if (values_->Valid() && values_->key() == at) {
          valid_ = true;
          break;
        }
        // A comparator that is no order has left the key behind.
        s = forward ? cursor_->Next() : cursor_->Prev();
      }
      return s;
    });
    if (!status_.ok()) valid_ = false;
  }

  const std::shared_ptr<DB> below_;
  const std::shared_ptr<const Comparator> comparator_;
  const std::optional<std::string> lower_;
  const std::optional<std::string> upper_;
  std::unique_ptr<Iterator> nodes_;
  std::unique_ptr<Iterator> values_;
  std::optional<TreeCursor> cursor_;  // walks nodes_
  bool valid_ = false;
  Status status_;
};

}  // namespace

NodeReader NodesOf(Iterator* nodes) {
  return [nodes](uint64_t id, std::string* bytes) {
    const std::string at = NodeKey(id);
    nodes->Seek(at);
    if (Status s = nodes->status(); !s.ok()) return s;
    if (!nodes->Valid() || nodes->key() != at) return Status::NotFound();
    bytes->assign(nodes->value());
    return Status::OK();
  };
}

std::unique_ptr<Iterator> NewComparedIterator(std::shared_ptr<DB> below,
                                              std::shared_ptr<const Comparator> comparator,
                                              const ReadOptions& options) {
  return std::make_unique<ComparedIterator>(std::move(below), std::move(comparator), options);
}

}  // namespace braid
