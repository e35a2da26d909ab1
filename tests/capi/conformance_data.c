/* Put, get, delete, snapshots and write batches: the same facts for braid and LevelDB. */
#include "check.h"

static void TestGetAndPut(braid_t* db) {
  Fact(Holds(db, "absent", NULL), "a key that was never put is not found, without an error");
  Fact(PutText(db, "k", "one") && Holds(db, "k", "one"), "a value that was put is read back");
  Fact(PutText(db, "k", "two!") && Holds(db, "k", "two!"), "a second put replaces the value");
  Fact(DeleteText(db, "k") && Holds(db, "k", NULL), "a deleted key is not found");
  Fact(DeleteText(db, "k") && DeleteText(db, "never"), "deleting what is not there is no error");
  Fact(PutText(db, "k", "three") && Holds(db, "k", "three"), "a deleted key can be put again");
  Fact(PutText(db, "", "of the empty key") && Holds(db, "", "of the empty key"),
       "the empty key is a key");
  Fact(PutText(db, "empty", "") && Holds(db, "empty", ""), "the empty value is a value");
  Fact(DeleteText(db, "") && Holds(db, "", NULL), "the empty key can be deleted");
}

static void TestBytes(braid_t* db) {
  static const char key[] = {'a', 0, '\xff', 0};
  static const char value[] = {0, 1, '\xfe', 0, 0};
  char* err = NULL;
  size_t length = 0;
  char* found;
  braid_readoptions_t* read = braid_readoptions_create();
  braid_writeoptions_t* write = braid_writeoptions_create();
  braid_put(db, write, key, sizeof(key), value, sizeof(value), &err);
  NoError(&err, "a key and value with zero bytes can be put");
  found = braid_get(db, read, key, sizeof(key), &length, &err);
  Fact(found != NULL && length == sizeof(value) && memcmp(found, value, length) == 0,
       "zero bytes are part of the value");
  braid_free(found);
  found = braid_get(db, read, key, 1, &length, &err);
  Fact(found == NULL && length == 0, "zero bytes are part of the key");
  braid_put(db, write, NULL, 0, NULL, 0, &err);
  NoError(&err, "NULL with length 0 is an empty key and value");
  found = braid_get(db, read, NULL, 0, &length, &err);
  Fact(found != NULL && length == 0, "the value of an empty entry is not NULL");
  braid_free(found);
  braid_delete(db, write, NULL, 0, &err);
  NoError(&err, "NULL with length 0 can be deleted");
  braid_readoptions_destroy(read);
  braid_writeoptions_destroy(write);
}

static void TestCopies(braid_t* db) {
  char key[] = "copied";
  char value[] = "value";
  char* err = NULL;
  size_t length = 0;
  char* found;
  braid_readoptions_t* read = braid_readoptions_create();
  braid_writeoptions_t* write = braid_writeoptions_create();
  braid_put(db, write, key, 6, value, 5, &err);
  memset(key, 'x', 6);
  memset(value, 'x', 5);
  Fact(err == NULL && Holds(db, "copied", "value"), "put copies the caller's buffers");
  found = braid_get(db, read, "copied", 6, &length, &err);
  Fact(found != NULL && length == 5, "get gives a buffer");
  if (found != NULL) memset(found, 'x', length);
  Fact(Holds(db, "copied", "value"), "the buffer of get is the caller's own");
  braid_free(found);
  braid_readoptions_destroy(read);
  braid_writeoptions_destroy(write);
}

static void TestLarge(braid_t* db) {
  const size_t key_length = 60000;
  const size_t value_length = 9u << 20;
  char* key = malloc(key_length);
  char* value = malloc(value_length);
  char* found;
  char* err = NULL;
  size_t length = 0;
  size_t i;
  braid_readoptions_t* read = braid_readoptions_create();
  braid_writeoptions_t* write = braid_writeoptions_create();
  Require(key != NULL && value != NULL, "memory for a large entry");
  memset(key, 'K', key_length);
  for (i = 0; i < value_length; i++) value[i] = (char)(i * 31 + i / 4096);
  braid_put(db, write, key, key_length, value, value_length, &err);
  NoError(&err, "a key of 60,000 bytes and a value of 9 MiB can be put");
  found = braid_get(db, read, key, key_length, &length, &err);
  Fact(err == NULL && found != NULL && length == value_length &&
           memcmp(found, value, value_length) == 0,
       "a large entry is read back");
  braid_free(found);
  braid_writeoptions_set_sync(write, 1);
  braid_delete(db, write, key, key_length, &err);
  NoError(&err, "a large entry is deleted with sync");
  free(key);
  free(value);
  braid_readoptions_destroy(read);
  braid_writeoptions_destroy(write);
}

