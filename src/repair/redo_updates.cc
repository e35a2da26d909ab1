// Purpose: the updates of merges that were interrupted.
// Thread safety, invariants, persistence: see redo_updates.h.
#include "repair/redo_updates.h"

#include <cstring>
#include <map>

#include "base/check.h"

namespace braid::repair {

RedoUpdates::RedoUpdates(const media::PoolImage& image, uint64_t chunk_bytes,
                         const format::ManifestState& manifest, const std::vector<uint64_t>& places,
                         bool believes_marks) {
  struct Newest {
    bool of_copies = false;
    uint64_t batch = 0;
    uint64_t place = 0;
  };
  const format::TableRecord* const copies = manifest.Copies();
  std::map<uint64_t, Newest> newest;  // by the number of the merge
  for (const format::MergeRecord& merge : manifest.merges) {
    const bool of_copies = copies != nullptr && merge.source_id == copies->id;
    if (merge.id != 0) newest[merge.id] = {.of_copies = of_copies};
  }
  for (const uint64_t place : places) {
    BRAID_DCHECK(place % chunk_bytes == 0);
    format::RedoHeader header;
    std::memcpy(&header, image.base() + place, sizeof header);
    const uint64_t room = (chunk_bytes - sizeof header) / sizeof(format::RedoUpdate);
    const auto merge = newest.find(header.merge_id);
    if (header.magic != format::kRedoMagic || merge == newest.end() || header.count > room ||
        header.batch <= merge->second.batch) {
      continue;
    }
    const char* body = image.base() + place + sizeof header;
    const uint64_t check = base::Mix(format::StructCheck(header, place),
                                     base::Hash64(body, header.count * sizeof(format::RedoUpdate)));
    if (check != header.check) continue;
    merge->second.batch = header.batch;
    merge->second.place = place;
  }
  for (const auto& [id, record] : newest) {
    if (record.batch == 0) continue;
    Take(image.base() + record.place, believes_marks && !record.of_copies);
  }
}

/// The updates of a record that is intact.
void RedoUpdates::Take(const char* record, bool believes_marks) {
  format::RedoHeader header;
  std::memcpy(&header, record, sizeof header);
  for (uint32_t i = 0; i < header.count; ++i) {
    format::RedoUpdate update;
    std::memcpy(&update, record + sizeof header + i * sizeof update, sizeof update);
    if ((update.target & format::kRedoMarkObsolete) != 0) {
      if (!believes_marks) continue;
      obsolete_.insert(update.target & format::kOffsetMask);
    } else {
      links_.push_back(update.value);
    }
  }
}

}  // namespace braid::repair
