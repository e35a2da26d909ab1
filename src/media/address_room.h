// Purpose: ranges of addresses that pools map their files into. A released range is kept for the
// next pool. libpmem2 never gives back what it maps around a range to align it (up to 1 GiB, seen
// with 1.12): a process that opens and closes pools, each with a new range, would have cut its
// addresses to pieces after a hundred, and pools could not grow as far any more.
// Thread safety: any thread.
// Invariants:
//   1. Nothing is mapped in a range that is kept.
// Persistence: none.
#pragma once

#include <libpmem2.h>

#include <cstdint>

namespace braid::media {

struct AddressRoom {
  pmem2_vm_reservation* reservation = nullptr;  // null: none
  char* base = nullptr;
  uint64_t bytes = 0;
};

/// A range of `most` bytes, or, as often halved as needed, at least `least`. None when there is no
/// room for that; pmem2_errormsg() says why.
AddressRoom TakeAddressRoom(uint64_t most, uint64_t least);

/// `mapped` bytes from its base on may be mapped, by other means than libpmem2. With `emptied` all
/// maps of libpmem2 in it are deleted; without, it is not used again.
void GiveBackAddressRoom(const AddressRoom& room, uint64_t mapped, bool emptied) noexcept;

/// Around a fork (fork_guard.h).
void LockAddressRoomsForFork() noexcept;
void UnlockAddressRoomsAfterFork() noexcept;

/// How many are taken now.
uint64_t RoomsInUse() noexcept;

}  // namespace braid::media
