// The adapter for the wB+-tree of bench/wbtree: keys and values of eight bytes. Its leaves are
// files mapped like a pool's, of the media class that the run asks for.
#include <cstring>
#include <memory>
#include <utility>

#include "bench/engines/engines.h"
#include "bench/harness/workload_options.h"
#include "bench/wbtree/wb_tree.h"
#include "media/file_media.h"

namespace braid::bench {
namespace {

using wbtree::WbTree;

/// Big-endian, so that the order of the numbers is the order of the bytes.
uint64_t ToNumber(std::string_view bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data(), sizeof word);
  return __builtin_bswap64(word);
}

std::string_view ToBytes(uint64_t number, char (&bytes)[8]) {
  number = __builtin_bswap64(number);
  std::memcpy(bytes, &number, sizeof number);
  return {bytes, sizeof bytes};
}

class WbTreeSession : public KvSession {
 public:
  explicit WbTreeSession(WbTree* tree) : tree_(tree) {}

  Status Put(std::string_view key, std::string_view value) override {
    if (key.size() != 8 || value.size() != 8) return WrongSize();
    return tree_->Put(ToNumber(key), ToNumber(value));
  }

  Status Get(std::string_view key, std::string* value) override {
    // Benchmarks ask for longer keys to miss; there are none here.
    uint64_t number = 0;
    if (key.size() != 8 || !tree_->Get(ToNumber(key), &number)) return Status::NotFound();
    char bytes[8];
    value->assign(ToBytes(number, bytes));
    return Status::OK();
  }

  Status Delete(std::string_view key) override {
    if (key.size() != 8) return WrongSize();
    (void)tree_->Delete(ToNumber(key));
    return Status::OK();
  }

  Status Write(const std::vector<BatchUpdate>&) override {
    return Status::NotSupported("the wB+-tree has no batches");
  }

  Status Scan(const ScanRange& range, const ScanVisitor& visit) override {
    const auto show = [&](uint64_t key, uint64_t value) {
      char key_bytes[8];
      char value_bytes[8];
      return visit(ToBytes(key, key_bytes), ToBytes(value, value_bytes));
    };
    if (range.reverse) {
      tree_->ScanBackward(show);
      return Status::OK();
    }
    if (range.start && range.start->size() != 8) return WrongSize();
    tree_->ScanFrom(range.start ? ToNumber(*range.start) : 0, show);
    return Status::OK();
  }

 private:
  static Status WrongSize() {
    return Status::InvalidArgument(
        "the wB+-tree takes keys and values of 8 bytes: use --key_size=8 --value_size=8");
  }
  WbTree* tree_;
};

class WbTreeEngine : public KvEngine {
 public:
  explicit WbTreeEngine(bool update_in_place) : update_in_place_(update_in_place) {}

  std::string name() const override { return update_in_place_ ? "wbtree-in-place" : "wbtree"; }
  std::string version() const override { return "1"; }
  std::string parameters() const override { return parameters_; }
  std::string caveat() const override {
    return "8-byte keys and values in place, without checksums; nothing is found that the medium "
           "has changed";
  }

  Status Open(const EngineConfig& config) override {
    if (config.key_size != 8 || config.value_size != 8) {
      return Status::InvalidArgument(
          "the wB+-tree takes keys and values of 8 bytes: use --key_size=8 --value_size=8");
    }
    PoolOptions pool;
    pool.force_media_class = config.force_media_class;
    Result<std::unique_ptr<media::Media>> media =
        media::OpenFileMedia(config.directory, pool, true);
    if (!media.ok()) return media.status();
    wbtree::WbTreeOptions options;
    options.update_in_place = update_in_place_;
    // Of braid's options only those of the medium mean something here.
    Options braid;
    if (const Status set = ApplySettings(config.settings, &braid); !set.ok()) return set;
    options.emulate_write_ns = braid.pool.emulate_write_ns;
    options.emulate_write_mb_s = braid.pool.emulate_write_mb_s;
    // Leaves are half to all full; the file is there before the clock starts.
    options.initial_bytes += config.expected_records * 2 * sizeof(wbtree::Entry) / 64 * 64;
    Result<std::unique_ptr<WbTree>> tree = WbTree::Open(std::move(media).value(), options);
    if (!tree.ok()) return tree.status();
    tree_ = std::move(tree).value();
    const MediaClass media_class = tree_->media_class();
    if (config.sync && media_class == MediaClass::kPage) {
      return Status::NotSupported("the wB+-tree on page media survives no power loss");
    }
    parameters_ = std::string("media class ") + MediaClassName(media_class) +
                  (tree_->media_class_forced() ? " (forced)" : "") +
                  (update_in_place_ ? ", updates in place" : "");
    if (options.emulate_write_ns != 0) {
      parameters_ += ", " + std::to_string(options.emulate_write_ns) + " ns a line";
    }
    if (options.emulate_write_mb_s != 0) {
      parameters_ += ", " + std::to_string(options.emulate_write_mb_s) + " MB/s";
    }
    return Status::OK();
  }

  std::unique_ptr<KvSession> NewSession() override {
    return std::make_unique<WbTreeSession>(tree_.get());
  }
  Status Settle() override { return Status::OK(); }
  EngineCounters Counters() override {
    const wbtree::WbTreeStatistics statistics = tree_->Statistics();
    EngineCounters counters;
    counters.lines_flushed = statistics.lines_flushed;
    counters.fences = statistics.fences;
    counters.bytes_written = statistics.lines_flushed * 64;
    return counters;
  }
  Status Close() override {
    tree_.reset();
    return Status::OK();
  }

 private:
  const bool update_in_place_;
  std::unique_ptr<WbTree> tree_;
  std::string parameters_;
};

}  // namespace

std::unique_ptr<KvEngine> MakeWbTreeEngine() { return std::make_unique<WbTreeEngine>(false); }
std::unique_ptr<KvEngine> MakeWbTreeInPlaceEngine() { return std::make_unique<WbTreeEngine>(true); }

}  // namespace braid::bench
