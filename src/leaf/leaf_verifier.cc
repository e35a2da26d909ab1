// Purpose: checking leaves, then chunks, then what is counted.
// Thread safety, invariants, persistence: see leaf_verifier.h.
#include "leaf/leaf_verifier.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/epoch.h"
#include "log/log_reader.h"

namespace braid::leaf {

using format::ChunkKind;
using format::EntryHeader;

Status LeafVerifier::Run(VerifyReport* report) {
  BRAID_DCHECK(totals_.links == 0);  // once
  *report = VerifyReport{};
  CheckLeaves();
  {
    // Nothing is moved or given back. Writes are held up for a chunk at a time, and at the end for
    // what is counted only.
    const base::MutexHold reclaim_lock = store_.reclaimer->Hold();
    const uint64_t chunks = pool_.chunks();
    for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
      if (chunk % 64 == 0) {
        Progress(0.9 + 0.1 * static_cast<double>(chunk) / static_cast<double>(chunks));
      }
      CheckChunk(chunk);
    }
    const LeafWriter::Pause pause(store_.writer);
    CheckSpace();
  }
  report->entries = totals_.entries;
  report->live_entries = live_entries_;
  report->links = totals_.links;
  report->chunks = pool_.chunks();
  report->bytes = totals_.bytes;
  report->problems = std::move(totals_.problems);
  Progress(1.0);
  return report->problems.empty() ? Status::OK() : Status::Corruption(report->problems[0]);
}

/// Leaf by leaf, each under its mutex; reads and writes go on.
void LeafVerifier::CheckLeaves() {
  std::string at;
  for (uint64_t count = 0;; ++count) {
    if (count % 64 == 0) {
      const auto all = static_cast<double>(std::max<uint64_t>(list_.leaves(), 1));
      Progress(0.9 * std::min(1.0, static_cast<double>(count) / all));
    }
    const base::EpochGuard guard;
    LeafNode* node = list_.upper().Find(at, nullptr);
    const base::MutexLock lock(node->mutex);
    const LeafNode* next = node->next.load();
    if (node->replaced.load() || (next != nullptr && next->low <= at)) continue;
    if (!CheckLeaf(node) || next == nullptr) return;
    at = next->low;
  }
}

/// Under the leaf's mutex. False: what follows can't be looked at.
bool LeafVerifier::CheckLeaf(LeafNode* node) {
  const LeafNode* next = node->next.load();
  const format::LeafPtr link{*list_.LinkOf(*node)};
  ++totals_.links;
  if (link != format::LeafPtr::To(next == nullptr ? 0 : next->offset)) {
    AddProblem(pool_.OffsetOf(list_.LinkOf(*node)), "link of a leaf",
               "it does not lead where the index says");
  }
  if (node->offset == 0) return true;
  totals_.bytes += sizeof(format::Leaf);
  if (Status s = list_.CheckLeaf(node->offset); !s.ok()) {
    totals_.AddProblem(s);
    return true;
  }
  if (Status s = list_.LoadLocked(node); !s.ok()) return true;
  const auto* leaf = pool_.As<format::Leaf>(node->offset);
  const uint64_t bitmap = format::LeafCommit{leaf->commit}.bitmap();
  if (bitmap != node->bitmap.load()) {
    AddProblem(node->offset, "leaf", "its bitmap is not the one in DRAM");
  }
  std::vector<std::string_view> keys;
  for (uint64_t bits = bitmap; bits != 0; bits &= bits - 1) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(bits));
    Status status;
    const EntryHeader* entry = list_.EntryOf(*node, slot, &status);
    if (entry == nullptr) {
      totals_.AddProblem(status);
      continue;
    }
    const uint64_t offset = pool_.OffsetOf(entry);
    const auto problem = [&](const char* what) { AddProblem(offset, "entry", what); };
    ++totals_.entries;
    ++totals_.links;
    totals_.bytes += entry->size();
    totals_.max_sequence = std::max(totals_.max_sequence, entry->sequence());
    if (!log::EntryVerifies(pool_, offset)) problem("its check does not match");
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
    AddProblem(node->offset, "leaf", "it holds a key twice");
  }
  return true;
}

