#include "media_error.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

#include "braid/db.h"
#include "format/layout.h"
#include "support/database.h"

namespace braid::test {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kSectorBytes = 512;
constexpr uint64_t kRecords = 2000;

std::string RecordValue(uint64_t n) {
  std::string value = "value " + std::to_string(n) + " ";
  value.resize(2000, 'v');
  return value;
}

int Problem(const std::string& text) {
  std::printf("@problem %s\n", text.c_str());
  return 1;
}

Options PoolOptionsHere() {
  Options options;
  options.pool.initial_bytes = 32ull << 20;
  return options;
}

/// Where the page at `offset` of the file is on the block device, in bytes.
std::optional<uint64_t> PlaceOnDevice(const std::string& path, uint64_t offset) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  // The kernel writes the extent right behind the head.
  alignas(fiemap) char memory[sizeof(fiemap) + sizeof(fiemap_extent)] = {};
  auto* request = reinterpret_cast<fiemap*>(memory);
  request->fm_start = offset;
  request->fm_length = kPageBytes;
  request->fm_extent_count = 1;
  const bool found = ::ioctl(fd, FS_IOC_FIEMAP, request) == 0 && request->fm_mapped_extents == 1;
  ::close(fd);
  if (!found) return std::nullopt;
  fiemap_extent extent{};
  std::memcpy(&extent, memory + sizeof(fiemap), sizeof extent);
  return extent.fe_physical + (offset - extent.fe_logical);
}

/// Prints where a page of a file is, for the scenario that makes it fail.
int TellPlace(const char* name, const std::string& path, uint64_t page) {
  const std::optional<uint64_t> place = PlaceOnDevice(path, page);
  if (!place) return Problem("no place on the device for " + path);
  std::printf("@page %s %s+0x%llx %llu\n", name, path.c_str(),
              static_cast<unsigned long long>(page),
              static_cast<unsigned long long>(*place / kSectorBytes));
  return 0;
}

}  // namespace

int FillForMediaError(const std::string& pool) {
  Result<std::unique_ptr<DB>> opened = DB::Open(PoolOptionsHere(), pool);
  if (!opened.ok()) return Problem("open: " + opened.status().ToString());
  const std::unique_ptr<DB> db = std::move(opened).value();
  for (uint64_t i = 0; i < kRecords; ++i) {
    if (const Status s = db->Put(NumberedKey(i), RecordValue(i)); !s.ok()) {
      return Problem("put: " + s.ToString());
    }
  }
  if (const Status s = db->Close(); !s.ok()) return Problem("close: " + s.ToString());
  const std::string path = pool + "/segment-000000";
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const size_t at = bytes.find(RecordValue(kRecords / 2));
  if (at == std::string::npos) return Problem("the value is not in " + path);
  // The second page that the value touches, if it does: no header is in it then.
  const uint64_t page = (at + 1999) / kPageBytes * kPageBytes;
  if (const int code = TellPlace("data", path, page); code != 0) return code;
  return TellPlace("header", path, format::kPoolHeaderOffset[0]);
}

int ReadWithMediaError(const std::string& pool) {
  Result<std::unique_ptr<DB>> opened = DB::Open(PoolOptionsHere(), pool);
  if (!opened.ok()) {
    std::printf("@media-error right=0 errors=1 wrong=0 first=%s\n",
                opened.status().ToString().c_str());
    return 0;
  }
  DB* db = opened->get();
  uint64_t right = 0;
  uint64_t errors = 0;
  uint64_t wrong = 0;
  std::string first = "none";
  for (uint64_t i = 0; i < kRecords; ++i) {
    const std::string got = GetText(db, NumberedKey(i));
    if (got == RecordValue(i)) {
      ++right;
    } else if (got.starts_with("IO error")) {
      if (errors++ == 0) first = got;
    } else if (wrong++ == 0) {
      first = Printable(got, 200);
    }
  }
  std::printf("@media-error right=%llu errors=%llu wrong=%llu first=%s\n",
              static_cast<unsigned long long>(right), static_cast<unsigned long long>(errors),
              static_cast<unsigned long long>(wrong), first.c_str());
  return 0;
}

}  // namespace braid::test
