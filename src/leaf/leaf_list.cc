// Purpose: reading and changing leaves.
// Thread safety, invariants, persistence: leaf_list.h.
#include "leaf/leaf_list.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "engine/stored_value.h"
#include "index/entry_tree.h"

namespace braid::leaf {

using format::ChunkKind;
using format::EntryHeader;
using format::EntryPtr;
using format::kLeafSlots;
using format::Leaf;
using format::LeafCommit;
using format::LeafPtr;
using format::LeafSlot;
using format::LeafTag;

namespace {

// Leaves begin with a cache line, and the smallest chunk holds one.
static_assert(sizeof(format::LogChunkHeader) % 64 == 0 && sizeof(Leaf) % 64 == 0);
static_assert(sizeof(format::LogChunkHeader) + sizeof(Leaf) <= format::kPageBytes);

uint8_t Fingerprint(uint64_t key_hash) noexcept { return static_cast<uint8_t>(key_hash >> 32); }

uint64_t LoadWord(const uint64_t& word) noexcept {
  // Acquire pairs with the release of StoreU64: a reader that finds a reference finds what it
  // names.
  return std::atomic_ref<const uint64_t>(word).load(std::memory_order_acquire);
}

}  // namespace

LeafList::LeafList(pool::PmemPool* pool, const SpanSkipList::Limits& limits, bool verify)
    : pool_(pool), verify_(verify), head_(new LeafNode(std::string(), 0)), last_(head_) {
  head_->loaded.store(true);
  upper_ = std::make_unique<SpanSkipList>(head_, limits);
}

LeafList::~LeafList() {
  for (LeafNode* node : garbage_) node->Unref();
  for (LeafNode* node = head_; node != nullptr;) {
    LeafNode* next = node->next.load(std::memory_order_relaxed);
    node->replaced.store(true);  // an iterator may still hold it
    node->Unref();
    node = next;
  }
}

void LeafList::Create(pool::PmemPool* pool) {
  auto* link = pool->As<uint64_t>(format::kLeafHeadOffset);
  pool->ops().StoreU64(link, LeafPtr::End().raw);
  pool->ops().Persist(link, sizeof *link, media::Site::kLeafHead);
}

// ---- Bytes
// ---------------------------------------------------------------------------------------

Leaf* LeafList::LeafAt(uint64_t offset) const noexcept {
  const uint64_t chunk = pool_->ChunkOf(offset);
  if (chunk >= pool_->chunks() || pool_->StateOf(chunk).kind() != ChunkKind::kLeaf) return nullptr;
  const uint64_t in_chunk = offset & (pool_->chunk_bytes() - 1);
  if (in_chunk < sizeof(format::LogChunkHeader)) return nullptr;
  const uint64_t place = in_chunk - sizeof(format::LogChunkHeader);
  if (place % sizeof(Leaf) != 0 || in_chunk + sizeof(Leaf) > pool_->chunk_bytes()) return nullptr;
  return pool_->As<Leaf>(offset);
}

uint64_t* LeafList::LinkOf(const LeafNode& node) const noexcept {
  return node.offset == 0 ? pool_->As<uint64_t>(format::kLeafHeadOffset)
                          : &pool_->As<Leaf>(node.offset)->next;
}

Status LeafList::CheckLeaf(uint64_t offset) const {
  const Leaf* leaf = LeafAt(offset);
  if (leaf == nullptr) return pool_->CorruptionAt(offset, "leaf", "no leaf can be here");
  const uint32_t generation = pool_->GenerationAt(offset);
  if (leaf->magic != format::kLeafMagic || leaf->generation != generation ||
      leaf->check != format::LeafHeaderCheck(*leaf, offset)) {
    return pool_->CorruptionAt(offset, "leaf", "its header's check does not match");
  }
  const LeafCommit commit{LoadWord(leaf->commit)};
  if (!commit.IsValid(offset, generation)) {
    return pool_->CorruptionAt(offset, "leaf", "the check of its bitmap does not match");
  }
  for (uint64_t bits = commit.bitmap(); bits != 0; bits &= bits - 1) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(bits));
    const uint64_t place = SlotPlace(offset, slot);
    if (!LeafTag{leaf->slots[slot].tag}.IsValid(place, generation)) {
      return pool_->CorruptionAt(place, "slot of a leaf", "the check of its tag does not match");
    }
    if (!EntryPtr{LoadWord(leaf->slots[slot].entry)}.IsValid()) {
      return pool_->CorruptionAt(place, "slot of a leaf", "its reference's check does not match");
    }
  }
  return Status::OK();
}

