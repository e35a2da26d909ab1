/* Purpose: the C API of braid, LevelDB's C API under the prefix braid_.
 *
 * Names after the prefix, the order of arguments, ownership and errors are those of leveldb/c.h, so
 * that a client ports by renaming leveldb_ to braid_ (docs/guide/leveldb-porting.md has the
 * differences).
 * Calls that LevelDB does not have are marked "braid:".
 *
 * Bytes       Keys and values are a pointer and a length; they may hold zero bytes. Every call
 *             copies what it keeps: the caller's buffers are free again when it returns. A pointer
 *             may be NULL where its length is 0.
 * Errors      A call that can fail takes `char** errptr` last. Before the call *errptr is NULL or
 *             a message from an earlier call. Success leaves it alone; failure frees the earlier
 *             message and stores a new one, which ends with a zero byte and belongs to the caller:
 *             release it with braid_free. If errptr itself is NULL, the error is lost.
 * Ownership   X_create is undone by X_destroy, braid_open by braid_close, char* results by
 *             braid_free. These take NULL and then do nothing. Other pointers must not be NULL.
 * Memory      X_create returns NULL only when memory runs out. No exception leaves the library;
 *             callbacks must not let one out either.
 * Booleans    uint8_t: 0 is false, all else true.
 * Threads     A braid_t may be used by all threads at once, except for braid_close. All other
 *             objects belong to one thread at a time; const ones may be read by several.
 */
#ifndef BRAID_C_H_
#define BRAID_C_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define BRAID_C_EXPORT __attribute__((visibility("default")))
#else
#define BRAID_C_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_t braid_t;
typedef struct braid_cache_t braid_cache_t;
typedef struct braid_comparator_t braid_comparator_t;
typedef struct braid_env_t braid_env_t;
typedef struct braid_event_listener_t braid_event_listener_t;
typedef struct braid_filterpolicy_t braid_filterpolicy_t;
typedef struct braid_iterator_t braid_iterator_t;
typedef struct braid_key_order_t braid_key_order_t;
typedef struct braid_logger_t braid_logger_t;
typedef struct braid_options_t braid_options_t;
typedef struct braid_pinned_t braid_pinned_t;
typedef struct braid_readoptions_t braid_readoptions_t;
typedef struct braid_resources_t braid_resources_t;
typedef struct braid_snapshot_t braid_snapshot_t;
typedef struct braid_transaction_t braid_transaction_t;
typedef struct braid_writebatch_t braid_writebatch_t;
typedef struct braid_writeoptions_t braid_writeoptions_t;

/* ---- Database ---------------------------------------------------------------------------- */

/* Opens the pool directory `name`. NULL and an error if it is missing and create_if_missing is off
 * (the default, as in LevelDB), there and error_if_exists is on, no pool, open elsewhere, damaged,
 * or if an option is out of its limits. `options` is not kept. */
BRAID_C_EXPORT braid_t* braid_open(const braid_options_t* options, const char* name, char** errptr);

/* Makes everything durable, releases the pool and frees `db`. No other call on `db` may run or
 * follow, except braid_release_snapshot. Iterators and snapshots that are left over stay safe to
 * use and must still be destroyed or released; iterators then report that the database is closed.
 * An error of the last flush has no way out of here: call braid_flush before, if you need it. */
BRAID_C_EXPORT void braid_close(braid_t* db);

/* Stores `val` under `key`, over an older value if there is one. */
BRAID_C_EXPORT void braid_put(braid_t* db, const braid_writeoptions_t* options, const char* key,
                              size_t keylen, const char* val, size_t vallen, char** errptr);

/* Removes `key`. That there is no such key is no error. */
BRAID_C_EXPORT void braid_delete(braid_t* db, const braid_writeoptions_t* options, const char* key,
                                 size_t keylen, char** errptr);

/* braid: Deletes all keys from `begin` to before `end`; `end` NULL: to the last key. `*deleted`
 * (may be NULL) becomes their number. One step among writes: writes to the range wait until it is
 * done. Concurrent readers, and a crash, see it in steps, the lower keys first (DB::DeleteRange);
 * braid_writebatch_delete_range is atomic. */
BRAID_C_EXPORT void braid_delete_range(braid_t* db, const braid_writeoptions_t* options,
                                       const char* begin, size_t beginlen, const char* end,
                                       size_t endlen, uint64_t* deleted, char** errptr);

/* braid: Stores `desired` under `key` if its value equals `expected`, byte for byte, and returns 1;
 * returns 0, with nothing written, if not, and on error. `expected` NULL: "there is no such key";
 * an empty value is a pointer that is not NULL, with a length of 0. One atomic step, durable as
 * after braid_put when it returns 1. */
BRAID_C_EXPORT unsigned char braid_compare_and_swap(braid_t* db,
                                                    const braid_writeoptions_t* options,
                                                    const char* key, size_t keylen,
                                                    const char* expected, size_t expectedlen,
                                                    const char* desired, size_t desiredlen,
                                                    char** errptr);

