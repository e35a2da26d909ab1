// Purpose: the crash simulator.
// Thread safety, invariants, persistence: see sim_persist.h.
#include "sim/sim_persist.h"

#if defined(BRAID_CRASHSIM)

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "sim/sim_reads.h"

namespace braid::sim {
namespace {

/// What a word adds to the hash of an area. Zero adds nothing, so that a fresh area has the hash 0.
uint64_t WordHash(uint64_t line, size_t word, uint64_t value) noexcept {
  if (value == 0) return 0;
  return Mix64(Mix64(line * kWordsPerLine + word + 1) + value * 0x9E3779B97F4A7C15u);
}

/// What the segments of a pool add to it.
uint64_t SegmentHash(size_t index, uint64_t bytes) noexcept {
  return Mix64(~Mix64(index + 1) + bytes);
}

constexpr uint64_t kWholeCheckPeriod = 32;

}  // namespace

// ---- SimArea ---------------------------------------------------------------------------------

SimArea::SimArea(uint64_t bytes) : bytes_(bytes), saved_in_(bytes / media::kLineBytes, 0) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  BRAID_CHECK(memory != MAP_FAILED);
  base_ = static_cast<char*>(memory);
}

SimArea::~SimArea() { munmap(base_, bytes_); }

uint64_t SimArea::published_bytes() const noexcept {
  uint64_t sum = 0;
  for (const uint64_t bytes : segments_) sum += bytes;
  return sum;
}

void SimArea::Publish() {
  segments_.push_back(unpublished_);
  unpublished_ = 0;
}

void SimArea::set_segments(std::vector<uint64_t> segments) {
  segments_ = std::move(segments);
  unpublished_ = 0;
}

void SimArea::PushFrame() {
  frames_.push_back({next_frame_id_++, saved_.size(), segments_, unpublished_});
}

void SimArea::SaveSlow(uint64_t line) {
  saved_in_[line] = frames_.back().id;
  SavedLine saved;
  saved.line = line;
  std::memcpy(saved.words.data(), Words(line), media::kLineBytes);
  saved_.push_back(saved);
}

void SimArea::PopFrame() {
  Frame& frame = frames_.back();
  // Backwards: a line kept twice (before and after an inner frame) ends with the older content.
  while (saved_.size() > frame.first_saved) {
    const SavedLine& saved = saved_.back();
    std::memcpy(Words(saved.line), saved.words.data(), media::kLineBytes);
    saved_in_[saved.line] = 0;
    saved_.pop_back();
  }
  segments_ = std::move(frame.segments);
  unpublished_ = frame.unpublished;
  frames_.pop_back();
}

std::vector<uint64_t> SimArea::ChangedLines() const {
  std::vector<uint64_t> changed;
  for (size_t i = frames_.back().first_saved; i < saved_.size(); ++i) {
    const SavedLine& saved = saved_[i];
    if (std::memcmp(Words(saved.line), saved.words.data(), media::kLineBytes) != 0) {
      changed.push_back(saved.line);
    }
  }
  return changed;
}

void SimArea::Reset() {
  BRAID_CHECK(madvise(base_, bytes_, MADV_DONTNEED) == 0);
  segments_.clear();
  unpublished_ = 0;
  frames_.clear();
  saved_.clear();
  std::fill(saved_in_.begin(), saved_in_.end(), uint64_t{0});
}

// ---- SimPersist: what is pending
// -----------------------------------------------------------------

SimPersist::SimPersist(SimArea* memory, SimArea* durable, uint64_t seed, MediaClass media_class)
    : memory_(memory),
      durable_(durable),
      seed_(seed),
      media_class_(media_class),
      thread_(std::this_thread::get_id()),
      slot_of_(memory->lines(), kClean),
      marks_(1),
      is_hole_(memory->bytes() / kSimPageBytes),
      is_flushed_(memory->bytes() / kSimPageBytes) {
  BRAID_CHECK(durable == nullptr || durable->bytes() == memory->bytes());
}

