// Purpose: the part of a salvage that reads the tier below the damaged pool: it belongs to the
// pool, and of each key the newer of two versions counts, wherever it lies.
// Thread safety, invariants, persistence: see salvage.h.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "pool/pool_facts.h"
#include "repair/salvage.h"
#include "tier/open_store.h"

namespace braid::repair {

using format::EntryHeader;
using format::EntryOp;

namespace {

/// Of findings about the tier: where the pool names it.
constexpr uint64_t kPlace = format::kPoolHeaderOffset[0] + format::kTierRecordOffset;

/// Keys may be any bytes, and long.
std::string Shown(std::string_view key) {
  constexpr size_t kMost = 40;
  constexpr char kDigits[] = "0123456789abcdef";
  const bool is_text =
      std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 127; });
  std::string shown;
  for (const char c : key.substr(0, kMost)) {
    if (is_text) {
      shown += c;
    } else {
      shown += kDigits[static_cast<unsigned char>(c) >> 4];
      shown += kDigits[static_cast<unsigned char>(c) & 15];
    }
  }
  return (is_text ? "'" : "0x") + shown + (key.size() > kMost ? "..." : "") + (is_text ? "'" : "");
}

std::string RangeText(std::string_view behind, const std::optional<std::string>& up_to) {
  return (behind.empty() ? std::string("from the first key") : "behind the key " + Shown(behind)) +
         (up_to ? " to about " + Shown(*up_to) : std::string(" to the last one"));
}

}  // namespace

/// What an intact copy of the header says; the newer one. None: there is no tier, or it is not
/// known.
std::optional<format::TierRecord> Salvage::NamedTier() const {
  std::optional<format::TierRecord> named;
  for (int copy = 0; copy < 2; ++copy) {
    const uint64_t place = format::kPoolHeaderOffset[copy];
    format::PoolHeader of_copy;
    format::TierRecord record;
    if (!pool_->image().Holds(place, format::kPageBytes)) continue;
    std::memcpy(&of_copy, pool_->base() + place, sizeof of_copy);
    std::memcpy(&record, pool_->base() + place + format::kTierRecordOffset, sizeof record);
    if (!pool::IsTierRecordOf(of_copy, record, copy)) continue;
    if (!named || named->update_count < record.update_count) named = record;
  }
  return named;
}

Status Salvage::OpenTier(const std::string& path) {
  if (path.empty()) return Status::OK();
  const std::optional<format::PoolHeader>& header = pool_->geometry().header;
  const bool has_none = header && (header->incompat & format::kIncompatTier) == 0;
  if (has_none) return Status::OK();  // nothing ever went to one
  tier::OpenRequest request;
  request.path = path;
  request.read_only = true;
  request.for_repair = true;
  Result<std::unique_ptr<tier::Store>> opened = tier::OpenStore(request);
  if (!opened.ok()) return opened.status();
  const std::optional<format::TierRecord> named = NamedTier();
  const tier::Id& id = (*opened)->id();
  const tier::Id& pool_id = (*opened)->pool_id();
  if ((named && std::memcmp(named->id, id.data(), id.size()) != 0) ||
      (header && std::memcmp(header->uuid, pool_id.data(), pool_id.size()) != 0)) {
    return Status::InvalidArgument("the tier at " + path + " is not that of the damaged pool" +
                                   (named ? ", which was at " + pool::PathIn(*named) : ""));
  }
  tier_ = std::move(opened).value();
  tier_path_ = path;
  return Status::OK();
}

/// What is not read, and why; or what is not known of what is.
void Salvage::NoteTier() {
  const std::optional<format::PoolHeader>& header = pool_->geometry().header;
  if (tier_ != nullptr) {
    if (header) return;
    return findings_.NoteInTier(kPlace,
                                "no header is left that tells whether the tier at " + tier_path_ +
                                    " is that of this pool; it was taken for it",
                                false);
  }
  if (!header || (header->incompat & format::kIncompatTier) == 0) return;
  const std::optional<format::TierRecord> named = NamedTier();
  findings_.NoteInTier(
      kPlace,
      "a part of the data is in the tier at " +
          (named ? pool::PathIn(*named) : "a folder that no header tells any more") +
          ", which was left out: set options.tier.path to it (the command: --tier)",
      true);
}