/* braid: Stores `val` under `key` if there is no such key and returns 1; else, and on error, 0. */
BRAID_C_EXPORT unsigned char braid_put_if_absent(braid_t* db, const braid_writeoptions_t* options,
                                                 const char* key, size_t keylen, const char* val,
                                                 size_t vallen, char** errptr);

/* Applies all updates of `batch` in their order, as one atomic step. The batch is not changed and
 * still belongs to the caller. A batch that could not take an update (memory, a value above
 * 4 GiB - 1) is refused as a whole. */
BRAID_C_EXPORT void braid_write(braid_t* db, const braid_writeoptions_t* options,
                                braid_writebatch_t* batch, char** errptr);

/* The value of `key` as a buffer of *vallen bytes that the caller releases with braid_free; never
 * NULL for a key that exists, not even for an empty value. NULL and *vallen = 0 when there is no
 * such key (no error) or the read failed (error). */
BRAID_C_EXPORT char* braid_get(braid_t* db, const braid_readoptions_t* options, const char* key,
                               size_t keylen, size_t* vallen, char** errptr);

/* braid: Gets `num_keys` keys as of one moment, side by side, which costs a fraction of as many
 * braid_get calls where the data is far larger than the caches. For each i, values_list[i] and
 * values_list_sizes[i] become what braid_get would return, to be released with braid_free, and
 * errs[i] NULL or a message; what the three held before is not looked at. Repetitions are allowed.
 */
BRAID_C_EXPORT void braid_multi_get(braid_t* db, const braid_readoptions_t* options,
                                    size_t num_keys, const char* const* keys_list,
                                    const size_t* keys_list_sizes, char** values_list,
                                    size_t* values_list_sizes, char** errs);

/* braid: As braid_get, but a large value is not copied: it is lent where it lies, and its memory is
 * not reused until braid_pinned_destroy, which must follow, before or after braid_close. NULL when
 * there is no such key (no error) or the read failed (error). */
BRAID_C_EXPORT braid_pinned_t* braid_get_pinned(braid_t* db, const braid_readoptions_t* options,
                                                const char* key, size_t keylen, char** errptr);

/* The bytes of the value, which stay until braid_pinned_destroy, also after braid_close; never
 * NULL. They must not be written to. */
BRAID_C_EXPORT const char* braid_pinned_value(const braid_pinned_t*, size_t* vallen);
BRAID_C_EXPORT void braid_pinned_destroy(braid_pinned_t*);

/* A cursor over the keys in their order (bytes, or braid_options_set_key_order), as of the snapshot
 * in `options`, or of this moment. It is not positioned until one of the seek calls. `options` is
 * not kept. Release with braid_iter_destroy. If memory runs out the result is NULL, which all
 * braid_iter_ calls take as an empty iterator whose error is set. */
BRAID_C_EXPORT braid_iterator_t* braid_create_iterator(braid_t* db,
                                                       const braid_readoptions_t* options);

/* The state of this moment, for braid_readoptions_set_snapshot. It keeps overwritten values alive
 * until braid_release_snapshot. Never NULL: where the design has no snapshots, or memory runs out,
 * every read with it fails and says so, and so does braid_snapshot_get_error. */
BRAID_C_EXPORT const braid_snapshot_t* braid_create_snapshot(braid_t* db);

/* braid: Why reads with the snapshot fail; nothing when they don't. */
BRAID_C_EXPORT void braid_snapshot_get_error(const braid_snapshot_t* snapshot, char** errptr);

/* Frees a snapshot. `db` is not looked at and may be closed by now. No read option that names the
 * snapshot may be used afterwards; iterators made before are not affected. */
BRAID_C_EXPORT void braid_release_snapshot(braid_t* db, const braid_snapshot_t* snapshot);

/* A property as text, to be released with braid_free; NULL if the name is unknown. Names:
 * "braid.stats", "braid.stats.json", "braid.num-entries", "braid.approximate-memory-usage",
 * "braid.l0-tables", "braid.media-class", "braid.design". "leveldb.stats" and
 * "leveldb.approximate-memory-usage" give their braid counterparts. */
BRAID_C_EXPORT char* braid_property_value(braid_t* db, const char* propname);

/* Estimates the bytes in each of `num_ranges` ranges, from range_start_key (inclusive) to
 * range_limit_key (exclusive), into `sizes`. Counted are keys and values of live entries, in memory
 * or not; no overhead and no old versions. Exact for a range of at most 16,384 entries. A larger
 * one is extrapolated from how densely its first 16,384 keys lie, which can be far off when the
 * keys are spread unevenly. Reads those entries, so it costs milliseconds a range. */
BRAID_C_EXPORT void braid_approximate_sizes(braid_t* db, int num_ranges,
                                            const char* const* range_start_key,
                                            const size_t* range_start_key_len,
                                            const char* const* range_limit_key,
                                            const size_t* range_limit_key_len, uint64_t* sizes);

