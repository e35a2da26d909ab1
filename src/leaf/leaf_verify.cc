// Purpose: the complete check of an open pool of leaves.
// Thread safety, invariants, persistence: see leaf_engine.h.
#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>

#include "base/check.h"
#include "leaf/leaf_engine.h"
#include "log/log_reader.h"
#include "recovery/recovery_job.h"

namespace braid::leaf {

using format::ChunkKind;
using format::EntryHeader;

/// While it lives no write is under way.
class LeafEngine::Pause {
 public:
  explicit Pause(LeafEngine* engine) : engine_(engine), lock_(engine->pause_mutex_) {
    BRAID_DCHECK(!engine_->paused_.load());  // one at a time
    engine_->paused_.store(true);
    base::SynchronizeEpoch();  // those that did not see it have ended
  }
  ~Pause() {
    BRAID_DCHECK(engine_->paused_.load());
    engine_->paused_.store(false);
  }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  LeafEngine* engine_;
  base::MutexHold lock_;
};

struct LeafEngine::Totals {
  uint64_t entries = 0;
  uint64_t links = 0;
  uint64_t bytes = 0;
  uint64_t max_sequence = 0;
  std::vector<std::string> problems;
  // While writes are paused:
  uint64_t leaves = 0;
  uint64_t linked = 0;

  void Add(const Status& problem) { problems.emplace_back(problem.message()); }
};

Status LeafEngine::Verify(VerifyReport* report, const std::function<void(double)>& progress) {
  const base::MutexLock close_lock(close_mutex_);  // Close waits
  if (closed()) return Status::Closed();
  return VerifyAll(report, progress);
}

Status LeafEngine::VerifyAll(VerifyReport* report, const std::function<void(double)>& progress) {
  *report = VerifyReport{};
  Totals totals;
  CheckLeaves(progress, &totals);
  {
    // Nothing is moved or given back. Writes are held up for a chunk at a time, and at the end for
    // what is counted only.
    const base::MutexLock maintenance(maintenance_mutex_);
    const uint64_t chunks = pool_->chunks();
    for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
      if (progress && chunk % 64 == 0) {
        progress(0.9 + 0.1 * static_cast<double>(chunk) / static_cast<double>(chunks));
      }
      CheckChunk(chunk, &totals);
    }
    const Pause pause(this);
    CheckSpace(&totals);
  }
  report->entries = totals.entries;
  report->live_entries = totals.linked;
  report->links = totals.links;
  report->chunks = pool_->chunks();
  report->bytes = totals.bytes;
  report->problems = std::move(totals.problems);
  if (progress) progress(1.0);
  return report->problems.empty() ? Status::OK() : Status::Corruption(report->problems[0]);
}

/// Leaf by leaf, each under its mutex; reads and writes go on.
void LeafEngine::CheckLeaves(const std::function<void(double)>& progress, Totals* totals) {
  std::string at;
  for (uint64_t count = 0;; ++count) {
    if (progress && count % 64 == 0) {
      const auto all = static_cast<double>(std::max<uint64_t>(list_->leaves(), 1));
      progress(0.9 * std::min(1.0, static_cast<double>(count) / all));
    }
    const base::EpochGuard guard;
    LeafNode* node = list_->upper().Find(at, nullptr);
    const base::MutexLock lock(node->mutex);
    const LeafNode* next = node->next.load();
    if (node->replaced.load() || (next != nullptr && next->low <= at)) continue;
    if (!CheckLeaf(node, totals) || next == nullptr) return;
    at = next->low;
  }
}

