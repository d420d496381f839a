// RUN: aotc-opt %s -p 'run-on-threads' --split-input-file | filecheck %s

// How many phases calls have. `conv` is shared, `relu` is not, `wino` has three phases of its own.

// Calls that one thread makes come one after the other whatever they touch.
// CHECK-LABEL: func.func @aotc_m_run(
// CHECK:         %[[N:.*]] = arith.constant 2 : i32
// CHECK-NEXT:    %[[PHASES:.*]] = arith.constant 1 : i32
// CHECK-NEXT:    func.call @aotc_threads_run(%[[N]], %{{.*}}, %{{.*}}, %[[PHASES]])
builtin.module attributes {aot.name = "m", aot.threads = 2 : i64} {
  func.func private @conv(%x: !aot.ptr<f32> {aot.readonly}, %y: !aot.ptr<f32>) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %t = aot.thread
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func private @relu(%x: !aot.ptr<f32> {aot.readonly}, %y: !aot.ptr<f32>) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func @aotc_m_run(%x: !aot.ptr<f32> {aot.name = "x", aot.io = "input", aot.readonly}, %a: !aot.ptr<f32> {aot.name = "a", aot.io = "output", aot.noalias}, %b: !aot.ptr<f32> {aot.name = "b", aot.io = "output", aot.noalias}) -> i32 attributes {aot.entry, aot.convention = #aot<convention c>} {
    %0 = arith.constant 0 : i32
    %r0 = func.call @conv(%x, %a) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %r0
    %r1 = func.call @relu(%x, %b) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %r1
    %r2 = func.call @relu(%b, %b) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %r2
    func.return %0 : i32
  }
}

// -----

// All threads must have what one of them has written.
// CHECK-LABEL: func.func @aotc_m_run(
// CHECK:         %[[N:.*]] = arith.constant 2 : i32
// CHECK-NEXT:    %[[PHASES:.*]] = arith.constant 2 : i32
// CHECK-NEXT:    func.call @aotc_threads_run(%[[N]], %{{.*}}, %{{.*}}, %[[PHASES]])
builtin.module attributes {aot.name = "m", aot.threads = 2 : i64} {
  func.func private @conv(%x: !aot.ptr<f32> {aot.readonly}, %y: !aot.ptr<f32>) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %t = aot.thread
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func private @relu(%x: !aot.ptr<f32> {aot.readonly}, %y: !aot.ptr<f32>) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func @aotc_m_run(%x: !aot.ptr<f32> {aot.name = "x", aot.io = "input", aot.readonly}, %a: !aot.ptr<f32> {aot.name = "a", aot.io = "output", aot.noalias}, %b: !aot.ptr<f32> {aot.name = "b", aot.io = "output", aot.noalias}) -> i32 attributes {aot.entry, aot.convention = #aot<convention c>} {
    %0 = arith.constant 0 : i32
    %r0 = func.call @conv(%x, %a) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %r0
    %r1 = func.call @relu(%x, %b) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %r1
    %r2 = func.call @conv(%b, %b) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %r2
    func.return %0 : i32
  }
}

// -----

// Nobody writes what others still read.
// CHECK-LABEL: func.func @aotc_m_run(
// CHECK:         %[[N:.*]] = arith.constant 2 : i32
// CHECK-NEXT:    %[[PHASES:.*]] = arith.constant 2 : i32
// CHECK-NEXT:    func.call @aotc_threads_run(%[[N]], %{{.*}}, %{{.*}}, %[[PHASES]])
builtin.module attributes {aot.name = "m", aot.threads = 2 : i64} {
  func.func private @conv(%x: !aot.ptr<f32> {aot.readonly}, %y: !aot.ptr<f32>) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %t = aot.thread
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func @aotc_m_run(%x: !aot.ptr<f32> {aot.name = "x", aot.io = "input", aot.readonly}, %a: !aot.ptr<f32> {aot.name = "a", aot.io = "output", aot.noalias}, %b: !aot.ptr<f32> {aot.name = "b", aot.io = "output", aot.noalias}) -> i32 attributes {aot.entry, aot.convention = #aot<convention c>} {
    %0 = arith.constant 0 : i32
    %r0 = func.call @conv(%a, %b) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %r0
    %r1 = func.call @conv(%x, %a) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %r1
    func.return %0 : i32
  }
}

// -----

