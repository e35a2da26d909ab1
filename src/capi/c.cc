// Purpose: the calls of braid/c.h that work on a database: the database itself, iterators and
// batches.
// Thread safety: as in braid/c.h.
// Persistence: none; every promise is that of braid/db.h.
#include <optional>
#include <vector>

#include "base/no_throw.h"
#include "capi/handles.h"
#include "engine/empty_iterator.h"

using braid::DB;
using braid::Result;
using braid::Slice;
using braid::Status;
using braid::capi::CopyBytes;
using braid::capi::Guard;
using braid::capi::NullOnThrow;
using braid::capi::SaveText;
using Refusal = braid_writebatch_t::Refusal;

// ---- Database --------------------------------------------------------------------------------

braid_t* braid_open(const braid_options_t* options, const char* name, char** errptr) {
  std::unique_ptr<braid_t> db;
  Guard(errptr, [&] {
    Result<braid::Options> made = braid::capi::MakeOptions(*options);
    if (!made.ok()) return made.status();
    auto handle = std::make_unique<braid_t>();
    handle->order = options->order;
    handle->comparator = options->comparator;
    Result<std::unique_ptr<DB>> opened =
        handle->comparator != nullptr ? DB::OpenWithComparator(*made, name, handle->comparator)
                                      : DB::Open(*made, name, handle->order);
    if (!opened.ok()) return opened.status();
    handle->rep = std::move(opened).value();
    db = std::move(handle);
    return Status::OK();
  });
  return db.release();
}

void braid_close(braid_t* db) {
  if (db == nullptr) return;
  char* error = nullptr;
  Guard(&error, [&] { return db->rep->Close(); });
  braid_free(error);
  delete db;
}

void braid_put(braid_t* db, const braid_writeoptions_t* options, const char* key, size_t keylen,
               const char* val, size_t vallen, char** errptr) {
  Guard(errptr, [&] { return db->rep->Put(options->rep, Slice(key, keylen), Slice(val, vallen)); });
}

void braid_delete(braid_t* db, const braid_writeoptions_t* options, const char* key, size_t keylen,
                  char** errptr) {
  Guard(errptr, [&] { return db->rep->Delete(options->rep, Slice(key, keylen)); });
}

void braid_delete_range(braid_t* db, const braid_writeoptions_t* options, const char* begin,
                        size_t beginlen, const char* end, size_t endlen, uint64_t* deleted,
                        char** errptr) {
  if (deleted != nullptr) *deleted = 0;
  Guard(errptr, [&] {
    std::optional<Slice> until;
    if (end != nullptr) until = Slice(end, endlen);
    return db->rep->DeleteRange(options->rep, Slice(begin, beginlen), until, deleted);
  });
}

unsigned char braid_compare_and_swap(braid_t* db, const braid_writeoptions_t* options,
                                     const char* key, size_t keylen, const char* expected,
                                     size_t expectedlen, const char* desired, size_t desiredlen,
                                     char** errptr) {
  bool swapped = false;
  Guard(errptr, [&] {
    std::optional<Slice> content;
    if (expected != nullptr) content = Slice(expected, expectedlen);
    Result<bool> result = db->rep->CompareAndSwap(options->rep, Slice(key, keylen), content,
                                                  Slice(desired, desiredlen));
    if (result.ok()) swapped = *result;
    return result.status();
  });
  return swapped ? 1 : 0;
}

unsigned char braid_put_if_absent(braid_t* db, const braid_writeoptions_t* options, const char* key,
                                  size_t keylen, const char* val, size_t vallen, char** errptr) {
  return braid_compare_and_swap(db, options, key, keylen, nullptr, 0, val, vallen, errptr);
}

