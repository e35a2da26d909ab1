// Purpose: links entries into a list while they are written: copies that a collection or a merge
// makes, and records that are loaded. Thread safety: one thread an object; nobody sees the list
// yet. Invariant 1: what is staged lies in DRAM only, and goes to the pool in whole lines, once;
// a link that waits for its target is stored where its entry is, staged or in the pool.
// Persistence: nothing is committed here; links and heads are flushed, and fenced by Close.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/memory_users.h"
#include "base/mutants.h"
#include "format/layout.h"
#include "pmem/pool.h"

namespace braid::level {

/// Entries on their way to the pool, one behind the other.
class StagedEntries {
 public:
  explicit StagedEntries(pmem::PmemPool* pool) : pool_(pool), charge_(&pool->memory_users()) {
    bytes_.reserve(kBytes + format::kPageBytes);
    charge_.Set(bytes_.capacity());
  }

  /// What is appended from here on lies at `offset`.
  void Begin(uint64_t offset) {
    if (begin_ != 0 && offset == begin_ + bytes_.size()) return;
    Drain();
    begin_ = offset & ~(pmem::kLineBytes - 1);
    // What the line holds already is written once more, as it is.
    bytes_.assign(pool_->At(begin_), pool_->At(offset));
  }
  void Append(const void* bytes, size_t n) {
    for (const char* from = static_cast<const char*>(bytes); n > 0;) {
      const size_t part = std::min(n, kBytes - bytes_.size());
      bytes_.insert(bytes_.end(), from, from + part);
      from += part;
      n -= part;
      if (bytes_.size() == kBytes) {
        Write();
        begin_ += kBytes;
        bytes_.clear();
      }
    }
  }
  /// Where the word at `offset` is staged; null: it is in the pool.
  char* Find(uint64_t offset) noexcept {
    return offset >= begin_ && offset - begin_ < bytes_.size() ? &bytes_[offset - begin_] : nullptr;
  }
  /// Everything goes to the pool, durable with the next fence. The rest of the last line is free
  /// room of its chunk, and becomes zero.
  void Drain() {
    bytes_.resize((bytes_.size() + pmem::kLineBytes - 1) & ~(pmem::kLineBytes - 1), 0);
    if (!bytes_.empty()) Write();
    bytes_.clear();
    begin_ = 0;
  }

 private:
  void Write() {
    if (BRAID_MUTANT(kCopiesNotFlushed)) {
      pool_->ops().Copy(pool_->At(begin_), bytes_.data(), bytes_.size());
    } else {
      pool_->ops().Stream(pool_->At(begin_), bytes_.data(), bytes_.size());
    }
  }

  static constexpr size_t kBytes = 64 << 10;
  pmem::PmemPool* pool_;
  base::MemoryCharge charge_;  // for what follows
  std::vector<char> bytes_;
  uint64_t begin_ = 0;  // pool offset of the first staged byte; 0: none yet
};

/// Links entries, given in order, into a list; a strand each, as LinkFlush does.
class CopiedList {
 public:
  /// `staged`: where the entries are until they are in the pool; null: they are there.
  explicit CopiedList(pmem::PmemPool* pool, StagedEntries* staged = nullptr)
      : pool_(pool), staged_(staged), links_(pool->strands() * format::kMaxHeight) {
    for (size_t i = 0; i < links_; ++i) last_[i] = &heads_[i];
  }

  /// An entry in the pool.
  void Append(uint64_t offset) { Append(offset, pool_->As<format::EntryHeader>(offset)->height()); }
  void Append(uint64_t offset, uint32_t height) {
    // Where its links are, or will be.
    uint64_t* const links = pool_->As<uint64_t>(offset + sizeof(format::EntryHeader));
    const uint64_t link = pool_->LinkTo(offset).raw;
    const uint32_t strand = pool_->StrandOf(offset);
    for (uint32_t layer = 0; layer < height; ++layer) {
      uint64_t*& waiting = last_[(layer == 0 ? 0 : strand * format::kMaxHeight) + layer];
      Store(waiting, link);
      waiting = links + layer;
    }
  }

  /// Ends the list and writes its heads; all of it is durable on return.
  void Close(uint64_t head) {
    pmem::PersistOps& ops = pool_->ops();
    for (size_t i = 0; i < links_; ++i) Store(last_[i], format::EntryPtr::End().raw);
    if (staged_ != nullptr && !BRAID_MUTANT(kLoadedTailNotDrained)) staged_->Drain();
    for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
      char* to = pool_->At(pool_->StrandHead(head, strand));
      ops.Copy(to, heads_ + strand * format::kMaxHeight, sizeof(format::TableHead));
      if (!BRAID_MUTANT(kCopiesHeadNotFlushed)) ops.Flush(to, sizeof(format::TableHead));
    }
    if (!BRAID_MUTANT(kCopiesNotFenced)) ops.Fence();
  }

 private:
  void Store(uint64_t* link, uint64_t value) {
    if (link >= heads_ && link < heads_ + links_) {
      *link = value;  // put together in DRAM
      return;
    }
    if (char* staged = staged_ != nullptr ? staged_->Find(pool_->OffsetOf(link)) : nullptr) {
      std::memcpy(staged, &value, sizeof value);
      return;
    }
    pool_->ops().StoreU64(link, value);
    if (staged_ == nullptr ? BRAID_MUTANT(kCopiesNotFlushed) : BRAID_MUTANT(kLoadedLinkNotFlushed))
      return;
    pool_->ops().Flush(link, sizeof *link);
  }

  pmem::PmemPool* pool_;
  StagedEntries* staged_;
  size_t links_;
  uint64_t heads_[format::kMaxRegions * format::kMaxHeight];
  uint64_t* last_[format::kMaxRegions * format::kMaxHeight];
};

}  // namespace braid::level
