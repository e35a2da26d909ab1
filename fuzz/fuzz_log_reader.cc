// Bytes as the log chunks of a pool. The first bytes say how many chunks there are and how they are
// chained; the rest is what lies in them. Headers, and on demand the checks of entries, are mended,
// so that the reader gets past them.
#include <string>
#include <vector>

#include "fuzz_common.h"
#include "log/log_reader.h"
#include "pool/pool.h"
#include "pool_surgery.h"

namespace braid::fuzz {
namespace {

constexpr uint64_t kLogChunks = 4;

/// An empty pool of which the last chunks are free.
const PoolBytes& EmptyPool() {
  static const PoolBytes pool = [] {
    PoolMemory memory;
    Options options = FuzzOptions(0);
    options.pool.initial_bytes = 96u << 10;
    auto opened = pool::PmemPool::Open(MediaFor(&memory, 0), options,
                                       [](pool::PmemPool*) { return Status::OK(); });
    Require(opened.ok(), "an empty pool can't be made");
    return memory.Save();
  }();
  return pool;
}

/// Lays the input into log chunks; returns how the chunks are chained.
std::vector<uint64_t> FillChunks(Input* input, PoolSurgery* at) {
  std::vector<uint64_t> chunks;
  const uint64_t count = 1 + input->Below(kLogChunks);
  const uint8_t how = input->Byte();
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t chunk = at->chunks() - 1 - i;
    at->SetState(chunk, format::ChunkKind::kLog, 7);
    format::LogChunkHeader* header = at->LogHeader(chunk);
    *header = {};
    header->magic = format::kLogChunkMagic;
    header->generation = 7;
    header->table_id = 9;
    header->ordinal = static_cast<uint32_t>(i);
    header->previous_used = i == 0 ? 0 : input->Word(2);
    header->within_unit = (how >> i) & 1;
    at->SealLogChunk(chunk);
    const std::string_view bytes =
        input->Bytes(std::min(input->Word(2), at->chunk_bytes() - sizeof *header));
    std::memcpy(header + 1, bytes.data(), bytes.size());
    if ((how & 0x80) != 0) {
      for (const uint64_t entry : at->EntriesOf(chunk)) at->SealEntry(entry);
    }
    chunks.push_back(chunk);
  }
  return chunks;
}

void CheckShard(const pool::PmemPool& pool, const std::vector<uint64_t>& chunks) {
  std::vector<log::LogChunk> log;
  for (const uint64_t chunk : chunks) {
    Result<log::LogChunk> header = log::ReadLogChunk(pool, chunk);
    if (header.ok()) log.push_back(*header);
    uint64_t last = 0;
    log::ForEachEntry(pool, chunk, [&](uint64_t offset, const format::EntryHeader& entry) {
      Require(offset > last, "a chunk shows entries out of order");
      Require(pool.ChunkOf(offset + entry.size() - 1) == chunk, "an entry leaves its chunk");
      last = offset;
    });
  }
  Result<log::ShardLog> shard = log::ReadShardLog(pool, log);
  if (!shard.ok()) {
    Require(!shard.status().message().empty(), "an error without a message");
    return;
  }
  for (const uint64_t offset : shard->committed) {
    Require(log::EntryVerifies(pool, offset), "a committed entry does not verify");
  }
  for (const uint64_t offset : shard->torn) {
    Require(pool.EntryAt(offset) != nullptr, "a torn entry is no entry");
  }
}

}  // namespace
}  // namespace braid::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace braid::fuzz;
  static PoolMemory memory;
  Input input(data, size);
  PoolBytes bytes = EmptyPool();
  PoolSurgery surgery(&bytes.bytes, bytes.segments);
  const std::vector<uint64_t> chunks = FillChunks(&input, &surgery);
  memory.Load(bytes);
  auto pool =
      braid::pool::PmemPool::Open(MediaFor(&memory, 0), FuzzOptions(0),
                                  [](braid::pool::PmemPool*) { return braid::Status::OK(); });
  Require(pool.ok(), "the pool around the log can't be opened");
  CheckShard(**pool, chunks);
  return 0;
}
