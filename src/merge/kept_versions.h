// Purpose: entries of L1 that are kept only for views: older versions, and deletes that hide some
// of them. Counts them by the view that they wait for, to decide when a search for those that no
// view needs any more pays off, and finds these.
// Thread safety: one background thread, concurrent with readers.
// Invariants:
//   1. An entry is counted for the newest view that sees it. Views taken later do not see it, so
//      once that view is gone it waits for older ones alone, and mostly for none.
//   2. The counts are a reason to look and nothing more; what is dropped is decided by the merge,
//      from the views at that time (ZipperMerge).
// Persistence: none; after an open nothing is known of what there is (KeptVersions::is_known).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "braid/status.h"
#include "index/entry_index.h"
#include "index/retention.h"
#include "index/skiplist.h"

namespace braid::merge {

/// What one merge has done.
struct KeptCount {
  std::vector<uint64_t> for_view;  // entries, by the place of their view among the merge's views
  uint64_t for_none = 0;           // entries that no view sees, and that are there all the same
  uint64_t dropped = 0;            // entries that had been kept, and went
  uint64_t left = 0;               // entries that might have gone if a batch had room for more

  /// One more entry, whose next newer version has the number `newer`.
  void Add(const index::LiveViews& views, uint64_t sequence, uint64_t newer) {
    const size_t view = index::NewestViewOf(views, sequence, newer);
    if (view == views.size()) {
      ++for_none;
      return;
    }
    if (for_view.empty()) for_view.resize(views.size());
    BRAID_DCHECK(for_view.size() == views.size());  // those of one merge
    ++for_view[view];
  }
};

/// What there is of such entries in L1.
class KeptVersions {
 public:
  /// False until L1 was looked through once.
  bool is_known() const noexcept { return is_known_; }
  /// All of L1 is looked at from here on: what is found is added.
  void StartAnew() noexcept {
    for_view_.clear();
    for_none_ = 0;
    is_known_ = true;
  }
  /// Somebody else has looked through L1, and met so many of which nobody knows who needs them.
  void Found(uint64_t entries) noexcept {
    BRAID_DCHECK(!is_known_);  // or they would be counted twice
    for_none_ += entries;
    is_known_ = true;
  }
  void Add(const index::LiveViews& views, const KeptCount& count);
  /// How many wait for none of the views that are alive.
  uint64_t ForNone(const index::LiveViews& live);
  /// All of them.
  uint64_t all() const noexcept;

 private:
  void Settle(const index::LiveViews& live);

  std::map<uint64_t, uint64_t> for_view_;  // entries, by the number of their view
  uint64_t for_none_ = 0;
  bool is_known_ = false;
};

/// A run of L1 in the order of its keys.
struct KeptPart {
  std::vector<uint64_t> droppable;  // newest entries of keys of which something may go
  KeptCount kept;                   // entries that views need, of the other keys
  bool is_last = false;
  std::string next_key;  // where the next part begins, unless this is the last
};

/// The part of `list` that begins with the key `from`: about `max_entries` of it, whole keys. What
/// may go is what none of `views` needs. Corruption when the list is damaged. `tree`: as for
/// SurveyPart. `hides_below`: as of a merge. Cost: a read of each entry's header and key.
Result<KeptPart> SurveyKept(const index::SkipList& list, const index::EntryIndex* tree,
                            const std::string& from, uint64_t max_entries,
                            const index::LiveViews& views,
                            const std::function<bool(std::string_view key)>& hides_below = {});

}  // namespace braid::merge
