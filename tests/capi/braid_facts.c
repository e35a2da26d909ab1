/* What braid's C API does where LevelDB has nothing, or has left it open. */
#include "check.h"

static int Mentions(char** err, const char* word, const char* text) {
  const int holds = *err != NULL && strstr(*err, word) != NULL;
  Fact(holds, text);
  if (!holds) printf("# the message is: %s\n", *err != NULL ? *err : "(none)");
  braid_free(*err);
  *err = NULL;
  return holds;
}

static void TestNullArguments(braid_t* db) {
  char* long_key = calloc(1, 70000);
  braid_readoptions_t* read = braid_readoptions_create();
  braid_writeoptions_t* write = braid_writeoptions_create();
  Require(long_key != NULL, "memory for a long key");
  braid_put(db, write, "n", 1, "v", 1, NULL);
  Fact(Holds(db, "n", "v"), "a put works with a NULL errptr");
  braid_put(db, write, long_key, 70000, "v", 1, NULL);
  Fact(Holds(db, "n", "v"), "a put that fails with a NULL errptr loses the error only");
  braid_close(NULL);
  braid_iter_destroy(NULL);
  braid_release_snapshot(db, NULL);
  braid_writebatch_destroy(NULL);
  braid_options_destroy(NULL);
  braid_readoptions_destroy(NULL);
  braid_writeoptions_destroy(NULL);
  braid_comparator_destroy(NULL);
  braid_filterpolicy_destroy(NULL);
  braid_cache_destroy(NULL);
  braid_env_destroy(NULL);
  braid_logger_destroy(NULL);
  braid_pinned_destroy(NULL);
  braid_free(NULL);
  Fact(Holds(db, "n", "v"), "every destroy call takes NULL");
  free(long_key);
  braid_readoptions_destroy(read);
  braid_writeoptions_destroy(write);
}

static void TestLimits(braid_t* db) {
  const size_t too_long = 128u * 1024;
  char* key = calloc(1, too_long);
  char* err = NULL;
  size_t length = 0;
  char* found;
  braid_readoptions_t* read = braid_readoptions_create();
  braid_writeoptions_t* write = braid_writeoptions_create();
  braid_writebatch_t* batch = braid_writebatch_create();
  braid_writebatch_t* other = braid_writebatch_create();
  Require(key != NULL, "memory for a long key");
  braid_put(db, write, key, too_long - 1, "v", 1, &err);
  NoError(&err, "a key of 128 KiB - 1 can be put");
  found = braid_get(db, read, key, too_long - 1, &length, &err);
  Fact(found != NULL && length == 1, "and be read");
  braid_free(found);
  braid_put(db, write, key, too_long, "v", 1, &err);
  HasError(&err, "a key above 128 KiB - 1 is refused");

  braid_writebatch_put(batch, "in-batch", 8, "v", 1);
  braid_writebatch_put(batch, key, too_long, "v", 1);
  braid_writebatch_put(batch, "in-batch-2", 10, "v", 1);
  braid_write(db, write, batch, &err);
  HasError(&err, "a batch with a key above 128 KiB - 1 is refused");
  Fact(Holds(db, "in-batch", NULL) && Holds(db, "in-batch-2", NULL), "as a whole");
  braid_writebatch_append(other, batch);
  braid_write(db, write, other, &err);
  HasError(&err, "a batch that took over a refused one is refused");
  braid_writebatch_clear(batch);
  braid_writebatch_put(batch, "in-batch", 8, "v", 1);
  braid_write(db, write, batch, &err);
  NoError(&err, "a cleared batch can be written again");
  Fact(Holds(db, "in-batch", "v"), "with what was added since");
  if (sizeof(size_t) > 4) {
    braid_writebatch_put(batch, "k", 1, "v", (size_t)0xFFFFFFFFu + 1);
    braid_write(db, write, batch, &err);
    HasError(&err, "a batch with a value of 4 GiB is refused, and the value is not read");
  }
  braid_writebatch_destroy(batch);
  braid_writebatch_destroy(other);
  braid_readoptions_destroy(read);
  braid_writeoptions_destroy(write);
  free(key);
}

