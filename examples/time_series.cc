// Measurements by series and time, with ranges, averages and an end to their keeping.
//
//   time_series FOLDER < commands
//
//   add SERIES TIME VALUE              keep a measurement; TIME is any whole number, also below 0
//   range SERIES FROM TO               show those with FROM <= time < TO, oldest first
//   last SERIES COUNT                  show the newest, newest first
//   average SERIES FROM TO STEP        one line for each STEP that has any
//   keep SINCE                         drop all that is older, in every series
//
// A key is the name of the series, a zero byte, and the time as eight bytes, the highest first and
// its top bit flipped: so the order of the bytes is that of the times, below 0 too, and a range of
// times is a range of keys.
#include <braid/db.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

namespace {

using braid::Status;

constexpr uint64_t kTopBit = 1ull << 63;
constexpr size_t kTimeBytes = 8;

uint64_t Ordered(int64_t time) { return static_cast<uint64_t>(time) ^ kTopBit; }

std::string Prefix(const std::string& series) { return series + '\0'; }

std::string Key(const std::string& series, int64_t time) {
  return braid::TimeKey(Prefix(series), Ordered(time));
}

int64_t TimeOf(std::string_view key) {
  const std::string_view prefix = key.substr(0, key.size() - kTimeBytes);
  return static_cast<int64_t>(*braid::TimeOfKey(prefix, key) ^ kTopBit);
}

// A cursor over the measurements of a series with from <= time < to. The bounds belong to the
// cursor: it never leaves the range, whichever way it is moved.
std::unique_ptr<braid::Iterator> Range(braid::DB* db, const std::string& series, int64_t from,
                                       int64_t to) {
  braid::ReadOptions options;
  options.lower_bound = Key(series, from);
  options.upper_bound = Key(series, to);
  return db->NewIterator(options);
}

void Print(const braid::Iterator& at) {
  std::cout << TimeOf(at.key()) << ": " << at.value() << "\n";
}

Status ShowRange(braid::DB* db, const std::string& series, int64_t from, int64_t to) {
  const auto at = Range(db, series, from, to);
  for (at->SeekToFirst(); at->Valid(); at->Next()) Print(*at);
  return at->status();
}

Status ShowLast(braid::DB* db, const std::string& series, int64_t count) {
  const auto at = Range(db, series, INT64_MIN, INT64_MAX);
  for (at->SeekToLast(); at->Valid() && count > 0; at->Prev(), --count) Print(*at);
  return at->status();
}

Status ShowAverages(braid::DB* db, const std::string& series, int64_t from, int64_t to,
                    int64_t step) {
  if (step <= 0) return Status::InvalidArgument("STEP must be above 0");
  const auto at = Range(db, series, from, to);
  at->SeekToFirst();
  while (at->Valid()) {
    const int64_t first = from + (TimeOf(at->key()) - from) / step * step;
    double sum = 0;
    int count = 0;
    for (; at->Valid() && TimeOf(at->key()) - first < step; at->Next(), ++count) {
      sum += std::stod(std::string(at->value()));
    }
    std::cout << first << ": " << sum / count << " of " << count << "\n";
  }
  return at->status();
}

// What is over goes, series by series: a seek finds each one, and ExpireBefore looks at nothing
// that stays. Deleted entries are collected in the background.
Status Keep(braid::DB* db, int64_t since) {
  const auto at = db->NewIterator({});
  at->SeekToFirst();
  while (at->Valid()) {
    const std::string prefix(at->key().substr(0, at->key().size() - kTimeBytes));
    const Status status = braid::ExpireBefore(db, {}, prefix, Ordered(since));
    if (!status.ok()) return status;
    at->Seek(*braid::PrefixUpperBound(prefix));
  }
  return at->status();
}

Status Run(braid::DB* db, const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  std::string series;
  int64_t from = 0;
  int64_t to = 0;
  int64_t step = 0;
  words >> verb;
  if (verb == "keep" && words >> from) return Keep(db, from);
  words >> series >> from;
  if (verb == "last" && words) return ShowLast(db, series, from);
  if (verb == "add" && words) {
    double value = 0;
    if (words >> value) return db->Put(Key(series, from), std::to_string(value));
  }
  words >> to;
  if (verb == "range" && words) return ShowRange(db, series, from, to);
  if (verb == "average" && words >> step) return ShowAverages(db, series, from, to, step);
  return Status::InvalidArgument("not understood: " + line);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: time_series FOLDER < commands\n";
    return 2;
  }
  auto opened = braid::DB::Open({}, argv[1]);
  Status status = opened.status();
  for (std::string line; status.ok() && std::getline(std::cin, line);) {
    if (!line.empty()) status = Run(opened->get(), line);
  }
  if (status.ok()) status = (*opened)->Close();
  if (!status.ok()) std::cerr << "time_series: " << status.ToString() << "\n";
  return status.ok() ? 0 : 1;
}
