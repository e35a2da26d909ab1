// Purpose: DB, an embedded, ordered key-value store for byte-addressable persistent memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "braid/checkpoint.h"
#include "braid/compact.h"
#include "braid/comparator.h"
#include "braid/event_listener.h"
#include "braid/ingest.h"
#include "braid/key_order.h"
#include "braid/key_ranges.h"
#include "braid/options.h"
#include "braid/pinned_value.h"
#include "braid/repair.h"
#include "braid/statistics.h"
#include "braid/status.h"
#include "braid/transaction.h"
#include "braid/write_batch.h"

namespace braid {

/// A state of the database that later writes do not change. Shared; release by dropping the
/// pointer. Keeps versions of overwritten keys alive, so hold it no longer than needed. Outlives
/// its database.
class Snapshot {
 public:
  virtual ~Snapshot() = default;
  /// The newest sequence number the snapshot sees.
  virtual uint64_t sequence() const noexcept = 0;
  /// For databases, which refuse to read at a snapshot of another one: whose it is.
  virtual const void* owner() const noexcept { return nullptr; }
  /// Why it could not be made, as GetSnapshot's error. Reads at it say the same.
  virtual Status status() const noexcept { return Status::OK(); }
};

/// A cursor over the keys in their order (bytes, or DB::Open's), at one snapshot. Starts invalid:
/// seek first.
/// One thread at a time. Keeps its database's memory alive; after DB::Close every call is safe and
/// status() is Closed.
class Iterator {
 public:
  virtual ~Iterator() = default;
  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  /// To the first key that is not before `target`.
  virtual void Seek(Slice target) = 0;
  /// To the last key that is not after `target`.
  virtual void SeekForPrev(Slice target) = 0;
  virtual void Next() = 0;
  virtual void Prev() = 0;
  /// Only when Valid(). The bytes stay until the iterator moves.
  virtual Slice key() const = 0;
  virtual Slice value() const = 0;
  /// ok, or why the iterator became invalid before the end.
  virtual Status status() const = 0;
  /// Shows the newest state from now on, also where it was made at a snapshot; bounds stay. Invalid
  /// until the next seek. Cheaper than a new iterator, and what only the old state kept alive is
  /// given back. After an error it is as it was. Errors: Closed, OutOfMemory, NotSupported (an
  /// iterator of a concurrent reader, of a transaction, or of a design that has none).
  virtual Status Refresh();
};

/// What a design can do. A call that it can't is NotSupported, and changes nothing.
struct Capabilities {
  bool stores = true;             ///< what is put can be read back
  bool atomic_batches = false;    ///< batches of more than one update, or with ranges
  bool snapshots = false;         ///< GetSnapshot; iterators show one moment
  bool compare_and_swap = false;  ///< CompareAndSwap and PutIfAbsent
  /// On page-cache media, too, a pool that is open when power is lost can be opened again, and
  /// writes with WriteOptions::sync are kept. Without it such writes are NotSupported there, and
  /// the open is Corruption; what an orderly Close has left is kept, and so is everything on other
  /// media, and in a crash of the process alone.
  bool survives_power_loss_on_page_media = false;
  bool ingest = false;        ///< Ingest
  bool checkpoints = false;   ///< CreateCheckpoint
  bool transactions = false;  ///< BeginTransaction
  /// Options::read_only while a handle, of any process, has the pool open for writing.
  bool concurrent_readers = false;

  static constexpr Capabilities All() {
    return {true, true, true, true, true, true, true, true, true};
  }
};

/// A database. All calls are safe from any number of threads, in the process that has opened it. In
/// a child that was forked afterwards every call is InvalidArgument, also of what came from it
/// (iterators, snapshots, transactions), and its end releases nothing that is the parent's: the
/// child may call exit(), and may open databases of its own.
class DB {
 public:
  virtual ~DB() = default;

  /// Opens the pool directory `path`, creating it if the options say so. Time does not grow with
  /// the size of the database. Errors: NotFound (no such pool), InvalidArgument (an option, or a
  /// path that is no pool), Busy (open elsewhere; names the process), Corruption (names file and
  /// offset), NotSupported (format from another version), OutOfSpace, IOError.
  static Result<std::unique_ptr<DB>> Open(const Options& options, const std::string& path);

