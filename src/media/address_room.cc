// Purpose: keeping ranges of addresses.
// Thread safety, invariants, persistence: see address_room.h.
#include "media/address_room.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "base/check.h"
#include "base/mutex.h"
#include "media/fork_guard.h"

namespace braid::media {

namespace {

// More than that at a time are rarely open, and a kept range counts as virtual memory.
constexpr size_t kKept = 16;
constinit base::Mutex kept_mutex;
std::array<AddressRoom, kKept> kept_rooms;  // kept_mutex; those with a reservation

std::atomic<uint64_t> rooms_in_use{0};

AddressRoom TakeKept(uint64_t bytes) {
  const base::MutexLock lock(kept_mutex);
  for (AddressRoom& room : kept_rooms) {
    if (room.reservation == nullptr || room.bytes != bytes) continue;
    BRAID_DCHECK(room.base != nullptr);
    const AddressRoom taken = room;
    room = {};
    return taken;
  }
  return {};
}

bool Keep(const AddressRoom& room) {
  BRAID_DCHECK(room.reservation != nullptr && room.base != nullptr);
  const base::MutexLock lock(kept_mutex);
  for (AddressRoom& free : kept_rooms) {
    if (free.reservation != nullptr) continue;
    free = room;
    return true;
  }
  return false;
}

/// Maps nothing, in place of whatever is there.
bool Empty(char* at, uint64_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  return bytes == 0 || ::mmap(at, bytes, PROT_NONE, kFlags, -1, 0) != MAP_FAILED;
}

}  // namespace

AddressRoom TakeAddressRoom(uint64_t most, uint64_t least) {
  BRAID_CHECK(least > 0 && least <= most);  // nothing can be halved forever
  for (uint64_t bytes = most; bytes >= least; bytes /= 2) {
    AddressRoom room = TakeKept(bytes);
    if (room.reservation != nullptr) {
      rooms_in_use.fetch_add(1);
      return room;
    }
    const NoFork no_fork;  // libpmem2 has locks of its own
    if (pmem2_vm_reservation_new(&room.reservation, nullptr, bytes) != 0) continue;
    room.base = static_cast<char*>(pmem2_vm_reservation_get_address(room.reservation));
    room.bytes = bytes;
    rooms_in_use.fetch_add(1);
    return room;
  }
  return {};
}

void GiveBackAddressRoom(const AddressRoom& room, uint64_t mapped, bool emptied) noexcept {
  if (room.reservation == nullptr) return;
  BRAID_DCHECK(mapped <= room.bytes);
  BRAID_DCHECK(rooms_in_use.load() > 0);  // this one is counted
  rooms_in_use.fetch_sub(1);
  if (emptied && Empty(room.base, mapped) && Keep(room)) return;
  ::munmap(room.base, room.bytes);  // or files would stay mapped
  pmem2_vm_reservation* reservation = room.reservation;
  const NoFork no_fork;
  pmem2_vm_reservation_delete(&reservation);
}

// Held over a fork, by fork_guard.cc.
void LockAddressRoomsForFork() noexcept BRAID_NO_THREAD_CHECK { kept_mutex.lock(); }
void UnlockAddressRoomsAfterFork() noexcept BRAID_NO_THREAD_CHECK { kept_mutex.unlock(); }
uint64_t RoomsInUse() noexcept { return rooms_in_use.load(); }

}  // namespace braid::media
