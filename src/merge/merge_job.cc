// Purpose: one merge from begin to end.
// Thread safety, invariants, persistence: compaction_job.h.
#include "merge/merge_job.h"

#include <algorithm>

#include "base/check.h"

namespace braid::merge {

MergeJob::MergeJob(pool::PmemPool* pool, level::Manifest* manifest,
                   std::shared_ptr<level::PmemTable> source,
                   std::shared_ptr<level::PmemTable> target, index::EntryIndex* target_tree,
                   const CompactionOptions& options)
    : pool_(pool),
      manifest_(manifest),
      source_(std::move(source)),
      target_(std::move(target)),
      target_tree_(target_tree),
      options_(options) {
  BRAID_CHECK(source_ != nullptr && target_ != nullptr && source_ != target_);
  BRAID_DCHECK(target_->level() > 0);
}

Status NoteMergeBegin(pool::PmemPool* pool, level::Manifest* manifest,
                      const CompactionOptions& options, uint64_t source_id, uint64_t target_id) {
  const Result<format::MergeRecord*> merge = manifest->BeginMerge(source_id, target_id);
  if (!merge.ok()) return merge.status();
  if (options.persistence != MergePersistence::kPointer) return Status::OK();
  // Durable before the manifest says what older programs would not understand.
  if (Status s = pool->AnnounceIncompat(format::kIncompatPointerMerges); !s.ok()) return s;
  BRAID_DCHECK(manifest->record().open_merges() <= 1);  // it goes alone
  (*merge)->flags = format::kMergeByPointers;
  format::TableRecord* target = manifest->FindTable(target_id);
  BRAID_CHECK(target != nullptr);
  target->flags |= format::kEntriesNotCounted;
  return Status::OK();
}

void BoundSource(const pool::PmemPool& pool, const BatchProgress& progress,
                 level::PmemTable* source) {
  if (progress.boundary == 0) {  // it leads nowhere else yet
    const level::KeyRange range = source->range();
    if (range.is_known) source->SetBound(range.last);
  } else if (pool.EntryAt(progress.boundary) != nullptr) {
    source->SetBound(pool.KeyAt(progress.boundary));
  }
}

Status MergeJob::Begin(const BatchProgress& resumed) {
  BRAID_DCHECK(merge_ == nullptr);
  resumed_ = resumed;
  format::ManifestState& record = manifest_->record();
  const bool is_open = record.MergeOf(source_->id()) != nullptr;
  BRAID_DCHECK(is_open || (resumed.batch == 0 && resumed.boundary == 0));
  if (!is_open) {
    Status s = NoteMergeBegin(pool_, manifest_, options_, source_->id(), target_->id());
    if (!s.ok()) return s;
  }
  merge_record_ = *record.MergeOf(source_->id());
  BRAID_CHECK(merge_record_.target_id == target_->id());
  // An interrupted merge goes on under its old number, whose redo records count.
  return is_open ? Status::OK() : manifest_->Commit();
}

Status MergeJob::Start(index::LiveViews views, index::MergeEpoch* merge_epoch,
                       const std::function<bool()>& should_stop,
                       const std::function<TargetTree()>& fit_tree) {
  // Invariant 1.
  BRAID_DCHECK(merge_ == nullptr && merge_record_.source_id == source_->id());
  BRAID_DCHECK(std::is_sorted(views.begin(), views.end()));
  views_ = std::move(views);
  MergeInput input;
  const index::SkipList source = source_->list();
  input.source_head = source.head();
  const std::shared_ptr<const index::EntryIndex> source_tree = source_->tree();
  if (source_->tree_min_height() == 1) input.source_tree = source_tree.get();
  input.source_boundary = resumed_.boundary;
  input.copies = source_->is_copies();
  input.moved = moved_;
  input.revisited = revisited_;
  if (adopts_) {
    BRAID_DCHECK(resumed_.boundary == 0 && !within_borders_);  // all of it, or nothing
    for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
      input.adopted_heads.push_back(source_->head(strand));
    }
    input.adopted_entries = source_->entries();
  }
  input.takes_out = takes_out_;
  input.hides_below = hides_below_;
  input.is_bottom = is_bottom_;
  input.brings_borders = brings_borders_;
  input.within_borders = within_borders_;
  input.left_border = left_border_;
  input.target_head = target_->head_offset();
  input.tree = target_tree_;
  input.tree_min_height = target_->tree_min_height();
  // A table gets its tree when that has all its keys.
  input.tree_is_complete = target_->tree() != nullptr && target_->tree().get() == target_tree_;
  input.next_tree = next_tree_;
  input.next_tree_min_height = next_tree_min_height_;
  input.views = &views_;
  input.merge = merge_record_;
  input.resumed = resumed_;
  // As it was begun, whatever the options say now.
  input.by_pointers = (merge_record_.flags & format::kMergeByPointers) != 0;
  if (!input.by_pointers) input.newer = newer_.get();
  input.batch_entries = options_.batch_entries;
  input.merge_epoch = merge_epoch;
  input.should_stop = should_stop;
  input.fit_tree = fit_tree;
  merge_ = std::make_unique<ZipperMerge>(pool_, input);
  return merge_->Start();
}

Status MergeJob::Finish() {
  BRAID_DCHECK(merge_ != nullptr && manifest_->record().MergeOf(source_->id()) != nullptr);
  const BatchProgress& progress = merge_->result().progress;
  // Both numbers were compared with the pool's size when they were read; the sum may still be
  // nonsense in a pool made by hand.
  target_->set_entries(static_cast<uint64_t>(
      std::max<int64_t>(static_cast<int64_t>(target_->entries()) + progress.entries_delta, 0)));
  target_->set_max_sequence(std::max(target_->max_sequence(), source_->max_sequence()));
  format::TableRecord* record = manifest_->FindTable(target_->id());
  BRAID_CHECK(record != nullptr);
  *record = target_->record();
  manifest_->RemoveTable(source_->id());
  if (source_->level() == 0 && !source_->is_copies()) {
    manifest_->record().merged_table_id = source_->id();
  }
  manifest_->EndMerge(source_->id());
  return manifest_->Commit();
}

}  // namespace braid::merge
