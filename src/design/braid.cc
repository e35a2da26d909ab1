// Purpose: the recipe of the default design: index-unified log, DRAM B+-tree memtable, link flush,
// zipper merge with a redo log, DRAM index over L1 (docs/designs/). Thread safety: none needed.
// Persistence: that of its parts.
#include "design/design.h"
#include "engine/lsm_engine.h"

namespace braid::design {

const Design kBraid = {
    "braid",
    "index-unified log, DRAM B+-tree memtable, link flush, zipper merge with redo log, DRAM index",
    true,
    [](const Options& options,
       std::unique_ptr<pmem::Media> media) -> Result<std::shared_ptr<engine::Engine>> {
      Result<std::shared_ptr<engine::LsmEngine>> engine =
          engine::LsmEngine::Open(options, std::move(media));
      if (!engine.ok()) return engine.status();
      return std::shared_ptr<engine::Engine>(std::move(engine).value());
    },
};

}  // namespace braid::design
