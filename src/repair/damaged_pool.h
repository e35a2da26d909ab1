// Purpose: a damaged pool, mapped, with the facts from its headers and manifest: the layout,
// whether the page cache was lost, its tables and merges.
// Thread safety: reads from any thread once ReadManifest has returned.
// Invariants:
//   1. Every byte below image().bytes() can be read.
//   2. A header or manifest without an intact copy is reported as missing, and its facts are empty.
// Persistence: none; the pool is not changed.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "format/manifest.h"
#include "media/pool_image.h"
#include "recovery/entry_scan.h"
#include "repair/findings.h"
#include "repair/geometry.h"

namespace braid::repair {

class DamagedPool {
 public:
  /// Finds the geometry and maps the image. `chunk_bytes`: what the caller knows, 0 when nothing;
  /// `boot_id`: of the machine as it runs now. Errors: those of FindGeometry and PoolImage::Map.
  static Result<std::unique_ptr<DamagedPool>> Open(std::unique_ptr<media::PoolImage> image,
                                                   uint64_t chunk_bytes,
                                                   const std::string& boot_id);
  /// Takes the newer copy that is intact; notes one that is not.
  void ReadManifest(Findings* findings);

  const media::PoolImage& image() const noexcept { return *image_; }
  const char* base() const noexcept { return image_->base(); }
  const Geometry& geometry() const noexcept { return geometry_; }
  uint64_t chunk_bytes() const noexcept { return geometry_.chunk_bytes; }
  /// A power loss on page-cache media: what was not synced is missing in any place, and links mean
  /// nothing.
  bool lost_page_cache() const noexcept { return lost_page_cache_; }
  bool has_manifest() const noexcept { return has_manifest_; }
  const format::ManifestState& manifest() const noexcept { return manifest_; }
  uint32_t generation_floor() const noexcept {
    const uint64_t floor = geometry_.header ? geometry_.header->generation_floor : 0;
    return static_cast<uint32_t>(std::min<uint64_t>(floor, ~uint32_t{0}));
  }

  const format::EntryHeader* EntryAt(uint64_t offset) const noexcept {
    return reinterpret_cast<const format::EntryHeader*>(base() + offset);
  }
  /// Chunk number `chunk`, in the life `generation`.
  recovery::EntryRegion RegionOf(uint64_t chunk, uint32_t generation) const noexcept {
    const uint64_t begin = chunk * chunk_bytes();
    return {base(), begin, begin + chunk_bytes(), generation};
  }

 private:
  DamagedPool(std::unique_ptr<media::PoolImage> image, Geometry geometry)
      : image_(std::move(image)), geometry_(std::move(geometry)) {}
  Status Map();

  std::unique_ptr<media::PoolImage> image_;
  Geometry geometry_;
  bool lost_page_cache_ = false;
  bool has_manifest_ = false;
  format::ManifestState manifest_;
};

}  // namespace braid::repair