static void TestErrptrAfterSuccess(braid_t* db) {
  char* earlier = malloc(8);
  char* err = earlier;
  size_t length = 0;
  char* found;
  braid_readoptions_t* read = braid_readoptions_create();
  braid_writeoptions_t* write = braid_writeoptions_create();
  Require(earlier != NULL, "memory for a message");
  strcpy(earlier, "earlier");
  braid_put(db, write, "e", 1, "v", 1, &err);
  Fact(err == earlier && strcmp(err, "earlier") == 0, "a put that succeeds leaves *errptr alone");
  found = braid_get(db, read, "e", 1, &length, &err);
  Fact(found != NULL && err == earlier, "a get that succeeds leaves *errptr alone");
  braid_free(found);
  found = braid_get(db, read, "no", 2, &length, &err);
  Fact(found == NULL && err == earlier, "a get that finds nothing leaves *errptr alone");
  braid_delete(db, write, "e", 1, &err);
  Fact(err == earlier, "a delete that succeeds leaves *errptr alone");
  braid_free(err);
  braid_readoptions_destroy(read);
  braid_writeoptions_destroy(write);
}

static void TestSnapshots(braid_t* db) {
  const braid_snapshot_t* first;
  const braid_snapshot_t* second;
  PutText(db, "s1", "old");
  PutText(db, "s2", "old");
  first = braid_create_snapshot(db);
  Fact(first != NULL, "a snapshot can be made");
  PutText(db, "s1", "new");
  DeleteText(db, "s2");
  PutText(db, "s3", "new");
  second = braid_create_snapshot(db);
  PutText(db, "s1", "newest");
  Fact(HoldsAt(db, first, "s1", "old"), "a snapshot reads the value of its time");
  Fact(HoldsAt(db, first, "s2", "old"), "a snapshot reads a key that was deleted later");
  Fact(HoldsAt(db, first, "s3", NULL), "a snapshot does not see a key that was put later");
  Fact(HoldsAt(db, second, "s1", "new") && HoldsAt(db, second, "s2", NULL),
       "a second snapshot has its own state");
  Fact(HoldsAt(db, NULL, "s1", "newest"), "without a snapshot the newest state is read");
  braid_compact_range(db, NULL, 0, NULL, 0);
  Fact(HoldsAt(db, first, "s1", "old") && HoldsAt(db, first, "s2", "old"),
       "a snapshot keeps its state through a compaction");
  braid_release_snapshot(db, first);
  Fact(HoldsAt(db, second, "s1", "new"), "releasing one snapshot leaves the other");
  braid_release_snapshot(db, second);
}

/* What braid_writebatch_iterate reported, as text: "+key=value" and "-key". */
static char seen[512];

static void SeePut(void* state, const char* k, size_t klen, const char* v, size_t vlen) {
  size_t used = strlen(seen);
  (*(int*)state)++;
  snprintf(seen + used, sizeof(seen) - used, "+%.*s=%.*s ", (int)klen, k, (int)vlen, v);
}

static void SeeDelete(void* state, const char* k, size_t klen) {
  size_t used = strlen(seen);
  (*(int*)state)++;
  snprintf(seen + used, sizeof(seen) - used, "-%.*s ", (int)klen, k);
}

static int Reads(const braid_writebatch_t* batch, const char* text, int updates) {
  int count = 0;
  seen[0] = '\0';
  braid_writebatch_iterate(batch, &count, SeePut, SeeDelete);
  if (strcmp(seen, text) != 0) printf("# the batch holds '%s'\n", seen);
  return count == updates && strcmp(seen, text) == 0;
}

