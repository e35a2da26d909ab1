// Purpose: Iterator and RawIterator. Thread safety: any thread; one moves the cursor at a time.
// Persistence: none.
#include "objects.h"

namespace braid::python {

std::optional<std::string> Behind(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

namespace {
using nb::literals::operator""_a;
constexpr char kClosed[] = "Database or iterator is closed";

/// The first key behind `key`.
std::string After(const std::string& key) { return key + '\0'; }

[[noreturn]] void RaiseInvalid() {
  RaiseNamed("IteratorInvalidError", "the iterator does not stand on an entry");
}

}  // namespace

Range MakeRange(const std::string& db_prefix, bool reverse, const std::optional<nb::bytes>& start,
                const std::optional<nb::bytes>& stop, bool include_start, bool include_stop,
                const std::optional<nb::bytes>& prefix, bool include_key, bool include_value) {
  if (prefix && (start || stop)) {
    throw nb::type_error("'prefix' cannot be used together with 'start' or 'stop'");
  }
  Range range;
  range.prefix = db_prefix;
  range.reverse = reverse;
  range.keys = include_key;
  range.values = include_value;
  const std::string common = db_prefix + (prefix ? std::string(SliceOf(*prefix)) : std::string());
  if (!common.empty()) range.bounds.lower_bound = common;
  range.bounds.upper_bound = Behind(common);
  if (start) {
    const std::string first = db_prefix + std::string(SliceOf(*start));
    range.bounds.lower_bound = include_start ? first : After(first);
  }
  if (stop) {
    const std::string last = db_prefix + std::string(SliceOf(*stop));
    range.bounds.upper_bound = include_stop ? After(last) : last;
  }
  return range;
}

// ---- Cursor ----------------------------------------------------------------------------------

Cursor::Cursor(HandlePtr handle, const ReadOptions& options) : handle_(std::move(handle)) {
  DB* const db = handle_->Use(kClosed);
  {
    const WithoutGil others;
    iterator_ = db->NewIterator(options);
  }
  Status s = iterator_->status();
  if (!s.ok()) {
    Drop();
    Check(s);
  }
}

void Cursor::Drop() {
  if (iterator_ == nullptr) return;
  if (!handle_->own_process()) {
    (void)iterator_.release();  // it is the parent's, with the locks it may hold
    return;
  }
  const WithoutGil others;
  iterator_.reset();
}

void Cursor::CheckNotInside() const {
  if (owner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
    RaiseNamed("Error", "the iterator is in the middle of a call of this thread");
  }
}

void Cursor::Close() {
  if (!handle_->own_process()) {
    Drop();
    return;
  }
  CheckNotInside();
  std::unique_ptr<Iterator> last;
  {
    const WithoutGil others;
    const std::lock_guard<std::mutex> turn(mutex_);
    last = std::move(iterator_);
    last.reset();
  }
}

Cursor::Turn::Turn(Cursor* cursor) : cursor_(cursor), lock_(cursor->mutex_, std::defer_lock) {
  (void)cursor->handle_->Use(kClosed);
  cursor->CheckNotInside();
  if (!lock_.try_lock()) {
    const WithoutGil others;
    lock_.lock();
  }
  if (cursor->iterator_ == nullptr) RaiseNamed("ClosedError", kClosed);
  cursor->owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
}

void Cursor::Turn::CheckStatus() const {
  const Status s = cursor_->iterator_->status();
  if (s.IsClosed()) RaiseNamed("ClosedError", kClosed);
  Check(s);
}

// What was read is only good if the pool was not closed, and so perhaps opened by another, before.
void Cursor::Turn::CheckStill() const {
  if (cursor_->iterator_->Valid()) [[likely]]
    return;
  CheckStatus();
  RaiseInvalid();
}

nb::bytes Cursor::Turn::Key(size_t prefix_bytes) const {
  CheckStill();
  nb::bytes key = BytesOf(cursor_->iterator_->key().substr(prefix_bytes));
  CheckStill();
  return key;
}

nb::bytes Cursor::Turn::Value() const {
  CheckStill();
  nb::bytes value = BytesOf(cursor_->iterator_->value());
  CheckStill();
  return value;
}

// ---- Iterator --------------------------------------------------------------------------------

IteratorObject::IteratorObject(HandlePtr handle, Range range)
    : range_(std::move(range)),
      cursor_(std::move(handle), range_.bounds),
      where_(range_.reverse ? Where::kBehindLast : Where::kBeforeFirst) {
  range_.bounds.snapshot = nullptr;  // the cursor has what it needs of it
}

void IteratorObject::Place(Where where) {
  const Cursor::Turn turn(&cursor_);
  where_ = where;
}

void IteratorObject::Seek(const nb::bytes& target) {
  const std::string key = range_.prefix + std::string(SliceOf(target));
  Cursor::Turn turn(&cursor_);
  turn.Move([&](Iterator* it) { it->Seek(key); });
  if (turn->Valid()) {
    where_ = Where::kBeforeEntry;
    return;
  }
  turn.CheckStatus();
  where_ = Where::kBehindLast;
}

bool IteratorObject::Reach(Cursor::Turn& turn, bool forward) {
  const Where none_left = forward ? Where::kBehindLast : Where::kBeforeFirst;
  const Where none_passed = forward ? Where::kBeforeFirst : Where::kBehindLast;
  const Where ahead = forward ? Where::kBeforeEntry : Where::kBehindEntry;
  const Where passed = forward ? Where::kBehindEntry : Where::kBeforeEntry;
  if (where_ == none_left) return false;
  if (where_ != ahead) {
    const bool from_outside = where_ == none_passed;
    turn.Move([&](Iterator* it) {
      if (from_outside) {
        forward ? it->SeekToFirst() : it->SeekToLast();
      } else {
        forward ? it->Next() : it->Prev();
      }
    });
    if (!turn->Valid()) {
      turn.CheckStatus();
      // Nothing in the range: it is before the first as much as behind the last.
      if (!from_outside) where_ = none_left;
      return false;
    }
  }
  where_ = passed;
  return true;
}

nb::object IteratorObject::Step(bool forward) {
  nb::object key;
  nb::object value;
  {
    Cursor::Turn turn(&cursor_);
    if (!Reach(turn, forward)) throw nb::stop_iteration();
    if (range_.keys) key = turn.Key(range_.prefix.size());
    if (range_.values) value = turn.Value();
  }
  if (!range_.values) return range_.keys ? std::move(key) : nb::none();
  if (!range_.keys) return value;
  nb::object pair = nb::steal(PyTuple_Pack(2, key.ptr(), value.ptr()));
  if (!pair.is_valid()) throw nb::python_error();
  return pair;
}

namespace {

template <class Step>
void MoveTo(Cursor& self, Step&& step) {
  Cursor::Turn turn(&self);
  turn.Move(step);
  turn.CheckStatus();
}

template <class Step>
void MoveOn(Cursor& self, Step&& step) {
  Cursor::Turn turn(&self);
  if (!turn->Valid()) {
    turn.CheckStatus();
    RaiseInvalid();
  }
  turn.Move(step);
  turn.CheckStatus();
}

template <class Object>
void BindCommon(nb::class_<Object>& type) {
  type.def("close", &Object::Close)
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def(
          "__exit__",
          [](Object& self, nb::handle, nb::handle, nb::handle) {
            self.Close();
            return false;
          },
          "type"_a.none(), "value"_a.none(), "traceback"_a.none());
}

void BindRawIterator(nb::module_& module) {
  nb::class_<Cursor> type(module, "RawIterator", nb::is_final(), nb::is_weak_referenceable());
  type.def("valid", [](Cursor& self) { return Cursor::Turn(&self)->Valid(); })
      .def("seek_to_first",
           [](Cursor& self) { MoveTo(self, [](Iterator* it) { it->SeekToFirst(); }); })
      .def("refresh",
           [](Cursor& self) {
             Status refreshed;
             MoveTo(self, [&](Iterator* it) { refreshed = it->Refresh(); });
             Check(refreshed);
           })
      .def("seek_to_last",
           [](Cursor& self) { MoveTo(self, [](Iterator* it) { it->SeekToLast(); }); })
      .def(
          "seek",
          [](Cursor& self, const nb::bytes& target) {
            MoveTo(self, [&](Iterator* it) { it->Seek(SliceOf(target)); });
          },
          "target"_a)
      .def(
          "seek_for_prev",
          [](Cursor& self, const nb::bytes& target) {
            MoveTo(self, [&](Iterator* it) { it->SeekForPrev(SliceOf(target)); });
          },
          "target"_a)
      .def("next", [](Cursor& self) { MoveOn(self, [](Iterator* it) { it->Next(); }); })
      .def("prev", [](Cursor& self) { MoveOn(self, [](Iterator* it) { it->Prev(); }); })
      .def("key", [](Cursor& self) { return Cursor::Turn(&self).Key(0); })
      .def("value", [](Cursor& self) { return Cursor::Turn(&self).Value(); })
      .def("item", [](Cursor& self) {
        const Cursor::Turn turn(&self);
        return nb::make_tuple(turn.Key(0), turn.Value());
      });
  BindCommon(type);
  module.def("raw_iterator",
             [](nb::handle database) { return new Cursor(HandleOf(database), ReadOptions{}); });
}

}  // namespace

void BindIterators(nb::module_& module) {
  nb::class_<IteratorObject> type(module, "Iterator", nb::is_final(), nb::is_weak_referenceable());
  type.def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &IteratorObject::Next)
      .def("prev", &IteratorObject::Prev)
      .def("seek_to_start", &IteratorObject::SeekToStart)
      .def("seek_to_stop", &IteratorObject::SeekToStop)
      .def("seek", &IteratorObject::Seek, "target"_a);
  BindCommon(type);
  BindRawIterator(module);
}

}  // namespace braid::python
