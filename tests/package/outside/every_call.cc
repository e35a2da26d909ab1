// Calls every function of the public C++ headers that the library defines: every_call <folder>. It
// has to link; what the calls do is tested elsewhere, so each is looked at just enough to know that
// it was the right one.
#include <braid/db.h>
#include <braid/shared_resources.h>
#include <braid/update.h>
#include <braid/version.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace {

// Ends the program with the line that went wrong.
void Require(bool holds, int line, const std::string& why = "wrong answer") {
  if (holds) return;
  std::fprintf(stderr, "every_call.cc:%d: %s\n", line, why.c_str());
  std::exit(1);
}
void Require(const braid::Status& status, int line) {
  Require(status.ok(), line, status.ToString());
}
#define REQUIRE(what) Require((what), __LINE__)

// A database around another one that adds nothing: what it does not override is the library's.
class Wrapper final : public braid::DB {
 public:
  explicit Wrapper(braid::DB* db) : db_(db) {}
  using braid::DB::Delete;
  using braid::DB::Get;
  using braid::DB::Put;
  using braid::DB::Write;
  braid::Status Put(const braid::WriteOptions& options, braid::Slice key,
                    braid::Slice value) override {
    return db_->Put(options, key, value);
  }
  braid::Status Delete(const braid::WriteOptions& options, braid::Slice key) override {
    return db_->Delete(options, key);
  }
  braid::Status Write(const braid::WriteOptions& options, const braid::WriteBatch& batch) override {
    return db_->Write(options, batch);
  }
  braid::Status Get(const braid::ReadOptions& options, braid::Slice key,
                    std::string* value) override {
    return db_->Get(options, key, value);
  }
  std::unique_ptr<braid::Iterator> NewIterator(const braid::ReadOptions& options) override {
    return db_->NewIterator(options);
  }
  std::shared_ptr<const braid::Snapshot> GetSnapshot() override { return db_->GetSnapshot(); }
  braid::Status Flush() override { return db_->Flush(); }
  braid::Status Compact() override { return db_->Compact(); }
  bool GetProperty(std::string_view name, std::string* value) override {
    return db_->GetProperty(name, value);
  }
  braid::Statistics GetStatistics() override { return db_->GetStatistics(); }
  braid::Status Verify(braid::VerifyReport* report,
                       const std::function<void(double)>& progress) override {
    return db_->Verify(report, progress);
  }
  braid::Status Close() override { return braid::Status::OK(); }

 private:
  braid::DB* db_;
};

// Longer keys come later.
class Backwards final : public braid::Comparator {
 public:
  std::string_view Name() const override { return "backwards"; }
  int Compare(braid::Slice a, braid::Slice b) const override { return b.compare(a); }
};

class ByLength final : public braid::KeyOrder {
 public:
  std::string_view Name() const override { return "by-length"; }
  braid::Status Encode(braid::Slice key, std::string* out) const override {
    if (key.size() > 255) return braid::Status::InvalidArgument("a key has at most 255 bytes");
    out->push_back(static_cast<char>(key.size()));
    out->append(key);
    return braid::Status::OK();
  }
  braid::Status Decode(braid::Slice encoded, std::string* out) const override {
    if (encoded.empty()) return braid::Status::Corruption("an encoded key has a length");
    out->assign(encoded.substr(1));
    return braid::Status::OK();
  }
};

class Listener final : public braid::EventListener {
 public:
  void OnRecovery(const Recovery&) noexcept override { ++recoveries; }
  int recoveries = 0;
};

class OneRecord final : public braid::RecordSource {
 public:
  bool Next(braid::Slice* key, braid::Slice* value) override {
    *key = "ingested";
    *value = "record";
    return std::exchange(left_, false);
  }
  braid::Status status() const override { return braid::Status::OK(); }

 private:
  bool left_ = true;
};

struct CountUpdates final : braid::WriteBatch::Handler {
  void Put(braid::Slice, braid::Slice) override { ++puts; }
  void Delete(braid::Slice) override { ++deletes; }
  void DeleteRange(std::optional<braid::Slice>, std::optional<braid::Slice>) override { ++ranges; }
  int puts = 0;
  int deletes = 0;
  int ranges = 0;
};

