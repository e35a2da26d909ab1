/* Reads, writes and iterators: the calls whose cost matters. None of them copies into a Java array:
 * keys come and values go through the direct buffer of the thread (Scratch.java). */
#include <stdlib.h>

#include "jni_common.h"

/* A value that does not fit is not copied: who asked comes again with a larger buffer. */
enum { kNotFound = -1 };

BRAID_JNI(jlong, addressOf)(JNIEnv* env, jclass self, jobject buffer) {
  (void)self;
  return (jlong)(intptr_t)(*env)->GetDirectBufferAddress(env, buffer);
}

BRAID_JNI(void, put)
(JNIEnv* env, jclass self, jlong db, jlong options, jlong buffer, jint key_size, jint value_size) {
  (void)self;
  char* error = NULL;
  const char* key = Bytes(buffer);
  braid_put((braid_t*)Bytes(db), (braid_writeoptions_t*)Bytes(options), key, (size_t)key_size,
            key + key_size, (size_t)value_size, &error);
  ThrowIf(env, error);
}

BRAID_JNI(void, delete)
(JNIEnv* env, jclass self, jlong db, jlong options, jlong buffer, jint key_size) {
  (void)self;
  char* error = NULL;
  braid_delete((braid_t*)Bytes(db), (braid_writeoptions_t*)Bytes(options), Bytes(buffer),
               (size_t)key_size, &error);
  ThrowIf(env, error);
}

/* The size of the value, which stands in the buffer if it is at most `capacity`. */
BRAID_JNI(jlong, get)
(JNIEnv* env, jclass self, jlong db, jlong options, jlong buffer, jint key_size, jlong capacity) {
  (void)self;
  char* error = NULL;
  braid_pinned_t* pinned =
      braid_get_pinned((braid_t*)Bytes(db), (braid_readoptions_t*)Bytes(options), Bytes(buffer),
                       (size_t)key_size, &error);
  if (pinned == NULL) {
    ThrowIf(env, error);
    return kNotFound;
  }
  size_t size = 0;
  const char* value = braid_pinned_value(pinned, &size);
  if (size <= (size_t)capacity) memcpy(Bytes(buffer), value, size);
  braid_pinned_destroy(pinned);
  return (jlong)size;
}

BRAID_JNI(jboolean, putIfAbsent)
(JNIEnv* env, jclass self, jlong db, jlong options, jlong buffer, jint key_size, jint value_size) {
  (void)self;
  char* error = NULL;
  const char* key = Bytes(buffer);
  const unsigned char stored =
      braid_put_if_absent((braid_t*)Bytes(db), (braid_writeoptions_t*)Bytes(options), key,
                          (size_t)key_size, key + key_size, (size_t)value_size, &error);
  ThrowIf(env, error);
  return stored != 0;
}

/* `expected_size` below 0: there must be no such key. */
BRAID_JNI(jboolean, compareAndSwap)
(JNIEnv* env, jclass self, jlong db, jlong options, jlong buffer, jint key_size, jint expected_size,
 jint desired_size) {
  (void)self;
  char* error = NULL;
  const char* key = Bytes(buffer);
  const char* expected = expected_size < 0 ? NULL : key + key_size;
  const size_t expected_bytes = expected_size < 0 ? 0 : (size_t)expected_size;
  const unsigned char stored = braid_compare_and_swap(
      (braid_t*)Bytes(db), (braid_writeoptions_t*)Bytes(options), key, (size_t)key_size, expected,
      expected_bytes, key + key_size + expected_bytes, (size_t)desired_size, &error);
  ThrowIf(env, error);
  return stored != 0;
}

/* `end_size` below 0: to the last key. */
BRAID_JNI(jlong, deleteRange)
(JNIEnv* env, jclass self, jlong db, jlong options, jlong buffer, jint begin_size, jint end_size) {
  (void)self;
  char* error = NULL;
  uint64_t deleted = 0;
  const char* begin = Bytes(buffer);
  braid_delete_range((braid_t*)Bytes(db), (braid_writeoptions_t*)Bytes(options), begin,
                     (size_t)begin_size, end_size < 0 ? NULL : begin + begin_size,
                     end_size < 0 ? 0 : (size_t)end_size, &deleted, &error);
  ThrowIf(env, error);
  return (jlong)deleted;
}

