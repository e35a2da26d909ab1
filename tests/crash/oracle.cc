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

  uint32_t mask() const noexcept { return mask_; }
  const std::string& difference() const noexcept { return difference_; }

 private:
  size_t Place(const Pairs& state) const noexcept {
    return forward_ ? position_ : state.size() - 1 - position_;
  }

  void Strike(size_t s, const std::string& found) {
    mask_ &= ~(1u << s);
    const Pairs& state = *allowed_.states[s];
    const std::string expected =
        position_ < state.size() ? Show(state, Place(state)) : std::string("the end");
    if (!difference_.empty()) difference_ += "; ";
    difference_ += "state " + std::to_string(s) + " has " + expected + " at position " +
                   std::to_string(position_) + ", found " + found;
  }

  const Allowed& allowed_;
  bool forward_;
  uint32_t mask_;
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

Oracle::Oracle() : keys_(std::make_shared<const std::set<std::string>>()) { Rebuild(); }

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
  if (in_flight_.has_value()) Apply(*in_flight_, &acknowledged_);
  Refuse();
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
}

Allowed Oracle::allowed() const {
  Allowed allowed;
  allowed.states.push_back(before_);
  if (after_ != before_) allowed.states.push_back(after_);
  allowed.mask = (1u << allowed.states.size()) - 1;
  allowed.keys = keys_;
  return allowed;
}

const Pairs& StateLeft(const Allowed& allowed) {
  return *allowed.states[static_cast<size_t>(std::countr_zero(allowed.mask))];
}

std::string CheckContent(DB* db, Allowed* allowed) {
  std::string wrong = CheckScan(db, true, allowed);
  if (wrong.empty()) wrong = CheckScan(db, false, allowed);
  if (wrong.empty()) wrong = CheckGets(db, *allowed);
  return wrong;
}

}  // namespace braid::crash
