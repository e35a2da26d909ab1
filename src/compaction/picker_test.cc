// What the background does next, as a table: facts on the left, the plan on the right. Options: a
// merge is due from four tables on, L0 is calm up to three (l0_slowdown 6).
#include "compaction/picker.h"

#include <gtest/gtest.h>

#include <deque>
#include <span>
#include <sstream>

namespace braid::compaction {
namespace {

CompactionOptions PickerOptions() {
  CompactionOptions options;
  options.kind = MergeKind::kZipper;
  options.l0_trigger = 4;
  options.l0_slowdown = 6;
  return options;
}

Action ActionNamed(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(Action::kNextPhase); ++i) {
    Plan plan;
    plan.action = static_cast<Action>(i);
    if (plan.ToString().substr(0, name.size()) == name) return plan.action;
  }
  ADD_FAILURE() << "there is no action " << name;
  return Action::kNothing;
}

/// "l0=5 awaited=2 lacks-index open=copies tried=index,count": tables have the ids 11, 12 ...; the
/// oldest two are waited for.
class Facts {
 public:
  explicit Facts(const std::string& text) {
    facts.levels = {{}, {{.id = 1}}};
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      Set(name, equals == std::string::npos ? "" : word.substr(equals + 1));
    }
  }

  StoreFacts facts;
  CompactionOptions options = PickerOptions();
  std::deque<std::string> keys;  // of ranges

 private:
  void Set(const std::string& name, const std::string& value) {
    if (name == "l0") {
      for (uint64_t id = 10 + std::stoull(value); id > 10; --id) L0().push_back({.id = id});
    } else if (name == "awaited") {
      for (TableFacts& table : L0()) table.awaited = table.id <= 10 + std::stoull(value);
    } else if (name == "ranges") {
      // "ranges=ac,dg": of the oldest tables, each by its first and last key; "?": not known.
      std::istringstream ranges(value);
      auto table = L0().rbegin();
      for (std::string range; std::getline(ranges, range, ','); ++table) {
        keys.push_back(range);
        if (range == "?") continue;
        table->has_range = true;
        table->first_key = std::string_view(keys.back()).substr(0, 1);
        table->last_key = std::string_view(keys.back()).substr(1);
      }
    } else if (name == "threads") {
      facts.most_merges = std::stoul(value);
    } else if (name == "found") {
      facts.l0_found = std::stoull(value);
    } else if (name == "levels") {
      facts.levels.resize(std::stoull(value));
    } else if (name == "lists") {
      // "lists=30,5": entries of L1, L2 ..., whose sizes are 10, 20 and so on; below them the last.
      // Where a level has two lists, "3+30", the second is on its way down.
      facts.levels.resize(1);
      facts.level_entries = {0};
      std::istringstream lists(value);
      for (std::string list; std::getline(lists, list, ',');) {
        const uint64_t level = facts.levels.size();
        std::vector<TableFacts>& tables = facts.levels.emplace_back();
        std::istringstream sizes(list);
        for (std::string entries; std::getline(sizes, entries, '+');) {
          tables.push_back({.id = 10 * level + tables.size(), .entries = std::stoull(entries)});
        }
        facts.level_entries.push_back(10ull << (level - 1));
      }
      facts.levels.push_back({{.id = 1}});
    } else if (name == "group") {
      facts.levels_per_group = static_cast<uint32_t>(std::stoul(value));
    } else if (name == "down") {
      facts.down_from = static_cast<uint32_t>(std::stoul(value));
    } else if (name == "from") {
      facts.open_from = static_cast<uint32_t>(std::stoul(value));
    } else if (name == "open") {
      facts.open_merge =
          value == "copies" ? StoreFacts::OpenMerge::kOfCopies : StoreFacts::OpenMerge::kOfTable;
    } else if (name == "merge") {
      options.kind = value == "none" ? MergeKind::kNone : MergeKind::kCopy;
    } else if (name == "phase") {
      facts.phase = static_cast<Phase>(std::string("midtack").find(value));
    } else if (name == "tried") {
      std::istringstream actions(value);
      for (std::string action; std::getline(actions, action, ',');) {
        facts.tried.Add(ActionNamed(action));
      }
    } else {
      SetFlag(name);
    }
  }
  void SetFlag(const std::string& name) {
    if (name == "lacks-index") {
      facts.lacks_index = true;
    } else if (name == "granted") {
      facts.is_granted = true;
    } else if (name == "tier") {
      facts.has_tier = true;
    } else if (name == "presses") {
      facts.has_tier = facts.tier_presses = true;
    } else if (name == "writes") {
      facts.has_tier = facts.tier_writes = true;
    } else if (name == "fully") {
      facts.merges_fully = true;
    } else if (name == "flush-comes") {
      facts.awaits_flush = true;
    } else if (name == "waits") {
      facts.l0_waits = true;
    } else if (name == "finish-all") {
      facts.drain = true;
    } else if (name == "originals") {
      facts.has_originals = true;
    } else if (name == "rewrites") {
      facts.rewrites = true;
    } else if (name == "begun") {
      facts.l0_is_begun = true;
    } else if (name == "turn") {
      facts.phase_has_turn = true;
    } else if (name == "over") {
      facts.phase_is_over = true;
    } else {
      ADD_FAILURE() << "there is no fact " << name;
    }
  }
  std::vector<TableFacts>& L0() { return facts.levels.front(); }
};