BRAID_JNI(void, write)(JNIEnv* env, jclass self, jlong db, jlong options, jlong batch) {
  (void)self;
  char* error = NULL;
  braid_write((braid_t*)Bytes(db), (braid_writeoptions_t*)Bytes(options),
              (braid_writebatch_t*)Bytes(batch), &error);
  ThrowIf(env, error);
}

BRAID_JNI(void, batchPut)
(JNIEnv* env, jclass self, jlong batch, jlong buffer, jint key_size, jint value_size) {
  (void)env, (void)self;
  const char* key = Bytes(buffer);
  braid_writebatch_put((braid_writebatch_t*)Bytes(batch), key, (size_t)key_size, key + key_size,
                       (size_t)value_size);
}

BRAID_JNI(void, batchDelete)(JNIEnv* env, jclass self, jlong batch, jlong buffer, jint key_size) {
  (void)env, (void)self;
  braid_writebatch_delete((braid_writebatch_t*)Bytes(batch), Bytes(buffer), (size_t)key_size);
}

/* A size below 0: no bound. */
BRAID_JNI(void, batchDeleteRange)
(JNIEnv* env, jclass self, jlong batch, jlong buffer, jint begin_size, jint end_size) {
  (void)env, (void)self;
  const char* begin = Bytes(buffer);
  const size_t begin_bytes = begin_size < 0 ? 0 : (size_t)begin_size;
  braid_writebatch_delete_range((braid_writebatch_t*)Bytes(batch), begin_size < 0 ? NULL : begin,
                                begin_bytes, end_size < 0 ? NULL : begin + begin_bytes,
                                end_size < 0 ? 0 : (size_t)end_size);
}

/* ---- Iterators ------------------------------------------------------------------------------ */

/* As in BraidIterator.java. */
enum { kStay = 0, kNext = 1, kPrev = 2, kFirst = 3, kLast = 4, kSeek = 5 };

/* An iterator, with the bytes of its bounds, which must stay as long as it does. */
struct Walk {
  braid_iterator_t* iterator;
  braid_readoptions_t* options;
  char* bounds;
  int begun;
};

static struct Walk* WalkOf(jlong address) { return (struct Walk*)Bytes(address); }

static void FreeWalk(struct Walk* walk) {
  braid_iter_destroy(walk->iterator);
  braid_readoptions_destroy(walk->options);
  free(walk->bounds);
  free(walk);
}

/* Of the state of `snapshot`, 0: of this moment. From `begin` on and before `end`, which are one
 * behind the other in the buffer; a size below 0: no bound. 0 when there is no memory. */
BRAID_JNI(jlong, createIterator)
(JNIEnv* env, jclass self, jlong db, jlong snapshot, jlong buffer, jint begin_size, jint end_size) {
  (void)env, (void)self;
  const size_t begin_bytes = begin_size < 0 ? 0 : (size_t)begin_size;
  const size_t end_bytes = end_size < 0 ? 0 : (size_t)end_size;
  struct Walk* walk = calloc(1, sizeof *walk);
  if (walk == NULL) return 0;
  walk->bounds = malloc(begin_bytes + end_bytes + 1);
  walk->options = braid_readoptions_create();
  if (walk->bounds == NULL || walk->options == NULL) {
    FreeWalk(walk);
    return 0;
  }
  if (snapshot != 0) {
    braid_readoptions_set_snapshot(walk->options, (const braid_snapshot_t*)Bytes(snapshot));
  }
  memcpy(walk->bounds, Bytes(buffer), begin_bytes + end_bytes);
  if (begin_size >= 0) {
    braid_readoptions_set_iterate_lower_bound(walk->options, walk->bounds, begin_bytes);
  }
  if (end_size >= 0) {
    braid_readoptions_set_iterate_upper_bound(walk->options, walk->bounds + begin_bytes, end_bytes);
  }
  walk->iterator = braid_create_iterator((braid_t*)Bytes(db), walk->options);
  if (walk->iterator == NULL) {
    FreeWalk(walk);
    return 0;
  }
  return (jlong)(intptr_t)walk;
}

