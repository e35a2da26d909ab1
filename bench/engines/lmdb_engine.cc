// The adapter for LMDB: a writable map without syncs (what a process crash leaves is whole), and a
// read transaction a session that is renewed for each read.
#if defined(BRAID_HAVE_LMDB)

#include <lmdb.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/engines/engines.h"

namespace braid::bench {
namespace {

Status ConvertResult(int result, const char* call) {
  if (result == MDB_SUCCESS) return Status::OK();
  if (result == MDB_NOTFOUND) return Status::NotFound();
  return Status::IOError(std::string("LMDB: ") + call + ": " + mdb_strerror(result));
}

MDB_val ToVal(std::string_view bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; }
std::string_view ToView(const MDB_val& bytes) {
  return {static_cast<const char*>(bytes.mv_data), bytes.mv_size};
}

class LmdbSession : public KvSession {
 public:
  LmdbSession(MDB_env* env, MDB_dbi dbi) : env_(env), dbi_(dbi) {
    open_status_ = ConvertResult(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &read_), "txn_begin");
    if (!open_status_.ok()) return;
    open_status_ = ConvertResult(mdb_cursor_open(read_, dbi_, &cursor_), "cursor_open");
    mdb_txn_reset(read_);
  }
  ~LmdbSession() override {
    if (cursor_ != nullptr) mdb_cursor_close(cursor_);
    if (read_ != nullptr) mdb_txn_abort(read_);
  }
  LmdbSession(const LmdbSession&) = delete;
  LmdbSession& operator=(const LmdbSession&) = delete;

  Status Put(std::string_view key, std::string_view value) override {
    return Update("put", [&](MDB_txn* txn) {
      MDB_val k = ToVal(key), v = ToVal(value);
      return mdb_put(txn, dbi_, &k, &v, 0);
    });
  }

  Status Delete(std::string_view key) override {
    return Update("del", [&](MDB_txn* txn) {
      MDB_val k = ToVal(key);
      const int result = mdb_del(txn, dbi_, &k, nullptr);
      return result == MDB_NOTFOUND ? MDB_SUCCESS : result;
    });
  }

  Status Write(const std::vector<BatchUpdate>& batch) override {
    return Update("put", [&](MDB_txn* txn) {
      for (const BatchUpdate& update : batch) {
        MDB_val k = ToVal(update.key), v = ToVal(update.value);
        if (const int result = mdb_put(txn, dbi_, &k, &v, 0); result != MDB_SUCCESS) return result;
      }
      return MDB_SUCCESS;
    });
  }

  Status Get(std::string_view key, std::string* value) override {
    return Read([&] {
      MDB_val k = ToVal(key), v;
      const int result = mdb_get(read_, dbi_, &k, &v);
      if (result == MDB_SUCCESS) value->assign(ToView(v));
      return ConvertResult(result, "get");
    });
  }

  Status Scan(const ScanRange& range, const ScanVisitor& visit) override {
    return Read([&] {
      Status status = ConvertResult(mdb_cursor_renew(read_, cursor_), "cursor_renew");
      if (!status.ok()) return status;
      MDB_val k{}, v{};
      MDB_cursor_op first = range.reverse ? MDB_LAST : MDB_FIRST;
      if (range.start) {
        k = ToVal(*range.start);
        first = MDB_SET_RANGE;
      }
      const MDB_cursor_op next = range.reverse ? MDB_PREV : MDB_NEXT;
      int result = mdb_cursor_get(cursor_, &k, &v, first);
      while (result == MDB_SUCCESS && visit(ToView(k), ToView(v))) {
        result = mdb_cursor_get(cursor_, &k, &v, next);
      }
      return result == MDB_NOTFOUND ? Status::OK() : ConvertResult(result, "cursor_get");
    });
  }

 private:
  template <class Body>
  Status Update(const char* call, Body&& body) {
    MDB_txn* txn = nullptr;
    const int begun = mdb_txn_begin(env_, nullptr, 0, &txn);
    if (begun != MDB_SUCCESS) return ConvertResult(begun, "txn_begin");
    const int result = body(txn);
    if (result != MDB_SUCCESS) {
      mdb_txn_abort(txn);
      return ConvertResult(result, call);
    }
    return ConvertResult(mdb_txn_commit(txn), "txn_commit");
  }

