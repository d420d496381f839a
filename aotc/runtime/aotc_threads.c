/* A pool of POSIX threads that wait for work: spinning first, then giving way to others, then asleep. Its twin for
 * objects that aotc writes itself is aotc_threads.ll: change both.
 *
 * Work is published by one word, the call's number and how many threads it is for; a thread that is not needed looks at
 * nothing else. After a fork the child has none of the threads and starts over. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "aotc_threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

enum {
  kSpins = 2000,         /* tries of a waiting thread before it gives way, some 50 microseconds */
  kYields = 1000,        /* of an idle one before it sleeps, about a millisecond */
  kStarting = -1,        /* in place of a process number */
  kCall = AOTC_THREADS_MAX * 2 /* the published word is a multiple of it, the call, plus the number of threads */
};

/* What different threads write is on different cache lines. */
#define LINE __attribute__((aligned(64)))

static struct {
  pthread_mutex_t turn; /* held during a call */
  pthread_mutex_t idle;
  pthread_cond_t wake;
  int32_t process;
  int32_t started; /* threads of the pool, the caller not counted */
  int32_t sleeping;
  aotc_threads_work work;
  void *arguments;
  LINE uint32_t published;
  LINE int32_t arrived;
  LINE uint32_t round; /* how often all have arrived */
  LINE int32_t status[AOTC_THREADS_MAX];
  uint32_t latest[AOTC_THREADS_MAX]; /* the call before a thread was created */
} pool = {.turn = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void spin(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ volatile("yield" ::: "memory");
#endif
}

/* What `word` is when it is no longer `seen`, or `seen` after so many tries; `yields` below 0: as many as it takes. */
static uint32_t wait_for_change(const uint32_t *word, uint32_t seen, int32_t yields) {
  uint32_t now;
  for (int32_t i = 0; i < kSpins; ++i) {
    if ((now = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != seen) return now;
    spin();
  }
  for (int32_t i = 0; i != yields; i += yields > 0) {
    if ((now = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != seen) return now;
    sched_yield();
  }
  return seen;
}

static uint32_t next_call(uint32_t seen) {
  uint32_t now = wait_for_change(&pool.published, seen, kYields);
  if (now != seen) return now;
  pthread_mutex_lock(&pool.idle);
  __atomic_fetch_add(&pool.sleeping, 1, __ATOMIC_SEQ_CST);
  while ((now = __atomic_load_n(&pool.published, __ATOMIC_SEQ_CST)) == seen) pthread_cond_wait(&pool.wake, &pool.idle);
  __atomic_fetch_sub(&pool.sleeping, 1, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&pool.idle);
  return now;
}

static void publish(uint32_t word) {
  __atomic_store_n(&pool.published, word, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&pool.sleeping, __ATOMIC_SEQ_CST) == 0) return;
  pthread_mutex_lock(&pool.idle);
  pthread_cond_broadcast(&pool.wake);
  pthread_mutex_unlock(&pool.idle);
}

void aotc_threads_barrier(int32_t threads) {
  uint32_t round = __atomic_load_n(&pool.round, __ATOMIC_ACQUIRE);
  if (__atomic_add_fetch(&pool.arrived, 1, __ATOMIC_ACQ_REL) == threads) {
    __atomic_store_n(&pool.arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&pool.round, round + 1, __ATOMIC_RELEASE);
  } else {
    wait_for_change(&pool.round, round, -1);
  }
}

static void *serve(void *number) {
  int32_t thread = (int32_t)(intptr_t)number;
  uint32_t call = pool.latest[thread];
  for (;;) {
    call = next_call(call);
    int32_t threads = (int32_t)(call % kCall);
    if (thread >= threads) continue;
    pool.status[thread] = pool.work(pool.arguments, thread);
    aotc_threads_barrier(threads);
  }
  return NULL;
}

static void start_over_after_fork(void) {
  int32_t process = (int32_t)getpid();
  int32_t seen = __atomic_load_n(&pool.process, __ATOMIC_ACQUIRE);
  while (seen != process) {
    if (seen == kStarting) {
      sched_yield();
      seen = __atomic_load_n(&pool.process, __ATOMIC_ACQUIRE);
    } else if (__atomic_compare_exchange_n(&pool.process, &seen, kStarting, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
      pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
      pool.turn = mutex;
      pool.idle = mutex;
      pool.wake = condition;
      pool.started = pool.sleeping = pool.arrived = 0;
      pool.published = 0;
      __atomic_store_n(&pool.process, process, __ATOMIC_RELEASE);
      return;
    }
  }
}

/* Create the threads that are missing; they take no signals, which are for the application's threads. */
static int32_t start(int32_t threads) {
  sigset_t all, before;
  if (pool.started >= threads - 1) return 0;
  if (threads > AOTC_THREADS_MAX) return AOTC_THREADS_NONE;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (pool.started < threads - 1) {
    pthread_t thread;
    pool.latest[pool.started + 1] = pool.published;
    if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)(pool.started + 1)) != 0) break;
    ++pool.started;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return pool.started >= threads - 1 ? 0 : AOTC_THREADS_NONE;
}

int32_t aotc_threads_run(int32_t threads, aotc_threads_work work, void *arguments) {
  start_over_after_fork();
  pthread_mutex_lock(&pool.turn);
  int32_t status = start(threads);
  if (status == 0) {
    pool.work = work;
    pool.arguments = arguments;
    publish(pool.published - pool.published % kCall + kCall + (uint32_t)threads);
    status = work(arguments, 0);
    aotc_threads_barrier(threads);
    for (int32_t thread = 1; status == 0 && thread < threads; ++thread) status = pool.status[thread];
  }
  pthread_mutex_unlock(&pool.turn);
  return status;
}