static void TestOwnCalls(braid_t* db) {
  static const char* const names[] = {
      "braid.stats",     "braid.stats.json",  "braid.num-entries", "braid.approximate-memory-usage",
      "braid.l0-tables", "braid.media-class", "braid.design"};
  char* err = NULL;
  char* text;
  size_t i;
  const char* start = "size-";
  const char* limit = "size.";
  size_t five = 5;
  uint64_t size = 0;
  braid_flush(db, &err);
  NoError(&err, "a flush works");
  braid_flush(db, &err);
  NoError(&err, "a flush of nothing works");
  Fact(Holds(db, "n", "v"), "a flush keeps the data");
  braid_verify(db, &err);
  NoError(&err, "verify finds nothing wrong");
  text = braid_statistics_json(db);
  Fact(text != NULL && text[0] == '{' && strstr(text, "\"puts\"") != NULL,
       "the statistics are a JSON object with the counters");
  Fact(text != NULL && strstr(text, "\"latency_get_p99_nanos\":") != NULL &&
           strstr(text, "\"l1_obsolete_bytes\":") != NULL,
       "the statistics have latencies, and space by level");
  braid_free(text);
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    text = braid_property_value(db, names[i]);
    if (!Fact(text != NULL && *text != '\0', "a property that c.h lists has a value")) {
      printf("# %s\n", names[i]);
    }
    braid_free(text);
  }
  PutText(db, "size-1", "1234");
  PutText(db, "size-2", "12345678");
  PutText(db, "size-2", "replaced");
  PutText(db, "size-3", "gone");
  DeleteText(db, "size-3");
  braid_approximate_sizes(db, 1, &start, &five, &limit, &five, &size);
  Fact(size == 6 + 4 + 6 + 8, "the size of a small range is that of its live keys and values");
}

static void TestIterator(braid_t* db) {
  char* err = NULL;
  size_t length = 9;
  braid_readoptions_t* read = braid_readoptions_create();
  braid_iterator_t* it = braid_create_iterator(db, read);
  braid_iter_seek_for_prev(it, "b", 1);
  Fact(!braid_iter_valid(it), "seek_for_prev in an empty database finds nothing");
  braid_iter_destroy(it);
  PutText(db, "b", "2");
  PutText(db, "d", "4");
  it = braid_create_iterator(db, read);
  Fact(braid_iter_key(it, &length) == NULL && length == 0, "an invalid iterator has no key");
  length = 9;
  Fact(braid_iter_value(it, &length) == NULL && length == 0, "an invalid iterator has no value");
  braid_iter_next(it);
  braid_iter_prev(it);
  Fact(!braid_iter_valid(it), "next and prev of an invalid iterator do nothing");
  braid_iter_seek_for_prev(it, "d", 1);
  Fact(StandsOn(it, "d", "4"), "seek_for_prev finds a key that is there");
  braid_iter_seek_for_prev(it, "c", 1);
  Fact(StandsOn(it, "b", "2"), "seek_for_prev goes to the next smaller key");
  braid_iter_next(it);
  Fact(StandsOn(it, "d", "4"), "next goes on from there");
  braid_iter_seek_for_prev(it, "z", 1);
  Fact(StandsOn(it, "d", "4"), "seek_for_prev beyond the last key finds the last");
  braid_iter_seek_for_prev(it, "a", 1);
  Fact(!braid_iter_valid(it), "seek_for_prev before the first key finds nothing");
  braid_iter_get_error(it, &err);
  NoError(&err, "which is no error");
  braid_iter_destroy(it);
  braid_readoptions_destroy(read);
}

static void NotePut(void* text, const char* k, size_t klen, const char* v, size_t vlen) {
  (void)v, (void)vlen;
  strcat(text, "+");
  strncat(text, k, klen);
}
static void NoteDelete(void* text, const char* k, size_t klen) {
  strcat(text, "-");
  strncat(text, k, klen);
}
static void NoteRange(void* text, const char* begin, size_t beginlen, const char* end,
                      size_t endlen) {
  strcat(text, "/");
  strncat(text, begin != NULL ? begin : "*", begin != NULL ? beginlen : 1);
  strcat(text, "..");
  strncat(text, end != NULL ? end : "*", end != NULL ? endlen : 1);
}

