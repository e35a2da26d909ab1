/* Opening, closing, options, and calls whose cost does not matter beside what they do. */
#include <pthread.h>
#include <stdlib.h>

#include "jni_common.h"

static JavaVM* virtual_machine;
static jclass exception_class;
static jmethodID log_method;     /* Native.log(Object, byte[]) */
static jmethodID compare_method; /* Native.compare(Object, byte[], byte[]) */
static jmethodID to_string_method;
static jclass native_class;
static pthread_key_t attached; /* a thread that Attach() has attached */

static void Detach(void* vm) {
  (void)vm;
  (*virtual_machine)->DetachCurrentThread(virtual_machine);
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void* reserved) {
  (void)reserved;
  JNIEnv* env = NULL;
  if ((*vm)->GetEnv(vm, (void**)&env, JNI_VERSION_1_8) != JNI_OK) return JNI_ERR;
  virtual_machine = vm;
  if (pthread_key_create(&attached, Detach) != 0) return JNI_ERR;
  jclass exception = (*env)->FindClass(env, "org/iq80/leveldb/DBException");
  jclass native = (*env)->FindClass(env, "io/braid/Native");
  if (exception == NULL || native == NULL) return JNI_ERR;
  exception_class = (*env)->NewGlobalRef(env, exception);
  native_class = (*env)->NewGlobalRef(env, native);
  log_method = (*env)->GetStaticMethodID(env, native, "log", "(Ljava/lang/Object;[B)V");
  compare_method = (*env)->GetStaticMethodID(env, native, "compare", "(Ljava/lang/Object;[B[B)I");
  jclass object = (*env)->FindClass(env, "java/lang/Object");
  if (object == NULL) return JNI_ERR;
  to_string_method = (*env)->GetMethodID(env, object, "toString", "()Ljava/lang/String;");
  if (exception_class == NULL || native_class == NULL || log_method == NULL ||
      compare_method == NULL || to_string_method == NULL) {
    return JNI_ERR;
  }
  return JNI_VERSION_1_8;
}

/* Java's strings are not UTF-8 inside, and a message may hold any bytes of a key. */
static jstring ToString(JNIEnv* env, const char* text) {
  jclass string = (*env)->FindClass(env, "java/lang/String");
  if (string == NULL) return NULL;
  jmethodID make = (*env)->GetMethodID(env, string, "<init>", "([BLjava/lang/String;)V");
  const jsize size = (jsize)strlen(text);
  jbyteArray bytes = make == NULL ? NULL : (*env)->NewByteArray(env, size);
  jstring charset = bytes == NULL ? NULL : (*env)->NewStringUTF(env, "UTF-8");
  if (charset == NULL) return NULL;
  (*env)->SetByteArrayRegion(env, bytes, 0, size, (const jbyte*)text);
  return (jstring)(*env)->NewObject(env, string, make, bytes, charset);
}

int ThrowIf(JNIEnv* env, char* error) {
  if (error == NULL) return 0;
  jstring text = ToString(env, error);
  braid_free(error);
  if (text == NULL) return 1; /* an OutOfMemoryError is under way */
  jmethodID make = (*env)->GetMethodID(env, exception_class, "<init>", "(Ljava/lang/String;)V");
  jobject thrown = make == NULL ? NULL : (*env)->NewObject(env, exception_class, make, text);
  if (thrown != NULL) (*env)->Throw(env, (jthrowable)thrown);
  return 1;
}

jstring TakeText(JNIEnv* env, char* text) {
  if (text == NULL) return NULL;
  jstring result = ToString(env, text);
  braid_free(text);
  return result;
}

/* Unless an exception is under way. */
static void ThrowOutOfMemory(JNIEnv* env) {
  if ((*env)->ExceptionCheck(env)) return;
  jclass error = (*env)->FindClass(env, "java/lang/OutOfMemoryError");
  if (error != NULL) (*env)->ThrowNew(env, error, "no memory for a copy of a path, name or key");
}

/* A copy with a zero byte behind it; NULL with an exception under way when memory runs out. */
static char* CopyOf(JNIEnv* env, jbyteArray bytes) {
  const jsize size = (*env)->GetArrayLength(env, bytes);
  char* copy = malloc((size_t)size + 1);
  if (copy == NULL) {
    ThrowOutOfMemory(env);
    return NULL;
  }
  (*env)->GetByteArrayRegion(env, bytes, 0, size, (jbyte*)copy);
  copy[size] = 0;
  return copy;
}

