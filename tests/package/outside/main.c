/* The C API from an installed braid, as C99: outside <pool directory>. */
#include <braid/c.h>
#include <stdio.h>
#include <string.h>

static int Failed(const char* what, char* error) {
  fprintf(stderr, "main.c: %s: %s\n", what, error != NULL ? error : "wrong answer");
  braid_free(error);
  return 1;
}

int main(int argc, char** argv) {
  char* error = NULL;
  char* value;
  size_t length = 0;
  braid_options_t* options;
  braid_writeoptions_t* write;
  braid_readoptions_t* read;
  braid_t* db;
  if (argc != 2) return 2;
  options = braid_options_create();
  write = braid_writeoptions_create();
  read = braid_readoptions_create();
  braid_options_set_create_if_missing(options, 1);
  db = braid_open(options, argv[1], &error);
  if (error != NULL) return Failed("open", error);
  braid_put(db, write, "key", 3, "value", 5, &error);
  if (error != NULL) return Failed("put", error);
  value = braid_get(db, read, "key", 3, &length, &error);
  if (error != NULL || value == NULL || length != 5 || memcmp(value, "value", 5) != 0) {
    return Failed("get", error);
  }
  braid_free(value);
  braid_close(db);
  braid_destroy_db(options, argv[1], &error);
  if (error != NULL) return Failed("destroy", error);
  braid_readoptions_destroy(read);
  braid_writeoptions_destroy(write);
  braid_options_destroy(options);
  return 0;
}
