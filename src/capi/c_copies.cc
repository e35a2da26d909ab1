// Purpose: the calls of braid/c.h that move whole databases: bulk load, checkpoint, restore.
// Thread safety: as in braid/c.h.
// Persistence: none; every promise is that of braid/db.h.
#include "capi/handles.h"

using braid::DB;
using braid::Slice;
using braid::Status;
using braid::capi::Guard;

namespace {

/// Records that a function of C hands out.
class CSource final : public braid::RecordSource {
 public:
  using NextRecord = uint8_t (*)(void*, const char** key, size_t* keylen, const char** val,
                                 size_t* vallen);

  CSource(void* state, NextRecord next) : state_(state), next_(next) {}

  bool Next(Slice* key, Slice* value) override {
    const char* key_bytes = nullptr;
    const char* value_bytes = nullptr;
    size_t key_length = 0;
    size_t value_length = 0;
    const uint8_t answer = next_(state_, &key_bytes, &key_length, &value_bytes, &value_length);
    if (answer == 1) {
      *key = Slice(key_bytes, key_length);
      *value = Slice(value_bytes, value_length);
      ++records_;
      return true;
    }
    if (answer != 0) {
      status_ = Status::Aborted("the source of the records failed after " +
                                std::to_string(records_) + " of them");
    }
    return false;
  }
  Status status() const override { return status_; }

 private:
  void* state_;
  NextRecord next_;
  uint64_t records_ = 0;
  Status status_;
};

braid::CheckpointOptions Progress(void* state, void (*progress)(void*, double share)) {
  braid::CheckpointOptions options;
  if (progress != nullptr) {
    options.progress = [state, progress](double share) { progress(state, share); };
  }
  return options;
}

}  // namespace

uint64_t braid_ingest(braid_t* db, uint8_t sorted, void* state,
                      uint8_t (*next)(void*, const char** key, size_t* keylen, const char** val,
                                      size_t* vallen),
                      char** errptr) {
  braid::IngestReport report;
  Guard(errptr, [&] {
    CSource source(state, next);
    braid::IngestOptions options;
    options.sorted = sorted != 0;
    return db->rep->Ingest(&source, options, &report);
  });
  return report.records;
}

void braid_checkpoint(braid_t* db, const char* target, void* state,
                      void (*progress)(void*, double share), char** errptr) {
  Guard(errptr, [&] { return db->rep->CreateCheckpoint(target, Progress(state, progress)); });
}

void braid_restore(const braid_options_t* options, const char* name, const char* target,
                   void* state, void (*progress)(void*, double share), char** errptr) {
  Guard(errptr, [&] {
    braid::Result<braid::Options> made = braid::capi::MakeOptions(*options);
    if (!made.ok()) return made.status();
    return DB::Restore(*made, name, target, Progress(state, progress));
  });
}
