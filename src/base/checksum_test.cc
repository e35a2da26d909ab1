// Purpose: tests of the hashes: they are part of the format, whatever the processor has.
#include "base/checksum.h"

#include <gtest/gtest.h>

#include <string>

#include "base/hash_avx2.h"

namespace braid::base {
namespace {

std::string Bytes(size_t n) {
  std::string bytes(n, '\0');
  uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

TEST(ChecksumTest, OfAllLengthsItIsWhatTheLibrarySays) {
  const std::string bytes = Bytes(9000);
  for (size_t n = 0; n < bytes.size(); n += n < 2100 ? 1 : 97) {
    for (const size_t at : {0, 1, 8, 63}) {
      if (at + n > bytes.size()) continue;
      ASSERT_EQ(Hash64(bytes.data() + at, n), XXH3_64bits(bytes.data() + at, n)) << n << " " << at;
    }
  }
}

// Of a pool that was written elsewhere.
TEST(ChecksumTest, IsTheSameForGood) {
  EXPECT_EQ(Hash64(Bytes(16)), 0x372C92FA68129C98u);
  EXPECT_EQ(Hash64(Bytes(240)), 0x967597E635F3C527u);
  EXPECT_EQ(Hash64(Bytes(241)), 0xD6AFAC6F8FA85B01u);
  EXPECT_EQ(Hash64(Bytes(5000)), 0x6983D4CE0939F36u);
}

#if defined(__x86_64__)
TEST(ChecksumTest, NewerProcessorsComeToTheSame) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "no AVX2";
  for (const size_t n : {241u, 1024u, 1025u, 4096u, 70000u}) {
    const std::string bytes = Bytes(n);
    EXPECT_EQ(internal::HashAvx2(bytes.data(), n), XXH3_64bits(bytes.data(), n)) << n;
  }
}
#endif

}  // namespace
}  // namespace braid::base