/* Flushes and merges what holds keys from start_key (NULL: the first) to before limit_key (NULL: to
 * the last), collects garbage, and waits for it. An error shows in the next write. */
BRAID_C_EXPORT void braid_compact_range(braid_t* db, const char* start_key, size_t start_key_len,
                                        const char* limit_key, size_t limit_key_len);

/* braid: The same with progress and cancellation. `progress` (may be NULL) is called by the calling
 * thread with `state` and the share done, 0 to 1, some twenty times a second; it must not call back
 * into `db`. 0 cancels: what was done stays, and the error says so. */
BRAID_C_EXPORT void braid_compact(braid_t* db, const char* start_key, size_t start_key_len,
                                  const char* limit_key, size_t limit_key_len, void* state,
                                  uint8_t (*progress)(void*, double share), char** errptr);

/* braid: From now on the background writes at most so many bytes a second; 0: as many as it can, as
 * after each braid_open. Lifted while a writer waits (DB::SetBackgroundLimit). */
BRAID_C_EXPORT void braid_set_background_limit(braid_t* db, uint64_t bytes_per_second,
                                               char** errptr);

/* braid: Deletes what is over: the keys of braid_time_key with this prefix whose time is before
 * `time`. `*deleted` (may be NULL) becomes their number. As braid_delete_range, in byte order. */
BRAID_C_EXPORT void braid_expire_before(braid_t* db, const braid_writeoptions_t* options,
                                        const char* prefix, size_t prefixlen, uint64_t time,
                                        uint64_t* deleted, char** errptr);

/* braid: A key that is ordered by time: `prefix`, `time` in eight bytes, the most significant
 * first, and `rest`, which tells keys of one time apart. *keylen bytes, to be released with
 * braid_free; NULL only when memory runs out. */
BRAID_C_EXPORT char* braid_time_key(const char* prefix, size_t prefixlen, uint64_t time,
                                    const char* rest, size_t restlen, size_t* keylen);

/* braid: The first key, in byte order, behind all that begin with `prefix`, for
 * braid_readoptions_set_iterate_upper_bound: *boundlen bytes, to be released with braid_free. NULL
 * where there is none (nothing but 0xFF), or memory runs out. */
BRAID_C_EXPORT char* braid_prefix_upper_bound(const char* prefix, size_t prefixlen,
                                              size_t* boundlen);

/* braid: Turns what is in the memtable into a table and waits for it. */
BRAID_C_EXPORT void braid_flush(braid_t* db, char** errptr);

/* braid: Reads every entry and link and checks them, while reads and writes go on. The error names
 * the first problem and how many there are. */
BRAID_C_EXPORT void braid_verify(braid_t* db, char** errptr);

/* braid: The error that has ended writes until the database is opened again, or the reason why they
 * wait for room; no error while writes are taken. Waits for nothing. */
BRAID_C_EXPORT void braid_background_status(braid_t* db, char** errptr);

/* braid: Goes on where the cause is gone: a flush that found no room is tried again. Then as
 * braid_background_status. */
BRAID_C_EXPORT void braid_resume(braid_t* db, char** errptr);

/* braid: All counters as one JSON object, to be released with braid_free; NULL only when memory
 * runs out. Its fields are those of ListFields() in braid/statistics.h, latencies
 * ("latency_get_p99_nanos") and space ("l1_obsolete_bytes") among them. */
BRAID_C_EXPORT char* braid_statistics_json(braid_t* db);

/* braid: While `on`, `braid top` and `braid metrics` of another process see this database: its
 * statistics are written once a second to "<path>.stats.json" (DB::PublishStatistics). */
BRAID_C_EXPORT void braid_publish_statistics(braid_t* db, uint8_t on, char** errptr);

/* braid: Loads many records past log and memtable. `next` is called with `state` for one record
 * after the other, by the thread of the call: it returns 1 and sets key and value, whose bytes stay
 * until the next call; 0 when there are no more; 2 to give up, which is an error. It must not call
 * back into `db`. `sorted`: the keys come strictly ascending in the order of `db`, and all records
 * are there, durable, when the call returns without an error, or none is. Not sorted: they are
 * sorted in as many runs as the memory budget makes of them, each all or none; after an error the
 * runs before are there. Returns how many records are in the database by this call. A design that
 * can't has an error. */
BRAID_C_EXPORT uint64_t braid_ingest(braid_t* db, uint8_t sorted, void* state,
                                     uint8_t (*next)(void*, const char** key, size_t* keylen,
                                                     const char** val, size_t* vallen),
                                     char** errptr);

/* braid: Writes the state of this moment to a new pool at `target`, where nothing may be yet, while
 * reads and writes go on; the result is a pool like any other. `progress` (may be NULL) is called
 * now and then with `state` and the share done, 0 to 1. After an error there is nothing at
 * `target`. */
