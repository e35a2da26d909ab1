// Purpose: the recipe of the design that stores nothing: the template for a new design and the zero
// line of every graph.
// Thread safety: none needed.
// Persistence: none.
#include "design/design.h"
#include "null/null_engine.h"

namespace braid::design {

const Design kBlackhole = {
    "blackhole",
    "stores nothing: the template for a new design and the zero line of every graph",
    Capabilities{.stores = false, .atomic_batches = true, .snapshots = true},
    [](Options*) {},
    OpenEngine<null::NullEngine>,
};

}  // namespace braid::design