/// Who owns each leaf and extent: allocated must be reachable, free must not be. Writes are paused.
void LeafVerifier::CheckSpace() {
  const base::MutexHold large_lock = store_.large_values->Hold();
  uint64_t leaves = 0;
  for (LeafNode* node = list_.head()->next.load(); node != nullptr; node = node->next.load()) {
    ++leaves;
    if (!list_.Load(node).ok()) continue;  // CheckLeaf has said so
    live_entries_ += static_cast<uint64_t>(std::popcount(node->bitmap.load()));
  }
  for (std::string& problem : pool_.CheckAllocator(store_.manifest->record().redo_chunks())) {
    totals_.problems.push_back(std::move(problem));
  }
  for (std::string& problem : list_.upper().Check()) {
    totals_.problems.push_back(std::move(problem));
  }
  uint64_t leaf_chunks = 0;
  for (uint64_t chunk = 0; chunk < pool_.chunks(); ++chunk) {
    leaf_chunks += pool_.StateOf(chunk).kind() == ChunkKind::kLeaf ? 1 : 0;
  }
  const uint64_t known = leaves + list_.garbage_leaves() + list_.free_leaves();
  // What is known of all of them lies with the record of their table.
  const auto problem = [&](const std::string& what) {
    AddProblem(format::kManifestOffset[0], "leaves", what);
  };
  if (known != leaf_chunks * LeafList::LeavesInChunk(pool_) || leaves != list_.leaves()) {
    problem(std::to_string(leaves) + " are in the list, " + std::to_string(list_.leaves()) +
            " counted, " + std::to_string(list_.garbage_leaves()) + " replaced, " +
            std::to_string(list_.free_leaves()) + " free, in " + std::to_string(leaf_chunks) +
            " chunks");
  }
  if (const uint64_t counted = store_.writer->entries(); live_entries_ != counted) {
    problem(std::to_string(live_entries_) + " entries are in them, " + std::to_string(counted) +
            " are counted");
  }
  if (const uint64_t last = store_.writer->last_sequence(); totals_.max_sequence > last) {
    problem("an entry has the sequence number " + std::to_string(totals_.max_sequence) +
            ", the last one drawn is " + std::to_string(last));
  }
  CheckExtents();
}

/// What says in a chunk that it counts is accounted for, and named by a leaf. Under
/// the reclaimer's lock.
void LeafVerifier::CheckChunk(uint64_t chunk) {
  store_.reclaimer->AssertHeld();
  const auto problem = [&](const std::string& what) {
    AddProblem(pool_.ChunkOffset(chunk), "chunk", what);
  };
  const ChunkKind kind = pool_.StateOf(chunk).kind();
  if (kind == ChunkKind::kCollected || (kind == ChunkKind::kLeafIndex && store_.image_served)) {
    return problem("it belongs to nobody");
  }
  if (kind != ChunkKind::kLog) return;
  std::vector<uint64_t> entries;
  {
    const LeafWriter::Pause pause(store_.writer);
    if (Result<log::LogChunk> header = log::ReadLogChunk(pool_, chunk); !header.ok()) {
      return totals_.AddProblem(header.status());
    }
    uint64_t live = 0;
    log::ForEachEntry(pool_, chunk, [&](uint64_t offset, const EntryHeader& entry) {
      if (entry.state() != format::kStateLive) return;
      live += entry.size();
      entries.push_back(offset);
    });
    if (store_.usage->Live(chunk) != static_cast<int64_t>(live)) {
      problem(std::to_string(live) + " bytes of entries are live, " +
              std::to_string(store_.usage->Live(chunk)) + " are accounted for");
    }
  }
  for (const uint64_t offset : entries) {
    if (!IsNamed(offset)) {
      AddProblem(offset, "entry", "it says that it counts, no leaf names it");
    }
  }
}

/// Whether a leaf names the entry, unless it is obsolete by now. An entry is written, and shown or
/// not, under the mutex of its leaf.
bool LeafVerifier::IsNamed(uint64_t offset) {
  const base::EpochGuard guard;
  const auto* entry = pool_.As<EntryHeader>(offset);
  LeafNode* node = nullptr;
  base::MutexHold lock;
  if (!list_.Lock(entry->key(), &lock, &node).ok()) return true;  // CheckLeaf has said so
  if (entry->state() != format::kStateLive) return true;
  if (node->offset == 0) return false;
  const LeafLookup found = list_.Find(*node, entry->key(), base::Hash64(entry->key()));
  return found.offset == offset || found.state == LeafLookup::State::kCorrupt;
}

void LeafVerifier::CheckExtents() {
  const std::unordered_set<uint64_t> retired = store_.reclaimer->RetiredExtents();
  uint64_t bodies = 0;  // that still belong to the extent before
  for (uint64_t chunk = 0; chunk < pool_.chunks(); ++chunk) {
    const ChunkKind kind = pool_.StateOf(chunk).kind();
    const uint64_t offset = pool_.ChunkOffset(chunk);
    if (kind == ChunkKind::kExtentBody && bodies-- == 0) {
      bodies = 0;
      if (store_.large_values->HasReserved(chunk)) continue;  // it is being written
      AddProblem(offset, "chunk", "it belongs to no extent");
    }
    if (kind == ChunkKind::kExtentBody) continue;
    bodies = 0;
    if (kind == ChunkKind::kExtentHead) CheckExtent(offset, retired, &bodies);
  }
}

/// `bodies`: how many chunks behind its head are its own.
void LeafVerifier::CheckExtent(uint64_t offset, const std::unordered_set<uint64_t>& retired,
                               uint64_t* bodies) {
  const format::ExtentHeader* extent = pool_.ExtentAt(offset);
  if (extent == nullptr) {
    return AddProblem(offset, "extent", "its header does not match, or it has lost a chunk");
  }
  *bodies = extent->chunks - 1;
  // CheckChunk has asked whether a leaf names it.
  const EntryHeader* owner =
      pool_.ExtentOf(extent->owner) == offset ? pool_.EntryAt(extent->owner) : nullptr;
  const bool owned = owner != nullptr && owner->state() == format::kStateLive;
  if (!owned && !retired.contains(offset)) {
    AddProblem(offset, "extent", "no entry that counts owns it");
  }
}

}  // namespace braid::leaf