/// Under the leaf's mutex. False: what follows can't be looked at.
bool LeafEngine::CheckLeaf(LeafNode* node, Totals* totals) {
  const LeafNode* next = node->next.load();
  const format::LeafPtr link{*list_->LinkOf(*node)};
  ++totals->links;
  if (link != format::LeafPtr::To(next == nullptr ? 0 : next->offset)) {
    totals->Add(pool_->CorruptionAt(pool_->OffsetOf(list_->LinkOf(*node)), "link of a leaf",
                                    "it does not lead where the index says"));
  }
  if (node->offset == 0) return true;
  totals->bytes += sizeof(format::Leaf);
  if (Status s = list_->CheckLeaf(node->offset); !s.ok()) {
    totals->Add(s);
    return true;
  }
  if (Status s = list_->LoadLocked(node); !s.ok()) return true;
  const auto* leaf = pool_->As<format::Leaf>(node->offset);
  const uint64_t bitmap = format::LeafCommit{leaf->commit}.bitmap();
  if (bitmap != node->bitmap.load()) {
    totals->Add(pool_->CorruptionAt(node->offset, "leaf", "its bitmap is not the one in DRAM"));
  }
  std::vector<std::string_view> keys;
  for (uint64_t bits = bitmap; bits != 0; bits &= bits - 1) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(bits));
    Status status;
    const EntryHeader* entry = list_->EntryOf(*node, slot, &status);
    if (entry == nullptr) {
      totals->Add(status);
      continue;
    }
    const uint64_t offset = pool_->OffsetOf(entry);
    const auto problem = [&](const char* what) {
      totals->Add(pool_->CorruptionAt(offset, "entry", what));
    };
    ++totals->entries;
    ++totals->links;
    totals->bytes += entry->size();
    totals->max_sequence = std::max(totals->max_sequence, entry->sequence());
    if (!log::EntryVerifies(*pool_, offset)) problem("its check does not match");
    if (entry->state() != format::kStateLive || entry->op() != format::EntryOp::kPut) {
      problem("a leaf names it, and it says that it does not count");
    }
    const uint64_t hash = base::Hash64(entry->key());
    if (format::LeafTag{leaf->slots[slot].tag}.fingerprint() != hash >> 32 ||
        node->fingerprints[slot].load() != static_cast<uint8_t>(hash >> 32)) {
      problem("the slot that names it is for another key");
    }
    if (entry->key() < node->low || (next != nullptr && entry->key() >= next->low)) {
      problem("its key belongs to another leaf");
    }
    keys.push_back(entry->key());
  }
  std::sort(keys.begin(), keys.end());
  if (std::adjacent_find(keys.begin(), keys.end()) != keys.end()) {
    totals->Add(pool_->CorruptionAt(node->offset, "leaf", "it holds a key twice"));
  }
  return true;
}

/// Who owns each leaf and extent: allocated must be reachable, free must not be. Writes are paused.
void LeafEngine::CheckSpace(Totals* totals) {
  const base::MutexHold large_lock = large_values_.Hold();
  for (LeafNode* node = list_->head()->next.load(); node != nullptr; node = node->next.load()) {
    ++totals->leaves;
    if (!list_->Load(node).ok()) continue;  // CheckLeaf has said so
    totals->linked += static_cast<uint64_t>(std::popcount(node->bitmap.load()));
  }
  for (std::string& problem : pool_->CheckAllocator(manifest_.record().redo_chunks())) {
    totals->problems.push_back(std::move(problem));
  }
  for (std::string& problem : list_->upper().Check()) {
    totals->problems.push_back(std::move(problem));
  }
  uint64_t leaf_chunks = 0;
  for (uint64_t chunk = 0; chunk < pool_->chunks(); ++chunk) {
    leaf_chunks += pool_->StateOf(chunk).kind() == ChunkKind::kLeaf ? 1 : 0;
  }
  const uint64_t known = totals->leaves + list_->garbage_leaves() + list_->free_leaves();
  // What is known of all of them lies with the record of their table.
  const auto problem = [&](const std::string& what) {
    totals->Add(pool_->CorruptionAt(format::kManifestOffset[0], "leaves", what));
  };
  if (known != leaf_chunks * LeafList::LeavesInChunk(*pool_) || totals->leaves != list_->leaves()) {
    problem(std::to_string(totals->leaves) + " are in the list, " +
            std::to_string(list_->leaves()) + " counted, " +
            std::to_string(list_->garbage_leaves()) + " replaced, " +
            std::to_string(list_->free_leaves()) + " free, in " + std::to_string(leaf_chunks) +
            " chunks");
  }
  if (totals->linked != entries()) {
    problem(std::to_string(totals->linked) + " entries are in them, " + std::to_string(entries()) +
            " are counted");
  }
  if (totals->max_sequence > sequence_.load()) {
    problem("an entry has the sequence number " + std::to_string(totals->max_sequence) +
            ", the last one drawn is " + std::to_string(sequence_.load()));
  }
  CheckExtents(totals);
}