// ---- Reading
// -------------------------------------------------------------------------------------

Status LeafList::Load(LeafNode* node) const {
  // Acquire: with the flag come bitmap and fingerprints.
  if (node->loaded.load(std::memory_order_acquire)) return Status::OK();
  const base::MutexLock lock(node->mutex);
  return LoadLocked(node);
}

Status LeafList::LoadLocked(LeafNode* node) const {
  if (node->loaded.load(std::memory_order_relaxed)) return Status::OK();
  BRAID_DCHECK(node->offset != 0);  // the head holds nothing, and is loaded
  if (Status s = CheckLeaf(node->offset); !s.ok()) return s;
  const auto* leaf = pool_->As<Leaf>(node->offset);
  for (uint32_t i = 0; i < kLeafSlots; ++i) {
    node->fingerprints[i].store(static_cast<uint8_t>(LeafTag{leaf->slots[i].tag}.fingerprint()),
                                std::memory_order_relaxed);
  }
  node->bitmap.store(LeafCommit{leaf->commit}.bitmap(), std::memory_order_relaxed);
  node->loaded.store(true, std::memory_order_release);
  return Status::OK();
}

const EntryHeader* LeafList::EntryOf(const LeafNode& node, uint32_t slot, Status* status) const {
  const uint64_t place = SlotPlace(node.offset, slot);
  const EntryPtr link{LoadWord(pool_->As<LeafSlot>(place)->entry)};
  if (!link.IsValid() || link.region() != 0) {
    *status = pool_->CorruptionAt(place, "slot of a leaf", "its reference's check does not match");
    return nullptr;
  }
  const EntryHeader* entry = pool_->EntryAt(link.offset());
  if (entry == nullptr ||
      (verify_ && !index::KeyIsIntact(*pool_, *entry, link.offset(), base::Hash64(entry->key())))) {
    *status = pool_->CorruptionAt(link.offset(), "entry",
                                  entry == nullptr ? "a leaf names it, and no entry can be here"
                                                   : "its check does not match");
    return nullptr;
  }
  return entry;
}

LeafLookup LeafList::Find(const LeafNode& node, std::string_view key,
                          uint64_t key_hash) const noexcept {
  LeafLookup result;
  const uint8_t fingerprint = Fingerprint(key_hash);
  // All loads are acquire, and the version is read first and last: what is read in between and was
  // written later brings the greater version with it (invariant 2 of leaf_node.h).
  const uint64_t version = node.version.load(std::memory_order_acquire);
  const auto changed = [&] {
    return node.version.load(std::memory_order_acquire) != version ||
           node.replaced.load(std::memory_order_acquire);
  };
  for (uint64_t bits = node.bitmap.load(std::memory_order_acquire); bits != 0; bits &= bits - 1) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(bits));
    if (node.fingerprints[slot].load(std::memory_order_acquire) != fingerprint) continue;
    const uint64_t place = SlotPlace(node.offset, slot);
    const EntryPtr link{LoadWord(pool_->As<LeafSlot>(place)->entry)};
    if (changed()) return {LeafLookup::State::kRetry, 0, 0};
    // From here on what it names stays: it can't be freed before this read section ends.
    if (!link.IsValid() || link.region() != 0) return {LeafLookup::State::kCorrupt, slot, place};
    const EntryHeader* entry = pool_->EntryAt(link.offset());
    if (entry == nullptr || (verify_ && !index::KeyIsIntact(*pool_, *entry, link.offset(),
                                                            base::Hash64(entry->key())))) {
      return {LeafLookup::State::kCorrupt, slot, link.offset()};
    }
    if (entry->key() != key) continue;
    result = {LeafLookup::State::kFound, slot, link.offset()};
    break;
  }
  if (changed()) return {LeafLookup::State::kRetry, 0, 0};
  return result;
}

