; aotc_threads.c for objects that aotc writes itself; see there what it does. Memory of the C library's types is zeros,
; as their initial values are on Linux, and has room for any of them. PAUSE stands for the processor's instruction.

%pool = type {
  [64 x i8], [64 x i8], [64 x i8],       ;  0 turn, idle, wake
  i32, i32, i32, ptr, ptr, [64 x i8],    ;  3 process, started, sleeping, work, arguments
  i32, [60 x i8],                        ;  9 published
  i32, [60 x i8],                        ; 11 arrived
  i32, [60 x i8],                        ; 13 round
  [64 x i32], [64 x i32]                 ; 15 status, latest
}

@aotc_threads_pool = weak_odr hidden global %pool zeroinitializer, align 64

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sched_yield()
declare i32 @getpid()
declare void @llvm.memset.p0.i32(ptr, i8, i32, i1)

define internal i32 @aotc.threads.wait(ptr %word, i32 %seen, i32 %yields) nounwind {
entry:
  br label %spin
spin:
  %i = phi i32 [ 0, %entry ], [ %i.next, %spin.more ]
  %a = load atomic i32, ptr %word acquire, align 4
  %a.changed = icmp ne i32 %a, %seen
  br i1 %a.changed, label %changed, label %spin.more
spin.more:
  PAUSE
  %i.next = add i32 %i, 1
  %spinning = icmp slt i32 %i.next, 2000
  br i1 %spinning, label %spin, label %yield
yield:
  %j = phi i32 [ 0, %spin.more ], [ %j.next, %yield.more ]
  %tired = icmp eq i32 %j, %yields
  br i1 %tired, label %unchanged, label %yield.look
yield.look:
  %b = load atomic i32, ptr %word acquire, align 4
  %b.changed = icmp ne i32 %b, %seen
  br i1 %b.changed, label %changed, label %yield.more
yield.more:
  %0 = call i32 @sched_yield()
  %counts = icmp sgt i32 %yields, 0
  %one = zext i1 %counts to i32
  %j.next = add i32 %j, %one
  br label %yield
changed:
  %now = phi i32 [ %a, %spin ], [ %b, %yield.look ]
  ret i32 %now
unchanged:
  ret i32 %seen
}

define internal i32 @aotc.threads.next_call(i32 %seen) nounwind {
  %published = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 9
  %idle = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 1
  %wake = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 2
  %sleeping = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 5
  %early = call i32 @aotc.threads.wait(ptr %published, i32 %seen, i32 1000)
  %awake = icmp ne i32 %early, %seen
  br i1 %awake, label %done, label %sleep
sleep:
  %1 = call i32 @pthread_mutex_lock(ptr %idle)
  %2 = atomicrmw add ptr %sleeping, i32 1 seq_cst, align 4
  br label %look
look:
  %now = load atomic i32, ptr %published seq_cst, align 4
  %changed = icmp ne i32 %now, %seen
  br i1 %changed, label %rise, label %on
on:
  %3 = call i32 @pthread_cond_wait(ptr %wake, ptr %idle)
  br label %look
rise:
  %4 = atomicrmw sub ptr %sleeping, i32 1 seq_cst, align 4
  %5 = call i32 @pthread_mutex_unlock(ptr %idle)
  br label %done
done:
  %result = phi i32 [ %early, %0 ], [ %now, %rise ]
  ret i32 %result
}

define internal void @aotc.threads.publish(i32 %word) nounwind {
  %published = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 9
  %idle = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 1
  %wake = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 2
  %sleeping = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 5
  store atomic i32 %word, ptr %published seq_cst, align 4
  %asleep = load atomic i32, ptr %sleeping seq_cst, align 4
  %none = icmp eq i32 %asleep, 0
  br i1 %none, label %done, label %rouse
rouse:
  %1 = call i32 @pthread_mutex_lock(ptr %idle)
  %2 = call i32 @pthread_cond_broadcast(ptr %wake)
  %3 = call i32 @pthread_mutex_unlock(ptr %idle)
  br label %done
done:
  ret void
}

