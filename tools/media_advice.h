// Why a pool has its media class, and how to get a better one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "braid/statistics.h"

namespace braid::tools {

/// A mounted filesystem, as a line of /proc/self/mountinfo tells.
struct Mount {
  std::string point;
  std::string type;     ///< "ext4"
  std::string options;  ///< of the mount and of the filesystem, comma-separated
};

/// The mount that holds the absolute `path`, by the text of mountinfo. Empty type when none does.
Mount FindMount(std::string_view mountinfo, std::string_view path);

/// Sentences that explain the class of the medium: the reason first, then what to do.
std::vector<std::string> ExplainMedia(MediaClass media_class, bool forced, const Mount& mount,
                                      const std::vector<std::string>& pmem_devices);

/// The same for a pool of this machine.
std::vector<std::string> ExplainMedia(const PoolInfo& info);

}  // namespace braid::tools
