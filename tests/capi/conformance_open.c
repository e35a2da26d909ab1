/* Opening, destroying, options and utilities: the same facts for braid and LevelDB. */
#include "check.h"

static int destroyed;

static void CountDestroy(void* state) { destroyed += *(int*)state; }

static int Compare(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  const int order = memcmp(a, b, alen < blen ? alen : blen);
  (void)state;
  return order != 0 ? order : (alen > blen) - (alen < blen);
}

static const char* Name(void* state) {
  (void)state;
  return "braid.tests.name";
}

static int Reversed(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  return Compare(state, b, blen, a, alen);
}

static const char* OtherName(void* state) {
  (void)state;
  return "braid.tests.a-longer-name-than-that";
}

static char* CreateFilter(void* state, const char* const* keys, const size_t* lengths, int count,
                          size_t* length) {
  (void)state;
  (void)keys;
  (void)lengths;
  (void)count;
  *length = 1;
  return calloc(1, 1);
}

static uint8_t MayMatch(void* state, const char* key, size_t klen, const char* filter,
                        size_t length) {
  (void)state;
  (void)key;
  (void)klen;
  (void)filter;
  (void)length;
  return 1;
}

static void TestCreate(const char* path) {
  char* err = NULL;
  char* earlier = malloc(8);
  braid_options_t* options = braid_options_create();
  braid_t* db = braid_open(options, path, &err);
  Fact(db == NULL, "by default a database that is missing is not made");
  HasError(&err, "a missing database is an error");

  Require(earlier != NULL, "memory for a message");
  strcpy(earlier, "earlier");
  err = earlier;
  db = braid_open(options, path, &err);
  Fact(db == NULL && err != NULL && strcmp(err, "earlier") != 0,
       "a failure replaces an earlier message");
  braid_free(err);
  err = NULL;

  braid_options_set_create_if_missing(options, 1);
  db = braid_open(options, path, &err);
  NoError(&err, "with create_if_missing it is made");
  Require(db != NULL, "a database that was made");
  Fact(PutText(db, "k", "v"), "a new database takes a value");
  braid_close(db);

  braid_options_set_create_if_missing(options, 0);
  db = braid_open(options, path, &err);
  NoError(&err, "without create_if_missing a database that is there is opened");
  Fact(db != NULL && Holds(db, "k", "v"), "it has what was put");
  braid_close(db);

  braid_options_set_error_if_exists(options, 1);
  db = braid_open(options, path, &err);
  Fact(db == NULL, "error_if_exists refuses a database that is there");
  HasError(&err, "error_if_exists says so");
  braid_options_set_create_if_missing(options, 2);
  db = braid_open(options, path, &err);
  Fact(db == NULL, "error_if_exists counts with create_if_missing, too");
  HasError(&err, "and says so");
  braid_options_destroy(options);
}

static void TestSecondOpen(const char* path) {
  char* err = NULL;
  braid_options_t* options = braid_options_create();
  braid_t* first = braid_open(options, path, &err);
  braid_t* second;
  Require(first != NULL, "a database that is there can be opened");
  second = braid_open(options, path, &err);
  Fact(second == NULL, "a database that is open is not opened twice");
  HasError(&err, "a second open is an error");
  braid_destroy_db(options, path, &err);
  HasError(&err, "a database that is open is not destroyed");
  Fact(PutText(first, "k2", "v2") && Holds(first, "k", "v"), "the first open goes on working");
  braid_close(first);
  second = braid_open(options, path, &err);
  NoError(&err, "after close the database can be opened again");
  Fact(second != NULL && Holds(second, "k2", "v2"), "with all data");
  braid_close(second);
  braid_options_destroy(options);
}

static void TestBadPaths(void) {
  char* err = NULL;
  const char* file_path = ScratchPath("a_file");
  FILE* file = fopen(file_path, "w");
  braid_t* db;
  braid_options_t* options = braid_options_create();
  Require(file != NULL, "a file can be written");
  fputs("not a database\n", file);
  fclose(file);
  braid_options_set_create_if_missing(options, 1);
  db = braid_open(options, file_path, &err);
  Fact(db == NULL, "a file is not opened as a database");
  HasError(&err, "a file is an error");
  Fact(Exists(file_path), "the file is left alone");
  db = braid_open(options, ScratchPath("no/such/parent"), &err);
  Fact(db == NULL, "a database is not made below a folder that is missing");
  HasError(&err, "a missing parent folder is an error");
  braid_options_destroy(options);
}

