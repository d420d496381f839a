; aotc_threads.c for objects that aotc writes itself; see there what it does. Memory of the C library's types is zeros,
; as their initial values are on Linux, and has room for any of them. PAUSE stands for the processor's instruction, iPTR
; for the integer as wide as a pointer.

%pool = type {
  [64 x i8], [64 x i8], [64 x i8],           ;  0 idle, wake, finished
  i32, i32, i32, i32, [48 x i8],             ;  3 process, started, alone, until
  i32, i32, [56 x i8],                       ;  8 busy, waiting
  i32, [60 x i8],                            ; 11 sleeping
  [8 x i8], [8 x i8], [8 x i8], i32,         ; 13 published, work, arguments, phase
  [36 x i8],
  [64 x %share],                             ; 18 shares
  i32                                        ; 19 processors
}
; 0 taken, latest; 3 done, status
%share = type { [8 x i8], [8 x i8], [48 x i8], [8 x i8], i32, [52 x i8] }

@aotc_threads_pool = weak_odr hidden global %pool zeroinitializer, align 64

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sched_yield()
declare i32 @sched_getaffinity(i32, iPTR, ptr)
declare i32 @getpid()
declare i32 @clock_gettime(i32, ptr)
declare void @llvm.memset.p0.i32(ptr, i8, i32, i1)
declare i64 @llvm.ctpop.i64(i64)

define internal i32 @aotc.threads.milliseconds() nounwind {
  %now = alloca { iPTR, iPTR }, align 8
  %1 = call i32 @clock_gettime(i32 1, ptr %now)
  %fraction.at = getelementptr { iPTR, iPTR }, ptr %now, i32 0, i32 1
  %seconds = load iPTR, ptr %now
  %nanoseconds = load iPTR, ptr %fraction.at
  %thousands = mul iPTR %seconds, 1000
  %fraction = sdiv iPTR %nanoseconds, 1000000
  %sum = add iPTR %thousands, %fraction
  %pointer = inttoptr iPTR %sum to ptr
  %milliseconds = ptrtoint ptr %pointer to i32
  ret i32 %milliseconds
}

define internal i32 @aotc.threads.workers(i32 %shares) nounwind {
  %at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 19
  %processors = load i32, ptr %at, align 4
  %few = icmp slt i32 %shares, %processors
  %workers = select i1 %few, i32 %shares, i32 %processors
  ret i32 %workers
}

define internal i1 @aotc.threads.take(i32 %thread, iPTR %call) nounwind {
  %taken = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 18, i32 %thread, i32 0
  %before = load atomic iPTR, ptr %taken acquire, align 8
  %ahead = sub iPTR %call, %before
  %later = icmp sgt iPTR %ahead, 0
  br i1 %later, label %try, label %no
try:
  %pair = cmpxchg ptr %taken, iPTR %before, iPTR %call acq_rel monotonic, align 8
  %won = extractvalue { iPTR, i1 } %pair, 1
  ret i1 %won
no:
  ret i1 false
}

; --- a thread of the pool ---

define internal iPTR @aotc.threads.next_phase(iPTR %seen) nounwind {
entry:
  %idle = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 0
  %wake = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 1
  %sleeping = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 11
  %published = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 13
  br label %look
look:
  %i = phi i32 [ 0, %entry ], [ %i.next, %again ]
  %early = load atomic iPTR, ptr %published acquire, align 8
  %changed = icmp ne iPTR %early, %seen
  br i1 %changed, label %found, label %wait
wait:
  %spinning = icmp slt i32 %i, 1000
  br i1 %spinning, label %spin, label %yield
spin:
  PAUSE
  br label %again
yield:
  %0 = call i32 @sched_yield()
  br label %again
again:
  %i.next = add i32 %i, 1
  %patient = icmp slt i32 %i.next, 2000
  br i1 %patient, label %look, label %sleep
sleep:
  %1 = call i32 @pthread_mutex_lock(ptr %idle)
  br label %asleep
asleep:
  store atomic i32 1, ptr %sleeping seq_cst, align 4
  %late = load atomic iPTR, ptr %published seq_cst, align 8
  %come = icmp ne iPTR %late, %seen
  br i1 %come, label %rise, label %on
on:
  %2 = call i32 @pthread_cond_wait(ptr %wake, ptr %idle)
  br label %asleep
rise:
  %3 = call i32 @pthread_mutex_unlock(ptr %idle)
  ret iPTR %late
found:
  ret iPTR %early
}

