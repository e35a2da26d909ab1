// Purpose: the parts of one store of leaves, wired to each other: what an engine forwards to.
// Thread safety: that of each part.
// Locks, in the order they may be taken: the engine's (one close at a time), LeafScheduler::Hold,
// LeafReclaimer::Hold, that of LeafWriter::Pause, LargeValues::Hold, mutexes of leaves (left to
// right), locks of heap, list and index, and then the small ones that are held for a moment
// (WriteErrors, what is retired, LeafCollector's counts, the list of jobs). Inside an EpochGuard,
// block only on mutexes of leaves and on what follows them.
// Invariants:
//   1. A part uses those above it, and outlives none of them.
// Persistence: none of its own.
#pragma once

#include <atomic>
#include <memory>

#include "base/stalls.h"
#include "engine/write_errors.h"
#include "leaf/leaf_collector.h"
#include "leaf/leaf_list.h"
#include "leaf/leaf_reclaimer.h"
#include "leaf/leaf_scheduler.h"
#include "leaf/leaf_verifier.h"
#include "leaf/leaf_writer.h"
#include "level/manifest.h"
#include "log/entry_heap.h"
#include "pool/chunk_usage.h"
#include "pool/pool.h"
#include "space/large_values.h"

namespace braid::leaf {

struct LeafStore {
  /// `options` are complete: a design has chosen all parts.
  LeafStore(const Options& chosen, std::unique_ptr<pool::PmemPool> opened,
            std::unique_ptr<base::SharedBudget::Share> joined);
  LeafStore(const LeafStore&) = delete;
  LeafStore& operator=(const LeafStore&) = delete;

  /// False: there was no memory for what is as large as the pool may grow.
  bool ok() const noexcept { return usage.ok(); }
  /// DRAM that it takes: its index, which does not give way.
  uint64_t memory_bytes() const {
    return list.leaves() * sizeof(LeafNode) + list.upper().nodes() * sizeof(SpanNode);
  }
  /// What a check needs. `image_served`: the image of the last close is freed.
  LeafVerifier::Store ToVerify(bool image_served, const std::function<void(double)>* progress);

  const Options options;
  const std::unique_ptr<pool::PmemPool> pool;
  std::atomic<bool> closed{false};
  engine::WriteErrors errors{pool.get(), &closed};
  pool::ChunkUsage usage;
  level::Manifest manifest;
  LeafList list;
  const std::unique_ptr<base::SharedBudget::Share> share;
  log::EntryHeap heap;
  space::LargeValues large_values;
  base::Stalls stalls;
  LeafReclaimer reclaimer;
  LeafCollector collector;
  space::Trimmer trimmer{pool.get()};
  LeafScheduler scheduler;
  LeafWriter writer;
};

}  // namespace braid::leaf