static void TestDestroy(const char* path) {
  char* err = NULL;
  braid_options_t* options = braid_options_create();
  braid_t* db;
  braid_destroy_db(options, path, &err);
  NoError(&err, "a closed database can be destroyed");
  Fact(!Exists(path), "nothing is left of it");
  db = braid_open(options, path, &err);
  Fact(db == NULL, "a destroyed database can't be opened");
  HasError(&err, "and that is an error");
  RemoveTree(path);
  braid_destroy_db(options, path, &err);
  NoError(&err, "destroying what is not there is no error");
  braid_options_destroy(options);
}

static void TestEveryOption(const char* path) {
  char* err = NULL;
  braid_options_t* options = braid_options_create();
  braid_cache_t* cache = braid_cache_create_lru(8u << 20);
  braid_filterpolicy_t* bloom = braid_filterpolicy_create_bloom(10);
  braid_env_t* env = braid_create_default_env();
  braid_readoptions_t* read = braid_readoptions_create();
  braid_t* db;
  char* found;
  size_t length = 0;
  braid_options_set_create_if_missing(options, 1);
  braid_options_set_error_if_exists(options, 0);
  braid_options_set_paranoid_checks(options, 1);
  braid_options_set_env(options, env);
  braid_options_set_info_log(options, NULL);
  braid_options_set_write_buffer_size(options, 4u << 20);
  braid_options_set_max_open_files(options, 100);
  braid_options_set_cache(options, cache);
  braid_options_set_block_size(options, 4096);
  braid_options_set_block_restart_interval(options, 16);
  braid_options_set_max_file_size(options, 2u << 20);
  braid_options_set_compression(options, braid_no_compression);
  braid_options_set_compression(options, braid_snappy_compression);
  braid_options_set_filter_policy(options, bloom);
  db = braid_open(options, path, &err);
  NoError(&err, "a database can be opened with every option set");
  Require(db != NULL, "a database with every option set");
  braid_options_destroy(options);
  PutText(db, "k", "v");
  braid_readoptions_set_verify_checksums(read, 1);
  braid_readoptions_set_fill_cache(read, 0);
  found = braid_get(db, read, "k", 1, &length, &err);
  Fact(found != NULL && length == 1 && *found == 'v', "it reads, with every read option set");
  braid_free(found);
  NoError(&err, "and without an error");
  braid_close(db);
  braid_readoptions_destroy(read);
  braid_cache_destroy(cache);
  braid_filterpolicy_destroy(bloom);
  braid_env_destroy(env);
}

static void TestOwnPolicies(const char* path) {
  int weight = 1;
  char* err = NULL;
  braid_comparator_t* comparator = braid_comparator_create(&weight, CountDestroy, Compare, Name);
  braid_filterpolicy_t* policy =
      braid_filterpolicy_create(&weight, CountDestroy, CreateFilter, MayMatch, Name);
  braid_options_t* options = braid_options_create();
  braid_t* db;
  braid_options_set_create_if_missing(options, 1);
  braid_options_set_filter_policy(options, policy);
  db = braid_open(options, path, &err);
  NoError(&err, "a database can be opened with a filter policy of the caller");
  Require(db != NULL, "a database with a filter policy");
  PutText(db, "k", "v");
  braid_compact_range(db, NULL, 0, NULL, 0);
  Fact(Holds(db, "k", "v"), "which changes no result");
  braid_close(db);
  braid_options_destroy(options);
  Fact(destroyed == 0, "the library does not destroy the caller's policy");
  braid_comparator_destroy(comparator);
  Fact(destroyed == 1, "comparator_destroy calls the destructor once");
  weight = 10;
  braid_filterpolicy_destroy(policy);
  Fact(destroyed == 11, "filterpolicy_destroy calls the destructor once");
}