// What all only read is of one phase.
// CHECK-LABEL: func.func @aotc_m_run(
// CHECK:         %[[N:.*]] = arith.constant 2 : i32
// CHECK-NEXT:    %[[PHASES:.*]] = arith.constant 1 : i32
// CHECK-NEXT:    func.call @aotc_threads_run(%[[N]], %{{.*}}, %{{.*}}, %[[PHASES]])
builtin.module attributes {aot.name = "m", aot.threads = 2 : i64} {
  func.func private @conv(%x: !aot.ptr<f32> {aot.readonly}, %y: !aot.ptr<f32>) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %t = aot.thread
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func @aotc_m_run(%x: !aot.ptr<f32> {aot.name = "x", aot.io = "input", aot.readonly}, %a: !aot.ptr<f32> {aot.name = "a", aot.io = "output", aot.noalias}, %b: !aot.ptr<f32> {aot.name = "b", aot.io = "output", aot.noalias}) -> i32 attributes {aot.entry, aot.convention = #aot<convention c>} {
    %0 = arith.constant 0 : i32
    %r0 = func.call @conv(%x, %a) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %r0
    %r1 = func.call @conv(%x, %b) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %r1
    func.return %0 : i32
  }
}

// -----

// A kernel with phases of its own shares none of them; nothing is asked where nothing comes before them.
// CHECK-LABEL: func.func private @aotc_m_share(
// CHECK-NOT:     arith.cmpi eq, %phase
// CHECK-LABEL: func.func @aotc_m_run(
// CHECK:         %[[N:.*]] = arith.constant 2 : i32
// CHECK-NEXT:    %[[PHASES:.*]] = arith.constant 4 : i32
// CHECK-NEXT:    func.call @aotc_threads_run(%[[N]], %{{.*}}, %{{.*}}, %[[PHASES]])
builtin.module attributes {aot.name = "m", aot.threads = 2 : i64} {
  func.func private @conv(%x: !aot.ptr<f32> {aot.readonly}, %y: !aot.ptr<f32>) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %t = aot.thread
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func private @wino(%x: !aot.ptr<f32> {aot.readonly}, %y: !aot.ptr<f32>) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %p = aot.phase 3
    %t = aot.thread
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func @aotc_m_run(%x: !aot.ptr<f32> {aot.name = "x", aot.io = "input", aot.readonly}, %a: !aot.ptr<f32> {aot.name = "a", aot.io = "output", aot.noalias}, %b: !aot.ptr<f32> {aot.name = "b", aot.io = "output", aot.noalias}) -> i32 attributes {aot.entry, aot.convention = #aot<convention c>} {
    %0 = arith.constant 0 : i32
    %r0 = func.call @conv(%x, %a) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %r0
    %r1 = func.call @wino(%x, %b) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %r1
    func.return %0 : i32
  }
}

// -----

// Of a kernel with one phase nobody asks whether it begins.
// CHECK-LABEL: func.func private @aotc_m_share(
// CHECK-NOT:     arith.cmpi eq, %phase
// CHECK:         func.call @relu
// CHECK-NOT:     arith.cmpi eq, %phase
// CHECK-LABEL: func.func @aotc_m_run(
// CHECK:         %[[N:.*]] = arith.constant 2 : i32
// CHECK-NEXT:    %[[PHASES:.*]] = arith.constant 1 : i32
// CHECK-NEXT:    func.call @aotc_threads_run(%[[N]], %{{.*}}, %{{.*}}, %[[PHASES]])
builtin.module attributes {aot.name = "m", aot.threads = 2 : i64} {
  func.func private @conv(%x: !aot.ptr<f32> {aot.readonly}, %y: !aot.ptr<f32>) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %t = aot.thread
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func private @relu(%x: !aot.ptr<f32> {aot.readonly}, %y: !aot.ptr<f32>) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func @aotc_m_run(%x: !aot.ptr<f32> {aot.name = "x", aot.io = "input", aot.readonly}, %a: !aot.ptr<f32> {aot.name = "a", aot.io = "output", aot.noalias}, %b: !aot.ptr<f32> {aot.name = "b", aot.io = "output", aot.noalias}) -> i32 attributes {aot.entry, aot.convention = #aot<convention c>} {
    %0 = arith.constant 0 : i32
    %r0 = func.call @relu(%x, %a) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %r0
    %r1 = func.call @conv(%a, %b) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %r1
    func.return %0 : i32
  }
}
