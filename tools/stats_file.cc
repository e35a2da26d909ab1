#include "tools/stats_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/text_format.h"

namespace braid::tools {
namespace {

constexpr const char* kSchema = "braid-stats/1";
constexpr size_t kMostText = 1 << 20;
constexpr double kStaleSeconds = 10;  // ten times what it takes when all is well

Status WriteAndRename(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());  // left over, or something that an open would wait for
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  const bool written =
      fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  int error = errno;
  if (fd >= 0) ::close(fd);
  if (written && std::rename(fresh.c_str(), path.c_str()) == 0) return Status::OK();
  if (written) error = errno;
  if (fd >= 0) ::unlink(fresh.c_str());
  return Status::IOError(fmt::format("can't write '{}': {}: leave --publish-stats out to go on",
                                     path, std::strerror(error)));
}

nlohmann::ordered_json LatenciesToJson(const StatsSnapshot& snapshot) {
  auto object = nlohmann::ordered_json::object();
  for (const auto& [kind, of] : snapshot.latencies) {
    auto buckets = nlohmann::ordered_json::array();
    for (size_t i = 0; i < of.buckets.size(); ++i) {
      if (of.buckets[i] == 0) continue;
      buckets.push_back({LatencyHistogram::LowerNanos(i), of.buckets[i]});
    }
    object[kind] = {{"count", of.count},
                    {"sum_nanos", of.sum_nanos},
                    {"max_nanos", of.max_nanos},
                    {"buckets", std::move(buckets)}};
  }
  return object;
}

/// Throws what the JSON library throws.
LatencyHistogram LatencyFromJson(const nlohmann::ordered_json& object) {
  LatencyHistogram of;
  of.sum_nanos = object.at("sum_nanos").get<uint64_t>();
  of.max_nanos = object.at("max_nanos").get<uint64_t>();
  for (const auto& bucket : object.at("buckets")) {
    const auto count = bucket.at(1).get<uint64_t>();
    of.buckets[LatencyHistogram::BucketOf(bucket.at(0).get<uint64_t>())] += count;
    of.count += count;
  }
  return of;
}

}  // namespace

const LatencyHistogram* StatsSnapshot::Latency(std::string_view kind) const {
  for (const auto& [name, of] : latencies) {
    if (name == kind) return &of;
  }
  return nullptr;
}

std::optional<uint64_t> StatsSnapshot::Value(std::string_view name) const {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [name](const auto& value) { return value.first == name; });
  if (found == values.end()) return std::nullopt;
  return found->second;
}

StatsSnapshot MakeSnapshot(const Statistics& statistics) {
  StatsSnapshot snapshot;
  snapshot.about = fmt::format("design {}, media class {}{}", statistics.design,
                               MediaClassName(statistics.media_class),
                               statistics.media_class_forced ? " (forced)" : "");
  for (const StatisticsField& field : ListFields(statistics)) {
    snapshot.values.emplace_back(field.name, field.value);
  }
  for (size_t i = 0; i < kLatencyKinds; ++i) {
    snapshot.latencies.emplace_back(LatencyKindName(static_cast<LatencyKind>(i)),
                                    statistics.latencies[i]);
  }
  return snapshot;
}

std::string StatsFilePath(const std::string& pool) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::weakly_canonical(pool, error);
  if (error) path = pool;
  // "pool/" has no name.
  if (!path.has_filename()) path = path.parent_path();
  return path.string() + ".stats.json";
}

