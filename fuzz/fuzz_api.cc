// Operations on a database, each step compared with a std::map: puts, deletes, batches, gets,
// iterators with bounds that change direction, snapshots, flush, compact, close and reopen with
// other options, a process that dies.
#include <map>
#include <string>
#include <vector>

#include "fuzz_common.h"
#include "lsm/lsm_engine.h"

namespace braid::fuzz {
namespace {

using Model = std::map<std::string, std::string>;

class ApiRun {
 public:
  ApiRun(Input* input, PoolMemory* memory) : input_(input), memory_(memory) {
    memory_->Load({});
    memory_->set_limit(1u << 20);
    Open();
  }

  void Run() {
    for (int steps = 0; steps < 300 && !input_->empty(); ++steps) Step();
    CompareAll(model_, nullptr);
    VerifyReport report;
    const Status verified = engine_->Verify(&report, {});
    if (!verified.ok()) Finding("verify: " + verified.ToString());
  }

 private:
  struct Held {
    std::shared_ptr<const Snapshot> snapshot;
    Model model;
  };

  void Step() {
    switch (input_->Below(16)) {
      case 0:
      case 1:
      case 2:
        Put();
        break;
      case 3:
      case 4:
        Delete();
        break;
      case 5:
        Batch();
        break;
      case 6:
      case 7:
        Get();
        break;
      case 8:
      case 9:
        Iterate();
        break;
      case 10:
        if (held_.size() < 4) held_.push_back({engine_->GetSnapshot(), model_});
        break;
      case 11:
        if (!held_.empty()) held_.erase(held_.begin() + static_cast<long>(Pick(held_.size())));
        break;
      case 12:
        Expect(engine_->Flush(), "flush");
        break;
      case 13:
        Expect(engine_->Compact(), "compact");
        break;
      case 14:
        Reopen();
        break;
      default:
        if (!held_.empty()) {
          const Held& held = held_[Pick(held_.size())];
          CompareAll(held.model, held.snapshot.get());
        }
        break;
    }
  }

  size_t Pick(size_t n) { return input_->Below(n); }
  std::string Key() {
    const uint8_t byte = input_->Byte();
    std::string key(1 + byte % 3, static_cast<char>('a' + (byte >> 4)));
    if ((byte & 8) != 0) key.append(input_->Byte(), static_cast<char>(byte));
    return key;
  }
  std::string Value() {
    const uint8_t byte = input_->Byte();
    size_t size = byte & 0x7F;
    if (byte >= 0xF8) size = 1500 + 700 * (byte & 7);  // some of these in extents
    return std::string(size, static_cast<char>(++writes_));
  }
  void Expect(const Status& status, const char* what) {
    if (!status.ok()) Finding(std::string(what) + ": " + status.ToString());
  }
  /// True when the write took effect; a full pool may refuse it, and then nothing has changed.
  bool Accepted(const Status& status, const char* what) {
    if (status.IsOutOfSpace()) return false;
    Expect(status, what);
    return true;
  }

  void Put() {
    const std::string key = Key();
    const std::string value = Value();
    if (Accepted(engine_->Put({}, key, value), "put")) model_[key] = value;
  }
  void Delete() {
    const std::string key = Key();
    if (Accepted(engine_->Delete({}, key), "delete")) model_.erase(key);
  }
  void Batch() {
    WriteBatch batch;
    Model next = model_;
    for (size_t count = input_->Below(12); count > 0; --count) {
      const std::string key = Key();
      if (input_->Below(3) == 0) {
        batch.Delete(key);
        next.erase(key);
      } else {
        const std::string value = Value();
        batch.Put(key, value);
        next[key] = value;
      }
    }
    if (Accepted(engine_->Write({}, batch), "write")) model_ = std::move(next);
  }
  void Get() {
    const Held* held =
        held_.empty() || input_->Below(2) == 0 ? nullptr : &held_[Pick(held_.size())];
    const Model& model = held == nullptr ? model_ : held->model;
    ReadOptions options;
    if (held != nullptr) options.snapshot = held->snapshot.get();
    const std::string key = Key();
    std::string value;
    const Status status = engine_->Get(options, key, &value);
    const auto want = model.find(key);
    if (want == model.end()) {
      Require(status.IsNotFound(), "get finds what is not there");
    } else {
      Expect(status, "get");
      Require(value == want->second, "get gives another value");
    }
  }

