/* Threads for models that were compiled with --threads: POSIX threads, static memory only. Generated code calls these
 * functions; link aotc_threads.c with it. All models of a program share one pool, which serves one call at a time. */
#ifndef AOTC_THREADS_H_
#define AOTC_THREADS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most threads of a call, the caller's included. */
#define AOTC_THREADS_MAX 64
/* A thread could not be created, or more than AOTC_THREADS_MAX were asked for. */
#define AOTC_THREADS_NONE (-12)

/* The share of one thread; 0 is success. */
typedef int32_t (*aotc_threads_work)(void *arguments, int32_t thread);

/* Have `threads` threads call work(arguments, 0 .. threads - 1), the caller as 0, and wait for all of them. Returns the
 * first status, in the order of the threads, that is not 0. Threads are created when they are first needed. */
int32_t aotc_threads_run(int32_t threads, aotc_threads_work work, void *arguments);

/* Within a share: wait until all `threads` threads of the call are here. */
void aotc_threads_barrier(int32_t threads);

#ifdef __cplusplus
}
#endif

#endif /* AOTC_THREADS_H_ */
