// What a test run is told from outside: seed, size, sanitizer. Every random test prints how to
// replay it.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

namespace braid::test {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#else
inline constexpr bool kThreadSanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#else
inline constexpr bool kAddressSanitizer = false;
#endif

inline constexpr bool kSanitizer = kThreadSanitizer || kAddressSanitizer;

/// The run's seed: BRAID_SEED, or a fresh one. Printed the first time it is asked for.
inline uint64_t BaseSeed() {
  static const uint64_t seed = [] {
    const char* text = std::getenv("BRAID_SEED");
    uint64_t value = 0;
    if (text != nullptr && *text != '\0') {
      value = std::strtoull(text, nullptr, 0);
    } else {
      std::random_device device;
      value = (static_cast<uint64_t>(device()) << 20) ^ device();
    }
    std::printf("[ seed     ] BRAID_SEED=%llu\n", static_cast<unsigned long long>(value));
    std::fflush(stdout);
    return value;
  }();
  return seed;
}

inline bool IsTestSize(std::string_view size) {
  const char* text = std::getenv("BRAID_TEST_SIZE");
  return text != nullptr && size == text;
}
/// True for the run of a day or more (BRAID_TEST_SIZE=release).
inline bool ReleaseSize() {
  static const bool release = IsTestSize("release");
  return release;
}
/// True for the hour-long run (BRAID_TEST_SIZE=night) and for longer ones; the default is the push
/// size.
inline bool NightSize() {
  static const bool night = IsTestSize("night") || ReleaseSize();
  return night;
}

/// The amount of work of this run; 0: release is as night. Sanitizer builds do a share of it, since
/// they are slower.
inline uint64_t Sized(uint64_t push, uint64_t night, uint64_t release = 0) {
  const uint64_t full = ReleaseSize() && release != 0 ? release : NightSize() ? night : push;
  const uint64_t share = kThreadSanitizer ? 20 : kAddressSanitizer ? 5 : 1;
  return full / share > 0 ? full / share : 1;
}

/// One line that replays the test that runs now.
inline std::string ReplayLine() {
  std::string line = "replay: BRAID_SEED=" + std::to_string(BaseSeed());
  if (NightSize()) line += ReleaseSize() ? " BRAID_TEST_SIZE=release" : " BRAID_TEST_SIZE=night";
  const ::testing::TestInfo* info = ::testing::UnitTest::GetInstance()->current_test_info();
  if (info != nullptr) {
    line += " --gtest_filter='" + std::string(info->test_suite_name()) + "." + info->name() + "'";
  }
  return line;
}

/// A small seeded generator (splitmix64): the same numbers on every machine and compiler.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  /// 0 .. n-1; n must not be 0.
  uint64_t Below(uint64_t n) { return Next() % n; }
  /// low .. high, both included.
  uint64_t Between(uint64_t low, uint64_t high) { return low + Below(high - low + 1); }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  std::string Bytes(size_t size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(Next() & 0xFF);
    return bytes;
  }

 private:
  uint64_t state_;
};

/// A seed of its own for each part of a test, all from the run's seed.
inline uint64_t DeriveSeed(uint64_t part) {
  return Random(BaseSeed() ^ (part * 0x2545F491u)).Next();
}

/// Bytes as a person can read them: escapes, and a middle left out when long.
inline std::string Printable(std::string_view bytes, size_t max = 48) {
  std::string out = "\"";
  const std::string_view shown = bytes.substr(0, max);
  for (const char c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\') {
      out += c;
    } else {
      char buffer[8];
      std::snprintf(buffer, sizeof(buffer), "\\x%02x", byte);
      out += buffer;
    }
  }
  out += '"';
  if (bytes.size() > max) out += "... (" + std::to_string(bytes.size()) + " bytes)";
  return out;
}

}  // namespace braid::test