Result<bool> LeafList::View(const LeafNode& node, LeafView* view) const {
  view->entries.clear();
  view->version = node.version.load(std::memory_order_acquire);
  std::vector<std::pair<uint64_t, const EntryHeader*>> found;
  found.reserve(kLeafSlots);
  const auto changed = [&] {
    return node.version.load(std::memory_order_acquire) != view->version ||
           node.replaced.load(std::memory_order_acquire);
  };
  for (uint64_t bits = node.bitmap.load(std::memory_order_acquire); bits != 0; bits &= bits - 1) {
    Status status;
    const auto slot = static_cast<uint32_t>(std::countr_zero(bits));
    const uint64_t place = SlotPlace(node.offset, slot);
    const EntryPtr link{LoadWord(pool_->As<LeafSlot>(place)->entry)};
    if (changed()) return false;
    const EntryHeader* entry = link.IsValid() ? pool_->EntryAt(link.offset()) : nullptr;
    if (entry == nullptr || (verify_ && !index::KeyIsIntact(*pool_, *entry, link.offset(),
                                                            base::Hash64(entry->key())))) {
      return pool_->CorruptionAt(link.IsValid() ? link.offset() : place, "entry of a leaf",
                                 "its check does not match");
    }
    found.emplace_back(KeyPrefix(entry->key()), entry);
  }
  if (changed()) return false;
  // Keys that are the same are compared with each other by any sort.
  bool twice = false;
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    const int order = a.second->key().compare(b.second->key());
    twice = twice || (order == 0 && a.second != b.second);
    return order < 0;
  });
  for (size_t i = 1; i < found.size(); ++i) {
    twice = twice || found[i].second == found[i - 1].second;
  }
  if (twice) return pool_->CorruptionAt(node.offset, "leaf", "it holds a key twice");
  view->entries.reserve(found.size());
  for (const auto& [prefix, entry] : found) view->entries.push_back(pool_->OffsetOf(entry));
  return true;
}

Status LeafList::ValueOf(uint64_t entry, std::string_view* value) const {
  return engine::ReadStoredValue(*pool_, entry, verify_, value);
}

// ---- Changing
// ------------------------------------------------------------------------------------

void LeafList::Stage(LeafNode* node, uint32_t slot, const LeafItem& item) {
  node->mutex.AssertHeld();
  // Invariants 2 and 3 of leaf_node.h.
  BRAID_DCHECK((node->bitmap.load(std::memory_order_relaxed) >> slot & 1) == 0);
  BRAID_DCHECK(!node->replaced.load(std::memory_order_relaxed));
  BRAID_DCHECK(item.entry != 0 && item.entry % 8 == 0);
  const uint64_t place = SlotPlace(node->offset, slot);
  auto* target = pool_->As<LeafSlot>(place);
  media::PersistOps& ops = pool_->ops();
  // Release: a reader that still looks at the slot's earlier life sees that it has ended.
  node->fingerprints[slot].store(Fingerprint(item.key_hash), std::memory_order_release);
  ops.StoreU64(&target->entry, EntryPtr::To(item.entry).raw);
  ops.StoreU64(&target->tag,
               LeafTag::Make(item.key_hash, place, pool_->GenerationAt(node->offset)).raw);
  ops.Flush(target, sizeof *target, media::Site::kLeafSlot);
}

void LeafList::Commit(LeafNode* node, uint64_t bitmap) {
  node->mutex.AssertHeld();
  BRAID_DCHECK((bitmap & ~format::kLeafBitmapMask) == 0);  // the other bits are the check's
  BRAID_DCHECK(node->offset != 0 && node->loaded.load(std::memory_order_relaxed));
  BRAID_DCHECK(!node->replaced.load(std::memory_order_relaxed));  // invariant 3 of leaf_node.h
  auto* leaf = pool_->As<Leaf>(node->offset);
  media::PersistOps& ops = pool_->ops();
  ops.StoreU64(&leaf->commit,
               LeafCommit::Make(bitmap, node->offset, pool_->GenerationAt(node->offset)).raw);
  ops.Flush(&leaf->commit, sizeof leaf->commit, media::Site::kLeafCommit);
  ops.Fence(media::Site::kLeafCommitFence);
  // Release pairs with Find. The bitmap first: a reader that sees the greater version sees it, too.
  node->bitmap.store(bitmap, std::memory_order_release);
  node->version.fetch_add(1, std::memory_order_release);
}

