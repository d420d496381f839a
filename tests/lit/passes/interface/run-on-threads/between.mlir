// RUN: aotc-opt %s -p 'run-on-threads' | filecheck %s

// What the entry loads between two calls, and computes of it, is what the first one wrote, and given to the second: each
// is a function of its own. Places that are fixed lie between calls of one.
builtin.module attributes {aot.name = "m", aot.threads = 2 : i64} {
  func.func private @conv(%x: !aot.ptr<f32> {aot.noalias, aot.readonly}, %y: !aot.ptr<f32> {aot.noalias}) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %t = aot.thread
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  // CHECK-LABEL: func.func private @aotc_m_share(
  // CHECK-COUNT-2: func.call @conv(
  // CHECK-LABEL: func.func private @aotc_m_share1(
  // CHECK:         [[E:%.*]] = aot.element {{%.*}}[0]
  // CHECK-NEXT:    [[P:%.*]] = aot.ptr_cast [[E]]
  // CHECK:         func.call @conv([[P]],
  // CHECK-NOT:     func.call @conv(
  // CHECK-LABEL: func.func @aotc_m_run(
  // CHECK:         aot.symbol @aotc_m_share : !aot.ptr<i8>
  // CHECK:         func.call @aotc_threads_run(
  // CHECK:         [[F:%.*]] = memref.load
  // CHECK:         [[I:%.*]] = arith.index_cast [[F]]
  // CHECK:         [[V:%.*]] = memref.reinterpret_cast {{%.*}} to offset: [[[I]]]
  // CHECK:         [[D:%.*]] = aot.data [[V]]
  // CHECK:         [[Q:%.*]] = aot.ptr_cast [[D]]
  // CHECK:         aot.set_element {{%.*}}[0], [[Q]]
  // CHECK:         aot.symbol @aotc_m_share1
  // CHECK:         func.call @aotc_threads_run(
  func.func @aotc_m_run(%x: !aot.ptr<f32> {aot.name = "x", aot.io = "input", aot.readonly}, %y: !aot.ptr<f32> {aot.name = "y", aot.io = "output", aot.noalias}) -> i32 attributes {aot.entry, aot.convention = #aot<convention c>} {
    %0 = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %x_b = aot.buffer %x : !aot.ptr<f32> to memref<4x16xf32>
    %ws = aot.workspace : memref<192xi8>
    %a = memref.view %ws[%c0][] : memref<192xi8> to memref<16xf32>
    %a_p = aot.data %a : memref<16xf32> to !aot.ptr<f32>
    %1 = func.call @conv(%x, %a_p) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %1
    %b = memref.view %ws[%c64][] : memref<192xi8> to memref<16xi32>
    %b_p = aot.data %b : memref<16xi32> to !aot.ptr<i32>
    %b_f = aot.ptr_cast %b_p : !aot.ptr<i32> to !aot.ptr<f32>
    %2 = func.call @conv(%x, %b_f) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %2
    %n = memref.load %b[%c0] : memref<16xi32>
    %i = arith.index_cast %n : i32 to index
    %v = memref.reinterpret_cast %x_b to offset: [%i], sizes: [16], strides: [1] : memref<4x16xf32> to memref<16xf32>
    %v_p = aot.data %v : memref<16xf32> to !aot.ptr<f32>
    %3 = func.call @conv(%v_p, %y) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %3
    func.return %0 : i32
  }
}
