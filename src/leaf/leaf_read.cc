// Purpose: gets and iterators over leaves.
// Thread safety, invariants, persistence: leaf_engine.h.
#include <algorithm>

#include "base/check.h"
#include "base/epoch.h"
#include "base/no_throw.h"
#include "engine/empty_iterator.h"
#include "leaf/leaf_engine.h"

namespace braid::leaf {

namespace {

Status NoSnapshots() { return engine::NewUnsupportedSnapshot()->status(); }

/// Waits until the thread that is replacing the leaf has done so.
void WaitForReplacement(LeafNode* node) { const base::MutexLock lock(node->mutex); }

class LeafIterator final : public Iterator {
 public:
  LeafIterator(std::shared_ptr<LeafEngine> engine, const ReadOptions& options)
      : engine_(std::move(engine)),
        lower_copy_(options.lower_slice ? std::nullopt : options.lower_bound),
        upper_copy_(options.upper_slice ? std::nullopt : options.upper_bound),
        lower_(lower_copy_ ? std::optional<Slice>(*lower_copy_) : options.lower_slice),
        upper_(upper_copy_ ? std::optional<Slice>(*upper_copy_) : options.upper_slice) {}
  ~LeafIterator() override { Hold(nullptr); }

  bool Valid() const override { return valid_ && !engine_->closed() && !engine_->is_parents(); }
  void SeekToFirst() override {
    Move(LatencyKind::kSeek, [&] { return Forward(lower_ ? Slice(*lower_) : Slice(), true); });
  }
  void SeekToLast() override {
    Move(LatencyKind::kSeek,
         [&] { return upper_ ? Backward(Slice(*upper_), false) : BackwardFromEnd(); });
  }
  void Seek(Slice target) override {
    Move(LatencyKind::kSeek,
         [&] { return Forward(lower_ && target < *lower_ ? Slice(*lower_) : target, true); });
  }
  void SeekForPrev(Slice target) override {
    if (upper_ && target >= *upper_) return SeekToLast();
    Move(LatencyKind::kSeek, [&] { return Backward(target, true); });
  }
  /// Every seek finds what is there then.
  Status Refresh() override {
    if (engine_->is_parents()) return base::OpenedByParent();
    if (engine_->closed()) return Status::Closed();
    valid_ = false;
    status_ = Status::OK();
    return Status::OK();
  }
  void Next() override {
    if (!valid_) return;
    Move(LatencyKind::kNext, [&] {
      if (!Unchanged()) return Forward(std::string(key_), false);
      if (at_ + 1 < view_.entries.size()) return Settle(at_ + 1);
      return ForwardFrom(node_->next.load());
    });
  }
  void Prev() override {
    if (!valid_) return;
    Move(LatencyKind::kNext, [&] {
      if (!Unchanged()) return Backward(std::string(key_), false);
      if (at_ > 0) return Settle(at_ - 1);
      return Backward(node_->low, false);
    });
  }
  Slice key() const override { return key_; }
  Slice value() const override { return value_; }
  Status status() const override {
    return base::CatchToStatus([&] {
      if (engine_->is_parents()) return base::OpenedByParent();
      if (engine_->closed()) return Status::Closed();
      if (engine_->medium_failed()) return engine_->MediumStatus();
      return status_;
    });
  }

 private:
  /// A move happens inside an epoch, so that Close waits for it. One that fails leaves the iterator
  /// invalid until the next seek.
  template <class Step>
  void Move(LatencyKind kind, Step&& step) {
    const base::Latencies::Timing timing = engine_->TimeMove(kind);
    const base::EpochGuard guard;
    valid_ = false;
    if (engine_->closed() || engine_->is_parents()) return;
    bool found = false;
    status_ = base::CatchToStatus([&] {
      Result<bool> moved = step();
      if (!moved.ok()) return moved.status();
      found = *moved;
      return Status::OK();
    });
    valid_ = found && status_.ok() && !engine_->medium_failed();
  }

