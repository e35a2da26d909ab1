// Purpose: the list of designs.
// Thread safety: immutable.
// Persistence: none.
#include "design/design.h"

#include "base/resources.h"

namespace braid::design {

const std::vector<Design>& Designs() {
  static const std::vector<Design> designs = {kBraid, kListDb,     kZipperDb, kNoveLsm,
                                              kTlsm,  kNvSkipList, kBlackhole};
  return designs;
}

Result<std::shared_ptr<engine::Engine>> Design::Make(Options options,
                                                     std::unique_ptr<media::Media> media) const {
  const LevelOptions& levels = options.levels;
  const bool is_set = levels.count != 0 || levels.l1_bytes != 0 || levels.growth != 0 ||
                      levels.per_group != 0 || levels.persistent_bytes != 0 ||
                      levels.list_bytes != 0 || levels.reference_bytes != 0;
  if (is_set && !several_lists) {
    return Status::InvalidArgument(
        "options.levels is for designs that keep several lists, one a level; this one keeps one");
  }
  base::SizeForResources(&options);
  choose(&options);
  return open(options, std::move(media));
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
