// Purpose: wires the parts of a store.
// Thread safety, invariant, persistence: see lsm_store.h.
#include "lsm/lsm_store.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/epoch.h"
#include "engine/parts.h"
#include "lsm/tier_opening.h"
#include "memtable/dram_memtable.h"
#include "memtable/pmem_memtable.h"

namespace braid::lsm {

namespace {

/// Null where nothing would ever fill it.
std::unique_ptr<cache::LookupCache> NewLookupCache(const Options& options,
                                                   const pool::PmemPool* pool) {
  if (*options.cache.lookup_bytes == 0 || options.read_only) return nullptr;
  return std::make_unique<cache::LookupCache>(pool, *options.cache.lookup_bytes);
}

}  // namespace

// Long: one list of what each part uses; a part names only what is declared before it.
LsmStore::LsmStore(const Options& chosen, std::unique_ptr<pool::PmemPool> opened,
                   std::unique_ptr<tier::Store> opened_tier,
                   std::unique_ptr<level::MemoryBudget::Share> share,
                   write::Writer::Host* write_host, BulkLoader::Host* load_host)
    : options(chosen),
      pool(std::move(opened)),
      tier(opened_tier == nullptr
               ? nullptr
               : std::make_unique<tier::Tier>(std::move(opened_tier), TierCacheBytes(options),
                                              &pool->memory_users())),
      lookup_cache(NewLookupCache(options, pool.get())),
      budget(options, pool.get(), lookup_cache.get(), std::move(share),
             [write_host] { write_host->Wake(); }),
      usage(pool->media().reserved_bytes() / pool->chunk_bytes()),
      controller(options),
      views(std::make_shared<level::ViewRegistry>()),
      // Sequentially consistent, behind what there is to be done, as the number of a write: either
      // this sees who goes to sleep, or that one sees the work.
      reclaimer(
          pool.get(), [this] { return views->OldestPin(); },
          [this, write_host] {
            if (jobs_asleep.load() != 0) write_host->Wake();
          }),
      versions(pool.get(), &reclaimer),
      memtables{pool.get(), &sequence, controller.stalls()},
      large_values(pool.get()),
      reader({.options = &options,
              .pool = pool.get(),
              .versions = &versions,
              .views = views,
              .reclaimer = &reclaimer,
              .lookup_cache = lookup_cache.get(),
              .tier = tier.get(),
              .latencies = controller.stalls()->latencies(),
              .sequence = &sequence,
              .closed = &closed}),
      indexes({&options, pool.get(), &versions, &reclaimer, &budget}),
      overwrites({.options = &options,
                  .pool = pool.get(),
                  .versions = &versions,
                  .views = views.get(),
                  .sequence = &sequence,
                  .reads = [this] { return reader.reads(); },
                  .stop = &stop_merges}),
      lookup_filler(pool.get(), &versions, lookup_cache.get()),
      accounts({&options, pool.get(), &usage, &versions, &reclaimer, lookup_cache.get()}),
      flusher({.options = &options,
               .pool = pool.get(),
               .usage = &usage,
               .versions = &versions,
               .views = views.get(),
               .reclaimer = &reclaimer,
               .accounts = &accounts,
               .budget = &budget,
               .lookup_cache = lookup_cache.get(),
               .sequence = &sequence}),
      full_merger({.options = &options,
                   .pool = pool.get(),
                   .usage = &usage,
                   .versions = &versions,
                   .views = views.get(),
                   .reclaimer = &reclaimer,
                   .accounts = &accounts,
                   .indexes = &indexes,
                   .lookup_filler = &lookup_filler,
                   .budget = &budget,
                   .limit = &limit,
                   .tier = tier.get(),
                   .stop = &stop_merges}),
      merger({.options = &options,
              .pool = pool.get(),
              .usage = &usage,
              .versions = &versions,
              .views = views.get(),
              .reclaimer = &reclaimer,
              .accounts = &accounts,
              .indexes = &indexes,
              .overwrites = &overwrites,
              .full_merger = &full_merger,
              .budget = &budget,
              .errors = &errors,
              .limit = &limit,
              .tier = tier.get(),
              .stop = &stop_merges}),
      reclusterer({&options, pool.get(), &usage, &versions, &indexes, &merger}),
      dropper({&options, pool.get(), &versions, views.get(), &indexes, &merger, tier.get()}),
      collector({&options, pool.get(), &usage, &accounts, &reclaimer, &merger, &errors}),
      rewriter({.options = &options,
                .pool = pool.get(),
                .usage = &usage,
                .versions = &versions,
                .views = views.get(),
                .reclaimer = &reclaimer,
                .accounts = &accounts,
                .collector = &collector,
                .errors = &errors,
                .limit = &limit,
                .tier = tier.get(),
                .stop = &stop_merges}),
      tier_filler(options, {.pool = pool.get(),
                            .versions = &versions,
                            .views = views.get(),
                            .usage = &usage,
                            .accounts = &accounts,
                            .merger = &merger,
                            .rewriter = Rewrites() ? &rewriter : nullptr,
                            .tier = tier.get()}),
      room_maker({.pool = pool.get(),
                  .usage = &usage,
                  .accounts = &accounts,
                  .large_values = &large_values,
                  .merger = &merger,
                  .rewriter = Rewrites() ? &rewriter : nullptr}),
      writer({.pool = pool.get(),
              .versions = &versions,
              .reader = &reader,
              .reclaimer = &reclaimer,
              .budget = &budget,
              .large_values = &large_values,
              .controller = &controller,
              .pace = &pace,
              .errors = &errors,
              .sequence = &sequence,
              .jobs_asleep = &jobs_asleep,
              .host = write_host},
             engine::ShardCount(options)),
      range_deleter({&options, pool.get(), &versions, &reclaimer, &reader, &writer}),
      bulk_loader({.options = &options,
                   .pool = pool.get(),
                   .usage = &usage,
                   .versions = &versions,
                   .reclaimer = &reclaimer,
                   .large_values = &large_values,
                   .lookup_filler = &lookup_filler,
                   .controller = &controller,
                   .writer = &writer,
                   .flusher = &flusher,
                   .sequence = &sequence,
                   .host = load_host}),
      readers({&options, &versions, views.get(), &reclaimer, &sequence}) {
  BRAID_CHECK(write_host != nullptr && load_host != nullptr);
  if (Rewrites()) {
    pool->KeepForRewrites(versions.Lock().manifest().MostLists());
  }
}

bool LsmStore::IsNextPersistent(const memtable::MemTable* before) const {
  switch (*options.memtable.kind) {
    case MemTableKind::kBTree:
    case MemTableKind::kSkipList:
      return false;
    case MemTableKind::kPersistent:
      return true;
    case MemTableKind::kAlternating:
      break;
  }
  if (before == nullptr) return false;
  if (!before->is_persistent()) return true;
  // One of DRAM again, if no other waits for its flush.
  const base::EpochGuard guard;
  const auto& immutables = versions.shown().immutables;
  return std::any_of(immutables.begin(), immutables.end(),
                     [](const auto& memtable) { return !memtable->is_persistent(); });
}

std::shared_ptr<memtable::MemTable> LsmStore::NewMemTable(uint64_t id,
                                                          const memtable::MemTable* before) {
  if (IsNextPersistent(before)) {
    return std::make_shared<memtable::PmemMemTable>(memtables, id, writer.shards(),
                                                    options.verify_checksums);
  }
  return std::make_shared<memtable::DramMemTable>(memtables, id, writer.shards(), options, before);
}

bool LsmStore::WaitsForFlush(const level::ReadState& state) const noexcept {
  if (state.immutables.size() < options.memtable.max_immutable) return false;
  // One of DRAM gives way to a persistent one, however many there are.
  return *options.memtable.kind != MemTableKind::kAlternating || state.active->is_persistent();
}

}  // namespace braid::lsm
