/* Options by name, and loggers: what C++ has and LevelDB's C API has not. */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static int Mentions(char** err, const char* word, const char* text) {
  const int holds = *err != NULL && strstr(*err, word) != NULL;
  Fact(holds, text);
  if (!holds) printf("# the message is: %s\n", *err != NULL ? *err : "(none)");
  braid_free(*err);
  *err = NULL;
  return holds;
}

/* What a logger has been told; its lock, since lines may come from any thread. */
typedef struct Heard {
  pthread_mutex_t lock;
  int lines;
  int line_ends;
  int ends;
} Heard;

static void Hear(void* state, const char* line, size_t length) {
  Heard* heard = state;
  pthread_mutex_lock(&heard->lock);
  heard->lines++;
  if (length == 0 || memchr(line, '\n', length) != NULL) heard->line_ends++;
  pthread_mutex_unlock(&heard->lock);
}

static void EndOfHearing(void* state) { ((Heard*)state)->ends++; }

static void TestOptionsByName(void) {
  char* err = NULL;
  char* text;
  braid_t* db;
  braid_options_t* options = braid_options_create();
  braid_options_set_create_if_missing(options, 1);
  braid_options_set(options, "no.such_option", "1", &err);
  Mentions(&err, "compaction.kind", "an unknown name is an error that lists the names");
  braid_options_set(options, "compaction.kind", "sideways", &err);
  Mentions(&err, "zipper, copy, none", "an unknown value is an error that lists the values");
  braid_options_set(options, "memtable.bytes", "many", &err);
  HasError(&err, "a number that is none is an error");
  braid_options_set(options, "no.such_option", "1", NULL);
  Fact(1, "a NULL errptr loses the error only");

  braid_options_set(options, "compaction.kind", "copy", &err);
  NoError(&err, "a kind can be set by name");
  braid_options_set(options, "memory_budget_bytes", "96M", &err);
  NoError(&err, "and a number with a suffix");
  db = braid_open(options, ScratchPath("named"), &err);
  NoError(&err, "a pool opens with them");
  Require(db != NULL, "a database with options by name");
  text = braid_statistics_json(db);
  Fact(text != NULL && strstr(text, "\"memory_budget_bytes\":100663296") != NULL,
       "and they have reached it");
  braid_free(text);
  braid_close(db);

  /* A cache raises the budget unless it is named: by name, too. */
  {
    braid_cache_t* cache = braid_cache_create_lru((size_t)3 << 30);
    braid_options_set_cache(options, cache);
    braid_cache_destroy(cache);
    db = braid_open(options, ScratchPath("named"), &err);
    NoError(&err, "a cache may be named beside the budget");
    Require(db != NULL, "a database with a cache");
    text = braid_statistics_json(db);
    Fact(text != NULL && strstr(text, "\"memory_budget_bytes\":100663296") != NULL,
         "and does not change a budget that is set by name");
    braid_free(text);
    braid_close(db);
  }
  braid_options_set(options, "leaf.ranges", "4", &err);
  NoError(&err, "an option that does not go with the others can be set");
  db = braid_open(options, ScratchPath("named"), &err);
  Fact(db == NULL, "but not be opened with");
  Mentions(&err, "leaf", "and the message names it");
  braid_options_destroy(options);
}

