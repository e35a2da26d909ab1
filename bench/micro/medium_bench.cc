// What flushes and fences cost on a medium: maps a file, writes in several ways, prints a table.
//   medium_bench [FOLDER] [MiB]      default: a 256 MiB file on /dev/shm, removed at the end
//
// The figures bound what a store can do there: a put costs at least one line with its fence.
// Intrinsics are used directly, so that the numbers say nothing about braid's own code.
#include <cpuid.h>
#include <immintrin.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "src/base/clock.h"
#include "src/base/random.h"

namespace braid::bench {
namespace {

constexpr size_t kLine = 64;
constexpr int kRounds = 5;

__attribute__((target("clwb"))) void FlushWithClwb(char* line) { _mm_clwb(line); }
__attribute__((target("clflushopt"))) void FlushWithClflushopt(char* line) { _mm_clflushopt(line); }
void FlushWithClflush(char* line) { _mm_clflush(line); }

using FlushLine = void (*)(char*);

FlushLine BestFlush(const char** name) {
  // CPUID leaf 7, EBX: bit 24 is clwb, bit 23 is clflushopt.
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx);
  if ((ebx >> 24 & 1) != 0) return *name = "clwb", &FlushWithClwb;
  if ((ebx >> 23 & 1) != 0) return *name = "clflushopt", &FlushWithClflushopt;
  return *name = "clflush", &FlushWithClflush;
}

/// A mapped file that has no name any more; memory is left to the end of the process.
char* MapScratch(const std::string& folder, size_t bytes) {
  std::string path = folder + "/braid-medium-XXXXXX";
  const int file = ::mkstemp(path.data());
  if (file < 0) return nullptr;
  ::unlink(path.c_str());
  if (::ftruncate(file, static_cast<off_t>(bytes)) != 0) return nullptr;
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return base == MAP_FAILED ? nullptr : static_cast<char*>(base);
}

/// The median over the rounds of the nanoseconds one of `operations` took.
double Measure(size_t operations, const std::function<void()>& round) {
  std::vector<double> nanos;
  for (int i = 0; i < kRounds; ++i) {
    const uint64_t begin = NowNanos();
    round();
    nanos.push_back(static_cast<double>(NowNanos() - begin) / static_cast<double>(operations));
  }
  std::sort(nanos.begin(), nanos.end());
  return nanos[kRounds / 2];
}

void Print(const char* what, double nanos, size_t bytes) {
  std::printf("%-58s %9.0f ns %8.2f GB/s\n", what, nanos, static_cast<double>(bytes) / nanos);
}

class MediumBench {
 public:
  MediumBench(char* base, size_t bytes, FlushLine flush)
      : base_(base), lines_(bytes / kLine), flush_(flush) {}

  void Run() {
    TouchPages();
    StoreLines("64 B store, flush, fence: next line", false);
    StoreLines("64 B store, flush, fence: random line", true);
    AppendEntries("append 40 B: flush, fence, flush, fence", 2);
    AppendEntries("append 40 B: one flush, one fence", 1);
    AppendBatches();
    for (const size_t block : {size_t{256}, size_t{4096}, size_t{1} << 20}) CopyBlocks(block);
    StreamBlocks(4096);
  }

 private:
  /// Once: only the first touch of a page costs.
  void TouchPages() {
    constexpr size_t kPage = 4096;
    const size_t pages = lines_ * kLine / kPage;
    const uint64_t begin = NowNanos();
    for (size_t page = 0; page < pages; ++page) base_[page * kPage] = 1;
    const uint64_t end = NowNanos();
    Print("first touch of a 4 KiB page",
          static_cast<double>(end - begin) / static_cast<double>(pages), kPage);
  }

