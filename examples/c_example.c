/* A store of notes with a line-based command language, over the C API.
 *
 *   c_example FOLDER < commands
 *
 *   set KEY TEXT    keep a note            get KEY       show it
 *   del KEY         forget it              list PREFIX   show all notes whose key starts so
 *   begin, commit   what is between them is done together or not at all
 *   mark, past KEY  remember this moment; show a note as it was at that moment
 *
 * It was written for LevelDB's C API and ported by renaming (docs/guide/leveldb-porting.md). */
#include <braid/c.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Notes {
  braid_t* db;
  braid_readoptions_t* read;
  braid_writeoptions_t* write;
  braid_writebatch_t* batch; /* NULL outside begin and commit */
  const braid_snapshot_t* mark;
} Notes;

/* Prints and frees an error; 1 if there was one. */
static int Failed(char* err) {
  if (err == NULL) return 0;
  fprintf(stderr, "error: %s\n", err);
  braid_free(err);
  return 1;
}

static int Set(Notes* notes, const char* key, const char* text) {
  char* err = NULL;
  if (notes->batch != NULL) {
    braid_writebatch_put(notes->batch, key, strlen(key), text, strlen(text));
  } else {
    braid_put(notes->db, notes->write, key, strlen(key), text, strlen(text), &err);
  }
  return Failed(err);
}

static int Delete(Notes* notes, const char* key) {
  char* err = NULL;
  if (notes->batch != NULL) {
    braid_writebatch_delete(notes->batch, key, strlen(key));
  } else {
    braid_delete(notes->db, notes->write, key, strlen(key), &err);
  }
  return Failed(err);
}

static int Show(Notes* notes, const char* key, const braid_snapshot_t* snapshot) {
  char* err = NULL;
  size_t length = 0;
  char* text;
  braid_readoptions_set_snapshot(notes->read, snapshot);
  text = braid_get(notes->db, notes->read, key, strlen(key), &length, &err);
  braid_readoptions_set_snapshot(notes->read, NULL);
  if (Failed(err)) return 1;
  if (text == NULL) {
    printf("%s: no such note\n", key);
  } else {
    printf("%s: %.*s\n", key, (int)length, text);
  }
  braid_free(text);
  return 0;
}

static int List(Notes* notes, const char* prefix) {
  const size_t prefix_length = strlen(prefix);
  char* err = NULL;
  braid_iterator_t* note = braid_create_iterator(notes->db, notes->read);
  for (braid_iter_seek(note, prefix, prefix_length); braid_iter_valid(note);
       braid_iter_next(note)) {
    size_t key_length;
    size_t length;
    const char* key = braid_iter_key(note, &key_length);
    const char* text = braid_iter_value(note, &length);
    if (key_length < prefix_length || memcmp(key, prefix, prefix_length) != 0) break;
    printf("%.*s: %.*s\n", (int)key_length, key, (int)length, text);
  }
  braid_iter_get_error(note, &err);
  braid_iter_destroy(note);
  return Failed(err);
}

static int Commit(Notes* notes) {
  char* err = NULL;
  if (notes->batch == NULL) return 0;
  braid_write(notes->db, notes->write, notes->batch, &err);
  braid_writebatch_destroy(notes->batch);
  notes->batch = NULL;
  return Failed(err);
}

static void Mark(Notes* notes) {
  if (notes->mark != NULL) braid_release_snapshot(notes->db, notes->mark);
  notes->mark = braid_create_snapshot(notes->db);
}

/* Does one line; 1 if it failed. */
static int Run(Notes* notes, char* line) {
  const char* verb = strtok(line, " \n");
  const char* key = strtok(NULL, " \n");
  const char* text = strtok(NULL, "\n");
  if (verb == NULL) return 0;
  if (key == NULL) key = "";
  if (strcmp(verb, "set") == 0) return Set(notes, key, text != NULL ? text : "");
  if (strcmp(verb, "get") == 0) return Show(notes, key, NULL);
  if (strcmp(verb, "del") == 0) return Delete(notes, key);
  if (strcmp(verb, "list") == 0) return List(notes, key);
  if (strcmp(verb, "commit") == 0) return Commit(notes);
  if (strcmp(verb, "past") == 0) return Show(notes, key, notes->mark);
  if (strcmp(verb, "mark") == 0) {
    Mark(notes);
    return 0;
  }
  if (strcmp(verb, "begin") == 0) {
    if (notes->batch == NULL) notes->batch = braid_writebatch_create();
    return 0;
  }
  fprintf(stderr, "no such command: %s\n", verb);
  return 1;
}

int main(int argc, char** argv) {
  Notes notes = {NULL, NULL, NULL, NULL, NULL};
  braid_options_t* options;
  char* err = NULL;
  char line[4096];
  int failed = 0;
  if (argc != 2) {
    fprintf(stderr, "usage: %s FOLDER < commands\n", argv[0]);
    return 2;
  }
  options = braid_options_create();
  braid_options_set_create_if_missing(options, 1);
  notes.db = braid_open(options, argv[1], &err);
  braid_options_destroy(options);
  if (Failed(err)) return 1;
  notes.read = braid_readoptions_create();
  notes.write = braid_writeoptions_create();

  while (fgets(line, sizeof(line), stdin) != NULL) failed |= Run(&notes, line);

  if (notes.batch != NULL) braid_writebatch_destroy(notes.batch);
  if (notes.mark != NULL) braid_release_snapshot(notes.db, notes.mark);
  braid_readoptions_destroy(notes.read);
  braid_writeoptions_destroy(notes.write);
  braid_close(notes.db);
  return failed;
}
