#include "model_runner.h"

#include <algorithm>
#include <iterator>

namespace braid::test {
namespace {

constexpr size_t kMaxHeld = 4;
constexpr size_t kNotes = 16;

bool Inside(const OrderedModel& state, const std::string& key, const ReadOptions& bounds) {
  const KeyLess less = state.key_comp();
  return (!bounds.lower_bound || !less(key, *bounds.lower_bound)) &&
         (!bounds.upper_bound || less(key, *bounds.upper_bound));
}

/// The entry a cursor stands on, or end() for "invalid".
using Position = OrderedModel::const_iterator;

Position First(const OrderedModel& state, const ReadOptions& bounds) {
  const Position at = bounds.lower_bound ? state.lower_bound(*bounds.lower_bound) : state.begin();
  return at != state.end() && Inside(state, at->first, bounds) ? at : state.end();
}

/// The last entry before `at` that is inside the bounds.
Position Before(const OrderedModel& state, const ReadOptions& bounds, Position at) {
  if (bounds.upper_bound) {
    const Position limit = state.lower_bound(*bounds.upper_bound);
    const bool beyond =
        at == state.end() || (limit != state.end() && state.key_comp()(limit->first, at->first));
    if (beyond) at = limit;
  }
  if (at == state.begin()) return state.end();
  const Position before = std::prev(at);
  return Inside(state, before->first, bounds) ? before : state.end();
}

Position SeekIn(const OrderedModel& state, const ReadOptions& bounds, const std::string& target) {
  const std::string& from = bounds.lower_bound && state.key_comp()(target, *bounds.lower_bound)
                                ? *bounds.lower_bound
                                : target;
  const Position at = state.lower_bound(from);
  return at != state.end() && Inside(state, at->first, bounds) ? at : state.end();
}

}  // namespace

bool ModelRunner::Run(uint64_t count) {
  for (uint64_t i = 0; i < count; ++i, ++operation_) {
    if (!Step()) return false;
  }
  return CheckAll();
}

bool ModelRunner::Step() {
  const uint64_t dice = random_.Below(10000);
  if (dice < 3000) return DoPut();
  if (dice < 3600) return can_.compare_and_swap ? DoCompareAndSwap() : DoPut();
  if (dice < 4400) return DoDelete();
  if (dice < 5200) return DoBatch();
  if (dice < 9000) return DoGet();
  if (dice < 9950) return DoScan();
  if (dice < 9985) return !can_.snapshots || DoSnapshot();
  if (dice < 9998) return DoMaintenance();
  return DoReopen();
}

bool ModelRunner::DoPut() {
  const std::string key = RandomKey();
  const std::string value = KeySpace::RandomValue(&random_, operation_);
  Note("put " + Printable(key) + " " + Printable(value, 12));
  if (!Check(db()->Put(key, value), "put")) return false;
  model_[key] = value;
  return true;
}

bool ModelRunner::DoDelete() {
  const std::string key = RandomKey();
  Note("delete " + Printable(key));
  if (!Check(db()->Delete(key), "delete")) return false;
  model_.erase(key);
  return true;
}

bool ModelRunner::DoBatch() {
  WriteBatch batch;
  const uint64_t most = can_.atomic_batches ? 200 : 2;
  const uint64_t updates = random_.Below(random_.OneIn(50) ? most : std::min<uint64_t>(most, 9));
  std::string keys;
  for (uint64_t i = 0; i < updates; ++i) {
    const std::string key = RandomKey();
    if (keys.size() < 200) keys += " " + Printable(key, 16);
    if (can_.atomic_batches && random_.OneIn(12)) {
      keys += DeleteRangeBy(&batch, key);
    } else if (random_.OneIn(3)) {
      batch.Delete(key);
      model_.erase(key);
    } else {
      const std::string value = KeySpace::RandomValue(&random_, operation_ * 1000 + i);
      batch.Put(key, value);
      model_[key] = value;
    }
  }
  Note("batch of " + std::to_string(updates) + keys);
  return Check(db()->Write(batch), "batch");
}

/// Adds the delete of a few keys from `begin` on, now and then of all on one side of it. Returns
/// what to note of it.
std::string ModelRunner::DeleteRangeBy(WriteBatch* batch, const std::string& begin) {
  const bool is_all_mine = prefix_.empty();
  if (is_all_mine && random_.OneIn(60)) {
    const bool is_below = random_.OneIn(2);
    const auto at = model_.lower_bound(begin);
    if (is_below) {
      batch->DeleteRange(std::nullopt, begin);
      model_.erase(model_.begin(), at);
    } else {
      batch->DeleteRange(begin, std::nullopt);
      model_.erase(at, model_.end());
    }
    return is_below ? " .." : " to the end";
  }
  const auto from = model_.lower_bound(begin);
  auto to = from;
  for (uint64_t i = random_.Below(8); i > 0 && to != model_.end(); --i) ++to;
  const std::string end = to != model_.end() ? to->first : begin;
  batch->DeleteRange(begin, end);
  if (to == model_.end()) return " (nothing)";  // an empty range
  model_.erase(from, to);
  return " to " + Printable(end, 16);
}

bool ModelRunner::DoCompareAndSwap() {
  const std::string key = RandomKey();
  const std::string desired = KeySpace::RandomValue(&random_, operation_);
  const auto current = model_.find(key);
  std::optional<std::string> expected;
  // Half of the time what is there, else something near it, or "no such key".
  if (current != model_.end()) expected = current->second;
  if (random_.OneIn(2)) {
    const uint64_t what = random_.Below(4);
    if (what == 0) expected.reset();
    if (what == 1) expected = "";
    if (what == 2) expected = expected.value_or("") + "x";
    if (what == 3 && expected && !expected->empty()) expected->pop_back();
  }
  const bool matches =
      expected ? current != model_.end() && current->second == *expected : current == model_.end();
  Note("compare and swap " + Printable(key) + " from " +
       (expected ? Printable(*expected, 12) : "(no such key)") + " to " + Printable(desired, 12));
  const bool is_put_if_absent = !expected && random_.OneIn(2);
  const Result<bool> swapped = is_put_if_absent ? db()->PutIfAbsent(key, desired)
                                                : db()->CompareAndSwap(key, expected, desired);
  if (!swapped.ok()) return Check(swapped.status(), "compare and swap");
  if (swapped.value() != matches) {
    return Fail(std::string("compare and swap said ") + (swapped.value() ? "true" : "false") +
                ", the key holds " +
                (current == model_.end() ? "nothing" : Printable(current->second)));
  }
  if (matches) model_[key] = desired;
  return true;
}

bool ModelRunner::Get(const std::string& key, const OrderedModel& state, const Snapshot* snapshot) {
  ReadOptions options;
  options.snapshot = snapshot;
  std::string value = "stale";
  const Status status = db()->Get(options, key, &value);
  if (!status.ok() && !status.IsNotFound()) return Check(status, "get");
  const auto expected = state.find(key);
  if (status.IsNotFound() != (expected == state.end())) {
    return Fail("get " + Printable(key) + ": " + status.ToString() + ", expected " +
                (expected == state.end() ? "no such key" : Printable(expected->second)));
  }
  if (status.ok() && value != expected->second) {
    return Fail("get " + Printable(key) + ": " + Printable(value) + ", expected " +
                Printable(expected->second));
  }
  return true;
}

bool ModelRunner::DoGet() {
  const std::string key = RandomKey();
  if (!held_.empty() && random_.OneIn(8)) {
    const Held& held = held_[random_.Below(held_.size())];
    Note("get at snapshot " + Printable(key));
    return Get(key, held.state, held.snapshot.get());
  }
  Note("get " + Printable(key));
  return Get(key, model_, nullptr);
}

std::string ModelRunner::PrefixEnd() const {
  std::string end = prefix_;
  if (!end.empty()) ++end.back();
  return end;
}

ReadOptions ModelRunner::RandomBounds() {
  ReadOptions bounds;
  if (!prefix_.empty()) {
    bounds.lower_bound = prefix_;
    bounds.upper_bound = PrefixEnd();
  }
  if (random_.OneIn(3)) bounds.lower_bound = RandomKey();
  if (random_.OneIn(3)) bounds.upper_bound = RandomKey();
  return bounds;
}

bool ModelRunner::DoScan() {
  ReadOptions options = RandomBounds();
  const OrderedModel* state = &model_;
  if (!held_.empty() && random_.OneIn(4)) {
    const Held& held = held_[random_.Below(held_.size())];
    options.snapshot = held.snapshot.get();
    state = &held.state;
  }
  Note(std::string("scan") + (options.snapshot != nullptr ? " at snapshot" : "") + " from " +
       Printable(options.lower_bound.value_or("(start)"), 24) + " to " +
       Printable(options.upper_bound.value_or("(end)"), 24));
  const std::unique_ptr<Iterator> it = db()->NewIterator(options);
  return Walk(it.get(), *state, options);
}

bool ModelRunner::Walk(Iterator* it, const OrderedModel& state, const ReadOptions& bounds) {
  Position at = state.end();
  const uint64_t moves = 1 + random_.Below(20);
  uint64_t run = 0;
  bool forward = true;
  for (uint64_t move = 0; move < moves; ++move) {
    std::string what;
    if (at == state.end()) {
      what = SeekSomewhere(it, state, bounds, &at);
    } else {
      if (run == 0) {
        run = 1 + random_.Below(6);
        forward = random_.OneIn(2);
      }
      --run;
      what = forward ? "Next" : "Prev";
      if (forward) {
        it->Next();
        ++at;
        if (at != state.end() && !Inside(state, at->first, bounds)) at = state.end();
      } else {
        it->Prev();
        at = Before(state, bounds, at);
      }
    }
    if (!it->status().ok()) return Check(it->status(), what.c_str());
    if (it->Valid() != (at != state.end())) {
      return Fail(what + ": " + (it->Valid() ? "at " + Printable(it->key()) : "invalid") +
                  ", expected " + (at == state.end() ? "invalid" : Printable(at->first)));
    }
    if (it->Valid() && (it->key() != at->first || it->value() != at->second)) {
      return Fail(what + ": at " + Printable(it->key()) + " = " + Printable(it->value()) +
                  ", expected " + Printable(at->first) + " = " + Printable(at->second));
    }
  }
  return true;
}

std::string ModelRunner::SeekSomewhere(Iterator* it, const OrderedModel& state,
                                       const ReadOptions& bounds,
                                       OrderedModel::const_iterator* at) {
  const std::string target = RandomKey();
  switch (random_.Below(4)) {
    case 0:
      it->SeekToFirst();
      *at = First(state, bounds);
      return "SeekToFirst";
    case 1:
      it->SeekToLast();
      *at = Before(state, bounds, state.end());
      return "SeekToLast";
    case 2:
      it->Seek(target);
      *at = SeekIn(state, bounds, target);
      return "Seek " + Printable(target);
    default:
      it->SeekForPrev(target);
      *at = Before(state, bounds, state.upper_bound(target));
      return "SeekForPrev " + Printable(target);
  }
}

bool ModelRunner::CompareScan(const OrderedModel& state, const Snapshot* snapshot) {
  ReadOptions options;
  options.snapshot = snapshot;
  if (!prefix_.empty()) {
    options.lower_bound = prefix_;
    options.upper_bound = PrefixEnd();
  }
  for (const bool forward : {true, false}) {
    Pairs pairs;
    const std::unique_ptr<Iterator> it = db()->NewIterator(options);
    for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid();
         forward ? it->Next() : it->Prev()) {
      pairs.emplace_back(it->key(), it->value());
    }
    if (!Check(it->status(), "full scan")) return false;
    if (!forward) std::reverse(pairs.begin(), pairs.end());
    const auto same = SamePairs(pairs, state);
    if (!same) {
      return Fail(std::string(forward ? "full scan forward: " : "full scan backward: ") +
                  same.message());
    }
  }
  return true;
}