static void TestResources(void) {
  char* err = NULL;
  uint64_t bytes = 0;
  uint64_t databases = 0;
  char* text;
  braid_t* first;
  braid_t* second;
  braid_options_t* options = braid_options_create();
  braid_writeoptions_t* write = braid_writeoptions_create();
  braid_resources_t* resources = braid_resources_create(1000, 3, &err);
  Fact(resources == NULL, "a budget of 1,000 bytes makes no resources");
  Mentions(&err, "memory_budget_bytes", "and the message names it");
  Fact(braid_resources_create((uint64_t)1 << 30, 2, &err) == NULL, "nor do two threads");
  Mentions(&err, "background_threads", "and the message names them");

  resources = braid_resources_create((uint64_t)2 << 20, 3, &err);
  NoError(&err, "resources for two");
  Require(resources != NULL, "resources");
  braid_options_set_create_if_missing(options, 1);
  braid_options_set_resources(options, resources);
  first = braid_open(options, ScratchPath("first"), &err);
  NoError(&err, "a pool opens with them");
  second = braid_open(options, ScratchPath("second"), &err);
  NoError(&err, "and another");
  Require(first != NULL && second != NULL, "two databases");
  Fact(braid_open(options, ScratchPath("third"), &err) == NULL, "a third one has no room");
  Mentions(&err, "raise memory_budget_bytes", "and the message says what to do");
  braid_put(first, write, "key", 3, "value", 5, &err);
  NoError(&err, "the others are not disturbed");
  braid_resources_usage(resources, &bytes, &databases);
  Fact(databases == 2 && bytes > 0 && bytes <= (uint64_t)2 << 20, "they count in one budget");
  text = braid_statistics_json(first);
  Fact(text != NULL && strstr(text, "\"shared_budget_bytes\":2097152") != NULL &&
           strstr(text, "\"shared_databases\":2") != NULL,
       "and the statistics of one show the whole");
  braid_free(text);
  braid_close(second);
  braid_resources_usage(resources, NULL, &databases);
  Fact(databases == 1, "a close is counted");
  braid_resources_usage(resources, NULL, NULL);

  braid_resources_destroy(resources);
  braid_resources_destroy(NULL);
  braid_put(first, write, "key", 3, "other", 5, &err);
  NoError(&err, "an open database keeps them");
  braid_close(first);
  second = braid_open(options, ScratchPath("second"), &err);
  NoError(&err, "and so do options");
  braid_close(second);
  braid_options_set_resources(options, NULL);
  second = braid_open(options, ScratchPath("second"), &err);
  NoError(&err, "NULL takes them out of the options");
  braid_close(second);
  braid_writeoptions_destroy(write);
  braid_options_destroy(options);
}

static void TestLogger(void) {
  static Heard heard = {PTHREAD_MUTEX_INITIALIZER, 0, 0, 0};
  static Heard unused = {PTHREAD_MUTEX_INITIALIZER, 0, 0, 0};
  char* err = NULL;
  pid_t child;
  int ended = 0;
  braid_t* db;
  braid_logger_t* logger = braid_logger_create(&heard, EndOfHearing, Hear);
  braid_options_t* options = braid_options_create();
  Require(logger != NULL, "a logger can be made");
  braid_options_set_create_if_missing(options, 1);
  braid_options_set_info_log(options, logger);
  braid_logger_destroy(logger);
  Fact(heard.ends == 0, "a logger that options use outlives its destroy call");

  /* A process that is killed leaves something to recover, which is worth a line. */
  child = fork();
  Require(child >= 0, "a process can be made");
  if (child == 0) {
    db = OpenOrCreate("logged");
    if (!PutText(db, "a", "1")) _exit(1);
    raise(SIGKILL);
  }
  Require(waitpid(child, &ended, 0) == child && WIFSIGNALED(ended), "it is killed after a put");
  db = braid_open(options, ScratchPath("logged"), &err);
  NoError(&err, "what it left opens with a logger");
  Require(db != NULL, "a database with a logger");
  Fact(heard.lines > 0 && heard.line_ends == 0,
       "the logger is told of the recovery, in lines without a line end");
  braid_options_destroy(options);
  Fact(heard.ends == 0, "an open database keeps it, too");
  braid_close(db);
  Fact(heard.ends == 1, "the close of the last user calls the destructor, once");

  logger = braid_logger_create(&unused, EndOfHearing, Hear);
  options = braid_options_create();
  braid_options_set_info_log(options, logger);
  braid_options_set_info_log(options, NULL);
  braid_logger_destroy(logger);
  Fact(unused.ends == 1 && unused.lines == 0, "NULL takes the logger out of the options");
  braid_options_destroy(options);
  logger = braid_logger_create(NULL, NULL, Hear);
  Require(logger != NULL, "a logger without state");
  braid_logger_destroy(logger);
  Fact(1, "a logger needs no destructor");
}

int main(void) {
  MakeScratch();
  TestOptionsByName();
  TestResources();
  TestLogger();
  return Report();
}
