/* A pool of POSIX threads that wait for shares of work: spinning first, then giving way to others, then asleep. Its
 * twin for objects that aotc writes itself is aotc_threads.ll: change both.
 *
 * A phase is published by one word, its number and how many shares it has. Who begins a share first takes it, by a
 * word of its own: thread t of the pool share t, or the caller, which never waits for a thread that has not begun. So
 * a thread that comes late costs nothing; and one that loses its processor within a share, which the caller must wait
 * for, is not given work again for a multiple of that time. No more threads run than there are processors: where a
 * phase has more shares, each thread has several. Only a caller has what the arguments point to: a thread looks at
 * them after it has taken a share and before that is done. After a fork the child has none of the threads and starts
 * over. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif

#include "aotc_threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

enum {
  kSpins = 1000,   /* tries of a waiting thread before it gives way or sleeps, some 50 microseconds */
  kYields = 1000,  /* of an idle one before it sleeps, about a millisecond */
  kGrace = 50,     /* tries of the caller before it takes the share of a thread that did the one before */
  kStalled = 2,    /* milliseconds asleep that show that a thread was kept from running */
  kAlone = 16,     /* times as long the caller then works alone */
  kLongest = 1000, /* milliseconds of that at most */
  kStarting = -1,  /* in place of a process number */
  kPhase = AOTC_THREADS_MAX * 2 /* the published word is a multiple of it, the phase, plus the number of shares */
};

/* What different threads write is on different cache lines. */
#define LINE __attribute__((aligned(64)))

typedef struct {
  LINE uintptr_t taken; /* the latest phase in which somebody took this share */
  uintptr_t latest;     /* the phase before the thread was created */
  LINE uintptr_t done;  /* the latest phase in which the thread of the pool has done it, */
  int32_t status;       /* with this result */
} Share;

static struct {
  pthread_mutex_t idle;
  pthread_cond_t wake;     /* of threads that wait for a phase */
  pthread_cond_t finished; /* of the caller that waits for a share */
  int32_t process;
  int32_t processors; /* that the process may use */
  int32_t started;    /* threads of the pool, the caller not counted */
  int32_t alone;   /* whether callers work alone, */
  uint32_t until;  /* to this time */
  LINE int32_t busy;     /* a caller has the pool */
  int32_t waiting;       /* and sleeps */
  LINE int32_t sleeping; /* threads sleep that nobody woke yet */
  LINE uintptr_t published;
  aotc_threads_work work;
  void *arguments;
  int32_t phase;
  Share shares[AOTC_THREADS_MAX];
} pool = {.idle = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .finished = PTHREAD_COND_INITIALIZER};

static void spin(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ volatile("yield" ::: "memory");
#endif
}

static uint32_t milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint32_t)now.tv_sec * 1000u + (uint32_t)(now.tv_nsec / 1000000);
}

/* How many threads run, the caller's included, where a phase has so many shares. */
static int32_t workers(int32_t shares) { return shares < pool.processors ? shares : pool.processors; }