define internal ptr @aotc.threads.serve(ptr %number) nounwind {
entry:
  %idle = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 0
  %finished = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 2
  %phase.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 16
  %waiting.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 9
  %work.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 14
  %arguments.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 15
  %first = ptrtoint ptr %number to i32
  %latest.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 18, i32 %first, i32 1
  %latest = load iPTR, ptr %latest.at, align 8
  br label %next
next:
  %seen = phi iPTR [ %latest, %entry ], [ %call, %next ], [ %call, %more ]
  %call = call iPTR @aotc.threads.next_phase(iPTR %seen)
  %low = and iPTR %call, 127
  %pointer = inttoptr iPTR %low to ptr
  %shares = ptrtoint ptr %pointer to i32
  %step = call i32 @aotc.threads.workers(i32 %shares)
  %needed = icmp slt i32 %first, %step
  br i1 %needed, label %try, label %next
try:
  %thread = phi i32 [ %first, %next ], [ %thread.next, %more ]
  %mine = call i1 @aotc.threads.take(i32 %thread, iPTR %call)
  br i1 %mine, label %share, label %more
share:
  %done.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 18, i32 %thread, i32 3
  %status.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 18, i32 %thread, i32 4
  %work = load ptr, ptr %work.at
  %arguments = load ptr, ptr %arguments.at
  %phase = load i32, ptr %phase.at
  %status = call i32 %work(ptr %arguments, i32 %thread, i32 %phase)
  store i32 %status, ptr %status.at, align 4
  store atomic iPTR %call, ptr %done.at seq_cst, align 8
  %waiting = load atomic i32, ptr %waiting.at seq_cst, align 4
  %wanted = icmp ne i32 %waiting, 0
  br i1 %wanted, label %tell, label %more
tell:
  %0 = call i32 @pthread_mutex_lock(ptr %idle)
  %1 = call i32 @pthread_cond_signal(ptr %finished)
  %2 = call i32 @pthread_mutex_unlock(ptr %idle)
  br label %more
more:
  %thread.next = add i32 %thread, %step
  %left = icmp slt i32 %thread.next, %shares
  br i1 %left, label %try, label %next
}

; --- the caller ---

define internal void @aotc.threads.publish(iPTR %call) nounwind {
  %idle = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 0
  %wake = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 1
  %sleeping = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 11
  %published = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 13
  store atomic iPTR %call, ptr %published release, align 8
  %asleep = load atomic i32, ptr %sleeping monotonic, align 4
  %none = icmp eq i32 %asleep, 0
  br i1 %none, label %done, label %rouse
rouse:
  %1 = call i32 @pthread_mutex_lock(ptr %idle)
  store atomic i32 0, ptr %sleeping seq_cst, align 4
  %2 = call i32 @pthread_cond_broadcast(ptr %wake)
  %3 = call i32 @pthread_mutex_unlock(ptr %idle)
  br label %done
done:
  ret void
}

