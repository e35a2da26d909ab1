// An engine that does nothing: what an iterator keeps alive, where nothing else is looked at.
#pragma once

#include <memory>
#include <string>

#include "engine/empty_iterator.h"
#include "engine/engine.h"

namespace braid::test {

class IdleEngine final : public engine::Engine {
 public:
  Status Put(const WriteOptions&, Slice, Slice) override { return Nothing(); }
  Status Delete(const WriteOptions&, Slice) override { return Nothing(); }
  Status Write(const WriteOptions&, const WriteBatch&) override { return Nothing(); }
  Status Get(const ReadOptions&, Slice, std::string*) override { return Nothing(); }
  std::unique_ptr<Iterator> NewIterator(const ReadOptions&) override {
    return std::make_unique<engine::StatusIterator>(Nothing);
  }
  std::shared_ptr<const Snapshot> GetSnapshot() override { return nullptr; }
  Status Flush() override { return Nothing(); }
  Status Compact() override { return Nothing(); }
  Statistics GetStatistics() override { return {}; }
  Status Verify(VerifyReport*, const std::function<void(double)>&) override { return Nothing(); }
  Status Close() override { return Nothing(); }
  Status BackgroundStatus() override { return Nothing(); }

 private:
  static Status Nothing() { return Status::NotSupported("it does nothing"); }
};

}  // namespace braid::test