void braid_write(braid_t* db, const braid_writeoptions_t* options, braid_writebatch_t* batch,
                 char** errptr) {
  Guard(errptr, [&] {
    switch (batch->refusal) {
      case Refusal::kNone:
        break;
      case Refusal::kOutOfMemory:
        throw std::bad_alloc();
      case Refusal::kTooLarge:
        return Status::InvalidArgument(
            "an update of the batch is too large: keys take 64 KiB, values 4 GiB - 1 at most; "
            "clear the batch and leave it out");
    }
    return db->rep->Write(options->rep, batch->rep);
  });
}

char* braid_get(braid_t* db, const braid_readoptions_t* options, const char* key, size_t keylen,
                size_t* vallen, char** errptr) {
  char* copy = nullptr;
  *vallen = 0;
  Guard(errptr, [&] {
    if (!options->refusal.ok()) return options->refusal;
    std::string value;
    Status status = db->rep->Get(options->rep, Slice(key, keylen), &value);
    if (status.IsNotFound()) return Status::OK();
    if (!status.ok()) return status;
    copy = CopyBytes(value);
    if (copy == nullptr) throw std::bad_alloc();
    *vallen = value.size();
    return Status::OK();
  });
  return copy;
}

void braid_multi_get(braid_t* db, const braid_readoptions_t* options, size_t num_keys,
                     const char* const* keys_list, const size_t* keys_list_sizes,
                     char** values_list, size_t* values_list_sizes, char** errs) {
  for (size_t i = 0; i < num_keys; ++i) {
    values_list[i] = nullptr;
    values_list_sizes[i] = 0;
    errs[i] = nullptr;
  }
  char* error = nullptr;
  const bool failed = Guard(&error, [&] {
    if (!options->refusal.ok()) return options->refusal;
    std::vector<Slice> keys;
    keys.reserve(num_keys);
    for (size_t i = 0; i < num_keys; ++i) keys.emplace_back(keys_list[i], keys_list_sizes[i]);
    std::vector<std::string> values;
    const std::vector<Status> found = db->rep->MultiGet(options->rep, keys, &values);
    for (size_t i = 0; i < num_keys; ++i) {
      if (found[i].IsNotFound() || braid::capi::SaveError(&errs[i], found[i])) continue;
      values_list[i] = CopyBytes(values[i]);
      if (values_list[i] == nullptr) {
        SaveText(&errs[i], braid::capi::out_of_memory_text);
      } else {
        values_list_sizes[i] = values[i].size();
      }
    }
    return Status::OK();
  });
  // It failed before any of them was read.
  for (size_t i = 0; failed && i < num_keys; ++i) SaveText(&errs[i], error);
  braid_free(error);
}

braid_pinned_t* braid_get_pinned(braid_t* db, const braid_readoptions_t* options, const char* key,
                                 size_t keylen, char** errptr) {
  std::unique_ptr<braid_pinned_t> found;
  Guard(errptr, [&] {
    if (!options->refusal.ok()) return options->refusal;
    auto handle = std::make_unique<braid_pinned_t>();
    const Status status = db->rep->GetPinned(options->rep, Slice(key, keylen), &handle->rep);
    if (status.ok()) found = std::move(handle);
    return status.IsNotFound() ? Status::OK() : status;
  });
  return found.release();
}

const char* braid_pinned_value(const braid_pinned_t* value, size_t* vallen) {
  const Slice bytes = value->rep.data();
  *vallen = bytes.size();
  return bytes.data() != nullptr ? bytes.data() : "";
}

void braid_pinned_destroy(braid_pinned_t* value) { delete value; }

namespace {

// Shows nothing but why.
class RefusedIterator final : public braid::engine::EmptyIterator {
 public:
  explicit RefusedIterator(Status why) : why_(std::move(why)) {}
  Status status() const override { return why_; }

 private:
  const Status why_;
};

// Where there is no memory for a handle. Never destroyed, for a program that reads while it exits.
const braid_snapshot_t* SnapshotWithoutMemory() noexcept {
  alignas(braid_snapshot_t) static unsigned char room[sizeof(braid_snapshot_t)];
  static const auto* const snapshot =
      new (room) braid_snapshot_t{.rep = nullptr, .status = Status::OutOfMemory()};
  return snapshot;
}

}  // namespace