  /// The same with keys in another order than that of their bytes (key_order.h). The order belongs
  /// to the pool as its path does: a new pool keeps its name, and the open of a pool that has
  /// another one is InvalidArgument and names both. Null: byte order. Keys of all calls are in this
  /// order: bounds, ranges, sorted records, seeks. A call with a key that the order refuses is
  /// InvalidArgument and changes nothing; an iterator is then invalid. One that finds bytes in the
  /// pool that are no key of the order is Corruption. Cost: an Encode for each key given, and a
  /// Decode for each that an iterator comes to.
  static Result<std::unique_ptr<DB>> Open(const Options& options, const std::string& path,
                                          std::shared_ptr<const KeyOrder> order);

  /// The same with keys in the order of a function of the caller, as LevelDB has them
  /// (comparator.h, which says what that costs; not null). The name belongs to the pool: a new pool
  /// keeps it, and the open of a pool that has another one, or none, is InvalidArgument and names
  /// both. Keys of all calls are in this order, and such that compare as equal are one key. Writes
  /// take turns. A key has one byte less than kMaxKeyBytes. After a repair, and on page-cache media
  /// after a pool was not closed, the open makes the index of keys again, which takes time by their
  /// number. Errors besides: NotSupported (the design has no snapshots or no atomic batches; or the
  /// index is to be made again, and the open is read-only).
  static Result<std::unique_ptr<DB>> OpenWithComparator(
      const Options& options, const std::string& path,
      std::shared_ptr<const Comparator> comparator);

  /// Opens a pool whatever its order of keys, for programs that must look at pools that they don't
  /// know: keys are the encoded bytes, in byte order. Only with options.read_only, since a key that
  /// its order never makes would be damage (InvalidArgument). Else as Open, for a pool that is
  /// there.
  static Result<std::unique_ptr<DB>> OpenEncoded(const Options& options, const std::string& path);

  /// Removes a pool with everything in it. Refuses a directory that is no pool (InvalidArgument)
  /// and one that is open (Busy). A missing path is ok.
  static Status Destroy(const std::string& path);

  /// Reads the facts of a pool without opening or changing it.
  static Result<PoolInfo> Inspect(const std::string& path, const Options& options = {});

  /// Salvages what is intact of the pool at `damaged` into a new pool at `target`, made with
  /// `options`, and verifies that one. The damaged pool is only read and never changed; its links,
  /// tables and counts are not trusted. Which version of a key counts, and what becomes of deletes
  /// and of batches that are not whole, is in docs/guide/user-guide.md. options.tier.path is the
  /// damaged pool's tier, which is only read, too; that of the new pool is repair_options.new_tier.
  /// ok when the new pool is there and sound; report->losses() tells whether anything is missing
  /// from it. Errors: NotFound (no pool, no tier), InvalidArgument (no pool; something lies at
  /// `target`; another pool's tier), Busy (the damaged pool is open), NotSupported (another format
  /// version), Corruption (nothing can be salvaged), OutOfSpace, IOError. After an error there is
  /// nothing at `target`.
  static Status Repair(const Options& options, const std::string& damaged,
                       const std::string& target, RepairReport* report,
                       const RepairOptions& repair_options = {});

  /// The same in the pool's own place: the new pool takes the path, the damaged one is kept beside
  /// it as "<path>.damaged-1" (or the next free number), which `*kept` names. There must be room
  /// for both. Errors: as for Repair; then the damaged pool is where it was.
  static Status RepairInPlace(const Options& options, const std::string& path, RepairReport* report,
                              std::string* kept, const RepairOptions& repair_options = {});

  /// Makes a new pool at `target` of the checkpoint at `checkpoint`, which is any pool that is
  /// closed; it is only read. Every byte of what was copied is verified before the new pool takes
  /// its name, so `target` is never left half-written. `options` are those with which the new pool
  /// will be opened; its design, order of keys, size of a chunk and regions are the checkpoint's.
  /// Errors: NotFound (no checkpoint), InvalidArgument (it is no pool; something lies at `target`),
  /// Busy (it is open), Corruption (it is damaged; names file and offset), NotSupported (another
  /// format version), OutOfSpace, IOError. After an error there is nothing at `target`.
  static Status Restore(const Options& options, const std::string& checkpoint,
                        const std::string& target,
                        const CheckpointOptions& checkpoint_options = {});

