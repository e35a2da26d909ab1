// Purpose: the objects that Python sees, but for the database's calls.
//
// Thread safety: as core.h. Invariants of each class are at its head. Persistence: none.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "braid/shared_resources.h"
#include "core.h"

namespace braid::python {

using Settings = std::vector<std::pair<std::string, std::string>>;
/// Options with those set by name. Throws InvalidArgumentError for a name or value that is unknown.
Options MakeOptions(const Settings& settings, bool create_if_missing, bool error_if_exists,
                    const std::string& design);

/// None: null. Compare throws what the function of Python has raised, as a C++ exception.
std::shared_ptr<const Comparator> MakeComparator(const nb::object& comparator,
                                                 const std::optional<nb::bytes>& name);

/// The first key behind all that begin with `prefix`, or none.
std::optional<std::string> Behind(std::string prefix);

/// The handle of a _core.Database. Throws ClosedError, or TypeError for anything else.
HandlePtr HandleOf(nb::handle database);

/// What db.snapshot() returns.
class SnapshotObject {
 public:
  SnapshotObject(HandlePtr handle, std::string prefix);
  ~SnapshotObject() { Close(); }

  /// The snapshot for one call, which holds it: close() may come meanwhile.
  std::shared_ptr<const Snapshot> Use() const;
  void Close();
  const HandlePtr& handle() const noexcept { return handle_; }
  const std::string& prefix() const noexcept { return prefix_; }

 private:
  HandlePtr handle_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::string prefix_;
};

/// Updates on their way to a database. Invariant: a list that a write() is reading is not changed;
/// who changes it meanwhile changes a copy.
class BatchObject {
 public:
  BatchObject(HandlePtr handle, std::string prefix, bool transaction, bool sync)
      : handle_(std::move(handle)),
        updates_(std::make_shared<WriteBatch>()),
        prefix_(std::move(prefix)),
        transaction_(transaction),
        sync_(sync) {}

  void Put(const nb::bytes& key, nb::handle value);
  void Delete(const nb::bytes& key);
  void DeleteRange(const std::optional<nb::bytes>& start, const std::optional<nb::bytes>& stop);
  void Clear();
  void Write();
  void Append(const BatchObject& source);
  size_t ApproximateSize() const;
  size_t Count() const;
  /// What __exit__ does: a transaction that has failed is dropped, all else written.
  void Leave(bool failed);
  void CheckOpen() const { (void)handle_->Use(); }

 private:
  WriteBatch& Changing();
  std::string Key(const nb::bytes& key) const { return prefix_ + std::string(SliceOf(key)); }

  HandlePtr handle_;
  std::shared_ptr<WriteBatch> updates_;
  std::string prefix_;
  bool transaction_;
  bool sync_;
};

/// A cursor of the store that any thread may use, one after the other. Invariant: who waits for its
/// turn holds no GIL, so that the one whose turn it is can come back to Python.
class Cursor {
 public:
  Cursor(HandlePtr handle, const ReadOptions& options);
  ~Cursor() { Drop(); }

  /// One thread's turn with the cursor. Throws ClosedError if it, or its database, is closed.
  class Turn {
   public:
    explicit Turn(Cursor* cursor);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { cursor_->owner_.store({}, std::memory_order_relaxed); }
    Iterator* operator->() const noexcept { return cursor_->iterator_.get(); }
    /// One of the calls that move it, without the GIL.
    template <class Step>
    void Move(Step&& step) {
      const WithoutGil others;
      step(cursor_->iterator_.get());
    }
    /// Throws what has made the cursor invalid, if it was no end.
    void CheckStatus() const;
    /// Copies of where it stands; throws if the database has been closed meanwhile.
    nb::bytes Key(size_t prefix_bytes) const;
    nb::bytes Value() const;

   private:
    void CheckStill() const;

    Cursor* cursor_;
    std::unique_lock<std::mutex> lock_;
  };

  /// Waits for the turn of another thread.
  void Close();

 private:
  void Drop();
  /// Throws if this very thread has the turn: the garbage collector may run anybody's __del__.
  void CheckNotInside() const;

  HandlePtr handle_;
  std::unique_ptr<Iterator> iterator_;
  std::mutex mutex_;
  /// Relaxed: a thread looks only for itself, and that it has written itself.
  std::atomic<std::thread::id> owner_{};
};

/// What db.iterator() is asked for, as bounds on whole keys.
struct Range {
  std::string prefix;  ///< of the database; cut off of what is shown
  ReadOptions bounds;
  bool reverse = false;
  bool keys = true;
  bool values = true;
};

/// What db.iterator() returns. It stands between two entries, before the first or behind the last;
/// a step returns the entry it passes. Lazily: the cursor stands on one of the neighbours.
class IteratorObject {
 public:
  IteratorObject(HandlePtr handle, Range range);

  nb::object Next() { return Step(!range_.reverse); }
  nb::object Prev() { return Step(range_.reverse); }
  void SeekToStart() { Place(Where::kBeforeFirst); }
  void SeekToStop() { Place(Where::kBehindLast); }
  void Seek(const nb::bytes& target);
  void Close() { cursor_.Close(); }

 private:
  enum class Where { kBeforeFirst, kBeforeEntry, kBehindEntry, kBehindLast };

  void Place(Where where);
  nb::object Step(bool forward);
  /// Brings the cursor to the entry that a step passes; false at the end.
  bool Reach(Cursor::Turn& turn, bool forward);

  Range range_;
  Cursor cursor_;
  Where where_;
};

/// Makes the range of plyvel's arguments. Throws TypeError for those that exclude each other.
Range MakeRange(const std::string& db_prefix, bool reverse, const std::optional<nb::bytes>& start,
                const std::optional<nb::bytes>& stop, bool include_start, bool include_stop,
                const std::optional<nb::bytes>& prefix, bool include_key, bool include_value);

/// The value of a key, or `default_value`.
nb::object GetValue(DB* db, const ReadOptions& options, Slice key, nb::handle default_value);
/// The values of all keys of a sequence, as of one moment.
nb::list GetValues(DB* db, const ReadOptions& options, const std::string& prefix, nb::handle keys,
                   nb::handle default_value);

/// Python's handle of SharedResources; databases keep what they use.
class ResourcesObject {
 public:
  explicit ResourcesObject(std::shared_ptr<SharedResources> resources) noexcept
      : resources_(std::move(resources)) {}

  /// Throws ClosedError.
  std::shared_ptr<SharedResources> Use() const;
  bool closed() const noexcept { return resources_ == nullptr; }
  void Close() noexcept { resources_ = nullptr; }

 private:
  std::shared_ptr<SharedResources> resources_;
};

}  // namespace braid::python