void LeafList::Redirect(LeafNode* node, uint32_t slot, uint64_t entry) {
  node->mutex.AssertHeld();
  BRAID_DCHECK((node->bitmap.load(std::memory_order_relaxed) >> slot & 1) != 0);
  BRAID_DCHECK(!node->replaced.load(std::memory_order_relaxed));  // invariant 3 of leaf_node.h
  auto* target = pool_->As<LeafSlot>(SlotPlace(node->offset, slot));
  media::PersistOps& ops = pool_->ops();
  ops.StoreU64(&target->entry, EntryPtr::To(entry).raw);
  ops.Flush(target, sizeof *target, media::Site::kLeafRedirect);
  node->version.fetch_add(1, std::memory_order_release);
}

void LeafList::WriteLeaf(uint64_t offset, const LeafPlan& plan, uint64_t next) {
  BRAID_DCHECK(plan.items.size() <= kLeafSlots && next != offset);
  Leaf image{};
  const uint32_t generation = pool_->GenerationAt(offset);
  uint64_t bitmap = 0;
  for (uint32_t i = 0; i < plan.items.size(); ++i) {
    bitmap |= 1ull << i;
    image.slots[i].entry = EntryPtr::To(plan.items[i].entry).raw;
    image.slots[i].tag =
        LeafTag::Make(plan.items[i].key_hash, SlotPlace(offset, i), generation).raw;
  }
  image.commit = LeafCommit::Make(bitmap, offset, generation).raw;
  image.next = next == 0 ? LeafPtr::End().raw : LeafPtr::To(next).raw;
  image.magic = format::kLeafMagic;
  image.generation = generation;
  image.check = format::LeafHeaderCheck(image, offset);
  // Slots behind the last one stay what they are: no bit shows them.
  const size_t bytes = Leaf::kHeaderBytes + plan.items.size() * sizeof(LeafSlot);
  pool_->ops().Copy(pool_->At(offset), &image, bytes);
  pool_->ops().Flush(pool_->At(offset), bytes, media::Site::kNewLeaves);
}

namespace {

/// What comes behind `old`, which follow `before` in the list. Under the mutexes of all of them.
LeafNode* Behind(LeafNode* before, const std::vector<LeafNode*>& old) {
  BRAID_DCHECK(!before->replaced.load());
  for (LeafNode* node : old) {
    BRAID_DCHECK(before->next.load() == node && !node->replaced.load());
    before = node;
  }
  return before->next.load();
}

}  // namespace