  /// Stores `value` under `key`. What an ok write survives depends on the medium, as for all writes
  /// below: on persistent memory a loss of power; on a disk a crash of the process, and with
  /// WriteOptions::sync a loss of power; on tmpfs, and on DRAM that only looks persistent, a crash
  /// of the process alone. PoolInfo::promise and `braid info` say which it is
  /// (docs/guide/durability.md). Costs one flush of
  /// the entry's lines and one fence, no allocation; with sync on page-cache media an fdatasync.
  /// Errors: InvalidArgument (limits), OutOfSpace (reads and deletes go on), Closed, IOError: after
  /// a sync that failed there is no other write until the next open.
  virtual Status Put(const WriteOptions& options, Slice key, Slice value) = 0;
  Status Put(Slice key, Slice value) { return Put(WriteOptions{}, key, value); }

  /// Removes `key`; ok when there is none. Cost and errors as for Put.
  virtual Status Delete(const WriteOptions& options, Slice key) = 0;
  Status Delete(Slice key) { return Delete(WriteOptions{}, key); }

  /// Applies all updates of `batch` atomically, with one fence. An empty batch is ok; with sync, it
  /// syncs what was written before. The keys and values of a batch have 1 GiB at most
  /// (InvalidArgument); what its ranges delete has no limit but the room in the pool (OutOfSpace)
  /// and in DRAM (OutOfMemory, and then nothing was written).
  virtual Status Write(const WriteOptions& options, const WriteBatch& batch) = 0;
  Status Write(const WriteBatch& batch) { return Write(WriteOptions{}, batch); }

  /// Deletes all keys from `begin` (inclusive) to `end` (exclusive; none: to the last key). One
  /// step among writes: writes to the range wait until it is done, other writes go on. Concurrent
  /// readers and snapshots, and a crash, find its deletes made in steps, the lower keys first, of
  /// 8,192 keys each (fewer where these have more than 16 MiB, or a full pool has no room for so
  /// many), or, in designs without atomic batches, of one; a batch with WriteBatch::DeleteRange is
  /// atomic, whatever its size. `*deleted` (may be null) becomes the
  /// number of keys. An empty range is ok. Cost: a scan of the keys, without their values, and a
  /// delete a key; nothing for later reads. Errors: those of Delete, and Corruption; what was
  /// deleted stays so.
  virtual Status DeleteRange(const WriteOptions& options, Slice begin, std::optional<Slice> end,
                             uint64_t* deleted = nullptr);
  Status DeleteRange(Slice begin, std::optional<Slice> end, uint64_t* deleted = nullptr) {
    return DeleteRange(WriteOptions{}, begin, end, deleted);
  }

  /// Stores `desired` under `key` if the key's value equals `expected`, byte for byte; nullopt
  /// stands for "there is no such key". True: stored, and durable as after Put. False: the key held
  /// something else at some moment during the call, and nothing was written. One atomic step among
  /// all calls, batches and snapshots included. Cost: a Get, and a Put when it stores; both again
  /// when another write to the key comes in between. Errors: those of Put, Corruption when the
  /// value there does not match its checksum, NotSupported (the design has no such step).
  virtual Result<bool> CompareAndSwap(const WriteOptions& options, Slice key,
                                      std::optional<Slice> expected, Slice desired);
  Result<bool> CompareAndSwap(Slice key, std::optional<Slice> expected, Slice desired) {
    return CompareAndSwap(WriteOptions{}, key, expected, desired);
  }

  /// Stores `value` under `key` if there is no such key; false, and nothing written, if there is.
  /// Otherwise as CompareAndSwap; the value that is there is not read.
  Result<bool> PutIfAbsent(const WriteOptions& options, Slice key, Slice value) {
    return CompareAndSwap(options, key, std::nullopt, value);
  }
  Result<bool> PutIfAbsent(Slice key, Slice value) {
    return PutIfAbsent(WriteOptions{}, key, value);
  }