void SimPersist::Start(uint64_t content_hash) {
  for (const uint32_t slot : dirty_) Release(&pool_[slot]);
  DropReleased();
  for (std::vector<Mark>& marks : marks_) marks.clear();
  lane_ = 0;
  touched_.clear();
  is_hole_.assign(is_hole_.size(), false);
  is_flushed_.assign(is_flushed_.size(), false);
  violation_.clear();
  durable_hash_ = content_hash;
  tracking_ = true;
}

void SimPersist::Inherit(const SimPersist& other) {
  durable_hash_ = other.durable_hash_;
  order_ = other.order_;
  for (const uint32_t slot : other.dirty_) {
    const DirtyLine& theirs = other.pool_[slot];
    DirtyLine& mine = *Dirty(theirs.line);
    mine.durable = theirs.durable;
    mine.current = theirs.current;
    mine.pending = theirs.pending;
    is_flushed_[PageOf(theirs.line)] = true;  // an open marks everything
  }
}

void SimPersist::AdoptThread(uint32_t lane) {
  AdoptThread();
  lane_ = lane;
  if (lane >= marks_.size()) marks_.resize(lane + 1);
}

void SimPersist::Violate(uint64_t offset, const char* what) {
  if (!violation_.empty()) return;
  char text[160];
  std::snprintf(
      text, sizeof text, "offset 0x%llx (line 0x%llx): %s", static_cast<unsigned long long>(offset),
      static_cast<unsigned long long>(offset / media::kLineBytes * media::kLineBytes), what);
  violation_ = text;
}

bool SimPersist::Covers(const void* address, size_t n) {
  const auto* at = static_cast<const char*>(address);
  if (std::this_thread::get_id() != thread_) {
    Violate(static_cast<uint64_t>(at - memory_->base()),
            "a second thread uses the pool; the simulator replays one thread");
    return false;
  }
  if (n == 0) return false;
  if (at < memory_->base() || at + n > memory_->base() + memory_->bytes()) {
    Violate(0, "a store, flush or fence outside the pool's address range");
    return false;
  }
  return true;
}

SimPersist::DirtyLine* SimPersist::Dirty(uint64_t line) {
  if (DirtyLine* found = Find(line)) return found;
  uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<uint32_t>(pool_.size());
    pool_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slot_of_[line] = slot;
  dirty_.push_back(slot);
  DirtyLine& dirty = pool_[slot];
  dirty.line = line;
  dirty.in_use = true;
  dirty.pending.clear();
  std::memcpy(dirty.durable.data(), memory_->Words(line), media::kLineBytes);
  dirty.current = dirty.durable;
  return &dirty;
}

/// Takes a line out of the dirty ones; DropReleased must follow before the next store.
void SimPersist::Release(DirtyLine* dirty) {
  dirty->in_use = false;
  released_ = true;
  free_slots_.push_back(slot_of_[dirty->line]);
  slot_of_[dirty->line] = kClean;
}

void SimPersist::DropReleased() {
  if (!released_) return;
  std::erase_if(dirty_, [this](uint32_t slot) { return !pool_[slot].in_use; });
  released_ = false;
}

void SimPersist::BeforeStore(const void* address, size_t n) {
  NoteStore(address, n);
  const ReadPause pause;
  if (!Covers(address, n)) return;
  const uint64_t last = LineOf(static_cast<const char*>(address) + n - 1);
  for (uint64_t line = LineOf(address); line <= last; ++line) {
    memory_->Save(line);
    if (!tracking_) continue;
    if (is_hole_[PageOf(line)]) {
      Violate(line * media::kLineBytes, "a store to a hole that nobody has asked room for");
    }
    CheckLine(line);
    Dirty(line);
  }
}

