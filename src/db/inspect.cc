// Purpose: the facts of a pool that is not opened, as a struct and as JSON.
// Thread safety: any thread.
// Persistence: none; nothing is changed.
#include <sys/stat.h>

#include <cstdio>

#include "base/no_throw.h"
#include "braid/db.h"
#include "media/device_facts.h"
#include "media/file_media.h"
#include "media/pool_lock.h"
#include "pool/pool.h"
#include "pool/pool_facts.h"

namespace braid {

namespace {

std::string PromiseOf(MediaClass media_class, PowerLoss power_loss) {
  if (power_loss == PowerLoss::kGone) {
    return "an acknowledged write survives a crash of the process; this is ordinary memory, gone "
           "at "
           "power loss";
  }
  if (power_loss == PowerLoss::kAsHost && media_class != MediaClass::kPage) {
    return "an acknowledged write survives a crash of the process, and a loss of power if the host "
           "of this virtual device keeps what it holds";
  }
  switch (media_class) {
    case MediaClass::kByte:
    case MediaClass::kCacheLine:
      return "an acknowledged write survives a crash of the process and a loss of power";
    case MediaClass::kPage:
      break;
  }
  return "an acknowledged write survives a crash of the process; it survives a loss of power if it "
         "was written with sync";
}

std::string UuidText(const uint8_t* uuid) {
  std::string text;
  for (int i = 0; i < 16; ++i) {
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", uuid[i]);
    text += hex;
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

/// What of `info` is about a loss of power; its regions are known.
void TellPowerLoss(const pool::PoolFacts& facts, PoolInfo* info) {
  std::vector<DeviceInfo> devices;
  std::vector<dev_t> numbers;
  for (const RegionInfo& region : info->regions) {
    devices.push_back(region.device);
    struct stat folder {};
    if (::stat(region.path.c_str(), &folder) == 0) numbers.push_back(folder.st_dev);
  }
  info->power_loss = media::WorstPowerLoss(devices);
  info->promise = PromiseOf(info->media_class, info->power_loss);
  info->dirty_shutdowns_at_open = facts.dirty_shutdowns;
  const std::optional<uint64_t> now = media::SumDirtyShutdowns(numbers);
  info->media_loss_possible =
      !info->clean && facts.dirty_shutdowns && now && *now != *facts.dirty_shutdowns;
}

Result<PoolInfo> InspectPath(const std::string& path, const Options& options) {
  Result<media::PathKind> kind = media::ProbePath(path);
  if (!kind.ok()) return kind.status();
  if (*kind == media::PathKind::kMissing) return Status::NotFound("there is no pool at " + path);
  if (*kind == media::PathKind::kForeign) {
    return Status::InvalidArgument(path + " is not a braid pool: it holds no segment-000000");
  }
  Result<MediaClass> found = media::ProbeMediaClass(path);
  if (!found.ok()) return found.status();
  Result<pool::PoolFacts> facts = pool::ReadPoolFacts(path);
  if (!facts.ok()) return facts.status();
  const format::PoolHeader& header = facts->header;
  PoolInfo info;
  info.path = path;
  info.uuid = UuidText(header.uuid);
  info.format_version = header.version;
  info.design = header.design;
  info.comparator = header.comparator;
  info.media_class_forced = options.pool.force_media_class.has_value();
  info.media_class = options.pool.force_media_class.value_or(*found);
  info.flush_instruction = info.media_class == MediaClass::kCacheLine ? media::FlushInstruction()
                           : info.media_class == MediaClass::kByte    ? "none"
                                                                      : "msync";
  info.chunk_bytes = header.chunk_bytes;
  info.pool_bytes = facts->pool_bytes;
  info.allocated_bytes = facts->allocated_bytes;
  if (const char* why = media::WhyNoHolesAt(path, *found); why != nullptr) info.why_no_holes = why;
  info.segments = header.segments;
  info.chunks = facts->pool_bytes / header.chunk_bytes;
  info.chunks_free = facts->free_chunks;
  info.chunks_of_entries = facts->entry_chunks;
  info.chunks_of_values = facts->value_chunks;
  info.entries = facts->entries;
  info.l0_tables = facts->l0_tables;
  info.l0_entries = facts->l0_entries;
  info.tier = facts->tier.value_or("");
  if (header.list_kind != 0) info.list_kind = static_cast<ListKind>(header.list_kind);
  for (const pool::RegionFacts& region : facts->regions) {
    info.regions.push_back({region.folder, media::NodeOfFolder(region.folder), region.bytes,
                            region.bytes / header.chunk_bytes, region.free_chunks,
                            media::ReadDevice(region.folder)});
  }
  info.clean = header.clean == 1;
  const media::LockHolder holder = media::ProbeLock(path);
  info.in_use = holder.held;
  info.in_use_for_reading = holder.reads;
  info.in_use_by_pid = holder.pid;
  TellPowerLoss(*facts, &info);
  return info;
}

}  // namespace

Result<PoolInfo> DB::Inspect(const std::string& path, const Options& options) {
  return base::CatchToStatus([&] { return InspectPath(path, options); });
}

}  // namespace braid
