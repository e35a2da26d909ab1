// The program that runs in the virtual machine while its power is cut, and finds the media errors.
//
//   braid_vm_writer write POOL SEED ACKED,ACKED OPERATIONS [force=CLASS]
//     Opens the pool, verifies it, and checks that each thread's keys are as after some operation
//     not before the last one that the host saw acknowledged. Then goes on: a line "@ack THREAD
//     NUMBER" after each operation. Closes the pool after so many operations.
//   braid_vm_writer fill POOL
//     Makes a pool of known records and tells where one of them is on the device.
//   braid_vm_writer read POOL
//     Reads all of them: one may be on a failed page by now.
//   braid_vm_writer fill-regions POOL FOLDER
//     Makes a pool with a region on each of two nodes, fills it from both, and is killed.
//   braid_vm_writer read-regions POOL
//     Reads it from both nodes, and tells which nodes of its lists lay near.
//
// Exit codes: 0 ok, 1 something is wrong ("@fail ..." says what), 2 usage.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "braid/db.h"
#include "media_error.h"
#include "operations.h"
#include "region_pool.h"
#include "support/database.h"

namespace braid::test {
namespace {

// Acknowledgements that were on the serial line when the power went: far fewer than this.
constexpr uint64_t kMostUnseen = 20'000;

/// One write, so that lines of two threads do not mix.
void Say(const std::string& text) {
  const std::string line = "@" + text + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    std::_Exit(1);
  }
}

int Fail(const std::string& text) {
  Say("fail " + text);
  return 1;
}

Options OptionsOf(uint64_t seed) {
  Random random(seed);
  Options options = RandomTinyOptions(&random);
  options.background_threads = !random.OneIn(4);
  if (random.OneIn(4)) options.verify_on_open = VerifyOnOpen::kFull;
  return options;
}

/// One thread's keys as the pool shows them.
using Contents = std::map<std::string, std::string>;

/// The first operation, `acknowledged` or later, after which the keys of `thread` are as `found`
/// shows them; none: there is no such operation, and `*why` names a key.
std::optional<uint64_t> LastOperation(uint32_t thread, uint64_t acknowledged, const Contents& found,
                                      std::string* why) {
  std::vector<uint64_t> writer(kVmKeys, 0);
  std::vector<bool> right(kVmKeys, false);
  const auto compare = [&](uint32_t key) {
    const auto it = found.find(VmKey(thread, key));
    const std::optional<std::string> want = VmContent(thread, key, writer[key]);
    right[key] = want ? it != found.end() && it->second == *want : it == found.end();
  };
  const auto all_right = [&] {
    return std::find(right.begin(), right.end(), false) == right.end();
  };
  for (uint64_t number = 1; number <= acknowledged; ++number) {
    for (const uint32_t key : KeysOf(thread, number)) writer[key] = number;
  }
  for (uint32_t key = 0; key < kVmKeys; ++key) compare(key);
  for (uint32_t key = 0; key < kVmKeys; ++key) {
    if (right[key]) continue;
    const auto it = found.find(VmKey(thread, key));
    *why = VmKey(thread, key) + " was last written by operation " + std::to_string(writer[key]) +
           ", holds " + (it == found.end() ? "nothing" : Printable(it->second));
    break;
  }
  uint64_t number = acknowledged;
  while (!all_right()) {
    if (++number > acknowledged + kMostUnseen) return std::nullopt;
    for (const uint32_t key : KeysOf(thread, number)) {
      writer[key] = number;
      compare(key);
    }
  }
  return number;
}

class VmWriter {
 public:
  VmWriter(std::string pool, uint64_t seed, std::vector<uint64_t> acknowledged, uint64_t operations)
      : pool_(std::move(pool)),
        seed_(seed),
        numbers_(std::move(acknowledged)),
        operations_(operations),
        options_(OptionsOf(seed)) {}

  void Force(MediaClass media_class) { options_.pool.force_media_class = media_class; }

  int Run() {
    Say("stage opening " + Describe(options_));
    Result<std::unique_ptr<DB>> opened = DB::Open(options_, pool_);
    if (!opened.ok()) return Fail("open: " + opened.status().ToString());
    db_ = std::move(opened).value();
    if (const int code = Check(); code != 0) return code;
    Say("stage writing");
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < kVmThreads; ++t) threads.emplace_back([this, t] { Write(t); });
    std::thread maintenance([this] { Maintain(); });
    for (std::thread& thread : threads) thread.join();
    done_ = true;
    maintenance.join();
    if (failed_) return 1;
    Say("stage closing");
    if (const Status closed = db_->Close(); !closed.ok()) {
      return Fail("close: " + closed.ToString());
    }
    Say("stage closed");
    return 0;
  }