struct Row {
  const char* facts;
  const char* plan;
};

template <class Picker>
void ExpectPlans(Picker pick, std::span<const Row> rows) {
  for (const Row& row : rows) {
    const Facts facts(row.facts);
    EXPECT_EQ(pick(facts.facts, facts.options).ToString(), row.plan) << "facts: " << row.facts;
  }
}

TEST(PickerTest, Plans) {
  const Row rows[] = {
      // At leisure: reads first, then space; each as long as it comes to something.
      {"", "index"},
      {"l0=3", "index"},
      {"tried=index", "remake-index"},
      {"tried=index,remake-index", "fill-lookups"},
      {"tried=index,remake-index,fill-lookups", "count"},
      {"tried=index,remake-index,fill-lookups,count", "drop"},
      {"tried=index,remake-index,fill-lookups,count,drop", "recluster"},
      {"tried=index,remake-index,fill-lookups,count,drop,recluster", "collect"},
      {"tried=index,remake-index,fill-lookups,count,drop,recluster,collect", "nothing"},
      // The oldest table, once there are enough.
      {"l0=4", "merge 11 of L0 into L1, the bottom"},
      {"l0=4 levels=3", "merge 11 of L0 into L1"},
      {"l0=4 merge=copy", "merge 11 of L0 into L1 by copies, the bottom"},
      {"l0=9 merge=none", "index"},
      {"l0=4 tried=merge", "index"},
      // It may be let wait, except for those who wait, and once it was begun.
      {"l0=4 waits", "index"},
      {"l0=4 waits awaited=1", "merge 11 of L0 into L1, the bottom"},
      {"l0=4 waits open=table", "merge 11 of L0 into L1, the bottom"},
      // What lookups lack comes first while L0 is calm, or as large as it was found.
      {"l0=3 lacks-index", "index"},
      {"l0=5 lacks-index", "merge 11 of L0 into L1, the bottom"},
      {"l0=5 found=5 lacks-index", "index"},
      {"l0=6 found=5 lacks-index", "merge 11 of L0 into L1, the bottom"},
      {"l0=9 merge=none lacks-index", "index"},
      {"l0=3 lacks-index finish-all awaited=1", "merge 11 of L0 into L1, the bottom"},
      {"l0=5 found=5 lacks-index tried=index", "merge 11 of L0 into L1, the bottom"},
      // A merge that is open comes before all but that, whatever the options say now.
      {"open=table l0=1", "merge 11 of L0 into L1, the bottom"},
      {"open=table l0=1 merge=none", "merge 11 of L0 into L1, the bottom"},
      {"open=copies l0=9", "finish-copies"},
      {"open=copies phase=d turn", "finish-copies"},
      {"open=copies tried=finish-copies", "nothing"},
      {"open=copies lacks-index", "index"},
      // While other processes are granted tables, nothing is stored to the pool.
      {"granted l0=9 lacks-index", "index"},
      {"granted l0=9 open=table", "nothing"},
      {"granted lacks-index tried=index", "nothing"},
      // For those who wait: their tables, then phase by phase, in turns with other merges.
      {"l0=1 awaited=1", "merge 11 of L0 into L1, the bottom"},
      {"l0=5 awaited=1 phase=i turn", "merge 11 of L0 into L1, the bottom"},
      {"l0=5 phase=i turn", "index"},
      {"l0=5 phase=i", "merge 11 of L0 into L1, the bottom"},
      {"l0=1 phase=i", "index"},
      {"phase=i tried=index,remake-index,fill-lookups", "count"},
      {"phase=i tried=index,remake-index,fill-lookups,count", "next-phase"},
      {"phase=i over", "next-phase"},
      {"phase=d", "drop"},
      {"phase=d tried=drop", "next-phase"},
      {"phase=t", "next-phase"},
      {"phase=a", "recluster"},
      {"phase=c", "collect"},
      {"phase=k", "make-room"},
      {"phase=k over", "next-phase"},
  };
  ExpectPlans(Pick, rows);
}

