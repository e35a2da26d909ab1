#include "crash/campaign.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>

#include "crash/mutant_table.h"
#include "sim/faults.h"
#include "support/environment.h"

namespace braid::crash {
namespace {

// Most points are known completely after a few runs; the rest is worth fewer images than more
// histories are (docs/internals/crash-simulator.md has the numbers).
constexpr CampaignSize kPush{"push", {4096, 24, 32}, 1'000'000};
constexpr CampaignSize kNight{"night", {65'536, 256, 512}, 50'000'000};
constexpr CampaignSize kRelease{"release", {1u << 20, 2048, 4096}, 1'000'000'000};
constexpr uint64_t kMaxImagesARun = 20'000;

const char* mutant_under_test = nullptr;
const Device* device_under_test = nullptr;

const char* Environment(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? text : nullptr;
}

std::string ReplayLine(const char* workload, const Position& at) {
  char text[2048];
  std::snprintf(text, sizeof text,
                "BRAID_TEST_SIZE=%s BRAID_CRASH_REPLAY=%s%s%s braid_crash_tests "
                "--gtest_filter='*/%s'",
                Size().name, ToText(at).c_str(),
                mutant_under_test != nullptr ? " BRAID_MUTANT=" : "",
                mutant_under_test != nullptr ? mutant_under_test : "", workload);
  return text;
}

std::string Explain(const Workload& workload, const Failure& failure) {
  return workload.name + ": " + failure.what +
         "\n  replay: " + ReplayLine(workload.name.c_str(), failure.position);
}

/// Only what is sure to work: the process is dying, and one line is worth more than tidiness.
extern "C" void ReportDeath(int signal_number) {
  const std::string replay = ReplayLine(current_workload, current_position);
  char text[2300];
  const char* reason = signal_number == SIGALRM ? "hangs" : strsignal(signal_number);
  const unsigned long long images =
      device_under_test != nullptr ? const_cast<Device*>(device_under_test)->checker.counts().images
                                   : 0;
  const int length =
      mutant_under_test != nullptr
          ? std::snprintf(text, sizeof text, "killed %s after %llu images by %s: the process %s\n",
                          mutant_under_test, images, current_workload, reason)
          : std::snprintf(text, sizeof text, "%s: the process %s\n  replay: %s\n", current_workload,
                          reason, replay.c_str());
  if (length > 0) {
    [[maybe_unused]] const ssize_t written =
        write(mutant_under_test != nullptr ? STDOUT_FILENO : STDERR_FILENO, text,
              static_cast<size_t>(length));
  }
  _exit(mutant_under_test != nullptr ? 0 : 1);
}

}  // namespace

const CampaignSize& Size() {
  static const CampaignSize& size = [&]() -> const CampaignSize& {
    const char* text = Environment("BRAID_TEST_SIZE");
    const std::string_view name = text != nullptr ? text : "push";
    for (const CampaignSize* known : {&kPush, &kNight, &kRelease}) {
      if (name == known->name) return *known;
    }
    std::fprintf(stderr, "BRAID_TEST_SIZE must be push, night or release\n");
    std::exit(2);
  }();
  return size;
}

/// With several threads the order of their steps matters more than the lines: many short looks.
sim::ImageLimits ImagesAtAPoint(const Workload& workload) {
  sim::ImageLimits images = Size().images;
  if (workload.threads > 1) images = {images.exhaustive, images.sampled / 4, images.runs / 4};
  // Where nothing is pruned, every image is a run.
  if (workload.media_class != MediaClass::kCacheLine) images.exhaustive = images.runs * 3 / 2;
  return images;
}

uint64_t ImagesFor(const Workload& workload) {
  if (workload.threads > 1) return Size().total_images / 20 / test::PartOfPush();
  const auto workloads = static_cast<uint64_t>(
      std::count_if(AllWorkloads().begin(), AllWorkloads().end(), [&](const Workload& other) {
        return other.kind.name == workload.kind.name && other.media_class == workload.media_class;
      }));
  const uint64_t share = workload.media_class == MediaClass::kCacheLine ? 3
                         : workload.media_class == MediaClass::kPage    ? 2
                                                                        : 1;
  const uint64_t trials = &Size() == &kPush ? workload.kind.share_of_trials() : 1;
  const uint64_t total = Size().total_images / (trials * test::PartOfPush());
  return total * share / 6 / workloads / workload.cost + 1;
}

uint64_t FirstSeed() {
  const char* text = Environment("BRAID_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 0) : 1;
}

double SecondsAWorkload() {
  const char* text = Environment("BRAID_CRASH_SECONDS");
  if (text == nullptr) return std::numeric_limits<double>::infinity();
  const double seconds = std::strtod(text, nullptr);
  if (seconds > 0) return seconds / static_cast<double>(AllWorkloads().size());
  std::fprintf(stderr, "BRAID_CRASH_SECONDS must be a number of seconds above 0\n");
  std::exit(2);
}

std::optional<std::string> RunWorkload(Device* device, const Workload& workload, uint64_t images,
                                       double seconds, uint64_t* next_seed) {
  const Counts& counts = device->checker.counts();
  const uint64_t target = counts.images + images;
  const auto begin = std::chrono::steady_clock::now();
  while (counts.images < target) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (passed.count() >= seconds) break;
    RunSettings settings;
    settings.images = ImagesAtAPoint(workload);
    settings.max_images = std::min(target - counts.images, kMaxImagesARun);
    const std::optional<Failure> failure = RunOnce(device, workload, (*next_seed)++, settings);
    if (failure.has_value()) return Explain(workload, *failure);
  }
  return std::nullopt;
}

std::optional<Position> ReplayFromEnvironment() {
  const char* text = Environment("BRAID_CRASH_REPLAY");
  if (text == nullptr) return std::nullopt;
  Position position;
  if (!ParsePosition(text, &position)) {
    std::fprintf(
        stderr,
        "BRAID_CRASH_REPLAY must be seed:point:image as a failure prints it: numbers, or a "
        "p and numbers with dots for the image\n");
    std::exit(2);
  }
  return position;
}

std::optional<std::string> ReplayOne(Device* device, const Workload& workload, const Position& at) {
  RunSettings settings;
  settings.images = ImagesAtAPoint(workload);
  settings.replay = at;
  const std::optional<Failure> failure = RunOnce(device, workload, at.seed, settings);
  if (failure.has_value()) return Explain(workload, *failure);
  return std::nullopt;
}

std::string Describe(const Counts& counts, double seconds) {
  const auto number = [](uint64_t n) { return std::to_string(n); };
  char rate[96];
  std::snprintf(rate, sizeof rate, "%.1f s, %.0f checked/s, %.0f checked and pruned/s", seconds,
                seconds > 0 ? static_cast<double>(counts.images) / seconds : 0.0,
                seconds > 0 ? static_cast<double>(counts.images + counts.pruned) / seconds : 0.0);
  return number(counts.images) + " checked, " + number(counts.pruned) + " pruned (in recovery " +
         number(counts.nested[1]) + " once, " + number(counts.nested[2]) + " twice, " +
         number(counts.nested[3]) + " three times; " + number(counts.process_crashes) +
         " process crashes, " + number(counts.readers) + " opened for reading first, " +
         number(counts.repaired) + " repaired, " + number(counts.continued) + " continued), " +
         number(counts.duplicates) + " duplicates, " + number(counts.rechecked) +
         " rechecked, all images known at " + number(counts.complete) + " of " +
         number(counts.points) + " points, " + number(counts.runs) + " runs, " +
         number(counts.operations) + " operations, " + rate;
}

void InstallDeathReport() {
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) {
    struct sigaction action {};
    action.sa_handler = ReportDeath;
    action.sa_flags = SA_RESETHAND | SA_NODEFER;
    sigaction(number, &action, nullptr);
  }
}

int RunMutant(const std::string& name) {
  const MutantFacts* const facts = FactsOf(name);
  if (facts == nullptr || !sim::SwitchOn(name)) {
    std::fprintf(stderr, "no fault is called %s; --list_mutants names them\n", name.c_str());
    return 2;
  }
  mutant_under_test = name.c_str();
  Device device;
  device_under_test = &device;
  std::vector<uint64_t> next_seed(AllWorkloads().size(), FirstSeed());
  const auto killed_by = [&](size_t number, uint64_t images) {
    const std::optional<std::string> failure =
        RunWorkload(&device, AllWorkloads()[number], images,
                    std::numeric_limits<double>::infinity(), &next_seed[number]);
    if (!failure.has_value()) return false;
    std::printf("killed %s after %llu images by %s\n", name.c_str(),
                static_cast<unsigned long long>(device.checker.counts().images), failure->c_str());
    return true;
  };
  // First the workload that is known to find it; then all, in small rounds first.
  const char* const hint = facts->workload;
  for (size_t i = 0; hint != nullptr && i < AllWorkloads().size(); ++i) {
    if (std::string_view(AllWorkloads()[i].name) == hint && killed_by(i, 60'000)) return 0;
  }
  for (const uint64_t images : {400u, 2'000u, 8'000u, 20'000u}) {
    for (size_t i = 0; i < AllWorkloads().size(); ++i) {
      if (killed_by(i, images / AllWorkloads()[i].cost)) return 0;
    }
  }
  std::printf("survived %s: %llu images of all workloads show nothing wrong\n", name.c_str(),
              static_cast<unsigned long long>(device.checker.counts().images));
  return 1;
}

void ListMutants() {
  for (const MutantFacts& facts : AllMutants()) {
    std::printf("%.*s\t%s\t%s\t%s\n", static_cast<int>(facts.name.size()), facts.name.data(),
                facts.part, facts.mistake, facts.tests != nullptr ? facts.tests : "");
  }
}

}  // namespace braid::crash