 private:
  int Check() {
    VerifyReport report;
    if (const Status verified = db_->Verify(&report); !verified.ok() || !report.problems.empty()) {
      return Fail("verify: " + verified.ToString() + " " +
                  (report.problems.empty() ? "" : report.problems[0]));
    }
    std::vector<Contents> found(kVmThreads);
    const std::unique_ptr<Iterator> it = db_->NewIterator({});
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      const std::string key(it->key());
      const uint32_t thread = key.empty() ? 0 : static_cast<uint32_t>(key.back() - '0');
      if (thread >= kVmThreads) return Fail("a key that nobody wrote: " + Printable(key));
      found[thread][key] = std::string(it->value());
    }
    if (!it->status().ok()) return Fail("scan: " + it->status().ToString());
    std::string resumed;
    for (uint32_t t = 0; t < kVmThreads; ++t) {
      std::string why;
      const std::optional<uint64_t> last = LastOperation(t, numbers_[t], found[t], &why);
      if (!last) {
        return Fail("lost: thread " + std::to_string(t) + ", acknowledged to " +
                    std::to_string(numbers_[t]) + ": " + why);
      }
      numbers_[t] = *last;
      resumed += " " + std::to_string(*last);
    }
    const Statistics statistics = db_->GetStatistics();
    Say("resumed" + resumed);
    Say("opened clean=" + std::to_string(statistics.clean_open) +
        " replayed=" + std::to_string(statistics.recovered_entries) +
        " class=" + std::string(MediaClassName(statistics.media_class)) +
        " micros=" + std::to_string(statistics.open_micros));
    return 0;
  }

  void Write(uint32_t t) {
    const uint64_t end = numbers_[t] + operations_;
    for (uint64_t number = numbers_[t] + 1; number <= end && !failed_; ++number) {
      WriteBatch batch;
      const std::vector<uint32_t> keys = KeysOf(t, number);
      std::optional<std::string> content;
      for (const uint32_t key : keys) {
        content = VmContent(t, key, number);
        content ? batch.Put(VmKey(t, key), *content) : batch.Delete(VmKey(t, key));
      }
      Status status;
      if (keys.size() > 1) {
        status = db_->Write({}, batch);
      } else {
        const std::string key = VmKey(t, keys[0]);
        status = content ? db_->Put({}, key, *content) : db_->Delete({}, key);
      }
      if (!status.ok()) {
        failed_ = true;
        Fail("write: " + status.ToString());
        return;
      }
      Say("ack " + std::to_string(t) + " " + std::to_string(number));
    }
  }

  void Maintain() {
    Random random(seed_ * 31 + 18);
    while (!done_ && !failed_) {
      std::this_thread::sleep_for(std::chrono::microseconds(random.Below(60'000)));
      const Status status = random.OneIn(2) ? db_->Flush() : db_->Compact();
      if (!status.ok()) {
        failed_ = true;
        Fail("flush or compact: " + status.ToString());
      }
    }
  }

  const std::string pool_;
  const uint64_t seed_;
  std::vector<uint64_t> numbers_;  // the last operation of each thread
  const uint64_t operations_;
  Options options_;
  std::unique_ptr<DB> db_;
  std::atomic<bool> failed_{false};
  std::atomic<bool> done_{false};
};

std::vector<uint64_t> Numbers(const char* text) {
  std::vector<uint64_t> numbers;
  for (char* end = nullptr; numbers.size() < kVmThreads; text = end + 1) {
    numbers.push_back(std::strtoull(text, &end, 10));
    if (*end != ',') break;
  }
  numbers.resize(kVmThreads);
  return numbers;
}

int Main(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "fill" && argc == 3) return FillForMediaError(argv[2]);
  if (verb == "read" && argc == 3) return ReadWithMediaError(argv[2]);
  if (verb == "fill-regions" && argc == 4) return FillRegionsAndDie(argv[2], argv[3]);
  if (verb == "read-regions" && argc == 3) return ReadRegions(argv[2]);
  if (verb != "write" || argc < 6) {
    std::fputs(
        "usage: braid_vm_writer write POOL SEED ACKED,ACKED OPERATIONS [force=byte]\n"
        "       braid_vm_writer fill|read|read-regions POOL\n"
        "       braid_vm_writer fill-regions POOL FOLDER\n",
        stderr);
    return 2;
  }
  VmWriter writer(argv[2], std::strtoull(argv[3], nullptr, 10), Numbers(argv[4]),
                  std::strtoull(argv[5], nullptr, 10));
  if (argc > 6 && std::string_view(argv[6]) == "force=byte") writer.Force(MediaClass::kByte);
  return writer.Run();
}

}  // namespace
}  // namespace braid::test

int main(int argc, char** argv) { return braid::test::Main(argc, argv); }
