// What the writer in the virtual machine does, as a function of (thread, number), so that the
// machine that boots after a power cut knows what must be there without having kept anything.
//
// Thread safety: values only. Invariants: 1. A thread touches only keys of its own. 2. Contents of
// different operations differ. 3. Operations of a thread are made in the order of their numbers.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "support/environment.h"

namespace braid::test {

inline constexpr uint32_t kVmThreads = 2;
inline constexpr uint32_t kVmKeys = 96;

/// The keys that operation `number` writes; more than one: a batch.
inline std::vector<uint32_t> KeysOf(uint32_t thread, uint64_t number) {
  Random random(number * kVmThreads + thread);
  const uint64_t first = random.Below(kVmKeys);
  const uint64_t count = random.OneIn(4) ? random.Between(2, 8) : 1;
  std::vector<uint32_t> keys;
  // Steps of 11 from anywhere never meet twice in 96.
  for (uint64_t i = 0; i < count; ++i) {
    keys.push_back(static_cast<uint32_t>((first + i * 11) % kVmKeys));
  }
  return keys;
}

inline std::string VmKey(uint32_t thread, uint32_t key) {
  char text[32];
  std::snprintf(text, sizeof text, "key%03u/thread%u", key, thread);
  return text;
}

/// The content of a key after operation `number`; none: it was deleted, or never written (0).
inline std::optional<std::string> VmContent(uint32_t thread, uint32_t key, uint64_t number) {
  if (number == 0) return std::nullopt;
  Random random((number * kVmThreads + thread) * kVmKeys + key);
  if (random.OneIn(5)) return std::nullopt;
  std::string value = std::to_string(number) + "/" + VmKey(thread, key) + "/";
  const size_t size = random.OneIn(60) ? random.Between(9000, 40000) : random.Below(400);
  if (value.size() < size) value.resize(size, static_cast<char>('a' + number % 26));
  return value;
}

}  // namespace braid::test
