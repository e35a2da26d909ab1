// Purpose: links entries into a list while they are written: copies that a collection or a merge
// makes, and records that are loaded.
// Thread safety: one thread an object; nobody sees the list yet.
// Invariants:
//   1. What is staged lies in DRAM only, and goes to the pool in whole lines, once; a link that
//      waits for its target is stored where its entry is, staged or in the pool.
//   2. Links of entries that others see already are stored by Close, when all copies are in the
//      pool: until then nothing of them has changed, and from then on readers follow them.
// Persistence: nothing is committed here; links and heads are flushed, and fenced by Close, except
// for links of entries that others see, which the next fence of the caller makes durable.
#pragma once

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/memory_users.h"
#include "format/layout.h"
#include "pool/pool.h"

namespace braid::level {

/// Entries on their way to the pool, one behind the other.
class StagedEntries {
 public:
  explicit StagedEntries(pool::PmemPool* pool) : pool_(pool), charge_(&pool->memory_users()) {
    bytes_.reserve(kBytes + format::kPageBytes);
    charge_.Set(bytes_.capacity());
  }

  /// What is appended from here on lies at `offset`.
  void Begin(uint64_t offset) {
    // Entries are aligned, and so no word lies half in one piece and half in the next.
    BRAID_DCHECK(offset != 0 && offset % sizeof(uint64_t) == 0);
    if (begin_ != 0 && offset == begin_ + bytes_.size()) return;
    Drain();
    begin_ = offset & ~(media::kLineBytes - 1);
    // What the line holds already is written once more, as it is.
    bytes_.assign(pool_->At(begin_), pool_->At(offset));
  }
  void Append(const void* bytes, size_t n) {
    BRAID_DCHECK(begin_ != 0);  // Begin has said where
    for (const char* from = static_cast<const char*>(bytes); n > 0;) {
      BRAID_DCHECK(bytes_.size() < kBytes);
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
    if (offset < begin_ || offset - begin_ >= bytes_.size()) return nullptr;
    // All of it or nothing, else a link would be stored half here and half nowhere.
    BRAID_DCHECK(bytes_.size() - (offset - begin_) >= sizeof(uint64_t));
    return &bytes_[offset - begin_];
  }
  /// Everything goes to the pool, durable with the next fence. The rest of the last line is free
  /// room of its chunk, and becomes zero.
  void Drain() {
    bytes_.resize((bytes_.size() + media::kLineBytes - 1) & ~(media::kLineBytes - 1), 0);
    BRAID_DCHECK(begin_ % media::kLineBytes == 0);  // invariant 1
    if (!bytes_.empty()) Write();
    bytes_.clear();
    begin_ = 0;
  }

 private:
  void Write() {
    pool_->ops().Stream(pool_->At(begin_), bytes_.data(), bytes_.size(), media::Site::kCopies);
  }

  static constexpr size_t kBytes = 64 << 10;
  static_assert(kBytes % media::kLineBytes == 0);  // invariant 1
  pool::PmemPool* pool_;
  base::MemoryCharge charge_;  // for what follows
  std::vector<char> bytes_;
  uint64_t begin_ = 0;  // pool offset of the first staged byte; 0: none yet
};

/// Links entries, given in order, into a list; a strand each, as LinkFlush does.
class CopiedList {
 public:
  /// `staged`: where the entries are until they are in the pool; null: they are there.
  explicit CopiedList(pool::PmemPool* pool, StagedEntries* staged = nullptr)
      : pool_(pool), staged_(staged), links_(pool->strands() * format::kMaxHeight) {
    BRAID_DCHECK(links_ <= std::size(heads_));
    for (size_t i = 0; i < links_; ++i) last_[i] = {&heads_[i], false};
  }

  /// An entry in the pool.
  void Append(uint64_t offset) {
    const uint32_t height = pool_->As<format::EntryHeader>(offset)->height();
    Append(offset, std::min(height, format::kMaxHeight));  // the medium may fail meanwhile
  }
  void Append(uint64_t offset, uint32_t height) { Append(offset, height, false); }
  /// One that others see (invariant 2). Throws std::bad_alloc.
  void AppendForeign(uint64_t offset, uint32_t height) { Append(offset, height, true); }
  uint64_t memory_bytes() const noexcept { return foreign_.capacity() * sizeof foreign_[0]; }

  /// Ends the list and writes its heads; all of it but links of foreign entries is durable on
  /// return.
  void Close(uint64_t head) {
    BRAID_DCHECK(pool_->IsHead(head));
    media::PersistOps& ops = pool_->ops();
    for (size_t i = 0; i < links_; ++i) Store(last_[i], format::EntryPtr::End().raw);
    if (staged_ != nullptr) staged_->Drain();
    for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
      char* to = pool_->At(pool_->StrandHead(head, strand));
      ops.Copy(to, heads_ + strand * format::kMaxHeight, sizeof(format::TableHead));
      ops.Flush(to, sizeof(format::TableHead), media::Site::kCopiesHead);
    }
    ops.Fence(media::Site::kCopiesFence);
    // Not before: a reader that stands on such an entry follows its link at once.
    for (const auto& [link, value] : foreign_) StoreInPool(link, value);
  }

 private:
  /// A link, and whether others see its entry.
  struct Waiting {
    uint64_t* link;
    bool is_foreign;
  };

  void Append(uint64_t offset, uint32_t height, bool is_foreign) {
    BRAID_DCHECK(offset != 0);  // a link there would end the list
    // Where its links are, or will be.
    uint64_t* const links = pool_->As<uint64_t>(offset + sizeof(format::EntryHeader));
    const uint64_t link = pool_->LinkTo(offset).raw;
    const uint32_t strand = pool_->StrandOf(offset);
    for (uint32_t layer = 0; layer < height; ++layer) {
      Waiting& waiting = last_[(layer == 0 ? 0 : strand * format::kMaxHeight) + layer];
      Store(waiting, link);
      waiting = {links + layer, is_foreign};
    }
    // Room for all that wait, so that Close needs no memory.
    if (is_foreign && foreign_.capacity() < foreign_.size() + links_) {
      foreign_.reserve(2 * (foreign_.size() + links_));
    }
  }
  void Store(const Waiting& waiting, uint64_t value) {
    uint64_t* const link = waiting.link;
    if (link >= heads_ && link < heads_ + links_) {
      *link = value;  // put together in DRAM
      return;
    }
    if (waiting.is_foreign) {
      BRAID_DCHECK(foreign_.size() < foreign_.capacity());
      foreign_.emplace_back(link, value);
      return;
    }
    if (char* staged = staged_ != nullptr ? staged_->Find(pool_->OffsetOf(link)) : nullptr) {
      std::memcpy(staged, &value, sizeof value);
      return;
    }
    StoreInPool(link, value);
  }
  void StoreInPool(uint64_t* link, uint64_t value) {
    pool_->ops().StoreU64(link, value);
    pool_->ops().Flush(link, sizeof *link,
                       staged_ == nullptr ? media::Site::kCopiesLink : media::Site::kLoadedLink);
  }

  pool::PmemPool* pool_;
  StagedEntries* staged_;
  size_t links_;
  uint64_t heads_[format::kMaxRegions * format::kMaxHeight];
  Waiting last_[format::kMaxRegions * format::kMaxHeight];
  std::vector<std::pair<uint64_t*, uint64_t>> foreign_;  // links and what they are to be
};

}  // namespace braid::level
