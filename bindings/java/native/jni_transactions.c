/* Transactions, and bulk loads, whose records come from Java. */
#include <stdlib.h>

#include "jni_common.h"

static braid_transaction_t* TransactionOf(jlong address) {
  return (braid_transaction_t*)Bytes(address);
}

BRAID_JNI(jlong, beginTransaction)(JNIEnv* env, jclass self, jlong db) {
  (void)self;
  char* error = NULL;
  braid_transaction_t* transaction = braid_begin_transaction((braid_t*)Bytes(db), &error);
  ThrowIf(env, error);
  return (jlong)(intptr_t)transaction;
}

BRAID_JNI(void, destroyTransaction)(JNIEnv* env, jclass self, jlong transaction) {
  (void)env, (void)self;
  braid_transaction_destroy(TransactionOf(transaction));
}

/* The size of the value, which stands in the buffer if it is at most `capacity`; -1: no such key.
 */
BRAID_JNI(jlong, transactionGet)
(JNIEnv* env, jclass self, jlong transaction, jboolean for_update, jlong buffer, jint key_size,
 jlong capacity) {
  (void)self;
  char* error = NULL;
  size_t size = 0;
  char* value = for_update
                    ? braid_transaction_get_for_update(TransactionOf(transaction), Bytes(buffer),
                                                       (size_t)key_size, &size, &error)
                    : braid_transaction_get(TransactionOf(transaction), Bytes(buffer),
                                            (size_t)key_size, &size, &error);
  if (value == NULL) {
    ThrowIf(env, error);
    return -1;
  }
  if (size <= (size_t)capacity) memcpy(Bytes(buffer), value, size);
  braid_free(value);
  return (jlong)size;
}

BRAID_JNI(void, transactionPut)
(JNIEnv* env, jclass self, jlong transaction, jlong buffer, jint key_size, jint value_size) {
  (void)self;
  char* error = NULL;
  const char* key = Bytes(buffer);
  braid_transaction_put(TransactionOf(transaction), key, (size_t)key_size, key + key_size,
                        (size_t)value_size, &error);
  ThrowIf(env, error);
}

BRAID_JNI(void, transactionDelete)
(JNIEnv* env, jclass self, jlong transaction, jlong buffer, jint key_size) {
  (void)self;
  char* error = NULL;
  braid_transaction_delete(TransactionOf(transaction), Bytes(buffer), (size_t)key_size, &error);
  ThrowIf(env, error);
}

/* A size below 0: no bound. */
BRAID_JNI(void, transactionDeleteRange)
(JNIEnv* env, jclass self, jlong transaction, jlong buffer, jint begin_size, jint end_size) {
  (void)self;
  char* error = NULL;
  const char* begin = Bytes(buffer);
  const size_t begin_bytes = begin_size < 0 ? 0 : (size_t)begin_size;
  braid_transaction_delete_range(TransactionOf(transaction), begin_size < 0 ? NULL : begin,
                                 begin_bytes, end_size < 0 ? NULL : begin + begin_bytes,
                                 end_size < 0 ? 0 : (size_t)end_size, &error);
  ThrowIf(env, error);
}

BRAID_JNI(jboolean, transactionCommit)
(JNIEnv* env, jclass self, jlong transaction, jlong options) {
  (void)self;
  char* error = NULL;
  const uint8_t written = braid_transaction_commit(TransactionOf(transaction),
                                                   (braid_writeoptions_t*)Bytes(options), &error);
  ThrowIf(env, error);
  return written != 0;
}

BRAID_JNI(void, transactionRollback)(JNIEnv* env, jclass self, jlong transaction) {
  (void)env, (void)self;
  braid_transaction_rollback(TransactionOf(transaction));
}

/* ---- Bulk loads ------------------------------------------------------------------------------ */

/* Records that RecordFeed.fill() hands over, a buffer of them at a time. */
struct Feed {
  JNIEnv* env;
  jobject object;
  jmethodID fill;
  const char* at;
  uint32_t left;
};

static uint32_t TakeNumber(struct Feed* feed) {
  uint32_t number;
  memcpy(&number, feed->at, sizeof number);
  feed->at += sizeof number;
  return number;
}

/* 1: there are records; 0: no more; 2: an exception is under way. */
static uint8_t Refill(struct Feed* feed) {
  JNIEnv* env = feed->env;
  jobject buffer = (*env)->CallObjectMethod(env, feed->object, feed->fill);
  if ((*env)->ExceptionCheck(env)) return 2;
  feed->at = (*env)->GetDirectBufferAddress(env, buffer); /* which the feed keeps */
  (*env)->DeleteLocalRef(env, buffer);
  feed->left = TakeNumber(feed);
  return feed->left != 0 ? 1 : 0;
}

static uint8_t NextRecord(void* state, const char** key, size_t* keylen, const char** val,
                          size_t* vallen) {
  struct Feed* feed = state;
  if (feed->left == 0) {
    const uint8_t more = Refill(feed);
    if (more != 1) return more;
  }
  feed->left--;
  *keylen = TakeNumber(feed);
  *vallen = TakeNumber(feed);
  *key = feed->at;
  *val = feed->at + *keylen;
  feed->at += *keylen + *vallen;
  return 1;
}

BRAID_JNI(jlong, ingest)(JNIEnv* env, jclass self, jlong db, jboolean sorted, jobject object) {
  (void)self;
  struct Feed feed = {env, object, NULL, NULL, 0};
  feed.fill = (*env)->GetMethodID(env, (*env)->GetObjectClass(env, object), "fill",
                                  "()Ljava/nio/ByteBuffer;");
  if (feed.fill == NULL) return 0;
  char* error = NULL;
  const uint64_t records = braid_ingest((braid_t*)Bytes(db), sorted, &feed, NextRecord, &error);
  if ((*env)->ExceptionCheck(env)) {
    braid_free(error); /* says less than what the source has thrown */
  } else {
    ThrowIf(env, error);
  }
  return (jlong)records;
}
