// Purpose: the registry of designs: a name, what it is and can do, which parts it picks, and how
// its engine is made from them.
// Thread safety: the registry is immutable.
// Persistence: the name is in the pool header.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "media/media.h"

namespace braid::design {

struct Design {
  std::string_view name;
  std::string_view summary;
  Capabilities capabilities;
  /// Fills in the parts and sizes that the options leave to the design. lists.kind stays open: an
  /// existing pool knows its own, a new one gets braided lists.
  void (*choose)(Options* options);
  /// Of options that choose() has completed.
  Result<std::shared_ptr<engine::Engine>> (*open)(const Options& options,
                                                  std::unique_ptr<media::Media> media);
  bool several_lists = false;  ///< one a level, below L0: options.levels is for such designs

  /// Opens the engine of this design on a pool that `media` holds or will hold.
  Result<std::shared_ptr<engine::Engine>> Make(Options options,
                                               std::unique_ptr<media::Media> media) const;
};

/// Sets an option that the user has left to the design.
template <class T>
void Choose(std::optional<T>* option, T value) {
  if (!option->has_value()) *option = value;
}
inline void Choose(uint32_t* option, uint32_t value) {
  if (*option == 0) *option = value;
}

/// Opens an engine of type E.
template <class E>
Result<std::shared_ptr<engine::Engine>> OpenEngine(const Options& options,
                                                   std::unique_ptr<media::Media> media) {
  Result<std::shared_ptr<E>> engine = E::Open(options, std::move(media));
  if (!engine.ok()) return engine.status();
  return std::shared_ptr<engine::Engine>(std::move(engine).value());
}

/// All designs, in the order they are listed to people.
const std::vector<Design>& Designs();
/// InvalidArgument, with the names there are, when there is none of that name.
Result<const Design*> FindDesign(std::string_view name);

extern const Design kBraid;
extern const Design kListDb;
extern const Design kZipperDb;
extern const Design kNoveLsm;
extern const Design kTlsm;
extern const Design kNvSkipList;
extern const Design kBlackhole;

}  // namespace braid::design
