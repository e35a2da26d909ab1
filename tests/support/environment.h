// What a test run is told from outside: seed, size, sanitizer. Every random test prints how to
// replay it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
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

/// BRAID_TEST_SIZE: push (the default), night (an hour), or release (a day).
enum class TestSize { kPush, kNight, kRelease };

inline TestSize SizeOfRun() {
  static const TestSize size = [] {
    const char* text = std::getenv("BRAID_TEST_SIZE");
    const std::string_view name = text != nullptr ? text : "";
    return name == "night"     ? TestSize::kNight
           : name == "release" ? TestSize::kRelease
                               : TestSize::kPush;
  }();
  return size;
}

/// True for the long runs.
inline bool NightSize() { return SizeOfRun() != TestSize::kPush; }

/// BRAID_TEST_PART=n: an n-th of a push's work, as in the many runs that cover it together; else 1.
inline uint64_t PartOfPush() {
  static const uint64_t part = [] {
    const char* text = std::getenv("BRAID_TEST_PART");
    const uint64_t asked = text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
    return SizeOfRun() == TestSize::kPush && asked > 1 ? asked : 1;
  }();
  return part;
}

/// The amount of work of this run. Sanitizer builds do a share of it, since they are slower.
inline uint64_t Sized(uint64_t push, uint64_t night, uint64_t release) {
  const TestSize size = SizeOfRun();
  const uint64_t full = size == TestSize::kPush ? push : size == TestSize::kNight ? night : release;
  const uint64_t part = PartOfPush();
  const uint64_t share = kThreadSanitizer    ? std::max<uint64_t>(20, 4 * part)
                         : kAddressSanitizer ? std::max<uint64_t>(5, 2 * part)
                                             : part;
  return full / share > 0 ? full / share : 1;
}
inline uint64_t Sized(uint64_t push, uint64_t night) { return Sized(push, night, night); }

/// How long a test that can go on for ever does so: BRAID_TEST_SECONDS, or, without it, until it
/// has done an amount of work. Thread-safe.
class WorkBudget {
 public:
  /// `parts`: so many budgets, one after the other, share the seconds.
  explicit WorkBudget(uint64_t work, uint64_t parts = 1) : work_(work) {
    const char* text = std::getenv("BRAID_TEST_SECONDS");
    if (text != nullptr && *text != '\0') {
      timed_ = true;
      deadline_ =
          Clock::now() + std::chrono::milliseconds(std::strtoull(text, nullptr, 10) * 1000 / parts);
    }
  }
  bool Spent(uint64_t done) const { return timed_ ? Clock::now() >= deadline_ : done >= work_; }
  bool timed() const { return timed_; }

 private:
  using Clock = std::chrono::steady_clock;
  const uint64_t work_;
  bool timed_ = false;
  Clock::time_point deadline_;
};

/// One line that replays the test that runs now.
inline std::string ReplayLine() {
  std::string line = "replay: BRAID_SEED=" + std::to_string(BaseSeed());
  if (SizeOfRun() == TestSize::kNight) line += " BRAID_TEST_SIZE=night";
  if (SizeOfRun() == TestSize::kRelease) line += " BRAID_TEST_SIZE=release";
  if (PartOfPush() != 1) line += " BRAID_TEST_PART=" + std::to_string(PartOfPush());
  if (const char* seconds = std::getenv("BRAID_TEST_SECONDS")) {
    line += std::string(" BRAID_TEST_SECONDS=") + seconds;
  }
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
