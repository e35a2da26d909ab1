// Purpose: keeping ranges of addresses. Thread safety, invariants, persistence: see address_room.h.
#include "pmem/address_room.h"

#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <mutex>

namespace braid::pmem {

namespace {

// More than that at a time are rarely open, and a kept range counts as virtual memory.
constexpr size_t kKept = 16;
std::mutex kept_mutex;
std::array<AddressRoom, kKept> kept;  // kept_mutex; those with a reservation

AddressRoom TakeKept(uint64_t bytes) {
  const std::lock_guard lock(kept_mutex);
  for (AddressRoom& room : kept) {
    if (room.reservation == nullptr || room.bytes != bytes) continue;
    const AddressRoom taken = room;
    room = {};
    return taken;
  }
  return {};
}

bool Keep(const AddressRoom& room) {
  const std::lock_guard lock(kept_mutex);
  for (AddressRoom& free : kept) {
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
  for (uint64_t bytes = most; bytes >= least; bytes /= 2) {
    AddressRoom room = TakeKept(bytes);
    if (room.reservation != nullptr) return room;
    if (pmem2_vm_reservation_new(&room.reservation, nullptr, bytes) != 0) continue;
    room.base = static_cast<char*>(pmem2_vm_reservation_get_address(room.reservation));
    room.bytes = bytes;
    return room;
  }
  return {};
}

void GiveBackAddressRoom(const AddressRoom& room, uint64_t mapped, bool emptied) noexcept {
  if (room.reservation == nullptr) return;
  if (emptied && Empty(room.base, mapped) && Keep(room)) return;
  ::munmap(room.base, room.bytes);  // or files would stay mapped
  pmem2_vm_reservation* reservation = room.reservation;
  pmem2_vm_reservation_delete(&reservation);
}

}  // namespace braid::pmem
