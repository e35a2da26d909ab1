/* Random operations against a model in an array, and threads: the same for braid and LevelDB.
 * Usage: conformance_model [SEED]
 * BRAID_TEST_PART=n (1 to 5): an n-th of the operations and rounds. */
#include "check.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

enum { kKeys = 700, kOperations = 30000, kReopenEvery = 6000, kCheckEvery = 1500 };
/* Each writer moves a pair of keys on together, in batches; readers must never see them differ. */
enum { kWriters = 3, kRounds = 3000 };

/* What `all` are of the part that BRAID_TEST_PART asks for. */
static int PartOf(int all) {
  const char* text = getenv("BRAID_TEST_PART");
  const int part = text != NULL ? atoi(text) : 1;
  return all / (part < 1 ? 1 : part > 5 ? 5 : part);
}

/* The version of the value of each key; 0: there is none. Values follow from key and version. */
typedef struct Model {
  unsigned version[kKeys];
} Model;

static uint64_t random_state;

static unsigned Random(unsigned below) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (unsigned)((random_state >> 11) % below);
}

/* Keys sort by number; every third is long, so that lengths differ. */
static size_t MakeKey(unsigned number, char* key) {
  memset(key, '-', 64);
  key[0] = (char)(number / 100 * 40);
  key[1] = (char)(number % 100 * 2);
  return number % 3 == 0 ? 64 : 2;
}

static size_t MakeValue(unsigned number, unsigned version, char* value) {
  const size_t length = (number * 7 + version * 131) % 400;
  memset(value, (int)((number + version) % 251), length);
  return length;
}

static int IsValue(unsigned number, unsigned version, const char* bytes, size_t length) {
  char value[400];
  return length == MakeValue(number, version, value) && memcmp(bytes, value, length) == 0;
}

/* Walks the database in both directions; 1 if it shows exactly the model. */
static int ScanMatches(braid_t* db, const braid_readoptions_t* read, const Model* model) {
  char key[64];
  int matches = 1;
  int step;
  char* err = NULL;
  braid_iterator_t* it = braid_create_iterator(db, read);
  for (step = 1; step >= -1; step -= 2) {
    int number = step > 0 ? 0 : kKeys - 1;
    if (step > 0) {
      braid_iter_seek_to_first(it);
    } else {
      braid_iter_seek_to_last(it);
    }
    for (; number >= 0 && number < kKeys; number += step) {
      size_t klen;
      size_t vlen;
      const char* k;
      const char* v;
      if (model->version[number] == 0) continue;
      if (!braid_iter_valid(it)) break;
      k = braid_iter_key(it, &klen);
      v = braid_iter_value(it, &vlen);
      if (klen != MakeKey((unsigned)number, key) || memcmp(k, key, klen) != 0 ||
          !IsValue((unsigned)number, model->version[number], v, vlen)) {
        break;
      }
      if (step > 0) {
        braid_iter_next(it);
      } else {
        braid_iter_prev(it);
      }
    }
    matches = matches && (number < 0 || number >= kKeys) && !braid_iter_valid(it);
  }
  braid_iter_get_error(it, &err);
  matches = matches && err == NULL;
  braid_free(err);
  braid_iter_destroy(it);
  return matches;
}

/* Seeks to a random key and takes a few steps to and fro; 1 if all of them match the model. */
static int WalkMatches(braid_t* db, const braid_readoptions_t* read, const Model* model) {
  char key[64];
  int number = (int)Random(kKeys);
  int steps = 12;
  int matches = 1;
  braid_iterator_t* it = braid_create_iterator(db, read);
  braid_iter_seek(it, key, MakeKey((unsigned)number, key));
  while (number < kKeys && model->version[number] == 0) number++;
  while (matches && steps-- > 0 && number >= 0 && number < kKeys) {
    size_t length;
    const char* k = braid_iter_key(it, &length);
    matches = braid_iter_valid(it) && length == MakeKey((unsigned)number, key) &&
              memcmp(k, key, length) == 0;
    if (Random(2) == 0) {
      braid_iter_next(it);
      do number++;
      while (number < kKeys && model->version[number] == 0);
    } else {
      braid_iter_prev(it);
      do number--;
      while (number >= 0 && model->version[number] == 0);
    }
    if (number < 0 || number >= kKeys) matches = matches && !braid_iter_valid(it);
  }
  braid_iter_destroy(it);
  return matches;
}

