// Purpose: DB::Repair: writes what a salvage found into a new pool. Thread safety: one thread; two
// repairs to one target get in each other's way, and one of them fails. Persistence: the new pool
// is made under another name, closed and synced; its rename is the commit point.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "braid/db.h"
#include "recovery/salvage.h"

namespace braid {

namespace {

constexpr size_t kBatchRecords = 1024;
constexpr size_t kBatchBytes = 1 << 20;
/// Shares of the work: reading, writing, verifying.
constexpr double kRead = 0.3;
constexpr double kWritten = 0.8;

using Progress = std::function<void(double)>;

/// `progress` for a part of the work.
Progress Part(const Progress& progress, double from, double to) {
  if (!progress) return {};
  return [progress, from, to](double share) { progress(from + share * (to - from)); };
}

Status WriteRecords(const recovery::Salvage& salvage, DB* db, RepairReport* report,
                    const Progress& progress) {
  WriteBatch batch;
  const auto write = [&] {
    if (batch.Count() == 0) return Status::OK();
    Status s = db->Write(batch);
    batch.Clear();
    if (progress) {
      progress(static_cast<double>(report->records) /
               static_cast<double>(std::max<uint64_t>(salvage.records(), 1)));
    }
    return s;
  };
  Status s = salvage.ForEachRecord([&](std::string_view key, std::string_view value) {
    ++report->records;
    report->bytes += key.size() + value.size();
    if (value.size() >= kBatchBytes) return db->Put(key, value);
    batch.Put(key, value);
    const bool full = batch.Count() >= kBatchRecords || batch.ApproximateBytes() >= kBatchBytes;
    return full ? write() : Status::OK();
  });
  return s.ok() ? write() : s;
}

/// Reads the new pool back as any program would.
Status CheckNewPool(const recovery::Salvage& salvage, DB* db, const Progress& progress) {
  VerifyReport verified;
  if (Status s = db->Verify(&verified, progress); !s.ok()) return s;
  const std::unique_ptr<Iterator> it = db->NewIterator({});
  it->SeekToFirst();
  Status s = salvage.ForEachRecord([&](std::string_view key, std::string_view value) {
    if (!it->Valid() || it->key() != key || it->value() != value) {
      return Status::IOError(
          "the new pool does not hold what was written to it; is its medium "
          "sound?");
    }
    it->Next();
    return Status::OK();
  });
  if (s.ok()) s = it->status();
  if (s.ok() && it->Valid()) s = Status::IOError("the new pool holds more than was written to it");
  return s;
}

Status FillNewPool(const Options& options, const recovery::Salvage& salvage,
                   const std::string& path, RepairReport* report, const Progress& progress) {
  Options fresh = options;
  fresh.create_if_missing = true;
  fresh.error_if_exists = true;
  Result<std::unique_ptr<DB>> opened = DB::Open(fresh, path);
  if (!opened.ok()) return opened.status();
  DB& db = **opened;
  Status s = WriteRecords(salvage, &db, report, Part(progress, kRead, kWritten));
  if (s.ok()) s = db.Flush();
  if (s.ok()) s = CheckNewPool(salvage, &db, Part(progress, kWritten, 1.0));
  const Status closed = db.Close();
  return s.ok() ? closed : s;
}

Status RenameInto(const std::string& from, const std::string& to) {
  // An empty directory at `to` is replaced; anything else was refused before, or makes this fail.
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return Status::IOError("cannot rename " + from + " to " + to + ": " + std::strerror(errno));
  }
  std::filesystem::path parent = std::filesystem::path(to).parent_path();
  if (parent.empty()) parent = ".";
  const int fd = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    ::fsync(fd);
    ::close(fd);
  }
  return Status::OK();
}

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

bool IsMissingOrEmpty(const std::string& path) {
  std::error_code error;
  if (std::filesystem::symlink_status(path, error).type() ==
      std::filesystem::file_type::not_found) {
    return true;
  }
  return std::filesystem::is_directory(path, error) && std::filesystem::is_empty(path, error);
}

}  // namespace

Status DB::Repair(const Options& options, const std::string& damaged, const std::string& target,
                  RepairReport* report, const RepairOptions& repair_options) {
  *report = RepairReport{};
  if (Status s = options.Validate(); !s.ok()) return s;
  const std::string to = WithoutSlash(target);
  if (!IsMissingOrEmpty(to)) {
    return Status::InvalidArgument("there is something at " + to +
                                   " already; name a path for the new pool where nothing is");
  }
  RepairOptions reading = repair_options;
  reading.progress = Part(repair_options.progress, 0, kRead);
  Result<std::unique_ptr<recovery::Salvage>> salvage = recovery::Salvage::Read(damaged, reading);
  if (!salvage.ok()) return salvage.status();
  *report = (*salvage)->TakeReport();

  const std::string unfinished = to + ".unfinished";
  if (Status s = Destroy(unfinished); !s.ok()) return s;  // of a repair that was interrupted
  Status s = FillNewPool(options, **salvage, unfinished, report, repair_options.progress);
  if (s.ok()) s = RenameInto(unfinished, to);
  if (!s.ok()) {
    const Status removed = Destroy(unfinished);
    (void)removed;  // the first error is the one to tell
  }
  return s;
}

uint64_t RepairReport::losses() const noexcept {
  return static_cast<uint64_t>(std::count_if(
      findings.begin(), findings.end(), [](const RepairFinding& finding) { return finding.lost; }));
}

std::string RepairFinding::ToString() const {
  char place[32];
  std::snprintf(place, sizeof place, "+0x%llx", static_cast<unsigned long long>(offset));
  return file + place + ": " + object + ": " + problem +
         (bytes > 1 ? " (" + std::to_string(bytes) + " bytes)" : "");
}

}  // namespace braid
