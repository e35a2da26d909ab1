// Purpose: limits that every design refuses alike, and calls that a design may lack.
// Thread safety: pure.
// Persistence: none.
#include "engine/engine.h"

#include <atomic>

#include "base/check.h"

namespace braid::engine {

void Engine::Deleter::operator()(Engine* engine) const noexcept {
  if (!engine->is_parents()) {
    delete engine;
    return;
  }
  // Kept where it can be found: what nothing leads to would look like a leak.
  static std::atomic<Engine*> left{nullptr};
  engine->next_left_ = left.exchange(engine);
}

Status CheckKey(Slice key) {
  if (key.size() <= kMaxKeyBytes) return Status::OK();
  return Status::InvalidArgument("the key has " + std::to_string(key.size()) +
                                 " bytes; the limit is " + std::to_string(kMaxKeyBytes));
}

Status CheckValue(Slice value) {
  if (value.size() <= kMaxValueBytes) return Status::OK();
  return Status::InvalidArgument("the value has " + std::to_string(value.size()) +
                                 " bytes; the limit is " + std::to_string(kMaxValueBytes));
}

Result<bool> Engine::CompareAndSwap(const WriteOptions&, Slice, std::optional<Slice>, Slice) {
  return Status::NotSupported(
      "this design has no compare-and-swap; a pool of the design \"braid\" has it");
}

Status Engine::WriteUnlessChanged(const WriteOptions&, const WriteBatch&, std::span<const Slice>,
                                  const Snapshot&) {
  return Status::NotSupported(
      "this design has no transactions; a pool of the design \"braid\" has them");
}

Status Engine::DeleteRange(const WriteOptions& options, Slice begin, std::optional<Slice> end,
                           uint64_t* deleted) {
  *deleted = 0;
  if (Status s = CheckKey(begin); !s.ok()) return s;
  if (Status s = BackgroundStatus(); !s.ok()) return s;  // it may find nothing to delete
  ReadOptions range;
  range.lower_bound = std::string(begin);
  if (end) range.upper_bound = std::string(*end);
  const std::unique_ptr<Iterator> keys = NewIterator(range);
  for (keys->SeekToFirst(); keys->Valid(); keys->Next()) {
    if (Status s = Delete(options, keys->key()); !s.ok()) return s;
    ++*deleted;
  }
  return keys->status();
}

Status Engine::GetPinned(const ReadOptions& options, Slice key, PinnedValue* value) {
  return Get(options, key, value->CopyTo());
}

void Engine::MultiGet(const ReadOptions& options, std::span<const Slice> keys, std::string* values,
                      Status* statuses) {
  for (size_t i = 0; i < keys.size(); ++i) statuses[i] = Get(options, keys[i], &values[i]);
}

Status Engine::Ingest(RecordSource*, const IngestOptions&, IngestReport*) {
  return Status::NotSupported(
      "this design has no ingest; write the records with Put, or use a pool of the design "
      "\"braid\"");
}

Status Engine::CompactRange(const CompactOptions& options, std::optional<Slice>,
                            std::optional<Slice>) {
  if (options.progress && !options.progress(0)) return CompactionCancelled();
  if (Status s = Compact(); !s.ok()) return s;
  if (options.progress) options.progress(1);
  return Status::OK();
}

Status Engine::SetBackgroundLimit(uint64_t) {
  return Status::NotSupported("this design has no limit for background work");
}

void Engine::NotifyRecovery(const Options& options, uint64_t replayed_entries,
                            uint64_t micros) const {
  if (options.listener == nullptr) return;
  BRAID_DCHECK(medium_ != nullptr);
  options.listener->OnRecovery({.clean = medium_->was_clean(),
                                .replayed_entries = replayed_entries,
                                .micros = micros,
                                .media_loss_possible = medium_->media_loss_possible()});
}

}  // namespace braid::engine
