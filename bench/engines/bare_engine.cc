// The bare loop: what a put in order can't do without, and nothing else. It appends the record to a
// log of the thread's own, flushes its lines, fences, and inserts the key into the same B+-tree in
// DRAM that braid uses. No checksums, no versions, no flush, no merge, no recovery; the space of
// what is overwritten is lost, and the medium is touched before the clock starts. A yardstick for
// puts, not a store.
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include "bench/engines/engines.h"
#include "index/dram_btree.h"
#include "media/file_media.h"
#include "media/persist.h"

namespace braid::bench {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

struct Record {
  uint32_t key_bytes;
  uint32_t value_bytes;
};

std::string_view KeyOfRecord(const char* record) {
  Record header;
  std::memcpy(&header, record, sizeof header);
  return {record + sizeof header, header.key_bytes};
}

class KeyAt {
 public:
  explicit KeyAt(const char* base) : base_(base) {}
  std::string_view operator()(uint64_t offset) const noexcept {
    return KeyOfRecord(base_ + offset);
  }

 private:
  const char* base_;
};

/// What the sessions share.
struct BareStore {
  explicit BareStore(std::unique_ptr<media::Media> opened)
      : media(std::move(opened)), ops(media->media_class()), index(KeyAt(media->base())) {}

  std::unique_ptr<media::Media> media;
  media::PersistOps ops;
  index::DramBTree<KeyAt> index;
  uint64_t bytes = 0;
  std::atomic<uint64_t> taken{kPieceBytes};  // 0 is no offset of a record
};

class BareSession final : public KvSession {
 public:
  explicit BareSession(BareStore* store) : store_(store) {}

  Status Put(std::string_view key, std::string_view value) override {
    const uint64_t bytes = (sizeof(Record) + key.size() + value.size() + 7) & ~uint64_t{7};
    if (bytes > kPieceBytes) return Status::InvalidArgument("the bare loop takes less than 1 MiB");
    if (bytes > left_) {
      // Relaxed: whose piece it is; the records in it are published by the index.
      at_ = store_->taken.fetch_add(kPieceBytes, std::memory_order_relaxed);
      if (at_ + kPieceBytes > store_->bytes) {
        return Status::OutOfSpace("the bare loop has room for two writes a record: write less");
      }
      left_ = kPieceBytes;
    }
    char* const to = store_->media->base() + at_;
    const Record header{static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size())};
    store_->ops.Copy(to, &header, sizeof header);
    store_->ops.Copy(to + sizeof header, key.data(), key.size());
    store_->ops.Copy(to + sizeof header + key.size(), value.data(), value.size());
    store_->ops.Flush(to, bytes, media::Site::kOutside);
    store_->ops.Fence(media::Site::kOutside);
    const uint64_t offset = at_;
    store_->index.Upsert(key, [offset](uint64_t) { return offset; });
    at_ += bytes;
    left_ -= bytes;
    return Status::OK();
  }

  Status Get(std::string_view key, std::string* value) override {
    const uint64_t offset = store_->index.Find(key);
    if (offset == 0) return Status::NotFound();
    const char* const from = store_->media->base() + offset;
    Record header;
    std::memcpy(&header, from, sizeof header);
    value->assign(from + sizeof header + header.key_bytes, header.value_bytes);
    return Status::OK();
  }

  Status Delete(std::string_view) override { return Lacks(); }
  Status Write(const std::vector<BatchUpdate>&) override { return Lacks(); }
  Status Scan(const ScanRange&, const ScanVisitor&) override { return Lacks(); }

 private:
  static Status Lacks() { return Status::NotSupported("the bare loop only puts and gets"); }
  BareStore* store_;
  uint64_t at_ = 0;
  uint64_t left_ = 0;
};

class BareEngine final : public KvEngine {
 public:
  std::string name() const override { return "bare"; }
  std::string version() const override { return "1"; }
  std::string parameters() const override { return parameters_; }
  std::string caveat() const override { return "no store: the least that a put has to do"; }

  Status Open(const EngineConfig& config) override {
    const uint64_t record = sizeof(Record) + config.key_size + config.value_size + 8;
    const uint64_t pieces = 2 * config.expected_records * record / kPieceBytes +
                            static_cast<uint64_t>(config.threads) + 4;
    PoolOptions pool;
    pool.force_media_class = config.force_media_class;
    pool.initial_bytes = pieces * kPieceBytes;
    Result<std::unique_ptr<media::Media>> media =
        media::OpenFileMedia(config.directory, pool, true);
    if (!media.ok()) return media.status();
    if (Status s = (*media)->AddSegment(pool.initial_bytes); !s.ok()) return s;
    (*media)->Prefault(0, pool.initial_bytes);
    if ((*media)->media_class() == MediaClass::kPage && config.sync) return NoSync();
    parameters_ = std::string("media class ") + MediaClassName((*media)->media_class()) +
                  ((*media)->media_class_forced() ? " (forced)" : "");
    store_ = std::make_unique<BareStore>(std::move(media).value());
    store_->bytes = pool.initial_bytes;
    return Status::OK();
  }
  std::unique_ptr<KvSession> NewSession() override {
    return std::make_unique<BareSession>(store_.get());
  }
  Status Settle() override { return Status::OK(); }
  EngineCounters Counters() override { return {}; }
  Status Close() override {
    store_.reset();
    return Status::OK();
  }

 private:
  static Status NoSync() {
    return Status::NotSupported("the bare loop on page media survives no power loss");
  }
  std::unique_ptr<BareStore> store_;
  std::string parameters_;
};

}  // namespace

std::unique_ptr<KvEngine> MakeBareEngine() { return std::make_unique<BareEngine>(); }

}  // namespace braid::bench
