// Purpose: several trees as one sequence of refs.
// Thread safety, invariants, persistence: see tree_merge.h.
#include "index/tree_merge.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
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

/// Of a lane whose words are still to be set.
constexpr size_t kNoBase = ~size_t{0};

/// f(0) to f(count - 1), one behind the other where the count is known: `n`, if not 0.
template <size_t n, class F>
inline void ForEach(size_t count, F&& f) {
  if constexpr (n == 0) {
    for (size_t i = 0; i < count; ++i) f(i);
  } else {
    [&]<size_t... i>(std::index_sequence<i...>) { (f(i), ...); }
    (std::make_index_sequence<n>());
  }
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
  if (sources_.size() > kFew) ways_.resize(sources_.size());
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
  for (bool more = true; more && !order_.empty() && n + order_.size() <= cap;) {
    size_t taken = Take(out + n, cap - n);
    if (taken == 0) taken = TakeKey(out + n);
    BRAID_DCHECK(taken > 0);
    n += taken;
    more = LeaveParts();
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
  lane->base = kNoBase;
  lane->tree->ScanKeyed(start, &lane->copied, want);
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
  if (!run_out_) return true;
  for (Lane& lane : lanes_) {
    if (lane.at < lane.copied.count || lane.copied.count == 0) continue;
    std::array<char, kKnownBytes> whole;
    const std::string_view key = LastKey(&lane, whole.data());
    if (!status_.ok()) return false;
    Copy(&lane, {forward_, false, false, key}, lane.want);
    lane.want = std::min(4 * lane.want, KeyedRefs::kMost);
  }
  Enter();
  return true;
}

/// The order, once lanes have something new.
void TreeMerge::Enter() {
  run_out_ = false;
  order_.clear();
  for (Lane& lane : lanes_) {
    if (lane.at < lane.copied.count) order_.push_back(&lane);
  }
  Align();
}

/// Finds what all keys that lanes stand on begin with, and the words of these behind it.
void TreeMerge::Align() {
  if (order_.size() < 2) return;
  size_t base = order_[0]->leaf().prefix_length;
  for (const Lane* lane : order_) base = std::min<size_t>(base, lane->leaf().prefix_length);
  for (const Lane* lane : order_) base = CommonBytes(order_[0]->leaf(), lane->leaf(), base);
  exact_ = true;
  for (Lane* lane : order_) {
    if (lane->base != base) SetWords(lane, base);
    exact_ = exact_ && lane->exact != kNotExact && lane->exact == order_[0]->exact;
  }
}

void TreeMerge::SetWords(Lane* lane, size_t base) const {
  const LeafPart& leaf = lane->leaf();
  const size_t bits = 8 * (leaf.prefix_length - base);
  const uint64_t begin = PrefixWord(leaf, base);
  const uint64_t keep = bits < 64 ? ~uint64_t{0} : 0;
  const size_t shift = bits % 64;
  const uint64_t* const heads = lane->copied.heads.data();
  uint64_t* const words = lane->words.data();
  for (size_t i = lane->at; i < leaf.end; ++i) {
    words[i] = (begin | ((heads[i] & keep) >> shift)) ^ flip_;
  }
  const bool is_exact = leaf.is_whole() && leaf.length <= base + kWordBytes;
  lane->exact = is_exact ? leaf.length : kNotExact;
  lane->base = base;
}

int TreeMerge::Compare(const Lane& a, const Lane& b) const {
  if (a.word() != b.word()) return a.word() < b.word() ? -1 : 1;
  if (a.exact == b.exact && a.exact != kNotExact) return 0;
  if (a.ref() == b.ref()) return 0;
  return CompareKnown(a, b);
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

/// Takes keys until a lane comes to the end of its part, or words don't say which one is next: 0
/// where that is so at once.
size_t TreeMerge::Take(uint64_t* out, size_t cap) {
  if (const size_t n = TakeRun(out, cap); n != 0) return n;
  switch (order_.size()) {
    case 2:
      return TakeByWords<2>(out, cap);
    case 3:
      return TakeByWords<3>(out, cap);
    case kFew:
      return TakeByWords<kFew>(out, cap);
    default:
      return TakeByWords<0>(out, cap);
  }
}

/// Takes all that one lane has before the others have something, if that is much: most trees are
/// small beside the largest.
size_t TreeMerge::TakeRun(uint64_t* out, size_t cap) {
  Lane* lane = order_[0];
  std::optional<uint64_t> limit;
  for (size_t i = 1; i < order_.size(); ++i) {
    const uint64_t word = order_[i]->word();
    const uint64_t least = lane->word();
    if (word < least) lane = order_[i];
    limit = std::min(limit.value_or(~uint64_t{0}), std::max(word, least));
  }
  size_t n = std::min(lane->leaf().end - lane->at, cap);
  if (limit) {
    const uint64_t* const words = lane->words.data() + lane->at;
    if (n < kRun || words[kRun - 1] >= *limit) return 0;
    if (words[n - 1] >= *limit) n = std::lower_bound(words, words + n, *limit) - words;
  }
  std::copy_n(lane->copied.refs.data() + lane->at, n, out);
  lane->at += n;
  lane->given += n;
  return n;
}

/// Takes the least word of all lanes that stand on it, over and over. Which lanes these are is
/// anybody's guess, so there is no branch on it. `lanes` is their number, 0: any.
template <size_t lanes>
size_t TreeMerge::TakeByWords(uint64_t* out, size_t cap) {
  static_assert(kOlder == 1);
  const size_t count = lanes != 0 ? lanes : order_.size();
  BRAID_DCHECK(count == order_.size() && count <= cap);
  static_assert(lanes <= kFew);
  std::array<Way, lanes> few;  // in registers, since nothing else knows of them
  Way* const ways = lanes != 0 ? few.data() : ways_.data();
  ForEach<lanes>(count, [&](size_t i) {
    const Lane& lane = *order_[i];
    ways[i] = {lane.words.data(), lane.copied.refs.data(), lane.at, lane.leaf().end, lane.word()};
  });
  const bool exact = exact_;
  size_t n = 0;
  while (n + count <= cap) {
    uint64_t least = ~uint64_t{0};
    ForEach<lanes>(count, [&](size_t i) { least = std::min(least, ways[i].word); });
    asm("" : "+r"(least));  // g++ would branch on which one it was
    if (!exact) {
      size_t same = 0;
      ForEach<lanes>(count, [&](size_t i) { same += ways[i].word == least ? 1 : 0; });
      if (same > 1) {
        // One entry, of a table and of the level that it is being merged into, has one key.
        uint64_t ref = 0;
        uint64_t others = 0;
        ForEach<lanes>(count, [&](size_t i) {
          const uint64_t mine = ways[i].refs[ways[i].at];
          const bool is_on_it = ways[i].word == least;
          others |= is_on_it && ref != 0 ? ref ^ mine : 0;
          ref = is_on_it ? mine : ref;
        });
        if (others != 0) break;
      }
    }
    uint64_t older = 0;
    bool at_end = false;
    ForEach<lanes>(count, [&](size_t i) {
      Way& way = ways[i];
      const uint64_t is_least = way.word == least ? 1 : 0;
      out[n] = way.refs[way.at] | older;  // the next one takes its place if it is not the least
      older |= is_least;
      n += is_least;
      way.at += is_least;
      at_end |= way.at == way.end;
    });
    if (at_end) break;
    ForEach<lanes>(count, [&](size_t i) { ways[i].word = ways[i].words[ways[i].at]; });
  }
  ForEach<lanes>(count, [&](size_t i) {
    Lane& lane = *order_[i];
    lane.given += ways[i].at - lane.at;
    lane.at = ways[i].at;
  });
  return n;
}

/// Takes the next key from all lanes that have it.
size_t TreeMerge::TakeKey(uint64_t* out) {
  size_t next = 0;
  for (size_t i = 1; i < order_.size(); ++i) {
    if (Compare(*order_[i], *order_[next]) < 0) next = i;
  }
  const auto take = [](Lane* lane) {
    ++lane->given;
    return lane->copied.refs[lane->at++];
  };
  size_t n = 1;  // behind the place of the newest version
  for (size_t i = next + 1; i < order_.size(); ++i) {
    if (Compare(*order_[i], *order_[next]) == 0) out[n++] = take(order_[i]) | kOlder;
  }
  out[0] = take(order_[next]);
  return n;
}

/// Lanes that have come to the end of their part go on with the next one. False when one has
/// nothing left: it has left the order.
bool TreeMerge::LeaveParts() {
  bool left_any = false;
  size_t stay = 0;
  for (Lane* lane : order_) {
    if (lane->at == lane->copied.count) {
      run_out_ = true;
      continue;
    }
    order_[stay++] = lane;
    if (lane->at < lane->leaf().end) continue;
    ++lane->part;
    lane->base = kNoBase;
    left_any = true;
  }
  order_.resize(stay);
  if (left_any && !run_out_) Align();  // else it is done once more is copied
  return !run_out_;
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