BRAID_JNI(void, destroyIterator)(JNIEnv* env, jclass self, jlong iterator) {
  (void)env, (void)self;
  FreeWalk(WalkOf(iterator));
}

/* Moves, then gives what the iterator stands on: two sizes, key and value. Returns their bytes
 * together, of which nothing is copied if they are more than `capacity`; -1 when it stands on
 * nothing. */
BRAID_JNI(jlong, iteratorMove)
(JNIEnv* env, jclass self, jlong iterator, jint how, jlong buffer, jint key_size, jlong capacity) {
  (void)self;
  braid_iterator_t* it = WalkOf(iterator)->iterator;
  switch (how) {
    case kNext:
      braid_iter_next(it);
      break;
    case kPrev:
      braid_iter_prev(it);
      break;
    case kFirst:
      braid_iter_seek_to_first(it);
      break;
    case kLast:
      braid_iter_seek_to_last(it);
      break;
    case kSeek:
      braid_iter_seek(it, Bytes(buffer), (size_t)key_size);
      break;
    default:
      break;
  }
  if (!braid_iter_valid(it)) {
    char* error = NULL;
    braid_iter_get_error(it, &error);
    ThrowIf(env, error);
    return kNotFound;
  }
  size_t sizes[2];
  const char* key = braid_iter_key(it, &sizes[0]);
  const char* value = braid_iter_value(it, &sizes[1]);
  const size_t needed = 2 * sizeof(int64_t) + sizes[0] + sizes[1];
  if (needed <= (size_t)capacity) {
    char* to = Bytes(buffer);
    for (int i = 0; i < 2; ++i) {
      const int64_t size = (int64_t)sizes[i];
      memcpy(to, &size, sizeof size);
      to += sizeof size;
    }
    if (sizes[0] != 0) memcpy(to, key, sizes[0]);
    if (sizes[1] != 0) memcpy(to + sizes[0], value, sizes[1]);
  }
  return (jlong)needed;
}

/* ---- Scans ---------------------------------------------------------------------------------- */

BRAID_JNI(void, refresh)(JNIEnv* env, jclass self, jlong iterator) {
  (void)self;
  char* error = NULL;
  braid_iter_refresh(WalkOf(iterator)->iterator, &error);
  ThrowIf(env, error);
}

/* Copies the next entries, at most `most`: two sizes of four bytes each, key and value. Returns how
 * many there are, 0 at the end; below 0, negated, the bytes that the next entry needs when it does
 * not fit into an empty buffer. What was not copied comes with the next call. */
BRAID_JNI(jlong, scanNext)
(JNIEnv* env, jclass self, jlong iterator, jboolean forward, jint most, jlong buffer,
 jlong capacity) {
  (void)self;
  struct Walk* walk = WalkOf(iterator);
  braid_iterator_t* it = walk->iterator;
  if (!walk->begun) {
    walk->begun = 1;
    if (forward) {
      braid_iter_seek_to_first(it);
    } else {
      braid_iter_seek_to_last(it);
    }
  }
  char* to = Bytes(buffer);
  const char* const end = to + capacity;
  jint count = 0;
  for (; count < most && braid_iter_valid(it); ++count) {
    size_t sizes[2];
    const char* key = braid_iter_key(it, &sizes[0]);
    const char* value = braid_iter_value(it, &sizes[1]);
    const size_t needed = 2 * sizeof(uint32_t) + sizes[0] + sizes[1];
    if (needed > (size_t)(end - to)) {
      return count == 0 ? -(jlong)needed : count;
    }
    for (int i = 0; i < 2; ++i) {
      const uint32_t size = (uint32_t)sizes[i];
      memcpy(to, &size, sizeof size);
      to += sizeof size;
    }
    if (sizes[0] != 0) memcpy(to, key, sizes[0]);
    if (sizes[1] != 0) memcpy(to + sizes[0], value, sizes[1]);
    to += sizes[0] + sizes[1];
    if (forward) {
      braid_iter_next(it);
    } else {
      braid_iter_prev(it);
    }
  }
  if (count < most) {
    char* error = NULL;
    braid_iter_get_error(it, &error);
    ThrowIf(env, error);
  }
  return count;
}