void SimPersist::AfterStore(const void* address, size_t n) {
  const ReadPause pause;
  if (!tracking_ || !Covers(address, n)) return;
  const auto* at = static_cast<const char*>(address);
  const auto first = static_cast<uint64_t>(at - memory_->base()) / sizeof(uint64_t);
  const uint64_t last = static_cast<uint64_t>(at + n - 1 - memory_->base()) / sizeof(uint64_t);
  const uint64_t count = last - first + 1;
  // A copy may store its words in any order (string instructions, overlapping vector moves), so the
  // order is drawn: ascending, descending, or the last word first.
  const uint64_t order = count == 1 ? 0 : Mix64(seed_ ^ ++stores_) % 3;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t word = first + i;
    if (order == 1) word = last - i;
    if (order == 2) word = i == 0 ? last : first + i - 1;
    RecordWord(word / kWordsPerLine, word % kWordsPerLine);
  }
  for (uint64_t line = first / kWordsPerLine; line <= last / kWordsPerLine; ++line) {
    touched_.push_back(line);
    if (DirtyLine* dirty = Find(line); dirty->pending.empty()) Release(dirty);
  }
  DropReleased();
  Step();
}

void SimPersist::RecordWord(uint64_t line, size_t word) {
  DirtyLine& dirty = *Find(line);
  const uint64_t value = memory_->Words(line)[word];
  // Storing what is there already leaves no new crash state.
  if (dirty.current[word] == value) return;
  const uint64_t before = dirty.pending.empty() ? 0 : dirty.pending.back().delta;
  const uint64_t delta =
      before ^ WordHash(line, word, dirty.current[word]) ^ WordHash(line, word, value);
  dirty.current[word] = value;
  dirty.pending.push_back({value, delta, ++order_, static_cast<uint8_t>(word)});
}

void SimPersist::OnFlush(const void* address, size_t n) {
  if (!tracking_ || !Covers(address, n)) return;
  const uint64_t last = LineOf(static_cast<const char*>(address) + n - 1);
  if (media_class_ == MediaClass::kPage) {
    for (uint64_t page = PageOf(LineOf(address)); page <= PageOf(last); ++page) {
      is_flushed_[page] = true;
    }
  }
  if (media_class_ != MediaClass::kCacheLine) return;
  for (uint64_t line = LineOf(address); line <= last; ++line) {
    if (Find(line) != nullptr) marks_[lane_].push_back({line, order_});
  }
  Step();
}

void SimPersist::OnFence() {
  const ReadPause pause;
  if (!tracking_ || !Covers(memory_->base(), 1)) return;
  Step();  // another thread may see what is not durable yet
  ++fences_;
  CheckTouched();
  if (durable_ != nullptr && fences_ % kWholeCheckPeriod == 0) CheckWholePool();
  Point(PointKind::kFence);
  if (media_class_ == MediaClass::kByte) {
    for (const uint32_t slot : dirty_) MakeDurable(&pool_[slot], order_);
  }
  for (const Mark& mark : marks_[lane_]) {
    if (DirtyLine* dirty = Find(mark.line)) MakeDurable(dirty, mark.order);
  }
  marks_[lane_].clear();
  DropReleased();
  Step();
}

void SimPersist::OnSync(uint64_t offset, uint64_t n) {
  if (!tracking_ || media_class_ != MediaClass::kPage) return;
  if (!Covers(memory_->base() + offset, n)) return;
  CheckTouched();
  Point(PointKind::kSync);
  const uint64_t begin = offset / kSimPageBytes * (kSimPageBytes / media::kLineBytes);
  const uint64_t end = (offset + n + kSimPageBytes - 1) / kSimPageBytes * kSimPageBytes;
  for (const uint32_t slot : dirty_) {
    DirtyLine* dirty = &pool_[slot];
    if (dirty->line >= begin && dirty->line < end / media::kLineBytes) MakeDurable(dirty, order_);
  }
  DropReleased();
}

