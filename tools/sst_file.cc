// Tables of RocksDB (SST files), written and read through its own library, where that is there.
//
// A table holds keys in byte order, which is braid's. Of a table that a RocksDB database has
// written itself, the records are read that a scan of it alone would show: deletes hide older
// versions in it, and merge operands, which need their database's operator, are an error.
#include <fmt/format.h>

#include "tools/interrupt.h"
#include "tools/record_input.h"
#include "tools/record_sink.h"
#include "tools/text_format.h"

#if defined(BRAID_HAVE_ROCKSDB)

#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace braid::tools {
namespace {

rocksdb::Slice ToRocks(Slice bytes) { return {bytes.data(), bytes.size()}; }

Status FromRocks(const rocksdb::Status& status, const std::string& doing, const std::string& path) {
  if (status.ok()) return Status::OK();
  const std::string text = fmt::format("can't {} '{}': {}", doing, path, status.ToString());
  if (status.IsCorruption() || status.IsNotSupported() || status.IsInvalidArgument()) {
    return Status::Corruption(text);
  }
  return Status::IOError(text);
}

rocksdb::Options TableOptions() {
  rocksdb::Options options;
  // What every RocksDB can read, whatever it was built with.
  options.compression = rocksdb::kNoCompression;
  return options;
}

class SstSink final : public RecordSink {
 public:
  explicit SstSink(std::string path)
      : path_(std::move(path)),
        options_(TableOptions()),
        writer_(rocksdb::EnvOptions(), options_, options_.comparator) {}
  ~SstSink() override {
    if (!published_) ::unlink(PartialPath(path_).c_str());
  }
  SstSink(const SstSink&) = delete;
  SstSink& operator=(const SstSink&) = delete;

  Status Open() { return FromRocks(writer_.Open(PartialPath(path_)), "write", path_); }
  Status Add(Slice key, Slice value) override {
    ++records_;
    return FromRocks(writer_.Put(ToRocks(key), ToRocks(value)), "write", path_);
  }
  uint64_t bytes() const override { return records_ == 0 ? 0 : size_; }
  Status Finish() override {
    if (records_ == 0) {
      return Status::InvalidArgument(
          "there is no record to write, and an SST can't be empty: look at the bounds");
    }
    Status status = FromRocks(writer_.Finish(), "write", path_);
    if (!status.ok()) return status;
    size_ = writer_.FileSize();
    if (status = PublishFile(path_); !status.ok()) return status;
    published_ = true;
    return Status::OK();
  }

 private:
  const std::string path_;
  const rocksdb::Options options_;
  rocksdb::SstFileWriter writer_;
  uint64_t records_ = 0;
  uint64_t size_ = 0;
  bool published_ = false;
};

class SstInput final : public RecordInput {
 public:
  explicit SstInput(std::string path) : path_(std::move(path)), reader_(rocksdb::Options()) {}

  Status Open() {
    // RocksDB tells of a missing file in words that don't help.
    struct stat facts {};
    if (::stat(path_.c_str(), &facts) != 0 || ::access(path_.c_str(), R_OK) != 0) {
      return Status::IOError(fmt::format("can't read '{}': {}: check the path and its permissions",
                                         path_, std::strerror(errno)));
    }
    if (!S_ISREG(facts.st_mode)) {
      return Status::InvalidArgument(fmt::format("'{}' is no file: name an SST", path_));
    }
    Status status = FromRocks(reader_.Open(path_), "read", path_);
    if (!status.ok()) return status;
    if (const auto properties = reader_.GetTableProperties()) entries_ = properties->num_entries;
    rocksdb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    it_.reset(reader_.NewIterator(options));
    it_->SeekToFirst();
    return Status::OK();
  }

  RecordReader::Outcome Next(Record* record, std::string*) override {
    if (StopRequested()) return RecordReader::Outcome::kStopped;
    if (!it_->Valid()) {
      status_ = FromRocks(it_->status(), "read", path_);
      return status_.ok() ? RecordReader::Outcome::kEnd : RecordReader::Outcome::kError;
    }
    record->key.assign(it_->key().data(), it_->key().size());
    record->value.assign(it_->value().data(), it_->value().size());
    record->line = ++number_;
    it_->Next();
    return RecordReader::Outcome::kRecord;
  }
  RecordReader::Outcome Skip(uint64_t records) override {
    for (; records > 0 && it_->Valid(); --records) {
      if (StopRequested()) return RecordReader::Outcome::kStopped;
      ++number_;
      it_->Next();
    }
    status_ = FromRocks(it_->status(), "read", path_);
    return status_.ok() ? RecordReader::Outcome::kEnd : RecordReader::Outcome::kError;
  }
  const Status& status() const override { return status_; }
  const std::string& name() const override { return path_; }
  uint64_t line_number() const override { return number_; }
  double Share() const override {
    return entries_ == 0 ? -1 : static_cast<double>(number_) / static_cast<double>(entries_);
  }

 private:
  const std::string path_;
  rocksdb::SstFileReader reader_;
  std::unique_ptr<rocksdb::Iterator> it_;
  uint64_t entries_ = 0;
  uint64_t number_ = 0;
  Status status_;
};

}  // namespace

Result<std::unique_ptr<RecordSink>> MakeSstSink(const std::string& path) {
  auto sink = std::make_unique<SstSink>(path);
  if (Status status = sink->Open(); !status.ok()) return status;
  return std::unique_ptr<RecordSink>(std::move(sink));
}

Result<std::unique_ptr<RecordInput>> OpenSstInput(const std::string& path) {
  auto input = std::make_unique<SstInput>(path);
  if (Status status = input->Open(); !status.ok()) return status;
  return std::unique_ptr<RecordInput>(std::move(input));
}

}  // namespace braid::tools

#else

namespace braid::tools {
namespace {

Status NotBuilt() {
  return Status::NotSupported(
      "this braid was built without RocksDB, so it can't read or write SSTs: choose --format tsv "
      "or jsonl, or build it where librocksdb-dev is installed");
}

}  // namespace

Result<std::unique_ptr<RecordSink>> MakeSstSink(const std::string&) { return NotBuilt(); }
Result<std::unique_ptr<RecordInput>> OpenSstInput(const std::string&) { return NotBuilt(); }

}  // namespace braid::tools

#endif
