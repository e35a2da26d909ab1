// Purpose: turns updates in comparator order into updates of values and tree nodes.
// Thread safety, invariants, persistence: see compared_edit.h.
#include "db/compared_edit.h"

#include <limits>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace braid {

namespace {

/// The byte before a key (ValueKey) takes part.
Status CheckUserKey(Slice key) {
  if (key.size() < kMaxKeyBytes) return Status::OK();
  return Status::InvalidArgument("the key has " + std::to_string(key.size()) +
                                 " bytes; the limit of a pool with a comparator is " +
                                 std::to_string(kMaxKeyBytes - 1));
}

}  // namespace

NodeReader NodesAt(DB* db, const Snapshot* snapshot) {
  return [db, snapshot](uint64_t id, std::string* bytes) {
    ReadOptions at;
    at.snapshot = snapshot;
    return db->Get(at, NodeKey(id), bytes);
  };
}

ComparedEdit::ComparedEdit(DB* db, const Comparator* comparator, TreeFacts* facts)
    : db_(db),
      comparator_(comparator),
      facts_(facts),
      tree_(comparator, NodesAt(db, nullptr), facts->next_id) {}

void ComparedEdit::Put(Slice key, Slice value) {
  if (status_.ok()) status_ = TryPut(key, value);
}
void ComparedEdit::Delete(Slice key) {
  if (status_.ok()) status_ = TryDelete(key);
}
void ComparedEdit::DeleteRange(std::optional<Slice> begin, std::optional<Slice> end) {
  if (!status_.ok()) return;
  status_ = DeleteSome(begin, end, std::numeric_limits<size_t>::max()).status();
}

Status ComparedEdit::HasValue(Slice key, bool* has) {
  if (const auto known = has_value_.find(std::string(key)); known != has_value_.end()) {
    *has = known->second;
    return Status::OK();
  }
  PinnedValue value;
  const Status s = db_->GetPinned(ReadOptions{}, ValueKey(key), &value);
  *has = s.ok();
  return s.IsNotFound() ? Status::OK() : s;
}

Status ComparedEdit::Find(Slice key, std::optional<std::string>* stored) {
  std::optional<std::string> misplaced;
  return Look(key, stored, &misplaced);
}

Status ComparedEdit::Look(Slice key, std::optional<std::string>* stored,
                          std::optional<std::string>* misplaced) {
  stored->reset();
  misplaced->reset();
  if (Status s = CheckUserKey(key); !s.ok()) return s;
  // Mostly the same bytes; then the tree need not be asked.
  bool has = false;
  if (Status s = HasValue(key, &has); !s.ok()) return s;
  if (has) {
    stored->emplace(key);
    return Status::OK();
  }
  std::optional<std::string> equal;
  if (Status s = tree_.Find(key, &equal); !s.ok() || !equal) return s;
  if (Status s = HasValue(*equal, &has); !s.ok()) return s;
  (has ? *stored : *misplaced) = std::move(equal);
  return Status::OK();
}

Status ComparedEdit::TryPut(Slice key, Slice value) {
  if (Status s = engine::CheckValue(value); !s.ok()) return s;
  std::optional<std::string> stored;
  std::optional<std::string> misplaced;
  Status s = Look(key, &stored, &misplaced);
  if (!s.ok()) return s;
  if (!stored) {
    s = misplaced ? tree_.Replace(*misplaced, key) : tree_.Insert(key);
  } else if (*stored != key) {
    s = tree_.Replace(*stored, key);
    batch_.Delete(ValueKey(*stored));
    has_value_[*stored] = false;
  }
  if (!s.ok()) return s;
  batch_.Put(ValueKey(key), value);
  has_value_[std::string(key)] = true;
  return Status::OK();
}

Status ComparedEdit::PutAgain(Slice key) {
  std::optional<std::string> equal;
  if (Status s = tree_.Find(key, &equal); !s.ok()) return s;
  if (!equal) return tree_.Insert(key);
  // Of a power loss that took the batch which deleted one of them.
  if (*equal != key) batch_.Delete(ValueKey(key));
  return Status::OK();
}

Status ComparedEdit::TryDelete(Slice key) {
  std::optional<std::string> stored;
  Status s = Find(key, &stored);
  return s.ok() && stored ? Remove(*stored) : s;
}

Status ComparedEdit::Remove(Slice stored) {
  if (Status s = tree_.Erase(stored); !s.ok()) return s;
  batch_.Delete(ValueKey(stored));
  has_value_[std::string(stored)] = false;
  return Status::OK();
}

Result<uint64_t> ComparedEdit::DeleteSome(std::optional<Slice> begin, std::optional<Slice> end,
                                          size_t most) {
  for (const std::optional<Slice>& bound : {begin, end}) {
    if (!bound) continue;
    if (Status s = CheckUserKey(*bound); !s.ok()) return s;
  }
  std::vector<std::string> keys;
  TreeCursor cursor(comparator_,
                    [this](uint64_t id, std::string* bytes) { return tree_.Read(id, bytes); });
  Status s = begin ? cursor.Seek(*begin) : cursor.SeekToFirst();
  while (s.ok() && cursor.Valid() && keys.size() < most) {
    if (end && comparator_->Compare(cursor.key(), *end) >= 0) break;
    keys.emplace_back(cursor.key());
    s = cursor.Next();
  }
  for (size_t i = 0; s.ok() && i < keys.size(); ++i) s = Remove(keys[i]);
  if (!s.ok()) return s;
  return keys.size();
}

Status ComparedEdit::Commit(const WriteOptions& options) {
  if (!status_.ok()) return status_;
  tree_.AddTo(&batch_);
  TreeFacts next = *facts_;
  next.next_id = tree_.next_id();
  if (next.next_id != facts_->next_id) batch_.Put(kTreeFacts, next.Encode());
  if (!batch_.status().ok()) return batch_.status();
  Status s = db_->Write(options, batch_);
  if (s.ok()) *facts_ = std::move(next);
  return s;
}

}  // namespace braid