BRAID_C_EXPORT void braid_checkpoint(braid_t* db, const char* target, void* state,
                                     void (*progress)(void*, double share), char** errptr);

/* ---- Pools that are not open --------------------------------------------------------------- */

/* Removes the pool `name` and all in it. No error if there is nothing at that path. Refuses a
 * directory that is no pool (LevelDB does not) and a pool that is open. */
BRAID_C_EXPORT void braid_destroy_db(const braid_options_t* options, const char* name,
                                     char** errptr);

/* Salvages what is intact of the closed pool `name` into a new pool that takes its place, made with
 * `options`. The damaged pool is kept beside it as "<name>.damaged-1" or the next free number, so
 * there must be room for both; remove it when you have what you want. No error means that the new
 * pool is sound, not that it is complete: `braid repair` on what was kept lists what is lost. After
 * a crash no repair is needed: opening recovers. A tier that the options name is read as well; the
 * new pool has none, and must have room for all. */
BRAID_C_EXPORT void braid_repair_db(const braid_options_t* options, const char* name,
                                    char** errptr);

/* braid: The same into a pool that has a tier of its own at `new_tier`, a folder that is empty or
 * not there yet; the option pool.max_bytes must be set. Open the new pool with tier.path set to it.
 * A pool without a tier can be repaired so as well. */
BRAID_C_EXPORT void braid_repair_db_with_tier(const braid_options_t* options, const char* name,
                                              const char* new_tier, char** errptr);

/* braid: The facts of the pool `name` as one JSON object (the fields of `braid info --json` but
 * "explanation", docs/guide/json.md), to be released with braid_free: its media class, the provider
 * of its memory, what becomes of it when power is lost, bad blocks, dirty shutdowns. Neither opens
 * nor changes the pool. NULL and an error if there is none. */
BRAID_C_EXPORT char* braid_inspect_json(const char* name, char** errptr);

/* braid: Makes a new pool at `target`, where nothing may be yet, of the checkpoint (any closed
 * pool) `name`, which is only read, and verifies it. `options` are those the new pool will be
 * opened with. `progress` as for braid_checkpoint. After an error there is nothing at `target`. */
BRAID_C_EXPORT void braid_restore(const braid_options_t* options, const char* name,
                                  const char* target, void* state,
                                  void (*progress)(void*, double share), char** errptr);

/* ---- Iterator ------------------------------------------------------------------------------ */

/* Frees the iterator; allowed after braid_close. */
BRAID_C_EXPORT void braid_iter_destroy(braid_iterator_t*);

/* True while the iterator is positioned on an entry. */
BRAID_C_EXPORT uint8_t braid_iter_valid(const braid_iterator_t*);

BRAID_C_EXPORT void braid_iter_seek_to_first(braid_iterator_t*);
BRAID_C_EXPORT void braid_iter_seek_to_last(braid_iterator_t*);

/* To the first entry whose key is not before `k`. */
BRAID_C_EXPORT void braid_iter_seek(braid_iterator_t*, const char* k, size_t klen);

/* braid: To the last entry whose key is not after `k`. */
BRAID_C_EXPORT void braid_iter_seek_for_prev(braid_iterator_t*, const char* k, size_t klen);

/* One entry on or back; past either end the iterator becomes invalid. Nothing happens on an
 * invalid one. */
BRAID_C_EXPORT void braid_iter_next(braid_iterator_t*);
BRAID_C_EXPORT void braid_iter_prev(braid_iterator_t*);

/* Key and value of the current entry; NULL and length 0 when it is invalid. The
 * bytes belong to the iterator and stay until it is moved or destroyed. */
BRAID_C_EXPORT const char* braid_iter_key(const braid_iterator_t*, size_t* klen);
BRAID_C_EXPORT const char* braid_iter_value(const braid_iterator_t*, size_t* vlen);

/* Sets the error that made the iterator invalid. Ask at the end of every loop: without an error
 * the iterator has seen all there is. */
BRAID_C_EXPORT void braid_iter_get_error(const braid_iterator_t*, char** errptr);

/* braid: Shows the newest state from now on; bounds stay. Not positioned until the next seek. */
BRAID_C_EXPORT void braid_iter_refresh(braid_iterator_t*, char** errptr);

/* ---- Write batch --------------------------------------------------------------------------- */

BRAID_C_EXPORT braid_writebatch_t* braid_writebatch_create(void);
BRAID_C_EXPORT void braid_writebatch_destroy(braid_writebatch_t*);

/* Forgets all updates, and that one could not be taken. */
BRAID_C_EXPORT void braid_writebatch_clear(braid_writebatch_t*);

/* Add one update after those that are there; of several for one key the last wins. Key and value
 * are copied. An update that can't be taken empties the batch, and braid_write reports it. */
BRAID_C_EXPORT void braid_writebatch_put(braid_writebatch_t*, const char* key, size_t klen,
                                         const char* val, size_t vlen);
