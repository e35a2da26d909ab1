// Purpose: prefixes and times as ranges of keys.
// Thread safety: pure, except for the database that is given.
// Persistence: none of its own.
#include "braid/key_ranges.h"

#include "base/no_throw.h"
#include "braid/db.h"

namespace braid {

namespace {

constexpr size_t kTimeBytes = 8;

}  // namespace

std::optional<std::string> PrefixUpperBound(Slice prefix) {
  std::string bound(prefix);
  while (!bound.empty() && static_cast<unsigned char>(bound.back()) == 0xff) bound.pop_back();
  if (bound.empty()) return std::nullopt;
  bound.back() = static_cast<char>(static_cast<unsigned char>(bound.back()) + 1);
  return bound;
}

ReadOptions PrefixBounds(Slice prefix) {
  ReadOptions options;
  options.lower_bound = std::string(prefix);
  options.upper_bound = PrefixUpperBound(prefix);
  return options;
}

std::string TimeKey(Slice prefix, uint64_t time, Slice rest) {
  std::string key;
  key.reserve(prefix.size() + kTimeBytes + rest.size());
  key.append(prefix);
  for (size_t i = kTimeBytes; i-- > 0;) key.push_back(static_cast<char>(time >> (8 * i)));
  key.append(rest);
  return key;
}

std::optional<uint64_t> TimeOfKey(Slice prefix, Slice key) {
  if (!key.starts_with(prefix) || key.size() < prefix.size() + kTimeBytes) return std::nullopt;
  uint64_t time = 0;
  for (const char byte : key.substr(prefix.size(), kTimeBytes)) {
    time = time << 8 | static_cast<unsigned char>(byte);
  }
  return time;
}

Status ExpireBefore(DB* db, const WriteOptions& options, Slice prefix, uint64_t time,
                    uint64_t* deleted) {
  return base::CatchToStatus([&] {
    const std::string begin = TimeKey(prefix, 0);
    const std::string end = TimeKey(prefix, time);
    return db->DeleteRange(options, begin, Slice(end), deleted);
  });
}

}  // namespace braid