/* ---- Logger ---------------------------------------------------------------------------------- */

/* The environment of the calling thread, which may be one of the store's: that is attached until it
 * ends, as a daemon, for which the JVM does not wait. What the JVM keeps of a thread that ended
 * attached it would keep for ever. NULL when it can't be. */
JNIEnv* Attach(void) {
  JNIEnv* env = NULL;
  if ((*virtual_machine)->GetEnv(virtual_machine, (void**)&env, JNI_VERSION_1_8) == JNI_OK) {
    return env;
  }
  if ((*virtual_machine)->AttachCurrentThreadAsDaemon(virtual_machine, (void**)&env, NULL) !=
      JNI_OK) {
    return NULL;
  }
  /* What would not be detached must not be attached. */
  if (pthread_setspecific(attached, virtual_machine) != 0) {
    (*virtual_machine)->DetachCurrentThread(virtual_machine);
    return NULL;
  }
  return env;
}

static void Log(void* state, const char* line, size_t size) {
  JNIEnv* env = Attach();
  if (env == NULL || (*env)->ExceptionCheck(env)) return;
  jbyteArray bytes = (*env)->NewByteArray(env, (jsize)size);
  if (bytes != NULL) {
    (*env)->SetByteArrayRegion(env, bytes, 0, (jsize)size, (const jbyte*)line);
    (*env)->CallStaticVoidMethod(env, native_class, log_method, (jobject)state, bytes);
    (*env)->DeleteLocalRef(env, bytes);
  }
  (*env)->ExceptionClear(env); /* a logger's failure is not the store's */
}

static void ForgetLogger(void* state) {
  JNIEnv* env = Attach();
  if (env != NULL) (*env)->DeleteGlobalRef(env, (jobject)state);
}

/* ---- Comparator ------------------------------------------------------------------------------ */

typedef struct {
  jobject object;
  char* name;
} JavaComparator;

static const char* NameOfComparator(void* state) { return ((JavaComparator*)state)->name; }

static void ForgetComparator(void* state) {
  JavaComparator* comparator = state;
  JNIEnv* env = comparator->object == NULL ? NULL : Attach();
  if (env != NULL) (*env)->DeleteGlobalRef(env, comparator->object);
  free(comparator->name);
  free(comparator);
}

static jbyteArray ArrayOf(JNIEnv* env, const char* bytes, size_t size) {
  jbyteArray array = (*env)->NewByteArray(env, (jsize)size);
  if (array != NULL) (*env)->SetByteArrayRegion(env, array, 0, (jsize)size, (const jbyte*)bytes);
  return array;
}

static char* Duplicate(const char* text) {
  const size_t size = strlen(text) + 1;
  char* copy = malloc(size);
  if (copy != NULL) memcpy(copy, text, size);
  return copy;
}

/* What was thrown, as text from malloc; it is no longer pending. */
static char* TakeException(JNIEnv* env) {
  char* text = NULL;
  jthrowable thrown = (*env)->ExceptionOccurred(env);
  (*env)->ExceptionClear(env);
  jstring shown = (jstring)(*env)->CallObjectMethod(env, thrown, to_string_method);
  if (shown != NULL && !(*env)->ExceptionCheck(env)) {
    const char* chars = (*env)->GetStringUTFChars(env, shown, NULL);
    if (chars != NULL) {
      text = Duplicate(chars);
      (*env)->ReleaseStringUTFChars(env, shown, chars);
    }
  }
  (*env)->ExceptionClear(env);
  if (shown != NULL) (*env)->DeleteLocalRef(env, shown);
  (*env)->DeleteLocalRef(env, thrown);
  return text != NULL ? text : Duplicate("it has thrown an exception");
}

static int Compare(void* state, const char* a, size_t asize, const char* b, size_t bsize,
                   char** error) {
  JNIEnv* env = Attach();
  if (env == NULL) {
    *error = Duplicate("the Java virtual machine is gone");
    return 0;
  }
  jint order = 0;
  jbyteArray left = ArrayOf(env, a, asize);
  jbyteArray right = left == NULL ? NULL : ArrayOf(env, b, bsize);
  if (right != NULL) {
    order = (*env)->CallStaticIntMethod(env, native_class, compare_method,
                                        ((JavaComparator*)state)->object, left, right);
  }
  if ((*env)->ExceptionCheck(env)) *error = TakeException(env);
  if (right != NULL) (*env)->DeleteLocalRef(env, right);
  if (left != NULL) (*env)->DeleteLocalRef(env, left);
  return order;
}