define weak_odr hidden void @aotc_threads_barrier(i32 %threads) nounwind noinline {
  %arrived = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 11
  %round = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 13
  %this = load atomic i32, ptr %round acquire, align 4
  %before = atomicrmw add ptr %arrived, i32 1 acq_rel, align 4
  %count = add i32 %before, 1
  %last = icmp eq i32 %count, %threads
  br i1 %last, label %release, label %wait
release:
  store atomic i32 0, ptr %arrived monotonic, align 4
  %next = add i32 %this, 1
  store atomic i32 %next, ptr %round release, align 4
  ret void
wait:
  %1 = call i32 @aotc.threads.wait(ptr %round, i32 %this, i32 -1)
  ret void
}

define internal ptr @aotc.threads.serve(ptr %number) nounwind {
entry:
  %thread = ptrtoint ptr %number to i32
  %latest = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 16, i32 %thread
  %first = load i32, ptr %latest, align 4
  %work.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 6
  %arguments.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 7
  %status.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 15, i32 %thread
  br label %next
next:
  %seen = phi i32 [ %first, %entry ], [ %call, %next ], [ %call, %share ]
  %call = call i32 @aotc.threads.next_call(i32 %seen)
  %threads = and i32 %call, 127
  %mine = icmp slt i32 %thread, %threads
  br i1 %mine, label %share, label %next
share:
  %work = load ptr, ptr %work.at
  %arguments = load ptr, ptr %arguments.at
  %status = call i32 %work(ptr %arguments, i32 %thread)
  store i32 %status, ptr %status.at, align 4
  call void @aotc_threads_barrier(i32 %threads)
  br label %next
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
  call void @llvm.memset.p0.i32(ptr align 64 @aotc_threads_pool, i8 0, i32 192, i1 false)
  %started = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 4
  %sleeping = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 5
  %published = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 9
  %arrived = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 11
  store i32 0, ptr %started, align 4
  store i32 0, ptr %sleeping, align 4
  store i32 0, ptr %published, align 4
  store i32 0, ptr %arrived, align 4
  store atomic i32 %process, ptr %at release, align 4
  ret void
done:
  ret void
}

define internal i32 @aotc.threads.start(i32 %threads) nounwind {
entry:
  %all = alloca [128 x i8], align 16
  %before = alloca [128 x i8], align 16
  %created = alloca ptr
  %at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 4
  %published.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 9
  %needed = add i32 %threads, -1
  %there = load i32, ptr %at, align 4
  %enough = icmp sge i32 %there, %needed
  br i1 %enough, label %done, label %check
check:
  %many = icmp sgt i32 %threads, 64
  br i1 %many, label %none, label %begin
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
  %published = load i32, ptr %published.at, align 4
  %latest = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 16, i32 %number
  store i32 %published, ptr %latest, align 4
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
  ret i32 -12
done:
  ret i32 0
}

define weak_odr hidden i32 @aotc_threads_run(i32 %threads, ptr %work, ptr %arguments) nounwind noinline {
entry:
  %work.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 6
  %arguments.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 7
  %published.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 9
  call void @aotc.threads.start_over_after_fork()
  %0 = call i32 @pthread_mutex_lock(ptr @aotc_threads_pool)
  %started = call i32 @aotc.threads.start(i32 %threads)
  %fine = icmp eq i32 %started, 0
  br i1 %fine, label %share, label %leave
share:
  store ptr %work, ptr %work.at
  store ptr %arguments, ptr %arguments.at
  %published = load i32, ptr %published.at, align 4
  %call = and i32 %published, -128
  %next = add i32 %call, 128
  %word = or i32 %next, %threads
  call void @aotc.threads.publish(i32 %word)
  %mine = call i32 %work(ptr %arguments, i32 0)
  call void @aotc_threads_barrier(i32 %threads)
  br label %collect
collect:
  %status = phi i32 [ %mine, %share ], [ %other, %look ]
  %thread = phi i32 [ 1, %share ], [ %thread.next, %look ]
  %good = icmp eq i32 %status, 0
  %left = icmp slt i32 %thread, %threads
  %go.on = and i1 %good, %left
  br i1 %go.on, label %look, label %leave
look:
  %status.at = getelementptr %pool, ptr @aotc_threads_pool, i32 0, i32 15, i32 %thread
  %other = load i32, ptr %status.at, align 4
  %thread.next = add i32 %thread, 1
  br label %collect
leave:
  %result = phi i32 [ %started, %entry ], [ %status, %collect ]
  %1 = call i32 @pthread_mutex_unlock(ptr @aotc_threads_pool)
  ret i32 %result
}