bool ModelRunner::DoSnapshot() {
  if (held_.size() < kMaxHeld && random_.OneIn(2)) {
    Note("take a snapshot");
    held_.push_back({db()->GetSnapshot(), model_});
    return held_.back().snapshot != nullptr || Fail("GetSnapshot gave null");
  }
  if (held_.empty()) return true;
  const size_t at = random_.Below(held_.size());
  Note("read and release snapshot " + std::to_string(at));
  if (!CompareScan(held_[at].state, held_[at].snapshot.get())) return false;
  held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

bool ModelRunner::DoMaintenance() {
  if (!rights_.compact) return true;
  if (random_.OneIn(3)) {
    Note("compact");
    return Check(db()->Compact(), "compact") && CompareScan(model_, nullptr);
  }
  Note("flush");
  return Check(db()->Flush(), "flush");
}

bool ModelRunner::DoReopen() {
  if (!rights_.reopen) return true;
  const bool close = random_.OneIn(2);
  Note(close ? "close and open" : "abandon and open");
  held_.clear();
  if (close && !Check(db()->Close(), "close")) return false;
  db_->reset();
  *db_ = open_();
  if (db() == nullptr) return Fail("the database did not open again");
  return CompareScan(model_, nullptr);
}

bool ModelRunner::CheckAll() {
  Note("compare everything");
  for (const Held& held : held_) {
    if (!CompareScan(held.state, held.snapshot.get())) return false;
  }
  if (!CompareScan(model_, nullptr)) return false;
  for (const auto& [key, value] : model_) {
    if (!Get(key, model_, nullptr)) return false;
  }
  return true;
}

void ModelRunner::Note(std::string what) {
  if (notes_.size() == kNotes) notes_.pop_front();
  notes_.push_back(std::to_string(operation_) + ": " + std::move(what));
}

bool ModelRunner::Fail(const std::string& what) {
  if (!failure_.empty()) return false;
  failure_ = "operation " + std::to_string(operation_) + ": " + what;
  if (!prefix_.empty()) failure_ += "\n  keys of " + Printable(prefix_);
  for (const std::string& note : notes_) failure_ += "\n  " + note;
  return false;
}

}  // namespace braid::test
