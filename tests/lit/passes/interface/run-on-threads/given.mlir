// RUN: aotc-opt %s -p 'run-on-threads' | filecheck %s

// A place at a constant offset in an output is found from the pointer that is given; one at an offset that is known at
// run time only is given itself.
builtin.module attributes {aot.name = "m", aot.threads = 2 : i64} {
  func.func private @conv(%x: !aot.ptr<f32> {aot.noalias, aot.readonly}, %y: !aot.ptr<f32> {aot.noalias}) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %t = aot.thread
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  // CHECK-LABEL: func.func private @aotc_m_share(%arguments: !aot.ptr<i8>, %thread: i32, %phase: i32) -> i32
  // CHECK:         [[Y:%.*]] = aot.buffer %{{.*}} : !aot.ptr<f32> to memref<64xf32>
  // CHECK-NEXT:    [[V:%.*]] = memref.reinterpret_cast [[Y]] to offset: [16]
  // CHECK-NEXT:    aot.data [[V]]
  // CHECK-NOT:     memref.load
  // CHECK-NOT:     memref.reinterpret_cast
  // CHECK-LABEL: func.func @aotc_m_run(
  // CHECK:         aot.alloca 3 : !aot.ptr<!aot.ptr<i8>>
  func.func @aotc_m_run(%x: !aot.ptr<f32> {aot.name = "x", aot.io = "input", aot.readonly}, %n: !aot.ptr<index> {aot.name = "n", aot.io = "input", aot.readonly}, %y: !aot.ptr<f32> {aot.name = "y", aot.io = "output", aot.noalias}) -> i32 attributes {aot.entry, aot.convention = #aot<convention c>} {
    %0 = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %y_b = aot.buffer %y : !aot.ptr<f32> to memref<64xf32>
    %n_b = aot.buffer %n : !aot.ptr<index> to memref<1xindex>
    %v = memref.reinterpret_cast %y_b to offset: [16], sizes: [16], strides: [1] : memref<64xf32> to memref<16xf32>
    %v_p = aot.data %v : memref<16xf32> to !aot.ptr<f32>
    %at = memref.load %n_b[%c0] : memref<1xindex>
    %u = memref.reinterpret_cast %y_b to offset: [%at], sizes: [16], strides: [1] : memref<64xf32> to memref<16xf32>
    %u_p = aot.data %u : memref<16xf32> to !aot.ptr<f32>
    %1 = func.call @conv(%x, %v_p) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %1
    %2 = func.call @conv(%x, %u_p) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %2
    func.return %0 : i32
  }
}
