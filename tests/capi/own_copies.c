/* Bulk load, checkpoint and restore through C. */
#include "check.h"

#include <stdint.h>

/* Records "rec000000" on, each with its number as value; `fail_at` gives up there. */
typedef struct Source {
  int next;
  int count;
  int step; /* 1: ascending; else the order is (next * step) modulo count */
  int fail_at;
  char key[32];
  char value[32];
} Source;

static uint8_t NextRecord(void* state, const char** key, size_t* keylen, const char** val,
                          size_t* vallen) {
  Source* source = state;
  int number;
  if (source->next == source->fail_at) return 2;
  if (source->next == source->count) return 0;
  number = (int)((int64_t)source->next * source->step % source->count);
  source->next++;
  *keylen = (size_t)snprintf(source->key, sizeof(source->key), "rec%06d", number);
  *vallen = (size_t)snprintf(source->value, sizeof(source->value), "%d", number);
  *key = source->key;
  *val = source->value;
  return 1;
}

static Source Records(int count, int step, int fail_at) {
  Source source = {0, 0, 0, 0, "", ""};
  source.count = count;
  source.step = step;
  source.fail_at = fail_at;
  return source;
}

/* The number of keys; -1 if they are not rec000000 on with their numbers as values. */
static int CountRecords(braid_t* db) {
  char* err = NULL;
  char key[32];
  char value[32];
  int count = 0;
  braid_readoptions_t* read = braid_readoptions_create();
  braid_iterator_t* it = braid_create_iterator(db, read);
  for (braid_iter_seek_to_first(it); braid_iter_valid(it); braid_iter_next(it)) {
    snprintf(key, sizeof(key), "rec%06d", count);
    snprintf(value, sizeof(value), "%d", count);
    if (!StandsOn(it, key, value)) {
      count = -1;
      break;
    }
    count++;
  }
  braid_iter_get_error(it, &err);
  if (err != NULL) count = -1;
  braid_free(err);
  braid_iter_destroy(it);
  braid_readoptions_destroy(read);
  return count;
}

static void TestIngest(braid_t* db) {
  char* err = NULL;
  Source source = Records(5000, 1, 4000);
  uint64_t loaded = braid_ingest(db, 1, &source, NextRecord, &err);
  HasError(&err, "a source that gives up is an error");
  Fact(loaded == 0 && CountRecords(db) == 0, "and nothing of a sorted load is there");
  source = Records(5000, 3, -1);
  loaded = braid_ingest(db, 1, &source, NextRecord, &err);
  HasError(&err, "keys that are said to be sorted and are not are an error");
  Fact(loaded == 0 && CountRecords(db) == 0, "that leaves nothing, either");
  source = Records(0, 1, -1);
  loaded = braid_ingest(db, 1, &source, NextRecord, &err);
  NoError(&err, "a load of nothing is no error");
  Fact(loaded == 0, "and loads nothing");
  source = Records(5000, 1, -1);
  loaded = braid_ingest(db, 1, &source, NextRecord, &err);
  NoError(&err, "sorted records can be loaded");
  Fact(loaded == 5000 && CountRecords(db) == 5000, "all of them are there, in order");
  source = Records(9001, 7, -1);
  loaded = braid_ingest(db, 0, &source, NextRecord, &err);
  NoError(&err, "records in any order can be loaded");
  Fact(loaded == 9001 && CountRecords(db) == 9001, "over those that are there");
  braid_verify(db, &err);
  NoError(&err, "and the database is sound");
}

/* Counts calls; -1 once a share was outside 0 to 1 or smaller than the one before. */
typedef struct Shares {
  int calls;
  double last;
} Shares;

static void Hear(void* state, double share) {
  Shares* shares = state;
  if (shares->calls < 0 || share < shares->last || share > 1) {
    shares->calls = -1;
  } else {
    shares->calls++;
    shares->last = share;
  }
}

static void TestCheckpoint(braid_t* db) {
  char* err = NULL;
  Shares shares = {0, 0};
  braid_options_t* options = braid_options_create();
  braid_t* copy;
  braid_checkpoint(db, ScratchPath("own"), NULL, NULL, &err);
  HasError(&err, "a checkpoint is not written over what is there");
  braid_checkpoint(db, ScratchPath("moment"), &shares, Hear, &err);
  NoError(&err, "a checkpoint can be written while the database is open");
  Fact(shares.calls >= 0, "its progress goes from 0 to 1");
  PutText(db, "rec000000", "later");
  braid_restore(options, ScratchPath("own"), ScratchPath("other"), NULL, NULL, &err);
  HasError(&err, "a pool that is open is no checkpoint");
  Fact(!Exists(ScratchPath("other")), "and nothing is made of it");
  braid_restore(options, ScratchPath("moment"), ScratchPath("restored"), &shares, NULL, &err);
  NoError(&err, "a checkpoint can be restored");
  braid_restore(options, ScratchPath("moment"), ScratchPath("restored"), NULL, NULL, &err);
  HasError(&err, "but not over what is there");
  copy = braid_open(options, ScratchPath("restored"), &err);
  NoError(&err, "what was restored opens");
  Require(copy != NULL, "the restored pool");
  Fact(CountRecords(copy) == 9001, "with the state of the moment of the checkpoint");
  braid_verify(copy, &err);
  NoError(&err, "and is sound");
  braid_close(copy);
  copy = braid_open(options, ScratchPath("moment"), &err);
  NoError(&err, "the checkpoint is a pool itself");
  Require(copy != NULL, "the checkpoint");
  Fact(CountRecords(copy) == 9001, "with the same state");
  braid_close(copy);
  Fact(Holds(db, "rec000000", "later"), "the database went on meanwhile");
  braid_options_destroy(options);
}

static void TestDesignThatCannot(void) {
  char* err = NULL;
  Source source = Records(3, 1, -1);
  braid_t* db = OpenDesign("blackhole", "blackhole");
  Fact(braid_ingest(db, 1, &source, NextRecord, &err) == 0,
       "a design without ingest loads nothing");
  HasError(&err, "and says so");
  braid_checkpoint(db, ScratchPath("nothing"), NULL, NULL, &err);
  HasError(&err, "one without snapshots makes no checkpoint");
  Fact(!Exists(ScratchPath("nothing")), "and leaves nothing");
  braid_close(db);
}

int main(void) {
  braid_t* db;
  MakeScratch();
  TestDesignThatCannot();
  db = OpenOrCreate("own");
  TestIngest(db);
  TestCheckpoint(db);
  braid_close(db);
  return Report();
}
