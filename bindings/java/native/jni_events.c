/* Event listeners of Java. */
#include <stdlib.h>

#include "jni_common.h"

/* As in Native.event. */
enum { kFlush = 0, kMerge = 1, kStall = 2, kRecovery = 3 };

typedef struct {
  jobject object;
  jclass native;
  jmethodID event; /* Native.event(Object, int, long, long, long, long) */
  jmethodID error; /* Native.backgroundError(Object, byte[]) */
} JavaListener;

/* What the listener throws is not the store's failure; what is under way in a thread that writes is
 * not the listener's. */
static void Tell(void* state, jint kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  const JavaListener* listener = state;
  JNIEnv* env = Attach();
  if (env == NULL || (*env)->ExceptionCheck(env)) return;
  (*env)->CallStaticVoidMethod(env, listener->native, listener->event, listener->object, kind,
                               (jlong)a, (jlong)b, (jlong)c, (jlong)d);
  (*env)->ExceptionClear(env);
}

static void OnFlush(void* state, uint64_t entries, uint64_t nanos) {
  Tell(state, kFlush, entries, nanos, 0, 0);
}

static void OnMerge(void* state, uint64_t tables, uint64_t entries, uint64_t nanos) {
  Tell(state, kMerge, tables, entries, nanos, 0);
}

static void OnStall(void* state, uint64_t nanos) { Tell(state, kStall, nanos, 0, 0, 0); }

static void OnRecovery(void* state, uint8_t clean, uint64_t replayed_entries, uint64_t micros,
                       uint8_t media_loss_possible) {
  Tell(state, kRecovery, clean, replayed_entries, micros, media_loss_possible);
}

static void OnError(void* state, const char* error) {
  const JavaListener* listener = state;
  JNIEnv* env = Attach();
  if (env == NULL || (*env)->ExceptionCheck(env)) return;
  const jsize size = (jsize)strlen(error);
  jbyteArray bytes = (*env)->NewByteArray(env, size);
  if (bytes != NULL) {
    (*env)->SetByteArrayRegion(env, bytes, 0, size, (const jbyte*)error);
    (*env)->CallStaticVoidMethod(env, listener->native, listener->error, listener->object, bytes);
    (*env)->DeleteLocalRef(env, bytes);
  }
  (*env)->ExceptionClear(env);
}

static void Forget(void* state) {
  JavaListener* listener = state;
  JNIEnv* env = Attach();
  if (env != NULL && listener->object != NULL) (*env)->DeleteGlobalRef(env, listener->object);
  if (env != NULL && listener->native != NULL) (*env)->DeleteGlobalRef(env, listener->native);
  free(listener);
}

static int Find(JNIEnv* env, jclass native, JavaListener* listener) {
  listener->event = (*env)->GetStaticMethodID(env, native, "event", "(Ljava/lang/Object;IJJJJ)V");
  if (listener->event == NULL) return 0;
  listener->error =
      (*env)->GetStaticMethodID(env, native, "backgroundError", "(Ljava/lang/Object;[B)V");
  return listener->error != NULL;
}

BRAID_JNI(void, setListener)(JNIEnv* env, jclass self, jlong options, jobject object) {
  const braid_event_functions_t functions = {OnFlush, OnMerge, OnStall, OnRecovery, OnError};
  JavaListener* made = calloc(1, sizeof *made);
  braid_event_listener_t* listener = NULL;
  if (made != NULL) {
    if (!Find(env, self, made)) {
      free(made);
      return;
    }
    made->object = (*env)->NewGlobalRef(env, object);
    made->native = (jclass)(*env)->NewGlobalRef(env, self);
    if (made->object != NULL && made->native != NULL) {
      listener = braid_event_listener_create(made, Forget, &functions);
    }
  }
  if (listener == NULL) {
    if (made != NULL) Forget(made);
    jclass error = (*env)->FindClass(env, "java/lang/OutOfMemoryError");
    if (error != NULL) (*env)->ThrowNew(env, error, "no memory for an event listener");
    return;
  }
  braid_options_set_event_listener((braid_options_t*)Bytes(options), listener);
  braid_event_listener_destroy(listener);
}