static void TestComparator(const char* path) {
  int weight = 1;
  char* err = NULL;
  const int destroyed_before = destroyed;
  braid_comparator_t* reversed = braid_comparator_create(&weight, CountDestroy, Reversed, Name);
  braid_comparator_t* other = braid_comparator_create(&weight, CountDestroy, Reversed, OtherName);
  braid_options_t* options = braid_options_create();
  braid_options_t* plain = braid_options_create();
  braid_readoptions_t* read = braid_readoptions_create();
  braid_iterator_t* iterator;
  size_t length = 0;
  braid_t* db;
  braid_options_set_create_if_missing(options, 1);
  braid_options_set_comparator(options, reversed);
  db = braid_open(options, path, &err);
  NoError(&err, "a database can be opened with a comparator");
  Require(db != NULL, "a database with a comparator");
  PutText(db, "a", "1");
  PutText(db, "c", "3");
  PutText(db, "b", "2");
  iterator = braid_create_iterator(db, read);
  braid_iter_seek_to_first(iterator);
  Fact(braid_iter_valid(iterator) && *braid_iter_key(iterator, &length) == 'c', "the order is its");
  braid_iter_seek(iterator, "bb", 2);
  Fact(braid_iter_valid(iterator) && *braid_iter_key(iterator, &length) == 'b', "so are seeks");
  braid_iter_next(iterator);
  Fact(braid_iter_valid(iterator) && *braid_iter_key(iterator, &length) == 'a', "and steps");
  braid_iter_next(iterator);
  Fact(!braid_iter_valid(iterator), "to the end");
  braid_iter_destroy(iterator);
  Fact(Holds(db, "b", "2") && Holds(db, "d", NULL), "keys are found");
  braid_close(db);
  braid_options_set_comparator(options, other);
  db = braid_open(options, path, &err);
  Fact(db == NULL, "a comparator of another name is refused");
  HasError(&err, "with an error");
  db = braid_open(plain, path, &err);
  Fact(db == NULL, "and so is none");
  HasError(&err, "with an error, too");
  braid_options_set_comparator(options, reversed);
  db = braid_open(options, path, &err);
  NoError(&err, "with its own the database opens again");
  Fact(db != NULL && Holds(db, "c", "3"), "and holds what it held");
  braid_close(db);
  braid_readoptions_destroy(read);
  braid_options_destroy(plain);
  braid_options_destroy(options);
  braid_comparator_destroy(other);
  braid_comparator_destroy(reversed);
  Fact(destroyed == destroyed_before + 2, "each comparator is destroyed once");
}

static void TestUtilities(const char* path) {
  braid_t* db = OpenOrCreate(path);
  braid_env_t* env = braid_create_default_env();
  char* text = braid_property_value(db, "no.such.property");
  Fact(text == NULL, "a property that is not known is NULL");
  text = braid_property_value(db, "leveldb.stats");
  Fact(text != NULL && *text != '\0', "the statistics can be had by LevelDB's name");
  braid_free(text);
  text = braid_property_value(db, "leveldb.approximate-memory-usage");
  Fact(text != NULL && strspn(text, "0123456789") == strlen(text) && *text != '\0',
       "the memory in use is a number");
  braid_free(text);
  braid_close(db);
  text = braid_env_get_test_directory(env);
  Fact(text != NULL && Exists(text), "the test directory exists");
  braid_free(text);
  braid_env_destroy(env);
  braid_free(NULL);
  Fact(braid_major_version() >= 0 && braid_minor_version() >= 0, "the version has two numbers");
}

int main(void) {
  char path[600];
  MakeScratch();
  setenv("TEST_TMPDIR", scratch, 1);
  snprintf(path, sizeof(path), "%s/opened", scratch);
  TestCreate(path);
  TestSecondOpen(path);
  TestBadPaths();
  TestDestroy(path);
  TestEveryOption(ScratchPath("options"));
  TestOwnPolicies(ScratchPath("policies"));
  TestComparator(ScratchPath("comparator"));
  TestUtilities("utilities");
  return Report();
}