  /// The leaf is as it was when its view was taken: what that names is still there.
  bool Unchanged() const noexcept {
    return node_ != nullptr && !node_->replaced.load(std::memory_order_acquire) &&
           node_->version.load(std::memory_order_acquire) == view_.version;
  }
  void Hold(LeafNode* node) noexcept {
    if (node != nullptr) node->Ref();
    if (node_ != nullptr) node_->Unref();
    node_ = node;
  }

  /// Takes a view of the leaf. False: it was being replaced or changed: search again.
  Result<bool> Take(LeafNode* node) {
    if (node->replaced.load(std::memory_order_acquire)) {
      WaitForReplacement(node);
      return false;
    }
    Hold(node);
    view_.entries.clear();
    view_.version = node->version.load(std::memory_order_acquire);
    if (node->offset == 0) return true;
    if (Status s = engine_->list().Load(node); !s.ok()) {
      if (node->replaced.load()) return false;
      return s;
    }
    return engine_->list().View(*node, &view_);
  }
  /// The keys of the view are those of its leaf: a walk that goes on in key order ends. With the
  /// leaf that followed it when the view was taken.
  Status CheckBounds(const LeafNode* next) const {
    BRAID_DCHECK(node_ != nullptr && next != node_);
    if (view_.entries.empty()) return Status::OK();
    const bool below = KeyAt(0) < node_->low;
    if (!below && (next == nullptr || KeyAt(view_.entries.size() - 1) < next->low)) {
      return Status::OK();
    }
    return engine_->pool().CorruptionAt(below ? view_.entries.front() : view_.entries.back(),
                                        "entry", "its key belongs to another leaf");
  }
  std::string_view KeyAt(size_t at) const {
    BRAID_DCHECK(at < view_.entries.size());
    return engine_->pool().KeyAt(view_.entries[at]);
  }

  /// To the first key behind `target`, or at it.
  Result<bool> Forward(std::string_view target, bool inclusive) {
    for (;;) {
      LeafNode* node = engine_->list().upper().Find(target, nullptr);
      Result<bool> taken = Take(node);
      if (!taken.ok()) return taken;
      LeafNode* next = node->next.load();
      if (!*taken || !Unchanged()) continue;
      if (Status s = CheckBounds(next); !s.ok()) return s;
      const auto first =
          std::partition_point(view_.entries.begin(), view_.entries.end(), [&](uint64_t entry) {
            const std::string_view key = engine_->pool().KeyAt(entry);
            return inclusive ? key < target : key <= target;
          });
      if (first != view_.entries.end()) {
        return Settle(static_cast<size_t>(first - view_.entries.begin()));
      }
      return ForwardFrom(next);
    }
  }
  /// To the first key of `node` or of a later leaf. Each leaf's keys are above those before it.
  Result<bool> ForwardFrom(LeafNode* node) {
    while (node != nullptr) {
      Result<bool> taken = Take(node);
      if (!taken.ok()) return taken;
      if (!*taken) {
        if (node->replaced.load()) return Forward(node->low, true);
        continue;
      }
      LeafNode* next = node->next.load();
      if (!Unchanged()) continue;
      if (Status s = CheckBounds(next); !s.ok()) return s;
      if (!view_.entries.empty()) return Settle(0);
      node = next;
    }
    return false;
  }
  /// To the last key before `target`, or at it.
  Result<bool> Backward(std::string_view from, bool inclusive) {
    std::string target(from);  // it may lie in what is let go of
    for (;;) {
      LeafNode* node = inclusive ? engine_->list().upper().Find(target, nullptr)
                                 : engine_->list().upper().FindBefore(target);
      Result<bool> taken = Take(node);
      if (!taken.ok()) return taken;
      if (!*taken || !Unchanged()) continue;
      // A leaf that came to stand between this one and the target would have to be asked first.
      const LeafNode* next = node->next.load();
      if (next != nullptr && (inclusive ? next->low <= target : next->low < target)) continue;
      if (!Unchanged()) continue;
      if (Status s = CheckBounds(next); !s.ok()) return s;
      const auto end =
          std::partition_point(view_.entries.begin(), view_.entries.end(), [&](uint64_t entry) {
            const std::string_view key = engine_->pool().KeyAt(entry);
            return inclusive ? key <= target : key < target;
          });
      if (end != view_.entries.begin()) {
        return Settle(static_cast<size_t>(end - view_.entries.begin()) - 1);
      }
      if (node->offset == 0) return false;
      target = node->low;
      inclusive = false;
    }
  }
  Result<bool> BackwardFromEnd() {
    for (;;) {
      LeafNode* node = engine_->list().upper().FindLast();
      Result<bool> taken = Take(node);
      if (!taken.ok()) return taken;
      if (!*taken || node->next.load() != nullptr || !Unchanged()) continue;
      if (Status s = CheckBounds(nullptr); !s.ok()) return s;
      if (!view_.entries.empty()) return Settle(view_.entries.size() - 1);
      if (node->offset == 0) return false;
      return Backward(node->low, false);
    }
  }
  /// Stands on an entry of the view, which can't be freed inside this read section.
  Result<bool> Settle(size_t at) {
    at_ = at;
    const std::string_view key = KeyAt(at);
    if ((upper_ && key >= *upper_) || (lower_ && key < *lower_)) return false;
    std::string_view value;
    if (Status s = engine_->list().ValueOf(view_.entries[at], &value); !s.ok()) return s;
    key_.assign(key);
    value_.assign(value);
    return true;
  }