  template <class Body>
  Status Read(Body&& body) {
    if (!open_status_.ok()) return open_status_;
    const int result = mdb_txn_renew(read_);
    if (result != MDB_SUCCESS) return ConvertResult(result, "txn_renew");
    Status status = std::forward<Body>(body)();
    mdb_txn_reset(read_);
    return status;
  }

  MDB_env* env_;
  MDB_dbi dbi_;
  MDB_txn* read_ = nullptr;
  MDB_cursor* cursor_ = nullptr;
  Status open_status_;
};

class LmdbEngine : public KvEngine {
 public:
  ~LmdbEngine() override {
    if (env_ != nullptr) mdb_env_close(env_);
  }
  std::string name() const override { return "lmdb"; }
  std::string version() const override {
    int major = 0, minor = 0, patch = 0;
    mdb_version(&major, &minor, &patch);
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  }
  std::string parameters() const override {
    return std::string("WRITEMAP NORDAHEAD") + (sync_ ? "" : " NOSYNC NOMETASYNC") + ", map " +
           std::to_string(map_size_ >> 30) + " GiB";
  }

  Status Open(const EngineConfig& config) override {
    sync_ = config.sync;
    if (config.key_size >= 511) {
      return Status::InvalidArgument(
          "LMDB takes keys below 511 bytes here: use a smaller --key_size");
    }
    ::mkdir(config.directory.c_str(), 0700);
    // Sparse: pages that are never written take no room. Values beyond 2 KB fill pages of their
    // own.
    const uint64_t record = config.key_size + config.value_size + 64;
    map_size_ = (uint64_t{4} << 30) +
                config.expected_records * std::max<uint64_t>(8 * record, config.value_size + 8192);
    const unsigned durability = sync_ ? 0u : unsigned{MDB_NOSYNC | MDB_NOMETASYNC};
    int result = mdb_env_create(&env_);
    if (result != MDB_SUCCESS) return ConvertResult(result, "env_create");
    mdb_env_set_mapsize(env_, map_size_);
    mdb_env_set_maxreaders(env_, static_cast<unsigned>(config.threads) + 16);
    result = mdb_env_open(env_, config.directory.c_str(),
                          durability | MDB_WRITEMAP | MDB_NORDAHEAD | MDB_NOTLS, 0600);
    if (result != MDB_SUCCESS) return ConvertResult(result, "env_open");
    MDB_txn* txn = nullptr;
    result = mdb_txn_begin(env_, nullptr, 0, &txn);
    if (result != MDB_SUCCESS) return ConvertResult(result, "txn_begin");
    result = mdb_dbi_open(txn, nullptr, 0, &dbi_);
    if (result != MDB_SUCCESS) {
      mdb_txn_abort(txn);
      return ConvertResult(result, "dbi_open");
    }
    return ConvertResult(mdb_txn_commit(txn), "txn_commit");
  }

  std::unique_ptr<KvSession> NewSession() override {
    return std::make_unique<LmdbSession>(env_, dbi_);
  }
  Status Settle() override { return ConvertResult(mdb_env_sync(env_, 1), "env_sync"); }
  EngineCounters Counters() override { return {}; }
  std::optional<uint64_t> UsedBytes() override {
    MDB_envinfo info{};
    MDB_stat stat{};
    if (mdb_env_info(env_, &info) != MDB_SUCCESS || mdb_env_stat(env_, &stat) != MDB_SUCCESS) {
      return std::nullopt;
    }
    // Up to the last page: those that are free below it are not told without a walk over their
    // list.
    return (info.me_last_pgno + 1) * stat.ms_psize;
  }
  Status Close() override {
    if (env_ != nullptr) mdb_env_close(env_);
    env_ = nullptr;
    return Status::OK();
  }

 private:
  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
  bool sync_ = false;
  uint64_t map_size_ = 0;
};

}  // namespace

std::unique_ptr<KvEngine> MakeLmdbEngine() { return std::make_unique<LmdbEngine>(); }

}  // namespace braid::bench

#endif  // BRAID_HAVE_LMDB
