// The chunks of a pool on a medium of their own, without the pool: for tests of the parts that it
// is made of.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "media/file_media.h"
#include "media/persist.h"
#include "pool/chunk_space.h"

namespace braid::test {

class BareSpace : public pool::ChunkSpace {
 public:
  static constexpr uint64_t kChunkBytes = 16u << 10;

  /// In a folder that is not there yet; chunks come by AddSegment.
  explicit BareSpace(const std::string& path, uint32_t regions = 1, bool braided = true)
      : ChunkSpace(Open(path)), ops_(media().media_class()) {
    SetLayout(kChunkBytes, regions, braided);
    const Status made = MakeTables();
    EXPECT_TRUE(made.ok()) << made.ToString();
  }
  media::PersistOps* ops() noexcept { return &ops_; }
  /// So many free chunks, without a header on the medium.
  void AddSegment(uint64_t count, uint32_t region = 0) {
    const Status added = media().AddSegment(count * kChunkBytes);
    EXPECT_TRUE(added.ok()) << added.ToString();
    EXPECT_TRUE(media().PublishSegment().ok());
    NoteSegment(count, region);
  }
  /// The same for chunks that the medium has already.
  void NoteSegment(uint64_t count, uint32_t region = 0) {
    const uint64_t first = chunks();
    MapRegion(ChunkOffset(first), count * kChunkBytes, region);
    for (uint64_t i = first; i < first + count; ++i) SetKind(i, format::ChunkKind::kFree);
    PublishChunks(first + count);
  }
  void SetKind(uint64_t chunk, format::ChunkKind kind) {
    SetStateOf(chunk, format::ChunkState::Make(kind, 1, chunk));
  }

 private:
  static std::unique_ptr<media::Media> Open(const std::string& path) {
    Result<std::unique_ptr<media::Media>> media = media::OpenFileMedia(path, PoolOptions{}, true);
    EXPECT_TRUE(media.ok()) << media.status().ToString();
    return std::move(media).value();
  }

  media::PersistOps ops_;
};

}  // namespace braid::test
