// Purpose: tests of the ordered maps in DRAM by one thread, against std::map: a harness that does
// each operation on both, and kinds of keys. Random tests print their seed; BRAID_SEED repeats one.
// Thread safety: one thread.
// Persistence: none.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/compare.h"
#include "base/random.h"
#include "index/keyed_refs.h"
#include "tests/support/environment.h"

namespace braid::index {

// An entry as a log would hold it: the ref is its address.
struct Entry {
  std::string key;
  uint64_t value;
};

inline const Entry& EntryOf(uint64_t ref) { return *reinterpret_cast<const Entry*>(ref); }

struct EntryKey {
  std::string_view operator()(uint64_t ref) const { return EntryOf(ref).key; }
};

/// A map and the std::map that it must behave like. `Map` is DramBTree<EntryKey> or DramSkipList.
template <class Map>
class Harness {
 public:
  uint64_t NewRef(std::string key, uint64_t value) {
    entries_.push_back({std::move(key), value});
    return reinterpret_cast<uint64_t>(&entries_.back());
  }

  // Puts into tree and model and compares what the functor saw.
  void Put(const std::string& key, uint64_t value) {
    uint64_t seen = 1;
    const uint64_t ref = NewRef(key, value);
    const uint64_t old_ref = tree_.Upsert(key, [&](uint64_t old) {
      seen = old;
      return ref;
    });
    EXPECT_EQ(seen, old_ref);
    EXPECT_EQ(old_ref, ModelFind(key));
    model_[key] = ref;
  }

  void Abandon(const std::string& key) {
    uint64_t seen = 1;
    const uint64_t old_ref = tree_.Upsert(key, [&](uint64_t old) {
      seen = old;
      return uint64_t{0};
    });
    EXPECT_EQ(seen, old_ref);
    EXPECT_EQ(old_ref, ModelFind(key));
  }

  void Erase(const std::string& key, bool agree) {
    uint64_t seen = 0;
    const bool erased = tree_.EraseIf(key, [&](uint64_t ref) {
      seen = ref;
      return agree;
    });
    EXPECT_EQ(seen, ModelFind(key));
    EXPECT_EQ(erased, seen != 0 && agree);
    if (erased) model_.erase(key);
  }

  uint64_t ModelFind(const std::string& key) const {
    const auto found = model_.find(key);
    return found == model_.end() ? 0 : found->second;
  }

  // Point and range reads around one key.
  void CheckReads(const std::string& key) const {
    ASSERT_EQ(tree_.Find(key), ModelFind(key));
    const auto above = model_.upper_bound(key);
    ASSERT_EQ(tree_.FindFloor(key), above == model_.begin() ? 0 : std::prev(above)->second);
    uint64_t refs[64];
    for (const bool inclusive : {true, false}) {
      for (const size_t cap : {size_t{1}, size_t{64}}) {
        auto up = inclusive ? model_.lower_bound(key) : above;
        size_t n = tree_.ScanForward(key, inclusive, refs, cap);
        ASSERT_LE(n, cap);
        ASSERT_EQ(n == 0, up == model_.end());
        for (size_t i = 0; i < n; ++i, ++up) ASSERT_EQ(refs[i], up->second);
        auto down = std::make_reverse_iterator(inclusive ? above : model_.lower_bound(key));
        n = tree_.ScanBackward(key, inclusive, refs, cap);
        ASSERT_LE(n, cap);
        ASSERT_EQ(n == 0, down == model_.rend());
        for (size_t i = 0; i < n; ++i, ++down) ASSERT_EQ(refs[i], down->second);
      }
    }
    if constexpr (requires { tree_.ScanBefore(key, refs, 64, &finger_); }) CheckScanBefore(key);
    if constexpr (requires { tree_.is_empty(); }) {
      CheckKeyed(key);
      ASSERT_TRUE(!tree_.is_empty() || model_.empty());
    }
  }

  // What scans that tell of the keys find around one, and what they tell.
  void CheckKeyed(const std::string& key) const {
    const auto copied = std::make_unique<KeyedRefs>();
    for (const bool inclusive : {true, false}) {
      for (const size_t cap : {size_t{1}, size_t{30}, size_t{1000}}) {
        size_t n = tree_.ScanKeyed({true, false, inclusive, key}, copied.get(), cap);
        ASSERT_LE(n, cap);
        CheckCopied(*copied, inclusive ? model_.lower_bound(key) : model_.upper_bound(key),
                    model_.end());
        n = tree_.ScanKeyed({false, false, inclusive, key}, copied.get(), cap);
        ASSERT_LE(n, cap);
        CheckCopied(*copied,
                    std::make_reverse_iterator(inclusive ? model_.upper_bound(key)
                                                         : model_.lower_bound(key)),
                    model_.rend());
      }
    }
    tree_.ScanKeyed({true, true, true, {}}, copied.get(), 64);
    CheckCopied(*copied, model_.begin(), model_.end());
    tree_.ScanKeyed({false, true, true, {}}, copied.get(), 64);
    CheckCopied(*copied, model_.rbegin(), model_.rend());
  }