void CallWithoutDatabase() {
  braid::Options options;
  REQUIRE(options.Validate());
  REQUIRE(options.Set("memtable.bytes", "1M"));
  REQUIRE(!braid::OptionNames().empty());
  REQUIRE(std::string(braid::MediaClassName(braid::MediaClass::kPage)) == "page");
  REQUIRE(std::string(braid::ListKindName(braid::ListKind::kBraided)) == "braided");
  REQUIRE(std::string(braid::PowerLossName(braid::PowerLoss::kGone)) == "gone");
  REQUIRE(braid::PrefixUpperBound("a") == "b");
  REQUIRE(braid::PrefixBounds("a").upper_bound == "b");
  REQUIRE(braid::TimeOfKey("a", braid::TimeKey("a", 7)) == 7);
  REQUIRE(braid::Status::OutOfMemory().IsOutOfMemory());
  REQUIRE(!braid::KeyOrderNames().empty());
  REQUIRE(braid::FindKeyOrder("uint64-le") == braid::IntegerOrder(braid::IntegerKind::kUint64));
  REQUIRE(braid::ReverseBytewiseOrder()->Name() == "reverse-bytewise");
  auto resources = braid::SharedResources::Create({.memory_budget_bytes = 64u << 20});
  REQUIRE(resources.status());
  REQUIRE((*resources)->memory_budget_bytes() == 64u << 20);
  REQUIRE((*resources)->Usage().databases == 0);
  REQUIRE(std::unique_ptr<braid::SharedResources>() == nullptr);  // names the destructor
  braid::RepairReport report;
  report.findings.push_back({.file = "segment-000000", .lost = true});
  REQUIRE(report.losses() == 1 && !report.findings.front().ToString().empty());

  braid::WriteBatch batch;
  batch.Put("one", "1");
  batch.Delete("one");
  batch.Append(batch);
  braid::WriteBatch range;
  range.DeleteRange("one", std::nullopt);
  REQUIRE(range.Ranges() == 1);
  CountUpdates counted;
  batch.Iterate(&counted);
  REQUIRE(counted.puts == 2 && counted.deletes == 2);
  batch.Clear();
  REQUIRE(batch.Count() == 0);
}

void CallWrapper(braid::DB* db, const std::string& folder) {
  Wrapper wrapper(db);
  REQUIRE(wrapper.Put("key", "value"));
  braid::PinnedValue pinned;
  REQUIRE(wrapper.braid::DB::GetPinned(braid::ReadOptions{}, "key", &pinned));
  REQUIRE(pinned.data() == "value");
  const braid::Slice keys[] = {"key", "none"};
  std::vector<std::string> values;
  REQUIRE(wrapper.braid::DB::MultiGet(braid::ReadOptions{}, keys, &values)[1].IsNotFound());
  // What a database that wraps another one has to pass on itself is not supported otherwise.
  OneRecord record;
  const braid::WriteOptions write;
  REQUIRE(wrapper.braid::DB::CompareAndSwap(write, "key", "value", "new").status().code() ==
          braid::Status::Code::kNotSupported);
  REQUIRE(wrapper.braid::DB::BeginTransaction().status().IsNotSupported());
  REQUIRE(wrapper.braid::DB::DeleteRange(write, "a", std::nullopt, nullptr).IsNotSupported());
  REQUIRE(wrapper.braid::DB::Ingest(&record, {}, nullptr).IsNotSupported());
  REQUIRE(wrapper.braid::DB::CreateCheckpoint(folder + "/no", {}).IsNotSupported());
  REQUIRE(wrapper.braid::DB::CompactRange({}, std::nullopt, std::nullopt).IsNotSupported());
  REQUIRE(wrapper.braid::DB::SetBackgroundLimit(1).IsNotSupported());
  REQUIRE(wrapper.braid::DB::PublishStatistics(true).IsNotSupported());
  const braid::KeyRange range{"", std::nullopt};
  uint64_t size = 0;
  REQUIRE(wrapper.braid::DB::ApproximateSizes({&range, 1}, &size));
  REQUIRE(size > 0);
  const auto it = wrapper.NewIterator({});
  REQUIRE(it->Refresh());
  REQUIRE(it->braid::Iterator::Refresh().IsNotSupported());
  REQUIRE(wrapper.braid::DB::BackgroundStatus().IsNotSupported());
  REQUIRE(wrapper.braid::DB::Resume().IsNotSupported());
}