braid_iterator_t* braid_create_iterator(braid_t* db, const braid_readoptions_t* options) {
  return NullOnThrow([&] {
    auto handle = std::make_unique<braid_iterator_t>();
    if (options->refusal.ok()) {
      handle->rep = db->rep->NewIterator(options->rep);
    } else {
      handle->rep = std::make_unique<RefusedIterator>(options->refusal);
    }
    return handle.release();
  });
}

const braid_snapshot_t* braid_create_snapshot(braid_t* db) {
  auto* const handle = new (std::nothrow) braid_snapshot_t;
  if (handle == nullptr) return SnapshotWithoutMemory();
  handle->status = braid::base::CatchToStatus([&] { return db->rep->GetSnapshot(&handle->rep); });
  return handle;
}

void braid_snapshot_get_error(const braid_snapshot_t* snapshot, char** errptr) {
  Guard(errptr, [&] { return snapshot->status; });
}

void braid_release_snapshot(braid_t* /*db*/, const braid_snapshot_t* snapshot) {
  if (snapshot != SnapshotWithoutMemory()) delete snapshot;
}

char* braid_property_value(braid_t* db, const char* propname) {
  return NullOnThrow([&]() -> char* {
    Slice name = propname;
    if (name == "leveldb.stats") name = "braid.stats";
    if (name == "leveldb.approximate-memory-usage") name = "braid.approximate-memory-usage";
    std::string value;
    if (!db->rep->GetProperty(name, &value)) return nullptr;
    return CopyBytes(value);
  });
}

void braid_approximate_sizes(braid_t* db, int num_ranges, const char* const* range_start_key,
                             const size_t* range_start_key_len, const char* const* range_limit_key,
                             const size_t* range_limit_key_len, uint64_t* sizes) {
  for (int i = 0; i < num_ranges; i++) sizes[i] = 0;
  char* error = nullptr;
  Guard(&error, [&] {
    std::vector<braid::KeyRange> ranges;
    ranges.reserve(num_ranges > 0 ? static_cast<size_t>(num_ranges) : 0);
    for (int i = 0; i < num_ranges; i++) {
      ranges.push_back({Slice(range_start_key[i], range_start_key_len[i]),
                        Slice(range_limit_key[i], range_limit_key_len[i])});
    }
    const Status s = db->rep->ApproximateSizes(ranges, sizes);
    if (s.ok() || ranges.size() < 2) return s;
    // What is no key of the order bounds nothing: the estimate of that range alone is 0.
    for (int i = 0; i < num_ranges; i++) {
      (void)db->rep->ApproximateSizes({&ranges[static_cast<size_t>(i)], 1}, sizes + i);
    }
    return s;
  });
  braid_free(error);
}

namespace {

std::optional<Slice> BoundOf(const char* key, size_t length) {
  return key != nullptr ? std::optional(Slice(key, length)) : std::nullopt;
}

}  // namespace

void braid_compact_range(braid_t* db, const char* start_key, size_t start_key_len,
                         const char* limit_key, size_t limit_key_len) {
  char* error = nullptr;
  braid_compact(db, start_key, start_key_len, limit_key, limit_key_len, nullptr, nullptr, &error);
  braid_free(error);
}

void braid_compact(braid_t* db, const char* start_key, size_t start_key_len, const char* limit_key,
                   size_t limit_key_len, void* state, uint8_t (*progress)(void*, double share),
                   char** errptr) {
  Guard(errptr, [&] {
    braid::CompactOptions options;
    if (progress != nullptr) {
      options.progress = [state, progress](double share) { return progress(state, share) != 0; };
    }
    return db->rep->CompactRange(options, BoundOf(start_key, start_key_len),
                                 BoundOf(limit_key, limit_key_len));
  });
}