BRAID_C_EXPORT void braid_writebatch_delete(braid_writebatch_t*, const char* key, size_t klen);

/* braid: Adds the delete of all keys from `begin` to before `end`; `begin` NULL: from the first,
 * `end` NULL: to the last. braid_write deletes those that the database holds then, however many,
 * and those of the updates before this one, in one step with the rest of the batch
 * (WriteBatch::DeleteRange says what that costs). */
BRAID_C_EXPORT void braid_writebatch_delete_range(braid_writebatch_t*, const char* begin,
                                                  size_t beginlen, const char* end, size_t endlen);

/* Calls `put` or `deleted` with `state` for every update in order, but not for ranges. The bytes
 * stay until the callback returns, which must not change the batch. */
BRAID_C_EXPORT void braid_writebatch_iterate(const braid_writebatch_t*, void* state,
                                             void (*put)(void*, const char* k, size_t klen,
                                                         const char* v, size_t vlen),
                                             void (*deleted)(void*, const char* k, size_t klen));

/* braid: The same with `range_deleted` for ranges; a bound that there is not is NULL. */
BRAID_C_EXPORT void braid_writebatch_iterate_all(
    const braid_writebatch_t*, void* state,
    void (*put)(void*, const char* k, size_t klen, const char* v, size_t vlen),
    void (*deleted)(void*, const char* k, size_t klen),
    void (*range_deleted)(void*, const char* begin, size_t beginlen, const char* end,
                          size_t endlen));

/* Adds the updates of `source` to `destination`. */
BRAID_C_EXPORT void braid_writebatch_append(braid_writebatch_t* destination,
                                            const braid_writebatch_t* source);

/* ---- Transactions -------------------------------------------------------------------------- */

/* braid: A transaction that sees the state of this moment. Optimistic: nobody waits for it, and the
 * commit fails where another write has changed what it builds upon (braid/transaction.h). It keeps
 * what it has written in memory, outside the budget, and overwritten values alive as a snapshot
 * does: keep it short. One thread at a time. Release it with braid_transaction_destroy, before or
 * after braid_close; without a commit it then leaves nothing. NULL and an error where the design
 * has no transactions. */
BRAID_C_EXPORT braid_transaction_t* braid_begin_transaction(braid_t* db, char** errptr);
BRAID_C_EXPORT void braid_transaction_destroy(braid_transaction_t*);

/* braid: What this transaction has written, or the value at its begin: as braid_get. */
BRAID_C_EXPORT char* braid_transaction_get(braid_transaction_t*, const char* key, size_t keylen,
                                           size_t* vallen, char** errptr);

/* braid: The same, and the commit fails when another has written the key since the begin. That
 * there is no such key is an answer that counts, too. */
BRAID_C_EXPORT char* braid_transaction_get_for_update(braid_transaction_t*, const char* key,
                                                      size_t keylen, size_t* vallen, char** errptr);

/* braid: Kept until the commit. An error: the update is over a limit. */
BRAID_C_EXPORT void braid_transaction_put(braid_transaction_t*, const char* key, size_t keylen,
                                          const char* val, size_t vallen, char** errptr);
BRAID_C_EXPORT void braid_transaction_delete(braid_transaction_t*, const char* key, size_t keylen,
                                             char** errptr);

/* braid: Deletes the keys from `begin` (NULL: the first) to before `end` (NULL: to the last): those
 * this transaction has written, and those the database holds at the commit. */
BRAID_C_EXPORT void braid_transaction_delete_range(braid_transaction_t*, const char* begin,
                                                   size_t beginlen, const char* end, size_t endlen,
                                                   char** errptr);

/* braid: The state at the begin, without what this transaction has written, for
 * braid_readoptions_set_snapshot. It belongs to the transaction: don't release it. */
BRAID_C_EXPORT const braid_snapshot_t* braid_transaction_snapshot(const braid_transaction_t*);

/* braid: Writes all as one durable step and returns 1. 0 without an error: another write came in
 * between, nothing is written; begin a new transaction. 0 with an error: nothing is written, unless
 * the error is one of braid_write's that says otherwise. The transaction is over in any case: what
 * follows but braid_transaction_destroy is an error. */
BRAID_C_EXPORT uint8_t braid_transaction_commit(braid_transaction_t*,
                                                const braid_writeoptions_t* options, char** errptr);

/* braid: Drops all; the transaction is over. */
BRAID_C_EXPORT void braid_transaction_rollback(braid_transaction_t*);

/* ---- Options ------------------------------------------------------------------------------- */

/* The defaults of braid, except create_if_missing, which is off as in LevelDB. What an option
 * points to (comparator, filter policy, cache, environment) still belongs to the caller. */
BRAID_C_EXPORT braid_options_t* braid_options_create(void);
BRAID_C_EXPORT void braid_options_destroy(braid_options_t*);