  /// A transaction that sees the state of this moment (transaction.h). Cheap: no write waits for
  /// it. Errors: NotSupported (the design has none, or the pool is opened read-only), Closed.
  virtual Result<std::unique_ptr<Transaction>> BeginTransaction();

  /// Copies the value of `key` to `*value`. NotFound when there is none, Corruption when the entry
  /// does not match its checksum.
  virtual Status Get(const ReadOptions& options, Slice key, std::string* value) = 0;
  Status Get(Slice key, std::string* value) { return Get(ReadOptions{}, key, value); }

  /// As Get, without a copy where the value is large (pinned_value.h). Errors: those of Get; then
  /// `*value` is empty. Cost: that of Get; for a value of 4 KiB or more two lookups, the second in
  /// warm caches, and an allocation, instead of the copy.
  virtual Status GetPinned(const ReadOptions& options, Slice key, PinnedValue* value);
  Status GetPinned(Slice key, PinnedValue* value) { return GetPinned(ReadOptions{}, key, value); }

  /// Gets many keys as of one moment: `(*values)[i]` becomes the value of `keys[i]`, and the i-th
  /// Status tells as that of Get would; where it is not ok, the string is empty. In any order,
  /// repetitions allowed. The lookups run side by side, so that the memory's latency is paid once
  /// for several keys: with keys in DRAM or persistent memory far larger than the caches a key
  /// costs a fraction of a Get. Designs without snapshots read key by key, at different moments.
  virtual std::vector<Status> MultiGet(const ReadOptions& options, std::span<const Slice> keys,
                                       std::vector<std::string>* values);
  std::vector<Status> MultiGet(std::span<const Slice> keys, std::vector<std::string>* values) {
    return MultiGet(ReadOptions{}, keys, values);
  }

  /// A cursor at options.snapshot, or at the state of this moment. Never null.
  virtual std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) = 0;

  /// What the design of this pool can do.
  virtual Capabilities GetCapabilities() const { return Capabilities::All(); }

  /// The state of this moment. Cheap: no write waits for it. `*snapshot` is null after an error:
  /// NotSupported (the design has none), OutOfMemory, Closed, IOError (the medium). Reads of
  /// another database at it are InvalidArgument.
  Status GetSnapshot(std::shared_ptr<const Snapshot>* snapshot) noexcept;

  /// The same without an error of its own, and never null: where there can be none it is one whose
  /// status() says why, and so does every read at it.
  virtual std::shared_ptr<const Snapshot> GetSnapshot() = 0;

  /// Switches the memtable and waits until it is an L0 table. What others write meanwhile is not
  /// waited for.
  virtual Status Flush() = 0;

  /// Flush, then wait until every current L0 table is merged, what only views that are gone have
  /// kept is dropped, garbage is collected and indexes are built, and a tier has put together what
  /// it has; returns even while writers are busy.
  virtual Status Compact() = 0;

  /// Compact for the keys from `begin` (none: from the first) to before `end` (none: to the last),
  /// with progress and cancellation. Tables without a key of the range, and newer than all that
  /// have one, are left as they are. What comes behind the merges (dropping, reclustering,
  /// collection) looks at the whole pool: a chunk holds keys of any range. Errors: Aborted
  /// (cancelled), Closed, those of BackgroundStatus.
  virtual Status CompactRange(const CompactOptions& options, std::optional<Slice> begin,
                              std::optional<Slice> end);

  /// Estimates the bytes of keys and values of live entries in each range, in memory or not, as of
  /// one moment; no overhead and no old versions. Exact for a range of at most 16,384 entries; a
  /// larger one is extrapolated from how densely its first 16,384 keys lie, which can be far off
  /// where keys are spread unevenly. `sizes` has a place for each range. Reads those entries, so it
  /// costs milliseconds a range. Errors: those of iterators; then all sizes are 0.
  virtual Status ApproximateSizes(std::span<const KeyRange> ranges, uint64_t* sizes);