  void StoreLines(const char* what, bool random) {
    const size_t operations = std::min<size_t>(lines_, 200'000);
    Random choice(1);
    const double nanos = Measure(operations, [&] {
      for (size_t i = 0; i < operations; ++i) {
        char* line = base_ + (random ? choice.Uniform(lines_) : i) * kLine;
        std::memset(line, static_cast<int>(i), kLine);
        flush_(line);
        _mm_sfence();
      }
    });
    Print(what, nanos, kLine);
  }

  void FlushRange(const char* from, size_t size) {
    const auto first = reinterpret_cast<uintptr_t>(from) & ~(kLine - 1);
    const auto end = reinterpret_cast<uintptr_t>(from) + size;
    for (uintptr_t line = first; line < end; line += kLine) flush_(reinterpret_cast<char*>(line));
  }

  void AppendEntries(const char* what, int fences) {
    constexpr size_t kEntry = 40;
    const size_t operations = std::min<size_t>(lines_, 200'000);
    const double nanos = Measure(operations, [&] {
      for (size_t i = 0; i < operations; ++i) {
        char* entry = base_ + i * kEntry;
        std::memset(entry, static_cast<int>(i), kEntry);
        FlushRange(entry, kEntry);
        _mm_sfence();
        if (fences == 1) continue;
        entry[0] = 1;
        FlushRange(entry, 8);
        _mm_sfence();
      }
    });
    Print(what, nanos, kEntry);
  }

  void AppendBatches() {
    constexpr size_t kEntry = 40;
    constexpr size_t kBatch = 8;
    const size_t operations = std::min<size_t>(lines_, 200'000) / kBatch * kBatch;
    const double nanos = Measure(operations, [&] {
      for (size_t i = 0; i < operations; i += kBatch) {
        char* batch = base_ + i * kEntry;
        std::memset(batch, static_cast<int>(i), kEntry * kBatch);
        FlushRange(batch, kEntry * kBatch);
        _mm_sfence();
      }
    });
    Print("append 40 B: 8 entries a fence", nanos, kEntry);
  }

  void CopyBlocks(size_t block) {
    const std::vector<char> source(block, 'x');
    const size_t operations = std::min<size_t>(lines_ * kLine / block, 200'000);
    const double nanos = Measure(operations, [&] {
      for (size_t i = 0; i < operations; ++i) {
        char* target = base_ + i * block;
        std::memcpy(target, source.data(), block);
        FlushRange(target, block);
        _mm_sfence();
      }
    });
    const std::string what = "copy, flush, fence: blocks of " + std::to_string(block) + " B";
    Print(what.c_str(), nanos, block);
  }

  void StreamBlocks(size_t block) {
    const std::vector<long long> source(block / sizeof(long long), 7);
    const size_t operations = std::min<size_t>(lines_ * kLine / block, 200'000);
    const double nanos = Measure(operations, [&] {
      for (size_t i = 0; i < operations; ++i) {
        auto* target = reinterpret_cast<long long*>(base_ + i * block);
        for (size_t word = 0; word < source.size(); ++word) {
          _mm_stream_si64(target + word, source[word]);
        }
        _mm_sfence();
      }
    });
    const std::string what =
        "non-temporal stores, fence: blocks of " + std::to_string(block) + " B";
    Print(what.c_str(), nanos, block);
  }

  char* base_;
  size_t lines_;
  FlushLine flush_;
};

}  // namespace
}  // namespace braid::bench

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "/dev/shm";
  const size_t mebibytes = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 256;
  if (mebibytes < 16) {
    std::fprintf(stderr, "medium_bench: give a size of at least 16 MiB\n");
    return 2;
  }
  char* base = braid::bench::MapScratch(folder, mebibytes << 20);
  if (base == nullptr) {
    std::fprintf(stderr, "medium_bench: can't map %zu MiB below %s: give a folder with room\n",
                 mebibytes, folder.c_str());
    return 2;
  }
  const char* instruction = nullptr;
  const auto flush = braid::bench::BestFlush(&instruction);
  std::printf("%zu MiB below %s, flush with %s, median of 5 rounds, 1 thread\n", mebibytes,
              folder.c_str(), instruction);
  braid::bench::MediumBench(base, mebibytes << 20, flush).Run();
  return 0;
}