/* ---- Options --------------------------------------------------------------------------------- */

BRAID_JNI(jlong, createOptions)
(JNIEnv* env, jclass self, jboolean create_if_missing, jboolean error_if_exists,
 jboolean paranoid_checks, jlong write_buffer_size, jlong cache_size, jobject logger) {
  (void)self;
  braid_options_t* options = braid_options_create();
  if (options == NULL) return 0;
  braid_options_set_create_if_missing(options, create_if_missing);
  braid_options_set_error_if_exists(options, error_if_exists);
  braid_options_set_paranoid_checks(options, paranoid_checks);
  if (write_buffer_size > 0) {
    braid_options_set_write_buffer_size(options, (size_t)write_buffer_size);
  }
  if (cache_size > 0) {
    braid_cache_t* cache = braid_cache_create_lru((size_t)cache_size);
    braid_options_set_cache(options, cache);
    braid_cache_destroy(cache);
  }
  jobject kept = logger == NULL ? NULL : (*env)->NewGlobalRef(env, logger);
  if (kept != NULL) {
    braid_logger_t* made = braid_logger_create(kept, ForgetLogger, Log);
    braid_options_set_info_log(options, made);
    braid_logger_destroy(made);
  }
  return (jlong)(intptr_t)options;
}

BRAID_JNI(void, setComparator)
(JNIEnv* env, jclass self, jlong options, jbyteArray name, jobject comparator) {
  (void)self;
  JavaComparator* made = calloc(1, sizeof *made);
  if (made == NULL) {
    ThrowOutOfMemory(env);
    return;
  }
  made->name = CopyOf(env, name);
  made->object = made->name == NULL ? NULL : (*env)->NewGlobalRef(env, comparator);
  braid_comparator_t* handle =
      made->object == NULL
          ? NULL
          : braid_comparator_create_fallible(made, ForgetComparator, Compare, NameOfComparator);
  if (handle == NULL) {
    ForgetComparator(made);
    ThrowOutOfMemory(env);
    return;
  }
  braid_options_set_comparator((braid_options_t*)Bytes(options), handle);
  braid_comparator_destroy(handle);
}

BRAID_JNI(void, setOption)
(JNIEnv* env, jclass self, jlong options, jbyteArray name, jbyteArray value) {
  (void)self;
  char* error = NULL;
  char* names = CopyOf(env, name);
  char* values = names == NULL ? NULL : CopyOf(env, value);
  if (values != NULL) {
    braid_options_set((braid_options_t*)Bytes(options), names, values, &error);
    ThrowIf(env, error);
  }
  free(values);
  free(names);
}

BRAID_JNI(void, setDesign)(JNIEnv* env, jclass self, jlong options, jbyteArray name) {
  (void)self;
  char* names = CopyOf(env, name);
  if (names != NULL) braid_options_set_design((braid_options_t*)Bytes(options), names);
  free(names);
}

BRAID_JNI(void, setResources)(JNIEnv* env, jclass self, jlong options, jlong resources) {
  (void)env, (void)self;
  braid_options_set_resources((braid_options_t*)Bytes(options),
                              (braid_resources_t*)Bytes(resources));
}

BRAID_JNI(jlong, createResources)
(JNIEnv* env, jclass self, jlong memory_budget, jint background_threads) {
  (void)self;
  char* error = NULL;
  braid_resources_t* made =
      braid_resources_create((uint64_t)memory_budget, (uint32_t)background_threads, &error);
  ThrowIf(env, error);
  return (jlong)(intptr_t)made;
}

BRAID_JNI(void, destroyResources)(JNIEnv* env, jclass self, jlong resources) {
  (void)env, (void)self;
  braid_resources_destroy((braid_resources_t*)Bytes(resources));
}

/* `which` 0: bytes of memory; 1: databases. */
BRAID_JNI(jlong, resourcesUsage)(JNIEnv* env, jclass self, jlong resources, jint which) {
  (void)env, (void)self;
  uint64_t memory_bytes = 0;
  uint64_t databases = 0;
  braid_resources_usage((const braid_resources_t*)Bytes(resources), &memory_bytes, &databases);
  return (jlong)(which == 0 ? memory_bytes : databases);
}

