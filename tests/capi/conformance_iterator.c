/* Iterators and ranges: the same facts for braid and LevelDB. */
#include "check.h"

static int NoIteratorError(const braid_iterator_t* iterator) {
  char* err = NULL;
  braid_iter_get_error(iterator, &err);
  if (err == NULL) return 1;
  braid_free(err);
  return 0;
}

static void TestEmpty(braid_t* db, const braid_readoptions_t* read) {
  braid_iterator_t* it = braid_create_iterator(db, read);
  Fact(!braid_iter_valid(it), "an iterator is not valid before it has sought");
  braid_iter_seek_to_first(it);
  Fact(!braid_iter_valid(it), "an empty database has no first entry");
  braid_iter_seek_to_last(it);
  Fact(!braid_iter_valid(it), "an empty database has no last entry");
  braid_iter_seek(it, "k", 1);
  Fact(!braid_iter_valid(it) && NoIteratorError(it), "the end of the data is not an error");
  braid_iter_destroy(it);
}

static void TestMoves(braid_t* db, const braid_readoptions_t* read) {
  char* earlier = malloc(2);
  char* err = earlier;
  braid_iterator_t* it = braid_create_iterator(db, read);
  Require(earlier != NULL, "memory for a message");
  strcpy(earlier, "e");
  Fact(!braid_iter_valid(it), "a new iterator is not valid, also with data there");
  braid_iter_seek_to_first(it);
  Fact(StandsOn(it, "a", "1"), "seek_to_first goes to the smallest key");
  braid_iter_next(it);
  Fact(StandsOn(it, "c", "3"), "next goes to the next larger key");
  braid_iter_prev(it);
  Fact(StandsOn(it, "a", "1"), "prev goes back");
  braid_iter_prev(it);
  Fact(!braid_iter_valid(it), "prev of the first entry leaves the data");
  braid_iter_seek_to_last(it);
  Fact(StandsOn(it, "e", "5"), "seek_to_last goes to the largest key");
  braid_iter_prev(it);
  Fact(StandsOn(it, "c", "3"), "prev goes to the next smaller key");
  braid_iter_next(it);
  Fact(StandsOn(it, "e", "5"), "next turns around after prev");
  braid_iter_next(it);
  Fact(!braid_iter_valid(it) && NoIteratorError(it), "next of the last entry leaves the data");
  braid_iter_seek(it, "c", 1);
  Fact(StandsOn(it, "c", "3"), "seek finds a key that is there");
  braid_iter_seek(it, "b", 1);
  Fact(StandsOn(it, "c", "3"), "seek goes to the next larger key");
  braid_iter_seek(it, "a\0", 2);
  Fact(StandsOn(it, "c", "3"), "a key comes after its own prefix");
  braid_iter_seek(it, NULL, 0);
  Fact(StandsOn(it, "a", "1"), "seek of the empty key goes to the first entry");
  braid_iter_seek(it, "f", 1);
  Fact(!braid_iter_valid(it), "seek beyond the last key is not valid");
  braid_iter_seek(it, "a", 1);
  Fact(StandsOn(it, "a", "1"), "an iterator that left the data can seek again");
  braid_iter_get_error(it, &err);
  Fact(err == earlier, "get_error without an error leaves *errptr alone");
  braid_free(err);
  braid_iter_destroy(it);
}

static void TestIsolation(braid_t* db, braid_readoptions_t* read) {
  const braid_snapshot_t* snapshot = braid_create_snapshot(db);
  braid_iterator_t* it = braid_create_iterator(db, read);
  braid_iterator_t* later;
  PutText(db, "a", "changed");
  PutText(db, "b", "added");
  DeleteText(db, "c");
  braid_iter_seek_to_first(it);
  Fact(StandsOn(it, "a", "1"), "an iterator sees the values of the time it was made");
  braid_iter_next(it);
  Fact(StandsOn(it, "c", "3"), "an iterator sees no later puts and deletes");
  braid_iter_destroy(it);

  later = braid_create_iterator(db, read);
  braid_iter_seek_to_first(later);
  Fact(StandsOn(later, "a", "changed"), "a later iterator sees the new value");
  braid_iter_next(later);
  Fact(StandsOn(later, "b", "added"), "a later iterator sees the new key");
  braid_iter_next(later);
  Fact(StandsOn(later, "e", "5"), "a later iterator skips the deleted key");
  braid_iter_destroy(later);

  braid_readoptions_set_snapshot(read, snapshot);
  it = braid_create_iterator(db, read);
  braid_readoptions_set_snapshot(read, NULL);
  braid_iter_seek_to_last(it);
  braid_iter_prev(it);
  Fact(StandsOn(it, "c", "3"), "an iterator on a snapshot sees the state of the snapshot");
  braid_release_snapshot(db, snapshot);
  braid_compact_range(db, NULL, 0, NULL, 0);
  braid_iter_prev(it);
  Fact(StandsOn(it, "a", "1"), "an iterator outlives the release of its snapshot");
  braid_iter_destroy(it);
}