/* The order of the keys by a function; NULL: that of their bytes, the default. A new pool keeps the
 * comparator's name, and braid_open refuses a pool that has another one. Slower than an order by
 * encoding, which braid_options_set_key_order takes (braid/comparator.h says by how much). */
BRAID_C_EXPORT void braid_options_set_comparator(braid_options_t*, braid_comparator_t*);

/* braid: The order of the keys, from braid_key_order_create or braid_key_order_create_builtin;
 * NULL: that of their bytes, the default. A new pool keeps the name of its order, and braid_open
 * refuses a pool that has another one. Keys of all calls are in this order. braid_repair_db takes
 * it for a pool none of whose headers is left. */
BRAID_C_EXPORT void braid_options_set_key_order(braid_options_t*, braid_key_order_t*);

/* Accepted, no effect: braid chooses its own filters. */
BRAID_C_EXPORT void braid_options_set_filter_policy(braid_options_t*, braid_filterpolicy_t*);

/* Make the pool when nothing is at the path. Default: false. */
BRAID_C_EXPORT void braid_options_set_create_if_missing(braid_options_t*, uint8_t);

/* Fail when the pool is there already. Default: false. */
BRAID_C_EXPORT void braid_options_set_error_if_exists(braid_options_t*, uint8_t);

/* Check every entry and link before braid_open returns: time grows with the database.
 * Default: false. */
BRAID_C_EXPORT void braid_options_set_paranoid_checks(braid_options_t*, uint8_t);

/* Accepted, no effect: there is one environment. */
BRAID_C_EXPORT void braid_options_set_env(braid_options_t*, braid_env_t*);

/* Lines worth telling an operator (recovery, slow-down, error) go to the logger of
 * braid_logger_create; NULL: to nobody, the default. LevelDB has the call and no way to make one.
 */
BRAID_C_EXPORT void braid_options_set_info_log(braid_options_t*, braid_logger_t*);

/* braid: The listener of braid_event_listener_create is called for flushes, merges, stalls,
 * recoveries and errors; NULL: nobody is, the default. */
BRAID_C_EXPORT void braid_options_set_event_listener(braid_options_t*, braid_event_listener_t*);

/* Bytes written before a memtable is flushed. */
BRAID_C_EXPORT void braid_options_set_write_buffer_size(braid_options_t*, size_t);

/* Accepted, no effect: the number of open files is small and fixed. */
BRAID_C_EXPORT void braid_options_set_max_open_files(braid_options_t*, int);

/* There is no block cache, but the memory budget becomes at least as large as the cache, unless
 * braid_options_set_memory_budget names it. NULL: as if not set. */
BRAID_C_EXPORT void braid_options_set_cache(braid_options_t*, braid_cache_t*);

/* Accepted, no effect: there are no blocks, no table files and no compression. */
BRAID_C_EXPORT void braid_options_set_block_size(braid_options_t*, size_t);
BRAID_C_EXPORT void braid_options_set_block_restart_interval(braid_options_t*, int);
BRAID_C_EXPORT void braid_options_set_max_file_size(braid_options_t*, size_t);

enum { braid_no_compression = 0, braid_snappy_compression = 1 };
BRAID_C_EXPORT void braid_options_set_compression(braid_options_t*, int);

/* braid: The design by name, copied; NULL or "braid" is the default. An unknown name makes
 * braid_open fail. */
BRAID_C_EXPORT void braid_options_set_design(braid_options_t*, const char* name);

/* braid: Bytes of DRAM for memtables, indexes and filters together. */
BRAID_C_EXPORT void braid_options_set_memory_budget(braid_options_t*, uint64_t bytes);

/* braid: The database shares the memory budget and the background threads of `resources` with the
 * others that are opened with them; its own memory budget does not count then. NULL, the default:
 * with none. */
BRAID_C_EXPORT void braid_options_set_resources(braid_options_t*, braid_resources_t* resources);

/* braid: Bytes the pool never grows beyond; writes that need more fail. braid_open refuses what
 * is too small for a pool, which needs some 8 MiB. 0 is the default: as far as the device goes. */
BRAID_C_EXPORT void braid_options_set_max_size(braid_options_t*, uint64_t bytes);

/* braid: Sets an option by the name that `braid options` lists, "compaction.kind" for example, from
 * text: numbers (with K, M, G or T for powers of 1024), true and false, or the name of a kind. The
 * error of an unknown name or value lists those there are; whether the options go together is said
 * by braid_open. */
BRAID_C_EXPORT void braid_options_set(braid_options_t*, const char* name, const char* value,
                                      char** errptr);

/* ---- Comparator, order of keys, filter policy, logger -------------------------------------- */

/* An order of keys: `compare` is called with `state` and two keys and returns a number below 0, 0
 * or above 0. It must be a total order and give the same answer for the same keys, always; it may
 * be called from any thread, several at once, and must not call the database. Keys that compare as
 * equal are one key. `name` is called here: 1 to 255 bytes; a changed order must get another name.
 * `destructor` (may be NULL) is called once with `state` when the comparator is destroyed and no
 * options and no open database use it any more, so braid_comparator_destroy may come at any time.
 */