static void TestRangesOfBatches(braid_t* db) {
  char* err = NULL;
  char text[64] = "";
  braid_writeoptions_t* write = braid_writeoptions_create();
  braid_writebatch_t* batch = braid_writebatch_create();
  braid_writebatch_t* copy = braid_writebatch_create();
  braid_put(db, write, "range-a", 7, "v", 1, &err);
  braid_put(db, write, "range-b", 7, "v", 1, &err);
  NoError(&err, "two keys are put");
  braid_writebatch_put(batch, "range-c", 7, "v", 1);
  braid_writebatch_delete_range(batch, "range-", 6, "range.", 6);
  braid_writebatch_put(batch, "range-b", 7, "new", 3);
  braid_writebatch_delete(batch, "k", 1);
  braid_writebatch_append(copy, batch);
  braid_writebatch_iterate_all(copy, text, NotePut, NoteDelete, NoteRange);
  Fact(strcmp(text, "+range-c/range-..range.+range-b-k") == 0, "a batch shows its ranges");
  text[0] = '\0';
  braid_writebatch_iterate(copy, text, NotePut, NoteDelete);
  Fact(strcmp(text, "+range-c+range-b-k") == 0, "LevelDB's call leaves them out");
  braid_write(db, write, batch, &err);
  NoError(&err, "a batch with a range is written");
  Fact(Holds(db, "range-a", NULL) && Holds(db, "range-c", NULL) && Holds(db, "range-b", "new"),
       "its updates take effect in their order");
  braid_writebatch_clear(batch);
  braid_writebatch_delete_range(batch, NULL, 0, NULL, 0);
  text[0] = '\0';
  braid_writebatch_iterate_all(batch, text, NotePut, NoteDelete, NoteRange);
  Fact(strcmp(text, "/*..*") == 0, "both bounds may be missing");
  braid_writebatch_destroy(copy);
  braid_writebatch_destroy(batch);
  braid_writeoptions_destroy(write);
}

static void TestAfterClose(void) {
  char* err = NULL;
  size_t length = 0;
  braid_t* db = OpenOrCreate("closing");
  braid_readoptions_t* read = braid_readoptions_create();
  const braid_snapshot_t* snapshot;
  braid_iterator_t* standing;
  braid_iterator_t* unused;
  braid_iterator_t* flushed;
  PutText(db, "a", "1");
  braid_flush(db, &err);
  NoError(&err, "a flush before the close works");
  flushed = braid_create_iterator(db, read);
  braid_iter_seek_to_first(flushed);
  PutText(db, "b", "2");
  snapshot = braid_create_snapshot(db);
  standing = braid_create_iterator(db, read);
  unused = braid_create_iterator(db, read);
  braid_iter_seek_to_last(standing);
  Fact(StandsOn(standing, "b", "2"), "an iterator stands on an entry");
  braid_close(db);
  braid_iter_get_error(standing, &err);
  HasError(&err, "after close an iterator has an error");
  (void)braid_iter_key(standing, &length);
  (void)braid_iter_value(standing, &length);
  braid_iter_prev(standing);
  braid_iter_next(standing);
  braid_iter_seek(standing, "a", 1);
  braid_iter_seek_to_first(standing);
  Fact(!braid_iter_valid(standing), "a seek after close finds nothing");
  braid_iter_next(flushed);
  braid_iter_get_error(flushed, &err);
  HasError(&err, "also not one that stood on a flushed entry");
  braid_iter_destroy(standing);
  braid_iter_destroy(unused);
  braid_release_snapshot(db, snapshot);
  db = OpenOrCreate("closing");
  Fact(Holds(db, "a", "1") && Holds(db, "b", "2"),
       "the pool opens again, also with an iterator left over");
  braid_iter_destroy(flushed);
  Fact(PutText(db, "c", "3") && Holds(db, "c", "3"),
       "a left-over iterator that is destroyed does not touch the new handle");
  braid_close(db);
  braid_readoptions_destroy(read);
}