void SimPersist::OnSyncOfFlushed() {
  if (!tracking_ || media_class_ != MediaClass::kPage) return;
  const uint64_t bytes = memory_->published_bytes();
  if (!Covers(memory_->base(), bytes)) return;
  CheckTouched();
  Point(PointKind::kSync);
  for (const uint32_t slot : dirty_) {
    DirtyLine* dirty = &pool_[slot];
    if (dirty->line < bytes / media::kLineBytes && is_flushed_[PageOf(dirty->line)]) {
      MakeDurable(dirty, order_);
    }
  }
  std::fill_n(is_flushed_.begin(), bytes / kSimPageBytes, false);
  DropReleased();
}

void SimPersist::MakeDurable(DirtyLine* dirty, uint64_t order) {
  uint64_t* words = durable_ != nullptr ? durable_->Words(dirty->line) : nullptr;
  size_t count = 0;
  for (; count < dirty->pending.size() && dirty->pending[count].order <= order; ++count) {
    const Pending& store = dirty->pending[count];
    dirty->durable[store.word] = store.value;
    if (words != nullptr) words[store.word] = store.value;
  }
  if (count == 0) return;
  const uint64_t delta = dirty->pending[count - 1].delta;
  durable_hash_ ^= delta;
  dirty->pending.erase(dirty->pending.begin(),
                       dirty->pending.begin() + static_cast<ptrdiff_t>(count));
  for (Pending& store : dirty->pending) store.delta ^= delta;
  if (dirty->pending.empty()) Release(dirty);
}

void SimPersist::Point(PointKind kind) {
  if (tracking_ && on_point_) on_point_(kind);
}

// ---- Segments
// ------------------------------------------------------------------------------------

/// What the durable content of a line adds to the hash.
uint64_t SimPersist::DurableHash(uint64_t line) const {
  const DirtyLine* dirty = Find(line);
  const uint64_t* words = dirty != nullptr      ? dirty->durable.data()
                          : durable_ != nullptr ? durable_->Words(line)
                                                : memory_->Words(line);
  uint64_t hash = 0;
  for (size_t word = 0; word < kWordsPerLine; ++word) hash ^= WordHash(line, word, words[word]);
  return hash;
}

void SimPersist::MakeZero(uint64_t offset, uint64_t bytes) {
  static constexpr LineWords kZeroes{};
  for (uint64_t line = offset / media::kLineBytes; line < (offset + bytes) / media::kLineBytes;
       ++line) {
    if (tracking_) {
      durable_hash_ ^= DurableHash(line);
      if (DirtyLine* dirty = Find(line)) Release(dirty);
    }
    if (durable_ != nullptr) std::memset(durable_->Words(line), 0, media::kLineBytes);
    if (std::memcmp(memory_->Words(line), kZeroes.data(), media::kLineBytes) == 0) continue;
    memory_->Save(line);
    std::memset(memory_->Words(line), 0, media::kLineBytes);
  }
  DropReleased();
}

void SimPersist::AddSegment(uint64_t offset, uint64_t bytes) {
  NoteStore(memory_->base() + offset, bytes);
  const ReadPause pause;
  MakeZero(offset, bytes);
  FillHole(offset, bytes);
  memory_->set_unpublished(bytes);
}

void SimPersist::PunchHole(uint64_t offset, uint64_t bytes) {
  BRAID_CHECK(offset % kSimPageBytes == 0 && bytes % kSimPageBytes == 0);
  NoteStore(memory_->base() + offset, bytes);
  const ReadPause pause;
  if (!tracking_) {
    // For the undo frames only.
    for (uint64_t at = offset; at < offset + bytes; at += media::kLineBytes) {
      memory_->Save(at / media::kLineBytes);
    }
    std::memset(memory_->base() + offset, 0, bytes);
    return;
  }
  CheckTouched();
  Point(PointKind::kHole);
  MakeZero(offset, bytes);
  for (uint64_t page = offset / kSimPageBytes; page < (offset + bytes) / kSimPageBytes; ++page) {
    is_hole_[page] = true;
  }
}

