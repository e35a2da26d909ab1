/* What the C programs in this folder share: facts that are printed as "ok" or "not ok", a scratch
 * folder that is removed at the end, and short forms of the calls.
 *
 * The programs are written against braid. Compiled with `-include tests/capi/leveldb_names.h` they
 * run against LevelDB, which shows that both mean the same; BRAID_CAPI_LEVELDB is defined then. */
#ifndef BRAID_TESTS_CAPI_CHECK_H_
#define BRAID_TESTS_CAPI_CHECK_H_

#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef BRAID_CAPI_LEVELDB
#include <leveldb/c.h>
#else
#include "braid/c.h"
#endif

static int facts_passed;
static int facts_failed;
static char scratch[512];

/* Prints one fact. Facts go on after a failure, so that one run shows all of them. */
static inline int Fact(int holds, const char* text) {
  printf("%s - %s\n", holds ? "ok" : "not ok", text);
  fflush(stdout);
  if (holds) {
    facts_passed++;
  } else {
    facts_failed++;
  }
  return holds;
}

/* A fact that an error is not there; shows its message if it is, and frees it. */
static inline int NoError(char** err, const char* text) {
  const int holds = *err == NULL;
  Fact(holds, text);
  if (!holds) printf("# %s\n", *err);
  braid_free(*err);
  *err = NULL;
  return holds;
}

/* A fact that an error is there, with a message; frees it. */
static inline int HasError(char** err, const char* text) {
  const int holds = *err != NULL && **err != '\0';
  Fact(holds, text);
  braid_free(*err);
  *err = NULL;
  return holds;
}

/* Ends the program where going on makes no sense. */
static inline void Require(int holds, const char* text) {
  if (holds) return;
  printf("not ok - %s (can't go on)\n%d passed, %d failed\n", text, facts_passed, facts_failed + 1);
  exit(1);
}

static inline int RemoveOne(const char* path, const struct stat* facts, int kind,
                            struct FTW* place) {
  (void)facts;
  (void)kind;
  (void)place;
  return remove(path);
}

/* Removes a folder and all in it; follows no links out of it. */
static inline void RemoveTree(const char* path) { nftw(path, RemoveOne, 16, FTW_DEPTH | FTW_PHYS); }

static inline void RemoveScratch(void) { RemoveTree(scratch); }

static inline void MakeScratch(void) {
  const char* base = getenv("BRAID_TMP");
  if (base == NULL || *base == '\0') base = getenv("TMPDIR");
  if (base == NULL || *base == '\0') base = "/tmp";
  snprintf(scratch, sizeof(scratch), "%s/braid-capi-XXXXXX", base);
  Require(mkdtemp(scratch) != NULL, "a scratch folder can be made");
  atexit(RemoveScratch);
}

/* A path in the scratch folder, in one of a few buffers used in turn. */
static inline const char* ScratchPath(const char* name) {
  static char paths[4][600];
  static int turn;
  turn = (turn + 1) % 4;
  snprintf(paths[turn], sizeof(paths[turn]), "%s/%s", scratch, name);
  return paths[turn];
}

static inline int Exists(const char* path) {
  struct stat facts;
  return lstat(path, &facts) == 0;
}

/* Opens a database, made if it is missing; the options are gone after it. */
static inline braid_t* OpenWith(braid_options_t* options, const char* name) {
  char* err = NULL;
  braid_t* db;
  braid_options_set_create_if_missing(options, 1);
  db = braid_open(options, ScratchPath(name), &err);
  braid_options_destroy(options);
  if (err != NULL) printf("# %s\n", err);
  Require(err == NULL && db != NULL, "a database can be opened");
  return db;
}

static inline braid_t* OpenOrCreate(const char* name) {
  return OpenWith(braid_options_create(), name);
}

#ifndef BRAID_CAPI_LEVELDB
static inline braid_t* OpenDesign(const char* name, const char* design) {
  braid_options_t* options = braid_options_create();
  braid_options_set_design(options, design);
  return OpenWith(options, name);
}
#endif

/* 1 if the iterator stands on exactly this entry. */
static inline int StandsOn(const braid_iterator_t* iterator, const char* key, const char* value) {
  size_t key_length;
  size_t value_length;
  const char* key_bytes;
  const char* value_bytes;
  if (!braid_iter_valid(iterator)) return 0;
  key_bytes = braid_iter_key(iterator, &key_length);
  value_bytes = braid_iter_value(iterator, &value_length);
  return key_length == strlen(key) && memcmp(key_bytes, key, key_length) == 0 &&
         value_length == strlen(value) && memcmp(value_bytes, value, value_length) == 0;
}

/* Puts text; 1 if there was no error. */
static inline int PutText(braid_t* db, const char* key, const char* value) {
  char* err = NULL;
  braid_writeoptions_t* options = braid_writeoptions_create();
  int fine;
  braid_put(db, options, key, strlen(key), value, strlen(value), &err);
  braid_writeoptions_destroy(options);
  fine = err == NULL;
  braid_free(err);
  return fine;
}

/* Deletes text; 1 if there was no error. */
static inline int DeleteText(braid_t* db, const char* key) {
  char* err = NULL;
  braid_writeoptions_t* options = braid_writeoptions_create();
  int fine;
  braid_delete(db, options, key, strlen(key), &err);
  braid_writeoptions_destroy(options);
  fine = err == NULL;
  braid_free(err);
  return fine;
}

/* 1 if `key` has exactly `value`, or, for a NULL value, if there is no such key; and no error. */
static inline int HoldsAt(braid_t* db, const braid_snapshot_t* snapshot, const char* key,
                          const char* value) {
  char* err = NULL;
  size_t length = 77;
  int holds;
  braid_readoptions_t* options = braid_readoptions_create();
  char* found;
  braid_readoptions_set_snapshot(options, snapshot);
  found = braid_get(db, options, key, strlen(key), &length, &err);
  if (value == NULL) {
    holds = err == NULL && found == NULL && length == 0;
  } else {
    holds = err == NULL && found != NULL && length == strlen(value) &&
            memcmp(found, value, length) == 0;
  }
  braid_readoptions_destroy(options);
  braid_free(found);
  braid_free(err);
  return holds;
}

static inline int Holds(braid_t* db, const char* key, const char* value) {
  return HoldsAt(db, NULL, key, value);
}

/* Prints the count; the result is what main returns. */
static inline int Report(void) {
  printf("%d passed, %d failed\n", facts_passed, facts_failed);
  return facts_failed == 0 && facts_passed > 0 ? 0 : 1;
}

#endif /* BRAID_TESTS_CAPI_CHECK_H_ */