static int CompareNothing(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  (void)state;
  (void)a;
  (void)b;
  return (alen > blen) - (alen < blen);
}

static const char* NameNothing(void* state) {
  (void)state;
  return "by length";
}

static int CompareOrFail(void* state, const char* a, size_t alen, const char* b, size_t blen,
                         char** errptr) {
  const int order = memcmp(a, b, alen < blen ? alen : blen);
  (void)state;
  if ((alen == 3 && memcmp(a, "bad", 3) == 0) || (blen == 3 && memcmp(b, "bad", 3) == 0)) {
    *errptr = strdup("a bad key");
    return 0;
  }
  return order != 0 ? order : (alen > blen) - (alen < blen);
}

static void TestFailingComparator(void) {
  char* err = NULL;
  braid_options_t* options = braid_options_create();
  braid_writeoptions_t* write = braid_writeoptions_create();
  braid_comparator_t* comparator =
      braid_comparator_create_fallible(NULL, NULL, CompareOrFail, NameNothing);
  braid_t* db;
  braid_options_set_create_if_missing(options, 1);
  braid_options_set_comparator(options, comparator);
  braid_comparator_destroy(comparator);
  db = braid_open(options, ScratchPath("fallible"), &err);
  NoError(&err, "a comparator may be destroyed before the open");
  Require(db != NULL, "a database with a comparator that may fail");
  braid_put(db, write, "good", 4, "v", 1, &err);
  NoError(&err, "it takes good keys");
  braid_put(db, write, "bad", 3, "v", 1, &err);
  Mentions(&err, "a bad key", "what the comparator says is the error");
  Fact(Holds(db, "good", "v"), "and what was there stays");
  braid_close(db);
  braid_writeoptions_destroy(write);
  braid_options_destroy(options);
}

static void TestRefusedOptions(void) {
  char* err = NULL;
  const char* path = ScratchPath("refused");
  braid_options_t* options = braid_options_create();
  braid_comparator_t* comparator = braid_comparator_create(NULL, NULL, CompareNothing, NameNothing);
  braid_key_order_t* order;
  braid_t* db = braid_open(options, path, &err);
  Fact(db == NULL && !Exists(path), "a failed open leaves nothing at a missing path");
  HasError(&err, "and is an error");
  braid_options_set_create_if_missing(options, 1);
  braid_options_set_comparator(options, comparator);
  order = braid_key_order_create_builtin("reverse-bytewise");
  braid_options_set_key_order(options, order);
  db = braid_open(options, path, &err);
  Fact(db == NULL && !Exists(path), "a comparator and an order of keys are refused together");
  Mentions(&err, "braid_options_set_key_order", "and the message names the calls");
  braid_options_set_key_order(options, NULL);
  braid_key_order_destroy(order);
  braid_options_set_design(options, "nvskiplist");
  db = braid_open(options, path, &err);
  Fact(db == NULL, "a design without snapshots refuses a comparator");
  Mentions(&err, "comparator", "and says so");
  braid_destroy_db(options, path, &err);
  NoError(&err, "what the attempt has made is removed");
  braid_options_set_comparator(options, NULL);
  braid_options_set_design(options, "no-such-design");
  db = braid_open(options, path, &err);
  Fact(db == NULL && !Exists(path), "a design that is not known is refused");
  Mentions(&err, "design", "and the message names the option");
  braid_options_set_design(options, "braid");
  braid_options_set_memory_budget(options, (uint64_t)512 << 20);
  db = braid_open(options, path, &err);
  NoError(&err, "without them the same options open a database");
  Require(db != NULL, "a database with the default design");
  braid_close(db);
  braid_options_destroy(options);
  braid_comparator_destroy(comparator);
}

