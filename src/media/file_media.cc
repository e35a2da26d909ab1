// Purpose: files, locks and mappings of a pool directory.
// Thread safety, invariants, persistence: see file_media.h.
#include "media/file_media.h"

#include <dirent.h>
#include <fcntl.h>
#include <libpmem2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"
#include "base/no_throw.h"
#include "media/address_room.h"
#include "media/device_facts.h"
#include "media/file_calls.h"
#include "media/fork_guard.h"
#include "media/pool_lock.h"
#include "media/reader_slots.h"
#include "media/region_folders.h"
#include "media/sigbus_guard.h"

namespace braid::media {
namespace {

constexpr uint64_t kReservedBytes = 1ull << 40;
constexpr uint64_t kSmallestReservation = 1ull << 33;
static_assert(kSmallestReservation <= kReservedBytes && std::has_single_bit(kReservedBytes));
/// A filesystem may be made larger while a pool on it is open.
constexpr uint64_t kFilesystemGrows = 4;
constexpr uint64_t kLeastOnFilesystem = 1ull << 36;
/// Where so many pools are open, each later one takes this much at most: there are 128 TiB.
constexpr uint64_t kRoomsOfAnySize = 64;
constexpr uint64_t kLaterRooms = 1ull << 36;
constexpr long kTmpfsMagic = 0x01021994;
constexpr const char* kDaxHasNoHoles = "a DAX file system maps the medium itself";

/// Where segments lie: the pool's own folder, or that of a region.
struct Folder {
  std::string path;
  Fd directory;
  Fd mark;  // of a region: locked, so that no copy of the pool is open at the same time
};

struct Mapping {
  Fd fd;
  size_t folder = 0;
  pmem2_map* map = nullptr;
  uint64_t base = 0;
  uint64_t bytes = 0;
};

// The class of a pool is the least of its segments'.
static_assert(MediaClass::kPage < MediaClass::kCacheLine &&
              MediaClass::kCacheLine < MediaClass::kByte);

MediaClass ClassOf(pmem2_granularity granularity) {
  switch (granularity) {
    case PMEM2_GRANULARITY_BYTE:
      return MediaClass::kByte;
    case PMEM2_GRANULARITY_CACHE_LINE:
      return MediaClass::kCacheLine;
    case PMEM2_GRANULARITY_PAGE:
      break;
  }
  return MediaClass::kPage;
}

/// NUMA node of the device below a file; -1 when nobody knows.
int NodeOf(int fd) {
  pmem2_source* source = nullptr;
  int node = -1;
  if (pmem2_source_from_fd(&source, fd) != 0) return -1;
  if (pmem2_source_numa_node(source, &node) != 0) node = -1;
  pmem2_source_delete(&source);
  return node;
}

int DeleteMap(pmem2_map** map) {
  const NoFork no_fork;
  return pmem2_map_delete(map);
}

/// Maps `fd` at `offset` of the reservation (null: anywhere).
Result<pmem2_map*> MapFile(int fd, pmem2_vm_reservation* reservation, uint64_t offset,
                           const std::string& name,
                           unsigned protection = PMEM2_PROT_READ | PMEM2_PROT_WRITE) {
  const NoFork no_fork;  // libpmem2 has locks of its own
  pmem2_source* source = nullptr;
  pmem2_config* config = nullptr;
  pmem2_map* map = nullptr;
  int failed = pmem2_source_from_fd(&source, fd);
  if (failed == 0) failed = pmem2_config_new(&config);
  if (failed == 0) {
    failed = pmem2_config_set_required_store_granularity(config, PMEM2_GRANULARITY_PAGE);
  }
  if (failed == 0) failed = pmem2_config_set_protection(config, protection);
  if (failed == 0 && reservation != nullptr) {
    failed = pmem2_config_set_vm_reservation(config, reservation, offset);
  }
  if (failed == 0) failed = pmem2_map_new(&map, config, source);
  if (config != nullptr) pmem2_config_delete(&config);
  if (source != nullptr) pmem2_source_delete(&source);
  if (failed != 0) {
    return Status::IOError("cannot map " + name + ": " + pmem2_errormsg() +
                           "; is there memory, and are fewer than vm.max_map_count areas mapped?");
  }
  return map;
}

class FileMedia final : public Media {
 public:
  FileMedia(std::string path, const PoolOptions& options, LockKind kind,
            std::optional<Cut> cut = {})
      : path_(std::move(path)),
        lock_kind_(kind),
        others_allowed_(options.allow_world_writable),
        kept_bytes_(options.initial_bytes),
        cut_(cut) {
    forced_ = options.force_media_class.has_value();
    if (forced_) media_class_ = *options.force_media_class;
  }
  ~FileMedia() override;

  Status Init(const PoolOptions& options, bool create);