BRAID_JNI(void, destroyOptions)(JNIEnv* env, jclass self, jlong options) {
  (void)env, (void)self;
  braid_options_destroy((braid_options_t*)Bytes(options));
}

BRAID_JNI(jlong, createWriteOptions)(JNIEnv* env, jclass self, jboolean sync) {
  (void)env, (void)self;
  braid_writeoptions_t* options = braid_writeoptions_create();
  if (options != NULL) braid_writeoptions_set_sync(options, sync);
  return (jlong)(intptr_t)options;
}

/* `snapshot` 0: the newest state. */
BRAID_JNI(jlong, createReadOptions)(JNIEnv* env, jclass self, jlong snapshot) {
  (void)env, (void)self;
  braid_readoptions_t* options = braid_readoptions_create();
  if (options != NULL && snapshot != 0) {
    braid_readoptions_set_snapshot(options, (const braid_snapshot_t*)Bytes(snapshot));
  }
  return (jlong)(intptr_t)options;
}

BRAID_JNI(void, destroyReadOptions)(JNIEnv* env, jclass self, jlong options) {
  (void)env, (void)self;
  braid_readoptions_destroy((braid_readoptions_t*)Bytes(options));
}

/* ---- Databases ------------------------------------------------------------------------------- */

BRAID_JNI(jlong, open)(JNIEnv* env, jclass self, jlong options, jbyteArray path) {
  (void)self;
  char* name = CopyOf(env, path);
  if (name == NULL) return 0;
  char* error = NULL;
  braid_t* db = braid_open((braid_options_t*)Bytes(options), name, &error);
  free(name);
  ThrowIf(env, error);
  return (jlong)(intptr_t)db;
}

BRAID_JNI(void, close)(JNIEnv* env, jclass self, jlong db) {
  (void)env, (void)self;
  braid_close((braid_t*)Bytes(db));
}

BRAID_JNI(void, flush)(JNIEnv* env, jclass self, jlong db) {
  (void)self;
  char* error = NULL;
  braid_flush((braid_t*)Bytes(db), &error);
  ThrowIf(env, error);
}

BRAID_JNI(void, verify)(JNIEnv* env, jclass self, jlong db) {
  (void)self;
  char* error = NULL;
  braid_verify((braid_t*)Bytes(db), &error);
  ThrowIf(env, error);
}

BRAID_JNI(void, backgroundStatus)(JNIEnv* env, jclass self, jlong db) {
  (void)self;
  char* error = NULL;
  braid_background_status((braid_t*)Bytes(db), &error);
  ThrowIf(env, error);
}

BRAID_JNI(void, resume)(JNIEnv* env, jclass self, jlong db) {
  (void)self;
  char* error = NULL;
  braid_resume((braid_t*)Bytes(db), &error);
  ThrowIf(env, error);
}

struct Progress {
  JNIEnv* env;
  jobject object;
  jmethodID on;
};

/* By the thread of the call. What it throws is under way when the call has ended. */
static uint8_t TellProgress(void* state, double share) {
  const struct Progress* progress = state;
  JNIEnv* env = progress->env;
  if ((*env)->ExceptionCheck(env)) return 0;
  const jboolean go_on = (*env)->CallBooleanMethod(env, progress->object, progress->on, share);
  return go_on && !(*env)->ExceptionCheck(env);
}

BRAID_JNI(void, compact)
(JNIEnv* env, jclass self, jlong db, jlong buffer, jint begin_size, jint end_size,
 jobject progress) {
  (void)self;
  struct Progress told = {env, progress, NULL};
  if (progress != NULL) {
    jclass type = (*env)->GetObjectClass(env, progress);
    told.on = (*env)->GetMethodID(env, type, "on", "(D)Z");
    if (told.on == NULL) return;
  }
  char* error = NULL;
  const char* begin = Bytes(buffer);
  const char* end = begin + (begin_size < 0 ? 0 : begin_size);
  braid_compact((braid_t*)Bytes(db), begin_size < 0 ? NULL : begin,
                begin_size < 0 ? 0 : (size_t)begin_size, end_size < 0 ? NULL : end,
                end_size < 0 ? 0 : (size_t)end_size, &told, progress == NULL ? NULL : TellProgress,
                &error);
  if ((*env)->ExceptionCheck(env)) {
    braid_free(error);
  } else {
    ThrowIf(env, error);
  }
}