static void TestForeignFolder(void) {
  char* err = NULL;
  char path[600];
  char file_path[640];
  FILE* file;
  braid_t* db;
  braid_options_t* options = braid_options_create();
  snprintf(path, sizeof(path), "%s/foreign", scratch);
  snprintf(file_path, sizeof(file_path), "%s/letter.txt", path);
  Require(mkdir(path, 0700) == 0, "a folder can be made");
  file = fopen(file_path, "w");
  Require(file != NULL, "a file can be made");
  fputs("not a pool\n", file);
  fclose(file);
  braid_options_set_create_if_missing(options, 1);
  db = braid_open(options, path, &err);
  Fact(db == NULL, "a folder with other files is not opened");
  HasError(&err, "and is an error");
  braid_destroy_db(options, path, &err);
  HasError(&err, "a folder that is no pool is not destroyed");
  Fact(Exists(file_path), "its files stay");
  braid_options_destroy(options);
}

static void TestRepair(void) {
  char* err = NULL;
  char file_path[700];
  char kept[700];
  const char zeros[4096] = {0};
  int page;
  FILE* file;
  braid_options_t* options = braid_options_create();
  const char* path = ScratchPath("closing");
  braid_t* db = braid_open(options, path, &err);
  Require(db != NULL, "the pool before it is harmed");
  braid_repair_db(options, path, &err);
  HasError(&err, "a pool that is open is not repaired");
  braid_close(db);
  snprintf(file_path, sizeof(file_path), "%s/segment-000000", path);
  snprintf(kept, sizeof(kept), "%s.damaged-1", path);
  file = fopen(file_path, "r+");
  Require(file != NULL, "the first segment can be harmed");
  for (page = 0; page < 9; page++) fwrite(zeros, sizeof(zeros), 1, file);
  fclose(file);
  db = braid_open(options, path, &err);
  Fact(db == NULL, "without its headers it does not open");
  HasError(&err, "and that is an error");
  braid_repair_db(options, path, &err);
  NoError(&err, "repair salvages it");
  Fact(Exists(kept), "and keeps the damaged pool beside it");
  db = braid_open(options, path, &err);
  NoError(&err, "the new pool opens in its place");
  Require(db != NULL, "the pool after repair");
  Fact(Holds(db, "a", "1"), "with its data");
  braid_close(db);
  braid_repair_db_with_tier(options, path, ScratchPath("tier of it"), &err);
  HasError(&err, "a tier needs a bound of the pool above it");
  db = braid_open(options, path, &err);
  NoError(&err, "a repair that was refused has changed nothing");
  if (db != NULL) braid_close(db);
  braid_repair_db(options, ScratchPath("never"), &err);
  HasError(&err, "a missing pool is not repaired");
  Fact(!Exists(ScratchPath("never")), "and not made");
  braid_options_destroy(options);
}

static void TestMaxSize(void) {
  const size_t value_length = 500u << 10;
  char* value = calloc(1, value_length);
  char* err = NULL;
  char key[32];
  int taken = 0;
  size_t length = 0;
  char* found;
  braid_options_t* options = braid_options_create();
  braid_readoptions_t* read = braid_readoptions_create();
  braid_writeoptions_t* write = braid_writeoptions_create();
  braid_t* db;
  Require(value != NULL, "memory for a value");
  braid_options_set_create_if_missing(options, 1);
  braid_options_set_max_size(options, (uint64_t)48 << 20);
  braid_options_set_write_buffer_size(options, 8u << 20);
  db = braid_open(options, ScratchPath("small"), &err);
  NoError(&err, "a pool of at most 48 MiB can be made");
  Require(db != NULL, "a small pool");
  while (err == NULL && taken < 300) {
    const size_t klen = (size_t)snprintf(key, sizeof(key), "%06d", taken);
    braid_put(db, write, key, klen, value, value_length, &err);
    if (err == NULL) taken++;
  }
  printf("# %d values of 500 KiB went into it\n", taken);
  Fact(taken >= 40 && taken < 97, "it takes less than 48 MiB");
  HasError(&err, "a full pool is an error of the put");
  found = braid_get(db, read, "000000", 6, &length, &err);
  Fact(found != NULL && length == value_length, "a full pool can be read");
  braid_free(found);
  NoError(&err, "without an error");
  braid_delete(db, write, "000000", 6, &err);
  NoError(&err, "a full pool takes a delete");
  Fact(Holds(db, "000000", NULL), "which counts");
  braid_close(db);
  free(value);
  braid_options_destroy(options);
  braid_readoptions_destroy(read);
  braid_writeoptions_destroy(write);
}

