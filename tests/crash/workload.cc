#include "crash/workload.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace braid::crash {
namespace {

/// Each kind of operation, and what reads meet beside them.
void AddOperations(std::vector<Workload>* workloads) {
  using enum Action;
  std::vector<Workload>& all = *workloads;
  all.push_back({"Put", {{kPut, 10}, {kRead, 1}}});
  all.back().keys = 64;
  all.push_back({"Overwrite", {{kPut, 20}, {kFlush, 1}, {kRead, 1}}});
  all.back().keys = 4;
  all.push_back({"Batch", {{kBatch, 10}, {kPut, 2}, {kFlush, 1}}});
  all.push_back(
      {"RangeBatch", {{kRangeBatch, 10}, {kPut, 12}, {kFlush, 1}, {kCompact, 1}, {kCrash, 1}}});
  all.push_back({"Transaction", {{kTransaction, 10}, {kPut, 2}, {kFlush, 1}, {kCompact, 1}}});
  all.push_back({"Delete", {{kPut, 8}, {kDelete, 8}, {kBatch, 2}, {kFlush, 1}, {kCompact, 1}}});
  all.back().keys = 12;
  all.push_back({"LargeValue", {{kPut, 8}, {kDelete, 2}, {kBatch, 2}, {kFlush, 1}, {kCompact, 1}}});
  all.back().keys = 8;
  all.back().large_one_in = 3;
  all.back().operations = 30;
  all.push_back({"FlushAndCompact", {{kPut, 8}, {kDelete, 2}, {kFlush, 3}, {kCompact, 2}}});
  all.push_back({"Snapshot",
                 {{kPut, 12},
                  {kDelete, 3},
                  {kTakeSnapshot, 2},
                  {kDropSnapshot, 1},
                  {kReadSnapshot, 3},
                  {kFlush, 1},
                  {kCompact, 1}}});
  all.back().keys = 8;
  all.push_back({"Iterator",
                 {{kPut, 14},
                  {kDelete, 6},
                  {kTakeSnapshot, 3},
                  {kDropSnapshot, 4},
                  {kTakeIterator, 3},
                  {kMoveIterator, 8},
                  {kDropIterator, 1},
                  {kFlush, 1},
                  {kCompact, 3}}});
  all.back().keys = 8;
  all.back().operations = 100;
  // What merges kept for views that are gone is dropped by merges of nothing.
  all.push_back({"Kept",
                 {{kPut, 12},
                  {kDelete, 6},
                  {kTakeSnapshot, 4},
                  {kDropSnapshot, 5},
                  {kReadSnapshot, 1},
                  {kCompact, 5},
                  {kCrash, 1}}});
  all.back().keys = 8;
  all.back().operations = 100;
  // Indexes over every fourth entry and fewer.
  all.push_back({"ThinIndex",
                 {{kPut, 8}, {kBatch, 24}, {kDelete, 4}, {kRead, 2}, {kFlush, 1}, {kCompact, 1}}});
  all.back().keys = 200;
  all.back().max_value = 8;
  all.back().operations = 80;
  all.back().memory_bytes = 10u << 10;
  all.back().cost = 8;
}

/// In the order of a comparator.
void AddComparator(std::vector<Workload>* workloads) {
  using enum Action;
  std::vector<Workload>& all = *workloads;
  // Nodes of its tree are split and go again.
  all.push_back({"Comparator",
                 {{kPut, 20},
                  {kDelete, 6},
                  {kBatch, 4},
                  {kRangeBatch, 3},
                  {kTakeSnapshot, 1},
                  {kDropSnapshot, 1},
                  {kReadSnapshot, 1},
                  {kFlush, 1},
                  {kCompact, 1},
                  {kReopen, 1},
                  {kCrash, 1}}});
  all.back().compared = true;
  all.back().keys = 240;
  all.back().prefill = 40;
  all.back().point_one_in = 4;
  all.back().operations = 50;
  all.back().initial_bytes = 256u << 10;
  all.back().cost = 4;
}

/// So many keys that nodes of indexes are split, and united when the keys go.
void AddManyKeys(std::vector<Workload>* workloads) {
  using enum Action;
  std::vector<Workload>& all = *workloads;
  all.push_back({"Split", {{kPut, 20}, {kDelete, 1}, {kCompact, 1}, {kCrash, 1}}});
  all.back().keys = 1000;
  all.back().prefill = 130;
  all.back().max_value = 8;
  all.back().initial_bytes = 256u << 10;
  all.back().cost = 8;
  all.push_back({"ComeAndGo", {{kDelete, 20}, {kPut, 5}, {kCompact, 1}, {kCrash, 1}}});
  all.back().keys = 90;
  all.back().prefill = 180;
  all.back().operations = 150;
  all.back().max_value = 8;
  all.back().initial_bytes = 256u << 10;
  all.back().cost = 8;
}

/// Few keys that are written again and again; what the crash meets is spread over a long run.
void AddVersions(std::vector<Workload>* workloads) {
  using enum Action;
  workloads->push_back(
      {"Versions",
       {{kPut, 14}, {kDelete, 6}, {kFlush, 1}, {kCompact, 1}, {kReopen, 1}, {kCrash, 1}}});
  workloads->back().keys = 6;
  workloads->back().prefill = 20;
  workloads->back().operations = 80;
  workloads->back().point_one_in = 8;
  workloads->back().max_value = 400;
}

/// Collection, growth, full pools.
void AddSpace(std::vector<Workload>* workloads) {
  using enum Action;
  std::vector<Workload>& all = *workloads;
  // Chunks that are mostly garbage, whose last live entries are copied together.
  all.push_back(
      {"Collection",
       {{kPut, 20}, {kBatch, 2}, {kDelete, 4}, {kCompact, 2}, {kReopen, 1}, {kCrash, 1}}});
  all.back().keys = 40;
  all.back().max_value = 300;
  all.back().operations = 150;
  // Tables that lie apart, merged side by side.
  all.push_back({"SideBySide",
                 {{kPut, 30},
                  {kDelete, 6},
                  {kBatch, 1},
                  {kTakeSnapshot, 1},
                  {kDropSnapshot, 1},
                  {kReopen, 1},
                  {kCrash, 1}}});
  all.back().keys = 30;
  all.back().ranges = 3;
  all.back().max_value = 40;
  all.back().max_batch = 4;
  all.back().memtable_bytes = 64u << 10;
  all.back().operations = 180;
  all.back().point_one_in = 4;
  // Tables of about as many entries as L1, merged with all of it.
  all.push_back({"FullMerge",
                 {{kPut, 120},
                  {kFlush, 4},
                  {kDelete, 1},
                  {kTakeSnapshot, 1},
                  {kDropSnapshot, 2},
                  {kRead, 2},
                  {kReopen, 1},
                  {kCrash, 1}}});
  all.back().keys = 40;
  all.back().max_value = 40;
  all.back().memtable_bytes = 16u << 10;
  all.back().operations = 160;
  all.back().prefill = 60;
  all.back().point_one_in = 4;
  all.push_back({"Growth", {{kPut, 10}, {kBatch, 2}, {kDelete, 1}}});
  all.back().keys = 200;
  all.back().max_value = 600;
  all.back().initial_bytes = 64u << 10;
  all.push_back({"FullPool", {{kPut, 10}, {kDelete, 4}, {kBatch, 6}, {kCompact, 1}}});
  all.back().keys = 40;
  all.back().max_value = 1500;
  all.back().max_batch = 16;  // so that some take several chunks, and then find no more
  all.back().large_one_in = 12;
  all.back().initial_bytes = 64u << 10;
  all.back().max_bytes = 96u << 10;
  // Large values that find no neighbouring chunks, so that others are moved.
  all.push_back({"Room", {{kPut, 12}, {kDelete, 7}, {kBatch, 1}, {kCrash, 1}}});
  all.back().keys = 24;
  all.back().max_value = 600;
  all.back().max_batch = 4;
  all.back().large_one_in = 2;
  all.back().prefill = 30;
  all.back().operations = 60;
  all.back().initial_bytes = 128u << 10;
  all.back().max_bytes = 128u << 10;
  // Large values that come and go while the pool grows.
  all.push_back({"GrowthOfExtents", {{kPut, 10}, {kDelete, 2}, {kBatch, 1}, {kCrash, 1}}});
  all.back().keys = 12;
  all.back().large_one_in = 2;
  all.back().operations = 30;
  all.back().initial_bytes = 64u << 10;
}

/// Loads of several chunks beside everything else, some of which fail.
void AddIngests(std::vector<Workload>* workloads) {
  using enum Action;
  std::vector<Workload>& all = *workloads;
  all.push_back({"Ingest",
                 {{kIngest, 8},
                  {kBrokenIngest, 2},
                  {kPut, 8},
                  {kDelete, 3},
                  {kBatch, 1},
                  {kTakeSnapshot, 1},
                  {kDropSnapshot, 1},
                  {kReadSnapshot, 1},
                  {kRead, 1},
                  {kFlush, 1},
                  {kCompact, 1},
                  {kReopen, 1},
                  {kCrash, 1}}});
  all.back().keys = 40;
  all.back().max_value = 400;
  all.back().large_one_in = 24;
  all.back().operations = 40;
  all.back().initial_bytes = 256u << 10;
  all.back().cost = 2;
  // Into pools where L1 is empty, so that the load becomes L1.
  all.push_back(
      {"IngestNew", {{kIngest, 6}, {kCompact, 4}, {kRead, 2}, {kDelete, 1}, {kCrash, 1}}});
  all.back().keys = 60;
  all.back().max_value = 200;
  all.back().operations = 6;
  all.push_back({"IngestFullPool",
                 {{kIngest, 6}, {kBrokenIngest, 1}, {kPut, 6}, {kDelete, 8}, {kCompact, 1}}});
  all.back().keys = 40;
  all.back().max_value = 1200;
  all.back().large_one_in = 12;
  all.back().operations = 40;
  all.back().initial_bytes = 64u << 10;
  all.back().max_bytes = 112u << 10;
  all.back().cost = 2;
}

/// Opens, closes and crashes.
void AddSessions(std::vector<Workload>* workloads) {
  using enum Action;
  std::vector<Workload>& all = *workloads;
  all.push_back({"Creation", {{kPut, 1}, {kReopen, 1}}});
  all.back().operations = 2;
  all.push_back({"Reopen", {{kPut, 10}, {kDelete, 3}, {kBatch, 2}, {kReopen, 3}, {kFlush, 1}}});
  all.push_back({"Recovery",
                 {{kPut, 10},
                  {kDelete, 3},
                  {kBatch, 2},
                  {kFlush, 1},
                  {kCompact, 1},
                  {kReopen, 1},
                  {kCrash, 3}}});
  // Merges of many batches that are interrupted again and again.
  all.push_back({"MergeAndCrash",
                 {{kPut, 10}, {kBatch, 3}, {kDelete, 2}, {kFlush, 2}, {kCompact, 4}, {kCrash, 5}}});
  all.back().keys = 40;
  all.back().operations = 100;
  all.push_back({"Everything",
                 {{kPut, 12},
                  {kDelete, 4},
                  {kBatch, 4},
                  {kFlush, 1},
                  {kCompact, 1},
                  {kTakeSnapshot, 1},
                  {kDropSnapshot, 1},
                  {kReadSnapshot, 1},
                  {kRead, 1},
                  {kReopen, 1},
                  {kCrash, 1}}});
  all.back().large_one_in = 20;
  all.back().operations = 120;
}

/// What is too much for the pool goes to a tier, which may forget what was not synced.
void AddTiers(std::vector<Workload>* workloads) {
  using enum Action;
  std::vector<Workload>& all = *workloads;
  all.push_back({"Tier",
                 {{kPut, 20},
                  {kDelete, 6},
                  {kBatch, 3},
                  {kRangeBatch, 1},
                  {kTransaction, 1},
                  {kRead, 1},
                  {kFlush, 1},
                  {kCompact, 3},
                  {kReopen, 1},
                  {kCrash, 2}}});
  all.back().keys = 40;
  all.back().max_value = 200;
  all.back().large_one_in = 24;
  all.back().operations = 120;
  all.back().initial_bytes = 256u << 10;
  all.back().tier_bytes = 2000;
  all.push_back({"TierViews",
                 {{kPut, 20},
                  {kDelete, 6},
                  {kTakeSnapshot, 2},
                  {kDropSnapshot, 3},
                  {kReadSnapshot, 2},
                  {kTakeIterator, 3},
                  {kMoveIterator, 10},
                  {kDropIterator, 2},
                  {kFlush, 1},
                  {kCompact, 3}}});
  all.back().keys = 24;
  all.back().operations = 140;
  all.back().initial_bytes = 256u << 10;
  all.back().tier_bytes = 600;
}

std::vector<Workload> MakeWorkloads() {
  std::vector<Workload> all;
  AddOperations(&all);
  AddComparator(&all);
  AddManyKeys(&all);
  AddVersions(&all);
  AddSpace(&all);
  AddIngests(&all);
  AddSessions(&all);
  AddTiers(&all);
  return all;
}

/// The same on another medium: "PutEadr", "PutPage".
std::vector<Workload> OnAllMedia(const std::vector<Workload>& workloads) {
  std::vector<Workload> all = workloads;
  for (const Workload& workload : workloads) {
    all.push_back(workload);
    all.back().name += "Eadr";
    all.back().media_class = MediaClass::kByte;
  }
  for (const Workload& workload : workloads) {
    all.push_back(workload);
    all.back().name += "Page";
    all.back().media_class = MediaClass::kPage;
    all.back().weights.emplace_back(Action::kSyncPut, 2);
  }
  // The weights are those of what follows a crash.
  all.push_back(
      {"Threads",
       {{Action::kPut, 8}, {Action::kDelete, 3}, {Action::kBatch, 2}, {Action::kFlush, 1}}});
  all.back().threads = 3;
  all.back().keys = 3;
  all.push_back(all.back());
  all.back().name = "ThreadsEadr";
  all.back().media_class = MediaClass::kByte;
  return all;
}

/// What a store can't do is left out: "Put_listdb" is Put on another store.
Workload OnStore(Workload workload, const test::StoreKind& kind) {
  workload.name += "_" + kind.name;
  workload.kind = kind;
  Options options;
  kind.ApplyTo(&options);
  // The headers of a region and some chunks, so that as much is left as with one region.
  if (workload.max_bytes != 0) workload.max_bytes += (options.pool.regions - 1) * 8 * kChunkBytes;
  const Capabilities can = kind.capabilities();
  if (!can.atomic_batches) workload.max_batch = 1;
  if (!can.atomic_batches) {
    std::erase_if(workload.weights, [](const std::pair<Action, uint32_t>& weight) {
      return weight.first == Action::kRangeBatch;
    });
  }
  if (!can.transactions) {
    for (auto& [action, weight] : workload.weights) {
      if (action == Action::kTransaction) action = Action::kPut;
    }
  }
  if (!can.ingest) {
    std::erase_if(workload.weights, [](const std::pair<Action, uint32_t>& weight) {
      return weight.first == Action::kIngest || weight.first == Action::kBrokenIngest;
    });
  }
  if (!can.snapshots) {
    std::erase_if(workload.weights, [](const std::pair<Action, uint32_t>& weight) {
      const Action action = weight.first;
      return action == Action::kTakeSnapshot || action == Action::kDropSnapshot ||
             action == Action::kReadSnapshot || action == Action::kTakeIterator ||
             action == Action::kMoveIterator || action == Action::kDropIterator;
    });
  }
  return workload;
}

/// First the default store with an index-unified log, the most that can go wrong in a flush: its
/// workloads have no addition to their names.
std::vector<Workload> OnAllStores(const std::vector<Workload>& workloads) {
  std::vector<Workload> all = workloads;
  for (size_t i = 0; i < test::StoreKinds().size(); ++i) {
    if (test::StoreKinds()[i].name == test::StoreKind::kLinked) continue;
    for (const Workload& workload : workloads) {
      // The threads of one run are checked against what only the default store promises to them.
      if (workload.threads != 1) continue;
      const test::StoreKind& kind = test::StoreKinds()[i];
      // Puts with sync come with this class of media only.
      // A design without snapshots refuses a comparator.
      if (workload.compared && !kind.capabilities().snapshots) continue;
      // Which parts fill a pool makes no difference to what leaves it from the last level, but
      // whether that is one list.
      constexpr std::string_view kTiered[] = {"braid", "ListsCopied", "ListsBounded"};
      if (workload.tier_bytes != 0 &&
          std::find(std::begin(kTiered), std::end(kTiered), kind.name) == std::end(kTiered)) {
        continue;
      }
      const bool keeps = workload.media_class != MediaClass::kPage ||
                         kind.capabilities().survives_power_loss_on_page_media;
      if (keeps) all.push_back(OnStore(workload, kind));
    }
  }
  return all;
}

}  // namespace