  char* base() const noexcept override { return room_.base; }
  uint64_t reserved_bytes() const noexcept override { return room_.bytes; }
  MediaClass media_class() const noexcept override {
    return media_class_.load(std::memory_order_relaxed);
  }
  bool media_class_forced() const noexcept override { return forced_; }
  std::vector<uint64_t> segment_bytes() const override;
  Status AddSegment(uint64_t bytes) override { return AddSegmentOf(0, bytes); }
  Status AddSegmentOf(uint32_t region, uint64_t bytes) override;
  Status PublishSegment() override;
  Status DropSegment() override;
  bool read_only() const noexcept override { return lock_kind_ != LockKind::kExclusive; }
  std::optional<Cut> cut() const noexcept override { return cut_; }
  std::shared_ptr<ReadersFile> AnswerReaders() override;
  void RefuseReaders() override;
  Status Seal() override;
  Status SyncAll() override;
  SyncMarks* UseSyncMarks() noexcept override;
  const std::atomic<uint64_t>& fault() const noexcept override { return guard_.fault(); }
  Status SyncPages(uint64_t offset, uint64_t bytes) override;
  Status SyncError() const override;
  void Prefault(uint64_t offset, uint64_t bytes) noexcept override;
  const char* WhyNoHoles() const noexcept override {
    return why_no_holes_.load(std::memory_order_relaxed);
  }
  uint64_t kept_bytes() const noexcept override { return kept_bytes_; }
  Status PunchHole(uint64_t offset, uint64_t bytes) override;
  Status FillHole(uint64_t offset, uint64_t bytes) override;
  bool HasData(uint64_t offset, uint64_t bytes) const noexcept override;
  std::optional<uint64_t> allocated_bytes() const override;
  int NodeAt(uint64_t offset) const override;
  std::optional<uint64_t> dirty_shutdowns() const override;
  void Unlock() override;
  std::string boot_id() const override { return CurrentBootId(); }
  std::string Locate(uint64_t offset) const override;

 private:
  Status OpenDirectory(bool create);
  Status OpenRegionFolders(const PoolOptions& options, bool create);
  Status OpenFolder(const std::string& path);
  Status CheckFile(const Fd& fd, const std::string& path) const;
  Status LockMark(Folder* folder);
  Status Lock();
  Status WriteProcessId();
  void TellReaders(AnswersReaders answers);
  template <class Call, class Name>
  Status SyncOnce(Call&& call, Name&& name);
  Status LockSegment(int fd, size_t folder, const std::string& name);
  Status Reserve(const PoolOptions& options);
  Result<uint64_t> MayBecome(const PoolOptions& options) const;
  Status MapExisting();
  Status RemoveLeftovers();
  Status Map(Fd fd, size_t folder, uint64_t bytes, const std::string& name);
  Status MapPrivately(int fd, uint64_t at, uint64_t bytes, const std::string& name);
  Result<Fd> OpenSegment(const std::string& name, size_t* folder) const;
  /// The file of a published segment, which stays open, and the place of `offset` in it.
  struct Place {
    int fd = -1;
    size_t index = 0;
    size_t folder = 0;
    off_t at = 0;
  };
  Place PlaceOf(uint64_t offset, uint64_t bytes) const;
  std::string FilePath(size_t folder, const std::string& name) const {
    return folders_[folder].path + "/" + name;
  }
  /// Of the segment that AddSegment mapped last.
  const Folder& LastFolder() const { return folders_[maps_.back().folder]; }
  uint64_t MappedBytes() const {
    return maps_.empty() ? 0 : maps_.back().base + maps_.back().bytes;
  }

  /// To open files with that are there already.
  int OpenFlags() const { return read_only() ? O_RDONLY : O_RDWR; }
  Access AccessWanted() const { return read_only() ? Access::kRead : Access::kWrite; }