static void TestByteOrder(braid_t* db, const braid_readoptions_t* read) {
  static const char* const sorted[] = {"\x01", "A",    "B",    "Ba",      "a",
                                       "\x7f", "\x80", "\xff", "\xff\x01"};
  const size_t count = sizeof(sorted) / sizeof(sorted[0]);
  size_t i;
  size_t right = 0;
  braid_iterator_t* it;
  for (i = count; i > 0; i--) PutText(db, sorted[i - 1], sorted[i - 1]);
  it = braid_create_iterator(db, read);
  braid_iter_seek_to_first(it);
  for (i = 0; i < count && StandsOn(it, sorted[i], sorted[i]); i++) {
    right++;
    braid_iter_next(it);
  }
  Fact(right == count && !braid_iter_valid(it), "keys are in the order of unsigned bytes");
  braid_iter_destroy(it);
}

/* 20,000 entries of 120 bytes that do not compress. */
static void FillForSizes(braid_t* db) {
  char* err = NULL;
  char key[32];
  char value[100];
  unsigned random = 12345;
  int i;
  size_t j;
  braid_writeoptions_t* write = braid_writeoptions_create();
  for (i = 0; i < 20000 && err == NULL; i++) {
    for (j = 0; j < sizeof(value); j++) {
      random = random * 1664525u + 1013904223u;
      value[j] = (char)(random >> 24);
    }
    snprintf(key, sizeof(key), "k%019d", i);
    braid_put(db, write, key, 20, value, sizeof(value), &err);
  }
  NoError(&err, "20,000 entries can be put");
  braid_compact_range(db, "k", 1, "l", 1);
  braid_writeoptions_destroy(write);
}

static void TestSizes(braid_t* db) {
  static const char middle[] = "k0000000000000010000";
  const char* starts[5] = {"k", "k", middle, "x", "l"};
  const size_t start_lengths[5] = {1, 1, 20, 1, 1};
  const char* limits[5] = {"l", middle, "l", "y", "k"};
  const size_t limit_lengths[5] = {1, 20, 1, 1, 1};
  const double expected = 20000.0 * 120;
  uint64_t sizes[5] = {9, 9, 9, 9, 9};
  char* err = NULL;
  size_t length = 0;
  char* found;
  braid_readoptions_t* read = braid_readoptions_create();
  FillForSizes(db);
  braid_approximate_sizes(db, 5, starts, start_lengths, limits, limit_lengths, sizes);
  printf("# sizes: %lu %lu %lu %lu %lu\n", (unsigned long)sizes[0], (unsigned long)sizes[1],
         (unsigned long)sizes[2], (unsigned long)sizes[3], (unsigned long)sizes[4]);
  Fact((double)sizes[0] > expected * 0.6 && (double)sizes[0] < expected * 1.5,
       "the size of a range is near that of its keys and values");
  Fact((double)sizes[1] > expected * 0.3 && (double)sizes[1] < expected * 0.75,
       "half of the keys have about half of the size");
  Fact((double)sizes[2] > expected * 0.3 && (double)sizes[2] < expected * 0.75,
       "the other half has the rest");
  Fact(sizes[3] == 0, "a range without keys has size 0");
  Fact(sizes[4] == 0, "a range that ends before it starts has size 0");
  found = braid_get(db, read, middle, 20, &length, &err);
  Fact(found != NULL && length == 100 && err == NULL, "a compaction of a range keeps the data");
  braid_free(found);
  sizes[0] = 9;
  braid_approximate_sizes(db, 0, starts, start_lengths, limits, limit_lengths, sizes);
  Fact(sizes[0] == 9, "no ranges, no sizes");
  braid_readoptions_destroy(read);
}

int main(void) {
  braid_t* db;
  braid_readoptions_t* read = braid_readoptions_create();
  MakeScratch();
  db = OpenOrCreate("moves");
  TestEmpty(db, read);
  PutText(db, "c", "3");
  PutText(db, "a", "1");
  PutText(db, "e", "5");
  TestMoves(db, read);
  TestIsolation(db, read);
  braid_close(db);

  db = OpenOrCreate("order");
  TestByteOrder(db, read);
  braid_close(db);

  db = OpenOrCreate("sizes");
  TestSizes(db);
  braid_close(db);
  braid_readoptions_destroy(read);
  return Report();
}