define internal i32 @aotc.threads.result(i32 %thread, iPTR %call) nounwind {
entry:
  %idle = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 0
  %finished = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 2
  %alone = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 5
  %until = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 6
  %waiting = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 9
  %done.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 18, i32 %thread, i32 3
  %status.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 18, i32 %thread, i32 4
  br label %look
look:
  %i = phi i32 [ 0, %entry ], [ %i.next, %spin ]
  %early = load atomic iPTR, ptr %done.at acquire, align 8
  %soon = icmp eq iPTR %early, %call
  br i1 %soon, label %done, label %spin
spin:
  PAUSE
  %i.next = add i32 %i, 1
  %patient = icmp slt i32 %i.next, 1000
  br i1 %patient, label %look, label %sleep
sleep:
  %since = call i32 @aotc.threads.milliseconds()
  %0 = call i32 @pthread_mutex_lock(ptr %idle)
  store atomic i32 1, ptr %waiting seq_cst, align 4
  br label %asleep
asleep:
  %late = load atomic iPTR, ptr %done.at seq_cst, align 8
  %come = icmp eq iPTR %late, %call
  br i1 %come, label %rise, label %on
on:
  %1 = call i32 @pthread_cond_wait(ptr %finished, ptr %idle)
  br label %asleep
rise:
  store atomic i32 0, ptr %waiting seq_cst, align 4
  %2 = call i32 @pthread_mutex_unlock(ptr %idle)
  %now = call i32 @aotc.threads.milliseconds()
  %stalled = sub i32 %now, %since
  %long = icmp uge i32 %stalled, 2
  br i1 %long, label %give.up, label %done
give.up:
  %short = icmp ult i32 %stalled, 62
  %multiple = mul i32 %stalled, 16
  %time = select i1 %short, i32 %multiple, i32 1000
  %end = add i32 %now, %time
  store atomic i32 %end, ptr %until monotonic, align 4
  store atomic i32 1, ptr %alone monotonic, align 4
  br label %done
done:
  %status = load i32, ptr %status.at, align 4
  ret i32 %status
}

define internal i32 @aotc.threads.run_together(i32 %threads, ptr %work, ptr %arguments, i32 %phase, iPTR %call,
                                               ptr %came.at) nounwind {
entry:
  %phase.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 16
  %workers = call i32 @aotc.threads.workers(i32 %threads)
  store i32 %phase, ptr %phase.at
  call void @aotc.threads.publish(iPTR %call)
  %own = call i32 %work(ptr %arguments, i32 0, i32 %phase)
  br label %loop
loop:
  %thread = phi i32 [ 1, %entry ], [ %thread.next, %collect ]
  %status = phi i32 [ %own, %entry ], [ %status.next, %collect ]
  %more = icmp slt i32 %thread, %threads
  br i1 %more, label %expect, label %leave
expect:
  %done.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 18, i32 %thread, i32 3
  %came = load i64, ptr %came.at
  %shift = zext i32 %thread to i64
  %bit = shl i64 1, %shift
  %masked = and i64 %came, %bit
  %came.before = icmp ne i64 %masked, 0
  %turn = urem i32 %thread, %workers
  %other = icmp ne i32 %turn, 0
  %awaited = and i1 %came.before, %other
  br i1 %awaited, label %look, label %try
look:
  %i = phi i32 [ 0, %expect ], [ %i.next, %spin ]
  %done = load atomic iPTR, ptr %done.at acquire, align 8
  %here = icmp eq iPTR %done, %call
  br i1 %here, label %wait, label %spin
spin:
  PAUSE
  %i.next = add i32 %i, 1
  %patient = icmp slt i32 %i.next, 50
  br i1 %patient, label %look, label %try
try:
  %mine = call i1 @aotc.threads.take(i32 %thread, iPTR %call)
  br i1 %mine, label %do, label %wait
do:
  %mine.status = call i32 %work(ptr %arguments, i32 %thread, i32 %phase)
  %inverse = xor i64 %bit, -1
  %without = and i64 %came, %inverse
  br label %collect
wait:
  %other.status = call i32 @aotc.threads.result(i32 %thread, iPTR %call)
  %with = or i64 %came, %bit
  br label %collect
collect:
  %found = phi i32 [ %mine.status, %do ], [ %other.status, %wait ]
  %came.next = phi i64 [ %without, %do ], [ %with, %wait ]
  store i64 %came.next, ptr %came.at
  %good = icmp eq i32 %status, 0
  %status.next = select i1 %good, i32 %found, i32 %status
  %thread.next = add i32 %thread, 1
  br label %loop
leave:
  ret i32 %status
}

define internal i32 @aotc.threads.run_alone(i32 %threads, ptr %work, ptr %arguments, i32 %phase) nounwind {
entry:
  br label %loop
loop:
  %thread = phi i32 [ 0, %entry ], [ %thread.next, %share ]
  %status = phi i32 [ 0, %entry ], [ %found, %share ]
  %good = icmp eq i32 %status, 0
  %more = icmp slt i32 %thread, %threads
  %go.on = and i1 %good, %more
  br i1 %go.on, label %share, label %leave
share:
  %found = call i32 %work(ptr %arguments, i32 %thread, i32 %phase)
  %thread.next = add i32 %thread, 1
  br label %loop
leave:
  ret i32 %status
}

