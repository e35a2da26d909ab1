// Purpose: wires the parts of a store of leaves.
// Thread safety, invariant, persistence: see leaf_store.h.
#include "leaf/leaf_store.h"

#include <utility>

#include "engine/parts.h"

namespace braid::leaf {

namespace {

SpanSkipList::Limits LimitsOf(const Options& options) {
  SpanSkipList::Limits limits;
  limits.span = options.leaf.span;
  limits.ranges = options.leaf.ranges;
  limits.divide = *options.leaf.divide_ranges;
  return limits;
}

}  // namespace

LeafStore::LeafStore(const Options& chosen, std::unique_ptr<pool::PmemPool> opened,
                     std::unique_ptr<base::SharedBudget::Share> joined)
    : options(chosen),
      pool(std::move(opened)),
      usage(pool->media().reserved_bytes() / pool->chunk_bytes()),
      manifest(pool.get()),
      list(pool.get(), LimitsOf(options), options.verify_checksums),
      share(std::move(joined)),
      heap(pool.get(), &usage, engine::ShardCount(options)),
      large_values(pool.get()),
      stalls(options.listener.get()),
      reclaimer({.pool = pool.get(), .usage = &usage, .heap = &heap, .list = &list}),
      collector({.pool = pool.get(),
                 .usage = &usage,
                 .heap = &heap,
                 .list = &list,
                 .large_values = &large_values,
                 .reclaimer = &reclaimer,
                 .live_ratio = options.compaction.gc_live_ratio}),
      scheduler({.options = &options,
                 .pool = pool.get(),
                 .closed = &closed,
                 .errors = &errors,
                 .large_values = &large_values,
                 .stalls = &stalls,
                 .reclaimer = &reclaimer,
                 .collector = &collector,
                 .trimmer = &trimmer,
                 .share = share.get()}),
      writer({.pool = pool.get(),
              .closed = &closed,
              .errors = &errors,
              .usage = &usage,
              .list = &list,
              .heap = &heap,
              .large_values = &large_values,
              .reclaimer = &reclaimer,
              .scheduler = &scheduler,
              .stalls = &stalls}) {
  share->Attach([this] { return memory_bytes(); }, {});
}

LeafVerifier::Store LeafStore::ToVerify(bool image_served,
                                        const std::function<void(double)>* progress) {
  return {.pool = pool.get(),
          .usage = &usage,
          .manifest = &manifest,
          .list = &list,
          .large_values = &large_values,
          .reclaimer = &reclaimer,
          .writer = &writer,
          .image_served = image_served,
          .progress = progress};
}

}  // namespace braid::leaf