Status LeafList::Replace(LeafNode* before, const std::vector<LeafNode*>& old,
                         const std::vector<LeafPlan>& plans, pool::AllocationClass allocation) {
  LeafNode* const behind = Behind(before, old);
  std::vector<LeafNode*> made;
  made.reserve(plans.size());
  std::vector<base::MutexHold> locks;
  locks.reserve(plans.size());
  {
    const base::MutexLock lock(space_mutex_);
    garbage_.reserve(garbage_.size() + old.size());
  }
  Status failed;
  for (const LeafPlan& plan : plans) {
    Result<uint64_t> offset = Allocate(allocation);
    if (!offset.ok()) {
      failed = offset.status();
      break;
    }
    made.push_back(new LeafNode(plan.low, *offset));
  }
  if (!failed.ok()) {
    for (LeafNode* node : made) {
      FreeLeaf(node->offset);
      node->Unref();
    }
    return failed;
  }
  media::PersistOps& ops = pool_->ops();
  const LeafNode* first = made.empty() ? behind : made.front();
  const uint64_t link = LeafPtr::To(first == nullptr ? 0 : first->offset).raw;
  for (size_t i = 0; i < made.size(); ++i) {
    const LeafNode* next = i + 1 < made.size() ? made[i + 1] : behind;
    WriteLeaf(made[i]->offset, plans[i], next == nullptr ? 0 : next->offset);
  }
  ops.Fence(media::Site::kNewLeavesFence);
  ops.StoreU64(LinkOf(*before), link);
  ops.Flush(LinkOf(*before), sizeof(uint64_t), media::Site::kLeafLink);
  ops.Fence(media::Site::kLeafLinkFence);
  if (pool_->failed()) return pool_->FaultStatus();  // nobody knows; the engine stops

  // The last of the new ones stays locked until no way leads to the old ones any more: a search
  // that comes by an old one must find what it leads on to.
  for (LeafNode* node : made) locks.emplace_back(node->mutex);
  for (size_t i = 0; i < made.size(); ++i) {
    for (uint32_t slot = 0; slot < plans[i].items.size(); ++slot) {
      made[i]->fingerprints[slot].store(Fingerprint(plans[i].items[slot].key_hash),
                                        std::memory_order_relaxed);
    }
    const size_t count = plans[i].items.size();
    made[i]->bitmap.store(count == 0 ? 0 : (~0ull >> (64 - count)), std::memory_order_relaxed);
    made[i]->loaded.store(true, std::memory_order_relaxed);
    made[i]->next.store(i + 1 < made.size() ? made[i + 1] : behind, std::memory_order_relaxed);
    made[i]->prev.store(i == 0 ? before : made[i - 1], std::memory_order_relaxed);
  }
  // Obsolete before the new ones can be found: nobody may go on reading here once somebody may
  // write there.
  for (LeafNode* node : old) node->replaced.store(true);
  before->next.store(made.empty() ? behind : made.front());
  if (behind != nullptr) behind->prev.store(made.empty() ? before : made.back());
  before->version.fetch_add(1, std::memory_order_release);  // what it is responsible for changed
  upper_->Replace(before, old, made);
  leaves_.fetch_add(made.size() - old.size(), std::memory_order_relaxed);
  const base::MutexLock lock(space_mutex_);
  garbage_.insert(garbage_.end(), old.begin(), old.end());
  return Status::OK();
}

Status LeafList::Lock(std::string_view key, base::MutexHold* lock, LeafNode** node) {
  for (;;) {
    SpanSkipList::Raises raises;
    LeafNode* found = upper_->Find(key, &raises);
    if (raises.count != 0) upper_->Raise(key, raises);
    *lock = base::MutexHold(found->mutex);
    const LeafNode* next = found->next.load();
    if (found->replaced.load() || (next != nullptr && next->low <= key)) {
      lock->unlock();
      continue;
    }
    *node = found;
    return LoadLocked(found);
  }
}

bool LeafList::LockWithPrevious(LeafNode* node, base::MutexHold* previous_lock,
                                base::MutexHold* lock, LeafNode** previous) {
  for (;;) {
    if (node->replaced.load()) return false;
    LeafNode* before = node->prev.load();
    *previous_lock = base::MutexHold(before->mutex);
    // The thread that replaced `before` updated this node while it held that mutex.
    if (before->replaced.load() || before->next.load() != node) {
      previous_lock->unlock();
      continue;
    }
    *lock = base::MutexHold(node->mutex);
    *previous = before;
    return !node->replaced.load();
  }
}

// ---- Space
// ---------------------------------------------------------------------------------------

Result<uint64_t> LeafList::Allocate(pool::AllocationClass allocation) {
  const base::MutexLock lock(space_mutex_);
  if (with_room_.empty()) {
    format::LogChunkHeader header{};
    Result<uint64_t> chunk = pool_->AllocateLogChunk(header, ChunkKind::kLeaf, allocation);
    if (!chunk.ok()) return chunk.status();
    std::vector<uint32_t>& places = free_[*chunk];
    for (auto i = static_cast<uint32_t>(LeavesInChunk(*pool_)); i-- > 0;) places.push_back(i);
    with_room_.insert(*chunk);
  }
  const uint64_t chunk = *with_room_.begin();
  std::vector<uint32_t>& places = free_[chunk];
  BRAID_DCHECK(!places.empty());
  const uint32_t index = places.back();
  places.pop_back();
  if (places.empty()) with_room_.erase(chunk);
  return LeafPlace(chunk, index);
}

