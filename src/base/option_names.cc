// Purpose: options by name, for the command, benchmarks and configuration files.
// Thread safety: pure.
// Persistence: none.
#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

#include "braid/options.h"

namespace braid {

namespace {

/// An option's name, what it takes, and how it is set and shown.
struct Row {
  OptionName name;
  std::function<Status(Options*, std::string_view)> set;
};

template <class T>
using KindNames = std::vector<std::pair<std::string_view, T>>;

constexpr std::string_view kDesigns = "design's";

Status Unfit(std::string_view name, std::string_view value, const std::string& wanted) {
  return Status::InvalidArgument("option " + std::string(name) + " can't be \"" +
                                 std::string(value) + "\"; it takes " + wanted);
}

/// A number with an optional K, M, G or T; false when it is none or too large for T.
template <class T>
bool ParseNumber(std::string_view text, T* number) {
  uint64_t factor = 1;
  if (!text.empty()) {
    constexpr std::string_view kSuffixes = "KMGT";
    const size_t power = kSuffixes.find(text.back());
    if (power != std::string_view::npos) {
      factor = 1ull << (10 * (power + 1));
      text.remove_suffix(1);
    }
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  if (value > std::numeric_limits<T>::max() / factor) return false;
  *number = static_cast<T>(value * factor);
  return true;
}

bool ParseSwitch(std::string_view text, bool* value) {
  *value = text == "true" || text == "1" || text == "on";
  return *value || text == "false" || text == "0" || text == "off";
}

bool ParseShare(std::string_view text, double* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

/// Takes the type of an option apart: the value, and whether it may be left to the design.
template <class T>
struct ValueOf {
  using Type = T;
};
template <class T>
struct ValueOf<std::optional<T>> {
  using Type = T;
};

template <class T>
std::string Shown(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_floating_point_v<T>) {
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    return text;
  } else {
    return std::to_string(value);
  }
}

template <class T>
std::string Shown(const std::optional<T>& value) {
  return value ? Shown(*value) : std::string(kDesigns);
}

/// An option with a number, a share or a switch. `field` gives a reference to it.
template <class Field>
Row Plain(std::string name, std::string values, std::string summary, Field field) {
  Options defaults;
  using Stored = std::remove_reference_t<decltype(field(defaults))>;
  using Value = typename ValueOf<Stored>::Type;
  std::string preset = Shown(field(defaults));
  if (values.find("0: the design's") != std::string::npos) preset = kDesigns;
  Row row{{std::move(name), std::move(values), std::move(preset), std::move(summary)}, {}};
  row.set = [field, name = row.name.name, wanted = row.name.values](Options* options,
                                                                    std::string_view text) {
    Value value{};
    bool fits = false;
    if constexpr (std::is_same_v<Value, bool>) {
      fits = ParseSwitch(text, &value);
    } else if constexpr (std::is_floating_point_v<Value>) {
      fits = ParseShare(text, &value);
    } else {
      fits = ParseNumber(text, &value);
    }
    if (!fits) return Unfit(name, text, wanted);
    field(*options) = value;
    return Status::OK();
  };
  return row;
}

/// An option that is one of several kinds.
template <class T, class Field>
Row Kind(std::string name, std::string summary, KindNames<T> kinds, Field field) {
  std::string values;
  Options defaults;
  std::string preset(kDesigns);
  for (const auto& [kind, value] : kinds) {
    values += (values.empty() ? "" : ", ") + std::string(kind);
    if (field(defaults) == value) preset = kind;
  }
  Row row{{std::move(name), values, std::move(preset), std::move(summary)}, {}};
  row.set = [field, kinds = std::move(kinds), name = row.name.name, values](Options* options,
                                                                            std::string_view text) {
    for (const auto& [kind, value] : kinds) {
      if (kind != text) continue;
      field(*options) = value;
      return Status::OK();
    }
    return Unfit(name, text, values);
  };
  return row;
}

#define BRAID_FIELD(member) \
  [](Options & o) -> auto& { return o.member; }  // NOLINT(bugprone-macro-parentheses): a name

constexpr const char* kBytes = "bytes";
constexpr const char* kCount = "a number";
constexpr const char* kSwitch = "true or false";

/// Folders, separated by commas; none: "".
Row RegionPathsRow() {
  Row row{{"pool.region_paths", "folders, separated by commas", "",
           "folders of the regions behind the first; new pools only"},
          {}};
  row.set = [](Options* options, std::string_view text) {
    std::vector<std::string> paths;
    while (!text.empty()) {
      const size_t comma = std::min(text.find(','), text.size());
      if (comma == 0) return Unfit("pool.region_paths", text, "folders, separated by commas");
      paths.emplace_back(text.substr(0, comma));
      text.remove_prefix(std::min(comma + 1, text.size()));
    }
    options->pool.region_paths = std::move(paths);
    return Status::OK();
  };
  return row;
}

std::vector<Row> PoolRows() {
  return {
      Plain("pool.initial_bytes", kBytes,
            "size of a new pool; it grows online, and gives what stays free beyond back",
            BRAID_FIELD(pool.initial_bytes)),
      Plain("pool.max_bytes", "bytes; 0: as far as the device goes", "the pool never grows beyond",
            BRAID_FIELD(pool.max_bytes)),
      Plain("pool.chunk_bytes", "bytes, a power of two, 4K to 64M",
            "unit of allocation; new pools only", BRAID_FIELD(pool.chunk_bytes)),
      Kind<MediaClass>("pool.force_media_class",
                       "treat the medium as this class instead of asking the system",
                       {{"page", MediaClass::kPage},
                        {"cache_line", MediaClass::kCacheLine},
                        {"byte", MediaClass::kByte}},
                       BRAID_FIELD(pool.force_media_class)),
      Plain("pool.regions", "a number, 1 to 4",
            "parts of the pool, one for each NUMA node; new pools only", BRAID_FIELD(pool.regions)),
      Plain("pool.emulate_write_ns", "nanoseconds; 0: off",
            "for measurements: each line written back costs so much more",
            BRAID_FIELD(pool.emulate_write_ns)),
      Plain("pool.emulate_write_mb_s", "MB/s; 0: no limit",
            "for measurements: no more is written back a second",
            BRAID_FIELD(pool.emulate_write_mb_s)),
      RegionPathsRow(),
      Plain("pool.allow_world_writable", kSwitch,
            "accept a pool whose folder or files others may write to",
            BRAID_FIELD(pool.allow_world_writable)),
      Plain("pool.catch_sigbus", kSwitch, "turn a SIGBUS in the mapping into an IOError",
            BRAID_FIELD(pool.catch_sigbus)),
  };
}

std::vector<Row> WriteRows() {
  return {
      Kind<LogKind>("log.kind", "how writes are logged",
                    {{"index-unified", LogKind::kIndexUnified},
                     {"write-ahead", LogKind::kWriteAhead},
                     {"by-size", LogKind::kBySize}},
                    BRAID_FIELD(log.kind)),
      Plain("log.shards", "a number, 0 to 64; 0: twice the processors, at most 32",
            "logs written side by side", BRAID_FIELD(log.shards)),
      Kind<MemTableKind>("memtable.kind", "the ordered structure of the newest entries",
                         {{"btree", MemTableKind::kBTree},
                          {"skiplist", MemTableKind::kSkipList},
                          {"persistent", MemTableKind::kPersistent},
                          {"alternating", MemTableKind::kAlternating}},
                         BRAID_FIELD(memtable.kind)),
      Plain("memtable.bytes", kBytes, "log bytes after which a memtable is full",
            BRAID_FIELD(memtable.bytes)),
      Plain("memtable.max_immutable", "a number, 1 to 32",
            "immutable memtables waiting for their flush before writers wait",
            BRAID_FIELD(memtable.max_immutable)),
      Plain("flush.group_tables", "a number, 0 to 32; 0: the design's choice",
            "tables whose links are written back together", BRAID_FIELD(flush.group_tables)),
      Kind<ListKind>("lists.kind", "how lists are linked across regions; new pools only",
                     {{"oblivious", ListKind::kOblivious}, {"braided", ListKind::kBraided}},
                     BRAID_FIELD(lists.kind)),
      Plain("lists.count_visits", kSwitch, "count visits of nodes by region",
            BRAID_FIELD(lists.count_visits)),
  };
}

std::vector<Row> MergeRows() {
  return {
      Kind<MergeKind>("compaction.kind", "how an L0 table gets into L1",
                      {{"zipper", MergeKind::kZipper},
                       {"copy", MergeKind::kCopy},
                       {"none", MergeKind::kNone},
                       {"rewrite", MergeKind::kRewrite}},
                      BRAID_FIELD(compaction.kind)),
      Kind<MergePersistence>(
          "compaction.persistence", "how a merge survives a crash",
          {{"redo-log", MergePersistence::kRedoLog}, {"pointer", MergePersistence::kPointer}},
          BRAID_FIELD(compaction.persistence)),
      Plain("compaction.l0_trigger", "a number, 1 to 32",
            "L0 tables that start a merge, unless they wait to be overwritten",
            BRAID_FIELD(compaction.l0_trigger)),
      Plain("compaction.l0_slowdown", "a number, 1 to 56",
            "L0 tables from which writers are slowed down", BRAID_FIELD(compaction.l0_slowdown)),
      Plain("compaction.l0_stop", "a number, 2 to 56", "L0 tables at which writers wait",
            BRAID_FIELD(compaction.l0_stop)),
      Plain("compaction.batch_entries", kCount, "entries whose links one redo record covers",
            BRAID_FIELD(compaction.batch_entries)),
      Plain("compaction.gc_live_ratio", "a share, 0 to 0.9",
            "chunks with a smaller share of live bytes are collected",
            BRAID_FIELD(compaction.gc_live_ratio)),
      Plain("compaction.recluster_share", "a share, 0 to 0.9; 0: never",
            "parts of L1 with more entries out of order in memory are copied into order",
            BRAID_FIELD(compaction.recluster_share)),
  };
}

std::vector<Row> LevelRows() {
  return {
      Plain("levels.count", "a number, 3 to 8; 0: the design's choice",
            "levels, L0 among them; new pools only", BRAID_FIELD(levels.count)),
      Plain("levels.l1_bytes", "bytes; 0: the design's choice",
            "size from which L1 is merged into L2", BRAID_FIELD(levels.l1_bytes)),
      Plain("levels.growth", "a number, 2 to 100; 0: the design's choice",
            "how many times the size of a level the next one has", BRAID_FIELD(levels.growth)),
      Plain("levels.per_group", "a number, 1 to 8; 0: the design's choice",
            "levels between which merges link; from group to group they copy",
            BRAID_FIELD(levels.per_group)),
      Plain("levels.persistent_bytes", "bytes; 0: the design's choice",
            "bytes after which a persistent memtable is full",
            BRAID_FIELD(levels.persistent_bytes)),
      Plain("levels.list_bytes", "bytes; 0: the design's choice",
            "size from which a list of a level takes no more keys", BRAID_FIELD(levels.list_bytes)),
      Plain("levels.reference_bytes", "bytes; 0: the design's choice",
            "values of so many bytes and more stay where a flush has written them",
            BRAID_FIELD(levels.reference_bytes)),
  };
}

/// A folder; none: "".
Row TierRow() {
  Row row{
      {"tier.path", "a folder", "", "a RocksDB database for what is beyond half of pool.max_bytes"},
      {}};
  row.set = [](Options* options, std::string_view text) {
    options->tier.path.assign(text);
    return Status::OK();
  };
  return row;
}

std::vector<Row> ReadRows() {
  return {
      Plain("cache.index", kSwitch, "an ordered index over L1 in DRAM", BRAID_FIELD(cache.index)),
      Plain("cache.lookup_bytes", "bytes; 0: none", "hash table from keys to addresses of entries",
            BRAID_FIELD(cache.lookup_bytes)),
      Plain("cache.second_chance_bytes", "bytes; 0: none",
            "skip list of the tallest entries of L1, from which searches start",
            BRAID_FIELD(cache.second_chance_bytes)),
      Plain("leaf.ranges", "a number; 0: the design's choice",
            "parts of the key space with an index of their own at first", BRAID_FIELD(leaf.ranges)),
      Plain("leaf.divide_ranges", kSwitch, "split ranges that get large, merge small ones",
            BRAID_FIELD(leaf.divide_ranges)),
      Plain("leaf.span", "a number; 0: the design's choice",
            "nodes passed on a level after which a search raises one", BRAID_FIELD(leaf.span)),
      Plain("memory_budget_bytes", kBytes, "DRAM for memtables, indexes and caches together",
            BRAID_FIELD(memory_budget_bytes)),
      Plain("read_only", kSwitch, "open without changing the pool; other processes may do the same",
            BRAID_FIELD(read_only)),
      Plain("verify_checksums", kSwitch, "check entries when they are read",
            BRAID_FIELD(verify_checksums)),
      Plain("background_threads", kSwitch,
            "false: flushes and merges run inside the writer's calls",
            BRAID_FIELD(background_threads)),
      Kind<VerifyOnOpen>("verify_on_open", "how thoroughly a pool is checked when it is opened",
                         {{"quick", VerifyOnOpen::kQuick}, {"full", VerifyOnOpen::kFull}},
                         BRAID_FIELD(verify_on_open)),
  };
}

#undef BRAID_FIELD

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    for (std::vector<Row> part :
         {PoolRows(), WriteRows(), MergeRows(), LevelRows(), ReadRows(), {TierRow()}}) {
      for (Row& row : part) all.push_back(std::move(row));
    }
    return all;
  }();
  return rows;
}

}  // namespace

Status Options::Set(std::string_view name, std::string_view value) {
  std::string known;
  for (const Row& row : Rows()) {
    if (row.name.name == name) return row.set(this, value);
    known += (known.empty() ? "" : ", ") + row.name.name;
  }
  return Status::InvalidArgument("there is no option \"" + std::string(name) +
                                 "\"; there are: " + known);
}

std::vector<OptionName> OptionNames() {
  std::vector<OptionName> names;
  for (const Row& row : Rows()) names.push_back(row.name);
  return names;
}

}  // namespace braid