  const std::string path_;
  const LockKind lock_kind_;
  const bool others_allowed_;
  const uint64_t kept_bytes_;
  const std::optional<Cut> cut_;
  std::vector<Folder> folders_;  // by region; one: of all regions
  Fd lock_;
  Fd segment_lock_;  // of the first segment
  AddressRoom room_;
  // Lowered by each segment that promises less.
  std::atomic<MediaClass> media_class_{MediaClass::kByte};
  bool forced_ = false;
  bool tmpfs_ = false;
  std::atomic<const char*> why_no_holes_{nullptr};
  mutable base::Mutex maps_mutex_;  // maps_ grows while others sync and name places
  std::vector<Mapping> maps_;       // the last one may not be published yet
  size_t published_ = 0;            // maps_mutex_
  mutable base::Mutex
      sync_mutex_;     // before maps_mutex_: held by a sync, from its call to its answer
  Status sync_error_;  // sync_mutex_: of the first one that failed
  std::atomic<bool> sync_failed_{false};
  std::optional<SyncMarks> marks_;  // of a writer; taken under sync_mutex_
  bool uses_marks_ = false;         // set before other threads are
  SigbusGuard guard_;
};

FileMedia::~FileMedia() {
  guard_.Release();
  bool all_gone = true;
  for (Mapping& mapping : maps_) {
    if (mapping.map == nullptr) continue;  // goes with the reservation
    // libpmem2 maps an empty range over what it takes away, which a second try may find room for.
    all_gone = (DeleteMap(&mapping.map) == 0 || DeleteMap(&mapping.map) == 0) && all_gone;
  }
  GiveBackAddressRoom(room_, MappedBytes(), all_gone);
}

Status FileMedia::Init(const PoolOptions& options, bool create) {
  if (Status s = WatchForks(); !s.ok()) return s;
  if (Status s = OpenDirectory(create); !s.ok()) return s;
  if (Status s = Lock(); !s.ok()) return s;
  if (Status s = OpenRegionFolders(options, create); !s.ok()) return s;
  if (Status s = Reserve(options); !s.ok()) return s;
  if (Status s = RemoveLeftovers(); !s.ok()) return s;
  return MapExisting();
}

Status FileMedia::OpenDirectory(bool create) {
  if (create && ::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) {
    return FileError("cannot create the pool directory", path_, errno);
  }
  return OpenFolder(path_);
}

/// One that was opened: whether others may write to it.
Status FileMedia::CheckFile(const Fd& fd, const std::string& path) const {
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return FileError("cannot stat", path, errno);
  if (!others_allowed_) return CheckNotOthers(info, path, AccessWanted());
  return read_only() ? Status::OK() : CheckOneName(info, path);
}

Status FileMedia::OpenFolder(const std::string& path) {
  Folder folder;
  folder.path = path;
  folder.directory =
      Fd(Again([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!folder.directory.ok()) {
    return folders_.empty()
               ? FileError("cannot open the pool directory", path, errno)
               : FileError("region " + std::to_string(folders_.size()) + " of the pool " + path_ +
                               " is in a folder that can't be opened; mount its device, or correct "
                               "its path in " +
                               path_ + "/" + kRegionsFileName + ":",
                           path, errno);
  }
  const int fd = folder.directory.get();
  struct stat info {};
  if (::fstat(fd, &info) != 0) return FileError("cannot stat", path, errno);
  if (!others_allowed_) {
    if (Status s = CheckNotOthers(info, path, AccessWanted()); !s.ok()) return s;
  }
  struct statfs fs {};
  tmpfs_ = ::fstatfs(fd, &fs) == 0 && fs.f_type == kTmpfsMagic && (folders_.empty() || tmpfs_);
  folders_.push_back(std::move(folder));
  return Status::OK();
}

Status FileMedia::OpenRegionFolders(const PoolOptions& options, bool create) {
  if (create && !options.region_paths.empty()) {
    if (Status s = MakeRegionFolders(path_, options.region_paths); !s.ok()) return s;
  }
  Result<std::vector<std::string>> paths = ReadRegionFolders(path_);
  if (!paths.ok()) return paths.status();
  if (!options.region_paths.empty()) {
    std::vector<std::string> given;
    for (const std::string& path : options.region_paths) given.push_back(AbsolutePath(path));
    if (given != *paths) {
      return Status::InvalidArgument(
          "pool.region_paths names other folders than those that the pool " + path_ +
          " was created with; omit it, or correct the file " + path_ + "/" + kRegionsFileName +
          " if the folders were moved");
    }
  }
  for (const std::string& path : *paths) {
    if (Status s = OpenFolder(path); !s.ok()) return s;
    if (Status s = LockMark(&folders_.back()); !s.ok()) return s;
  }
  return Status::OK();
}

Status FileMedia::LockMark(Folder* folder) {
  const std::string path = folder->path + "/" + kRegionMarkName;
  folder->mark = OpenPoolFile(folder->directory.get(), kRegionMarkName, OpenFlags());
  if (!folder->mark.ok()) {
    return FileError("the mark of the region is missing, is its device mounted? cannot open", path,
                     errno);
  }
  if (Status s = CheckFile(folder->mark, path); !s.ok()) return s;
  const int error = TakeFileLock(folder->mark.get(), lock_kind_);
  if (error == 0) return Status::OK();
  if (error != EAGAIN) return FileError("cannot lock", folder->path, error);
  return Status::Busy("the region in " + folder->path +
                      " is open already, by a pool that is a copy of " + path_ +
                      "; close it there first");
}

Status FileMedia::Lock() {
  const int flags = read_only() ? OpenFlags() : OpenFlags() | O_CREAT;
  lock_ = OpenPoolFile(folders_[0].directory.get(), kLockName, flags);
  // A reader creates no lock file: the first segment's lock is enough.
  if (!lock_.ok() && read_only() && errno == ENOENT) return Status::OK();
  if (!lock_.ok()) return FileError("cannot open the lock file in", path_, errno);
  if (Status s = CheckFile(lock_, FilePath(0, kLockName)); !s.ok()) return s;
  const int error = TakeFileLock(lock_.get(), lock_kind_);
  if (error == EAGAIN) return BusyStatus(path_, lock_kind_);
  if (error != 0) return FileError("cannot lock", path_, error);
  if (read_only()) return Status::OK();
  if (Status s = WriteProcessId(); !s.ok()) return s;
  // Before anything is stored to: a reader that the previous writer granted tables still reads
  // them.
  return WriterSlots::RevokeEarlierGrants(path_);
}

/// For people and for the message of others who find the pool locked; the lock itself decides.
Status FileMedia::WriteProcessId() {
  const std::string pid = LockText(::getpid(), AnswersReaders::kNotYet);
  errno = ENOSPC;  // what a write that is too short means
  if (Again([&] { return ::ftruncate(lock_.get(), 0); }) != 0 ||
      Again([&] { return ::pwrite(lock_.get(), pid.data(), pid.size(), 0); }) !=
          static_cast<ssize_t>(pid.size())) {
    return FileError("cannot write the lock file in", path_, errno);
  }
  return Status::OK();
}

std::shared_ptr<ReadersFile> FileMedia::AnswerReaders() {
  if (read_only()) return nullptr;
  Result<std::shared_ptr<ReadersFile>> file = ReadersFile::Make(folders_[0].directory.get(), path_);
  if (!file.ok()) {
    RefuseReaders();
    return nullptr;
  }
  TellReaders(AnswersReaders::kYes);
  return std::move(file).value();
}

void FileMedia::RefuseReaders() {
  if (!read_only()) TellReaders(AnswersReaders::kNo);
}

/// Where that fails, a process that asks learns that this one is still opening the pool.
void FileMedia::TellReaders(AnswersReaders answers) {
  BRAID_DCHECK(!read_only() && lock_.ok());
  const std::string text = LockText(::getpid(), answers);
  (void)Again([&] { return ::pwrite(lock_.get(), text.data(), text.size(), 0); });
}

/// The pool's first segment tells who has it open where "lock" is missing or can't be made.
Status FileMedia::LockSegment(int fd, size_t folder, const std::string& name) {
  // By a descriptor of its own: a mapping keeps its open file, and the lock with it, in children.
  segment_lock_ = Fd::OpenKept(folders_[folder].directory.get(), name.c_str(), OpenFlags());
  if (!segment_lock_.ok()) return FileError("cannot open", FilePath(folder, name), errno);
  const int error = TakeFileLock(segment_lock_.get(), lock_kind_);
  if (error == 0) return Status::OK();
  segment_lock_ = Fd();
  if (error == EAGAIN) return BusyStatus(path_, lock_kind_, fd);
  return FileError("cannot lock", path_ + "/" + name, error);
}

void FileMedia::Unlock() {
  // By itself, and not with the close alone: a process that was made by the bare system call has
  // the files open too.
  for (Folder& folder : folders_) {
    if (folder.mark.ok()) DropFileLock(folder.mark.get());
    folder.mark = Fd();
  }
  if (segment_lock_.ok()) DropFileLock(segment_lock_.get());
  segment_lock_ = Fd();
  if (lock_.ok()) DropFileLock(lock_.get());
  lock_ = Fd();
}

/// The addresses that the pool may need: for what it holds, and may grow to.
Result<uint64_t> FileMedia::MayBecome(const PoolOptions& options) const {
  uint64_t held = 0;
  uint64_t room = 0;
  for (const Folder& folder : folders_) {
    Result<std::vector<std::string>> names = SegmentFiles(folder.path);
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      struct stat info {};
      if (::fstatat(folder.directory.get(), name.c_str(), &info, 0) == 0 && info.st_size > 0) {
        held += static_cast<uint64_t>(info.st_size);
      }
    }
    struct statfs fs {};
    const bool known = ::fstatfs(folder.directory.get(), &fs) == 0 && fs.f_blocks > 0;
    const uint64_t blocks =
        known ? std::min<uint64_t>(fs.f_blocks, kReservedBytes) : kReservedBytes;
    const uint64_t block = known ? static_cast<uint64_t>(fs.f_bsize) : 1;
    room += std::min(kReservedBytes, blocks * block);
  }
  uint64_t most = std::max(kFilesystemGrows * room, kLeastOnFilesystem);
  if (RoomsInUse() >= kRoomsOfAnySize) most = std::min(most, kLaterRooms);
  if (options.max_bytes != 0) most = std::min(most, options.max_bytes);
  return std::bit_ceil(std::min(std::max(most, held), kReservedBytes));
}

Status FileMedia::Reserve(const PoolOptions& options) {
  Result<uint64_t> most = MayBecome(options);
  if (!most.ok()) return most.status();
  BRAID_DCHECK(room_.reservation == nullptr && std::has_single_bit(*most));
  room_ = TakeAddressRoom(*most, std::min(*most, kSmallestReservation));
  if (room_.reservation != nullptr) {
    if (!read_only()) marks_.emplace(room_.base, room_.bytes);
    return options.catch_sigbus ? guard_.Watch(room_.base, room_.bytes) : Status::OK();
  }
  return Status::IOError(
      "cannot reserve address space for the pool: " + std::string(pmem2_errormsg()) +
      "; this process has " + std::to_string(RoomsInUse()) +
      " pools open: close some, set pool.max_bytes to what each may grow to, or "
      "raise the limit on virtual memory");
}

Status FileMedia::RemoveLeftovers() {
  if (read_only()) return Status::OK();
  for (const Folder& folder : folders_) {
    Result<std::vector<std::string>> names = SegmentFiles(folder.path);
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      if (name.ends_with(kTemporarySuffix)) ::unlinkat(folder.directory.get(), name.c_str(), 0);
    }
  }
  return Status::OK();
}

/// Looks for a segment in all folders; one that is not ok() when it is nowhere.
Result<Fd> FileMedia::OpenSegment(const std::string& name, size_t* folder) const {
  Fd found;
  for (size_t i = 0; i < folders_.size(); ++i) {
    Fd fd = OpenPoolFile(folders_[i].directory.get(), name, OpenFlags());
    if (!fd.ok() && errno == ENOENT) continue;
    if (!fd.ok()) return FileError("cannot open", FilePath(i, name), errno);
    if (Status s = CheckFile(fd, FilePath(i, name)); !s.ok()) return s;
    if (found.ok()) {
      return Status::Corruption(FilePath(i, name) + "+0x0: segment: there is one of this name in " +
                                folders_[*folder].path + " too; remove the copy");
    }
    found = std::move(fd);
    *folder = i;
  }
  return found;
}

Status FileMedia::MapExisting() {
  for (uint32_t index = 0;; ++index) {
    const std::string name = SegmentName(index);
    size_t folder = 0;
    Result<Fd> opened = OpenSegment(name, &folder);
    if (!opened.ok()) return opened.status();
    Fd fd = std::move(opened).value();
    if (!fd.ok()) return Status::OK();
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0) {
      return FileError("cannot stat", FilePath(folder, name), errno);
    }
    const auto bytes = static_cast<uint64_t>(info.st_size);
    if (!S_ISREG(info.st_mode) || bytes == 0 || bytes % 4096 != 0) {
      char end[32];
      std::snprintf(end, sizeof end, "+0x%llx", static_cast<unsigned long long>(bytes));
      return Status::Corruption(FilePath(folder, name) + end + ": segment: the file has " +
                                std::to_string(bytes) +
                                " bytes, which no segment has; it was truncated or replaced");
    }
    if (Status s = Map(std::move(fd), folder, bytes, name); !s.ok()) return s;
    ++published_;
  }
}

Status FileMedia::Map(Fd fd, size_t folder, uint64_t bytes, const std::string& name) {
  const uint64_t at = MappedBytes();
  BRAID_DCHECK(folder < folders_.size());
  BRAID_DCHECK(at <= room_.bytes);
  if (at + bytes > room_.bytes) {
    return Status::OutOfSpace("the pool " + path_ + " exceeds the reserved address space");
  }
  if (maps_.empty()) {
    if (Status s = LockSegment(fd.get(), folder, name); !s.ok()) return s;
  }
  {
    const base::MutexLock lock(maps_mutex_);
    maps_.reserve(maps_.size() + 1);  // so that nothing can fail between mapping and keeping it
  }
  // One for reading is only asked what it lies on, and then mapped in another way.
  Result<pmem2_map*> map =
      read_only() ? MapFile(fd.get(), nullptr, 0, FilePath(folder, name), PMEM2_PROT_READ)
                  : MapFile(fd.get(), room_.reservation, at, FilePath(folder, name));
  if (!map.ok()) return map.status();
  if (!forced_) {
    media_class_ = std::min(media_class(), ClassOf(pmem2_map_get_store_granularity(*map)));
  }
  if (!tmpfs_ && pmem2_map_get_store_granularity(*map) != PMEM2_GRANULARITY_PAGE) {
    why_no_holes_ = kDaxHasNoHoles;
  }
  pmem2_map* kept = *map;
  if (read_only()) {
    DeleteMap(&kept);
    kept = nullptr;
    if (Status s = MapPrivately(fd.get(), at, bytes, FilePath(folder, name)); !s.ok()) return s;
  }
  const base::MutexLock lock(maps_mutex_);
  maps_.push_back({std::move(fd), folder, kept, at, bytes});
  return Status::OK();
}

/// Maps a file so that a page that is stored to becomes this process's own copy.
Status FileMedia::MapPrivately(int fd, uint64_t at, uint64_t bytes, const std::string& name) {
  // Recovery copies few pages: no memory is set aside for a copy of the whole pool.
  constexpr int kFlags = MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED;
  if (::mmap(room_.base + at, bytes, PROT_READ | PROT_WRITE, kFlags, fd, 0) != MAP_FAILED) {
    return Status::OK();
  }
  return FileError("cannot map", name, errno);
}

Status FileMedia::Seal() {
  if (!read_only() || MappedBytes() == 0) return Status::OK();
  if (::mprotect(room_.base, MappedBytes(), PROT_READ) == 0) return Status::OK();
  return FileError("cannot protect the mapping of", path_, errno);
}

std::vector<uint64_t> FileMedia::segment_bytes() const {
  const base::MutexLock lock(maps_mutex_);
  std::vector<uint64_t> sizes;
  sizes.reserve(maps_.size());
  for (const Mapping& mapping : maps_) sizes.push_back(mapping.bytes);
  return sizes;
}

Status FileMedia::AddSegmentOf(uint32_t region, uint64_t bytes) {
  if (read_only()) {
    return Status::NotSupported("the pool " + path_ + " is open read-only, and can't grow");
  }
  BRAID_CHECK(published_ == maps_.size());  // the one before was published or taken back
  const size_t folder = region < folders_.size() ? region : 0;
  const int directory = folders_[folder].directory.get();
  const std::string name = SegmentName(static_cast<uint32_t>(maps_.size())) + kTemporarySuffix;
  const std::string path = FilePath(folder, name);
  ::unlinkat(directory, name.c_str(), 0);
  Fd fd = Fd::OpenKept(directory, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                       0600);
  if (!fd.ok()) return FileError("cannot create", path, errno);
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
  Status s =
      error == 0
          ? base::CatchToStatus([&] { return Map(std::move(fd), folder, bytes, name); })
          : FileError("cannot allocate " + std::to_string(bytes) + " bytes for", path, error);
  if (!s.ok()) ::unlinkat(directory, name.c_str(), 0);
  return s;
}

Status FileMedia::PublishSegment() {
  BRAID_CHECK(published_ + 1 == maps_.size());  // AddSegment has mapped it
  const std::string name = SegmentName(static_cast<uint32_t>(maps_.size() - 1));
  const std::string temporary = name + kTemporarySuffix;
  const Folder& folder = LastFolder();
  const int directory = folder.directory.get();
  // The headers must be on the medium before the name is; afterwards the directory entry must be.
  Status s = SyncOnce([&] { return Again([&] { return ::fsync(maps_.back().fd.get()); }); },
                      [&] { return folder.path + "/" + temporary; });
  if (!s.ok()) return s;
  if (::renameat(directory, temporary.c_str(), directory, name.c_str()) != 0) {
    return FileError("cannot rename", folder.path + "/" + temporary, errno);
  }
  s = SyncOnce([&] { return Again([&] { return ::fsync(directory); }); },
               [&] { return folder.path; });
  if (!s.ok()) return s;
  const base::MutexLock lock(maps_mutex_);
  published_ = maps_.size();
  return Status::OK();
}

/// Memory may be what there was too little of, and a segment that stayed would end all growth: so
/// this takes none, except for the text of an error.
Status FileMedia::DropSegment() {
  BRAID_CHECK(published_ < maps_.size());  // invariant 1 of media.h
  const auto index = static_cast<uint32_t>(maps_.size() - 1);
  const size_t folder = maps_.back().folder;
  {
    const base::MutexLock lock(maps_mutex_);
    DeleteMap(&maps_.back().map);
    maps_.pop_back();
  }
  // The rename may have been done already.
  for (const char* suffix : {kTemporarySuffix, ""}) {
    const SegmentFile name = SegmentFileOf(index, suffix);
    if (::unlinkat(folders_[folder].directory.get(), name.data(), 0) != 0 && errno != ENOENT) {
      const int error = errno;
      return FileError("cannot remove", FilePath(folder, name.data()), error);
    }
  }
  return Status::OK();
}

/// Runs a call that syncs, which returns what the system call does. The kernel reports a page that
/// was lost once, to the first sync, and calls the page clean from then on: a later sync that
/// succeeds says nothing about it. So there is one sync at a time, and after the first that fails
/// no other is made: callers that waited behind it get its error as well.
template <class Call, class Name>
Status FileMedia::SyncOnce(Call&& call, Name&& name) {
  const base::MutexLock lock(sync_mutex_);
  if (!sync_error_.ok()) return sync_error_;
  if (std::forward<Call>(call)() == 0) return Status::OK();
  const int error = errno;
  // Where there is no memory for the words, that there was an error is kept all the same.
  sync_error_ = base::CatchToStatus([&] { return FileError("cannot sync", name(), error); });
  sync_failed_.store(true, std::memory_order_release);
  return sync_error_;
}

Status FileMedia::SyncError() const {
  // Acquire pairs with the release in SyncOnce; without an error nobody waits for a sync.
  if (!sync_failed_.load(std::memory_order_acquire)) return Status::OK();
  const base::MutexLock lock(sync_mutex_);
  return sync_error_;
}

SyncMarks* FileMedia::UseSyncMarks() noexcept {
  uses_marks_ = marks_.has_value() && marks_->ok() && media_class() == MediaClass::kPage;
  return uses_marks_ ? &*marks_ : nullptr;
}

Status FileMedia::SyncAll() {
  if (media_class() != MediaClass::kPage || read_only()) return Status::OK();
  size_t index = 0;
  size_t folder = 0;
  const auto sync = [&] {
    if (uses_marks_) {
      const base::MutexLock lock(maps_mutex_);
      if (published_ == 0) return 0;
      marks_->Take(maps_[published_ - 1].base + maps_[published_ - 1].bytes);
    }
    for (;; ++index) {
      int fd = -1;
      {
        const base::MutexLock lock(maps_mutex_);
        if (index >= published_) return 0;
        const Mapping& mapping = maps_[index];
        // Of one that was published meanwhile nobody knew when the sync began.
        if (uses_marks_ && !marks_->WasTaken(mapping.base, mapping.base + mapping.bytes)) continue;
        fd = mapping.fd.get();  // stays open: what is published is not taken back
        folder = mapping.folder;
      }
      if (Again([&] { return ::fdatasync(fd); }) != 0) return -1;
    }
  };
  return SyncOnce(sync,
                  [&] { return FilePath(folder, SegmentName(static_cast<uint32_t>(index))); });
}

Status FileMedia::SyncPages(uint64_t offset, uint64_t bytes) {
  if (media_class() != MediaClass::kPage || read_only()) return Status::OK();
  BRAID_DCHECK(offset <= room_.bytes && bytes <= room_.bytes - offset);
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t begin = offset / page * page;
  return SyncOnce(
      [&] {
        return Again([&] { return ::msync(room_.base + begin, offset + bytes - begin, MS_SYNC); });
      },
      [&] { return path_; });
}

void FileMedia::Prefault(uint64_t offset, uint64_t bytes) noexcept {
  BRAID_DCHECK(offset <= room_.bytes && bytes <= room_.bytes - offset);
  if (read_only()) return;  // it would copy the pages
  // On a disk filesystem touching a page for writing makes it dirty and costs its write-back.
  if (media_class() == MediaClass::kPage && !tmpfs_) return;
#if defined(MADV_POPULATE_WRITE)
  // In small steps: each holds the lock of the process's mappings, and a thread that needs memory
  // from the system meanwhile, as a put may, waits for its end. With pauses, since a thread that
  // takes the lock again at once leaves it to nobody (Linux: for 4 ms).
  constexpr uint64_t kStep = 512 << 10;
  for (uint64_t done = 0; done < bytes; done += kStep) {
    if (done != 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
    ::madvise(room_.base + offset + done, std::min(kStep, bytes - done), MADV_POPULATE_WRITE);
  }
#else
  (void)offset;
  (void)bytes;
#endif
}

FileMedia::Place FileMedia::PlaceOf(uint64_t offset, uint64_t bytes) const {
  const base::MutexLock lock(maps_mutex_);
  const auto after =
      std::upper_bound(maps_.begin(), maps_.end(), offset,
                       [](uint64_t at, const Mapping& mapping) { return at < mapping.base; });
  BRAID_CHECK(after != maps_.begin());
  const Mapping& mapping = *(after - 1);
  BRAID_CHECK(offset + bytes <= mapping.base + mapping.bytes);
  return {mapping.fd.get(), static_cast<size_t>(after - 1 - maps_.begin()), mapping.folder,
          static_cast<off_t>(offset - mapping.base)};
}

Status FileMedia::PunchHole(uint64_t offset, uint64_t bytes) {
  BRAID_CHECK(!read_only());
  const Place place = PlaceOf(offset, bytes);
  constexpr int kMode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  if (Again([&] { return ::fallocate(place.fd, kMode, place.at, static_cast<off_t>(bytes)); }) ==
      0) {
    return Status::OK();
  }
  const int error = errno;
  if (error == EOPNOTSUPP || error == ENOSYS) {
    why_no_holes_ = "the file system can't make holes in files";
    return Status::NotSupported(WhyNoHoles());
  }
  return FileError("cannot give pages back of",
                   FilePath(place.folder, SegmentName(static_cast<uint32_t>(place.index))), error);
}

Status FileMedia::FillHole(uint64_t offset, uint64_t bytes) {
  if (read_only()) return Status::OK();  // its pages are copies
  const Place place = PlaceOf(offset, bytes);
  // A file that was cut stays as it is: that it is too short is found by the store, or by the next
  // open, and must not be hidden behind zeros.
  constexpr int kMode = FALLOC_FL_KEEP_SIZE;
  if (Again([&] { return ::fallocate(place.fd, kMode, place.at, static_cast<off_t>(bytes)); }) ==
      0) {
    return Status::OK();
  }
  const int error = errno;
  // It takes no orders, as when the segment was made.
  if (error == EOPNOTSUPP || error == ENOSYS) return Status::OK();
  return FileError("cannot allocate " + std::to_string(bytes) + " bytes again in",
                   FilePath(place.folder, SegmentName(static_cast<uint32_t>(place.index))), error);
}

bool FileMedia::HasData(uint64_t offset, uint64_t bytes) const noexcept {
  const Place place = PlaceOf(offset, bytes);
  const off_t data = ::lseek(place.fd, place.at, SEEK_DATA);
  if (data < 0) return errno != ENXIO;
  return data < place.at + static_cast<off_t>(bytes);
}

std::optional<uint64_t> FileMedia::allocated_bytes() const {
  const base::MutexLock lock(maps_mutex_);
  uint64_t bytes = 0;
  for (const Mapping& mapping : maps_) {
    struct stat info {};
    if (::fstat(mapping.fd.get(), &info) != 0) return std::nullopt;
    bytes += static_cast<uint64_t>(info.st_blocks) * 512;  // whatever the blocks of the fs are
  }
  return bytes;
}

int FileMedia::NodeAt(uint64_t offset) const {
  const base::MutexLock lock(maps_mutex_);
  for (const Mapping& mapping : maps_) {
    if (offset < mapping.base || offset >= mapping.base + mapping.bytes) continue;
    return NodeOf(mapping.fd.get());
  }
  return -1;
}

std::optional<uint64_t> FileMedia::dirty_shutdowns() const {
  std::vector<dev_t> devices;
  for (const Folder& folder : folders_) {
    struct stat info {};
    if (::fstat(folder.directory.get(), &info) == 0) devices.push_back(info.st_dev);
  }
  return SumDirtyShutdowns(devices);
}

std::string FileMedia::Locate(uint64_t offset) const {
  const base::MutexLock lock(maps_mutex_);
  for (size_t i = 0; i < maps_.size(); ++i) {
    if (offset >= maps_[i].base && offset < maps_[i].base + maps_[i].bytes) {
      char text[32];
      std::snprintf(text, sizeof text, "+0x%llx",
                    static_cast<unsigned long long>(offset - maps_[i].base));
      return FilePath(maps_[i].folder, SegmentName(static_cast<uint32_t>(i))) + text;
    }
  }
  return path_ + " offset " + std::to_string(offset) + " (outside)";
}

}  // namespace

std::string CurrentBootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

const char* WhyNoHolesAt(const std::string& path, MediaClass found) {
  struct statfs fs {};
  const bool tmpfs = ::statfs(path.c_str(), &fs) == 0 && fs.f_type == kTmpfsMagic;
  return tmpfs || found == MediaClass::kPage ? nullptr : kDaxHasNoHoles;
}

Result<PathKind> ProbePath(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return PathKind::kMissing;
    return FileError("cannot look at", path, errno);
  }
  if (!S_ISDIR(info.st_mode)) return PathKind::kForeign;
  PathKind kind = PathKind::kMissing;
  Status s = List(path, [&](std::string_view name) {
    if (name == "." || name == ".." || name == kLockName || name == kReadersName) {
      return true;
    }
    if (name.starts_with(kRegionsFileName)) return true;
    if (!name.starts_with("segment-")) {
      kind = PathKind::kForeign;
    } else if (!name.ends_with(kTemporarySuffix)) {
      kind = PathKind::kPool;
    }
    return kind != PathKind::kPool;
  });
  if (!s.ok()) return s;
  return kind;
}