void braid_set_background_limit(braid_t* db, uint64_t bytes_per_second, char** errptr) {
  Guard(errptr, [&] { return db->rep->SetBackgroundLimit(bytes_per_second); });
}

void braid_expire_before(braid_t* db, const braid_writeoptions_t* options, const char* prefix,
                         size_t prefixlen, uint64_t time, uint64_t* deleted, char** errptr) {
  Guard(errptr, [&] {
    return braid::ExpireBefore(db->rep.get(), options->rep, Slice(prefix, prefixlen), time,
                               deleted);
  });
}

char* braid_time_key(const char* prefix, size_t prefixlen, uint64_t time, const char* rest,
                     size_t restlen, size_t* keylen) {
  *keylen = 0;
  return NullOnThrow([&] {
    const std::string key = braid::TimeKey(Slice(prefix, prefixlen), time, Slice(rest, restlen));
    char* const copy = CopyBytes(key);
    if (copy != nullptr) *keylen = key.size();
    return copy;
  });
}

char* braid_prefix_upper_bound(const char* prefix, size_t prefixlen, size_t* boundlen) {
  *boundlen = 0;
  return NullOnThrow([&]() -> char* {
    const std::optional<std::string> bound = braid::PrefixUpperBound(Slice(prefix, prefixlen));
    if (!bound) return nullptr;
    char* const copy = CopyBytes(*bound);
    if (copy != nullptr) *boundlen = bound->size();
    return copy;
  });
}

void braid_flush(braid_t* db, char** errptr) {
  Guard(errptr, [&] { return db->rep->Flush(); });
}

void braid_verify(braid_t* db, char** errptr) {
  Guard(errptr, [&] {
    braid::VerifyReport report;
    Status status = db->rep->Verify(&report);
    if (!status.IsCorruption() || report.problems.size() < 2) return status;
    return Status::Corruption(std::string(status.message()) + " (1 of " +
                              std::to_string(report.problems.size()) +
                              " problems; `braid verify` lists all)");
  });
}

void braid_background_status(braid_t* db, char** errptr) {
  Guard(errptr, [&] { return db->rep->BackgroundStatus(); });
}

void braid_resume(braid_t* db, char** errptr) {
  Guard(errptr, [&] { return db->rep->Resume(); });
}

void braid_publish_statistics(braid_t* db, uint8_t on, char** errptr) {
  Guard(errptr, [&] { return db->rep->PublishStatistics(on != 0); });
}

char* braid_statistics_json(braid_t* db) { return braid_property_value(db, "braid.stats.json"); }

// ---- Pools that are not open -----------------------------------------------------------------

void braid_destroy_db(const braid_options_t* /*options*/, const char* name, char** errptr) {
  Guard(errptr, [&] { return DB::Destroy(name); });
}

void braid_repair_db(const braid_options_t* options, const char* name, char** errptr) {
  braid_repair_db_with_tier(options, name, "", errptr);
}

void braid_repair_db_with_tier(const braid_options_t* options, const char* name,
                               const char* new_tier, char** errptr) {
  Guard(errptr, [&] {
    Result<braid::Options> made =
        braid::capi::MakeOptions(options != nullptr ? *options : braid_options_t{});
    if (!made.ok()) return made.status();
    braid::RepairReport report;
    std::string kept;
    braid::RepairOptions how;
    how.new_tier = new_tier;
    if (options != nullptr) {
      how.key_order = options->order;
      how.comparator = options->comparator;
    }
    return DB::RepairInPlace(*made, name, &report, &kept, how);
  });
}

char* braid_inspect_json(const char* name, char** errptr) {
  char* copy = nullptr;
  Guard(errptr, [&] {
    const Result<braid::PoolInfo> info = DB::Inspect(name);
    if (!info.ok()) return info.status();
    copy = CopyBytes(braid::ToJson(*info));
    if (copy == nullptr) throw std::bad_alloc();
    return Status::OK();
  });
  return copy;
}