void SimPersist::FillHole(uint64_t offset, uint64_t bytes) {
  if (!tracking_) return;
  for (uint64_t page = offset / kSimPageBytes; page < (offset + bytes) / kSimPageBytes; ++page) {
    is_hole_[page] = false;
  }
}

void SimPersist::PublishSegment() {
  const ReadPause pause;
  Point(PointKind::kPublish);
  // A file is synced before it gets its name.
  OnSync(memory_->published_bytes(), memory_->unpublished());
  if (tracking_) {
    durable_hash_ ^= SegmentHash(memory_->segments().size(), memory_->unpublished());
    if (durable_ != nullptr) {
      durable_->set_unpublished(memory_->unpublished());
      durable_->Publish();
    }
  }
  memory_->Publish();
}

// ---- Images
// --------------------------------------------------------------------------------------

WritebackUnits SimPersist::Units() const {
  std::vector<WritebackUnits::Line> lines;
  lines.reserve(dirty_.size());
  for (const uint32_t slot : dirty_) {
    WritebackUnits::Line& line = lines.emplace_back();
    line.line = pool_[slot].line;
    line.orders.reserve(pool_[slot].pending.size());
    for (const Pending& store : pool_[slot].pending) line.orders.push_back(store.order);
  }
  return {media_class_, std::move(lines)};
}

WritebackUnits::WritebackUnits(MediaClass media_class, std::vector<Line> lines)
    : media_class_(media_class), lines_(std::move(lines)), unit_of_(lines_.size()) {
  std::map<uint64_t, uint32_t> unit_of_page;
  for (uint32_t i = 0; i < lines_.size(); ++i) {
    uint32_t unit = i;
    if (media_class != MediaClass::kCacheLine) {
      const uint64_t page = media_class == MediaClass::kPage
                                ? lines_[i].line / (kSimPageBytes / media::kLineBytes)
                                : uint64_t{0};
      unit = unit_of_page.emplace(page, static_cast<uint32_t>(orders_.size())).first->second;
    }
    unit_of_[i] = unit;
    if (unit == orders_.size()) orders_.emplace_back();
    std::vector<uint64_t>& orders = orders_[unit];
    orders.insert(orders.end(), lines_[i].orders.begin(), lines_[i].orders.end());
  }
  for (std::vector<uint64_t>& orders : orders_) {
    std::sort(orders.begin(), orders.end());
    counts_.push_back(static_cast<uint32_t>(orders.size()));
  }
}

std::vector<uint32_t> WritebackUnits::LinePrefixes(const std::vector<uint32_t>& choice,
                                                   uint64_t tear) const {
  if (media_class_ == MediaClass::kCacheLine) return choice;
  const bool tears = tear != 0 && media_class_ == MediaClass::kPage && !orders_.empty();
  const uint64_t torn_unit = tears ? Mix64(tear) % orders_.size() : 0;
  const uint64_t other_sector = 1 + Mix64(tear + 1) % (kSimPageBytes / kSimSectorBytes - 1);
  std::vector<uint32_t> prefixes(lines_.size());
  for (size_t i = 0; i < lines_.size(); ++i) {
    const uint32_t unit = unit_of_[i];
    uint64_t stores = choice[unit];
    if (tears && unit == torn_unit &&
        lines_[i].line % (kSimPageBytes / media::kLineBytes) /
                (kSimSectorBytes / media::kLineBytes) >=
            other_sector) {
      stores = Mix64(tear + 2) % (counts_[unit] + uint64_t{1});
    }
    if (stores == 0) continue;
    const uint64_t last = orders_[unit][stores - 1];
    const std::vector<uint64_t>& orders = lines_[i].orders;
    prefixes[i] = static_cast<uint32_t>(std::upper_bound(orders.begin(), orders.end(), last) -
                                        orders.begin());
  }
  return prefixes;
}