std::string FormatSnapshot(const StatsSnapshot& snapshot) {
  nlohmann::ordered_json object = {{"schema", kSchema},
                                   {"pid", snapshot.pid},
                                   {"about", snapshot.about},
                                   {"seconds", snapshot.seconds}};
  object["values"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : snapshot.values) object["values"][name] = value;
  object["latencies"] = LatenciesToJson(snapshot);
  // A design's name comes from a command line and need not be UTF-8.
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<StatsSnapshot> ParseSnapshot(std::string_view text) {
  try {
    const auto object = nlohmann::ordered_json::parse(text);
    if (object.at("schema") != kSchema) {
      return Status::Corruption("it has another schema than " + std::string(kSchema));
    }
    StatsSnapshot snapshot;
    snapshot.pid = object.at("pid").get<int64_t>();
    snapshot.about = object.at("about").get<std::string>();
    snapshot.seconds = object.at("seconds").get<double>();
    for (const auto& [name, value] : object.at("values").items()) {
      snapshot.values.emplace_back(name, value.get<uint64_t>());
    }
    // A program of an earlier version tells none.
    if (const auto latencies = object.find("latencies"); latencies != object.end()) {
      for (const auto& [kind, of] : latencies->items()) {
        snapshot.latencies.emplace_back(kind, LatencyFromJson(of));
      }
    }
    return snapshot;
  } catch (const nlohmann::json::exception& error) {
    return Status::Corruption(error.what());
  }
}

Seen ReadStatsFile(const std::string& pool, StatsSnapshot* snapshot, std::string* why) {
  const std::string path = StatsFilePath(pool);
  struct stat facts {};
  std::string text;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const bool found = fd >= 0 && ::fstat(fd, &facts) == 0;
  if (!found || !S_ISREG(facts.st_mode)) {
    const int error = found ? EMEDIUMTYPE : errno;  // a pipe, say
    const bool none = error == ENOENT || error == ENOTDIR;
    *why = std::strerror(error);
    if (fd >= 0) ::close(fd);
    return none ? Seen::kNoFile : Seen::kUnreadable;
  }
  char bytes[4096];
  for (ssize_t count = 0;
       text.size() < kMostText && (count = ::read(fd, bytes, sizeof bytes)) > 0;) {
    text.append(bytes, static_cast<size_t>(count));
  }
  ::close(fd);
  Result<StatsSnapshot> parsed = ParseSnapshot(text);
  if (!parsed.ok()) {
    *why = parsed.status().message();
    return Seen::kUnreadable;
  }
  *snapshot = std::move(parsed).value();
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const double age = static_cast<double>(now.tv_sec - facts.st_mtim.tv_sec) +
                     static_cast<double>(now.tv_nsec - facts.st_mtim.tv_nsec) / 1e9;
  const auto pid = static_cast<pid_t>(snapshot->pid);
  const bool gone = pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
  *why = gone ? fmt::format("process {} has ended without closing the pool", pid)
              : fmt::format("process {} has told nothing for {}: it hangs, or its disk is full",
                            pid, DurationText(age));
  return gone || age > kStaleSeconds ? Seen::kStale : Seen::kSnapshot;
}

Result<std::unique_ptr<StatsPublisher>> StatsPublisher::Start(const std::string& pool,
                                                              Collect collect,
                                                              std::chrono::milliseconds interval) {
  std::unique_ptr<StatsPublisher> publisher(new StatsPublisher(pool, std::move(collect), interval));
  if (Status status = publisher->Publish(); !status.ok()) return status;
  publisher->thread_ = std::thread([self = publisher.get()] { self->Loop(); });
  return publisher;
}

StatsPublisher::StatsPublisher(const std::string& pool, Collect collect,
                               std::chrono::milliseconds interval)
    : path_(StatsFilePath(pool)),
      collect_(std::move(collect)),
      interval_(interval),
      start_(std::chrono::steady_clock::now()) {}

StatsPublisher::~StatsPublisher() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  thread_.join();
  ::unlink(path_.c_str());
}

Status StatsPublisher::Publish() {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  StatsSnapshot snapshot = collect_();
  snapshot.pid = ::getpid();
  snapshot.seconds = elapsed.count();
  return WriteAndRename(path_, FormatSnapshot(snapshot));
}

void StatsPublisher::Loop() {
  std::unique_lock lock(mutex_);
  // Invariant 2: a full disk shows as a file that grows old.
  while (!wake_.wait_for(lock, interval_, [this] { return stopped_; })) (void)Publish();
}

}  // namespace braid::tools