  /// From now on the background (flushes, merges, collection, reclustering) writes at most so many
  /// bytes a second; 0: as many as it can, as after each open. The limit is lifted while a writer
  /// waits for the background, and a step that took more is paid for by a pause of ten seconds at
  /// most: it never stops writers. Counted are the cache lines written back; on page-cache media,
  /// where the kernel writes, an estimate. A pause takes a background thread, which the databases
  /// of a process share. NotSupported: the design has no background that could be limited, or
  /// background_threads is false.
  virtual Status SetBackgroundLimit(uint64_t bytes_per_second);

  /// Lets `braid top POOL` and `braid metrics POOL` watch this database from another process: while
  /// it is on, the statistics are written once a second to "<path>.stats.json", beside the pool's
  /// folder, by a thread of its own. Off at each open, and when the database is closed, which
  /// removes the file. Errors: IOError (the folder that holds the pool's is not writable), Closed,
  /// NotSupported (opened read-only, or a pool without a path).
  virtual Status PublishStatistics(bool on);

  /// A property by name, as text: "braid.stats", "braid.stats.json", "braid.num-entries",
  /// "braid.approximate-memory-usage", "braid.l0-tables", "braid.media-class", "braid.design".
  /// False when the name is unknown.
  virtual bool GetProperty(std::string_view name, std::string* value) = 0;
  virtual Statistics GetStatistics() = 0;

  /// Loads many records, past log and memtable: they are written once, in the order of their keys,
  /// and become a table of the store in one step. Reads and writes go on meanwhile; writes wait for
  /// a moment at the end. A record takes the place of what its key held before. Sorted: all records
  /// are there, durable, when it returns ok, newer than what was written before that, or none is;
  /// no snapshot and no iterator of before sees them. Unsorted: the records are sorted in DRAM, as
  /// many as memory_budget_bytes has room for at a time, and each such run is loaded as if sorted;
  /// the later record of a key counts. After an error the runs before are there; `report` says how
  /// many records. One Ingest at a time: a second one waits. Cost: a fence for the data of a chunk.
  /// Errors: InvalidArgument (names the record: out of order, or beyond a limit), the source's
  /// status, OutOfSpace, Closed, NotSupported (the design has no ingest), IOError. `report` may be
  /// null.
  virtual Status Ingest(RecordSource* source, const IngestOptions& options, IngestReport* report);

  /// Writes the state of this moment to a new pool at `target`, a pool like any other: same design,
  /// order of keys, size of a chunk and number of regions, which all lie in its folder. Reads and
  /// writes go on meanwhile; while it lasts it keeps versions alive as a snapshot does. The pool is
  /// made at "<target>.partial" and renamed when it is complete and durable, so that what is at
  /// `target` is whole. Errors: InvalidArgument (something lies at `target`), OutOfSpace, Closed,
  /// Corruption, NotSupported (the design has no snapshots), IOError. After an error there is
  /// nothing at `target`, and nothing beside it.
  virtual Status CreateCheckpoint(const std::string& target, const CheckpointOptions& options = {});

  /// Reads every chunk, entry and link and checks them; reads and writes go on meanwhile.
  /// ok when nothing is wrong; Corruption with the first problem otherwise, all in `*report`.
  /// `progress` (may be empty) is called now and then with the share done, 0 to 1.
  virtual Status Verify(VerifyReport* report,
                        const std::function<void(double share)>& progress = {}) = 0;

  /// Makes everything durable and releases the pool, after calls of other threads have ended: those
  /// that wait or work for long give up, with Closed. Later calls, also on snapshots and iterators,
  /// return Closed. The destructor closes too, but can't say what went wrong; no other call may be
  /// under way then.
  virtual Status Close() = 0;

  /// ok while writes are taken; otherwise what a write would be refused with: the error that ended
  /// writes until the database is opened again (a sync, a flush or a merge that failed, a medium
  /// that does not answer), or the reason why they wait for room. Closed. Cheap; waits for nothing.
  virtual Status BackgroundStatus();

  /// Goes on where the cause is gone: a flush that found no room is tried again, for when the
  /// device has room now. Afterwards it is as BackgroundStatus(): what failed otherwise is half
  /// done, and takes a new open. Errors: those.
  virtual Status Resume();
};

}  // namespace braid
