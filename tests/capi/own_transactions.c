/* Transactions through C. */
#include "check.h"

/* Whether the transaction finds this value; NULL: that it finds nothing. */
static int Finds(braid_transaction_t* transaction, const char* key, const char* value,
                 int for_update) {
  char* err = NULL;
  size_t size = 7;
  char* found = for_update
                    ? braid_transaction_get_for_update(transaction, key, strlen(key), &size, &err)
                    : braid_transaction_get(transaction, key, strlen(key), &size, &err);
  int same = err == NULL && (value == NULL ? found == NULL && size == 0
                                           : found != NULL && size == strlen(value) &&
                                                 memcmp(found, value, size) == 0);
  braid_free(found);
  braid_free(err);
  return same;
}

static braid_transaction_t* Begin(braid_t* db) {
  char* err = NULL;
  braid_transaction_t* transaction = braid_begin_transaction(db, &err);
  Require(transaction != NULL && err == NULL, "a transaction begins");
  return transaction;
}

static void TestCommit(braid_t* db, braid_writeoptions_t* write) {
  char* err = NULL;
  braid_readoptions_t* read = braid_readoptions_create();
  braid_iterator_t* it;
  braid_transaction_t* transaction = Begin(db);
  Fact(Finds(transaction, "a", "1", 0) && Finds(transaction, "none", NULL, 1),
       "it reads the database");
  braid_transaction_put(transaction, "b", 1, "2", 1, &err);
  braid_transaction_put(transaction, "empty", 5, NULL, 0, &err);
  braid_transaction_delete(transaction, "a", 1, &err);
  braid_transaction_delete_range(transaction, "c", 1, "d", 1, &err);
  NoError(&err, "its writes are taken");
  Fact(Finds(transaction, "a", NULL, 0) && Finds(transaction, "b", "2", 0) &&
           Finds(transaction, "empty", "", 0) && Finds(transaction, "c1", NULL, 0),
       "it reads its own writes");
  Fact(Holds(db, "a", "1") && Holds(db, "b", NULL) && Holds(db, "c1", "x"), "nobody else does");
  braid_readoptions_set_snapshot(read, braid_transaction_snapshot(transaction));
  it = braid_create_iterator(db, read);
  braid_iter_seek_to_first(it);
  Fact(StandsOn(it, "a", "1"), "an iterator at its begin shows what was there then");
  braid_iter_destroy(it);
  Fact(braid_transaction_commit(transaction, write, &err) == 1, "the commit says that it wrote");
  NoError(&err, "without an error");
  Fact(Holds(db, "a", NULL) && Holds(db, "b", "2") && Holds(db, "empty", "") &&
           Holds(db, "c1", NULL) && Holds(db, "d", "y"),
       "all of it is there");
  braid_transaction_put(transaction, "b", 1, "3", 1, &err);
  HasError(&err, "a write after the commit is an error");
  Fact(braid_transaction_commit(transaction, write, &err) == 0, "so is a second commit");
  HasError(&err, "which says so");
  braid_readoptions_destroy(read);
  braid_transaction_destroy(transaction);
}

static void TestConflict(braid_t* db, braid_writeoptions_t* write) {
  char* err = NULL;
  braid_transaction_t* transaction = Begin(db);
  Fact(Finds(transaction, "b", "2", 1), "a transaction reads what it depends on");
  braid_transaction_put(transaction, "sum", 3, "2", 1, &err);
  Require(PutText(db, "b", "20"), "another writes it");
  Fact(Finds(transaction, "b", "2", 0), "the transaction still sees its begin");
  Fact(braid_transaction_commit(transaction, write, &err) == 0, "the commit says that it lost");
  NoError(&err, "which is no error");
  Fact(Holds(db, "sum", NULL), "nothing of it is there");
  braid_transaction_destroy(transaction);

  transaction = Begin(db);
  Fact(Finds(transaction, "b", "20", 0), "what is only read may change");
  braid_transaction_put(transaction, "sum", 3, "20", 2, &err);
  Require(PutText(db, "b", "21"), "as it does");
  Fact(braid_transaction_commit(transaction, write, &err) == 1, "and the commit goes through");
  NoError(&err, "without an error");
  braid_transaction_destroy(transaction);
}

static void TestEnds(braid_t* db, braid_writeoptions_t* write) {
  char* err = NULL;
  braid_transaction_t* transaction = Begin(db);
  braid_transaction_put(transaction, "z", 1, "1", 1, &err);
  braid_transaction_rollback(transaction);
  NoError(&err, "a transaction can be rolled back");
  Fact(braid_transaction_commit(transaction, write, &err) == 0, "it is over then");
  HasError(&err, "and says so");
  braid_transaction_destroy(transaction);
  transaction = Begin(db);
  braid_transaction_put(transaction, "z", 1, "1", 1, &err);
  NoError(&err, "one that is destroyed without a commit");
  braid_transaction_destroy(transaction);
  braid_transaction_destroy(NULL);
  Fact(Holds(db, "z", NULL), "leaves nothing, as that which was rolled back");
}

static void TestClose(braid_writeoptions_t* write) {
  char* err = NULL;
  braid_t* db = OpenOrCreate("closed");
  braid_transaction_t* transaction = Begin(db);
  braid_transaction_put(transaction, "z", 1, "1", 1, &err);
  NoError(&err, "a transaction writes");
  braid_close(db);
  Fact(braid_transaction_commit(transaction, write, &err) == 0, "after the close it can't commit");
  HasError(&err, "and says so");
  braid_transaction_destroy(transaction);
}

static void TestDesignThatCannot(void) {
  char* err = NULL;
  braid_t* db = OpenDesign("blackhole", "blackhole");
  Fact(braid_begin_transaction(db, &err) == NULL, "a design without transactions begins none");
  HasError(&err, "and says so");
  braid_close(db);
}

int main(void) {
  braid_t* db;
  braid_writeoptions_t* write;
  MakeScratch();
  write = braid_writeoptions_create();
  TestDesignThatCannot();
  db = OpenOrCreate("own");
  Require(PutText(db, "a", "1") && PutText(db, "c1", "x") && PutText(db, "d", "y"), "records");
  TestCommit(db, write);
  TestConflict(db, write);
  TestEnds(db, write);
  braid_close(db);
  TestClose(write);
  braid_writeoptions_destroy(write);
  return Report();
}