BRAID_JNI(void, setBackgroundLimit)(JNIEnv* env, jclass self, jlong db, jlong bytes) {
  (void)self;
  char* error = NULL;
  braid_set_background_limit((braid_t*)Bytes(db), (uint64_t)bytes, &error);
  ThrowIf(env, error);
}

BRAID_JNI(void, publishStatistics)(JNIEnv* env, jclass self, jlong db, jboolean on) {
  (void)self;
  char* error = NULL;
  braid_publish_statistics((braid_t*)Bytes(db), on, &error);
  ThrowIf(env, error);
}

BRAID_JNI(void, checkpoint)(JNIEnv* env, jclass self, jlong db, jbyteArray target) {
  (void)self;
  char* path = CopyOf(env, target);
  if (path == NULL) return;
  char* error = NULL;
  braid_checkpoint((braid_t*)Bytes(db), path, NULL, NULL, &error);
  free(path);
  ThrowIf(env, error);
}

BRAID_JNI(void, destroy)(JNIEnv* env, jclass self, jlong options, jbyteArray path) {
  (void)self;
  char* name = CopyOf(env, path);
  if (name == NULL) return;
  char* error = NULL;
  braid_destroy_db((braid_options_t*)Bytes(options), name, &error);
  free(name);
  ThrowIf(env, error);
}

BRAID_JNI(void, restore)
(JNIEnv* env, jclass self, jlong options, jbyteArray checkpoint, jbyteArray target) {
  (void)self;
  char* from = CopyOf(env, checkpoint);
  if (from == NULL) return;
  char* to = CopyOf(env, target);
  if (to == NULL) {
    free(from);
    return;
  }
  char* error = NULL;
  braid_restore((braid_options_t*)Bytes(options), from, to, NULL, NULL, &error);
  free(from);
  free(to);
  ThrowIf(env, error);
}

BRAID_JNI(jstring, inspect)(JNIEnv* env, jclass self, jbyteArray path) {
  (void)self;
  char* error = NULL;
  char* name = CopyOf(env, path);
  if (name == NULL) return NULL;
  char* json = braid_inspect_json(name, &error);
  free(name);
  return ThrowIf(env, error) ? NULL : TakeText(env, json);
}

BRAID_JNI(void, repair)
(JNIEnv* env, jclass self, jlong options, jbyteArray path, jbyteArray new_tier) {
  (void)self;
  char* name = CopyOf(env, path);
  char* tier = name == NULL ? NULL : CopyOf(env, new_tier);
  char* error = NULL;
  if (tier != NULL) {
    braid_repair_db_with_tier((braid_options_t*)Bytes(options), name, tier, &error);
  }
  free(tier);
  free(name);
  ThrowIf(env, error);
}

BRAID_JNI(jstring, property)(JNIEnv* env, jclass self, jlong db, jbyteArray name) {
  (void)self;
  char* names = CopyOf(env, name);
  if (names == NULL) return NULL;
  char* value = braid_property_value((braid_t*)Bytes(db), names);
  free(names);
  return TakeText(env, value);
}

BRAID_JNI(jstring, statistics)(JNIEnv* env, jclass self, jlong db) {
  (void)self;
  return TakeText(env, braid_statistics_json((braid_t*)Bytes(db)));
}

BRAID_JNI(jlong, approximateSize)
(JNIEnv* env, jclass self, jlong db, jlong buffer, jint begin_size, jint end_size) {
  (void)env, (void)self;
  const char* begin = Bytes(buffer);
  const char* end = begin + begin_size;
  const size_t begins = (size_t)begin_size;
  const size_t ends = (size_t)end_size;
  uint64_t size = 0;
  braid_approximate_sizes((braid_t*)Bytes(db), 1, &begin, &begins, &end, &ends, &size);
  return (jlong)size;
}

/* ---- Many keys ------------------------------------------------------------------------------- */

struct ManyKeys {
  char** keys;
  size_t* key_sizes;
  char** values;
  size_t* value_sizes;
  char** errors;
};

static void FreeMany(struct ManyKeys* many, jsize count) {
  for (jsize i = 0; i < count; ++i) {
    if (many->keys != NULL) free(many->keys[i]);
    if (many->values != NULL) braid_free(many->values[i]);
    if (many->errors != NULL) braid_free(many->errors[i]);
  }
  free(many->keys);
  free(many->key_sizes);
  free(many->values);
  free(many->value_sizes);
  free(many->errors);
}

