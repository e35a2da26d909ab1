// Purpose: several trees as one sequence of refs.
// Thread safety, invariants, persistence: see tree_merge.h.
#include "index/tree_merge.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "index/entry_tree.h"

namespace braid::index {

namespace {

constexpr size_t kWordBytes = sizeof(uint64_t);
constexpr size_t kKnownWords = LeafPart::kWords + 1;
constexpr size_t kKnownBytes = kKnownWords * kWordBytes;

/// The begin of a key, as far as its leaf knows it: prefix and head; zeros behind.
std::array<uint64_t, kKnownWords> KnownOf(const LeafPart& leaf, uint64_t head) {
  std::array<uint64_t, kKnownWords> words{};
  std::copy(leaf.prefix.begin(), leaf.prefix.end(), words.begin());
  const size_t at = leaf.prefix_length / kWordBytes;
  const size_t bits = 8 * (leaf.prefix_length % kWordBytes);
  words[at] |= head >> bits;
  if (bits != 0) words[at + 1] |= head << (64 - bits);
  return words;
}

/// Bytes `from` to from + 7 of the prefix of `leaf`, zeros behind it.
uint64_t PrefixWord(const LeafPart& leaf, size_t from) {
  const size_t at = from / kWordBytes;
  const size_t bits = 8 * (from % kWordBytes);
  uint64_t word = at < LeafPart::kWords ? leaf.prefix[at] << bits : 0;
  if (bits != 0 && at + 1 < LeafPart::kWords) word |= leaf.prefix[at + 1] >> (64 - bits);
  return word;
}

/// How many of the first `most` bytes of two prefixes are the same.
size_t CommonBytes(const LeafPart& a, const LeafPart& b, size_t most) {
  for (size_t i = 0; i * kWordBytes < most; ++i) {
    const uint64_t differ = a.prefix[i] ^ b.prefix[i];
    if (differ == 0) continue;
    return std::min(most, i * kWordBytes + static_cast<size_t>(std::countl_zero(differ)) / 8);
  }
  return most;
}

}  // namespace

TreeMerge::TreeMerge(const pool::PmemPool* pool, std::vector<TreeSource> sources)
    : pool_(pool), sources_(std::move(sources)) {
  BRAID_CHECK(!sources_.empty());
  for (size_t i = 1; i < sources_.size(); ++i) {
    if (sources_[i].entries > sources_[main_].entries) main_ = i;
  }
}

/// When it turns out that more than one tree has something.
void TreeMerge::MakeLanes() {
  order_.reserve(sources_.size());
  run_out_.reserve(sources_.size());
  lanes_of_sources_ = std::make_unique<Lane[]>(sources_.size());
  lanes_ = {lanes_of_sources_.get(), sources_.size()};
  for (size_t i = 0; i < sources_.size(); ++i) {
    BRAID_CHECK(sources_[i].tree->knows_keys());
    lanes_[i].tree = sources_[i].tree.get();
    lanes_[i].index = i;
    lanes_[i].given = 0;
  }
}

size_t TreeMerge::Seek(const ScanStart& start, uint64_t* out, size_t cap) {
  status_ = Status::OK();
  forward_ = start.forward;
  only_ = OnlyOne();
  if (only_ != nullptr) {
    last_before_ = 0;
    return ScanOne(start, out, cap);
  }
  if (lanes_.empty()) MakeLanes();
  flip_ = forward_ ? 0 : ~uint64_t{0};
  order_.clear();
  run_out_.clear();
  uint64_t entries = 0;
  for (const TreeSource& source : sources_) entries += source.entries;
  for (Lane& lane : lanes_) {
    const double share =
        static_cast<double>(sources_[lane.index].entries) / static_cast<double>(entries + 1);
    lane.last = 0;
    Copy(&lane, start, static_cast<size_t>(share * static_cast<double>(cap)) + kMore);
  }
  Enter();
  calls_ = 0;
  return Next(out, cap);
}

size_t TreeMerge::Next(uint64_t* out, size_t cap) {
  BRAID_DCHECK(cap >= sources_.size());
  if (pool_->failed()) status_ = pool_->FaultStatus();
  if (!status_.ok()) return 0;
  if (only_ != nullptr) {
    if (last_ == 0 || !IsFarther(last_, last_before_)) return 0;
    last_before_ = last_;
    return ScanOne({forward_, false, false, EntryKeyOf(pool_)(last_)}, out, cap);
  }
  if (!CopyMore()) return 0;
  // A short scan does not come to all that could be given out: a part at a time.
  if (++calls_ <= kShortCalls) cap = std::max(std::min(cap, kShort), sources_.size());
  size_t n = 0;
  for (bool run_out = false; !run_out && !order_.empty() && n + order_.size() <= cap;) {
    if (order_.size() == 1 || order_[0]->word < order_[1]->word) {
      n += TakeRun(out + n, cap - n);
      run_out = !Arrange(0);
    } else {
      n += TakeKey(out + n, &run_out);
    }
  }
  return n;
}

/// The source that alone has something, if so; one of them where none has. A view is older than
/// what comes into an empty tree from here on.
const TreeSource* TreeMerge::OnlyOne() const {
  const TreeSource* only = &sources_.back();
  size_t found = 0;
  for (const TreeSource& source : sources_) {
    if (sources_.size() > 1 && source.tree->is_empty()) continue;
    if (++found > 1) return nullptr;
    only = &source;
  }
  return only;
}

/// Refs of the only tree.
size_t TreeMerge::ScanOne(const ScanStart& start, uint64_t* out, size_t cap) {
  const EntryIndex& tree = *only_->tree;
  const size_t n = start.from_end
                       ? start.forward ? tree.ScanFromStart(out, cap) : tree.ScanFromEnd(out, cap)
                   : start.forward ? tree.ScanForward(start.key, start.inclusive, out, cap)
                                   : tree.ScanBackward(start.key, start.inclusive, out, cap);
  last_ = n == 0 ? 0 : out[n - 1];
  given_ += n;
  return n;
}

/// Whether the walk has come on since the copy before, so that it ends whatever becomes of keys in
/// a hostile pool. `before` is 0 where there was none.
bool TreeMerge::IsFarther(uint64_t last, uint64_t before) {
  if (before == 0) return true;
  const int order = EntryKeyOf(pool_)(last).compare(EntryKeyOf(pool_)(before));
  if (forward_ ? order > 0 : order < 0) return true;
  status_ = pool_->CorruptionAt(last, "entry", "its key is out of order");
  return false;
}

void TreeMerge::Copy(Lane* lane, const ScanStart& start, size_t want) {
  lane->want = want;
  lane->at = lane->part = 0;
  if (lane->tree->ScanKeyed(start, &lane->copied, want) != 0) order_.push_back(lane);
}

/// The last key that was copied of a lane; `whole` has kKnownBytes of room for it, where no entry
/// need be looked at.
std::string_view TreeMerge::LastKey(Lane* lane, char* whole) {
  const KeyedRefs& copied = lane->copied;
  const LeafPart& leaf = copied.part[copied.parts - 1];
  if (leaf.is_whole()) {
    const auto words = KnownOf(leaf, copied.heads[copied.count - 1]);
    for (size_t i = 0; i < kKnownWords; ++i) {
      const uint64_t bytes = __builtin_bswap64(words[i]);
      std::memcpy(whole + i * kWordBytes, &bytes, kWordBytes);
    }
    BRAID_DCHECK(leaf.length <= kKnownBytes);
    return {whole, leaf.length};
  }
  const uint64_t last = copied.refs[copied.count - 1];
  if (!IsFarther(last, lane->last)) return {};
  lane->last = last;
  return EntryKeyOf(pool_)(last);
}

/// For the lanes that have nothing left. False when the way is lost.
bool TreeMerge::CopyMore() {
  if (run_out_.empty()) return true;
  for (Lane* lane : run_out_) {
    std::array<char, kKnownBytes> whole;
    const std::string_view key = LastKey(lane, whole.data());
    if (!status_.ok()) return false;
    Copy(lane, {forward_, false, false, key}, lane->want);
    lane->want = std::min(4 * lane->want, KeyedRefs::kMost);
  }
  run_out_.clear();
  Enter();
  return true;
}

/// Puts lanes that have something new into the order.
void TreeMerge::Enter() {
  Align();
  std::sort(order_.begin(), order_.end(),
            [this](const Lane* a, const Lane* b) { return ComesBefore(*a, *b); });
}

/// Finds what all keys that lanes stand on begin with, and the words of these behind it.
void TreeMerge::Align() {
  if (order_.empty()) return;
  size_t base = order_[0]->leaf().prefix_length;
  for (const Lane* lane : order_) base = std::min<size_t>(base, lane->leaf().prefix_length);
  for (const Lane* lane : order_) base = CommonBytes(order_[0]->leaf(), lane->leaf(), base);
  for (Lane* lane : order_) {
    const size_t bytes = lane->leaf().prefix_length - base;
    lane->begin = PrefixWord(lane->leaf(), base);
    lane->keep = bytes < kWordBytes ? ~uint64_t{0} : 0;
    lane->shift = bytes < kWordBytes ? static_cast<uint32_t>(8 * bytes) : 0;
    lane->word = WordOf(*lane);
    const bool is_exact = lane->leaf().is_whole() && lane->leaf().length <= base + kWordBytes;
    lane->exact = is_exact ? lane->leaf().length : kNotExact;
  }
}

/// For keys that have the same word: by all that is known of them, or else by the entries.
int TreeMerge::CompareKnown(const Lane& a, const Lane& b) const {
  const int ascending = forward_ ? 1 : -1;
  const auto left = KnownOf(a.leaf(), a.head());
  const auto right = KnownOf(b.leaf(), b.head());
  const size_t bytes = std::min(a.leaf().prefix_length, b.leaf().prefix_length) + kWordBytes;
  for (size_t i = 0; i * kWordBytes < bytes; ++i) {
    uint64_t x = left[i];
    uint64_t y = right[i];
    if (bytes - i * kWordBytes < kWordBytes) {
      const size_t beyond = 64 - 8 * (bytes - i * kWordBytes);
      x >>= beyond;
      y >>= beyond;
    }
    if (x != y) return x < y ? -ascending : ascending;
  }
  if (a.leaf().is_whole() && b.leaf().is_whole()) {
    // The shorter of them is known to its end in both, and the begin of the other.
    if (a.leaf().length == b.leaf().length) return 0;
    return a.leaf().length < b.leaf().length ? -ascending : ascending;
  }
  const EntryKeyOf key_of(pool_);
  return ascending * key_of(a.ref()).compare(key_of(b.ref()));
}

/// Puts the lane at `i` of the order, which stands on its next key by now, to where it belongs
/// among those behind it, which are in order: few, a heap would cost more than it saves. False when
/// it has nothing left, and has left the order.
bool TreeMerge::Arrange(size_t i) {
  Lane* const lane = order_[i];
  if (lane->at == lane->copied.count) {
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(i));
    run_out_.push_back(lane);
    return false;
  }
  if (lane->at == lane->leaf().end) {
    ++lane->part;
    Align();
  } else {
    lane->word = WordOf(*lane);
  }
  for (; i + 1 < order_.size() && ComesBefore(*order_[i + 1], *lane); ++i) {
    order_[i] = order_[i + 1];
  }
  order_[i] = lane;
  return true;
}