std::vector<WordChoices> SimPersist::Choices() const {
  std::vector<WordChoices> choices;
  for (size_t i = 0; i < dirty_.size(); ++i) {
    const DirtyLine& dirty = pool_[dirty_[i]];
    for (size_t word = 0; word < kWordsPerLine; ++word) {
      WordChoices of_word{dirty.line * kWordsPerLine + word, static_cast<uint32_t>(i), {}};
      uint64_t value = dirty.durable[word];
      bool changes = false;
      of_word.values.reserve(dirty.pending.size() + 1);
      of_word.values.push_back(value);
      for (const Pending& store : dirty.pending) {
        if (store.word == word) value = store.value, changes = true;
        of_word.values.push_back(value);
      }
      if (changes) choices.push_back(std::move(of_word));
    }
  }
  std::sort(choices.begin(), choices.end(),
            [](const WordChoices& a, const WordChoices& b) { return a.word < b.word; });
  return choices;
}

uint64_t SimPersist::ImageHash(const std::vector<uint32_t>& prefixes) const {
  uint64_t hash = durable_hash_;
  for (size_t i = 0; i < prefixes.size(); ++i) {
    if (prefixes[i] != 0) hash ^= pool_[dirty_[i]].pending[prefixes[i] - 1].delta;
  }
  return hash;
}

void SimPersist::MakeImage(const std::vector<uint32_t>& prefixes) {
  SimArea* area = image_area();
  for (size_t i = 0; i < prefixes.size(); ++i) {
    const DirtyLine& dirty = pool_[dirty_[i]];
    // The durable area has the durable content already; the memory itself has everything applied.
    if (durable_ != nullptr && prefixes[i] == 0) continue;
    area->Save(dirty.line);
    uint64_t* words = area->Words(dirty.line);
    std::memcpy(words, dirty.durable.data(), media::kLineBytes);
    for (uint32_t k = 0; k < prefixes[i]; ++k)
      words[dirty.pending[k].word] = dirty.pending[k].value;
  }
}

// ---- The safety net
// ------------------------------------------------------------------------------

void SimPersist::CheckLine(uint64_t line) {
  const uint64_t* expected = nullptr;
  if (const DirtyLine* dirty = Find(line)) {
    expected = dirty->current.data();
  } else if (durable_ != nullptr) {
    expected = durable_->Words(line);
  } else {
    return;
  }
  const uint64_t* words = memory_->Words(line);
  if (std::memcmp(words, expected, media::kLineBytes) == 0) return;
  for (size_t word = 0; word < kWordsPerLine; ++word) {
    if (words[word] == expected[word]) continue;
    Violate(line * media::kLineBytes + word * sizeof(uint64_t),
            "memory is not durable + pending: a store went around the seam");
    return;
  }
}

void SimPersist::CheckTouched() {
  for (const uint64_t line : touched_) CheckLine(line);
  touched_.clear();
}

void SimPersist::CheckWholePool() {
  BRAID_CHECK(durable_ != nullptr);
  constexpr uint64_t kPage = 4096;
  const uint64_t end = memory_->published_bytes() + memory_->unpublished();
  for (uint64_t page = 0; page < end; page += kPage) {
    if (std::memcmp(memory_->base() + page, durable_->base() + page, kPage) == 0) continue;
    for (uint64_t at = page; at < page + kPage; at += media::kLineBytes)
      CheckLine(at / media::kLineBytes);
  }
}

uint64_t SimPersist::HashOf(const SimArea& area) {
  uint64_t hash = 0;
  for (uint64_t line = 0; line < area.lines(); ++line) {
    for (size_t word = 0; word < kWordsPerLine; ++word) {
      hash ^= WordHash(line, word, area.Words(line)[word]);
    }
  }
  for (size_t i = 0; i < area.segments().size(); ++i) hash ^= SegmentHash(i, area.segments()[i]);
  return hash;
}