/// Whether it has this version of the key, or a newer one.
bool Salvage::TierHas(const EntryHeader& entry) const {
  if (tier_ == nullptr) return false;
  tier::Found found;
  // What can't be read counts as lost, and DecideWithTier reports it.
  if (!tier_->Get(entry.key(), &found).ok()) return false;
  return found.result().has_version() && found.result().sequence >= entry.sequence();
}

/// A walk over pool and tier in the order of keys. `older`: the pool had a newer version of the key
/// than the put in the tier, and shows none. `tell`, `older` may be empty.
Status Salvage::MergeTier(
    const tier::Store::Take& take, const tier::Store::TellDamage& tell,
    const std::function<void(const Decided&, std::string_view)>& older) const {
  size_t next = 0;
  const auto key_at = [&](size_t i) { return pool_->EntryAt(decided_[i].offset)->key(); };
  const auto take_of_pool = [&](const Decided& decided) {
    const EntryHeader& entry = *pool_->EntryAt(decided.offset);
    return decided.is_salvaged ? take(entry.key(), values_.ValueOf(entry)) : Status::OK();
  };
  const auto take_of_tier = [&](std::string_view key, std::string_view record) {
    for (; next < decided_.size() && key_at(next) < key; ++next) {
      if (Status s = take_of_pool(decided_[next]); !s.ok()) return s;
    }
    const bool in_both = next < decided_.size() && key_at(next) == key;
    const Decided* const pool = in_both ? &decided_[next++] : nullptr;
    tier::RecordHead head;
    if (!tier::ReadRecordHead(record, &head)) {
      if (tell)
        tell(Status::Corruption("a record has a wrong kind or size"), key, std::string(key));
      return pool != nullptr ? take_of_pool(*pool) : Status::OK();
    }
    if (pool != nullptr) {
      const uint64_t sequence = pool_->EntryAt(pool->offset)->sequence();
      // Of two that are equal the intact one.
      if (head.sequence() < sequence || (pool->is_salvaged && head.sequence() == sequence)) {
        if (!pool->is_salvaged && !head.is_delete() && older) older(*pool, key);
        return take_of_pool(*pool);
      }
    }
    return head.is_delete() ? Status::OK() : take(key, record.substr(sizeof head));
  };
  const auto tell_nobody = [](const Status&, std::string_view, const std::optional<std::string>&) {
  };
  if (Status s = tell ? tier_->ForEachReadable(take_of_tier, tell)
                      : tier_->ForEachReadable(take_of_tier, tell_nobody);
      !s.ok()) {
    return s;
  }
  for (; next < decided_.size(); ++next) {
    if (Status s = take_of_pool(decided_[next]); !s.ok()) return s;
  }
  return Status::OK();
}

/// Goes through all once, to say what there is and what is missing.
void Salvage::DecideWithTier() {
  count_ = 0;
  const Status s = MergeTier(
      [this](std::string_view, std::string_view value) {
        ++count_;
        const bool in_pool =
            value.data() >= pool_->base() && value.data() < pool_->base() + pool_->image().bytes();
        report_.tier_records += in_pool ? 0 : 1;
        return Status::OK();
      },
      [this](const Status& damage, std::string_view behind,
             const std::optional<std::string>& up_to) {
        findings_.NoteInTier(kPlace,
                             "what it has " + RangeText(behind, up_to) +
                                 " can't be read: " + std::string(damage.message()),
                             true);
      },
      [this](const Decided& pool, std::string_view) {
        if (!pool.was_replaced) return;
        findings_.Note(
            pool.offset, pool_->EntryAt(pool.offset)->size(), "entry",
            "a newer version replaced it, and is lost; that of the tier, which is older, "
            "was left out",
            true, pool_->EntryAt(pool.offset));
      });
  BRAID_CHECK(s.ok());  // nothing above refuses a record
}

}  // namespace braid::repair
