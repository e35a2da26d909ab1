/* What both halves of the binding's native code use. Bytes pass through a direct buffer of the
 * calling thread, named by its address; a failure becomes a DBException. */
#ifndef BRAID_JNI_COMMON_H_
#define BRAID_JNI_COMMON_H_

#include <jni.h>
#include <stdint.h>
#include <string.h>

#include "braid/c.h"

static inline char* Bytes(jlong address) { return (char*)(intptr_t)address; }

/* Throws DBException with `error`, which is released; nothing when it is NULL. Returns whether it
 * threw. */
int ThrowIf(JNIEnv* env, char* error);

/* As a Java string, and released; null when `text` is NULL. */
jstring TakeText(JNIEnv* env, char* text);

/* The environment of the calling thread, which may be one of the store's; NULL when it can't be. */
JNIEnv* Attach(void);

#define BRAID_JNI(type, name) JNIEXPORT type JNICALL Java_io_braid_Native_##name

#endif /* BRAID_JNI_COMMON_H_ */