  std::shared_ptr<LeafEngine> engine_;
  // Bounds: copies, where the caller does not keep them, and what counts.
  std::optional<std::string> lower_copy_;
  std::optional<std::string> upper_copy_;
  std::optional<Slice> lower_;
  std::optional<Slice> upper_;
  LeafNode* node_ = nullptr;  // referenced
  LeafView view_;
  size_t at_ = 0;
  bool valid_ = false;
  std::string key_;
  std::string value_;
  Status status_;
};

}  // namespace

Status LeafEngine::Get(const ReadOptions& options, Slice key, std::string* value) {
  if (Status s = engine::CheckKey(key); !s.ok()) return s;
  if (options.snapshot != nullptr) return NoSnapshots();
  const base::Latencies::Timing timing(store_.stalls.latencies(), LatencyKind::kGet,
                                       counters_.Add(Counter::kGets));
  const uint64_t hash = base::Hash64(key);
  const base::EpochGuard guard;
  if (closed()) return Status::Closed();
  for (;;) {
    LeafNode* node = store_.list.upper().Find(key, nullptr);
    if (!node->loaded.load(std::memory_order_acquire)) {
      Status s = store_.list.Load(node);
      if (node->replaced.load()) continue;
      if (!s.ok()) return s;
    }
    const uint64_t version = node->version.load(std::memory_order_acquire);
    const LeafNode* next = node->next.load(std::memory_order_acquire);
    if (next != nullptr && next->low <= key) continue;
    const LeafLookup found = store_.list.Find(*node, key, hash);
    if (found.state == LeafLookup::State::kRetry ||
        node->version.load(std::memory_order_acquire) != version) {
      if (node->replaced.load()) WaitForReplacement(node);
      continue;
    }
    if (found.state == LeafLookup::State::kCorrupt) {
      return store_.pool->CorruptionAt(found.offset, "leaf or entry", "its check does not match");
    }
    if (found.state == LeafLookup::State::kAbsent) return Status::NotFound();
    std::string_view stored;
    if (Status s = store_.list.ValueOf(found.offset, &stored); !s.ok()) return s;
    value->assign(stored);
    counters_.Add(Counter::kGetsFound);
    return Status::OK();
  }
}

std::unique_ptr<Iterator> LeafEngine::NewIterator(const ReadOptions& options) {
  counters_.Add(Counter::kIterators);
  if (options.snapshot != nullptr) return std::make_unique<engine::StatusIterator>(NoSnapshots);
  return std::make_unique<LeafIterator>(shared_from_this(), options);
}

}  // namespace braid::leaf
