// Purpose: mapping a damaged pool and reading its manifest.
// Thread safety, invariants, persistence: see damaged_pool.h.
#include "repair/damaged_pool.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "braid/options.h"

namespace braid::repair {

using media::PoolImage;

Result<std::unique_ptr<DamagedPool>> DamagedPool::Open(std::unique_ptr<PoolImage> image,
                                                       uint64_t chunk_bytes,
                                                       const std::string& boot_id) {
  Result<Geometry> geometry = FindGeometry(*image, chunk_bytes);
  if (!geometry.ok()) return geometry.status();
  std::unique_ptr<DamagedPool> pool(new DamagedPool(std::move(image), std::move(geometry).value()));
  if (Status s = pool->Map(); !s.ok()) return s;
  const std::optional<format::PoolHeader>& header = pool->geometry_.header;
  if (header && header->clean == 0 &&
      header->media_class == static_cast<uint32_t>(MediaClass::kPage)) {
    pool->lost_page_cache_ = boot_id != header->boot_id;
  }
  return pool;
}

Status DamagedPool::Map() {
  std::vector<PoolImage::Place> places;
  for (const SegmentPlace& segment : geometry_.segments) {
    places.push_back({segment.file, segment.base});
  }
  // A file may be longer than its segment was.
  uint64_t bytes = geometry_.pool_bytes;
  for (const auto& place : places) {
    bytes = std::max(bytes, place.base + image_->files()[place.file].bytes);
  }
  const uint64_t unit = geometry_.chunk_bytes;
  bytes = (bytes + unit - 1) / unit * unit;
  return image_->Map(places, bytes);
}

void DamagedPool::ReadManifest(Findings* findings) {
  BRAID_DCHECK(!has_manifest_);  // once
  for (int i = 0; i < 2; ++i) {
    const uint64_t place = format::kManifestOffset[i];
    if (!image_->Holds(place, format::kManifestBytes)) continue;
    const auto extension = [this](uint64_t chunk, uint64_t offset, uint64_t bytes) -> const char* {
      const uint64_t at = chunk * geometry_.chunk_bytes + offset;
      const bool is_there =
          chunk < format::kMaxId / geometry_.chunk_bytes && image_->Holds(at, bytes);
      return is_there ? image_->base() + at : nullptr;
    };
    format::ManifestState state;
    uint32_t version = 0;
    if (!format::DecodeManifest(image_->base() + place, i, geometry_.chunk_bytes, extension, &state,
                                &version)) {
      findings->Note(place, sizeof(format::ManifestRecord),
                     "manifest copy " + std::to_string(i + 1), "its check does not match", false);
    } else if (!has_manifest_ || state.commit_count > manifest_.commit_count) {
      manifest_ = std::move(state);
      has_manifest_ = true;
    }
  }
}

}  // namespace braid::repair
