// A queue of jobs that several workers share and that survives being killed at any moment.
//
//   work_queue FOLDER push COUNT      add COUNT jobs
//   work_queue FOLDER work WORKERS    do all jobs with so many threads
//   work_queue FOLDER show            print how many jobs wait and how many are done
//
// Keys:    job/ID      the job: a letter, 'w' for waiting or 't' for taken, then its number
//          result/ID   what came out of it
//          next        the number of the next job
// ID has eight bytes, the highest first, so that the order of the keys is that of the numbers.
//
// What makes it safe, without a lock anywhere:
//   push   CompareAndSwap on the counter gives each ID to one pusher, never twice; a crash right
//          after it leaves a gap, which nobody minds.
//   take   CompareAndSwap turns 'w' into 't' for one worker; the others see false and go on.
//   done   one batch stores the result and removes the job: both or neither survive a crash.
//   open   what is taken now was taken by a process that is no more: it waits again.
#include <braid/db.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::string_view kJobs = "job/";
constexpr std::string_view kResults = "result/";
constexpr std::string_view kNext = "next";

void Require(const braid::Status& status) {
  if (status.ok()) return;
  std::cerr << "work_queue: " << status.ToString() << "\n";
  std::exit(1);
}

std::string Key(std::string_view folder, uint64_t id) {
  std::string key(folder);
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>(id >> shift));
  return key;
}

uint64_t IdOf(std::string_view key) {
  uint64_t id = 0;
  for (const char byte : key.substr(key.size() - 8)) id = id << 8 | static_cast<uint8_t>(byte);
  return id;
}

// An iterator over the keys of one folder; '0' is the byte after '/'.
std::unique_ptr<braid::Iterator> Walk(braid::DB* db, std::string_view folder) {
  braid::ReadOptions options;
  options.lower_bound = std::string(folder);
  options.upper_bound = std::string(folder.substr(0, folder.size() - 1)) + '0';
  return db->NewIterator(options);
}

// A number that no other call gets.
uint64_t NewId(braid::DB* db) {
  for (;;) {
    std::string next;
    const braid::Status found = db->Get(kNext, &next);
    if (!found.IsNotFound()) Require(found);
    const uint64_t id = found.ok() ? std::stoull(next) : 1;
    auto ours =
        db->CompareAndSwap(kNext, found.ok() ? std::optional<braid::Slice>(next) : std::nullopt,
                           std::to_string(id + 1));
    Require(ours.status());
    if (*ours) return id;  // else another pusher was faster
  }
}

void Push(braid::DB* db, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t id = NewId(db);
    Require(db->Put(Key(kJobs, id), "w" + std::to_string(id)));
  }
}

// Puts back what a killed process had taken.
void Recover(braid::DB* db) {
  const auto job = Walk(db, kJobs);
  for (job->SeekToFirst(); job->Valid(); job->Next()) {
    if (job->value().front() != 't') continue;
    Require(db->Put(job->key(), "w" + std::string(job->value().substr(1))));
  }
  Require(job->status());
}

struct Job {
  std::string key;
  std::string number;
};

// The first waiting job at or after `from` that nobody takes before us; false when there is none.
bool Take(braid::DB* db, const std::string& from, Job* taken) {
  const auto job = Walk(db, kJobs);
  for (job->Seek(from); job->Valid(); job->Next()) {
    const std::string waiting(job->value());
    if (waiting.front() != 'w') continue;
    taken->key = job->key();
    taken->number = waiting.substr(1);
    auto ours = db->CompareAndSwap(taken->key, waiting, "t" + taken->number);
    Require(ours.status());
    if (*ours) return true;
  }
  Require(job->status());
  return false;
}

// The work: how many steps Collatz's sequence takes from a number down to 1.
std::string Do(const std::string& number) {
  uint64_t steps = 0;
  for (uint64_t n = std::stoull(number); n > 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  return std::to_string(steps);
}

void Work(braid::DB* db) {
  // Jobs before the last one we took are taken: no need to look there again.
  std::string from(kJobs);
  for (Job job; Take(db, from, &job); from = job.key) {
    braid::WriteBatch done;
    done.Put(Key(kResults, IdOf(job.key)), Do(job.number));
    done.Delete(job.key);
    Require(db->Write(done));
  }
}

void Show(braid::DB* db) {
  uint64_t waiting = 0;
  uint64_t done = 0;
  uint64_t steps = 0;
  const auto job = Walk(db, kJobs);
  for (job->SeekToFirst(); job->Valid(); job->Next()) ++waiting;
  Require(job->status());
  const auto result = Walk(db, kResults);
  for (result->SeekToFirst(); result->Valid(); result->Next()) {
    ++done;
    steps += std::stoull(std::string(result->value()));
  }
  Require(result->status());
  std::cout << waiting << " waiting, " << done << " done, " << steps << " steps\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string verb = arguments.size() > 1 ? arguments[1] : "";
  uint64_t count = 0;
  bool understood = verb == "show" && arguments.size() == 2;
  if ((verb == "push" || verb == "work") && arguments.size() == 3) {
    const char* end = arguments[2].data() + arguments[2].size();
    understood = std::from_chars(arguments[2].data(), end, count).ptr == end && count > 0;
  }
  if (!understood) {
    std::cerr << "usage: work_queue FOLDER push COUNT | work WORKERS | show\n";
    return 2;
  }
  auto opened = braid::DB::Open({}, arguments[0]);
  Require(opened.status());
  braid::DB* db = opened->get();
  if (verb == "push") Push(db, count);
  if (verb == "show") Show(db);
  if (verb == "work") {
    Recover(db);
    std::vector<std::thread> workers;
    for (uint64_t i = 0; i < count; ++i) workers.emplace_back(Work, db);
    for (std::thread& worker : workers) worker.join();
  }
  Require(db->Close());
  return 0;
}