const std::vector<Workload>& AllWorkloads() {
  static const std::vector<Workload> all = OnAllStores(OnAllMedia(MakeWorkloads()));
  return all;
}

const Workload* FindWorkload(const std::string& name) {
  for (const Workload& workload : AllWorkloads()) {
    if (name == workload.name) return &workload;
  }
  return nullptr;
}

Options DrawOptions(const Workload& workload, Random* random) {
  Options options;
  options.background_threads = false;
  options.pool.chunk_bytes = kChunkBytes;
  options.pool.initial_bytes = workload.initial_bytes;
  options.pool.max_bytes = workload.max_bytes;
  options.memtable.bytes =
      workload.memtable_bytes != 0 ? workload.memtable_bytes : uint64_t{1024} << random->Uniform(3);
  options.compaction.batch_entries = 4u << random->Uniform(3);
  options.compaction.l0_trigger = static_cast<uint32_t>(1 + random->Uniform(3));
  options.log.shards = static_cast<uint32_t>(1 + random->Uniform(3));
  options.compaction.gc_live_ratio = random->OneIn(2) ? 0.9 : 0.5;
  // So little that the indexes of a few entries exceed it (see OpenBare).
  options.memory_budget_bytes = random->OneIn(4) ? 1 + random->Uniform(64u << 10) : 16u << 20;
  if (workload.memory_bytes != 0) {
    options.memory_budget_bytes =
        workload.memory_bytes / 2 + random->Uniform(workload.memory_bytes);
  }
  if (workload.ranges > 1) {
    options.compaction.l0_trigger = 3;
    options.compaction.batch_entries = 1;  // so that these tables are worth it
    options.memory_budget_bytes = 16u << 20;
  }
  workload.kind.ApplyTo(&options);
  if (workload.tier_bytes != 0) {
    options.tier.path = kRunTier;
    options.pool.max_bytes = 64u << 20;  // no matter: ImageChecker::Begin
  }
  return options;
}