/* braid_compare_and_swap with text; NULL expects that there is no such key. 1, 0, or -1 for an
 * error. */
static int SwapText(braid_t* db, const char* key, const char* expected, const char* desired) {
  char* err = NULL;
  braid_writeoptions_t* options = braid_writeoptions_create();
  const int swapped = braid_compare_and_swap(db, options, key, strlen(key), expected,
                                             expected == NULL ? 0 : strlen(expected), desired,
                                             strlen(desired), &err);
  const int failed = err != NULL;
  braid_writeoptions_destroy(options);
  braid_free(err);
  return failed ? -1 : swapped;
}

static void TestDeleteRange(braid_t* db) {
  char* err = NULL;
  uint64_t deleted = 99;
  braid_writeoptions_t* options = braid_writeoptions_create();
  PutText(db, "range/a", "1");
  PutText(db, "range/b", "2");
  PutText(db, "range/c", "3");
  braid_delete_range(db, options, "range/a", 7, "range/c", 7, &deleted, &err);
  NoError(&err, "a range is deleted");
  Fact(deleted == 2 && Holds(db, "range/a", NULL) && Holds(db, "range/b", NULL) &&
           Holds(db, "range/c", "3"),
       "the first key is in the range, the last is not");
  braid_delete_range(db, options, "range/c", 7, "range/c", 7, &deleted, &err);
  NoError(&err, "an empty range is no error");
  Fact(deleted == 0 && Holds(db, "range/c", "3"), "and has no keys");
  PutText(db, "\xff", "the last key");
  braid_delete_range(db, options, "range/b", 7, NULL, 0, NULL, &err);
  NoError(&err, "a range without an end is deleted");
  Fact(Holds(db, "range/c", NULL) && Holds(db, "\xff", NULL), "to the last key");
  braid_writeoptions_destroy(options);
}

static void TestCompareAndSwap(braid_t* db) {
  char* err = NULL;
  braid_writeoptions_t* options = braid_writeoptions_create();
  Fact(SwapText(db, "cas", "", "one") == 0 && Holds(db, "cas", NULL),
       "an absent key has no empty value to compare with");
  Fact(SwapText(db, "cas", NULL, "") == 1 && Holds(db, "cas", ""),
       "expected NULL stores under an absent key");
  Fact(SwapText(db, "cas", NULL, "one") == 0 && Holds(db, "cas", ""), "and only under such a key");
  Fact(SwapText(db, "cas", "", "one") == 1 && Holds(db, "cas", "one"), "an empty value is swapped");
  Fact(SwapText(db, "cas", "two", "three") == 0 && Holds(db, "cas", "one"),
       "another value than the expected one stays");
  Fact(SwapText(db, "cas", "one", "three") == 1 && Holds(db, "cas", "three"),
       "the expected value is swapped");
  Fact(
      braid_put_if_absent(db, options, "cas", 3, "four", 4, &err) == 0 && Holds(db, "cas", "three"),
      "put_if_absent leaves a key that is there");
  NoError(&err, "without an error");
  Fact(DeleteText(db, "cas") && braid_put_if_absent(db, options, "cas", 3, "four", 4, &err) == 1 &&
           Holds(db, "cas", "four"),
       "put_if_absent stores under a deleted key");
  NoError(&err, "without an error");
  braid_writeoptions_destroy(options);
}