BRAID_C_EXPORT braid_comparator_t* braid_comparator_create(
    void* state, void (*destructor)(void*),
    int (*compare)(void*, const char* a, size_t alen, const char* b, size_t blen),
    const char* (*name)(void*));
BRAID_C_EXPORT void braid_comparator_destroy(braid_comparator_t*);

/* braid: The same for a `compare` that may fail, as one of another language does: it then sets
 * *errptr, which is NULL, to a message from malloc, which is taken; the call that asked fails with
 * that message, and changes nothing. */
BRAID_C_EXPORT braid_comparator_t* braid_comparator_create_fallible(
    void* state, void (*destructor)(void*),
    int (*compare)(void*, const char* a, size_t alen, const char* b, size_t blen, char** errptr),
    const char* (*name)(void*));

/* braid: An order of keys, as an encoding into bytes that sort as the keys shall: for all keys a
 * and b, a is before b exactly when the encoded a is before the encoded b by memcmp, a shorter one
 * before the longer ones that begin with it. `encode` is called with `state`, a key, and `room`
 * bytes at `out`; it returns how many bytes the encoded key has, at most 128 KiB - 1, and writes
 * them if there is room for all. When there is not it is called again with as much room as it
 * returned. It returns (size_t)-1 for what is no key of this order: the call that brought it then
 * fails. `decode` goes the other way and returns (size_t)-1 for what `encode` never makes. Both
 * must give the same answer for the same bytes, always, and may be called from any thread, several
 * at once. `name` is called here: 1 to 23 printable characters, not those of a built-in order; a
 * changed order must get another name. `destructor` (may be NULL) is called once with `state` when
 * the order is destroyed and no options and no open database use it any more, so
 * braid_key_order_destroy may come at any time. */
BRAID_C_EXPORT braid_key_order_t* braid_key_order_create(
    void* state, void (*destructor)(void*),
    size_t (*encode)(void*, const char* key, size_t keylen, char* out, size_t room),
    size_t (*decode)(void*, const char* encoded, size_t length, char* out, size_t room),
    const char* (*name)(void*));

/* braid: A built-in order: "reverse-bytewise" (from the last key to the first), "uint32-le",
 * "int32-le", "uint64-le", "int64-le" (integers as they lie in the memory of a little-endian
 * machine, by value). NULL when there is none of that name. */
BRAID_C_EXPORT braid_key_order_t* braid_key_order_create_builtin(const char* name);
BRAID_C_EXPORT void braid_key_order_destroy(braid_key_order_t*);

/* A filter of the caller is never asked, only `destructor` is called with `state` by
 * braid_filterpolicy_destroy. Results of reads do not depend on filters. */
BRAID_C_EXPORT braid_filterpolicy_t* braid_filterpolicy_create(
    void* state, void (*destructor)(void*),
    char* (*create_filter)(void*, const char* const* key_array, const size_t* key_length_array,
                           int num_keys, size_t* filter_length),
    uint8_t (*key_may_match)(void*, const char* key, size_t length, const char* filter,
                             size_t filter_length),
    const char* (*name)(void*));
BRAID_C_EXPORT void braid_filterpolicy_destroy(braid_filterpolicy_t*);

BRAID_C_EXPORT braid_filterpolicy_t* braid_filterpolicy_create_bloom(int bits_per_key);

/* braid: A logger for braid_options_set_info_log. `log` is called with `state` and one line of
 * `length` bytes, without a line end and without a zero byte after it, from any thread, also from
 * several at once; it must not call back into the database. `destructor` (may be NULL) is called
 * once with `state` when the logger is destroyed and no options and no open database use it any
 * more, so braid_logger_destroy may come at any time. */
BRAID_C_EXPORT braid_logger_t* braid_logger_create(void* state, void (*destructor)(void*),
                                                   void (*log)(void*, const char* line,
                                                               size_t length));
BRAID_C_EXPORT void braid_logger_destroy(braid_logger_t*);

/* braid: The functions of a listener; each may be NULL. The times are how long the
 * work took, or a writer was held back (braid/event_listener.h). */
typedef struct braid_event_functions_t {
  /* A memtable has become a table. */
  void (*flush)(void* state, uint64_t entries, uint64_t nanos);
  /* `tables` tables were merged into the lowest level at once. */
  void (*merge)(void* state, uint64_t tables, uint64_t entries, uint64_t nanos);
  /* A write was held back for a millisecond or longer. */
  void (*stall)(void* state, uint64_t nanos);
  /* The database is open. `clean`: it had been closed in order. `media_loss_possible`: its memory
   * was shut down dirty, acknowledged writes may be missing. */
  void (*recovery)(void* state, uint8_t clean, uint64_t replayed_entries, uint64_t micros,
                   uint8_t media_loss_possible);
  /* Writes end with this error until the database is opened again; the text stays until the
   * function returns. */
  void (*background_error)(void* state, const char* error);
} braid_event_functions_t;

