// Purpose: finding the places of chunks that have lost their headers.
// Thread safety, invariant, persistence: see log_parts.h.
#include "repair/log_parts.h"

#include <map>

#include "base/check.h"

namespace braid::repair {

namespace {

using Parts = std::map<uint64_t, LogPart*>;

/// The part without a header at `number`; null: there is none.
LogPart* Find(const Parts& parts, uint64_t number) {
  const auto found = parts.find(number);
  return found == parts.end() || found->second->has_header ? nullptr : found->second;
}

void Place(const LogPart& neighbour, uint32_t ordinal, LogPart* part) {
  BRAID_DCHECK(neighbour.has_header && !part->has_header && part->header != nullptr);
  part->has_header = true;
  *part->header = {};
  part->header->table_id = neighbour.header->table_id;
  part->header->shard = neighbour.header->shard;
  part->header->ordinal = ordinal;
}

}  // namespace

void PlaceParts(std::vector<LogPart>* parts) {
  Parts begins;  // by the number of the first entry
  Parts ends;    // by the number of the last
  std::vector<LogPart*> known;
  for (LogPart& part : *parts) {
    if (part.has_header) known.push_back(&part);
    if (part.has_header) continue;
    if (part.begins_within) begins[part.first] = &part;
    if (part.ends_within) ends[part.last] = &part;
  }
  for (LogPart* at : known) {
    LogPart* part = at;
    while (part->ends_within) {
      LogPart* const next = Find(begins, part->last + 1);
      if (next == nullptr) break;
      Place(*part, part->header->ordinal + 1, next);
      next->header->previous_used = part->used;
      next->header->within_unit = 1;
      part = next;
    }
    part = at;
    while (part->begins_within && part->header->ordinal > 0) {
      LogPart* const before = Find(ends, part->first - 1);
      if (before == nullptr) break;
      Place(*part, part->header->ordinal - 1, before);
      part = before;
    }
  }
}

}  // namespace braid::repair
