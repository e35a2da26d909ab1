// Purpose: DB::Repair: writes what a salvage found into a new pool.
// Thread safety: one thread; two repairs to one target get in each other's way, and one of them
// fails.
// Persistence: the new pool is made under another name, closed and synced; its rename is the commit
// point.
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "braid/db.h"
#include "db/compared_db.h"
#include "db/key_tree.h"
#include "db/open_named.h"
#include "db/ordered_db.h"
#include "db/pool_place.h"
#include "db/progress.h"
#include "repair/salvage.h"

namespace braid {

namespace {

constexpr size_t kBatchRecords = 1024;
constexpr size_t kBatchBytes = 1 << 20;
/// Shares of the work: reading, writing, verifying.
constexpr double kRead = 0.3;
constexpr double kWritten = 0.8;

Status WriteRecords(const repair::Salvage& salvage, DB* db, RepairReport* report,
                    const Progress& progress) {
  // Nobody reads the new pool before it is whole: where there are no batches, none is needed.
  const bool batches = db->GetCapabilities().atomic_batches;
  WriteBatch batch;
  const auto write = [&] {
    if (batch.Count() == 0) return Status::OK();
    Status s = db->Write(batch);
    batch.Clear();
    if (progress) {
      progress(static_cast<double>(report->records) /
               static_cast<double>(std::max<uint64_t>(salvage.records(), 1)));
    }
    return s;
  };
  Status s = salvage.ForEachRecord([&](std::string_view key, std::string_view value) {
    ++report->records;
    report->bytes += key.size() + value.size();
    if (value.size() >= kBatchBytes || !batches) return db->Put(key, value);
    batch.Put(key, value);
    const bool full = batch.Count() >= kBatchRecords || batch.ApproximateBytes() >= kBatchBytes;
    return full ? write() : Status::OK();
  });
  return s.ok() ? write() : s;
}

/// Reads the new pool back as any program would.
Status CheckNewPool(const repair::Salvage& salvage, DB* db, const Progress& progress) {
  VerifyReport verified;
  if (Status s = db->Verify(&verified, progress); !s.ok()) return s;
  const std::unique_ptr<Iterator> it = db->NewIterator({});
  it->SeekToFirst();
  Status s = salvage.ForEachRecord([&](std::string_view key, std::string_view value) {
    if (!it->Valid() || it->key() != key || it->value() != value) {
      return Status::IOError(
          "the new pool does not hold what was written to it; is its medium "
          "sound?");
    }
    it->Next();
    return Status::OK();
  });
  if (s.ok()) s = it->status();
  if (s.ok() && it->Valid()) s = Status::IOError("the new pool holds more than was written to it");
  return s;
}

Status FillNewPool(const Options& of_new, const repair::Salvage& salvage, const std::string& path,
                   const std::string& order_name, RepairReport* report, const Progress& progress) {
  Options fresh = of_new;
  fresh.create_if_missing = true;
  fresh.error_if_exists = true;
  Result<std::unique_ptr<DB>> opened = OpenNamed(fresh, path, order_name);
  if (!opened.ok()) return opened.status();
  DB& db = **opened;
  Status s = WriteRecords(salvage, &db, report, PartOf(progress, kRead, kWritten));
  if (s.ok()) s = db.Flush();
  if (s.ok()) s = CheckNewPool(salvage, &db, PartOf(progress, kWritten, 1.0));
  // The next open, which has the comparator, makes the index of keys again.
  if (s.ok() && IsComparatorName(order_name)) s = ForgetTree(&db);
  const Status closed = db.Close();
  return s.ok() ? closed : s;
}

/// The damaged pool's tier is no other pool's.
Options OptionsOfNew(const Options& options, const RepairOptions& repair_options) {
  Options fresh = options;
  fresh.tier.path = repair_options.new_tier;
  return fresh;
}

/// The order of the new pool's keys, by name: see RepairOptions::key_order.
Result<std::string> NameOfOrder(const repair::Salvage& salvage, const RepairOptions& options) {
  const char* known = salvage.key_order();
  if (options.comparator != nullptr) {
    if (options.key_order != nullptr) {
      return Status::InvalidArgument("a pool has an order of keys or a comparator, not both");
    }
    if (Status s = CheckComparator(*options.comparator); !s.ok()) return s;
    std::string name = HeaderNameOf(options.comparator->Name());
    if (known == nullptr || name == known) return name;
    return Status::InvalidArgument("the damaged pool's keys are in the order \"" +
                                   std::string(known) + "\", not in that of the comparator \"" +
                                   std::string(options.comparator->Name()) + "\"");
  }
  const KeyOrder* const order = options.key_order.get();
  if (order == nullptr) return std::string(known != nullptr ? known : kBytewiseOrder.data());
  if (Status s = CheckKeyOrder(*order); !s.ok()) return s;
  if (known == nullptr || order->Name() == known) return std::string(order->Name());
  return Status::InvalidArgument("the damaged pool's keys are in the order \"" +
                                 std::string(known) + "\", not in \"" + std::string(order->Name()) +
                                 "\"");
}

/// Of a pool with a comparator: a finding about a value has the caller's key; what is lost of the
/// index is no loss.
void TellOfTree(RepairFinding* finding) {
  if (finding->key->starts_with(kValues[0])) {
    finding->key->erase(0, kValues[0].size());
  } else {
    finding->key.reset();
    finding->lost = false;
  }
}

Status CheckOptions(const Options& options, const RepairOptions& repair_options) {
  if (Status s = OptionsOfNew(options, repair_options).Validate(); !s.ok()) return s;
  if (options.tier.path.empty() || options.tier.path != repair_options.new_tier) {
    return Status::OK();
  }
  return Status::InvalidArgument("the new pool needs a tier of its own: " + options.tier.path +
                                 " is that of the damaged one");
}

/// Makes the new pool at `unfinished`. The salvage keeps the damaged pool locked as long as it
/// lives.
Result<std::unique_ptr<repair::Salvage>> SalvageInto(const Options& options,
                                                     const std::string& damaged,
                                                     const std::string& unfinished,
                                                     RepairReport* report,
                                                     const RepairOptions& repair_options) {
  RepairOptions reading = repair_options;
  reading.progress = PartOf(repair_options.progress, 0, kRead);
  Result<std::unique_ptr<repair::Salvage>> salvage =
      repair::Salvage::Read(damaged, reading, options.tier.path);
  if (!salvage.ok()) return salvage;
  const KeyOrder* const order = repair_options.key_order.get();
  Result<std::string> order_name = NameOfOrder(**salvage, repair_options);
  if (!order_name.ok()) return order_name.status();
  *report = (*salvage)->TakeReport();
  for (RepairFinding& finding : report->findings) {
    if (finding.key && IsComparatorName(*order_name)) TellOfTree(&finding);
    if (order != nullptr && finding.key) finding.key = DecodedOrSame(*order, *finding.key);
  }
  if (Status s = RemoveInterrupted(unfinished); !s.ok()) return s;
  Status s = FillNewPool(OptionsOfNew(options, repair_options), **salvage, unfinished, *order_name,
                         report, repair_options.progress);
  if (s.ok()) return salvage;
  return RemoveUnfinished(unfinished, s);
}

}  // namespace

Status DB::Repair(const Options& options, const std::string& damaged, const std::string& target,
                  RepairReport* report, const RepairOptions& repair_options) {
  *report = RepairReport{};
  if (Status s = CheckOptions(options, repair_options); !s.ok()) return s;
  const std::string to = WithoutSlash(target);
  if (Status s = CheckPlace(to); !s.ok()) return s;
  if (Status s = CheckApart(damaged, to); !s.ok()) return s;
  const std::string unfinished = to + ".unfinished";
  auto salvage = SalvageInto(options, damaged, unfinished, report, repair_options);
  if (!salvage.ok()) return salvage.status();
  return TakePlace(unfinished, to);
}

Status DB::RepairInPlace(const Options& options, const std::string& path, RepairReport* report,
                         std::string* kept, const RepairOptions& repair_options) {
  *report = RepairReport{};
  if (Status s = CheckOptions(options, repair_options); !s.ok()) return s;
  const std::string at = WithoutSlash(path);
  const std::string unfinished = at + ".unfinished";
  auto salvage = SalvageInto(options, at, unfinished, report, repair_options);
  if (!salvage.ok()) return salvage.status();
  // The new pool takes the name that the damaged one will have, and then the two are swapped in one
  // step: at every moment there is a pool at `path`, and no interruption leaves the damaged one
  // under a name that a later repair clears away.
  for (int number = 1; number < 10'000; ++number) {
    *kept = at + ".damaged-" + std::to_string(number);
    if (::access(kept->c_str(), F_OK) == 0) continue;
    if (Status s = Rename(unfinished, *kept, RENAME_NOREPLACE); !s.ok()) return s;
    return Rename(*kept, at, RENAME_EXCHANGE);
  }
  return Status::IOError("there are too many damaged pools next to " + at + "; remove some");
}

uint64_t RepairReport::losses() const noexcept {
  return static_cast<uint64_t>(std::count_if(
      findings.begin(), findings.end(), [](const RepairFinding& finding) { return finding.lost; }));
}

std::string RepairFinding::ToString() const {
  char place[32];
  std::snprintf(place, sizeof place, "+0x%llx", static_cast<unsigned long long>(offset));
  return file + place + ": " + object + ": " + problem +
         (bytes > 1 ? " (" + std::to_string(bytes) + " bytes)" : "");
}

}  // namespace braid