/// Takes what comes first for its word alone: of the first lane, up to the key of the second one.
size_t TreeMerge::TakeRun(uint64_t* out, size_t cap) {
  Lane& lane = *order_[0];
  const KeyedRefs& copied = lane.copied;
  const size_t end = std::min<size_t>(lane.leaf().end, lane.at + cap);
  const size_t begin = lane.at;
  if (order_.size() == 1) {
    std::copy(copied.refs.data() + begin, copied.refs.data() + end, out);
    lane.at = end;
  } else {
    const uint64_t limit = order_[1]->word;
    for (; lane.at < end && WordOf(lane) < limit; ++lane.at) *out++ = lane.ref();
  }
  BRAID_DCHECK(lane.at > begin);
  lane.given += lane.at - begin;
  return lane.at - begin;
}

/// Takes one key from all lanes that have it.
size_t TreeMerge::TakeKey(uint64_t* out, bool* run_out) {
  size_t same = 1;
  while (same < order_.size() && Compare(*order_[0], *order_[same]) == 0) ++same;
  for (size_t i = 0; i < same; ++i) out[i] = order_[i]->ref() | (i == 0 ? 0 : kOlder);
  for (size_t i = same; i-- > 0;) {
    ++order_[i]->at;
    ++order_[i]->given;
    if (!Arrange(i)) *run_out = true;
  }
  return same;
}

void TreeMerge::TellPassed(size_t left) noexcept {
  // Relaxed: a statistic, ordered with nothing.
  const auto add = [](std::atomic<uint64_t>* passed, uint64_t n) {
    if (passed != nullptr && n != 0) passed->fetch_add(n, std::memory_order_relaxed);
  };
  if (only_ != nullptr) {
    add(only_->passed, given_ - std::min<uint64_t>(left, given_));
    given_ = 0;
    return;
  }
  uint64_t given = 0;
  for (const Lane& lane : lanes_) given += lane.given;
  if (given == 0) return;
  const uint64_t passed = given - std::min<uint64_t>(left, given);
  for (Lane& lane : lanes_) {
    add(sources_[lane.index].passed, std::exchange(lane.given, 0) * passed / given);
  }
}

}  // namespace braid::index