static void TestBatchContents(void) {
  char key[] = "kept";
  braid_writebatch_t* batch = braid_writebatch_create();
  braid_writebatch_t* more = braid_writebatch_create();
  Fact(Reads(batch, "", 0), "a new batch is empty");
  braid_writebatch_put(batch, "b", 1, "1", 1);
  braid_writebatch_delete(batch, "a", 1);
  braid_writebatch_put(batch, "b", 1, "", 0);
  Fact(Reads(batch, "+b=1 -a +b= ", 3), "a batch keeps its updates in order");
  braid_writebatch_clear(batch);
  Fact(Reads(batch, "", 0), "a cleared batch is empty");
  braid_writebatch_put(batch, key, 4, key, 4);
  memset(key, 'x', 4);
  Fact(Reads(batch, "+kept=kept ", 1), "a batch copies keys and values");
  braid_writebatch_delete(more, "z", 1);
  braid_writebatch_put(more, "y", 1, "2", 1);
  braid_writebatch_append(batch, more);
  Fact(Reads(batch, "+kept=kept -z +y=2 ", 3), "append adds the updates of another batch");
  Fact(Reads(more, "-z +y=2 ", 2), "append leaves its source alone");
  braid_writebatch_clear(more);
  braid_writebatch_append(batch, more);
  Fact(Reads(batch, "+kept=kept -z +y=2 ", 3), "appending an empty batch adds nothing");
  braid_writebatch_destroy(more);
  braid_writebatch_destroy(batch);
}

static void TestBatchWrites(braid_t* db) {
  char* err = NULL;
  braid_writebatch_t* batch = braid_writebatch_create();
  braid_writeoptions_t* write = braid_writeoptions_create();
  braid_write(db, write, batch, &err);
  NoError(&err, "an empty batch can be written");
  PutText(db, "w1", "old");
  braid_writebatch_put(batch, "w1", 2, "new", 3);
  braid_writebatch_delete(batch, "w1", 2);
  braid_writebatch_put(batch, "w2", 2, "first", 5);
  braid_writebatch_put(batch, "w2", 2, "last", 4);
  braid_writebatch_delete(batch, "w3", 2);
  braid_writebatch_put(batch, "w3", 2, "back", 4);
  Fact(Holds(db, "w1", "old") && Holds(db, "w2", NULL), "a batch does nothing before the write");
  braid_write(db, write, batch, &err);
  NoError(&err, "a batch can be written");
  Fact(Holds(db, "w1", NULL), "in a batch a delete undoes the put before it");
  Fact(Holds(db, "w2", "last"), "in a batch the last put of a key wins");
  Fact(Holds(db, "w3", "back"), "in a batch a put undoes the delete before it");
  Fact(Reads(batch, "+w1=new -w1 +w2=first +w2=last -w3 +w3=back ", 6),
       "a write leaves the batch as it was");
  DeleteText(db, "w2");
  braid_writeoptions_set_sync(write, 1);
  braid_write(db, write, batch, &err);
  NoError(&err, "a batch can be written again, with sync");
  Fact(Holds(db, "w2", "last"), "the second write of a batch counts");
  braid_writebatch_destroy(batch);
  braid_writeoptions_destroy(write);
}

static void TestReopen(braid_t** db) {
  PutText(*db, "stays", "here");
  PutText(*db, "goes", "away");
  DeleteText(*db, "goes");
  braid_close(*db);
  *db = OpenOrCreate("data");
  Fact(Holds(*db, "stays", "here"), "a value is there after close and open");
  Fact(Holds(*db, "goes", NULL), "a deleted key stays deleted after close and open");
  Fact(Holds(*db, "w2", "last"), "a batch is there after close and open");
}

int main(void) {
  braid_t* db;
  MakeScratch();
  db = OpenOrCreate("data");
  TestGetAndPut(db);
  TestBytes(db);
  TestCopies(db);
  TestLarge(db);
  TestErrptrAfterSuccess(db);
  TestSnapshots(db);
  TestBatchContents();
  TestBatchWrites(db);
  TestReopen(&db);
  braid_close(db);
  return Report();
}
