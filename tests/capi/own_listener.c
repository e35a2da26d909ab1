/* An event listener through C. */
#include "check.h"

#include <pthread.h>

typedef struct Heard {
  pthread_mutex_t mutex;
  int flushes;
  int merges;
  int recoveries;
  int clean;
  int errors;
  int ends;
  uint64_t entries;
} Heard;

static void OnFlush(void* state, uint64_t entries, uint64_t nanos) {
  Heard* heard = state;
  pthread_mutex_lock(&heard->mutex);
  heard->flushes += nanos > 0;
  heard->entries += entries;
  pthread_mutex_unlock(&heard->mutex);
}

static void OnMerge(void* state, uint64_t tables, uint64_t entries, uint64_t nanos) {
  Heard* heard = state;
  pthread_mutex_lock(&heard->mutex);
  heard->merges += tables > 0 && entries > 0 && nanos > 0;
  pthread_mutex_unlock(&heard->mutex);
}

static void OnRecovery(void* state, uint8_t clean, uint64_t replayed_entries, uint64_t micros,
                       uint8_t media_loss_possible) {
  Heard* heard = state;
  (void)replayed_entries, (void)micros;
  pthread_mutex_lock(&heard->mutex);
  heard->recoveries += media_loss_possible == 0;
  heard->clean += clean;
  pthread_mutex_unlock(&heard->mutex);
}

static void OnError(void* state, const char* error) {
  Heard* heard = state;
  pthread_mutex_lock(&heard->mutex);
  heard->errors += error != NULL && *error != '\0';
  pthread_mutex_unlock(&heard->mutex);
}

static void EndOfHearing(void* state) { ((Heard*)state)->ends++; }

static void TestEvents(void) {
  static Heard heard = {PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, 0, 0, 0, 0};
  const braid_event_functions_t functions = {OnFlush, OnMerge, NULL, OnRecovery, OnError};
  char* err = NULL;
  char key[16];
  int i;
  braid_t* db;
  braid_options_t* options = braid_options_create();
  braid_event_listener_t* listener = braid_event_listener_create(&heard, EndOfHearing, &functions);
  Require(listener != NULL, "a listener can be made");
  braid_options_set_create_if_missing(options, 1);
  braid_options_set_event_listener(options, listener);
  braid_event_listener_destroy(listener);
  Fact(heard.ends == 0, "a listener that options use outlives its destroy call");
  db = braid_open(options, ScratchPath("heard"), &err);
  NoError(&err, "a database opens with a listener");
  Require(db != NULL, "a database with a listener");
  for (i = 0; i < 1000; ++i) {
    snprintf(key, sizeof(key), "key%d", i);
    Require(PutText(db, key, "value"), "a put");
  }
  braid_flush(db, &err);
  NoError(&err, "a flush");
  braid_compact_range(db, NULL, 0, NULL, 0);
  pthread_mutex_lock(&heard.mutex);
  Fact(heard.flushes > 0 && heard.entries == 1000, "flushes are told with all entries");
  Fact(heard.merges > 0, "merges are told");
  pthread_mutex_unlock(&heard.mutex);
  braid_close(db);
  db = braid_open(options, ScratchPath("heard"), &err);
  NoError(&err, "it opens again");
  braid_options_destroy(options);
  Fact(heard.recoveries >= 1 && heard.clean >= 1, "a recovery is told, and that it was clean");
  Fact(heard.ends == 0, "an open database keeps the listener");
  braid_close(db);
  Fact(heard.ends == 1, "the close of the last user calls the destructor, once");
  Fact(heard.errors == 0, "there was no error to be told");
}

/* A listener without functions, and one without a destructor. */
static void TestNothing(void) {
  static Heard unused = {PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, 0, 0, 0, 0};
  const braid_event_functions_t none = {NULL, NULL, NULL, NULL, NULL};
  char* err = NULL;
  braid_t* db;
  braid_options_t* options = braid_options_create();
  braid_event_listener_t* listener = braid_event_listener_create(&unused, EndOfHearing, &none);
  braid_options_set_create_if_missing(options, 1);
  braid_options_set_event_listener(options, listener);
  db = braid_open(options, ScratchPath("unheard"), &err);
  NoError(&err, "a listener may be interested in nothing");
  Require(db != NULL && PutText(db, "a", "1"), "which is no hindrance");
  braid_flush(db, &err);
  NoError(&err, "to a flush");
  braid_close(db);
  braid_options_set_event_listener(options, NULL);
  braid_event_listener_destroy(listener);
  Fact(unused.ends == 1, "NULL takes the listener out of the options");
  braid_options_destroy(options);
  listener = braid_event_listener_create(NULL, NULL, &none);
  Require(listener != NULL, "a listener without state");
  braid_event_listener_destroy(listener);
  braid_event_listener_destroy(NULL);
  Fact(1, "a listener needs no destructor");
}

int main(void) {
  MakeScratch();
  TestEvents();
  TestNothing();
  return Report();
}