/// What says in a chunk that it counts is accounted for, and named by a leaf. Under
/// maintenance_mutex_.
void LeafEngine::CheckChunk(uint64_t chunk, Totals* totals) {
  const auto problem = [&](const std::string& what) {
    totals->Add(pool_->CorruptionAt(pool_->ChunkOffset(chunk), "chunk", what));
  };
  const ChunkKind kind = pool_->StateOf(chunk).kind();
  if (kind == ChunkKind::kCollected || (kind == ChunkKind::kLeafIndex && image_served_)) {
    return problem("it belongs to nobody");
  }
  if (kind != ChunkKind::kLog) return;
  std::vector<uint64_t> entries;
  {
    const Pause pause(this);
    if (Result<log::LogChunk> header = log::ReadLogChunk(*pool_, chunk); !header.ok()) {
      return totals->Add(header.status());
    }
    uint64_t live = 0;
    log::ForEachEntry(*pool_, chunk, [&](uint64_t offset, const EntryHeader& entry) {
      if (entry.state() != format::kStateLive) return;
      live += entry.size();
      entries.push_back(offset);
    });
    if (usage_.Live(chunk) != static_cast<int64_t>(live)) {
      problem(std::to_string(live) + " bytes of entries are live, " +
              std::to_string(usage_.Live(chunk)) + " are accounted for");
    }
  }
  for (const uint64_t offset : entries) {
    if (!IsNamed(offset)) {
      totals->Add(pool_->CorruptionAt(offset, "entry", "it says that it counts, no leaf names it"));
    }
  }
}

/// Whether a leaf names the entry, unless it is obsolete by now. An entry is written, and shown or
/// not, under the mutex of its leaf.
bool LeafEngine::IsNamed(uint64_t offset) {
  const base::EpochGuard guard;
  const auto* entry = pool_->As<EntryHeader>(offset);
  LeafNode* node = nullptr;
  base::MutexHold lock;
  if (!LockLeaf(entry->key(), &lock, &node).ok()) return true;  // CheckLeaf has said so
  if (entry->state() != format::kStateLive) return true;
  if (node->offset == 0) return false;
  const LeafLookup found = list_->Find(*node, entry->key(), base::Hash64(entry->key()));
  return found.offset == offset || found.state == LeafLookup::State::kCorrupt;
}

void LeafEngine::CheckExtents(Totals* totals) {
  std::unordered_set<uint64_t> waiting;
  {
    const base::MutexLock lock(retired_mutex_);
    waiting.insert(extents_.begin(), extents_.end());
  }
  uint64_t bodies = 0;
  for (uint64_t chunk = 0; chunk < pool_->chunks(); ++chunk) {
    const ChunkKind kind = pool_->StateOf(chunk).kind();
    const uint64_t offset = pool_->ChunkOffset(chunk);
    if (kind == ChunkKind::kExtentBody && bodies-- == 0) {
      bodies = 0;
      if (large_values_.HasReserved(chunk)) continue;  // it is being written
      totals->Add(pool_->CorruptionAt(offset, "chunk", "it belongs to no extent"));
    }
    if (kind != ChunkKind::kExtentHead) {
      if (kind != ChunkKind::kExtentBody) bodies = 0;
      continue;
    }
    bodies = 0;
    const format::ExtentHeader* extent = pool_->ExtentAt(offset);
    if (extent == nullptr) {
      totals->Add(pool_->CorruptionAt(offset, "extent",
                                      "its header does not match, or it has lost "
                                      "a chunk"));
      continue;
    }
    bodies = extent->chunks - 1;
    // CheckChunk has asked whether a leaf names it.
    const EntryHeader* owner =
        pool_->ExtentOf(extent->owner) == offset ? pool_->EntryAt(extent->owner) : nullptr;
    const bool owned = owner != nullptr && owner->state() == format::kStateLive;
    if (!owned && !waiting.contains(offset)) {
      totals->Add(pool_->CorruptionAt(offset, "extent", "no entry that counts owns it"));
    }
  }
}

}  // namespace braid::leaf