TEST(PickerTest, TheTierIsFilledBeforeWhatCopiesAndWhereRoomIsShort) {
  const Row rows[] = {
      // The tier before what copies.
      {"tier tried=index,remake-index,fill-lookups,count", "drop"},
      {"tier tried=index,remake-index,fill-lookups,count,drop", "fill-tier"},
      {"tier tried=index,remake-index,fill-lookups,count,drop,fill-tier", "recluster"},
      {"granted tier tried=index", "nothing"},
      // Before merges, where writes wait for the room; but not before one that is open.
      {"presses l0=9", "fill-tier"},
      {"presses l0=9 begun", "fill-tier"},
      {"presses l0=9 tried=fill-tier", "merge 11 of L0 into L1, the bottom"},
      {"presses l0=9 open=table", "merge 11 of L0 into L1, the bottom"},
      {"presses l0=5 phase=d turn", "fill-tier"},
      {"granted presses l0=9", "nothing"},
      // While a run is written nothing is copied that may be on its way; merges go on.
      {"writes l0=4", "merge 11 of L0 into L1, the bottom"},
      {"writes tried=index,remake-index,fill-lookups,count,drop", "nothing"},
      {"writes tried=index,remake-index,fill-lookups,count,drop,fill-tier", "nothing"},
      {"writes l0=5 phase=t turn", "merge 11 of L0 into L1, the bottom"},
      {"writes phase=t turn", "fill-tier"},
      {"tier phase=t", "fill-tier"},
      {"tier phase=t tried=fill-tier", "next-phase"},
  };
  ExpectPlans(Pick, rows);
}

TEST(PickerTest, TheOldestTablesThatLieApartAreMergedSideBySide) {
  const Row rows[] = {
      {"l0=4 threads=2 ranges=am,nz", "merge 12 11 of L0 into L1, the bottom"},
      {"l0=4 threads=2 ranges=nz,am", "merge 12 11 of L0 into L1, the bottom"},
      {"l0=4 threads=4 ranges=ad,mz,eg", "merge 13 12 11 of L0 into L1, the bottom"},
      {"l0=4 threads=2 ranges=ad,mz,eg", "merge 12 11 of L0 into L1, the bottom"},
      {"l0=4 threads=4 ranges=ad,eg,am,nz", "merge 12 11 of L0 into L1, the bottom"},
      {"l0=4 threads=2 ranges=am,mz", "merge 11 of L0 into L1, the bottom"},
      {"l0=4 threads=2 ranges=az,dg", "merge 11 of L0 into L1, the bottom"},
      {"l0=4 threads=2 ranges=?,am", "merge 11 of L0 into L1, the bottom"},
      {"l0=4 threads=4 ranges=am,?,nz", "merge 11 of L0 into L1, the bottom"},
      {"l0=4 threads=1 ranges=am,nz", "merge 11 of L0 into L1, the bottom"},
      {"l0=4 ranges=am,nz", "merge 11 of L0 into L1, the bottom"},
      {"l0=4 threads=2 ranges=am,nz merge=copy", "merge 11 of L0 into L1 by copies, the bottom"},
      {"l0=4 threads=2 ranges=am,nz open=table", "merge 11 of L0 into L1, the bottom"},
  };
  ExpectPlans(Pick, rows);
}

