// Purpose: the two sides of the file of readers.
// Thread safety, invariants, persistence: see reader_slots.h.
#include "media/reader_slots.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <thread>
#include <utility>

#include "base/check.h"
#include "base/futex.h"
#include "media/pool_lock.h"

namespace braid::media {

namespace {

constexpr uint64_t kFileBytes = sizeof(SharedHead) + kReaderSlots * sizeof(SharedSlot);
static_assert(kFileBytes == 4096);
/// How long the open of a writer waits for calls of readers that are under way.
constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::milliseconds kLookAgain{1};
/// Looks at the answer between two looks whether the writer is there still.
constexpr int kLooksAtWriter = 20;
/// Numbers of files that are places of a lock; they may be longer.
constexpr uint64_t kLockPlaces = (1ull << 62) - 1;
/// Of a ticket; the rest of the word is the state.
constexpr uint64_t kStateBits = 2;
static_assert(static_cast<uint64_t>(SlotState::kRevoked) < (1 << kStateBits));

uint64_t WordOf(uint64_t ticket, SlotState state) {
  return ticket << kStateBits | static_cast<uint64_t>(state);
}
uint64_t TicketOf(uint64_t word) { return word >> kStateBits; }
SlotState StateOf(uint64_t word) { return static_cast<SlotState>(word & ((1 << kStateBits) - 1)); }

struct flock LockOf(uint32_t index) {
  BRAID_DCHECK(index < kReaderSlots);
  struct flock request {};
  request.l_type = F_WRLCK;
  request.l_whence = SEEK_SET;
  request.l_start = index;
  request.l_len = 1;
  return request;
}

/// A lock of the folder from `begin` on; 0 bytes are all that follow.
struct flock FolderLock(short type, uint64_t begin, uint64_t bytes) {
  struct flock request {};
  request.l_type = type;
  request.l_whence = SEEK_SET;
  BRAID_DCHECK(begin <= kLockPlaces + 1 && bytes <= kLockPlaces);  // an off_t has a sign
  request.l_start = static_cast<off_t>(begin);
  request.l_len = static_cast<off_t>(bytes);
  return request;
}

Fd OpenFolderOf(const std::string& pool) {
  return Fd(Again([&] { return ::open(pool.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
}

/// Whether anybody reads through another file than that of this number; 0: than none.
bool AnyReadsThroughAnother(const std::string& pool, uint64_t number) {
  const Fd folder = OpenFolderOf(pool);
  const auto any = [&](uint64_t begin, uint64_t bytes) {
    struct flock request = FolderLock(F_WRLCK, begin, bytes);
    // Where folders can't be locked, nobody has locked one.
    return folder.ok() && ::fcntl(folder.get(), F_OFD_GETLK, &request) == 0 &&
           request.l_type != F_UNLCK;
  };
  return (number != 0 && any(0, number)) || any(number + 1, 0);
}

std::string TextOf(uint64_t waits_for) {
  switch (static_cast<GrantWaitsFor>(waits_for)) {
    case GrantWaitsFor::kFlush:
      return "its flush takes too long";
    case GrantWaitsFor::kMerge:
      return "a merge that it has begun takes too long";
    case GrantWaitsFor::kFullL0:
      return "its L0 is nearly full, and merges can't wait for readers";
    case GrantWaitsFor::kFailure:
      return "its writes have ended after an error";
    case GrantWaitsFor::kWriter:
      break;
  }
  return "it does not answer; a merge or a check of the whole pool may be under way";
}

}  // namespace

Result<std::shared_ptr<ReadersFile>> ReadersFile::Map(Fd fd, const std::string& path) {
  std::shared_ptr<ReadersFile> file(new ReadersFile());
  void* const at = ::mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) return FileError("cannot map", path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) == 0) file->number_ = info.st_ino & kLockPlaces;
  file->fd_ = std::move(fd);
  file->head_ = static_cast<SharedHead*>(at);
  file->slots_ = reinterpret_cast<SharedSlot*>(file->head_ + 1);
  return file;
}

Result<std::shared_ptr<ReadersFile>> ReadersFile::Make(int folder, const std::string& pool) {
  const std::string path = pool + "/" + kReadersName;
  Fd fd = OpenPoolFile(folder, kReadersName, O_RDWR | O_CREAT);
  if (!fd.ok()) return FileError("cannot open", path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return FileError("cannot stat", path, errno);
  if (Status s = CheckOneName(info, path); !s.ok()) return s;
  // Allocated, so that a store to it does not find a full device. Only when it is short: a call
  // that the system does not know is done by stores, and others may be storing to it.
  int error = static_cast<uint64_t>(info.st_size) < kFileBytes ? EINTR : 0;
  while (error == EINTR) error = ::posix_fallocate(fd.get(), 0, kFileBytes);
  if (error != 0) return FileError("cannot allocate", path, error);
  return Map(std::move(fd), path);
}

Result<std::shared_ptr<ReadersFile>> ReadersFile::Open(const std::string& pool) {
  const std::string path = pool + "/" + kReadersName;
  Fd fd = OpenPoolFile(AT_FDCWD, path, O_RDWR);
  const bool is_none =
      errno == ENOENT || errno == ELOOP || errno == EISDIR || errno == kNotRegularError;
  if (!fd.ok() && is_none) return Status::NotFound();
  if (!fd.ok()) return FileError("cannot open", path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return FileError("cannot stat", path, errno);
  // One of another name is somebody else's file, which is not to be stored to.
  if (info.st_nlink != 1 || static_cast<uint64_t>(info.st_size) < kFileBytes) {
    return Status::NotFound();
  }
  return Map(std::move(fd), path);
}

ReadersFile::~ReadersFile() {
  if (head_ != nullptr) ::munmap(head_, kFileBytes);
}

bool ReadersFile::Lock(uint32_t index) {
  struct flock request = LockOf(index);
  return Again([&] { return ::fcntl(fd_.get(), F_OFD_SETLK, &request); }) == 0;
}

bool ReadersFile::IsLocked(uint32_t index) const {
  struct flock request = LockOf(index);
  // Where the system does not tell, somebody may be there.
  return ::fcntl(fd_.get(), F_OFD_GETLK, &request) != 0 || request.l_type != F_UNLCK;
}

Result<std::unique_ptr<ReaderSlot>> ReaderSlot::Ask(const std::string& pool,
                                                    Clock::time_point deadline) {
  Result<std::shared_ptr<ReadersFile>> file = ReadersFile::Open(pool);
  if (file.status().IsNotFound()) return Status::Busy("its file \"readers\" is missing");
  if (!file.ok()) return file.status();
  std::unique_ptr<ReaderSlot> reader(new ReaderSlot());
  reader->file_ = std::move(file).value();
  uint32_t index = 0;
  while (index < kReaderSlots && !reader->file_->Lock(index)) ++index;
  if (index == kReaderSlots) {
    return Status::Busy(std::to_string(kReaderSlots) +
                        " handles read it already, which is the limit");
  }
  reader->LockFolder(pool);
  SharedSlot& slot = reader->file_->slot(index);
  const uint64_t ticket = TicketOf(slot.word.load()) + 1;
  slot.calls.store(0);  // of one that was killed in a call
  slot.process.store(static_cast<uint64_t>(::getpid()));
  reader->slot_ = &slot;
  reader->granted_ = WordOf(ticket, SlotState::kGranted);
  const uint64_t asked = WordOf(ticket, SlotState::kAsked);
  slot.word.store(asked);
  reader->file_->head().asks.fetch_add(1);  // after the slot: a writer that sees it finds the slot
  base::WakeWaiters(&reader->file_->head().asks, true);
  if (Status s = reader->WaitForGrant(pool, asked, deadline); !s.ok()) return s;
  return reader;
}

void ReaderSlot::LockFolder(const std::string& pool) {
  folder_ = OpenFolderOf(pool);
  if (!folder_.ok()) return;
  struct flock request = FolderLock(F_RDLCK, file_->number(), 1);
  // Without it the file must stay, which it does unless somebody removes it.
  (void)::fcntl(folder_.get(), F_OFD_SETLK, &request);
}

Status ReaderSlot::WaitForGrant(const std::string& pool, uint64_t asked,
                                Clock::time_point deadline) {
  // Invariant 2: the answer bears the ticket of the question.
  BRAID_DCHECK(StateOf(asked) == SlotState::kAsked && TicketOf(asked) == TicketOf(granted_));
  for (int look = 1; slot_->word.load() == asked; ++look) {
    if (look % kLooksAtWriter == 0) {
      const LockHolder writer = ProbeLock(pool);
      if (!writer.held || writer.reads) return Status::TryAgain("the writer has gone");
    }
    if (Clock::now() >= deadline) return Status::Busy(TextOf(file_->head().waits_for.load()));
    std::this_thread::sleep_for(kLookAgain);
  }
  // Another process has the pool now, or writes have ended in this one.
  return granted() ? Status::OK() : Status::TryAgain("the writer refuses");
}

void ReaderSlot::Release() noexcept {
  BRAID_DCHECK(slot_ != nullptr);  // Ask gives out none without
  if (is_parents()) return;
  released_.store(true);
  uint64_t granted = granted_;
  // One that is revoked stays so: the writer looks at its count.
  slot_->word.compare_exchange_strong(granted, WordOf(TicketOf(granted_), SlotState::kFree));
}

ReaderSlot::~ReaderSlot() {
  if (slot_ == nullptr || is_parents()) return;
  // Without a call under way; the lock, which goes with the file, would tell as well.
  slot_->word.store(WordOf(TicketOf(granted_), SlotState::kFree));
}

template <class Visit>
void WriterSlots::ForEach(SlotState state, Visit&& visit) {
  for (uint32_t i = 0; file_ != nullptr && i < kReaderSlots; ++i) {
    SharedSlot& slot = file_->slot(i);
    const uint64_t word = slot.word.load();
    if (StateOf(word) == state) visit(i, slot, word);
  }
}

bool WriterSlots::NoteAskers() {
  asked_.fill(0);
  if (file_ == nullptr) return false;
  seen_ = file_->head()
              .asks.load();  // before the slots: a reader that comes later is seen at the next look
  bool any = false;
  ForEach(SlotState::kAsked, [&](uint32_t i, SharedSlot&, uint64_t word) {
    if (!file_->IsLocked(i)) return;
    asked_[i] = word;
    any = true;
  });
  return any;
}

bool WriterSlots::AnyNotedWaits() {
  bool any = false;
  ForEach(SlotState::kAsked, [&](uint32_t i, SharedSlot&, uint64_t word) {
    any = any || (asked_[i] == word && file_->IsLocked(i));
  });
  return any;
}

void WriterSlots::Tell(GrantWaitsFor what) noexcept {
  if (file_ != nullptr) file_->head().waits_for.store(static_cast<uint64_t>(what));
}

void WriterSlots::GrantNoted(uint64_t tables, uint64_t sequence) {
  ForEach(SlotState::kAsked, [&](uint32_t i, SharedSlot& slot, uint64_t word) {
    if (asked_[i] != word) return;  // asked after the flush: its turn is the next one
    slot.tables.store(tables);
    slot.sequence.store(sequence);
    // Fails when that reader has gone meanwhile, and another one asks.
    slot.word.compare_exchange_strong(word, WordOf(TicketOf(word), SlotState::kGranted));
  });
  asked_.fill(0);
}

bool WriterSlots::AnyGranted() {
  bool any = false;
  ForEach(SlotState::kGranted, [&](uint32_t i, SharedSlot& slot, uint64_t word) {
    if (file_->IsLocked(i)) {
      any = true;
    } else {
      slot.word.compare_exchange_strong(word, WordOf(TicketOf(word), SlotState::kFree));
    }
  });
  return any;
}

void WriterSlots::RevokeAll() {
  for (const SlotState state : {SlotState::kAsked, SlotState::kGranted}) {
    ForEach(state, [&](uint32_t, SharedSlot& slot, uint64_t word) {
      slot.word.compare_exchange_strong(word, WordOf(TicketOf(word), SlotState::kRevoked));
    });
  }
  // Pairs with the fence in ReaderSlot::Call::holds: a reader that loads what is stored from here
  // on finds its slot revoked.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

/// A slot that is not granted, whose holder is in a call: null when there is none.
SharedSlot* WriterSlots::CallUnderWay() {
  SharedSlot* found = nullptr;
  // A free one, too: its holder may be about to leave.
  for (const SlotState state : {SlotState::kFree, SlotState::kRevoked}) {
    ForEach(state, [&](uint32_t i, SharedSlot& slot, uint64_t) {
      if (slot.calls.load() != 0 && file_->IsLocked(i)) found = &slot;
    });
  }
  return found;
}

Status WriterSlots::RevokeEarlierGrants(const std::string& pool) {
  Result<std::shared_ptr<ReadersFile>> file = ReadersFile::Open(pool);
  if (AnyReadsThroughAnother(pool, file.ok() ? (*file)->number() : 0)) {
    return Status::Busy("another process reads the pool " + pool +
                        " through its file \"readers\", which has been removed since, so that it "
                        "would not notice a writer: close the pool there, or end that process");
  }
  if (file.status().IsNotFound()) return Status::OK();
  if (!file.ok()) return file.status();  // there may be readers
  WriterSlots slots(std::move(file).value());
  slots.Tell(GrantWaitsFor::kWriter);
  slots.RevokeAll();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (const SharedSlot* busy = slots.CallUnderWay()) {
    if (std::chrono::steady_clock::now() >= deadline) {
      return Status::Busy("process " + std::to_string(busy->process.load()) +
                          ", which reads the pool " + pool +
                          " since another process had it open for writing, hangs in a call: let it "
                          "continue, or end it");
    }
    std::this_thread::sleep_for(kLookAgain);
  }
  return Status::OK();
}

}  // namespace braid::media
