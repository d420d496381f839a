/* Threads for models that were compiled with --threads: POSIX threads, static memory only. Generated code calls this
 * function; link aotc_threads.c with it. All models of a program share one pool. */
#ifndef AOTC_THREADS_H_
#define AOTC_THREADS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most threads of a call that has more than one, the caller's included. */
#define AOTC_THREADS_MAX 64

/* Share `thread` of a phase, from 0 on; or, for `thread` -1, what one thread does before the phase. 0 is success. */
typedef int32_t (*aotc_threads_work)(void *arguments, int32_t thread, int32_t phase);

/* For each phase from 0 to `phases` - 1: work(arguments, -1, phase), then the shares 0 .. `threads` - 1 of the phase,
 * in any order and on any threads, all of which are done before the next phase; at last work(arguments, -1, phases).
 * Returns the first status, in the order of the shares, that is not 0; nothing follows that phase.
 *
 * The caller does share 0 and every share that no thread of the pool has begun when it gets to it: all of them, while
 * the pool works for another caller, where threads cannot be created, and for a while after one was kept from running
 * in the middle of a share. Threads are created when they are first needed. */
int32_t aotc_threads_run(int32_t threads, aotc_threads_work work, void *arguments, int32_t phases);

#ifdef __cplusplus
}
#endif

#endif /* AOTC_THREADS_H_ */