TEST(PickerTest, AllOfL0IsMergedAtOnceWhereThatIsLessWork) {
  const Row rows[] = {
      {"l0=4 fully", "merge 14 13 12 11 of L0 into L1 as a whole, the bottom"},
      {"l0=4 fully threads=2 ranges=am,nz",
       "merge 14 13 12 11 of L0 into L1 as a whole, the bottom"},
      {"l0=4 fully flush-comes", "nothing"},
      {"l0=4 fully flush-comes awaited=4", "nothing"},
      {"l0=4 fully waits tried=index", "remake-index"},
      {"l0=4 fully open=table", "merge 11 of L0 into L1, the bottom"},
      {"l0=4 fully merge=copy", "merge 11 of L0 into L1 by copies, the bottom"},
  };
  ExpectPlans(Pick, rows);
}

TEST(PickerTest, ListsGoDownWhenTheyHaveGrown) {
  const Row rows[] = {
      {"lists=9,0", "index"},
      {"lists=10,0 group=2", "merge 10 of L1 into L2"},
      {"lists=10,0 group=1", "merge 10 of L1 into L2 by copies"},
      {"lists=0,20 group=2", "merge 20 of L2 into L3 by copies, the bottom"},
      {"lists=0,20 group=8", "merge 20 of L2 into L3, the bottom"},
      // The one that has grown most, of what it may be.
      {"lists=15,20 group=8", "merge 10 of L1 into L2"},
      {"lists=15,40 group=8", "merge 20 of L2 into L3, the bottom"},
      {"lists=99,0 merge=none", "index"},
      {"lists=99,0 tried=merge", "index"},
      {"lists=99,0 granted", "nothing"},
      // Tables of L0 that pile up go first while a list is below twice its size.
      {"lists=19,0 l0=3 group=2", "merge 10 of L1 into L2"},
      {"lists=19,0 l0=4 group=2", "merge 11 of L0 into L1"},
      {"lists=20,0 l0=9 group=2", "merge 10 of L1 into L2"},
      // What is open goes on, before all else; marks of what was copied come first.
      {"lists=1+10,0 open=table from=1 l0=9 group=8", "merge 11 of L1 into L2"},
      {"lists=0,0 open=table l0=1 group=8", "merge 11 of L0 into L1"},
      {"lists=10,0 originals l0=9", "mark-originals"},
      {"lists=1+10,0 originals open=table from=1", "mark-originals"},
      {"lists=10,0 originals tried=mark-originals", "nothing"},
      {"lists=10,0 originals granted", "nothing"},
      // For those who wait each list has its turn once, from the top, in turns with other merges.
      {"lists=99,0 phase=i turn", "index"},
      {"lists=99,0 phase=i group=2", "merge 10 of L1 into L2"},
      {"lists=1,1 phase=m group=8", "merge 10 of L1 into L2"},
      {"lists=1,1 phase=m down=2 group=8", "merge 20 of L2 into L3, the bottom"},
      {"lists=0,1 phase=m group=8", "merge 20 of L2 into L3, the bottom"},
      {"lists=1,1 phase=m down=3", "next-phase"},
      {"lists=1,1 phase=m tried=merge", "next-phase"},
      {"lists=0,0 phase=m", "next-phase"},
      {"phase=m", "next-phase"},
      {"lists=1,1 phase=m l0=1 awaited=1 group=8", "merge 11 of L0 into L1"},
      {"lists=1,1 phase=m merge=none", "next-phase"},
  };
  ExpectPlans(Pick, rows);
}

