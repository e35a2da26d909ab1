// Purpose: the file that tells what a store does.
// Thread safety, invariants, persistence: see statistics_publisher.h.
#include "db/statistics_publisher.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/no_throw.h"

namespace braid {

namespace {

/// {"get":{"count":..,"sum_nanos":..,"max_nanos":..,"buckets":[[least nanoseconds,count],..]},..}
std::string FormatLatencies(const Statistics& statistics) {
  std::string text = "{";
  for (size_t i = 0; i < kLatencyKinds; ++i) {
    const LatencyHistogram& of = statistics.latencies[i];
    text += std::string(i == 0 ? "\"" : ",\"") + LatencyKindName(static_cast<LatencyKind>(i)) +
            "\":{\"count\":" + std::to_string(of.count) +
            ",\"sum_nanos\":" + std::to_string(of.sum_nanos) +
            ",\"max_nanos\":" + std::to_string(of.max_nanos) + ",\"buckets\":[";
    bool first = true;
    for (size_t b = 0; b < of.buckets.size(); ++b) {
      if (of.buckets[b] == 0) continue;
      text += std::string(std::exchange(first, false) ? "[" : ",[") +
              std::to_string(LatencyHistogram::LowerNanos(b)) + "," +
              std::to_string(of.buckets[b]) + "]";
    }
    text += "]}";
  }
  return text + "}";
}

/// A design's name is one of the registry's, so nothing here is to be escaped.
std::string Format(const Statistics& statistics, double seconds) {
  std::string text = "{\"schema\":\"braid-stats/1\",\"pid\":" + std::to_string(::getpid()) +
                     ",\"about\":\"design " + statistics.design + ", media class " +
                     MediaClassName(statistics.media_class) +
                     (statistics.media_class_forced ? " (forced)" : "") +
                     "\",\"seconds\":" + std::to_string(seconds) + ",\"values\":{";
  bool first = true;
  for (const StatisticsField& field : ListFields(statistics)) {
    if (!std::exchange(first, false)) text += ',';
    text += std::string("\"") + field.name + "\":" + std::to_string(field.value);
  }
  return text + "},\"latencies\":" + FormatLatencies(statistics) + "}\n";
}

Status WriteAndRename(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());  // left over, or something that an open would wait for
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  int error = errno;
  bool written = false;
  if (fd >= 0) {
    written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    error = errno;
    ::close(fd);
  }
  if (written && ::rename(fresh.c_str(), path.c_str()) == 0) return Status::OK();
  if (written) error = errno;
  if (fd >= 0) ::unlink(fresh.c_str());
  return Status::IOError("cannot write the statistics to " + path + ": " + std::strerror(error) +
                         "; the folder that holds the pool's must be writable for it");
}

}  // namespace

std::string StatisticsPublisher::PathOf(const std::string& pool) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::weakly_canonical(pool, error);
  if (error) path = pool;
  if (!path.has_filename()) path = path.parent_path();  // "pool/" has no name
  return path.string() + ".stats.json";
}

Result<std::unique_ptr<StatisticsPublisher>> StatisticsPublisher::Start(
    const std::string& pool, Collect collect, std::chrono::milliseconds interval) {
  std::unique_ptr<StatisticsPublisher> made(
      new StatisticsPublisher(pool, std::move(collect), interval));
  if (Status s = made->Publish(); !s.ok()) return s;
  try {
    made->thread_ = std::thread([self = made.get()] { self->Loop(); });
  } catch (const std::system_error&) {
    ::unlink(made->path_.c_str());
    return Status::OutOfMemory();
  }
  return made;
}

StatisticsPublisher::StatisticsPublisher(const std::string& pool, Collect collect,
                                         std::chrono::milliseconds interval)
    : path_(PathOf(pool)),
      collect_(std::move(collect)),
      interval_(interval),
      start_(std::chrono::steady_clock::now()) {}

StatisticsPublisher::~StatisticsPublisher() {
  if (!thread_.joinable()) return;
  {
    const base::MutexLock lock(mutex_);
    stopped_ = true;
  }
  wake_.NotifyAll();
  thread_.join();
  ::unlink(path_.c_str());
}

Status StatisticsPublisher::Publish() const {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  return WriteAndRename(path_, Format(collect_(), elapsed.count()));
}

void StatisticsPublisher::Loop() noexcept {
  for (;;) {
    {
      const base::MutexLock lock(mutex_);
      if (!stopped_) wake_.WaitFor(mutex_, interval_);
      if (stopped_) return;
    }
    // Invariant 2: a full disk shows as a file that grows old.
    base::IgnoreExceptions([&] { (void)Publish(); });
  }
}

}  // namespace braid
