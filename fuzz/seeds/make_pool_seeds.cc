// Writes the seeds of fuzz_pool: small pools in the states that a store's life leaves, closed, and
// as a process that dies leaves them. make_pool_seeds <folder>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>

#include "base/random.h"
#include "engine/engine.h"
#include "fuzz_common.h"

namespace braid::fuzz {
namespace {

using Engine = engine::Engine;

struct Seed {
  const char* name;
  uint8_t how;
  uint32_t l0_trigger;
  bool close;
  std::function<void(Engine*)> fill;
  const design::Design* design = &design::kBraid;
};

void Put(Engine* engine, uint64_t n, size_t size) {
  const std::string key = "key" + std::to_string(100 + n);
  // Zeroes take no room in an input.
  const char filling = size > 1000 ? '\0' : static_cast<char>('a' + n % 26);
  Require(engine->Put({}, key, std::string(size, filling)).ok(), "put");
}

void Fill(Engine* engine, uint64_t first, uint64_t count, size_t size) {
  for (uint64_t i = 0; i < count; ++i) Put(engine, first + i * 7 % count, size);
}

void Batch(Engine* engine, uint64_t first, uint64_t count) {
  WriteBatch batch;
  for (uint64_t i = first; i < first + count; ++i) batch.Put("key" + std::to_string(100 + i), "b");
  batch.Delete("key103");
  Require(engine->Write({}, batch).ok(), "batch");
}

/// Everything a pool can hold at once.
void Mixed(Engine* engine) {
  Fill(engine, 0, 12, 9);
  Require(engine->Compact().ok(), "compact");
  Fill(engine, 6, 12, 5);
  Put(engine, 3, 5000);
  Require(engine->Flush().ok(), "flush");
  Batch(engine, 4, 6);
  Require(engine->Delete({}, "key107").ok(), "delete");
  Put(engine, 20, 2500);
}

/// What a design without batches and snapshots can hold.
void Singles(Engine* engine) {
  Fill(engine, 0, 60, 9);
  Fill(engine, 6, 12, 5);
  Put(engine, 3, 5000);
  for (int i = 20; i < 50; ++i) {
    Require(engine->Delete({}, "key" + std::to_string(100 + i)).ok(), "delete");
  }
  Put(engine, 20, 2500);
}

std::vector<Seed> Seeds() {
  return {
      {"empty", 0, 1, true, [](Engine*) {}},
      {"log", 0, 8, false, [](Engine* engine) { Fill(engine, 0, 14, 8); }},
      {"log_batches", kVerifyFull, 8, false,
       [](Engine* engine) {
         Batch(engine, 0, 5);
         Fill(engine, 2, 5, 3);
         Batch(engine, 1, 8);
       }},
      {"tables", 0, 8, true,
       [](Engine* engine) {
         for (uint64_t part = 0; part < 3; ++part) {
           Fill(engine, part * 4, 8, 6);
           Require(engine->Flush().ok(), "flush");
         }
       }},
      {"merged", 0, 1, true,
       [](Engine* engine) {
         Fill(engine, 0, 30, 4);
         Require(engine->Compact().ok(), "compact");
       }},
      {"merged_tall", kSmallBudget, 1, true,
       [](Engine* engine) {
         Fill(engine, 0, 90, 0);
         Require(engine->Compact().ok(), "compact");
       }},
      {"mixed", kSmallBatches, 4, true, Mixed},
      {"mixed_crash", 0, 4, false, Mixed},
      {"mixed_other_boot", kOtherBoot, 4, false, Mixed},
      {"rebuild", kPageMedia | kOtherBoot, 4, false, Mixed},
      {"extents", 0, 4, true,
       [](Engine* engine) {
         Put(engine, 0, 3000);
         Put(engine, 1, 9000);
         Put(engine, 0, 2100);
         Require(engine->Flush().ok(), "flush");
       }},
      {"versions", kNoChecksums, 4, true,
       [](Engine* engine) {
         std::vector<std::shared_ptr<const Snapshot>> snapshots;
         for (uint64_t round = 0; round < 5; ++round) {
           Fill(engine, 0, 4, 2 + round);
           snapshots.push_back(engine->GetSnapshot());
           if (round == 2) Require(engine->Compact().ok(), "compact");
         }
         Require(engine->Flush().ok(), "flush");
       }},
      {"write_ahead", kWriteAheadLog, 4, true, Mixed},
      {"write_ahead_crash", kWriteAheadLog, 4, false, Mixed},
      {"write_ahead_rebuild", kWriteAheadLog | kPageMedia | kOtherBoot, 4, false, Mixed},
      {"copy_merges", kCopyMerges, 4, true, Mixed},
      {"copy_merges_crash", kCopyMerges, 1, false, Mixed},
      {"pointer_merges", kPointerMerges, 4, true, Mixed},
      {"pointer_merges_crash", kPointerMerges, 1, false, Mixed},
      {"listdb", 0, 4, true, Mixed, &design::kListDb},
      {"listdb_crash", 0, 4, false, Mixed, &design::kListDb},
      {"lists", 0, 1, true, Mixed, &design::kZipperDb},
      {"lists_crash", 0, 1, false, Mixed, &design::kZipperDb},
      {"leaves", 0, 1, true, Singles, &design::kNvSkipList},
      {"leaves_crash", 0, 1, false, Singles, &design::kNvSkipList},
      {"leaves_other_boot", kPageMedia | kOtherBoot, 1, false, Singles, &design::kNvSkipList},
  };
}

void Write(const Seed& seed, const std::string& folder) {
  PoolMemory memory;
  memory.set_limit(kMaxFuzzPool);
  Options options = FuzzOptions(seed.how, *seed.design);
  options.compaction.l0_trigger = seed.l0_trigger;
  const auto how = static_cast<uint8_t>(seed.how & ~kOtherBoot);
  Result<std::shared_ptr<Engine>> engine = seed.design->open(options, MediaFor(&memory, how));
  Require(engine.ok(), "open");
  seed.fill(engine->get());
  if (seed.close) Require((*engine)->Close().ok(), "close");
  PoolBytes pool = memory.Save();
  pool.how = seed.how;
  pool.seed = static_cast<uint8_t>(seed.name[0]);
  const std::string encoded = EncodePool(pool);
  std::ofstream out(folder + "/" + seed.name, std::ios::binary);
  out << encoded;
  std::printf("%-18s %6zu bytes\n", seed.name, encoded.size());
}

}  // namespace
}  // namespace braid::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_pool_seeds <folder>\n");
    return 2;
  }
  for (const braid::fuzz::Seed& seed : braid::fuzz::Seeds()) braid::fuzz::Write(seed, argv[1]);
  return 0;
}