/* braid: A listener for braid_options_set_event_listener. The functions, which are copied, are
 * called with `state` from the threads of the background, which all databases of a process share,
 * and from those that write, several at a time: they must return soon, and must not call a database
 * nor wait for one. `destructor` (may be NULL) is called once with `state` when the listener is
 * destroyed and no options and no open database use it any more, so braid_event_listener_destroy
 * may come at any time. */
BRAID_C_EXPORT braid_event_listener_t* braid_event_listener_create(
    void* state, void (*destructor)(void*), const braid_event_functions_t* functions);
BRAID_C_EXPORT void braid_event_listener_destroy(braid_event_listener_t*);

/* ---- Options of one read or write ---------------------------------------------------------- */

BRAID_C_EXPORT braid_readoptions_t* braid_readoptions_create(void);
BRAID_C_EXPORT void braid_readoptions_destroy(braid_readoptions_t*);

/* Accepted, no effect: every read verifies. */
BRAID_C_EXPORT void braid_readoptions_set_verify_checksums(braid_readoptions_t*, uint8_t);

/* Accepted, no effect: there is no block cache. */
BRAID_C_EXPORT void braid_readoptions_set_fill_cache(braid_readoptions_t*, uint8_t);

/* Read as of `snapshot`; NULL: the newest state. The snapshot must not be released before the last
 * use of these options. */
BRAID_C_EXPORT void braid_readoptions_set_snapshot(braid_readoptions_t*,
                                                   const braid_snapshot_t* snapshot);

/* braid: Iterators show keys from `key` on / before `key`; NULL: without this bound. Not copied:
 * the bytes must stay until the iterators that were made with it are destroyed. */
BRAID_C_EXPORT void braid_readoptions_set_iterate_lower_bound(braid_readoptions_t*, const char* key,
                                                              size_t keylen);
BRAID_C_EXPORT void braid_readoptions_set_iterate_upper_bound(braid_readoptions_t*, const char* key,
                                                              size_t keylen);

BRAID_C_EXPORT braid_writeoptions_t* braid_writeoptions_create(void);
BRAID_C_EXPORT void braid_writeoptions_destroy(braid_writeoptions_t*);

/* On page-cache media: survive power loss too, with all earlier writes. On persistent memory every
 * write is durable and this changes nothing. Default: false. */
BRAID_C_EXPORT void braid_writeoptions_set_sync(braid_writeoptions_t*, uint8_t);

/* ---- Cache, environment -------------------------------------------------------------------- */

/* A number of bytes for braid_options_set_cache; nothing is allocated. May be destroyed as soon as
 * the option is set. */
BRAID_C_EXPORT braid_cache_t* braid_cache_create_lru(size_t capacity);
BRAID_C_EXPORT void braid_cache_destroy(braid_cache_t* cache);

/* braid: A memory budget and background threads for several databases of a process
 * (docs/guide/several-pools.md). `memory_budget` is in bytes, 1 MiB at least for each database that
 * is open with it. `background_threads` is 0 for those that all databases of the process share
 * anyhow, or 3 to 1024. NULL, with *errptr set, for limits that make no sense. May be destroyed as
 * soon as the options are set: databases keep what they use. Any thread may use it; a child of
 * fork() creates its own. */
BRAID_C_EXPORT braid_resources_t* braid_resources_create(uint64_t memory_budget,
                                                         uint32_t background_threads,
                                                         char** errptr);
BRAID_C_EXPORT void braid_resources_destroy(braid_resources_t* resources);

/* braid: What is used now: bytes that all databases take together, and how many are open. Either
 * may be NULL. */
BRAID_C_EXPORT void braid_resources_usage(const braid_resources_t* resources,
                                          uint64_t* memory_bytes, uint64_t* databases);

BRAID_C_EXPORT braid_env_t* braid_create_default_env(void);
BRAID_C_EXPORT void braid_env_destroy(braid_env_t*);

/* A directory for tests that exists and belongs to the user: $TEST_TMPDIR, or one below
 * $BRAID_TMP, $TMPDIR or /tmp. Release with braid_free. NULL if it can't be made. */
BRAID_C_EXPORT char* braid_env_get_test_directory(braid_env_t*);

/* ---- Utility ------------------------------------------------------------------------------- */

/* Releases a buffer or message that a call of this file returned. Use it and not free(): when
 * memory has run out a message may not come from malloc. */
BRAID_C_EXPORT void braid_free(void* ptr);

/* The version of the library that is loaded: "0.1.2" is major 0, minor 1. */
BRAID_C_EXPORT int braid_major_version(void);
BRAID_C_EXPORT int braid_minor_version(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* BRAID_C_H_ */