TEST(PickerTest, LevelsOfSeveralListsAreRewritten) {
  const Row rows[] = {
      {"rewrites lists=9,0 l0=3", "index"},
      {"rewrites lists=9,0 l0=4", "rewrite of L0 into L1"},
      // A level is as large as all of its lists.
      {"rewrites lists=5+5,0", "rewrite of L1 into L2"},
      {"rewrites lists=9,10+10", "rewrite of L2 into L3, the bottom"},
      {"rewrites lists=19,0 l0=4", "rewrite of L0 into L1"},
      {"rewrites lists=20,0 l0=9", "rewrite of L1 into L2"},
      // A table that is in L1 in part: before all else.
      {"rewrites begun lists=20,0 l0=1", "rewrite of L0 into L1"},
      {"rewrites begun lists=20,0 l0=1 tried=rewrite", "index"},
      {"rewrites begun lists=20,0 l0=1 phase=m tried=rewrite", "next-phase"},
      {"rewrites originals begun l0=1", "mark-originals"},
      // What a design before has left open.
      {"rewrites lists=1+10,0 open=table from=1 l0=9 group=8", "merge 11 of L1 into L2"},
      {"rewrites lists=0,0 open=table l0=1 group=8", "merge 11 of L0 into L1"},
      {"rewrites lists=1,1 phase=m", "rewrite of L1 into L2"},
      {"rewrites lists=1,0+1 phase=m down=2", "rewrite of L2 into L3, the bottom"},
      {"rewrites lists=1,1 phase=m tried=rewrite", "next-phase"},
      {"rewrites phase=d", "drop"},
      {"rewrites phase=c", "collect"},
      {"rewrites phase=k", "make-room"},
      {"rewrites lists=99,0 granted", "nothing"},
  };
  ExpectPlans(Pick, rows);
}

TEST(PickerTest, TheNextMergeOfWhoClosesIsTheOpenOneOrTheOldest) {
  const Row rows[] = {
      {"", "nothing"},
      {"l0=1", "merge 11 of L0 into L1, the bottom"},
      {"l0=1 merge=none", "nothing"},
      {"l0=1 merge=none open=table", "merge 11 of L0 into L1, the bottom"},
      {"l0=2 open=copies", "finish-copies"},
      {"rewrites l0=2", "rewrite of L0 into L1, the bottom"},
  };
  ExpectPlans(PickMerge, rows);
}

TEST(PickerTest, ChunksAreCollectedWhenTheyTakeTooMuch) {
  const auto wants = [](SpaceFacts facts) {
    facts.chunk_bytes = 100;
    return WantsCollection(facts);
  };
  constexpr uint64_t kSlack = kSlackChunks * 100;
  SpaceFacts facts{.total_chunks = 100, .used_bytes = kSlack + 1350, .live_bytes = 1000};
  EXPECT_FALSE(wants(facts)) << "no chunk is sparse";
  facts.sparse_chunks = 3;
  EXPECT_FALSE(wants(facts)) << "1.35 times what lives in them, and the slack";
  facts.used_bytes += 1;
  EXPECT_TRUE(wants(facts));
  facts.used_bytes = kSlack / 2;
  facts.live_bytes = 0;
  EXPECT_FALSE(wants(facts)) << "all within the slack";
  facts.drain = true;
  EXPECT_TRUE(wants(facts));
  facts.drain = false;
  facts.may_grow = false;
  facts.free_chunks = 25;
  EXPECT_FALSE(wants(facts));
  facts.free_chunks = 24;
  EXPECT_TRUE(wants(facts)) << "less than a quarter is free, and there will be no more";
}

}  // namespace
}  // namespace braid::compaction