static int CopyKeys(JNIEnv* env, jobjectArray keys, jsize count, struct ManyKeys* many) {
  many->keys = calloc((size_t)count, sizeof *many->keys);
  many->key_sizes = calloc((size_t)count, sizeof *many->key_sizes);
  many->values = calloc((size_t)count, sizeof *many->values);
  many->value_sizes = calloc((size_t)count, sizeof *many->value_sizes);
  many->errors = calloc((size_t)count, sizeof *many->errors);
  if (many->keys == NULL || many->key_sizes == NULL || many->values == NULL ||
      many->value_sizes == NULL || many->errors == NULL) {
    jclass error = (*env)->FindClass(env, "java/lang/OutOfMemoryError");
    if (error != NULL) (*env)->ThrowNew(env, error, "no memory for the keys of a multiGet");
    return 0;
  }
  for (jsize i = 0; i < count; ++i) {
    jbyteArray key = (jbyteArray)(*env)->GetObjectArrayElement(env, keys, i);
    many->key_sizes[i] = (size_t)(*env)->GetArrayLength(env, key);
    many->keys[i] = CopyOf(env, key);
    (*env)->DeleteLocalRef(env, key);
    if (many->keys[i] == NULL) return 0;
  }
  return 1;
}

static jobjectArray ValuesOf(JNIEnv* env, jsize count, struct ManyKeys* many) {
  for (jsize i = 0; i < count; ++i) {
    char* error = many->errors[i];
    many->errors[i] = NULL;
    if (ThrowIf(env, error)) return NULL;
  }
  jclass bytes = (*env)->FindClass(env, "[B");
  jobjectArray result = bytes == NULL ? NULL : (*env)->NewObjectArray(env, count, bytes, NULL);
  for (jsize i = 0; result != NULL && i < count; ++i) {
    if (many->values[i] == NULL) continue;
    if (many->value_sizes[i] > INT32_MAX) {
      (*env)->ThrowNew(env, exception_class, "a value is larger than a Java array can be");
      return NULL;
    }
    const jsize size = (jsize)many->value_sizes[i];
    jbyteArray value = (*env)->NewByteArray(env, size);
    if (value == NULL) return NULL;
    (*env)->SetByteArrayRegion(env, value, 0, size, (const jbyte*)many->values[i]);
    (*env)->SetObjectArrayElement(env, result, i, value);
    (*env)->DeleteLocalRef(env, value);
  }
  return result;
}

/* An array with null where there is no such key. */
BRAID_JNI(jobjectArray, multiGet)
(JNIEnv* env, jclass self, jlong db, jlong options, jobjectArray keys) {
  (void)self;
  const jsize count = (*env)->GetArrayLength(env, keys);
  struct ManyKeys many = {NULL, NULL, NULL, NULL, NULL};
  jobjectArray result = NULL;
  if (CopyKeys(env, keys, count, &many)) {
    braid_multi_get((braid_t*)Bytes(db), (braid_readoptions_t*)Bytes(options), (size_t)count,
                    (const char* const*)many.keys, many.key_sizes, many.values, many.value_sizes,
                    many.errors);
    result = ValuesOf(env, count, &many);
  }
  FreeMany(&many, count);
  return result;
}

/* ---- Snapshots, iterators, batches ----------------------------------------------------------- */

BRAID_JNI(jlong, createSnapshot)(JNIEnv* env, jclass self, jlong db) {
  (void)self;
  const braid_snapshot_t* snapshot = braid_create_snapshot((braid_t*)Bytes(db));
  char* error = NULL;
  braid_snapshot_get_error(snapshot, &error);
  if (!ThrowIf(env, error)) return (jlong)(intptr_t)snapshot;
  braid_release_snapshot(NULL, snapshot);
  return 0;
}

/* The database is not looked at, and may be closed. */
BRAID_JNI(void, releaseSnapshot)(JNIEnv* env, jclass self, jlong snapshot) {
  (void)env, (void)self;
  braid_release_snapshot(NULL, (const braid_snapshot_t*)Bytes(snapshot));
}

BRAID_JNI(jlong, createBatch)(JNIEnv* env, jclass self) {
  (void)env, (void)self;
  return (jlong)(intptr_t)braid_writebatch_create();
}

BRAID_JNI(void, destroyBatch)(JNIEnv* env, jclass self, jlong batch) {
  (void)env, (void)self;
  braid_writebatch_destroy((braid_writebatch_t*)Bytes(batch));
}
