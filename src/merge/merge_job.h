// Purpose: carries out one merge: begin in the manifest, zipper by steps, end in the manifest.
// Thread safety: Begin and Finish under the caller's structure lock, Start and Step outside of it,
// by a thread a job.
// Invariants:
//   1. Between Begin and Finish the manifest names the merge, so that recovery finishes what redo
//      has committed and the rest is merged later.
// Persistence: Finish's commit removes the source; everything the merge did is durable before it.
// Source: ListDB Algorithm 6, lines 1, 46, 47 (micro-log, MANIFEST).
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "level/manifest.h"
#include "level/version.h"
#include "merge/zipper_merge.h"

namespace braid::merge {

/// Writes into the manifest's record that the merge of `source_id` begins, and how it is persisted;
/// the caller commits. OutOfSpace: there is no room for its redo records.
Status NoteMergeBegin(pool::PmemPool* pool, level::Manifest* manifest,
                      const CompactionOptions& options, uint64_t source_id, uint64_t target_id);

/// Lookups in `source`, whose merge came as far as `progress`, answer for no key behind its own
/// (PmemTable::SetBound): what an interrupted merge has merged already is the target's. Before the
/// merge begins or goes on.
void BoundSource(const pool::PmemPool& pool, const BatchProgress& progress,
                 level::PmemTable* source);

class MergeJob {
 public:
  /// Merges `source` into `target`. `resumed`: where an interrupted merge of the same source
  /// stopped.
  MergeJob(pool::PmemPool* pool, level::Manifest* manifest,
           std::shared_ptr<level::PmemTable> source, std::shared_ptr<level::PmemTable> target,
           index::EntryIndex* target_tree, const CompactionOptions& options);

  /// A level is below the target: deletes are kept. Before Start.
  void KeepDeletes() noexcept {
    BRAID_DCHECK(merge_ == nullptr);
    is_bottom_ = false;
  }
  /// The target is empty, and the source plain: it becomes the target as it is. Before Start.
  void Adopt() noexcept {
    BRAID_DCHECK(merge_ == nullptr && source_->is_plain());
    adopts_ = true;
  }
  /// See MergeInput::brings_borders. Before Start.
  void BringBorders() noexcept {
    BRAID_DCHECK(merge_ == nullptr && source_->is_copies());
    brings_borders_ = true;
    is_bottom_ = false;  // a border is a delete that hides nothing
  }
  /// See MergeInput::within_borders. Before Start.
  void StayWithinBorders(uint64_t left_border) noexcept {
    BRAID_DCHECK(merge_ == nullptr && !brings_borders_);
    within_borders_ = true;
    left_border_ = left_border;
  }
  /// See TargetTree::next. Before Start.
  void SetNextTree(index::EntryIndex* tree, uint32_t min_height) noexcept {
    // What is to take the place of a tree is kept up to date beside it.
    BRAID_DCHECK(merge_ == nullptr && (tree == nullptr || target_tree_ != nullptr));
    BRAID_DCHECK(min_height >= 1 && min_height <= format::kMaxHeight);
    next_tree_ = tree;
    next_tree_min_height_ = min_height;
  }
  /// See MergeInput::moved; must outlive the steps. Before Start.
  void SetMoved(const std::vector<index::Replacement>* moved) noexcept {
    BRAID_DCHECK(merge_ == nullptr && (moved == nullptr || source_->is_copies()));
    moved_ = moved;
  }
  /// See MergeInput::revisited; must outlive the steps. Before Start.
  void SetRevisited(const std::vector<uint64_t>* revisited) noexcept {
    BRAID_DCHECK(merge_ == nullptr && (revisited == nullptr || source_->is_copies()));
    revisited_ = revisited;
  }
  /// See MergeInput::takes_out. Before Start.
  void TakeOut() noexcept {
    BRAID_DCHECK(merge_ == nullptr && revisited_ != nullptr && is_bottom_);
    takes_out_ = true;
  }
  /// See MergeInput::hides_below. Before Start.
  void SetBelow(std::function<bool(std::string_view key)> hides_below) {
    BRAID_DCHECK(merge_ == nullptr);
    hides_below_ = std::move(hides_below);
  }
  /// See MergeInput::newer. Before Start.
  void SetNewer(std::unique_ptr<index::NewerVersions> newer) noexcept {
    BRAID_DCHECK(merge_ == nullptr && !source_->is_copies());
    newer_ = std::move(newer);
  }
  Status Begin(const BatchProgress& resumed);
  /// `merge_epoch`, `should_stop`, `fit_tree`: see MergeInput.
  Status Start(index::LiveViews views, index::MergeEpoch* merge_epoch,
               const std::function<bool()>& should_stop,
               const std::function<TargetTree()>& fit_tree = {});
  /// False: all is merged. Aborted: it was stopped. Not after an error.
  Result<bool> Step() {
    BRAID_DCHECK(merge_ != nullptr);
    return merge_->Step();
  }
  /// Only after all is merged.
  Status Finish();

  const std::vector<uint64_t>& obsolete() const { return merge_->result().obsolete; }
  /// What has become obsolete since the last call.
  void TakeObsolete(std::vector<uint64_t>* entries) noexcept {
    entries->clear();
    entries->swap(merge_->result().obsolete);
  }
  const std::vector<std::pair<size_t, size_t>>& replaced() const {
    return merge_->result().replaced;
  }
  const KeptCount& kept() const { return merge_->result().kept; }
  const index::LiveViews& views() const noexcept { return views_; }
  bool revisits() const noexcept { return revisited_ != nullptr; }
  bool keeps_deletes() const noexcept { return !is_bottom_; }
  bool has_tree() const noexcept { return target_tree_ != nullptr; }
  /// All became the target as it was.
  bool adopted() const noexcept { return merge_ != nullptr && merge_->result().adopted; }
  uint64_t merged_entries() const { return merge_->result().progress.merged_entries; }
  /// How far it came: where it began, if it failed at once.
  const BatchProgress& progress() const {
    return merge_ != nullptr ? merge_->result().progress : resumed_;
  }

 private:
  pool::PmemPool* pool_;
  level::Manifest* manifest_;
  std::shared_ptr<level::PmemTable> source_;
  std::shared_ptr<level::PmemTable> target_;
  index::EntryIndex* target_tree_;
  index::EntryIndex* next_tree_ = nullptr;
  uint32_t next_tree_min_height_ = 1;
  CompactionOptions options_;
  BatchProgress resumed_;
  format::MergeRecord merge_record_{};
  bool adopts_ = false;
  bool is_bottom_ = true;
  bool brings_borders_ = false;
  bool within_borders_ = false;
  uint64_t left_border_ = 0;
  index::LiveViews views_;
  const std::vector<index::Replacement>* moved_ = nullptr;
  const std::vector<uint64_t>* revisited_ = nullptr;
  bool takes_out_ = false;
  std::function<bool(std::string_view key)> hides_below_;
  std::unique_ptr<index::NewerVersions> newer_;  // may be null
  std::unique_ptr<ZipperMerge> merge_;
};

}  // namespace braid::merge