// ---- Iterator --------------------------------------------------------------------------------

namespace {

// Moves the iterator. A move that is given up for want of memory leaves it invalid.
template <class Move>
void MoveIterator(braid_iterator_t* iterator, Move&& move) noexcept {
  if (iterator == nullptr) return;
  try {
    move(*iterator->rep);
    iterator->out_of_memory = false;
  } catch (...) {
    iterator->out_of_memory = true;
  }
}

bool IsValid(const braid_iterator_t* iterator) {
  return iterator != nullptr && !iterator->out_of_memory && iterator->rep->Valid();
}

const char* GiveBytes(Slice bytes, size_t* length) {
  *length = bytes.size();
  // An empty key or value is there, so it must not look like none.
  return bytes.data() != nullptr ? bytes.data() : "";
}

}  // namespace

void braid_iter_destroy(braid_iterator_t* iterator) { delete iterator; }

uint8_t braid_iter_valid(const braid_iterator_t* iterator) { return IsValid(iterator) ? 1 : 0; }

void braid_iter_seek_to_first(braid_iterator_t* iterator) {
  MoveIterator(iterator, [](braid::Iterator& it) { it.SeekToFirst(); });
}

void braid_iter_seek_to_last(braid_iterator_t* iterator) {
  MoveIterator(iterator, [](braid::Iterator& it) { it.SeekToLast(); });
}

void braid_iter_seek(braid_iterator_t* iterator, const char* k, size_t klen) {
  MoveIterator(iterator, [&](braid::Iterator& it) { it.Seek(Slice(k, klen)); });
}

void braid_iter_seek_for_prev(braid_iterator_t* iterator, const char* k, size_t klen) {
  MoveIterator(iterator, [&](braid::Iterator& it) { it.SeekForPrev(Slice(k, klen)); });
}

void braid_iter_next(braid_iterator_t* iterator) {
  if (IsValid(iterator)) MoveIterator(iterator, [](braid::Iterator& it) { it.Next(); });
}

void braid_iter_prev(braid_iterator_t* iterator) {
  if (IsValid(iterator)) MoveIterator(iterator, [](braid::Iterator& it) { it.Prev(); });
}

const char* braid_iter_key(const braid_iterator_t* iterator, size_t* klen) {
  *klen = 0;
  return IsValid(iterator) ? GiveBytes(iterator->rep->key(), klen) : nullptr;
}

const char* braid_iter_value(const braid_iterator_t* iterator, size_t* vlen) {
  *vlen = 0;
  return IsValid(iterator) ? GiveBytes(iterator->rep->value(), vlen) : nullptr;
}

void braid_iter_get_error(const braid_iterator_t* iterator, char** errptr) {
  Guard(errptr, [&] {
    if (iterator == nullptr || iterator->out_of_memory) throw std::bad_alloc();
    return iterator->rep->status();
  });
}

void braid_iter_refresh(braid_iterator_t* iterator, char** errptr) {
  Guard(errptr, [&] {
    if (iterator == nullptr) throw std::bad_alloc();
    const Status s = iterator->rep->Refresh();
    if (s.ok()) iterator->out_of_memory = false;
    return s;
  });
}

// ---- Write batch -----------------------------------------------------------------------------

namespace {

// Adds to the batch; a batch that has refused an update stays empty until it is cleared.
template <class Update>
void UpdateBatch(braid_writebatch_t* batch, Update&& update) noexcept {
  if (batch->refusal != Refusal::kNone) return;
  try {
    update(batch->rep);
  } catch (...) {
    batch->Refuse(Refusal::kOutOfMemory);
  }
}

class CallbackHandler : public braid::WriteBatch::Handler {
 public:
  using OnTwo = void (*)(void*, const char*, size_t, const char*, size_t);
  using OnOne = void (*)(void*, const char*, size_t);

