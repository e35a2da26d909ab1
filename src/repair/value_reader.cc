// Purpose: the values of a damaged pool's entries.
// Thread safety, invariants, persistence: see value_reader.h.
#include "repair/value_reader.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "format/layout.h"

namespace braid::repair {

using format::EntryHeader;
using format::ExtentRef;

ValueReader::ValueReader(const media::PoolImage& image) : image_(image) {
  // A sound pool's extents share no byte. Those of a damaged one are sometimes named by entries
  // that are not intact; and a copy of a pool may have holes where values are zero.
  constexpr uint64_t kInVain = 8;
  constexpr uint64_t kInHoles = 1ull << 36;
  bytes_left_ = kInHoles;
  for (const media::PoolImage::File& file : image.files()) {
    for (const auto& data : file.data) bytes_left_ += kInVain * data.bytes;
  }
}

std::optional<ExtentRef> ValueReader::ExtentOf(const EntryHeader& entry) noexcept {
  ExtentRef ref;
  if (!entry.has(format::kValueInExtent) || entry.value_bytes != sizeof ref ||
      format::ValueCheck(entry.value()) != entry.value_check) {
    return std::nullopt;
  }
  std::memcpy(&ref, entry.value().data(), sizeof ref);
  return ref;
}

/// What is read of it is within the files; its value check and the node's vouch for the rest.
const EntryHeader* ValueReader::HolderOf(const EntryHeader& node) const noexcept {
  format::EntryRef ref;
  if (node.value_bytes != sizeof ref || format::ValueCheck(node.value()) != node.value_check) {
    return nullptr;
  }
  std::memcpy(&ref, node.value().data(), sizeof ref);
  if (ref.offset % 8 != 0 || ref.offset >= image_.bytes() ||
      !image_.Holds(ref.offset, sizeof(EntryHeader))) {
    return nullptr;
  }
  const uint64_t room = std::min(image_.bytes() - ref.offset, format::kMaxChunkBytes);
  format::EntryView view{};
  if (!format::EntryWithin(image_.base() + ref.offset, room, &view) ||
      !image_.Holds(ref.offset, view.entry->size())) {
    return nullptr;
  }
  const bool holds = !view.entry->has(format::kValueElsewhere) && view.entry->op() == node.op() &&
                     view.entry->sequence() == node.sequence() && view.key == node.key();
  return holds ? view.entry : nullptr;
}

bool ValueReader::IsIntact(const EntryHeader& entry, bool live) {
  if (entry.has(format::kValueElsewhere)) {
    const EntryHeader* holder = HolderOf(entry);
    // Of an obsolete one the place may be another's.
    return !live || (holder != nullptr && IsIntact(*holder, live));
  }
  if (!entry.has(format::kValueInExtent)) {
    return format::ValueCheck(entry.value()) == entry.value_check;
  }
  const std::optional<ExtentRef> ref = ExtentOf(entry);
  // Of an obsolete entry the extent is given back, and another may have it.
  return ref && (!live || ExtentIsIntact(*ref));
}

/// The hash in the entry vouches for the value, whatever has become of the extent's header.
bool ValueReader::ExtentIsIntact(const ExtentRef& ref) {
  const uint64_t begin = ref.offset + sizeof(format::ExtentHeader);
  if (ref.offset >= image_.bytes() || !image_.Holds(begin, ref.bytes)) return false;
  const uint64_t end = begin + ref.bytes;
  const auto behind = intact_.lower_bound(end);
  if (behind != intact_.begin()) {
    const auto& [known_begin, known] = *std::prev(behind);
    if (known.end > begin) {
      return known_begin == begin && known.end == end && known.check == ref.check;
    }
  }
  if (ref.bytes > bytes_left_) return false;
  bytes_left_ -= ref.bytes;
  if (base::Hash64(image_.base() + begin, ref.bytes) != ref.check) return false;
  if (ref.bytes != 0) intact_[begin] = {end, ref.check};
  return true;
}

std::string_view ValueReader::ValueOf(const EntryHeader& entry) const {
  if (entry.has(format::kValueElsewhere)) {
    const EntryHeader* holder = HolderOf(entry);
    return holder == nullptr ? std::string_view() : ValueOf(*holder);
  }
  if (!entry.has(format::kValueInExtent)) return entry.value();
  ExtentRef ref;
  std::memcpy(&ref, entry.value().data(), sizeof ref);
  return {image_.base() + ref.offset + sizeof(format::ExtentHeader), ref.bytes};
}

}  // namespace braid::repair
