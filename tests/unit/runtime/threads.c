/* The pool: who works on what, phases, calls from several threads, growth, statuses, sleep, a fork; on as many
 * processors as the argument says. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aotc_threads.h"
#include "check.h"

enum { kPhases = 50, kMost = 5 };

static int processors;

/* In place of the C library's. */
int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set) {
  if (process != 0 || size < sizeof(*set) || processors == 0) return -1;
  CPU_ZERO(set);
  for (int i = 0; i < processors; ++i) CPU_SET(2 * i + 1, set);
  return 0;
}

typedef struct {
  int32_t threads;
  int32_t fail;              /* the first share that fails, or more than there are */
  int32_t fail_in;           /* the phase in which it does */
  int32_t slow;              /* microseconds that every share but the first takes */
  int32_t alone;             /* how often one thread came before a phase */
  int32_t last;              /* the latest phase */
  int32_t seen[kMost];       /* how often each share was done */
  int32_t values[2][kMost];  /* written in one phase, read in the next */
} Job;

static int32_t work(void *arguments, int32_t thread, int32_t phase) {
  Job *job = arguments;
  if (thread < 0) {
    if (phase != job->alone++) return 98;
    return job->fail < 0 && phase == job->fail_in ? 7 : 0;
  }
  if (phase != job->alone - 1) return 97;
  ++job->seen[thread];
  for (int32_t other = 0; phase > 0 && other < job->threads; ++other) {
    if (job->values[(phase - 1) % 2][other] != phase * 100 - 100 + other) return 99;
  }
  job->values[phase % 2][thread] = phase * 100 + thread;
  if (thread > 0 && job->slow > 0) usleep((useconds_t)job->slow);
  return phase == job->fail_in && thread >= job->fail ? 10 + thread : 0;
}

static Job job_of(int32_t threads) {
  Job job = {.threads = threads, .fail = kMost, .fail_in = kPhases};
  return job;
}

static void call(int32_t threads) {
  Job job = job_of(threads);
  CHECK(aotc_threads_run(threads, work, &job, kPhases) == 0);
  CHECK(job.alone == kPhases + 1);
  for (int32_t thread = 0; thread < kMost; ++thread) CHECK(job.seen[thread] == (thread < threads ? kPhases : 0));
}

static void *calls(void *threads) {
  for (int i = 0; i < 100; ++i) call(*(int32_t *)threads);
  return NULL;
}

/* Whatever a thread of the pool does meanwhile: it sleeps, and the caller waits for it asleep. */
static void slow(int32_t threads) {
  Job job = job_of(threads);
  job.slow = 3000;
  CHECK(aotc_threads_run(threads, work, &job, 3) == 0);
  call(threads); /* alone, maybe */
  usleep(60000);
  call(threads);
}

static void failures(void) {
  Job job = job_of(4);
  job.fail = 2, job.fail_in = 3;
  CHECK(aotc_threads_run(4, work, &job, kPhases) == 12 && job.alone == 4);
  job = job_of(4);
  job.fail = -1, job.fail_in = 5;
  CHECK(aotc_threads_run(4, work, &job, kPhases) == 7 && job.alone == 6 && job.seen[0] == 5);
  job = job_of(2);
  job.fail = -1;
  CHECK(aotc_threads_run(2, work, &job, kPhases) == 7 && job.seen[1] == kPhases);
}

static int32_t count(void *arguments, int32_t thread, int32_t phase) {
  if (thread < 0) return 0;
  return ++((int32_t *)arguments)[thread] == phase + 1 ? 0 : 1;
}

typedef struct {
  pthread_t by[kMost];
} Doers;

static int32_t note(void *arguments, int32_t thread, int32_t phase) {
  Doers *doers = arguments;
  (void)phase;
  if (thread < 0) return 0;
  doers->by[thread] = pthread_self();
  usleep(20000);
  return 0;
}

/* No more threads than processors: thread t of so many does the shares t, t + processors, .., if it comes in time. */
static void few_processors(void) {
  Doers doers;
  CHECK(aotc_threads_run(kMost, note, &doers, 1) == 0);
  int different = 0;
  for (int i = 0; i < kMost; ++i) {
    int known = 0;
    for (int j = 0; j < i; ++j) known |= pthread_equal(doers.by[i], doers.by[j]);
    different += !known;
  }
  CHECK(different <= (processors == 0 ? kMost : processors));
  CHECK(pthread_equal(doers.by[0], pthread_self()));
  if (processors > 0 && processors < kMost) CHECK(pthread_equal(doers.by[processors], pthread_self()));
}

int main(int argc, char **argv) {
  processors = argc > 1 ? atoi(argv[1]) : 0;
  static int32_t counts[] = {2, 3, 4, 2};
  static int32_t many[AOTC_THREADS_MAX + 1];
  pthread_t callers[4];
  for (int32_t threads = 2; threads <= kMost; ++threads) call(threads);
  for (int32_t threads = kMost; threads >= 1; --threads) call(threads);
  usleep(20000); /* all are asleep */
  call(3);
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&callers[i], NULL, calls, &counts[i]) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(callers[i], NULL) == 0);
  few_processors();
  slow(3);
  failures();
  CHECK(aotc_threads_run(AOTC_THREADS_MAX + 1, count, many, 3) == 0); /* more than the pool can have: alone */
  for (int32_t thread = 0; thread <= AOTC_THREADS_MAX; ++thread) CHECK(many[thread] == 3);
  CHECK(aotc_threads_run(AOTC_THREADS_MAX, count, many, 0) == 0 && many[0] == 3);
#ifndef NO_FORK
  pid_t child = fork();
  if (child == 0) {
    call(3);
    call(2);
    _exit(0);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
#endif
  call(2);
  return 0;
}