Options OtherSettings(const Options& options, Random* random) {
  Options other = options;
  other.memtable.bytes = uint64_t{1024} << random->Uniform(5);
  other.compaction.batch_entries = 4u << random->Uniform(5);
  other.compaction.l0_trigger = static_cast<uint32_t>(1 + random->Uniform(4));
  other.log.shards = static_cast<uint32_t>(1 + random->Uniform(3));
  other.memory_budget_bytes = random->OneIn(4) ? 1 + random->Uniform(64u << 10) : 16u << 20;
  if (options.design == "braid") {  // parts that may change from open to open
    constexpr MemTableKind kMemTables[] = {MemTableKind::kBTree, MemTableKind::kSkipList,
                                           MemTableKind::kPersistent, MemTableKind::kAlternating};
    other.memtable.kind = kMemTables[random->Uniform(std::size(kMemTables))];
    constexpr LogKind kLogs[] = {LogKind::kWriteAhead, LogKind::kIndexUnified, LogKind::kBySize};
    other.log.kind = kLogs[random->Uniform(std::size(kLogs))];
    const bool copies =
        random->OneIn(3) && options.compaction.persistence != MergePersistence::kPointer;
    other.compaction.kind = copies ? MergeKind::kCopy : MergeKind::kZipper;
    other.flush.group_tables = *other.log.kind != LogKind::kIndexUnified
                                   ? 1
                                   : static_cast<uint32_t>(1 + random->Uniform(4));
  }
  other.verify_on_open = random->OneIn(4) ? VerifyOnOpen::kFull : VerifyOnOpen::kQuick;
  if (options.pool.max_bytes == 0) {
    // Sizes of a pool that exists stay what they are.
    other.pool.chunk_bytes = kChunkBytes << random->Uniform(2);
    other.pool.initial_bytes = uint64_t{128 << 10};
  }
  return other;
}

