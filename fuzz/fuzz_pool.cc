// Any bytes as a pool of any design: salvaged, opened, verified, read both ways, written to,
// closed, opened again, salvaged again. Every call may fail; none may touch foreign memory, hang,
// abort, or show keys out of order. Inputs are described in fuzz_common.h; the mutator knows the
// layout and mends checks (pool_mutator.h).
#include <string>

#include "engine/engine.h"
#include "fuzz_common.h"
#include "pool_mutator.h"
#include "repair/salvage.h"

namespace braid::fuzz {
namespace {

using Engine = engine::Engine;

void Scan(Engine* engine, const ReadOptions& options, bool forward,
          std::vector<std::string>* keys) {
  const std::unique_ptr<Iterator> it = engine->NewIterator(options);
  std::string last;
  bool first = true;
  for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid();
       forward ? it->Next() : it->Prev()) {
    const std::string_view key = it->key();
    Require(first || (forward ? key > last : key < last), "a scan shows keys out of order");
    last.assign(key);
    uint64_t sum = 0;
    for (const char c : it->value()) sum += static_cast<uint8_t>(c);
    Require(sum <= 255 * it->value().size(), "a value changes while it is read");
    if (keys != nullptr && keys->size() < 64) keys->push_back(last);
    first = false;
  }
}

/// Back and forth around a place, as callers do.
void Wander(Engine* engine, const std::vector<std::string>& keys, uint8_t seed) {
  ReadOptions options;
  if (keys.size() > 2) {
    options.lower_bound = keys[1];
    options.upper_bound = keys[keys.size() - 1];
  }
  const std::unique_ptr<Iterator> it = engine->NewIterator(options);
  for (size_t i = 0; i < 6; ++i) {
    const std::string target = keys.empty() ? "m" : keys[(i * 7 + seed) % keys.size()];
    (i & 1) != 0 ? it->Seek(target) : it->SeekForPrev(target);
    for (int step = 0; step < 3 && it->Valid(); ++step) {
      ((seed >> step) & 1) != 0 ? it->Next() : it->Prev();
    }
  }
}

void Read(Engine* engine, uint8_t seed) {
  std::vector<std::string> keys{"", "a", "key"};
  Scan(engine, {}, true, &keys);
  Scan(engine, {}, false, nullptr);
  const std::shared_ptr<const Snapshot> snapshot = engine->GetSnapshot();
  ReadOptions old;
  old.snapshot = snapshot.get();
  std::string value;
  for (const std::string& key : keys) {
    (void)engine->Get({}, key, &value);
    (void)engine->Get(old, key + "x", &value);
  }
  Wander(engine, keys, seed);
}

/// A few writes around an iterator that stays open; then everything moves.
void Write(Engine* engine, uint8_t seed) {
  const std::unique_ptr<Iterator> open = engine->NewIterator({});
  open->SeekToFirst();
  const std::shared_ptr<const Snapshot> snapshot = engine->GetSnapshot();
  std::vector<std::string> keys;
  Scan(engine, {}, true, &keys);
  for (size_t i = 0; i < keys.size() && i < 8; ++i) {
    const std::string& key = keys[(i * 5 + seed) % keys.size()];
    if (((seed >> (i % 8)) & 1) != 0) {
      (void)engine->Delete({}, key);
    } else {
      (void)engine->Put({}, key, "new");
    }
    if (open->Valid()) open->Next();
  }
  WriteBatch batch;
  for (int i = 0; i < 6; ++i) batch.Put("batch" + std::to_string(i), std::string(40, 'b'));
  batch.Delete(keys.empty() ? "none" : keys[0]);
  (void)engine->Write({}, batch);  // some designs take no batches
  (void)engine->Put({}, "large", std::string(5000, 'L'));
  if ((seed & 1) != 0) (void)engine->Flush();
  if (open->Valid()) open->Prev();
  (void)engine->Put({}, "large", std::string(2100 + 10 * seed, 'M'));
  (void)engine->Delete({}, "batch3");
  if ((seed & 2) == 0) (void)engine->Compact();
  if (open->Valid()) open->Next();
  (void)engine->GetStatistics();
}

/// What a repair would bring back.
void Repair(const PoolMemory& memory, uint8_t how) {
  constexpr size_t kMostFindings = 1 << 16;  // some for each word of the greatest pool
  Result<std::unique_ptr<repair::Salvage>> read =
      repair::Salvage::Read(media::PoolImage::OfMemory(memory.base(), memory.segments()), {},
                            (how & kOtherBoot) != 0 ? "another" : kFuzzBoot);
  if (!read.ok()) {
    Require(!read.status().message().empty(), "an error without a message");
    return;
  }
  std::string last;
  uint64_t records = 0;
  uint64_t bytes = 0;
  const Status taken = (*read)->ForEachRecord([&](std::string_view key, std::string_view value) {
    Require(records == 0 || key > last, "a repair gives keys out of order");
    last.assign(key);
    ++records;
    bytes += key.size() + value.size();
    uint64_t sum = 0;
    for (const char c : value) sum += static_cast<uint8_t>(c);
    Require(sum <= 255 * value.size(), "a value changes while it is read");
    return Status::OK();
  });
  Require(taken.ok() && records == (*read)->records(), "a repair counts other records");
  Require(bytes <= 2 * memory.mapped(), "a repair brings back more than there was");
  const RepairReport report = (*read)->TakeReport();
  Require(report.findings.size() <= kMostFindings, "a repair finds more than a pool can have");
  for (const RepairFinding& finding : report.findings) {
    Require(!finding.ToString().empty() && !finding.file.empty(), "a finding without a text");
  }
}

/// One life of the database in `memory`.
void Session(PoolMemory* memory, uint8_t how, uint8_t seed, bool writes) {
  const design::Design& design = DesignOf(*memory);
  Result<std::shared_ptr<Engine>> opened =
      design.open(FuzzOptions(how, design), MediaFor(memory, how));
  if (!opened.ok()) {
    Require(!opened.status().message().empty(), "an error without a message");
    return;
  }
  const std::shared_ptr<Engine> engine = std::move(opened).value();
  VerifyReport report;
  (void)engine->Verify(&report, {});
  Read(engine.get(), seed);
  if (writes) {
    Write(engine.get(), seed);
    Read(engine.get(), seed);
    (void)engine->Verify(&report, {});
  }
  if ((seed & 4) == 0) (void)engine->Close();  // else: as a crash leaves it
}

}  // namespace
}  // namespace braid::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace braid::fuzz;
  static PoolMemory memory;
  const std::optional<PoolBytes> pool = DecodePool(data, size);
  if (!pool) return -1;
  memory.Load(*pool);
  memory.set_limit(pool->bytes.size() + (64u << 10));
  Repair(memory, pool->how);
  Session(&memory, pool->how, pool->seed, true);
  Repair(memory, pool->how);
  Session(&memory, static_cast<uint8_t>(pool->how ^ kVerifyFull), pool->seed, false);
  return 0;
}