  template <class At>
  void CheckCopied(const KeyedRefs& copied, At expected, At end) const {
    ASSERT_EQ(copied.count == 0, expected == end);
    size_t part = 0;
    for (size_t i = 0; i < copied.count; ++i, ++expected) {
      ASSERT_NE(expected, end);
      ASSERT_EQ(copied.refs[i], expected->second);
      if (i == copied.part[part].end) ++part;
      ASSERT_LT(part, copied.parts);
      const LeafPart& leaf = copied.part[part];
      const std::string& key = expected->first;
      ASSERT_LE(leaf.prefix_length, key.size());
      for (size_t word = 0; word < LeafPart::kWords; ++word) {
        ASSERT_EQ(leaf.prefix[word],
                  base::WordAt(std::string_view(key).substr(0, leaf.prefix_length), 8 * word));
      }
      ASSERT_EQ(copied.heads[i], base::WordAt(key, leaf.prefix_length));
      ASSERT_TRUE(leaf.length == LeafPart::kMixed || key.size() == leaf.length);
    }
    ASSERT_EQ(part + 1, std::max<size_t>(copied.parts, 1));
    ASSERT_TRUE(copied.count == 0 || copied.part[part].end == copied.count);
  }

  // All keys before `key`, the nearest first, but for some of the nearest.
  void CheckScanBefore(const std::string& key) const {
    constexpr ptrdiff_t kMostLeftOut = 4;
    uint64_t refs[64];
    for (const size_t cap : {size_t{1}, size_t{8}, size_t{64}}) {
      // With the finger of the search before, often in another leaf, or one that has changed.
      const size_t n = tree_.ScanBefore(key, refs, cap, &finger_);
      ASSERT_LE(n, cap);
      const auto nearest = std::make_reverse_iterator(model_.lower_bound(key));
      auto down = nearest;
      while (n != 0 && down != model_.rend() && down->second != refs[0]) ++down;
      if (n == 0) down = model_.rend();
      ASSERT_LE(std::distance(nearest, down), kMostLeftOut);
      for (size_t i = 0; i < n; ++i, ++down) {
        ASSERT_NE(down, model_.rend());
        ASSERT_EQ(refs[i], down->second);
      }
    }
  }

  // Size, both full scans, and FindMany of all keys.
  void CheckAll() const {
    ASSERT_EQ(tree_.size(), model_.size());
    std::vector<uint64_t> expected;
    std::vector<std::string_view> keys;
    for (const auto& [key, ref] : model_) {
      expected.push_back(ref);
      keys.push_back(key);
    }
    std::vector<uint64_t> scanned;
    uint64_t refs[64];
    size_t n = tree_.ScanFromStart(refs, 64);
    for (; n != 0; n = tree_.ScanForward(EntryOf(scanned.back()).key, false, refs, 64)) {
      scanned.insert(scanned.end(), refs, refs + n);
    }
    ASSERT_EQ(scanned, expected);
    scanned.clear();
    n = tree_.ScanFromEnd(refs, 64);
    for (; n != 0; n = tree_.ScanBackward(EntryOf(scanned.back()).key, false, refs, 64)) {
      scanned.insert(scanned.end(), refs, refs + n);
    }
    std::reverse(scanned.begin(), scanned.end());
    ASSERT_EQ(scanned, expected);
    std::vector<uint64_t> found(keys.size() + 1, 7);
    keys.push_back("no such key, since it is longer than any other kind makes \x01");
    if constexpr (requires { tree_.FindMany(keys.data(), found.data(), keys.size()); }) {
      tree_.FindMany(keys.data(), found.data(), keys.size());
    } else {
      std::transform(keys.begin(), keys.end(), found.begin(),
                     [&](std::string_view key) { return tree_.Find(key); });
    }
    expected.push_back(0);
    ASSERT_EQ(found, expected);
  }

  Map& tree() { return tree_; }
  const std::map<std::string, uint64_t>& model() const { return model_; }

