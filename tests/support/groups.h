// Batches whose keys must agree: each sets all keys of a group to one number. What is read of it
// tells whether it is a state that was, whole, and how old it is.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "database.h"

namespace braid::test {

inline constexpr uint32_t kGroups = 24;
inline constexpr uint32_t kKeysOfGroup = 16;

/// Numbers of a group's last batch: before it was written, and after that had returned. Lies in
/// memory that processes share, so it is made of atomics alone.
struct GroupNumbers {
  std::array<std::atomic<uint64_t>, kGroups> sent;
  std::array<std::atomic<uint64_t>, kGroups> acknowledged;
};
using LeastNumbers = std::array<uint64_t, kGroups>;

inline LeastNumbers AcknowledgedNow(const GroupNumbers& numbers) {
  LeastNumbers least;
  for (uint32_t g = 0; g < kGroups; ++g) least[g] = numbers.acknowledged[g].load();
  return least;
}

/// Neighbours in the order of keys belong to different groups.
inline std::string GroupKey(uint32_t group, uint32_t key) {
  return "k" + std::to_string(100 + key) + "/" + std::to_string(100 + group);
}
/// Of many sizes; some of the first keys get an extent of their own.
inline std::string GroupValue(uint32_t group, uint32_t key, uint64_t number) {
  std::string value = std::to_string(number) + "/" + GroupKey(group, key) + "/";
  const size_t size = number % 61 == 3 && key == 0 ? 20'000 : number * 7 % 300;
  if (value.size() < size) value.resize(size, static_cast<char>('a' + number % 26));
  return value;
}
inline WriteBatch GroupBatch(uint32_t group, uint64_t number) {
  WriteBatch batch;
  for (uint32_t k = 0; k < kKeysOfGroup; ++k) {
    batch.Put(GroupKey(group, k), GroupValue(group, k, number));
  }
  return batch;
}

/// What is wrong with a scan of everything; empty: all keys of a group hold one number, between
/// `least` and what was sent.
inline std::string FaultOfGroups(const Pairs& found, const LeastNumbers& least,
                                 const GroupNumbers& numbers) {
  const Model model(found.begin(), found.end());
  if (model.size() != found.size()) return "a key is shown twice";
  size_t expected = 0;
  for (uint32_t g = 0; g < kGroups; ++g) {
    uint64_t number = 0;
    for (uint32_t k = 0; k < kKeysOfGroup; ++k) {
      const auto at = model.find(GroupKey(g, k));
      const uint64_t own = at == model.end() ? 0 : std::strtoull(at->second.c_str(), nullptr, 10);
      if (k == 0) number = own;
      if (own != number) return "half a batch of group " + std::to_string(g);
      if (own != 0 && at->second != GroupValue(g, k, own)) return "a wrong value";
      expected += own != 0;
    }
    if (number < least[g] || number > numbers.sent[g].load()) {
      return "group " + std::to_string(g) + " has number " + std::to_string(number) +
             ", acknowledged before the open was " + std::to_string(least[g]);
    }
  }
  return expected == found.size() ? "" : "a key that nobody wrote";
}

/// A scan of everything, to and fro; the status is the iterator's.
inline Status ScanGroups(DB* db, bool forward, Pairs* found) {
  found->clear();
  const auto it = db->NewIterator({});
  for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid();
       forward ? it->Next() : it->Prev()) {
    found->emplace_back(std::string(it->key()), std::string(it->value()));
  }
  if (!forward) std::reverse(found->begin(), found->end());
  return it->status();
}

}  // namespace braid::test
