// Purpose: the list of designs.
// Thread safety: immutable.
// Persistence: none.
#include "design/design.h"

namespace braid::design {

const std::vector<Design>& Designs() {
  static const std::vector<Design> designs = {kBraid, kListDb, kNvSkipList, kBlackhole};
  return designs;
}

Result<const Design*> FindDesign(std::string_view name) {
  std::string known;
  for (const Design& design : Designs()) {
    if (design.name == name) return &design;
    known += (known.empty() ? "" : ", ") + std::string(design.name);
  }
  return Status::InvalidArgument("options.design: there is no design \"" + std::string(name) +
                                 "\"; there are: " + known);
}

}  // namespace braid::design
