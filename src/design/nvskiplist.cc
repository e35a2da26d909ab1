// Purpose: the recipe of the store without log and memtable: leaves in persistent memory below an
// index in DRAM.
// Thread safety: none needed.
// Persistence: that of its parts.
// Source: NV-Skiplist.
#include "design/design.h"
#include "leaf/leaf_engine.h"

namespace braid::design {

const Design kNvSkipList = {
    "nvskiplist",
    "no log: leaves of unsorted slots in persistent memory, upper levels in DRAM, ranges",
    Capabilities{.stores = true, .compare_and_swap = true},
    [](Options* options) {
      Choose(&options->leaf.ranges, 16);
      Choose(&options->leaf.divide_ranges, true);
      Choose(&options->leaf.span, 3);
    },
    OpenEngine<leaf::LeafEngine>,
};

}  // namespace braid::design
