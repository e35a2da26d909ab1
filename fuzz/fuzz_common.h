// What the fuzz targets share: reading an input piece by piece, a pool in memory, and the form in
// which pools are kept as fuzz inputs.
//
// A pool input is
//   byte 0   how it is opened (kOtherBoot ...)
//   byte 1   what is done to it: seed of the calls that follow the open
//   byte 2   number of segments; then two bytes a segment: its pages
//   then     runs: bytes to skip and bytes that follow as varints, and these bytes
// What no run names is zero, so that a small pool takes a few KiB.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "braid/options.h"
#include "design/design.h"
#include "format/layout.h"
#include "media/media.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace braid::fuzz {

/// Ends the process with a message: the finding of a target's own checks.
[[noreturn]] inline void Finding(const std::string& what) {
  std::fprintf(stderr, "fuzz: finding: %s\n", what.c_str());
  std::abort();
}
inline void Require(bool condition, const char* what) {
  if (!condition) Finding(what);
}

/// An input, taken from the front. Past its end everything is zero.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  size_t left() const { return size_ - at_; }
  uint8_t Byte() { return empty() ? 0 : data_[at_++]; }
  uint64_t Word(size_t bytes) {
    uint64_t word = 0;
    for (size_t i = 0; i < bytes; ++i) word |= static_cast<uint64_t>(Byte()) << (8 * i);
    return word;
  }
  uint64_t Below(uint64_t n) { return n <= 256 ? Byte() % n : Word(4) % n; }
  uint64_t Varint() {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 63; shift += 7) {
      const uint8_t byte = Byte();
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }
  std::string_view Bytes(size_t n) {
    n = n < left() ? n : left();
    const std::string_view bytes(reinterpret_cast<const char*>(data_) + at_, n);
    at_ += n;
    return bytes;
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

/// How a pool input is opened.
inline constexpr uint8_t kOtherBoot = 1;      ///< the machine was restarted since the last writer
inline constexpr uint8_t kVerifyFull = 2;     ///< verify_on_open
inline constexpr uint8_t kNoChecksums = 4;    ///< verify_checksums off
inline constexpr uint8_t kPageMedia = 8;      ///< page-cache media
inline constexpr uint8_t kSmallBatches = 16;  ///< merges in batches of three entries
inline constexpr uint8_t kSmallBudget = 32;   ///< memory for a sparse index only
/// Parts of the default design, where the pool is one of it.
inline constexpr uint8_t kParts = 192;
inline constexpr uint8_t kWriteAheadLog = 64;
inline constexpr uint8_t kCopyMerges = 128;
inline constexpr uint8_t kPointerMerges = 192;

/// A pool as bytes.
struct PoolBytes {
  uint8_t how = 0;
  uint8_t seed = 0;
  std::vector<uint64_t> segments;
  std::vector<char> bytes;
};

inline constexpr uint64_t kMaxFuzzPool = 512u << 10;
inline constexpr size_t kMaxFuzzSegments = 4;

inline std::optional<PoolBytes> DecodePool(const uint8_t* data, size_t size) {
  Input input(data, size);
  PoolBytes pool;
  pool.how = input.Byte();
  pool.seed = input.Byte();
  const size_t segments = input.Byte();
  if (segments == 0 || segments > kMaxFuzzSegments) return std::nullopt;
  uint64_t total = 0;
  for (size_t i = 0; i < segments; ++i) {
    pool.segments.push_back(input.Word(2) * format::kPageBytes);
    if (pool.segments.back() == 0) return std::nullopt;
    total += pool.segments.back();
  }
  if (total > kMaxFuzzPool) return std::nullopt;
  pool.bytes.resize(total);
  uint64_t at = 0;
  while (!input.empty()) {
    at += input.Varint();
    const std::string_view run = input.Bytes(input.Varint());
    if (at > total || run.size() > total - at) return std::nullopt;
    std::memcpy(pool.bytes.data() + at, run.data(), run.size());
    at += run.size();
  }
  return pool;
}

inline void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

inline std::string EncodePool(const PoolBytes& pool) {
  std::string out{static_cast<char>(pool.how), static_cast<char>(pool.seed),
                  static_cast<char>(pool.segments.size())};
  for (const uint64_t bytes : pool.segments) {
    const uint64_t pages = bytes / format::kPageBytes;
    out.push_back(static_cast<char>(pages));
    out.push_back(static_cast<char>(pages >> 8));
  }
  constexpr size_t kGap = 6;  // shorter runs of zeroes are cheaper as they are
  const std::vector<char>& bytes = pool.bytes;
  size_t done = 0;
  for (size_t at = 0; at < bytes.size();) {
    if (bytes[at] == 0) {
      ++at;
      continue;
    }
    size_t end = at;
    for (size_t i = at; i < bytes.size() && i < end + kGap; ++i) {
      if (bytes[i] != 0) end = i + 1;
    }
    AppendVarint(at - done, &out);
    AppendVarint(end - at, &out);
    out.append(bytes.data() + at, end - at);
    done = at = end;
  }
  return out;
}

/// Reserved address space of one pool, with pages that can't be touched on both sides. Reused from
/// input to input: mapping is what would cost most.
class PoolMemory {
 public:
  static constexpr uint64_t kReserved = 2u << 20;

  PoolMemory() {
    constexpr uint64_t kGuard = 1u << 20;
    void* range = ::mmap(nullptr, kReserved + 2 * kGuard, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    Require(range != MAP_FAILED, "no address space for the pool");
    base_ = static_cast<char*>(range) + kGuard;
  }
  PoolMemory(const PoolMemory&) = delete;
  PoolMemory& operator=(const PoolMemory&) = delete;

  char* base() const { return base_; }
  uint64_t mapped() const { return mapped_; }
  const std::vector<uint64_t>& segments() const { return segments_; }

  /// Makes the memory hold `pool` and nothing else.
  void Load(const PoolBytes& pool) {
    Resize(pool.bytes.size());
    if (!pool.bytes.empty()) std::memcpy(base_, pool.bytes.data(), pool.bytes.size());
    segments_ = pool.segments;
  }
  /// The published segments as they are now.
  PoolBytes Save() const {
    PoolBytes pool;
    pool.segments = segments_;
    uint64_t total = 0;
    for (const uint64_t bytes : segments_) total += bytes;
    pool.bytes.assign(base_, base_ + total);
    return pool;
  }
  bool Add(uint64_t bytes) {
    uint64_t total = 0;
    for (const uint64_t each : segments_) total += each;
    if (bytes % format::kPageBytes != 0 || bytes > limit_ - std::min(total, limit_)) return false;
    Resize(total + bytes);
    std::memset(base_ + total, 0, bytes);
    unpublished_ = bytes;
    return true;
  }
  void Publish() { segments_.push_back(std::exchange(unpublished_, 0)); }
  void Drop() { unpublished_ = 0; }
  /// Bytes after which the device is full.
  void set_limit(uint64_t bytes) { limit_ = std::min(bytes, kReserved); }

 private:
  void Resize(uint64_t bytes) {
    bytes = (bytes + format::kPageBytes - 1) & ~(format::kPageBytes - 1);
    if (bytes > mapped_) {
      ::mprotect(base_ + mapped_, bytes - mapped_, PROT_READ | PROT_WRITE);
    } else if (bytes < mapped_) {
      ::mprotect(base_ + bytes, mapped_ - bytes, PROT_NONE);
    }
    mapped_ = bytes;
  }

  char* base_ = nullptr;
  uint64_t mapped_ = 0;
  uint64_t unpublished_ = 0;
  uint64_t limit_ = kReserved;
  std::vector<uint64_t> segments_;
};

/// A handle on the memory, as the store wants it.
class MemoryMedia final : public media::Media {
 public:
  MemoryMedia(PoolMemory* memory, MediaClass media_class, std::string boot_id)
      : memory_(memory), class_(media_class), boot_id_(std::move(boot_id)) {}

  char* base() const noexcept override { return memory_->base(); }
  uint64_t reserved_bytes() const noexcept override { return PoolMemory::kReserved; }
  MediaClass media_class() const noexcept override { return class_; }
  bool media_class_forced() const noexcept override { return false; }
  std::vector<uint64_t> segment_bytes() const override { return memory_->segments(); }
  Status AddSegment(uint64_t bytes) override {
    return memory_->Add(bytes) ? Status::OK() : Status::OutOfSpace("the memory is full");
  }
  Status PublishSegment() override {
    memory_->Publish();
    return Status::OK();
  }
  Status DropSegment() override {
    memory_->Drop();
    return Status::OK();
  }
  Status SyncAll() override { return Status::OK(); }
  Status SyncPages(uint64_t, uint64_t) override { return Status::OK(); }
  void Prefault(uint64_t, uint64_t) noexcept override {}
  std::string boot_id() const override { return boot_id_; }
  std::string Locate(uint64_t offset) const override {
    char text[32];
    std::snprintf(text, sizeof text, "pool+0x%llx", static_cast<unsigned long long>(offset));
    return text;
  }

 private:
  PoolMemory* memory_;
  MediaClass class_;
  std::string boot_id_;
};

inline constexpr const char* kFuzzBoot = "fuzz";

inline std::unique_ptr<media::Media> MediaFor(PoolMemory* memory, uint8_t how) {
  return std::make_unique<MemoryMedia>(
      memory, (how & kPageMedia) != 0 ? MediaClass::kPage : MediaClass::kByte,
      (how & kOtherBoot) != 0 ? "another" : kFuzzBoot);
}

/// The smallest pools that do everything: chunks of 4 KiB, memtables of 2 KiB, no threads.
inline Options FuzzOptions(uint8_t how) {
  Options options;
  options.background_threads = false;
  options.log.shards = 2;
  options.pool.chunk_bytes = 4096;
  options.pool.initial_bytes = 96u << 10;
  options.pool.max_bytes = kMaxFuzzPool;
  options.memtable.bytes = 2048;
  options.verify_on_open = (how & kVerifyFull) != 0 ? VerifyOnOpen::kFull : VerifyOnOpen::kQuick;
  options.verify_checksums = (how & kNoChecksums) == 0;
  if ((how & kSmallBatches) != 0) options.compaction.batch_entries = 3;
  if ((how & kSmallBudget) != 0) options.memory_budget_bytes = 1u << 20;
  if ((how & kParts) == kWriteAheadLog) options.log.kind = LogKind::kWriteAhead;
  if ((how & kParts) == kCopyMerges) options.compaction.kind = MergeKind::kCopy;
  if ((how & kParts) == kPointerMerges) {
    options.compaction.persistence = MergePersistence::kPointer;
  }
  design::kBraid.choose(&options);
  return options;
}

/// The same for another design, which picks its parts itself.
inline Options FuzzOptions(uint8_t how, const design::Design& design) {
  if (design.name == design::kBraid.name) return FuzzOptions(how);
  Options options = FuzzOptions(how & static_cast<uint8_t>(~kParts));
  options.design = design.name;
  options.log.kind.reset();
  options.memtable.kind.reset();
  options.flush.group_tables = 0;
  options.compaction.kind.reset();
  options.compaction.persistence.reset();
  options.compaction.recluster_share.reset();
  options.cache.index.reset();
  options.cache.lookup_bytes.reset();
  options.cache.second_chance_bytes.reset();
  options.memory_budget_bytes = 1u << 20;  // caches take their part of it at once
  design.choose(&options);
  return options;
}

/// The design that the pool says it is of; the default one where it says nothing that is known.
inline const design::Design& DesignOf(const PoolMemory& memory) {
  for (const uint64_t place : format::kPoolHeaderOffset) {
    format::PoolHeader header;
    if (place + sizeof header > memory.mapped()) break;
    std::memcpy(&header, memory.base() + place, sizeof header);
    const std::string_view name(header.design, ::strnlen(header.design, sizeof header.design));
    Result<const design::Design*> found = design::FindDesign(name);
    if (found.ok() && (*found)->capabilities.stores) return **found;
  }
  return design::kBraid;
}

}  // namespace braid::fuzz
