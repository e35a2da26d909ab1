// Purpose: the recipe of the design that stores nothing: the template for a new design and the zero
// line of every graph. Thread safety: none needed. Persistence: none.
#include "design/design.h"
#include "engine/null_engine.h"

namespace braid::design {

const Design kBlackhole = {
    "blackhole",
    "stores nothing: the template for a new design and the zero line of every graph",
    false,
    [](const Options& options,
       std::unique_ptr<pmem::Media> media) -> Result<std::shared_ptr<engine::Engine>> {
      Result<std::shared_ptr<engine::NullEngine>> engine =
          engine::NullEngine::Open(options, std::move(media));
      if (!engine.ok()) return engine.status();
      return std::shared_ptr<engine::Engine>(std::move(engine).value());
    },
};

}  // namespace braid::design