define internal i32 @aotc.threads.count_processors() nounwind {
entry:
  %set = alloca [128 x i8], align 8
  call void @llvm.memset.p0.i32(ptr align 8 %set, i8 0, i32 128, i1 false)
  %failed = call i32 @sched_getaffinity(i32 0, iPTR 128, ptr %set)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %word, label %unknown
word:
  %i = phi i32 [ 0, %entry ], [ %i.next, %word ]
  %count = phi i64 [ 0, %entry ], [ %count.next, %word ]
  %at = getelementptr i64, ptr %set, i32 %i
  %bits = load i64, ptr %at, align 8
  %more = call i64 @llvm.ctpop.i64(i64 %bits)
  %count.next = add i64 %count, %more
  %i.next = add i32 %i, 1
  %left = icmp slt i32 %i.next, 16
  br i1 %left, label %word, label %counted
counted:
  %processors = trunc i64 %count.next to i32
  ret i32 %processors
unknown:
  ret i32 64
}

define internal void @aotc.threads.start_over_after_fork() nounwind {
entry:
  %at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 3
  %process = call i32 @getpid()
  br label %look
look:
  %seen = load atomic i32, ptr %at acquire, align 4
  %known = icmp eq i32 %seen, %process
  br i1 %known, label %done, label %unknown
unknown:
  %starting = icmp eq i32 %seen, -1
  br i1 %starting, label %wait, label %take
wait:
  %0 = call i32 @sched_yield()
  br label %look
take:
  %taken = cmpxchg ptr %at, i32 %seen, i32 -1 acq_rel acquire
  %won = extractvalue { i32, i1 } %taken, 1
  br i1 %won, label %reset, label %look
reset:
  %started = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 4
  %alone = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 5
  %busy = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 8
  %waiting = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 9
  %sleeping = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 11
  call void @llvm.memset.p0.i32(ptr align 64 @aotc_threads_pool, i8 0, i32 192, i1 false)
  %processors.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 19
  %processors = call i32 @aotc.threads.count_processors()
  store i32 %processors, ptr %processors.at, align 4
  store i32 0, ptr %started, align 4
  store i32 0, ptr %alone, align 4
  store i32 0, ptr %busy, align 4
  store i32 0, ptr %waiting, align 4
  store i32 0, ptr %sleeping, align 4
  store atomic i32 %process, ptr %at release, align 4
  ret void
done:
  ret void
}

define internal i1 @aotc.threads.start(i32 %threads) nounwind {
entry:
  %all = alloca [128 x i8], align 16
  %before = alloca [128 x i8], align 16
  %created = alloca ptr
  %at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 4
  %published.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 13
  %workers = call i32 @aotc.threads.workers(i32 %threads)
  %needed = add i32 %workers, -1
  %there = load i32, ptr %at, align 4
  %many = icmp sgt i32 %threads, 64
  br i1 %many, label %none, label %check
check:
  %enough = icmp sge i32 %there, %needed
  br i1 %enough, label %done, label %begin
begin:
  %0 = call i32 @sigfillset(ptr %all)
  %1 = call i32 @pthread_sigmask(i32 2, ptr %all, ptr %before)
  br label %more
more:
  %started = phi i32 [ %there, %begin ], [ %number, %grown ]
  %missing = icmp slt i32 %started, %needed
  br i1 %missing, label %create, label %end
create:
  %number = add i32 %started, 1
  %published = load atomic iPTR, ptr %published.at monotonic, align 8
  %latest = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 18, i32 %number, i32 1
  store iPTR %published, ptr %latest, align 8
  %argument = inttoptr i32 %number to ptr
  %failed = call i32 @pthread_create(ptr %created, ptr null, ptr @aotc.threads.serve, ptr %argument)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %grown, label %end
grown:
  store i32 %number, ptr %at, align 4
  br label %more
end:
  %2 = call i32 @pthread_sigmask(i32 2, ptr %before, ptr null)
  br i1 %missing, label %none, label %done
none:
  ret i1 false
done:
  ret i1 true
}