// ---- ImagePlan
// -----------------------------------------------------------------------------------

ImagePlan::ImagePlan(std::vector<uint32_t> pending, const ImageLimits& limits, uint64_t seed)
    : pending_(std::move(pending)), seed_(seed) {
  for (const uint32_t stores : pending_) {
    size_ *= stores + 1;
    if (size_ > limits.exhaustive) {
      exhaustive_ = false;
      break;
    }
  }
  if (exhaustive_) return;
  const uint64_t lines = pending_.size();
  const uint64_t all_pairs = lines * (lines - 1) / 2;
  size_ = std::max<uint64_t>(limits.sampled, 2);
  alone_ = std::min(lines, size_ / 4);
  missing_ = std::min(lines, size_ / 4);
  pairs_ = std::min(all_pairs, size_ / 8);
  all_pairs_ = pairs_ == all_pairs;
}

void ImagePlan::Choose(uint64_t image, std::vector<uint32_t>* prefixes) const {
  prefixes->assign(pending_.size(), 0);
  if (exhaustive_) {
    for (size_t i = 0; i < pending_.size(); ++i) {
      (*prefixes)[i] = static_cast<uint32_t>(image % (pending_[i] + 1));
      image /= pending_[i] + 1;
    }
    return;
  }
  if (image == 0) return;
  if (image == 1) {
    *prefixes = pending_;
    return;
  }
  image -= 2;
  // Where there are more lines than images, each point starts at another line.
  const uint64_t start = alone_ < pending_.size() ? seed_ % pending_.size() : 0;
  const size_t line = static_cast<size_t>((start + image) % pending_.size());
  if (image < alone_) {
    (*prefixes)[line] = pending_[line];
  } else if (image - alone_ < missing_) {
    *prefixes = pending_;
    (*prefixes)[(line + pending_.size() - alone_ % pending_.size()) % pending_.size()] = 0;
  } else if (image - alone_ - missing_ < pairs_) {
    ChoosePair(image - alone_ - missing_, prefixes);
  } else {
    ChooseRandom(image, prefixes);
  }
}

void ImagePlan::ChoosePair(uint64_t pair, std::vector<uint32_t>* prefixes) const {
  size_t a = 0;
  size_t b = 0;
  if (all_pairs_) {
    for (b = 1; pair >= b; ++b) pair -= b;
    a = static_cast<size_t>(pair);
  } else {
    Random random(Mix64(seed_) ^ pair);
    a = static_cast<size_t>(random.Uniform(pending_.size()));
    b = static_cast<size_t>((a + 1 + random.Uniform(pending_.size() - 1)) % pending_.size());
  }
  (*prefixes)[a] = pending_[a];
  (*prefixes)[b] = pending_[b];
}

void ImagePlan::ChooseRandom(uint64_t image, std::vector<uint32_t>* prefixes) const {
  Random random(Mix64(seed_ + 1) ^ image);
  const uint64_t kind = random.Uniform(8);
  if (kind == 0) {  // anywhere
    for (size_t i = 0; i < pending_.size(); ++i) {
      (*prefixes)[i] = static_cast<uint32_t>(random.Uniform(pending_[i] + 1u));
    }
    return;
  }
  if (kind >= 4) *prefixes = pending_;
  // A few lines away from none or all: most bugs need one or two lines in the wrong state.
  const int distance = 1 + std::countr_zero(random.Next() | 16);
  for (int i = 0; i < distance; ++i) {
    const auto line = static_cast<size_t>(random.Uniform(pending_.size()));
    (*prefixes)[line] = static_cast<uint32_t>(random.Uniform(pending_[line] + 1u));
  }
}

}  // namespace braid::sim

#endif  // BRAID_CRASHSIM
