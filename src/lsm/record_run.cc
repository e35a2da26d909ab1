// Purpose: checking and sorting records.
// Thread safety, persistence: see record_run.h.
#include "lsm/record_run.h"

#include <algorithm>
#include <cstdio>

#include "base/check.h"
#include "engine/engine.h"

namespace braid::lsm {

namespace {

constexpr uint64_t kProgressEvery = 4096;

/// A key for a message: what is no printable character as \xNN, cut where it is long.
std::string Shown(Slice key) {
  constexpr size_t kMost = 64;
  std::string text = "\"";
  for (const char c : key.substr(0, kMost)) {
    char escaped[8];
    const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
    std::snprintf(escaped, sizeof escaped, plain ? "%c" : "\\x%02x", static_cast<uint8_t>(c));
    text += escaped;
  }
  return text + (key.size() > kMost ? "...\"" : "\"");
}

}  // namespace

Status CheckedSource::Check(Slice key, Slice value) {
  const auto refused = [&](const std::string& why) {
    return Status::InvalidArgument("record " + std::to_string(number_) + ", key " + Shown(key) +
                                   ": " + why);
  };
  if (Status s = engine::CheckKey(key); !s.ok()) return refused(std::string(s.message()));
  if (Status s = engine::CheckValue(value); !s.ok()) return refused(std::string(s.message()));
  if (!options_.sorted) return Status::OK();
  if (number_ > 1 && key <= last_key_) {
    return refused("it does not follow the previous record's key, " + Shown(last_key_) +
                   "; sort the records, or ingest them as unsorted");
  }
  last_key_.assign(key);
  return Status::OK();
}

bool CheckedSource::Next(Slice* key, Slice* value) {
  if (ended_ || !status_.ok()) return false;
  if (status_ = may_go_on_(); !status_.ok()) return false;
  if (!source_->Next(key, value)) {
    ended_ = true;
    if (options_.progress) options_.progress(number_);
    return false;
  }
  ++number_;
  if (status_ = Check(*key, *value); !status_.ok()) return false;
  if (options_.progress && number_ % kProgressEvery == 0) options_.progress(number_);
  return true;
}

bool RecordRun::Fits(Slice key, Slice value) const {
  const uint64_t needed =
      bytes_.size() + key.size() + value.size() + (records_.size() + 1) * sizeof(Record);
  return records_.empty() || needed <= limit_;
}

void RecordRun::Take(uint64_t number, Slice key, Slice value) {
  // Of equal keys the one with the highest number is kept: it came last.
  BRAID_DCHECK(records_.empty() || records_.back().number < number);
  records_.push_back({number, bytes_.size(), value.size(), key.size()});
  bytes_.append(key);
  bytes_.append(value);
  charge_.Set(bytes_.capacity() + records_.capacity() * sizeof(Record));
}

bool RecordRun::Fill(NumberedSource* source) {
  bytes_.clear();
  records_.clear();
  at_ = 0;
  if (waits_) {
    waits_ = false;
    Take(source->number(), waiting_key_, waiting_value_);
  }
  Slice key;
  Slice value;
  while (source->Next(&key, &value)) {
    if (!Fits(key, value)) {
      waits_ = true;
      waiting_key_ = key;
      waiting_value_ = value;
      break;
    }
    Take(source->number(), key, value);
  }
  BRAID_DCHECK(!waits_ || !records_.empty());  // one record fits, however large
  Sort();
  return waits_;
}

void RecordRun::Sort() {
  std::sort(records_.begin(), records_.end(), [this](const Record& a, const Record& b) {
    const int order = KeyOf(a).compare(KeyOf(b));
    return order != 0 ? order < 0 : a.number > b.number;
  });
  const auto same_key = [this](const Record& a, const Record& b) { return KeyOf(a) == KeyOf(b); };
  records_.erase(std::unique(records_.begin(), records_.end(), same_key), records_.end());
  BRAID_DCHECK(std::adjacent_find(records_.begin(), records_.end(),
                                  [this](const Record& a, const Record& b) {
                                    return KeyOf(a) >= KeyOf(b);
                                  }) == records_.end());
}

bool RecordRun::Next(Slice* key, Slice* value) {
  BRAID_DCHECK(at_ <= records_.size());
  if (at_ == records_.size()) return false;
  const Record& record = records_[at_++];
  *key = KeyOf(record);
  *value = Slice(bytes_).substr(record.offset + record.key_bytes, record.value_bytes);
  return true;
}

}  // namespace braid::lsm