Status RemovePool(const std::string& path) {
  Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!directory.ok()) return FileError("cannot open", path, errno);
  if (Status s = RemoveRegionFolders(path); !s.ok()) return s;
  // Segment 0 first: an interrupted removal leaves nothing that opens, and can be repeated.
  Result<std::vector<std::string>> names = SegmentFiles(path);
  if (!names.ok()) return names.status();
  std::sort(names->begin(), names->end());
  names->insert(names->end(), {std::string(kRegionsFileName) + kTemporarySuffix, kRegionsFileName,
                               kReadersName, kLockName});
  for (const std::string& name : *names) {
    if (::unlinkat(directory.get(), name.c_str(), 0) != 0 && errno != ENOENT) {
      return FileError("cannot remove", path + "/" + name, errno);
    }
  }
  if (::rmdir(path.c_str()) != 0) return FileError("cannot remove", path, errno);
  return Status::OK();
}

Result<std::unique_ptr<Media>> OpenFileMedia(const std::string& path, const PoolOptions& options,
                                             bool create) {
  auto media = std::make_unique<FileMedia>(path, options, LockKind::kExclusive);
  if (Status s = media->Init(options, create); !s.ok()) return s;
  return Result<std::unique_ptr<Media>>(std::move(media));
}

Result<std::unique_ptr<Media>> OpenFileMediaOfConcurrentReader(const std::string& path,
                                                               const PoolOptions& options,
                                                               Media::Cut cut) {
  auto media = std::make_unique<FileMedia>(path, options, LockKind::kNone, cut);
  if (Status s = media->Init(options, false); !s.ok()) return s;
  return Result<std::unique_ptr<Media>>(std::move(media));
}

