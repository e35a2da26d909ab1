/* Reads of many keys at once, and of large values without a copy. */
#include "check.h"

enum { kKeys = 6 };

static void TestMultiGet(braid_t* db) {
  static const char* const keys[kKeys] = {"b", "none", "empty", "b", "a", ""};
  static const char* const wanted[kKeys] = {"2", NULL, "", "2", "1", NULL};
  size_t sizes[kKeys];
  char* values[kKeys];
  size_t lengths[kKeys];
  char* errs[kKeys];
  char* too_long = calloc(1, 70000);
  const char* mixed[2];
  size_t mixed_sizes[2];
  braid_readoptions_t* read = braid_readoptions_create();
  const braid_snapshot_t* snapshot;
  int fine = 1;
  int i;
  Require(too_long != NULL, "memory for a long key");
  PutText(db, "a", "1");
  PutText(db, "b", "2");
  PutText(db, "empty", "");
  for (i = 0; i < kKeys; i++) sizes[i] = strlen(keys[i]);
  memset(values, 0x55, sizeof(values)); /* what they held before is not looked at */
  memset(errs, 0x55, sizeof(errs));
  braid_multi_get(db, read, kKeys, keys, sizes, values, lengths, errs);
  for (i = 0; i < kKeys; i++) {
    fine &= errs[i] == NULL;
    if (wanted[i] == NULL) {
      fine &= values[i] == NULL && lengths[i] == 0;
    } else {
      fine &= values[i] != NULL && lengths[i] == strlen(wanted[i]) &&
              memcmp(values[i], wanted[i], lengths[i]) == 0;
    }
    braid_free(values[i]);
  }
  Fact(fine, "each key has its value, a missing one NULL, a repeated one its own copy");

  snapshot = braid_create_snapshot(db);
  PutText(db, "a", "later");
  DeleteText(db, "b");
  braid_readoptions_set_snapshot(read, snapshot);
  braid_multi_get(db, read, kKeys, keys, sizes, values, lengths, errs);
  Fact(values[0] != NULL && values[4] != NULL && lengths[4] == 1 && *values[4] == '1',
       "a snapshot shows what was there");
  for (i = 0; i < kKeys; i++) {
    braid_free(values[i]);
    braid_free(errs[i]);
  }
  braid_readoptions_set_snapshot(read, NULL);
  braid_release_snapshot(db, snapshot);

  mixed[0] = too_long;
  mixed_sizes[0] = 70000;
  mixed[1] = "a";
  mixed_sizes[1] = 1;
  braid_multi_get(db, read, 2, mixed, mixed_sizes, values, lengths, errs);
  Fact(values[1] != NULL && errs[1] == NULL && lengths[1] == 5,
       "a key beyond the limit harms no other");
  Fact(values[0] == NULL && lengths[0] == 0, "and has no value");
  for (i = 0; i < 2; i++) {
    braid_free(values[i]);
    braid_free(errs[i]);
  }
  braid_multi_get(db, read, 0, keys, sizes, values, lengths, errs);
  Fact(Holds(db, "a", "later"), "no keys are no work");
  free(too_long);
  braid_readoptions_destroy(read);
}

