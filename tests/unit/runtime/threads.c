/* The pool: who works on what, barriers within a call, calls from several threads, growth, statuses, a fork. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aotc_threads.h"
#include "check.h"

enum { kRounds = 50, kMost = 5 };

typedef struct {
  int32_t threads;
  int32_t fail;              /* the first thread that fails, or more than there are */
  int32_t seen[kMost];       /* how often each thread came */
  int32_t values[2][kMost];  /* written in one round, read in the next */
} Job;

static int32_t work(void *arguments, int32_t thread) {
  Job *job = arguments;
  ++job->seen[thread];
  for (int32_t round = 1; round <= kRounds; ++round) {
    job->values[round % 2][thread] = round * 100 + thread;
    aotc_threads_barrier(job->threads);
    for (int32_t other = 0; other < job->threads; ++other) {
      if (job->values[round % 2][other] != round * 100 + other) return 99;
    }
  }
  return thread >= job->fail ? 10 + thread : 0;
}

static void call(int32_t threads) {
  Job job = {.threads = threads, .fail = kMost};
  CHECK(aotc_threads_run(threads, work, &job) == 0);
  for (int32_t thread = 0; thread < kMost; ++thread) CHECK(job.seen[thread] == (thread < threads));
}

static void *calls(void *threads) {
  for (int i = 0; i < 20; ++i) call(*(int32_t *)threads);
  return NULL;
}

int main(void) {
  static int32_t counts[] = {2, 3, 4, 2};
  pthread_t callers[4];
  for (int32_t threads = 2; threads <= kMost; ++threads) call(threads);
  for (int32_t threads = kMost; threads >= 1; --threads) call(threads);
  usleep(20000); /* all are asleep */
  call(3);
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&callers[i], NULL, calls, &counts[i]) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(callers[i], NULL) == 0);

  Job job = {.threads = 4, .fail = 2};
  CHECK(aotc_threads_run(4, work, &job) == 12);
  CHECK(aotc_threads_run(AOTC_THREADS_MAX + 1, work, &job) == AOTC_THREADS_NONE);
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