  /// One iterator over a part of the keys, moved at will beside its model.
  void Iterate() {
    ReadOptions options;
    if (input_->Below(3) == 0) options.lower_bound = Key();
    if (input_->Below(3) == 0) options.upper_bound = Key();
    const Held* held =
        held_.empty() || input_->Below(2) == 0 ? nullptr : &held_[Pick(held_.size())];
    if (held != nullptr) options.snapshot = held->snapshot.get();
    Model part;
    for (const auto& [key, value] : held == nullptr ? model_ : held->model) {
      if (options.lower_bound && key < *options.lower_bound) continue;
      if (options.upper_bound && key >= *options.upper_bound) continue;
      part[key] = value;
    }
    const std::unique_ptr<Iterator> it = engine_->NewIterator(options);
    Model::const_iterator at = part.end();
    for (size_t moves = input_->Below(24); moves > 0; --moves) {
      Move(it.get(), part, &at);
      Expect(it->status(), "iterator");
      Require(it->Valid() == (at != part.end()), "an iterator is at an end where no end is");
      if (!it->Valid()) continue;
      Require(it->key() == at->first, "an iterator shows another key");
      Require(it->value() == at->second, "an iterator shows another value");
    }
  }

  void Move(Iterator* it, const Model& part, Model::const_iterator* place) {
    Model::const_iterator& at = *place;
    const bool valid = it->Valid();
    const auto before = [&](Model::const_iterator one) {
      return one == part.begin() ? part.end() : std::prev(one);
    };
    switch (input_->Below(8)) {
      case 0:
        it->SeekToFirst();
        at = part.begin();
        break;
      case 1:
        it->SeekToLast();
        at = before(part.end());
        break;
      case 2: {
        const std::string key = Key();
        it->Seek(key);
        at = part.lower_bound(key);
        break;
      }
      case 3: {
        const std::string key = Key();
        it->SeekForPrev(key);
        at = before(part.upper_bound(key));
        break;
      }
      case 4:
      case 5:
        if (valid) {
          it->Next();
          ++at;
        }
        break;
      case 6:
        if (valid) {
          it->Prev();
          at = before(at);
        }
        break;
      default:  // what it shows must not depend on what is written meanwhile
        input_->Below(2) == 0 ? Put() : Delete();
        break;
    }
  }

  void CompareAll(const Model& model, const Snapshot* snapshot) {
    ReadOptions options;
    options.snapshot = snapshot;
    const std::unique_ptr<Iterator> it = engine_->NewIterator(options);
    auto want = model.begin();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++want) {
      Require(want != model.end(), "a scan shows more than there is");
      Require(it->key() == want->first && it->value() == want->second, "a scan shows another pair");
    }
    Expect(it->status(), "scan");
    Require(want == model.end(), "a scan ends early");
  }

  void Open() {
    const uint8_t how = input_->Byte();
    Options options = FuzzOptions(static_cast<uint8_t>(how & ~kOtherBoot));
    options.pool.max_bytes = 1u << 20;
    options.memtable.bytes = 1024u << (how >> 6);
    options.compaction.l0_trigger = 1 + (how & 1) * 3;
    options.log.shards = 1 + (how & 1);
    Result<std::shared_ptr<lsm::LsmEngine>> opened =
        lsm::LsmEngine::Open(options, MediaFor(memory_, 0));
    Expect(opened.status(), "open");
    engine_ = std::move(opened).value();
  }
  void Reopen() {
    held_.clear();
    if (input_->Below(2) == 0) Expect(engine_->Close(), "close");  // else as a dying process
    engine_.reset();
    Open();
    CompareAll(model_, nullptr);
  }

  Input* input_;
  PoolMemory* memory_;
  std::shared_ptr<lsm::LsmEngine> engine_;
  Model model_;
  std::vector<Held> held_;
  uint32_t writes_ = 0;
};

}  // namespace
}  // namespace braid::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace braid::fuzz;
  static PoolMemory memory;
  Input input(data, size);
  ApiRun(&input, &memory).Run();
  return 0;
}
