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

std::string Key(const std::string& series, int64_t time) {
  std::string key = series + '\0';
  const uint64_t ordered = static_cast<uint64_t>(time) ^ kTopBit;
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>(ordered >> shift));
  return key;
}

int64_t TimeOf(std::string_view key) {
  uint64_t ordered = 0;
  for (const char byte : key.substr(key.size() - kTimeBytes)) {
    ordered = ordered << 8 | static_cast<uint8_t>(byte);
  }
  return static_cast<int64_t>(ordered ^ kTopBit);
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

// Deletes in batches, so that neither memory nor the batch grows with what is dropped. Nothing else
// need be done: deleted entries are collected in the background, and no seek steps over them twice.
Status Keep(braid::DB* db, int64_t since) {
  constexpr size_t kBatch = 1000;
  braid::WriteBatch drop;
  const auto at = db->NewIterator({});
  at->SeekToFirst();
  while (at->Valid()) {
    if (TimeOf(at->key()) < since) {
      drop.Delete(at->key());
      at->Next();
    } else {  // the rest of this series is younger: on to the next
      const std::string_view key = at->key();
      at->Seek(std::string(key.substr(0, key.size() - kTimeBytes - 1)) + '\1');
    }
    if (drop.Count() == kBatch || !at->Valid()) {
      if (Status status = db->Write(drop); !status.ok()) return status;
      drop.Clear();
    }
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