define internal i1 @aotc.threads.enter(i32 %threads) nounwind {
entry:
  %workers = call i32 @aotc.threads.workers(i32 %threads)
  %single = icmp slt i32 %workers, 2
  br i1 %single, label %no, label %several
several:
  %alone.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 5
  %until.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 6
  %busy.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 8
  %alone = load atomic i32, ptr %alone.at monotonic, align 4
  %free = icmp eq i32 %alone, 0
  br i1 %free, label %ask, label %look
look:
  %now = call i32 @aotc.threads.milliseconds()
  %until = load atomic i32, ptr %until.at monotonic, align 4
  %left = sub i32 %now, %until
  %early = icmp slt i32 %left, 0
  br i1 %early, label %no, label %try.again
try.again:
  store atomic i32 0, ptr %alone.at monotonic, align 4
  br label %ask
ask:
  %busy = atomicrmw xchg ptr %busy.at, i32 1 acquire, align 4
  %others = icmp ne i32 %busy, 0
  br i1 %others, label %no, label %begin
begin:
  %ready = call i1 @aotc.threads.start(i32 %threads)
  br i1 %ready, label %yes, label %leave
leave:
  store atomic i32 0, ptr %busy.at release, align 4
  br label %no
no:
  ret i1 false
yes:
  ret i1 true
}

define weak_odr hidden i32 @aotc_threads_run(i32 %threads, ptr %work, ptr %arguments, i32 %phases) nounwind noinline {
entry:
  %came = alloca i64, align 8
  %busy.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 8
  %work.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 14
  %arguments.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 15
  %published.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 13
  store i64 -1, ptr %came
  call void @aotc.threads.start_over_after_fork()
  %together = call i1 @aotc.threads.enter(i32 %threads)
  br i1 %together, label %prepare, label %before
prepare:
  store ptr %work, ptr %work.at
  store ptr %arguments, ptr %arguments.at
  %published = load atomic iPTR, ptr %published.at monotonic, align 8
  %number = and iPTR %published, -128
  %pointer = inttoptr i32 %threads to ptr
  %count = ptrtoint ptr %pointer to iPTR
  %latest = or iPTR %number, %count
  br label %shares
shares:
  %thread = phi i32 [ 1, %prepare ], [ %thread.next, %reset ]
  %more = icmp slt i32 %thread, %threads
  br i1 %more, label %reset, label %before
reset:
  %taken.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 18, i32 %thread, i32 0
  store atomic iPTR %published, ptr %taken.at release, align 8
  %thread.next = add i32 %thread, 1
  br label %shares
before:
  %phase = phi i32 [ 0, %entry ], [ 0, %shares ], [ %phase.next, %after ]
  %call.before = phi iPTR [ 0, %entry ], [ %latest, %shares ], [ %call, %after ]
  %call = add iPTR %call.before, 128
  %first = call i32 %work(ptr %arguments, i32 -1, i32 %phase)
  %good = icmp eq i32 %first, 0
  %left = icmp slt i32 %phase, %phases
  %go.on = and i1 %good, %left
  br i1 %go.on, label %do, label %leave
do:
  br i1 %together, label %do.together, label %do.alone
do.together:
  %shared = call i32 @aotc.threads.run_together(i32 %threads, ptr %work, ptr %arguments, i32 %phase, iPTR %call,
                                                ptr %came)
  br label %after
do.alone:
  %own = call i32 @aotc.threads.run_alone(i32 %threads, ptr %work, ptr %arguments, i32 %phase)
  br label %after
after:
  %found = phi i32 [ %shared, %do.together ], [ %own, %do.alone ]
  %phase.next = add i32 %phase, 1
  %fine = icmp eq i32 %found, 0
  br i1 %fine, label %before, label %leave
leave:
  %status = phi i32 [ %first, %before ], [ %found, %after ]
  br i1 %together, label %release, label %done
release:
  store atomic i32 0, ptr %busy.at release, align 4
  br label %done
done:
  ret i32 %status
}