/* While the pool "own" is open. */
static void TestInspect(void) {
  char* err = NULL;
  char* text = braid_inspect_json(ScratchPath("own"), &err);
  NoError(&err, "the facts of a pool are read while it is open");
  Fact(text != NULL && strstr(text, "\"media_class\":") != NULL &&
           strstr(text, "\"power_loss\":") != NULL && strstr(text, "\"in_use\":true") != NULL,
       "they are JSON with the medium, and say that the pool is open");
  braid_free(text);
  text = braid_inspect_json("/nowhere/at/all", &err);
  Fact(text == NULL, "where there is no pool there are no facts");
  HasError(&err, "and it is an error");
}

static uint8_t CountCalls(void* state, double share) {
  int* calls = state;
  ++*calls;
  return share >= 0 && *calls < 1000000;
}
static uint8_t Cancel(void* state, double share) {
  (void)state, (void)share;
  return 0;
}

static void TestSteering(braid_t* db) {
  char* err = NULL;
  int calls = 0;
  size_t length = 0;
  uint64_t deleted = 0;
  braid_writeoptions_t* write = braid_writeoptions_create();
  braid_readoptions_t* read = braid_readoptions_create();
  braid_iterator_t* it;
  char* key = braid_time_key("t.", 2, 5, "x", 1, &length);
  Fact(key != NULL && length == 11 && memcmp(key, "t.\0\0\0\0\0\0\0\5x", 11) == 0,
       "a key of a time has it behind its prefix");
  braid_put(db, write, key, length, "v", 1, &err);
  NoError(&err, "it is put");
  braid_compact(db, "a", 1, NULL, 0, &calls, CountCalls, &err);
  NoError(&err, "a range is compacted");
  Fact(calls >= 2, "and its progress is told");
  braid_compact(db, NULL, 0, NULL, 0, NULL, Cancel, &err);
  HasError(&err, "a compaction that is cancelled says so");
  braid_set_background_limit(db, 1 << 20, &err);
  NoError(&err, "the background has a limit");
  braid_set_background_limit(db, 0, &err);
  NoError(&err, "and none");
  braid_publish_statistics(db, 1, &err);
  NoError(&err, "statistics are published");
  Fact(Exists(ScratchPath("own.stats.json")), "in a file beside the pool");
  braid_publish_statistics(db, 0, &err);
  NoError(&err, "until that ends");
  Fact(!Exists(ScratchPath("own.stats.json")), "and the file is gone");
  braid_readoptions_set_iterate_lower_bound(read, "t.", 2);
  braid_readoptions_set_iterate_upper_bound(read, "t/", 2);
  it = braid_create_iterator(db, read);
  braid_expire_before(db, write, "t.", 2, 5, &deleted, &err);
  Fact(deleted == 0, "what is not before the time stays");
  braid_expire_before(db, write, "t.", 2, 6, &deleted, &err);
  NoError(&err, "what is over is deleted");
  Fact(deleted == 1, "and counted");
  braid_iter_seek_to_first(it);
  Fact(braid_iter_valid(it), "an iterator shows what was there");
  braid_iter_refresh(it, &err);
  NoError(&err, "it is refreshed");
  braid_iter_seek_to_first(it);
  Fact(!braid_iter_valid(it), "and shows what is there");
  braid_iter_destroy(it);
  braid_free(key);
  key = braid_prefix_upper_bound("t.", 2, &length);
  Fact(key != NULL && length == 2 && memcmp(key, "t/", 2) == 0, "a prefix has an upper bound");
  braid_free(key);
  Fact(braid_prefix_upper_bound("\xff", 1, &length) == NULL, "but not behind all keys");
  braid_readoptions_destroy(read);
  braid_writeoptions_destroy(write);
}

int main(void) {
  braid_t* db;
  MakeScratch();
  db = OpenOrCreate("own");
  TestIterator(db);
  TestNullArguments(db);
  TestLimits(db);
  TestOwnCalls(db);
  TestCompareAndSwap(db);
  TestDeleteRange(db);
  TestRangesOfBatches(db);
  TestInspect();
  TestSteering(db);
  braid_close(db);
  TestAfterClose();
  TestRefusedOptions();
  TestFailingComparator();
  TestForeignFolder();
  TestRepair();
  TestMaxSize();
  return Report();
}
