#include "crash/oracle.h"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace braid::crash {
namespace {

std::shared_ptr<const Pairs> Flatten(const Content& content) {
  return std::make_shared<const Pairs>(content.begin(), content.end());
}

std::string Show(const Pairs& pairs, size_t at) {
  if (at >= pairs.size()) return "the end";
  return Readable(pairs[at].first) + " = " + Readable(pairs[at].second);
}

/// Follows a scan and strikes out the states that it does not show.
class ScanMatch {
 public:
  ScanMatch(const Allowed& allowed, bool forward)
      : allowed_(allowed), forward_(forward), mask_(allowed.mask) {}

  void Take(Slice key, Slice value) {
    for (size_t s = 0; s < allowed_.states.size(); ++s) {
      if ((mask_ >> s & 1) == 0) continue;
      const Pairs& state = *allowed_.states[s];
      const bool fits = position_ < state.size() && state[Place(state)].first == key &&
                        state[Place(state)].second == value;
      if (!fits) Strike(s, Readable(key) + " = " + Readable(value));
    }
    ++position_;
  }

  void End() {
    for (size_t s = 0; s < allowed_.states.size(); ++s) {
      if ((mask_ >> s & 1) != 0 && position_ != allowed_.states[s]->size()) Strike(s, "the end");
    }
  }

  uint64_t mask() const noexcept { return mask_; }
  const std::string& difference() const noexcept { return difference_; }

 private:
  size_t Place(const Pairs& state) const noexcept {
    return forward_ ? position_ : state.size() - 1 - position_;
  }

  void Strike(size_t s, const std::string& found) {
    mask_ &= ~(1ull << s);
    const Pairs& state = *allowed_.states[s];
    const std::string expected =
        position_ < state.size() ? Show(state, Place(state)) : std::string("the end");
    if (!difference_.empty()) difference_ += "; ";
    difference_ += "state " + std::to_string(s) + " has " + expected + " at position " +
                   std::to_string(position_) + ", found " + found;
  }

  const Allowed& allowed_;
  bool forward_;
  uint64_t mask_;
  size_t position_ = 0;
  std::string difference_;
};

/// The keys that a scan shows, for a failure's message.
std::string ShowScan(DB* db, bool forward) {
  std::string text = "; the scan shows";
  const std::unique_ptr<Iterator> it = db->NewIterator({});
  size_t left = 40;
  for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid() && left-- > 0;
       forward ? it->Next() : it->Prev()) {
    text += " " + Readable(it->key());
  }
  return text;
}

std::string CheckScan(DB* db, bool forward, Allowed* allowed) {
  const char* name = forward ? "forward scan: " : "backward scan: ";
  ScanMatch match(*allowed, forward);
  const std::unique_ptr<Iterator> it = db->NewIterator({});
  size_t left = allowed->keys->size() + 8;  // a scan that goes in circles ends too
  for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid() && left-- > 0;
       forward ? it->Next() : it->Prev()) {
    match.Take(it->key(), it->value());
    if (match.mask() == 0) break;
  }
  if (!it->status().ok()) return name + it->status().ToString();
  if (match.mask() != 0) match.End();
  if (match.mask() == 0) return name + match.difference() + ShowScan(db, forward);
  allowed->mask = match.mask();
  return {};
}

std::string ReadPairs(DB* db, size_t limit, Pairs* found) {
  const std::unique_ptr<Iterator> it = db->NewIterator({});
  for (it->SeekToFirst(); it->Valid() && found->size() < limit; it->Next()) {
    found->emplace_back(it->key(), it->value());
  }
  return it->status().ok() ? std::string() : "forward scan: " + it->status().ToString();
}

/// Empty when `found` is what some of the operations leave. From the newest to the oldest: an
/// operation that fits has survived, for that only takes demands away from the older ones.
std::string ExplainWithLosses(const Lossy& lossy, const Pairs& found) {
  const Content content(found.begin(), found.end());
  const auto value_of = [](const Content& in, const std::string& key) {
    const auto at = in.find(key);
    return at == in.end() ? std::optional<std::string>() : at->second;
  };
  std::set<std::string> explained;
  for (size_t i = lossy.operations.size(); i-- > 0;) {
    Content last;  // of a key that the operation writes twice, the later counts
    std::set<std::string> deleted;
    for (const Update& update : lossy.operations[i]) {
      deleted.erase(update.key);
      last.erase(update.key);
      if (update.value.has_value()) {
        last[update.key] = *update.value;
      } else {
        deleted.insert(update.key);
      }
    }
    bool survived = true;
    for (const Update& update : lossy.operations[i]) {
      if (explained.contains(update.key)) continue;
      survived = survived && value_of(content, update.key) == value_of(last, update.key);
    }
    if (!survived) continue;
    for (const Update& update : lossy.operations[i]) explained.insert(update.key);
  }
  Content left = lossy.base;
  for (const auto& [key, value] : found) left.try_emplace(key, std::string());
  for (const auto& [key, value] : left) {
    if (explained.contains(key) || value_of(content, key) == value_of(lossy.base, key)) continue;
    const auto is = value_of(content, key);
    const auto was = value_of(lossy.base, key);
    return Readable(key) + " is " + (is.has_value() ? Readable(*is) : "absent") + ", synced was " +
           (was.has_value() ? Readable(*was) : "nothing") +
           ", and no set of whole operations since then explains it";
  }
  return {};
}

