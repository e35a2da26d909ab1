// Purpose: the registry of designs: a name, what it is, and how its engine is made from parts.
// Thread safety: the registry is immutable. Persistence: the name is in the pool header.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "pmem/media.h"

namespace braid::design {

struct Design {
  std::string_view name;
  std::string_view summary;
  bool stores = true;  ///< false: what is put can't be read back
  Result<std::shared_ptr<engine::Engine>> (*open)(const Options& options,
                                                  std::unique_ptr<pmem::Media> media);
};

/// All designs, in the order they are listed to people.
const std::vector<Design>& Designs();
/// InvalidArgument, with the names there are, when there is none of that name.
Result<const Design*> FindDesign(std::string_view name);

extern const Design kBraid;
extern const Design kBlackhole;

}  // namespace braid::design