Action Generator::NextAction() {
  constexpr uint32_t kKeysOfTable = 26;
  if (workload_.ranges > 1 && drawn_ >= kKeysOfTable) {
    drawn_ = 0;
    range_ = (range_ + 1 + static_cast<uint32_t>(random_.Uniform(workload_.ranges - 1))) %
             workload_.ranges;
    return Action::kFlush;
  }
  uint32_t sum = 0;
  for (const auto& [action, weight] : workload_.weights) sum += weight;
  uint64_t at = random_.Uniform(sum);
  for (const auto& [action, weight] : workload_.weights) {
    if (at < weight) return action;
    at -= weight;
  }
  return workload_.weights.front().first;
}

std::string Generator::Key() {
  const uint64_t number = random_.Uniform(workload_.keys);
  ++drawn_;
  if (workload_.ranges > 1) {
    return std::string(1, static_cast<char>('a' + range_)) + std::to_string(number);
  }
  // Mostly short keys with common beginnings; one is empty, some are longer than a cache line.
  if (number == 1) return {};
  std::string key = "k" + std::to_string(number);
  if (number % 7 == 3) key += std::string(70 + number % 50, static_cast<char>('a' + number % 26));
  return key;
}

std::string Generator::Value() {
  uint64_t size = random_.Uniform(workload_.max_value + 1u);
  if (workload_.large_one_in != 0 && random_.OneIn(workload_.large_one_in)) {
    size = kChunkBytes / 2 + random_.Uniform(2 * kChunkBytes);
  }
  // A number that tells all values apart, then bytes that are never zero for long stretches.
  std::string value = std::to_string(++written_) + ":";
  while (value.size() < size) {
    const uint64_t word = random_.Next();
    char bytes[sizeof word];
    std::memcpy(bytes, &word, sizeof word);
    value.append(bytes, std::min(sizeof bytes, static_cast<size_t>(size - value.size())));
  }
  if (random_.OneIn(16)) value.clear();
  return value;
}

std::optional<std::string> Generator::RangeEnd(const std::string& begin) {
  if (!random_.OneIn(3)) return std::nullopt;
  std::string end = Key();
  return end < begin ? begin + "~" : end;
}

std::vector<Update> Generator::Updates(Action action) {
  std::vector<Update> updates;
  if (action == Action::kIngest || action == Action::kBrokenIngest) {
    std::set<std::string> keys;
    for (uint64_t i = 1 + random_.Uniform(workload_.max_ingest); i > 0; --i) keys.insert(Key());
    for (const std::string& key : keys) updates.push_back({key, Value()});
    return updates;
  }
  const bool several =
      action == Action::kBatch || action == Action::kTransaction || action == Action::kRangeBatch;
  const uint64_t count = several ? 1 + random_.Uniform(workload_.max_batch) : 1;
  for (uint64_t i = 0; i < count; ++i) {
    Update update{Key(), {}};
    const bool is_delete = action == Action::kDelete || (several && random_.OneIn(4));
    if (!is_delete) update.value = Value();
    updates.push_back(std::move(update));
  }
  return updates;
}

}  // namespace braid::crash