void LeafList::FreeLeaf(uint64_t offset) {
  const base::MutexLock lock(space_mutex_);
  const uint64_t chunk = pool_->ChunkOf(offset);
  std::vector<uint32_t>& places = free_[chunk];
  const auto index = static_cast<uint32_t>((offset - LeafPlace(chunk, 0)) / sizeof(Leaf));
  BRAID_DCHECK(LeafPlace(chunk, index) == offset);
  places.push_back(index);
  with_room_.insert(chunk);
  if (places.size() < LeavesInChunk(*pool_)) return;
  free_.erase(chunk);
  with_room_.erase(chunk);
  pool_->FreeChunk(chunk);
}

LeafList::Garbage LeafList::TakeGarbage() {
  Garbage garbage{{}, upper_->TakeGarbage()};
  const base::MutexLock lock(space_mutex_);
  garbage.nodes.swap(garbage_);
  return garbage;
}

void LeafList::Release(Garbage garbage) {
  for (LeafNode* node : garbage.nodes) {
    BRAID_DCHECK(node->replaced.load());  // invariant 4
    FreeLeaf(node->offset);
    node->Unref();
  }
}

void LeafList::PutBack(Garbage garbage) {
  upper_->PutBack(std::move(garbage.upper));
  const base::MutexLock lock(space_mutex_);
  garbage_.insert(garbage_.end(), garbage.nodes.begin(), garbage.nodes.end());
}

void LeafList::Forget(Garbage garbage) {
  for (LeafNode* node : garbage.nodes) node->Unref();
}

size_t LeafList::garbage_leaves() const {
  const base::MutexLock lock(space_mutex_);
  return garbage_.size();
}

uint64_t LeafList::free_leaves() const {
  const base::MutexLock lock(space_mutex_);
  uint64_t count = 0;
  for (const auto& [chunk, places] : free_) count += places.size();
  return count;
}

// ---- Open
// ----------------------------------------------------------------------------------------

LeafNode* LeafList::Append(std::string low, uint64_t offset) {
  BRAID_DCHECK(LeafAt(offset) != nullptr && last_->next.load() == nullptr);
  auto* node = new LeafNode(std::move(low), offset);
  node->prev.store(last_);
  last_->next.store(node);
  last_ = node;
  leaves_.fetch_add(1, std::memory_order_relaxed);
  return node;
}

void LeafList::TakeFreeLeaves() {
  std::map<uint64_t, std::vector<bool>> taken;
  for (LeafNode* node = head_->next; node != nullptr; node = node->next) {
    const uint64_t chunk = pool_->ChunkOf(node->offset);
    auto& places = taken[chunk];
    places.resize(LeavesInChunk(*pool_));
    places[(node->offset - LeafPlace(chunk, 0)) / sizeof(Leaf)] = true;
  }
  const base::MutexLock lock(space_mutex_);
  BRAID_DCHECK(free_.empty() && with_room_.empty());
  for (uint64_t chunk = 0; chunk < pool_->chunks(); ++chunk) {
    if (pool_->StateOf(chunk).kind() != ChunkKind::kLeaf) continue;
    const auto found = taken.find(chunk);
    if (found == taken.end()) {
      pool_->FreeChunk(chunk);
      continue;
    }
    std::vector<uint32_t>& places = free_[chunk];
    for (auto i = static_cast<uint32_t>(found->second.size()); i-- > 0;) {
      if (!found->second[i]) places.push_back(i);
    }
    if (!places.empty()) with_room_.insert(chunk);
  }
}

void LeafList::BuildUpper() {
  for (LeafNode* node = head_->next; node != nullptr; node = node->next) {
    SpanSkipList::Raises raises;
    (void)upper_->Find(node->low, &raises);
    upper_->Count(node);
    if (raises.count != 0) upper_->Raise(node->low, raises);
  }
}

}  // namespace braid::leaf