 private:
  std::deque<Entry> entries_;
  struct Finger {
    const void* leaf = nullptr;
    uint64_t state = 0;
  };
  mutable Finger finger_;
  Map tree_;
  std::map<std::string, uint64_t> model_;
};

inline uint64_t NewSeed() {
  const char* given = std::getenv("BRAID_SEED");
  const uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
  std::printf("BRAID_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

inline std::string BigEndian(uint64_t number) {
  std::string bytes(8, '\0');
  for (int i = 7; i >= 0; --i, number >>= 8) bytes[i] = static_cast<char>(number & 0xff);
  return bytes;
}

inline std::string Decimal(uint64_t number, size_t digits) {
  std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

using MakeKey = std::string (*)(Random&);

inline std::string FewBytes(Random& random, size_t longest) {
  static constexpr char kBytes[] = {'\0', '\x01', '\x7f', '\x80', '\xff'};
  std::string key(random.Uniform(longest + 1), '\0');
  for (char& byte : key) byte = kBytes[random.Uniform(std::size(kBytes))];
  return key;
}

struct Kind {
  const char* name;
  MakeKey make;
};

inline std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }

inline const Kind kKinds[] = {
    {"Random8", [](Random& r) { return BigEndian(r.Next()); }},
    {"Dense8", [](Random& r) { return BigEndian(r.Uniform(6000)); }},
    {"OneByte", [](Random& r) { return std::string(1, static_cast<char>(r.Uniform(256))); }},
    {"Decimal16", [](Random& r) { return Decimal(r.Uniform(5000), 16); }},
    {"Decimal20", [](Random& r) { return Decimal(r.Next(), 20); }},
    {"ZerosOnly", [](Random& r) { return std::string(r.Uniform(300), '\0'); }},
    {"FullBytesOnly", [](Random& r) { return std::string(r.Uniform(300), '\xff'); }},
    {"FewBytesShort", [](Random& r) { return FewBytes(r, 6); }},
    {"FewBytesAroundHead", [](Random& r) { return std::string(5, '\0') + FewBytes(r, 12); }},
    {"LongSharedPrefix", [](Random& r) { return std::string(100, 'p') + FewBytes(r, 5); }},
    {"PrefixOfPrefixLimit",
     [](Random& r) { return std::string(36 + r.Uniform(9), 'q') + FewBytes(r, 4); }},
    {"Path",
     [](Random& r) {
       return "/srv/data/part-" + Decimal(r.Uniform(4), 2) + "/block-" +
              Decimal(r.Uniform(1000), 8) + (r.OneIn(2) ? ".meta" : "");
     }},
    {"ShrinkingPrefix",
     [](Random& r) {
       std::string key(60, 'a');
       const size_t at = r.Uniform(60);
       key[at] = static_cast<char>('a' + r.Uniform(26));
       return key.substr(0, at + 1 + r.Uniform(60 - at));
     }},
    {"MixOfAll",
     [](Random& r) -> std::string {
       switch (r.Uniform(5)) {
         case 0:
           return BigEndian(r.Uniform(100000));
         case 1:
           return std::string(100, 'p') + FewBytes(r, 5);
         case 2:
           return FewBytes(r, 5);
         case 3:
           return Decimal(r.Uniform(5000), 16);
         default:
           return std::string(r.Uniform(3), '\0') + BigEndian(r.Next());
       }
     }},
    {"Long", [](Random& r) { return std::string(65530, 'L') + FewBytes(r, 5); }},
};

/// Phases of growth and of shrinking with keys of one kind.
template <class Map>
void BehavesLikeAnOrderedMap(const Kind& kind) {
  Random random(NewSeed());
  const bool is_long = std::string_view(kind.name) == "Long";
  const int steps = is_long ? 600 : std::max(4000, static_cast<int>(test::Sized(40'000, 400'000)));
  Harness<Map> harness;
  for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
    const std::string key = kind.make(random);
    // Phases of growth and of shrinking, so that leaves fill, empty and fill again.
    const bool growing = (step / (steps / 4)) % 2 == 0;
    switch (random.Uniform(10)) {
      case 0:
        harness.Abandon(key);
        break;
      case 1:
        harness.Erase(key, false);
        break;
      case 2:
        harness.CheckReads(key);
        break;
      case 3:
        harness.Put(key, static_cast<uint64_t>(step));
        break;
      default:
        if (growing) {
          harness.Put(key, static_cast<uint64_t>(step));
        } else if (!harness.model().empty()) {
          auto near = harness.model().lower_bound(key);
          if (near == harness.model().end()) near = harness.model().begin();
          harness.Erase(std::string(near->first), true);
        }
    }
    if (step % 4000 == 0) harness.CheckAll();
  }
  harness.CheckAll();
}

}  // namespace braid::index
