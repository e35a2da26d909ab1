// Purpose: the calls of braid/c.h for transactions.
// Thread safety: as in braid/c.h.
// Persistence: none; every promise is that of braid/transaction.h.
#include <optional>

#include "capi/handles.h"

using braid::Slice;
using braid::Status;
using braid::capi::Guard;

namespace {

using Read = Status (braid::Transaction::*)(Slice key, std::string* value);

char* ReadOne(braid_transaction_t* transaction, Read read, const char* key, size_t keylen,
              size_t* vallen, char** errptr) {
  char* copy = nullptr;
  *vallen = 0;
  Guard(errptr, [&] {
    std::string value;
    Status status = (transaction->rep.get()->*read)(Slice(key, keylen), &value);
    if (status.IsNotFound()) return Status::OK();
    if (!status.ok()) return status;
    copy = braid::capi::CopyBytes(value);
    if (copy == nullptr) throw std::bad_alloc();
    *vallen = value.size();
    return status;
  });
  return copy;
}

}  // namespace

braid_transaction_t* braid_begin_transaction(braid_t* db, char** errptr) {
  std::unique_ptr<braid_transaction_t> made;
  Guard(errptr, [&] {
    braid::Result<std::unique_ptr<braid::Transaction>> begun = db->rep->BeginTransaction();
    if (!begun.ok()) return begun.status();
    auto handle = std::make_unique<braid_transaction_t>();
    handle->rep = std::move(*begun);
    // Lent: it ends with the transaction, which owns it.
    handle->snapshot.rep = {std::shared_ptr<void>(), handle->rep->snapshot()};
    made = std::move(handle);
    return Status::OK();
  });
  return made.release();
}

void braid_transaction_destroy(braid_transaction_t* transaction) { delete transaction; }

char* braid_transaction_get(braid_transaction_t* transaction, const char* key, size_t keylen,
                            size_t* vallen, char** errptr) {
  return ReadOne(transaction, &braid::Transaction::Get, key, keylen, vallen, errptr);
}

char* braid_transaction_get_for_update(braid_transaction_t* transaction, const char* key,
                                       size_t keylen, size_t* vallen, char** errptr) {
  return ReadOne(transaction, &braid::Transaction::GetForUpdate, key, keylen, vallen, errptr);
}

void braid_transaction_put(braid_transaction_t* transaction, const char* key, size_t keylen,
                           const char* val, size_t vallen, char** errptr) {
  Guard(errptr, [&] { return transaction->rep->Put(Slice(key, keylen), Slice(val, vallen)); });
}

void braid_transaction_delete(braid_transaction_t* transaction, const char* key, size_t keylen,
                              char** errptr) {
  Guard(errptr, [&] { return transaction->rep->Delete(Slice(key, keylen)); });
}

void braid_transaction_delete_range(braid_transaction_t* transaction, const char* begin,
                                    size_t beginlen, const char* end, size_t endlen,
                                    char** errptr) {
  Guard(errptr, [&] {
    return transaction->rep->DeleteRange(
        begin == nullptr ? std::nullopt : std::optional<Slice>(Slice(begin, beginlen)),
        end == nullptr ? std::nullopt : std::optional<Slice>(Slice(end, endlen)));
  });
}

const braid_snapshot_t* braid_transaction_snapshot(const braid_transaction_t* transaction) {
  return &transaction->snapshot;
}

uint8_t braid_transaction_commit(braid_transaction_t* transaction,
                                 const braid_writeoptions_t* options, char** errptr) {
  bool conflict = false;
  const bool failed = Guard(errptr, [&] {
    Status status = transaction->rep->Commit(options->rep);
    conflict = status.IsBusy();
    return conflict ? Status::OK() : status;
  });
  return !failed && !conflict ? 1 : 0;
}

void braid_transaction_rollback(braid_transaction_t* transaction) { transaction->rep->Rollback(); }