Result<std::unique_ptr<Media>> OpenFileMediaToRead(const std::string& path,
                                                   const PoolOptions& options) {
  auto media = std::make_unique<FileMedia>(path, options, LockKind::kShared);
  if (Status s = media->Init(options, false); !s.ok()) return s;
  return Result<std::unique_ptr<Media>>(std::move(media));
}

int NodeOfFolder(const std::string& path) {
  // A folder is no source that libpmem2 takes; any file in it will do.
  int node = -1;
  (void)List(path, [&](std::string_view name) {
    if (name == "." || name == "..") return true;
    const std::string file = path + "/" + std::string(name);
    const Fd fd = OpenPoolFile(AT_FDCWD, file, O_RDONLY);
    if (!fd.ok()) return true;
    node = NodeOf(fd.get());
    return false;
  }).ok();
  return node;
}

Result<MediaClass> ProbeMediaClass(const std::string& path) {
  // Segment 0 of a pool tells; mapping it for reading is enough and changes nothing.
  const std::string name = path + "/" + SegmentName(0);
  const Fd fd = OpenPoolFile(AT_FDCWD, name, O_RDONLY);
  if (!fd.ok()) return FileError("cannot open", name, errno);
  Result<pmem2_map*> map = MapFile(fd.get(), nullptr, 0, name, PMEM2_PROT_READ);
  if (!map.ok()) return map.status();
  const MediaClass found = ClassOf(pmem2_map_get_store_granularity(*map));
  pmem2_map* mapping = *map;
  DeleteMap(&mapping);
  return found;
}

}  // namespace braid::media
