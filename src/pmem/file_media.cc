// Purpose: files, locks and mappings of a pool directory. Thread safety, invariants, persistence:
// see file_media.h.
#include "pmem/file_media.h"

#include <dirent.h>
#include <fcntl.h>
#include <libpmem2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <thread>
#include <utility>

#include "base/no_throw.h"
#include "pmem/region_folders.h"
#include "pmem/sigbus_guard.h"

namespace braid::pmem {
namespace {

constexpr uint64_t kReservedBytes = 1ull << 40;
constexpr uint64_t kSmallestReservation = 1ull << 33;
constexpr long kTmpfsMagic = 0x01021994;
constexpr const char* kLockName = "lock";
constexpr const char* kTemporarySuffix = ".new";

std::string SegmentName(uint32_t index) {
  char name[32];
  std::snprintf(name, sizeof name, "segment-%06u", index);
  return name;
}

std::string ErrnoText(int error) { return std::strerror(error); }

Status FileError(const std::string& action, const std::string& path, int error) {
  const std::string text = action + " " + path + ": " + ErrnoText(error);
  switch (error) {
    case ENOSPC:
      return Status::OutOfSpace(text + "; free space on the filesystem, writes go on after that");
    case EDQUOT:
      return Status::OutOfSpace(text + "; raise the quota or remove files of the same owner");
    case EFBIG:
      return Status::OutOfSpace(text + "; raise the limit on the size of files (ulimit -f)");
    case EMFILE:
    case ENFILE:
      return Status::IOError(text + "; raise the limit on open files (ulimit -n)");
    case EROFS:
      return Status::IOError(text +
                             "; an open pool is written to: mount the filesystem for writing. The "
                             "kernel refuses that on an NVDIMM that is not armed");
    case EACCES:
    case EPERM:
      return Status::IOError(text + "; the pool must be readable and writable for this user");
    case ENOMEM:
      return Status::IOError(text + "; free some memory and try again");
    default:
      return Status::IOError(text);
  }
}

/// A file descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  /// Not 0, 1 or 2: where the caller has closed these, what it writes to its output must not be
  /// written to a pool.
  explicit Fd(int fd) : fd_(fd) {
    if (fd < 0 || fd > STDERR_FILENO) return;
    fd_ = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error = errno;
    ::close(fd);
    errno = error;
  }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Calls again what a signal interrupted. `call` returns -1 and sets errno, as system calls do.
template <class Call>
auto Again(Call&& call) -> decltype(call()) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

/// Calls `visit(name)` for every entry of the directory until it returns false.
template <class Visit>
Status List(const std::string& path, Visit&& visit) {
  struct Closer {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  const std::unique_ptr<DIR, Closer> stream(::opendir(path.c_str()));
  if (stream == nullptr) return FileError("cannot list", path, errno);
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    if (!visit(std::string_view(entry->d_name))) return Status::OK();
  }
  return errno == 0 ? Status::OK() : FileError("cannot list", path, errno);
}

/// Names of all segments, finished or not.
Result<std::vector<std::string>> SegmentFiles(const std::string& path) {
  std::vector<std::string> names;
  Status s = List(path, [&](std::string_view name) {
    if (name.starts_with("segment-")) names.emplace_back(name);
    return true;
  });
  if (!s.ok()) return s;
  return names;
}

/// Where segments lie: the pool's own folder, or that of a region.
struct Folder {
  std::string path;
  Fd directory;
  Fd mark;  // of a region: locked, so that no copy of the pool is open beside it
};

struct Mapping {
  Fd fd;
  size_t folder = 0;
  pmem2_map* map = nullptr;
  uint64_t base = 0;
  uint64_t bytes = 0;
};

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

/// Maps `fd` at `offset` of the reservation (null: anywhere).
Result<pmem2_map*> MapFile(int fd, pmem2_vm_reservation* reservation, uint64_t offset,
                           const std::string& name,
                           unsigned protection = PMEM2_PROT_READ | PMEM2_PROT_WRITE) {
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
  FileMedia(std::string path, const PoolOptions& options) : path_(std::move(path)) {
    forced_ = options.force_media_class.has_value();
    if (forced_) media_class_ = *options.force_media_class;
  }
  ~FileMedia() override;

  Status Init(const PoolOptions& options, bool create);

  char* base() const noexcept override { return base_; }
  uint64_t reserved_bytes() const noexcept override { return reserved_; }
  MediaClass media_class() const noexcept override {
    return media_class_.load(std::memory_order_relaxed);
  }
  bool media_class_forced() const noexcept override { return forced_; }
  std::vector<uint64_t> segment_bytes() const override;
  Status AddSegment(uint64_t bytes) override { return AddSegmentOf(0, bytes); }
  Status AddSegmentOf(uint32_t region, uint64_t bytes) override;
  Status PublishSegment() override;
  Status DropSegment() override;
  Status Sync() override;
  const std::atomic<uint64_t>& fault() const noexcept override { return guard_.fault(); }
  Status SyncRange(uint64_t offset, uint64_t bytes) override;
  void Prefault(uint64_t offset, uint64_t bytes) noexcept override;
  int NodeAt(uint64_t offset) const override;
  void Unlock() override {
    for (Folder& folder : folders_) folder.mark = Fd();
    lock_ = Fd();
  }
  std::string boot_id() const override { return CurrentBootId(); }
  std::string Locate(uint64_t offset) const override;

 private:
  Status OpenDirectory(const PoolOptions& options, bool create);
  Status OpenRegionFolders(const PoolOptions& options, bool create);
  Status OpenFolder(const std::string& path, const PoolOptions& options);
  Status LockMark(Folder* folder);
  Status Lock();
  Status Reserve(const PoolOptions& options);
  Status MapExisting();
  Status RemoveLeftovers();
  Status Map(Fd fd, size_t folder, uint64_t bytes, const std::string& name);
  Result<Fd> OpenSegment(const std::string& name, size_t* folder) const;
  std::string FilePath(size_t folder, const std::string& name) const {
    return folders_[folder].path + "/" + name;
  }
  /// Of the segment that AddSegment mapped last.
  const Folder& LastFolder() const { return folders_[maps_.back().folder]; }
  uint64_t MappedBytes() const {
    return maps_.empty() ? 0 : maps_.back().base + maps_.back().bytes;
  }

  std::string path_;
  std::vector<Folder> folders_;  // by region; one: of all regions
  Fd lock_;
  pmem2_vm_reservation* reservation_ = nullptr;
  char* base_ = nullptr;
  uint64_t reserved_ = 0;
  // Lowered by each segment that promises less.
  std::atomic<MediaClass> media_class_{MediaClass::kByte};
  bool forced_ = false;
  bool tmpfs_ = false;
  mutable std::mutex maps_mutex_;  // maps_ grows while others sync and name places
  std::vector<Mapping> maps_;      // the last one may not be published yet
  size_t published_ = 0;           // maps_mutex_
  SigbusGuard guard_;
};

FileMedia::~FileMedia() {
  guard_.Release();
  bool all_gone = true;
  for (Mapping& mapping : maps_) {
    // libpmem2 maps an empty range over what it takes away, which a second try may find room for.
    all_gone =
        (pmem2_map_delete(&mapping.map) == 0 || pmem2_map_delete(&mapping.map) == 0) && all_gone;
  }
  if (reservation_ == nullptr) return;
  if (!all_gone) ::munmap(base_, reserved_);  // or the files would stay mapped
  pmem2_vm_reservation_delete(&reservation_);
}

Status FileMedia::Init(const PoolOptions& options, bool create) {
  if (Status s = OpenDirectory(options, create); !s.ok()) return s;
  if (Status s = Lock(); !s.ok()) return s;
  if (Status s = OpenRegionFolders(options, create); !s.ok()) return s;
  if (Status s = Reserve(options); !s.ok()) return s;
  if (Status s = RemoveLeftovers(); !s.ok()) return s;
  return MapExisting();
}

Status FileMedia::OpenDirectory(const PoolOptions& options, bool create) {
  if (create && ::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) {
    return FileError("cannot create the pool directory", path_, errno);
  }
  return OpenFolder(path_, options);
}

Status FileMedia::OpenFolder(const std::string& path, const PoolOptions& options) {
  Folder folder;
  folder.path = path;
  folder.directory =
      Fd(Again([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!folder.directory.ok()) {
    return folders_.empty()
               ? FileError("cannot open the pool directory", path, errno)
               : FileError("region " + std::to_string(folders_.size()) + " of the pool " + path_ +
                               " lies in a folder that can't be opened; mount its device, or name "
                               "the place where it lies now in " +
                               path_ + "/" + kRegionsFileName + ":",
                           path, errno);
  }
  const int fd = folder.directory.get();
  struct stat info {};
  if (::fstat(fd, &info) != 0) return FileError("cannot stat", path, errno);
  if ((info.st_mode & S_IWOTH) != 0 && !options.allow_world_writable) {
    return Status::InvalidArgument("the pool directory " + path +
                                   " may be written to by everybody: run chmod o-w on it, or set "
                                   "pool.allow_world_writable");
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
      return Status::InvalidArgument("pool.region_paths names other folders than the pool " +
                                     path_ + " was made with; leave it away, or correct the file " +
                                     path_ + "/" + kRegionsFileName + " if the folders were moved");
    }
  }
  for (const std::string& path : *paths) {
    if (Status s = OpenFolder(path, options); !s.ok()) return s;
    if (Status s = LockMark(&folders_.back()); !s.ok()) return s;
  }
  return Status::OK();
}

Status FileMedia::LockMark(Folder* folder) {
  folder->mark = Fd(Again([&] {
    return ::openat(folder->directory.get(), kRegionMarkName, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  }));
  if (!folder->mark.ok()) {
    return FileError("the mark of the region is missing, is its device mounted? cannot open",
                     folder->path + "/" + kRegionMarkName, errno);
  }
  struct flock request {};
  request.l_type = F_WRLCK;
  request.l_whence = SEEK_SET;
  if (Again([&] { return ::fcntl(folder->mark.get(), F_OFD_SETLK, &request); }) == 0) {
    return Status::OK();
  }
  if (errno != EAGAIN && errno != EACCES) return FileError("cannot lock", folder->path, errno);
  return Status::Busy("the region in " + folder->path +
                      " is open already, by a pool that is a copy of " + path_ +
                      "; close it there first");
}

Status FileMedia::Lock() {
  lock_ = Fd(Again([&] {
    return ::openat(folders_[0].directory.get(), kLockName,
                    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  }));
  if (!lock_.ok()) return FileError("cannot open the lock file in", path_, errno);
  struct flock request {};
  request.l_type = F_WRLCK;
  request.l_whence = SEEK_SET;
  if (Again([&] { return ::fcntl(lock_.get(), F_OFD_SETLK, &request); }) != 0) {
    if (errno != EAGAIN && errno != EACCES) return FileError("cannot lock", path_, errno);
    const LockHolder holder = ProbeLock(path_);
    return Status::Busy("the pool " + path_ + " is open already" +
                        (holder.pid > 0 ? ", by process " + std::to_string(holder.pid) : "") +
                        "; close it there first");
  }
  // For people and for the message above only; the lock itself decides.
  const std::string pid = std::to_string(::getpid()) + "\n";
  errno = ENOSPC;  // what a write that is too short means
  if (Again([&] { return ::ftruncate(lock_.get(), 0); }) != 0 ||
      Again([&] { return ::pwrite(lock_.get(), pid.data(), pid.size(), 0); }) !=
          static_cast<ssize_t>(pid.size())) {
    return FileError("cannot write the lock file in", path_, errno);
  }
  return Status::OK();
}

Status FileMedia::Reserve(const PoolOptions& options) {
  for (reserved_ = kReservedBytes; reserved_ >= kSmallestReservation; reserved_ /= 2) {
    if (pmem2_vm_reservation_new(&reservation_, nullptr, reserved_) == 0) {
      base_ = static_cast<char*>(pmem2_vm_reservation_get_address(reservation_));
      return options.catch_sigbus ? guard_.Watch(base_, reserved_) : Status::OK();
    }
  }
  return Status::IOError("cannot reserve address space for the pool: " +
                         std::string(pmem2_errormsg()) + "; raise the limit on virtual memory");
}

Status FileMedia::RemoveLeftovers() {
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
    Fd fd(Again([&] {
      return ::openat(folders_[i].directory.get(), name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    }));
    if (!fd.ok() && errno == ENOENT) continue;
    if (!fd.ok()) return FileError("cannot open", FilePath(i, name), errno);
    if (found.ok()) {
      return Status::Corruption(FilePath(i, name) + "+0x0: segment: there is one of this name in " +
                                folders_[*folder].path + " too; remove the one that is a copy");
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
  if (at + bytes > reserved_) {
    return Status::OutOfSpace("the pool " + path_ + " exceeds the reserved address space");
  }
  {
    const std::lock_guard lock(maps_mutex_);
    maps_.reserve(maps_.size() + 1);  // so that nothing can fail between mapping and keeping it
  }
  Result<pmem2_map*> map = MapFile(fd.get(), reservation_, at, FilePath(folder, name));
  if (!map.ok()) return map.status();
  if (!forced_) {
    media_class_ = std::min(media_class(), ClassOf(pmem2_map_get_store_granularity(*map)));
  }
  const std::lock_guard lock(maps_mutex_);
  maps_.push_back({std::move(fd), folder, *map, at, bytes});
  return Status::OK();
}

std::vector<uint64_t> FileMedia::segment_bytes() const {
  const std::lock_guard lock(maps_mutex_);
  std::vector<uint64_t> sizes;
  sizes.reserve(maps_.size());
  for (const Mapping& mapping : maps_) sizes.push_back(mapping.bytes);
  return sizes;
}

Status FileMedia::AddSegmentOf(uint32_t region, uint64_t bytes) {
  const size_t folder = region < folders_.size() ? region : 0;
  const int directory = folders_[folder].directory.get();
  const std::string name = SegmentName(static_cast<uint32_t>(maps_.size())) + kTemporarySuffix;
  const std::string path = FilePath(folder, name);
  ::unlinkat(directory, name.c_str(), 0);
  Fd fd(Again([&] {
    return ::openat(directory, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                    0600);
  }));
  if (!fd.ok()) return FileError("cannot create", path, errno);
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
  Status s = error == 0 ? base::NoThrow([&] { return Map(std::move(fd), folder, bytes, name); })
                        : FileError("cannot allocate " + std::to_string(bytes) + " bytes for", path,
                                    error);
  if (!s.ok()) ::unlinkat(directory, name.c_str(), 0);
  return s;
}

Status FileMedia::PublishSegment() {
  const std::string name = SegmentName(static_cast<uint32_t>(maps_.size() - 1));
  const std::string temporary = name + kTemporarySuffix;
  const Folder& folder = LastFolder();
  const int directory = folder.directory.get();
  // The headers must be on the medium before the name is; afterwards the directory entry must be.
  if (Again([&] { return ::fsync(maps_.back().fd.get()); }) != 0) {
    return FileError("cannot sync", folder.path + "/" + temporary, errno);
  }
  if (::renameat(directory, temporary.c_str(), directory, name.c_str()) != 0) {
    return FileError("cannot rename", folder.path + "/" + temporary, errno);
  }
  if (Again([&] { return ::fsync(directory); }) != 0) {
    return FileError("cannot sync", folder.path, errno);
  }
  const std::lock_guard lock(maps_mutex_);
  published_ = maps_.size();
  return Status::OK();
}

Status FileMedia::DropSegment() {
  const std::string name = SegmentName(static_cast<uint32_t>(maps_.size() - 1));
  const std::string temporary = name + kTemporarySuffix;
  const size_t folder = maps_.back().folder;
  {
    const std::lock_guard lock(maps_mutex_);
    pmem2_map_delete(&maps_.back().map);
    maps_.pop_back();
  }
  // The rename may have been done already.
  for (const std::string& each : {temporary, name}) {
    if (::unlinkat(folders_[folder].directory.get(), each.c_str(), 0) != 0 && errno != ENOENT) {
      return FileError("cannot remove", FilePath(folder, each), errno);
    }
  }
  return Status::OK();
}

Status FileMedia::Sync() {
  if (media_class() != MediaClass::kPage) return Status::OK();
  for (size_t i = 0;; ++i) {
    int fd = -1;
    size_t folder = 0;
    {
      const std::lock_guard lock(maps_mutex_);
      if (i >= published_) return Status::OK();
      fd = maps_[i].fd.get();  // stays open: what is published is not taken back
      folder = maps_[i].folder;
    }
    if (Again([&] { return ::fdatasync(fd); }) != 0) {
      return FileError("cannot sync", FilePath(folder, SegmentName(static_cast<uint32_t>(i))),
                       errno);
    }
  }
}

Status FileMedia::SyncRange(uint64_t offset, uint64_t bytes) {
  if (media_class() != MediaClass::kPage) return Status::OK();
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t begin = offset / page * page;
  if (Again([&] { return ::msync(base_ + begin, offset + bytes - begin, MS_SYNC); }) != 0) {
    return FileError("cannot sync", path_, errno);
  }
  return Status::OK();
}

void FileMedia::Prefault(uint64_t offset, uint64_t bytes) noexcept {
  // On a disk filesystem touching a page for writing makes it dirty and costs its write-back.
  if (media_class() == MediaClass::kPage && !tmpfs_) return;
#if defined(MADV_POPULATE_WRITE)
  // In small steps: each holds the lock of the process's mappings, and whoever needs memory from
  // the system meanwhile, as a put may, waits for its end. With pauses, since a thread that takes
  // the lock again at once leaves it to nobody (Linux: for 4 ms).
  constexpr uint64_t kStep = 512 << 10;
  for (uint64_t done = 0; done < bytes; done += kStep) {
    if (done != 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
    ::madvise(base_ + offset + done, std::min(kStep, bytes - done), MADV_POPULATE_WRITE);
  }
#else
  (void)offset;
  (void)bytes;
#endif
}

int FileMedia::NodeAt(uint64_t offset) const {
  const std::lock_guard lock(maps_mutex_);
  for (const Mapping& mapping : maps_) {
    if (offset < mapping.base || offset >= mapping.base + mapping.bytes) continue;
    return NodeOf(mapping.fd.get());
  }
  return -1;
}

std::string FileMedia::Locate(uint64_t offset) const {
  const std::lock_guard lock(maps_mutex_);
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

Result<PathKind> ProbePath(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return PathKind::kMissing;
    return FileError("cannot look at", path, errno);
  }
  if (!S_ISDIR(info.st_mode)) return PathKind::kForeign;
  PathKind kind = PathKind::kMissing;
  Status s = List(path, [&](std::string_view name) {
    if (name == "." || name == ".." || name == kLockName) return true;
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

LockHolder ProbeLock(const std::string& path) {
  LockHolder holder;
  Fd fd(::open((path + "/" + kLockName).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.ok()) return holder;
  struct flock request {};
  request.l_type = F_WRLCK;
  request.l_whence = SEEK_SET;
  if (::fcntl(fd.get(), F_OFD_GETLK, &request) != 0 || request.l_type == F_UNLCK) return holder;
  holder.held = true;
  char text[32] = {};
  if (::pread(fd.get(), text, sizeof text - 1, 0) > 0) holder.pid = std::strtoll(text, nullptr, 10);
  return holder;
}

Status RemovePool(const std::string& path) {
  Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!directory.ok()) return FileError("cannot open", path, errno);
  if (Status s = RemoveRegionFolders(path); !s.ok()) return s;
  // Segment 0 first: an interrupted removal leaves nothing that opens, and can be repeated.
  Result<std::vector<std::string>> names = SegmentFiles(path);
  if (!names.ok()) return names.status();
  std::sort(names->begin(), names->end());
  names->insert(names->end(),
                {std::string(kRegionsFileName) + kTemporarySuffix, kRegionsFileName, kLockName});
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
  auto media = std::make_unique<FileMedia>(path, options);
  if (Status s = media->Init(options, create); !s.ok()) return s;
  return Result<std::unique_ptr<Media>>(std::move(media));
}

int NodeOfFolder(const std::string& path) {
  // A folder is no source that libpmem2 takes; any file in it will do.
  int node = -1;
  (void)List(path, [&](std::string_view name) {
    if (name == "." || name == "..") return true;
    const std::string file = path + "/" + std::string(name);
    const Fd fd(Again([&] { return ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW); }));
    if (!fd.ok()) return true;
    node = NodeOf(fd.get());
    return false;
  }).ok();
  return node;
}

Result<MediaClass> ProbeMediaClass(const std::string& path) {
  // Segment 0 of a pool tells; mapping it for reading is enough and changes nothing.
  const std::string name = path + "/" + SegmentName(0);
  Fd fd(Again([&] { return ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW); }));
  if (!fd.ok()) return FileError("cannot open", name, errno);
  Result<pmem2_map*> map = MapFile(fd.get(), nullptr, 0, name, PMEM2_PROT_READ);
  if (!map.ok()) return map.status();
  const MediaClass found = ClassOf(pmem2_map_get_store_granularity(*map));
  pmem2_map* mapping = *map;
  pmem2_map_delete(&mapping);
  return found;
}

}  // namespace braid::pmem