static int GetMatches(braid_t* db, const braid_readoptions_t* read, const Model* model) {
  char key[64];
  char* err = NULL;
  size_t length = 0;
  int matches;
  const unsigned number = Random(kKeys);
  char* found = braid_get(db, read, key, MakeKey(number, key), &length, &err);
  if (model->version[number] == 0) {
    matches = found == NULL && length == 0;
  } else {
    matches = found != NULL && IsValue(number, model->version[number], found, length);
  }
  matches = matches && err == NULL;
  braid_free(found);
  braid_free(err);
  return matches;
}

/* One put, delete or batch; 1 if there was no error. */
static int Update(braid_t* db, const braid_writeoptions_t* write, Model* model) {
  static unsigned version;
  char key[64];
  char value[400];
  char* err = NULL;
  unsigned number = Random(kKeys);
  const unsigned kind = Random(10);
  int fine;
  if (kind < 5) {
    version++;
    braid_put(db, write, key, MakeKey(number, key), value, MakeValue(number, version, value), &err);
    model->version[number] = version;
  } else if (kind < 8) {
    braid_delete(db, write, key, MakeKey(number, key), &err);
    model->version[number] = 0;
  } else {
    braid_writebatch_t* batch = braid_writebatch_create();
    unsigned updates = Random(20);
    while (updates-- > 0) {
      number = Random(kKeys);
      version++;
      if (Random(3) == 0) {
        braid_writebatch_delete(batch, key, MakeKey(number, key));
        model->version[number] = 0;
      } else {
        braid_writebatch_put(batch, key, MakeKey(number, key), value,
                             MakeValue(number, version, value));
        model->version[number] = version;
      }
    }
    braid_write(db, write, batch, &err);
    braid_writebatch_destroy(batch);
  }
  fine = err == NULL;
  braid_free(err);
  return fine;
}

/* Opens with a small write buffer, so that flushes and merges run all the time. */
static braid_t* OpenBusy(const char* name) {
  char* err = NULL;
  braid_t* db;
  braid_options_t* options = braid_options_create();
  braid_options_set_create_if_missing(options, 1);
  braid_options_set_write_buffer_size(options, 64u << 10);
  db = braid_open(options, ScratchPath(name), &err);
  braid_options_destroy(options);
  if (err != NULL) printf("# %s\n", err);
  Require(db != NULL, "a database with a small write buffer can be opened");
  return db;
}

static void TestRandomOperations(void) {
  static Model model;
  static Model past;
  const int operations = PartOf(kOperations);
  int i;
  int updates_fine = 1;
  int gets_match = 1;
  int walks_match = 1;
  int scans_match = 1;
  int snapshots_match = 1;
  braid_t* db = OpenBusy("model");
  braid_readoptions_t* read = braid_readoptions_create();
  braid_writeoptions_t* write = braid_writeoptions_create();
  const braid_snapshot_t* snapshot = braid_create_snapshot(db);
  for (i = 1; i <= operations; i++) {
    updates_fine = Update(db, write, &model) && updates_fine;
    gets_match = GetMatches(db, read, &model) && gets_match;
    if (i % 20 == 0) walks_match = WalkMatches(db, read, &model) && walks_match;
    if (i % kCheckEvery != 0) continue;
    scans_match = ScanMatches(db, read, &model) && scans_match;
    braid_readoptions_set_snapshot(read, snapshot);
    snapshots_match = ScanMatches(db, read, &past) && snapshots_match;
    braid_readoptions_set_snapshot(read, NULL);
    braid_release_snapshot(db, snapshot);
    if (i % kReopenEvery == 0) {
      braid_close(db);
      db = OpenBusy("model");
    } else if (Random(2) == 0) {
      braid_compact_range(db, NULL, 0, NULL, 0);
    }
    snapshot = braid_create_snapshot(db);
    past = model;
  }
  Fact(updates_fine, "random updates have no error");
  Fact(gets_match, "a get after each of them agrees with a model");
  Fact(walks_match, "iterators that turn around agree with the model");
  Fact(scans_match, "whole scans in both directions agree with the model");
  Fact(snapshots_match, "snapshots that are 1,500 updates old agree with the model");
  braid_release_snapshot(db, snapshot);
  braid_close(db);
  braid_readoptions_destroy(read);
  braid_writeoptions_destroy(write);
}

