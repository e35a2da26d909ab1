/* Orders of keys: built-in ones, and one of two functions of the caller. */
#include "check.h"

#include <stdint.h>

/* Shorter keys first, and among those of one length by bytes: "b", "aa", "ab". No key begins with
 * an exclamation mark. */
typedef struct ByLength {
  int ended;
  int short_of_room;
} ByLength;

static size_t EncodeByLength(void* state, const char* key, size_t keylen, char* out, size_t room) {
  if (keylen > 0 && key[0] == '!') return (size_t)-1;
  if (keylen + 64 > room) ((ByLength*)state)->short_of_room++;
  if (keylen + 64 > room) return keylen + 64;
  memset(out, 0, 64); /* more than there is room for at first */
  out[62] = (char)(keylen >> 8);
  out[63] = (char)keylen;
  if (keylen > 0) memcpy(out + 64, key, keylen);
  return keylen + 64;
}

static size_t DecodeByLength(void* state, const char* encoded, size_t length, char* out,
                             size_t room) {
  (void)state;
  if (length < 64) return (size_t)-1;
  if (length - 64 <= room && length > 64) memcpy(out, encoded + 64, length - 64);
  return length - 64;
}

static const char* NameByLength(void* state) {
  (void)state;
  return "test.by-length";
}

static void EndByLength(void* state) { ((ByLength*)state)->ended++; }

static int Mentions(char** err, const char* word, const char* text) {
  const int holds = *err != NULL && strstr(*err, word) != NULL;
  Fact(holds, text);
  if (!holds) printf("# the message is: %s\n", *err != NULL ? *err : "(none)");
  braid_free(*err);
  *err = NULL;
  return holds;
}

/* The keys in the order of a scan, with a space after each. */
static void Keys(braid_t* db, char* text, size_t room) {
  char* err = NULL;
  braid_readoptions_t* read = braid_readoptions_create();
  braid_iterator_t* it = braid_create_iterator(db, read);
  size_t used = 0;
  for (braid_iter_seek_to_first(it); braid_iter_valid(it); braid_iter_next(it)) {
    size_t length;
    const char* key = braid_iter_key(it, &length);
    Require(used + length + 2 < room, "the keys fit in the test's buffer");
    memcpy(text + used, key, length);
    used += length;
    text[used++] = ' ';
  }
  text[used] = '\0';
  braid_iter_get_error(it, &err);
  NoError(&err, "a scan ends without an error");
  braid_iter_destroy(it);
  braid_readoptions_destroy(read);
}

static void TestOrderOfTheCaller(void) {
  ByLength state = {0, 0};
  char* err = NULL;
  char text[128];
  braid_t* db;
  braid_readoptions_t* read = braid_readoptions_create();
  braid_writeoptions_t* write = braid_writeoptions_create();
  braid_options_t* options = braid_options_create();
  braid_key_order_t* order =
      braid_key_order_create(&state, EndByLength, EncodeByLength, DecodeByLength, NameByLength);
  const char* starts[2] = {"", "aa"};
  const char* limits[2] = {"bbb", "aa"};
  size_t start_lengths[2] = {0, 2};
  size_t limit_lengths[2] = {3, 2};
  uint64_t sizes[2];
  braid_iterator_t* it;
  Require(order != NULL, "an order can be made");
  braid_options_set_create_if_missing(options, 1);
  braid_options_set_key_order(options, order);
  braid_key_order_destroy(order);
  Fact(state.ended == 0, "the options keep the order");
  db = braid_open(options, ScratchPath("by-length"), &err);
  NoError(&err, "a pool opens with it");
  Require(db != NULL, "a database in an order of the caller");
  braid_options_destroy(options);
  Fact(state.ended == 0, "and so does the database");
  PutText(db, "ccc", "3");
  PutText(db, "b", "1");
  PutText(db, "ab", "2");
  PutText(db, "aa", "2");
  PutText(db, "", "0");
  Keys(db, text, sizeof(text));
  Fact(strcmp(text, " b aa ab ccc ") == 0, "keys come in its order");
  Fact(state.short_of_room > 0, "an encoding that lacks room is asked again with enough");
  Fact(Holds(db, "ab", "2"), "a key is found");
  braid_put(db, write, "!", 1, "v", 1, &err);
  Mentions(&err, "test.by-length", "a key that it refuses is an error that names the order");
  it = braid_create_iterator(db, read);
  braid_iter_seek(it, "zz", 2);
  Fact(StandsOn(it, "ccc", "3"), "a seek goes by the order");
  braid_iter_seek_for_prev(it, "a", 1);
  Fact(StandsOn(it, "", "0"), "and so does one to the key before");
  braid_iter_destroy(it);
  braid_approximate_sizes(db, 2, starts, start_lengths, limits, limit_lengths, sizes);
  Fact(sizes[0] >= 5 && sizes[1] == 0, "sizes of ranges are those of ranges in its order");
  braid_close(db);
  Fact(state.ended == 1, "the last one that uses it calls the destructor, once");
  options = braid_options_create();
  db = braid_open(options, ScratchPath("by-length"), &err);
  Fact(db == NULL, "without the order the pool is refused");
  Mentions(&err, "test.by-length", "by an error that names it");
  braid_options_destroy(options);
  braid_readoptions_destroy(read);
  braid_writeoptions_destroy(write);
}

static void TestBuiltInOrders(void) {
  char* err = NULL;
  char text[128];
  braid_t* db;
  braid_options_t* options = braid_options_create();
  braid_key_order_t* order = braid_key_order_create_builtin("reverse-bytewise");
  Require(order != NULL, "there is a built-in order of that name");
  Fact(braid_key_order_create_builtin("no-such-order") == NULL, "and none of another");
  Fact(braid_key_order_create_builtin("bytewise") == NULL, "byte order is no order to be given");
  braid_options_set_create_if_missing(options, 1);
  braid_options_set_key_order(options, order);
  db = braid_open(options, ScratchPath("reverse"), &err);
  NoError(&err, "a pool opens with a built-in order");
  Require(db != NULL, "a database in reverse order");
  PutText(db, "a", "1");
  PutText(db, "ab", "2");
  PutText(db, "b", "3");
  Keys(db, text, sizeof(text));
  Fact(strcmp(text, "b ab a ") == 0, "keys come from the last to the first");
  braid_close(db);
  braid_options_set_key_order(options, NULL);
  db = braid_open(options, ScratchPath("plain"), &err);
  NoError(&err, "NULL is byte order again");
  Require(db != NULL, "a database in byte order");
  PutText(db, "b", "1");
  PutText(db, "a", "1");
  Keys(db, text, sizeof(text));
  Fact(strcmp(text, "a b ") == 0, "in which keys come then");
  braid_close(db);
  braid_key_order_destroy(order);
  braid_key_order_destroy(NULL);
  braid_options_destroy(options);
}

int main(void) {
  MakeScratch();
  TestOrderOfTheCaller();
  TestBuiltInOrders();
  return Report();
}