std::string CheckGets(DB* db, const Allowed& allowed) {
  const Pairs& state = StateLeft(allowed);
  size_t at = 0;
  std::string value;
  for (const std::string& key : *allowed.keys) {
    while (at < state.size() && state[at].first < key) ++at;
    const bool present = at < state.size() && state[at].first == key;
    const Status status = db->Get(ReadOptions{}, key, &value);
    if (!status.ok() && !status.IsNotFound()) {
      return "get of " + Readable(key) + ": " + status.ToString();
    }
    if (status.ok() != present || (present && value != state[at].second)) {
      return "get of " + Readable(key) + " gives " +
             (status.ok() ? Readable(value) : std::string("nothing")) + ", the scan " +
             (present ? Readable(state[at].second) : std::string("nothing"));
    }
  }
  return {};
}

}  // namespace

std::string Readable(Slice bytes) {
  std::string text = "\"";
  for (const char c : bytes.substr(0, 24)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\') {
      text += c;
    } else {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", byte);
      text += code;
    }
  }
  text += '"';
  if (bytes.size() > 24) text += " (" + std::to_string(bytes.size()) + " bytes)";
  return text;
}

void Apply(const std::vector<Update>& updates, Content* content) {
  for (const Update& update : updates) {
    if (update.value.has_value()) {
      (*content)[update.key] = *update.value;
    } else {
      content->erase(update.key);
    }
  }
}

Oracle::Oracle(bool page_cache)
    : page_cache_(page_cache), keys_(std::make_shared<const std::set<std::string>>()) {
  Rebuild();
}

void Oracle::Rebuild() {
  before_ = Flatten(acknowledged_);
  after_ = before_;
  if (!in_flight_.has_value() || in_flight_->empty()) return;
  Content after = acknowledged_;
  Apply(*in_flight_, &after);
  if (after != acknowledged_) after_ = Flatten(after);
  std::set<std::string> keys = *keys_;
  for (const Update& update : *in_flight_) keys.insert(update.key);
  if (keys.size() != keys_->size()) {
    keys_ = std::make_shared<const std::set<std::string>>(std::move(keys));
  }
}

void Oracle::Begin(std::vector<Update> updates) {
  in_flight_ = std::move(updates);
  Rebuild();
}

void Oracle::Acknowledge() {
  if (in_flight_.has_value()) {
    Apply(*in_flight_, &acknowledged_);
    if (page_cache_ && !in_flight_->empty()) unsynced_.operations.push_back(*in_flight_);
  }
  Refuse();
}

void Oracle::Synced() {
  if (!page_cache_) return;
  unsynced_.base = acknowledged_;
  unsynced_.operations.clear();
  ++version_;
}

void Oracle::Refuse() {
  in_flight_.reset();
  ++version_;
  Rebuild();
}

void Oracle::Adopt(const Pairs& state) {
  acknowledged_ = Content(state.begin(), state.end());
  std::set<std::string> keys = *keys_;
  for (const auto& [key, value] : state) keys.insert(key);
  keys_ = std::make_shared<const std::set<std::string>>(std::move(keys));
  Refuse();
  Synced();
}

Allowed Oracle::allowed() const {
  Allowed allowed;
  allowed.states.push_back(before_);
  if (after_ != before_) allowed.states.push_back(after_);
  allowed.mask = (1ull << allowed.states.size()) - 1;
  allowed.keys = keys_;
  return allowed;
}

Allowed Oracle::allowed_after_power_loss() const {
  Allowed allowed = this->allowed();
  if (unsynced_.operations.empty() && in_flight_.value_or(std::vector<Update>{}).empty()) {
    return allowed;
  }
  if (!page_cache_) return allowed;
  auto lossy = std::make_shared<Lossy>(unsynced_);
  if (in_flight_.has_value()) lossy->operations.push_back(*in_flight_);
  allowed.lossy = std::move(lossy);
  return allowed;
}

const Pairs& StateLeft(const Allowed& allowed) {
  return *allowed.states[static_cast<size_t>(std::countr_zero(allowed.mask))];
}

std::string CheckPairs(const Pairs& found, Allowed* allowed) {
  if (allowed->lossy != nullptr) return ExplainWithLosses(*allowed->lossy, found);
  ScanMatch match(*allowed, true);
  for (const auto& [key, value] : found) match.Take(key, value);
  if (match.mask() != 0) match.End();
  if (match.mask() == 0) return match.difference();
  allowed->mask = match.mask();
  return {};
}

std::string CheckContent(DB* db, Allowed* allowed) {
  if (allowed->lossy != nullptr) {
    auto found = std::make_shared<Pairs>();
    std::string wrong = ReadPairs(db, allowed->keys->size() + 8, found.get());
    if (wrong.empty()) wrong = ExplainWithLosses(*allowed->lossy, *found);
    if (!wrong.empty()) return wrong;
    allowed->lossy = nullptr;
    allowed->states = {std::move(found)};
    allowed->mask = 1;
  }
  std::string wrong = CheckScan(db, true, allowed);
  if (wrong.empty()) wrong = CheckScan(db, false, allowed);
  if (wrong.empty()) wrong = CheckGets(db, *allowed);
  return wrong;
}

}  // namespace braid::crash