typedef struct Worker {
  braid_t* db;
  unsigned number;
  int failures;
} Worker;

static size_t PairKey(unsigned pair, char side, char* key) {
  return (size_t)snprintf(key, 32, "pair%u%c", pair, side);
}

static void* WritePairs(void* argument) {
  Worker* worker = argument;
  char key[32];
  char value[32];
  char* err = NULL;
  const unsigned rounds = (unsigned)PartOf(kRounds);
  unsigned i;
  braid_writeoptions_t* write = braid_writeoptions_create();
  braid_writebatch_t* batch = braid_writebatch_create();
  for (i = 0; i < rounds; i++) {
    const size_t length = (size_t)snprintf(value, sizeof(value), "%u", i);
    braid_writebatch_clear(batch);
    braid_writebatch_put(batch, key, PairKey(worker->number, 'a', key), value, length);
    braid_writebatch_put(batch, key, PairKey(worker->number, 'b', key), value, length);
    braid_write(worker->db, write, batch, &err);
    if (err != NULL) worker->failures++;
    braid_free(err);
    err = NULL;
  }
  braid_writebatch_destroy(batch);
  braid_writeoptions_destroy(write);
  return NULL;
}

static void* ReadPairs(void* argument) {
  Worker* worker = argument;
  char key[32];
  char* err = NULL;
  const unsigned rounds = (unsigned)PartOf(kRounds);
  unsigned i;
  for (i = 0; i < rounds; i++) {
    const unsigned pair = i % kWriters;
    size_t a_length = 0;
    size_t b_length = 0;
    char* a;
    char* b;
    braid_readoptions_t* read = braid_readoptions_create();
    const braid_snapshot_t* snapshot = braid_create_snapshot(worker->db);
    braid_readoptions_set_snapshot(read, snapshot);
    a = braid_get(worker->db, read, key, PairKey(pair, 'a', key), &a_length, &err);
    b = braid_get(worker->db, read, key, PairKey(pair, 'b', key), &b_length, &err);
    if (err != NULL || a_length != b_length || (a == NULL) != (b == NULL) ||
        (a != NULL && memcmp(a, b, a_length) != 0)) {
      worker->failures++;
    }
    braid_free(a);
    braid_free(b);
    braid_free(err);
    err = NULL;
    braid_release_snapshot(worker->db, snapshot);
    braid_readoptions_destroy(read);
  }
  return NULL;
}

static void TestThreads(void) {
  pthread_t threads[2 * kWriters];
  Worker workers[2 * kWriters];
  unsigned i;
  int write_failures = 0;
  int read_failures = 0;
  char last[16];
  braid_t* db = OpenBusy("threads");
  for (i = 0; i < 2 * kWriters; i++) {
    workers[i].db = db;
    workers[i].number = i;
    workers[i].failures = 0;
    Require(
        pthread_create(&threads[i], NULL, i < kWriters ? WritePairs : ReadPairs, &workers[i]) == 0,
        "a thread can be started");
  }
  for (i = 0; i < 2 * kWriters; i++) {
    pthread_join(threads[i], NULL);
    if (i < kWriters) {
      write_failures += workers[i].failures;
    } else {
      read_failures += workers[i].failures;
    }
  }
  Fact(write_failures == 0, "three threads write batches side by side");
  Fact(read_failures == 0, "a snapshot shows a batch as a whole or not at all");
  snprintf(last, sizeof last, "%d", PartOf(kRounds) - 1);
  Fact(Holds(db, "pair0a", last) && Holds(db, "pair2b", last), "the last batch stays");
  braid_close(db);
}

int main(int argc, char** argv) {
  random_state = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL);
  printf("# seed %lu\n", (unsigned long)random_state);
  random_state = random_state * 0x9E3779B97F4A7C15u + 1;
  MakeScratch();
  TestRandomOperations();
  TestThreads();
  return Report();
}