/* Whether the caller of this function does share `thread` of phase `call`. A later phase than `call` may have come. */
static int32_t take(int32_t thread, uintptr_t call) {
  uintptr_t *taken = &pool.shares[thread].taken;
  uintptr_t before = __atomic_load_n(taken, __ATOMIC_ACQUIRE);
  return (intptr_t)(call - before) > 0 &&
         __atomic_compare_exchange_n(taken, &before, call, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* --- a thread of the pool --- */

static uintptr_t next_phase(uintptr_t seen) {
  uintptr_t now;
  for (int32_t i = 0; i < kSpins + kYields; ++i) {
    if ((now = __atomic_load_n(&pool.published, __ATOMIC_ACQUIRE)) != seen) return now;
    if (i < kSpins) spin();
    else sched_yield();
  }
  pthread_mutex_lock(&pool.idle);
  for (;;) {
    __atomic_store_n(&pool.sleeping, 1, __ATOMIC_SEQ_CST);
    if ((now = __atomic_load_n(&pool.published, __ATOMIC_SEQ_CST)) != seen) break;
    pthread_cond_wait(&pool.wake, &pool.idle);
  }
  pthread_mutex_unlock(&pool.idle);
  return now;
}

static void *serve(void *number) {
  int32_t first = (int32_t)(intptr_t)number;
  uintptr_t call = pool.shares[first].latest;
  for (;;) {
    call = next_phase(call);
    int32_t shares = (int32_t)(call % kPhase), step = workers(shares);
    for (int32_t thread = first; first < step && thread < shares; thread += step) {
      Share *share = &pool.shares[thread];
      if (!take(thread, call)) continue;
      share->status = pool.work(pool.arguments, thread, pool.phase);
      __atomic_store_n(&share->done, call, __ATOMIC_SEQ_CST);
      if (__atomic_load_n(&pool.waiting, __ATOMIC_SEQ_CST)) {
        pthread_mutex_lock(&pool.idle);
        pthread_cond_signal(&pool.finished);
        pthread_mutex_unlock(&pool.idle);
      }
    }
  }
  return NULL;
}

/* --- the caller --- */

/* A thread that goes to sleep just now may miss this phase, and is woken for the next. */
static void publish(uintptr_t call) {
  __atomic_store_n(&pool.published, call, __ATOMIC_RELEASE);
  if (__atomic_load_n(&pool.sleeping, __ATOMIC_RELAXED) == 0) return;
  pthread_mutex_lock(&pool.idle);
  __atomic_store_n(&pool.sleeping, 0, __ATOMIC_SEQ_CST);
  pthread_cond_broadcast(&pool.wake);
  pthread_mutex_unlock(&pool.idle);
}

/* Wait for a share that a thread of the pool has begun. */
static int32_t result(const Share *share, uintptr_t call) {
  for (int32_t i = 0; i < kSpins; ++i) {
    if (__atomic_load_n(&share->done, __ATOMIC_ACQUIRE) == call) return share->status;
    spin();
  }
  uint32_t since = milliseconds();
  pthread_mutex_lock(&pool.idle);
  __atomic_store_n(&pool.waiting, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&share->done, __ATOMIC_SEQ_CST) != call) pthread_cond_wait(&pool.finished, &pool.idle);
  __atomic_store_n(&pool.waiting, 0, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&pool.idle);
  uint32_t now = milliseconds(), stalled = now - since;
  if (stalled >= kStalled) {
    __atomic_store_n(&pool.until, now + (stalled < kLongest / kAlone ? stalled * kAlone : kLongest), __ATOMIC_RELAXED);
    __atomic_store_n(&pool.alone, 1, __ATOMIC_RELAXED);
  }
  return share->status;
}

/* Threads look at the line of the published word all the time: the caller only writes there. */
static int32_t run_together(int32_t threads, aotc_threads_work work, void *arguments, int32_t phase, uintptr_t call,
                            uint64_t *came) {
  pool.phase = phase;
  publish(call);
  int32_t status = work(arguments, 0, phase);
  for (int32_t thread = 1; thread < threads; ++thread) {
    const Share *share = &pool.shares[thread];
    uint64_t bit = (uint64_t)1 << thread;
    int32_t done = 0, own = thread % workers(threads) == 0;
    for (int32_t i = 0; (*came & bit) && !own && !done && i < kGrace; ++i) {
      if (!(done = __atomic_load_n(&share->done, __ATOMIC_ACQUIRE) == call)) spin();
    }
    int32_t mine = !done && take(thread, call);
    int32_t other = mine ? work(arguments, thread, phase) : result(share, call);
    *came = mine ? *came & ~bit : *came | bit;
    if (status == 0) status = other;
  }
  return status;
}

static int32_t run_alone(int32_t threads, aotc_threads_work work, void *arguments, int32_t phase) {
  int32_t status = 0;
  for (int32_t thread = 0; status == 0 && thread < threads; ++thread) status = work(arguments, thread, phase);
  return status;
}

static int32_t count_processors(void) {
#ifdef CPU_COUNT
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
  return AOTC_THREADS_MAX;
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
      pool.idle = mutex;
      pool.wake = pool.finished = condition;
      pool.processors = count_processors();
      pool.started = pool.alone = pool.busy = pool.waiting = pool.sleeping = 0;
      __atomic_store_n(&pool.process, process, __ATOMIC_RELEASE);
      return;
    }
  }
}

/* Whether there are as many threads, created if need be; they take no signals, which are for the application's. */
static int32_t start(int32_t threads) {
  sigset_t all, before;
  int32_t needed = workers(threads) - 1;
  if (threads > AOTC_THREADS_MAX) return 0;
  if (pool.started >= needed) return 1;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (pool.started < needed) {
    pthread_t thread;
    pool.shares[pool.started + 1].latest = pool.published;
    if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)(pool.started + 1)) != 0) break;
    ++pool.started;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return pool.started >= needed;
}

/* Whether the caller has the pool from now on. */
static int32_t enter(int32_t threads) {
  if (workers(threads) < 2) return 0;
  if (__atomic_load_n(&pool.alone, __ATOMIC_RELAXED)) {
    if ((int32_t)(milliseconds() - __atomic_load_n(&pool.until, __ATOMIC_RELAXED)) < 0) return 0;
    __atomic_store_n(&pool.alone, 0, __ATOMIC_RELAXED);
  }
  if (__atomic_exchange_n(&pool.busy, 1, __ATOMIC_ACQUIRE)) return 0;
  if (start(threads)) return 1;
  __atomic_store_n(&pool.busy, 0, __ATOMIC_RELEASE);
  return 0;
}

int32_t aotc_threads_run(int32_t threads, aotc_threads_work work, void *arguments, int32_t phases) {
  int32_t status = 0, together;
  uint64_t came = ~(uint64_t)0;
  uintptr_t call = 0;
  start_over_after_fork();
  if ((together = enter(threads))) {
    pool.work = work;
    pool.arguments = arguments;
    call = pool.published;
    /* However long nobody had these shares. */
    for (int32_t thread = 1; thread < threads; ++thread) {
      __atomic_store_n(&pool.shares[thread].taken, call, __ATOMIC_RELEASE);
    }
    call += (uintptr_t)threads - call % kPhase;
  }
  for (int32_t phase = 0; status == 0; ++phase) {
    status = work(arguments, -1, phase);
    if (status != 0 || phase == phases) break;
    call += kPhase;
    status = together ? run_together(threads, work, arguments, phase, call, &came)
                      : run_alone(threads, work, arguments, phase);
  }
  if (together) __atomic_store_n(&pool.busy, 0, __ATOMIC_RELEASE);
  return status;
}
