// Purpose: complete checks of tables.
// Thread safety, persistence: see level_check.h.
#include "level/level_check.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/checksum.h"

namespace braid::level {

using format::EntryHeader;
using format::kMaxHeight;

namespace {

constexpr size_t kMaxProblems = 100;

class TableCheck {
 public:
  TableCheck(const PmemTable& table, const std::string& name, uint64_t boundary,
             const std::function<bool(uint64_t)>& intact, CheckTotals* totals)
      : table_(table),
        list_(table.list()),
        head_offset_(table.head_offset()),
        name_(name),
        boundary_(boundary),
        intact_(intact),
        totals_(totals) {}

  uint64_t BottomLayer(uint64_t expected) {
    index::Damage damage;
    const EntryHeader* previous = nullptr;
    uint64_t count = 0;
    index::Tower tower = table_.head(0);
    for (const EntryHeader* entry = list_.Follow(tower, 0, &damage); entry != nullptr;
         tower = entry->links(), entry = list_.Follow(tower, 0, &damage)) {
      const uint64_t offset = list_.pool().OffsetOf(entry);
      if (!NamesRegion(tower, 0, offset)) return count;
      if (offset == boundary_) break;
      if (!Ordered(previous, *entry)) {
        Problem(offset, "the entry is out of order");
        return count;  // the walk may be a circle
      }
      Entry(*entry, offset);
      ++count;
      previous = entry;
      if (totals_->problems.size() >= kMaxProblems) return count;
    }
    if (damage) {
      Damaged(damage);
    } else if (count != expected && expected != kAnyCount) {
      Problem(head_offset_, "it links " + std::to_string(count) + " entries, its record says " +
                                std::to_string(expected));
    }
    return count;
  }

  /// Upper layers are sorted, and hold every entry of their strand that is tall enough.
  void UpperLayer(uint32_t strand, uint32_t layer) {
    // The bottom layer is one for all strands, and has counted what the others must hold.
    BRAID_DCHECK(layer > 0 && layer < kMaxHeight && strand < table_.strands());
    index::Damage damage;
    const EntryHeader* previous = nullptr;
    uint64_t count = 0;
    uint64_t set = 0;
    const uint64_t tall = taller_[strand][layer];
    index::Tower tower = table_.head(strand);
    for (const EntryHeader* entry = list_.Follow(tower, layer, &damage); entry != nullptr;
         tower = entry->links(), entry = list_.Follow(tower, layer, &damage)) {
      const uint64_t offset = list_.pool().OffsetOf(entry);
      if (!NamesRegion(tower, layer, offset)) return;
      if (list_.pool().StrandOf(offset) != strand) {
        Problem(offset, "layer " + std::to_string(layer) + " of region " + std::to_string(strand) +
                            " links an entry of another region");
        return;
      }
      if (entry->height() <= layer || !Ordered(previous, *entry)) {
        Problem(offset, "layer " + std::to_string(layer) + " is out of order");
        return;
      }
      ++totals_->links;
      ++count;
      set ^= Mark(offset);
      previous = entry;
      if (count > tall) break;
    }
    if (damage) {
      Damaged(damage);
    } else if (boundary_ == 0 && count != tall) {
      Problem(head_offset_, "layer " + std::to_string(layer) + " links " + std::to_string(count) +
                                " entries of " + std::to_string(tall));
    } else if (boundary_ == 0 && set != taller_set_[strand][layer]) {
      Problem(head_offset_,
              "layer " + std::to_string(layer) + " links an entry that the bottom layer does not");
    }
  }

 private:
  static bool Ordered(const EntryHeader* previous, const EntryHeader& entry) {
    if (previous == nullptr) return true;
    const int order = previous->key().compare(entry.key());
    return order != 0 ? order < 0 : previous->sequence() > entry.sequence();
  }

  /// What an entry adds to the hash of a set of entries.
  static uint64_t Mark(uint64_t offset) noexcept { return base::Mix(offset, 0x9E3779B97F4A7C15u); }

  void Entry(const EntryHeader& entry, uint64_t offset) {
    ++totals_->entries;
    ++totals_->links;
    totals_->bytes += entry.size();
    totals_->linked_bytes[list_.pool().ChunkOf(offset)] += entry.size();
    if (entry.has(format::kValueElsewhere)) Carrier(entry, offset);
    totals_->max_sequence = std::max(totals_->max_sequence, entry.sequence());
    const uint32_t strand = list_.pool().StrandOf(offset);
    for (uint32_t layer = 1; layer < entry.height(); ++layer) {
      ++taller_[strand][layer];
      taller_set_[strand][layer] ^= Mark(offset);
    }
    if (!intact_(offset)) Problem(offset, "the entry's value does not match its check");
    totals_->links_obsolete = totals_->links_obsolete || entry.state() == format::kStateObsolete;
    if (entry.state() != format::kStateLive) {
      Problem(offset, entry.state() == format::kStateObsolete
                          ? "the entry is linked, but marked obsolete"
                          : "the entry's state is damaged");
    }
  }

  /// What holds the value lives on for it; unless it is linked itself, in L0.
  void Carrier(const EntryHeader& entry, uint64_t offset) {
    const uint64_t carrier = list_.pool().CarrierOf(entry);
    if (carrier == 0) return;  // its value does not verify
    const EntryHeader& holder = *list_.pool().EntryAt(carrier);
    if (holder.state() == format::kStateLive) return;
    if (holder.state() != format::kStateCarrier) Problem(offset, "its value is marked obsolete");
    totals_->linked_bytes[list_.pool().ChunkOf(carrier)] += holder.size();
  }

  /// A link must say in which region the entry lies that it leads to.
  bool NamesRegion(index::Tower tower, uint32_t layer, uint64_t offset) {
    const uint32_t region = list_.pool().RegionOf(offset);
    const uint32_t said = format::EntryPtr{tower[layer]}.region();
    if (said == region) return true;
    Problem(offset, "a link of layer " + std::to_string(layer) + " says that it is in region " +
                        std::to_string(said) + ", it is in region " + std::to_string(region));
    return false;
  }

  void Damaged(const index::Damage& damage) {
    totals_->problems.push_back(
        std::string(index::DamageStatus(list_.pool(), damage.at).message()) + ", in " + name_);
  }
  void Problem(uint64_t offset, const std::string& what) {
    totals_->AddProblem(list_.pool().CorruptionAt(offset, name_, what));
  }

  const PmemTable& table_;
  const index::SkipList list_;
  const uint64_t head_offset_;
  const std::string& name_;
  uint64_t boundary_;
  const std::function<bool(uint64_t)>& intact_;
  CheckTotals* totals_;
  using OfLayers = std::array<std::array<uint64_t, kMaxHeight>, format::kMaxRegions>;
  OfLayers taller_{};      // entries that a layer of a strand must hold
  OfLayers taller_set_{};  // and a hash of which
};

}  // namespace

uint64_t CheckTable(const PmemTable& table, const std::string& name, uint64_t boundary,
                    uint64_t expected, const std::function<bool(uint64_t)>& intact,
                    CheckTotals* totals) {
  TableCheck check(table, name, boundary, intact, totals);
  const uint64_t count = check.BottomLayer(expected);
  for (uint32_t strand = 0; strand < table.strands(); ++strand) {
    for (uint32_t layer = 1; layer < kMaxHeight && totals->problems.empty(); ++layer) {
      check.UpperLayer(strand, layer);
    }
  }
  return count;
}

}  // namespace braid::level