void CallDatabase(const std::string& folder) {
  const std::string path = folder + "/pool";
  const auto listener = std::make_shared<Listener>();
  braid::Options options;
  options.listener = listener;
  auto opened = braid::DB::Open(options, path);
  REQUIRE(opened.status());
  const std::unique_ptr<braid::DB> db = std::move(opened).value();
  REQUIRE(listener->recoveries == 1);
  CallWrapper(db.get(), folder);
  const auto changed = braid::Update(
      db.get(), "key", [](std::optional<braid::Slice> value) { return std::string(*value) + "!"; });
  REQUIRE(changed.status());
  std::shared_ptr<const braid::Snapshot> held;
  REQUIRE(db->GetSnapshot(&held));
  auto transaction = db->BeginTransaction();
  REQUIRE(transaction.status());
  std::string value;
  REQUIRE((*transaction)->GetForUpdate("key", &value));
  REQUIRE(value == "value!");
  REQUIRE((*transaction)->Commit());
  REQUIRE(db->CompactRange({}, "a", "b"));
  REQUIRE(db->SetBackgroundLimit(0));
  REQUIRE(db->PublishStatistics(true));
  REQUIRE(braid::ExpireBefore(db.get(), {}, "a", 7));
  OneRecord record;
  REQUIRE(db->Ingest(&record, {}, nullptr));
  const braid::Statistics statistics = db->GetStatistics();
  REQUIRE(!braid::ListFields(statistics).empty());
  const braid::LatencyHistogram& puts = statistics.latency(braid::LatencyKind::kPut);
  const uint64_t median = puts.Since(braid::LatencyHistogram()).Percentile(50);
  const size_t bucket = braid::LatencyHistogram::BucketOf(median);
  REQUIRE(puts.count > 0 && braid::LatencyHistogram::LowerNanos(bucket) <= median);
  REQUIRE(median <= braid::LatencyHistogram::UpperNanos(bucket));
  REQUIRE(db->CreateCheckpoint(folder + "/checkpoint"));
  REQUIRE(db->Close());
}

void CallOnPools(const std::string& folder) {
  const braid::Options options;
  const auto info = braid::DB::Inspect(folder + "/pool");
  REQUIRE(info.status());
  REQUIRE(braid::ToJson(*info).starts_with("{"));
  REQUIRE(braid::DB::Restore(options, folder + "/checkpoint", folder + "/restored"));
  braid::RepairReport report;
  REQUIRE(braid::DB::Repair(options, folder + "/pool", folder + "/repaired", &report));
  std::string kept;
  REQUIRE(braid::DB::RepairInPlace(options, folder + "/pool", &report, &kept));

  {
    const std::string compared = folder + "/compared";
    auto db = braid::DB::OpenWithComparator(options, compared, std::make_shared<Backwards>());
    REQUIRE(db.status());
    REQUIRE((*db)->Put("a", "1"));
    db->reset();
    REQUIRE(braid::DB::Destroy(compared));
  }
  const std::string ordered = folder + "/ordered";
  {
    auto db = braid::DB::Open(options, ordered, std::make_shared<ByLength>());
    REQUIRE(db.status());
    REQUIRE((*db)->Put("bb", "2"));
    REQUIRE((*db)->Put("a", "1"));
  }
  {
    braid::Options reads;
    reads.read_only = true;
    auto db = braid::DB::OpenEncoded(reads, ordered);
    REQUIRE(db.status());
    const auto it = (*db)->NewIterator({});
    it->SeekToFirst();
    REQUIRE(it->Valid() && it->key() == std::string("\1a"));
  }
  for (const char* name : {"pool", "checkpoint", "restored", "repaired", "ordered"}) {
    REQUIRE(braid::DB::Destroy(folder + "/" + name));
  }
  REQUIRE(braid::DB::Destroy(kept));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: every_call <folder>\n");
    return 2;
  }
  CallWithoutDatabase();
  CallDatabase(argv[1]);
  CallOnPools(argv[1]);
  std::printf("braid %s: every call\n", BRAID_VERSION_STRING);
  return 0;
}