  CallbackHandler(void* state, OnTwo put, OnOne deleted, OnTwo range_deleted)
      : state_(state), put_(put), deleted_(deleted), range_deleted_(range_deleted) {}

  void Put(Slice key, Slice value) override {
    put_(state_, key.data(), key.size(), value.data(), value.size());
  }
  void Delete(Slice key) override { deleted_(state_, key.data(), key.size()); }
  void DeleteRange(std::optional<Slice> begin, std::optional<Slice> end) override {
    if (range_deleted_ == nullptr) return;
    const Slice from = begin.value_or(Slice());
    const Slice to = end.value_or(Slice());
    range_deleted_(state_, begin ? from.data() : nullptr, from.size(), end ? to.data() : nullptr,
                   to.size());
  }

 private:
  void* state_;
  OnTwo put_;
  OnOne deleted_;
  OnTwo range_deleted_;
};

}  // namespace

braid_writebatch_t* braid_writebatch_create(void) { return new (std::nothrow) braid_writebatch_t; }

void braid_writebatch_destroy(braid_writebatch_t* batch) { delete batch; }

void braid_writebatch_clear(braid_writebatch_t* batch) { batch->Refuse(Refusal::kNone); }

void braid_writebatch_put(braid_writebatch_t* batch, const char* key, size_t klen, const char* val,
                          size_t vlen) {
  // The batch keeps lengths in 32 bits: a longer one would be cut before DB::Write could see it.
  if (klen > braid::kMaxKeyBytes || vlen > braid::kMaxValueBytes) {
    batch->Refuse(Refusal::kTooLarge);
    return;
  }
  UpdateBatch(batch, [&](braid::WriteBatch& rep) { rep.Put(Slice(key, klen), Slice(val, vlen)); });
}

void braid_writebatch_delete(braid_writebatch_t* batch, const char* key, size_t klen) {
  if (klen > braid::kMaxKeyBytes) {
    batch->Refuse(Refusal::kTooLarge);
    return;
  }
  UpdateBatch(batch, [&](braid::WriteBatch& rep) { rep.Delete(Slice(key, klen)); });
}

void braid_writebatch_delete_range(braid_writebatch_t* batch, const char* begin, size_t beginlen,
                                   const char* end, size_t endlen) {
  if (beginlen > braid::kMaxKeyBytes || endlen > braid::kMaxKeyBytes) {
    batch->Refuse(Refusal::kTooLarge);
    return;
  }
  UpdateBatch(batch, [&](braid::WriteBatch& rep) {
    rep.DeleteRange(begin != nullptr ? std::optional(Slice(begin, beginlen)) : std::nullopt,
                    end != nullptr ? std::optional(Slice(end, endlen)) : std::nullopt);
  });
}

void braid_writebatch_iterate(const braid_writebatch_t* batch, void* state,
                              void (*put)(void*, const char* k, size_t klen, const char* v,
                                          size_t vlen),
                              void (*deleted)(void*, const char* k, size_t klen)) {
  CallbackHandler handler(state, put, deleted, nullptr);
  batch->rep.Iterate(&handler);
}

void braid_writebatch_iterate_all(const braid_writebatch_t* batch, void* state,
                                  void (*put)(void*, const char* k, size_t klen, const char* v,
                                              size_t vlen),
                                  void (*deleted)(void*, const char* k, size_t klen),
                                  void (*range_deleted)(void*, const char* begin, size_t beginlen,
                                                        const char* end, size_t endlen)) {
  CallbackHandler handler(state, put, deleted, range_deleted);
  batch->rep.Iterate(&handler);
}

void braid_writebatch_append(braid_writebatch_t* destination, const braid_writebatch_t* source) {
  if (source->refusal != Refusal::kNone) {
    destination->Refuse(source->refusal);
    return;
  }
  UpdateBatch(destination, [&](braid::WriteBatch& rep) { rep.Append(source->rep); });
}
