// Purpose: the two copies of a pool's header.
// Thread safety, invariants, persistence: see header_copies.h.
#include "pool/header_copies.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "base/check.h"
#include "pool/pool_facts.h"

namespace braid::pool {

using format::PoolHeader;

// No page, and so no write that is torn by one, holds a part of both copies.
static_assert(sizeof(PoolHeader) <= format::kPageBytes);
static_assert(format::kPoolHeaderOffset[1] - format::kPoolHeaderOffset[0] >= format::kPageBytes);

namespace {

void CopyName(char* target, size_t capacity, const std::string& name) {
  std::memset(target, 0, capacity);
  std::memcpy(target, name.data(), std::min(name.size(), capacity - 1));
}

}  // namespace

void HeaderCopies::Make(const Options& options) {
  const media::Media& media = space_.media();
  header_ = PoolHeader{};
  header_.magic = format::kPoolMagic;
  header_.version = format::kFormatVersionNumber;
  header_.endian = format::kEndianMark;
  std::random_device random;
  for (size_t i = 0; i < sizeof header_.uuid; i += 4) {
    const uint32_t word = random();
    std::memcpy(header_.uuid + i, &word, 4);
  }
  header_.chunk_bytes = space_.chunk_bytes();
  header_.media_class = static_cast<uint32_t>(media.media_class());
  header_.clean = 1;  // nothing was written yet
  CopyName(header_.boot_id, sizeof header_.boot_id, media.boot_id());
  CopyName(header_.design, sizeof header_.design, options.design);
  CopyName(header_.comparator, sizeof header_.comparator, media.key_order());
  if (space_.regions() > 1) {
    header_.incompat |= format::kIncompatRegions;
    header_.regions = static_cast<uint8_t>(space_.regions());
    header_.list_kind = static_cast<uint8_t>(options.lists.kind.value_or(ListKind::kBraided));
  }
  header_.segments = 1;
}

Status HeaderCopies::Read() {
  PoolHeader copies[2];
  for (int i = 0; i < 2; ++i) {
    std::memcpy(&copies[i], space_.At(format::kPoolHeaderOffset[i]), sizeof(PoolHeader));
  }
  Result<PoolHeader> chosen =
      ChooseHeader(copies, space_.media().Locate(format::kPoolHeaderOffset[0]));
  if (!chosen.ok()) return chosen.status();
  header_ = *chosen;
  newest_ = std::memcmp(&header_, &copies[1], sizeof header_) == 0 ? 1 : 0;
  dirty_shutdowns_ = ReadDeviceRecord();
  tier_ = ReadTierRecord();
  return Status::OK();
}

/// Of the copy that was read; where a crash has torn its record, of the other one, which is whole
/// then.
std::optional<uint64_t> HeaderCopies::ReadDeviceRecord() const {
  if ((header_.compat & format::kCompatDeviceRecord) == 0) return std::nullopt;
  for (const int copy : {newest_, 1 - newest_}) {
    const char* const page = space_.At(format::kPoolHeaderOffset[copy]);
    PoolHeader header;
    std::memcpy(&header, page, sizeof header);
    format::DeviceRecord record;
    std::memcpy(&record, page + format::kDeviceRecordOffset, sizeof record);
    if (const auto count = DirtyShutdownsIn(header, record, copy)) return count;
  }
  return std::nullopt;
}

void HeaderCopies::SetDirtyShutdowns(std::optional<uint64_t> count) {
  const base::MutexLock lock(mutex_);
  dirty_shutdowns_ = count;
}

/// Of the copy that was read, else of the other one: see ReadDeviceRecord. The copy that has it is
/// the intact one from here on: to be written first would lose the only record.
std::optional<format::TierRecord> HeaderCopies::ReadTierRecord() {
  if ((header_.incompat & format::kIncompatTier) == 0) return std::nullopt;
  for (const int copy : {newest_, 1 - newest_}) {
    const uint64_t page = format::kPoolHeaderOffset[copy];
    PoolHeader header;
    std::memcpy(&header, space_.At(page), sizeof header);
    format::TierRecord record;
    std::memcpy(&record, space_.At(page + format::kTierRecordOffset), sizeof record);
    if (!IsTierRecordOf(header, record, copy)) continue;
    newest_ = copy;
    return record;
  }
  return std::nullopt;
}

Result<std::optional<format::TierRecord>> HeaderCopies::tier() const {
  const base::MutexLock lock(mutex_);
  if ((header_.incompat & format::kIncompatTier) != 0 && !tier_) {
    return Status::Corruption(
        space_.media().Locate(format::kPoolHeaderOffset[newest_]) +
        ": tier record: its check does not match in either copy of the header; "
        "DB::Repair makes a new pool of what this one holds");
  }
  return tier_;
}

void HeaderCopies::SetTier(const format::TierRecord& record) {
  const base::MutexLock lock(mutex_);
  tier_ = record;
}

/// Both copies have a record before one of them says so: a crash that tears the record of the one
/// leaves that of the other.
Status HeaderCopies::PrepareTier() {
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(tier_.has_value());
  return (header_.incompat & format::kIncompatTier) != 0 ? Status::OK() : WriteLocked();
}

/// Of the copy of the header at `place`; flushed with it.
void HeaderCopies::WriteTierRecord(uint64_t place) {
  if (!tier_) return;
  const uint64_t at = place + format::kTierRecordOffset;
  format::TierRecord record = *tier_;
  record.magic = format::kTierRecordMagic;
  record.update_count = header_.update_count;
  record.check = format::StructCheck(record, at);
  ops_.Copy(space_.At(at), &record, sizeof record);
  ops_.Flush(space_.At(at), sizeof record, media::Site::kPoolHeader);
}

/// Of the copy of the header at `place`; flushed.
void HeaderCopies::WriteDeviceRecord(uint64_t place) {
  if ((header_.compat & format::kCompatDeviceRecord) == 0) return;
  const uint64_t at = place + format::kDeviceRecordOffset;
  format::DeviceRecord record{};
  if (dirty_shutdowns_) {
    record.magic = format::kDeviceRecordMagic;
    record.update_count = header_.update_count;
    record.dirty_shutdowns = *dirty_shutdowns_;
    record.check = format::StructCheck(record, at);
  }
  ops_.Copy(space_.At(at), &record, sizeof record);
  ops_.Flush(space_.At(at), sizeof record, media::Site::kDeviceRecord);
}

Status HeaderCopies::Write() {
  const base::MutexLock lock(mutex_);
  return WriteLocked();
}

/// Writes header_ with a higher count to both copies, the one that is older, or torn, first: at
/// every moment one copy is intact.
Status HeaderCopies::WriteLocked() {
  ++header_.update_count;
  if (dirty_shutdowns_) header_.compat |= format::kCompatDeviceRecord;
  const int first = 1 - newest_;
  for (const int copy : {first, 1 - first}) {
    const uint64_t place = format::kPoolHeaderOffset[copy];
    header_.check = format::StructCheck(header_, place);
    ops_.Copy(space_.At(place), &header_, sizeof header_);
    ops_.Flush(space_.At(place), sizeof header_, media::Site::kPoolHeader);
    WriteDeviceRecord(place);
    WriteTierRecord(place);
    ops_.Fence(media::Site::kPoolHeaderFence);
    if (Status s =
            space_.media().SyncRange(place, format::kPageBytes, media::Site::kPoolHeaderSync);
        !s.ok()) {
      return s;
    }
  }
  return Status::OK();
}

Status HeaderCopies::Require(uint64_t incompat) {
  BRAID_CHECK((incompat & ~format::kKnownIncompat) == 0);
  const base::MutexLock lock(mutex_);
  header_.incompat |= incompat;
  return WriteLocked();
}

Status HeaderCopies::Announce(uint64_t incompat) {
  BRAID_CHECK((incompat & ~format::kKnownIncompat) == 0);
  const base::MutexLock lock(mutex_);
  if ((header_.incompat & incompat) == incompat) return Status::OK();
  header_.incompat |= incompat;
  return WriteLocked();
}

Status HeaderCopies::AnnounceCompat(uint64_t compat) {
  const base::MutexLock lock(mutex_);
  if ((header_.compat & compat) == compat) return Status::OK();
  header_.compat |= compat;
  return WriteLocked();
}

Status HeaderCopies::AnnounceFormatVersion() {
  const base::MutexLock lock(mutex_);
  if (header_.version == format::kFormatVersionNumber) return Status::OK();
  header_.version = format::kFormatVersionNumber;
  return WriteLocked();
}

Status HeaderCopies::MarkDirty(uint64_t incompat) {
  BRAID_CHECK((incompat & ~format::kKnownIncompat) == 0);
  const base::MutexLock lock(mutex_);
  header_.clean = 0;
  header_.incompat |= incompat;
  CopyName(header_.boot_id, sizeof header_.boot_id, space_.media().boot_id());
  header_.media_class = static_cast<uint32_t>(space_.media().media_class());
  return WriteLocked();
}

Status HeaderCopies::MarkClean() {
  const base::MutexLock lock(mutex_);
  header_.clean = 1;
  Status s = WriteLocked();
  if (s.ok() && space_.failed()) s = space_.FaultStatus();
  if (!s.ok()) {
    // Nobody knows what of the mark reached the medium: the next open had better recover.
    header_.clean = 0;
    const Status again = WriteLocked();
    if (!again.ok()) return again;
  }
  return s;
}

Status HeaderCopies::SetGenerationFloor(uint64_t floor) {
  BRAID_DCHECK(floor < format::kMaxGeneration);
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(floor > header_.generation_floor);
  header_.generation_floor = floor;
  return WriteLocked();
}

Status HeaderCopies::SetSegments(uint64_t segments) {
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(header_.segments <= segments);  // none is ever given up
  header_.segments = segments;
  return WriteLocked();
}

}  // namespace braid::pool
