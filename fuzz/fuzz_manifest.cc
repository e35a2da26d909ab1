// Bytes as the headers, the manifest, the table heads and the redo records of a pool. Checks are
// mended as the first byte says; what is accepted is then used as the engine uses it.
#include <string>
#include <vector>

#include "fuzz_common.h"
#include "level/manifest.h"
#include "merge/redo_log.h"
#include "pool/pool.h"
#include "pool/pool_facts.h"
#include "pool_surgery.h"

namespace braid::fuzz {
namespace {

enum Mend : uint8_t { kHeaders = 1, kManifests = 2, kRedos = 4, kStates = 8 };

const PoolBytes& EmptyPool() {
  static const PoolBytes pool = [] {
    PoolMemory memory;
    auto opened =
        pool::PmemPool::Open(MediaFor(&memory, 0), FuzzOptions(0), [](pool::PmemPool* fresh) {
          level::Manifest manifest(fresh);
          return manifest.Create();
        });
    Require(opened.ok(), "an empty pool can't be made");
    return memory.Save();
  }();
  return pool;
}

/// Changes pieces of the pool: each a place, a length and bytes that are xored in.
void ApplyPieces(Input* input, uint8_t mend, PoolSurgery* at) {
  const std::vector<uint64_t> redo = at->ChunksOf(format::ChunkKind::kRedo);
  const uint64_t places[] = {format::kPoolHeaderOffset[0],    format::kPoolHeaderOffset[1],
                             format::kManifestOffset[0],      format::kManifestOffset[1],
                             format::kManifestOffset[0] + 88, format::kTableHeadsOffset,
                             format::kFirstStateTableOffset,  at->ChunkOffset(redo[0]),
                             at->ChunkOffset(redo[1]),        0};
  while (!input->empty()) {
    const uint64_t place = places[input->Below(std::size(places))] + input->Byte();
    const std::string_view bytes = input->Bytes(input->Below(48));
    for (size_t i = 0; i < bytes.size(); ++i) *at->As<char>(place + i) ^= bytes[i];
  }
  if ((mend & kHeaders) != 0) {
    at->SealHeader(0);
    at->SealHeader(1);
    at->SealSegment(0);
  }
  if ((mend & kManifests) != 0) at->SpreadManifest();
  if ((mend & kStates) != 0) {
    for (uint64_t chunk = 0; chunk < at->chunks(); ++chunk) {
      const format::ChunkState state = at->State(chunk);
      at->SetState(chunk, state.kind(), state.generation());
    }
  }
  if ((mend & kRedos) != 0) {
    for (const uint64_t chunk : redo) {
      at->Redo(chunk)->magic = format::kRedoMagic;
      at->SealRedo(chunk);
    }
  }
}

/// What the engine does with a manifest that it believes.
void UseManifest(pool::PmemPool* pool) {
  level::Manifest manifest(pool);
  if (!manifest.Load().ok()) return;
  const format::ManifestState& record = manifest.record();
  for (const format::MergeRecord& merge : record.merges) {
    if (merge.id == 0) continue;
    merge::RedoLog redo(pool, merge);
    std::vector<format::RedoUpdate> updates;
    Result<merge::BatchProgress> progress = redo.Newest(&updates);
    Require(updates.size() <= redo.capacity(), "a redo record is larger than its chunk");
    if (progress.ok()) (void)redo.Apply(updates);
  }
  for (;;) {
    Result<uint32_t> head = manifest.TakeHead();
    if (!head.ok()) break;
    Require(pool->IsHead(pool->HeadOffset(*head)), "a head outside of the heads");
    for (const format::TableRecord& table : record.tables) {
      Require(table.head != *head, "a head is given out twice");
    }
    manifest.AddTable({record.next_table_id + record.tables.size(), 0, 0, *head, 0, 0});
  }
  (void)manifest.Commit();
  while (!record.tables.empty()) manifest.RemoveTable(record.tables[0].id);
}

}  // namespace
}  // namespace braid::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace braid::fuzz;
  static PoolMemory memory;
  Input input(data, size);
  const uint8_t mend = input.Byte();
  PoolBytes bytes = EmptyPool();
  PoolSurgery surgery(&bytes.bytes, bytes.segments);
  ApplyPieces(&input, mend, &surgery);
  memory.Load(bytes);
  auto pool =
      braid::pool::PmemPool::Open(MediaFor(&memory, mend & kPageMedia), FuzzOptions(0),
                                  [](braid::pool::PmemPool*) { return braid::Status::OK(); });
  if (pool.ok()) UseManifest(pool->get());
  return 0;
}
