// The session of LevelDB and RocksDB, whose APIs have the same shape with different types.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/engines/engines.h"

namespace braid::bench {

/// `Api` names the store's types: Db, Slice, Batch, Iterator, ReadOptions, WriteOptions, Status;
/// and Pinned, if it gets many keys at once.
template <class Api>
Status ConvertStatus(const typename Api::Status& status) {
  if (status.ok()) return Status::OK();
  if (status.IsNotFound()) return Status::NotFound();
  if (status.IsCorruption()) return Status::Corruption(status.ToString());
  return Status::IOError(status.ToString());
}

template <class Api>
class LevelDbShapedSession : public KvSession {
 public:
  using Slice = typename Api::Slice;

  LevelDbShapedSession(typename Api::Db* db, bool sync) : db_(db) { write_options_.sync = sync; }

  Status Put(std::string_view key, std::string_view value) override {
    return ConvertStatus<Api>(db_->Put(write_options_, ToSlice(key), ToSlice(value)));
  }
  Status Get(std::string_view key, std::string* value) override {
    return ConvertStatus<Api>(db_->Get(read_options_, ToSlice(key), value));
  }
  void MultiGet(const std::vector<std::string_view>& keys, std::vector<std::string>* values,
                std::vector<Status>* statuses) override {
    if constexpr (requires { typename Api::Pinned; }) {
      std::vector<Slice> slices;
      slices.reserve(keys.size());
      for (const std::string_view key : keys) slices.push_back(ToSlice(key));
      std::vector<typename Api::Pinned> pinned(keys.size());
      std::vector<typename Api::Status> found(keys.size());
      db_->MultiGet(read_options_, db_->DefaultColumnFamily(), keys.size(), slices.data(),
                    pinned.data(), found.data());
      for (size_t i = 0; i < keys.size(); ++i) {
        (*values)[i].assign(pinned[i].data(), pinned[i].size());
        (*statuses)[i] = ConvertStatus<Api>(found[i]);
      }
    } else {
      KvSession::MultiGet(keys, values, statuses);
    }
  }
  Status Delete(std::string_view key) override {
    return ConvertStatus<Api>(db_->Delete(write_options_, ToSlice(key)));
  }
  Status Write(const std::vector<BatchUpdate>& batch) override {
    batch_.Clear();
    for (const BatchUpdate& update : batch) batch_.Put(ToSlice(update.key), ToSlice(update.value));
    return ConvertStatus<Api>(db_->Write(write_options_, &batch_));
  }
  Status Scan(const ScanRange& range, const ScanVisitor& visit) override {
    const std::unique_ptr<typename Api::Iterator> cursor(db_->NewIterator(read_options_));
    if (range.reverse) {
      for (cursor->SeekToLast(); cursor->Valid(); cursor->Prev()) {
        if (!visit(ToView(cursor->key()), ToView(cursor->value()))) break;
      }
      return ConvertStatus<Api>(cursor->status());
    }
    if (range.start) {
      cursor->Seek(ToSlice(*range.start));
    } else {
      cursor->SeekToFirst();
    }
    for (; cursor->Valid(); cursor->Next()) {
      if (!visit(ToView(cursor->key()), ToView(cursor->value()))) break;
    }
    return ConvertStatus<Api>(cursor->status());
  }

 private:
  static Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
  static std::string_view ToView(const Slice& bytes) { return {bytes.data(), bytes.size()}; }

  typename Api::Db* db_;
  typename Api::WriteOptions write_options_;
  typename Api::ReadOptions read_options_;
  typename Api::Batch batch_;
};

}  // namespace braid::bench
