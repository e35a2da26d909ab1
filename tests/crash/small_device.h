// A device for hand-written crash tests, and databases without threads on it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "crash/bare_database.h"
#include "sim/sim_media.h"

namespace braid::crash {

/// `memory` is what processes see; `medium` what has been written back.
struct SmallDevice {
  explicit SmallDevice(MediaClass media_class) : sim(&memory, &medium, 1, media_class) {}

  /// Becomes what is on another medium, with nothing in caches.
  void CopyMedium(const sim::SimArea& other) {
    for (sim::SimArea* area : {&memory, &medium}) {
      area->set_segments(other.segments());
      std::memcpy(area->base(), other.base(), other.published_bytes());
    }
  }
  std::unique_ptr<DB> Open(const Options& options, const std::string& boot) {
    Result<std::unique_ptr<DB>> opened =
        OpenBare(options, std::make_unique<sim::SimMedia>(&sim, boot));
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    return opened.ok() ? std::move(*opened) : nullptr;
  }

  sim::SimArea memory{4u << 20};
  sim::SimArea medium{4u << 20};
  sim::SimPersist sim;
};

}  // namespace braid::crash
