// Random operations on a database and on a std::map; after each read the two must agree.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "braid/db.h"
#include "key_space.h"
#include "support/database.h"
#include "support/key_orders.h"

namespace braid::test {

/// A std::map with the order of the database's keys.
using OrderedModel = std::map<std::string, std::string, KeyLess>;

/// One thread's operations on its own keys. Several runners may share a database when their keys
/// all start with a prefix of their own: the runner then looks only at keys with that prefix.
class ModelRunner {
 public:
  /// What a runner may do besides reads and writes of its keys.
  struct Rights {
    bool reopen = false;   ///< close or abandon the database and open it again
    bool compact = false;  ///< Flush and Compact
  };

  ModelRunner(std::unique_ptr<DB>* db, KeySpace keys, std::string prefix, Rights rights,
              std::function<std::unique_ptr<DB>()> open, uint64_t seed, KeyLess less = {})
      : db_(db),
        keys_(std::move(keys)),
        prefix_(std::move(prefix)),
        rights_(rights),
        open_(std::move(open)),
        random_(seed),
        can_((*db)->GetCapabilities()),
        model_(less) {}

  /// Does `count` operations; false, with the story in failure(), at the first disagreement.
  bool Run(uint64_t count);
  /// Compares everything; part of Run's end.
  bool CheckAll();
  const std::string& failure() const { return failure_; }
  const OrderedModel& model() const { return model_; }

 private:
  struct Held {
    std::shared_ptr<const Snapshot> snapshot;
    OrderedModel state;
  };

  bool Step();
  bool DoPut();
  bool DoDelete();
  bool DoBatch();
  std::string DeleteRangeBy(WriteBatch* batch, const std::string& begin);
  bool DoCompareAndSwap();
  bool DoGet();
  bool DoScan();
  bool DoSnapshot();
  bool DoMaintenance();
  bool DoReopen();
  bool Walk(Iterator* it, const OrderedModel& state, const ReadOptions& bounds);
  /// Moves `it` and `*at` alike; says how.
  std::string SeekSomewhere(Iterator* it, const OrderedModel& state, const ReadOptions& bounds,
                            OrderedModel::const_iterator* at);
  bool Get(const std::string& key, const OrderedModel& state, const Snapshot* snapshot);
  bool CompareScan(const OrderedModel& state, const Snapshot* snapshot);

  DB* db() { return db_->get(); }
  std::string RandomKey() { return prefix_ + keys_.RandomKey(&random_); }
  ReadOptions RandomBounds();
  /// The key after every key with our prefix; empty when there is no prefix.
  std::string PrefixEnd() const;
  void Note(std::string what);
  bool Fail(const std::string& what);
  bool Check(const Status& status, const char* what) {
    return status.ok() || Fail(std::string(what) + ": " + status.ToString());
  }

  std::unique_ptr<DB>* db_;
  KeySpace keys_;
  std::string prefix_;
  Rights rights_;
  std::function<std::unique_ptr<DB>()> open_;
  Random random_;
  Capabilities can_;
  OrderedModel model_;
  std::vector<Held> held_;
  uint64_t operation_ = 0;
  std::deque<std::string> notes_;  // of the last operations, for the failure's story
  std::string failure_;
};

}  // namespace braid::test