static void TestPinned(void) {
  static const size_t kLarge = 300000;
  char* err = NULL;
  size_t length = 0;
  size_t i;
  int same = 1;
  char* value = malloc(kLarge);
  const char* bytes;
  braid_pinned_t* large;
  braid_pinned_t* small;
  braid_t* db = OpenOrCreate("pinned");
  braid_readoptions_t* read = braid_readoptions_create();
  braid_writeoptions_t* write = braid_writeoptions_create();
  Require(value != NULL, "memory for a large value");
  for (i = 0; i < kLarge; i++) value[i] = (char)(i * 31 % 251);
  braid_put(db, write, "large", 5, value, kLarge, &err);
  NoError(&err, "a large value can be put");
  PutText(db, "small", "s");
  PutText(db, "empty", "");
  Fact(braid_get_pinned(db, read, "none", 4, &err) == NULL, "a missing key is NULL");
  NoError(&err, "and no error");
  small = braid_get_pinned(db, read, "empty", 5, &err);
  NoError(&err, "an empty value can be read");
  Require(small != NULL, "an empty value");
  Fact(braid_pinned_value(small, &length) != NULL && length == 0, "and is not NULL");
  braid_pinned_destroy(small);
  small = braid_get_pinned(db, read, "small", 5, &err);
  large = braid_get_pinned(db, read, "large", 5, &err);
  NoError(&err, "a small and a large value can be read");
  Require(small != NULL && large != NULL, "two values");
  /* Both stay what they were, whatever becomes of the keys and of the database. */
  PutText(db, "small", "other");
  PutText(db, "large", "other");
  braid_compact_range(db, NULL, 0, NULL, 0);
  for (i = 0; i < 20; i++) braid_put(db, write, "large", 5, value + i, kLarge - i, NULL);
  braid_compact_range(db, NULL, 0, NULL, 0);
  bytes = braid_pinned_value(large, &length);
  same = length == kLarge && memcmp(bytes, value, kLarge) == 0;
  Fact(same, "a large value stays while its key is overwritten and the database compacted");
  bytes = braid_pinned_value(small, &length);
  Fact(length == 1 && *bytes == 's', "and so does a small one");
  braid_close(db);
  bytes = braid_pinned_value(large, &length);
  Fact(length == kLarge && memcmp(bytes, value, kLarge) == 0, "and after close");
  braid_pinned_destroy(large);
  braid_pinned_destroy(small);
  free(value);
  braid_readoptions_destroy(read);
  braid_writeoptions_destroy(write);
}

static void TestSnapshotOfADesignThatHasNone(void) {
  char* err = NULL;
  size_t length = 0;
  const braid_snapshot_t* snapshot;
  braid_iterator_t* iterator;
  braid_readoptions_t* read = braid_readoptions_create();
  braid_options_t* options = braid_options_create();
  braid_t* db;
  braid_options_set_create_if_missing(options, 1);
  braid_options_set_design(options, "nvskiplist");
  db = braid_open(options, ScratchPath("no-snapshots"), &err);
  NoError(&err, "a design without snapshots can be opened");
  Require(db != NULL, "a database");
  PutText(db, "a", "before");
  snapshot = braid_create_snapshot(db);
  Require(snapshot != NULL, "a snapshot is never NULL");
  PutText(db, "a", "after");
  braid_snapshot_get_error(snapshot, &err);
  Fact(err != NULL && strstr(err, "no snapshots") != NULL, "it says that there is none");
  braid_free(err);
  err = NULL;
  braid_readoptions_set_snapshot(read, snapshot);
  Fact(braid_get(db, read, "a", 1, &length, &err) == NULL && err != NULL,
       "a get with it fails, and does not show the newest state");
  braid_free(err);
  err = NULL;
  iterator = braid_create_iterator(db, read);
  braid_iter_seek_to_first(iterator);
  braid_iter_get_error(iterator, &err);
  Fact(!braid_iter_valid(iterator) && err != NULL && strstr(err, "no snapshots") != NULL,
       "and so does an iterator");
  braid_free(err);
  braid_iter_destroy(iterator);
  braid_release_snapshot(db, snapshot);
  braid_readoptions_set_snapshot(read, NULL);
  Fact(Holds(db, "a", "after"), "without it reads go on");
  braid_close(db);
  braid_options_destroy(options);
  braid_readoptions_destroy(read);
}

int main(void) {
  braid_t* db;
  MakeScratch();
  db = OpenOrCreate("own");
  TestMultiGet(db);
  braid_close(db);
  TestPinned();
  TestSnapshotOfADesignThatHasNone();
  return Report();
}
