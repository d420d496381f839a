// RUN: aotc-opt %s -p 'run-on-threads' | filecheck %s

// Control flow is the calling thread's. Calls in it are a function of their own, with what is known at run time only in
// the array that it is given; a region whose kernels are not shared stays as it is.
builtin.module attributes {aot.name = "m", aot.threads = 2 : i64} {
  func.func private @relu(%x: !aot.ptr<f32> {aot.readonly}, %y: !aot.ptr<f32> {aot.noalias}) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func private @conv(%x: !aot.ptr<f32> {aot.noalias, aot.readonly}, %y: !aot.ptr<f32> {aot.noalias}) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %t = aot.thread
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  // CHECK-LABEL: func.func private @aotc_m_share(%arguments: !aot.ptr<i8>, %thread: i32, %phase: i32) -> i32
  // CHECK-NEXT:    [[A:%.*]] = aot.ptr_cast %arguments
  // CHECK-NEXT:    [[E0:%.*]] = aot.element [[A]][0]
  // CHECK-NEXT:    [[X:%.*]] = aot.ptr_cast [[E0]]
  // CHECK:         [[WS:%.*]] = aot.workspace : memref<128xi8>
  // CHECK:         func.call @conv([[X]],
  // CHECK-LABEL: func.func private @aotc_m_share1(%arguments: !aot.ptr<i8>, %thread: i32, %phase: i32) -> i32
  // CHECK-NEXT:    [[A:%.*]] = aot.ptr_cast %arguments
  // CHECK:         [[E0:%.*]] = aot.element [[A]][0]
  // CHECK-NEXT:    [[P:%.*]] = aot.ptr_cast [[E0]]
  // CHECK:         func.call @conv({{.*}}, [[P]], %thread)
  // CHECK-LABEL: func.func @aotc_m_run(
  // CHECK:         [[G:%.*]] = aot.alloca 1 : !aot.ptr<!aot.ptr<i8>>
  // CHECK:         aot.symbol @aotc_m_share : !aot.ptr<i8>
  // CHECK:         [[S:%.*]] = func.call @aotc_threads_run(
  // CHECK-NEXT:    aot.check [[S]]
  // CHECK-NEXT:    scf.for
  // CHECK:           [[V:%.*]] = memref.reinterpret_cast %y_b to offset: [{{%.*}}]
  // CHECK-NEXT:      [[D:%.*]] = aot.data [[V]]
  // CHECK-NEXT:      [[Q:%.*]] = aot.ptr_cast [[D]]
  // CHECK-NEXT:      aot.set_element {{%.*}}[0], [[Q]]
  // CHECK:           aot.symbol @aotc_m_share1
  // CHECK:           func.call @aotc_threads_run(
  // CHECK:         scf.if
  // CHECK-NEXT:      [[R:%.*]] = func.call @relu(
  // CHECK-NEXT:      aot.check [[R]]
  func.func @aotc_m_run(%x: !aot.ptr<f32> {aot.name = "x", aot.io = "input", aot.readonly}, %y: !aot.ptr<f32> {aot.name = "y", aot.io = "output", aot.noalias}) -> i32 attributes {aot.entry, aot.convention = #aot<convention c>} {
    %0 = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %y_b = aot.buffer %y : !aot.ptr<f32> to memref<4x16xf32>
    %ws = aot.workspace : memref<128xi8>
    %a = memref.view %ws[%c0][] : memref<128xi8> to memref<16xf32>
    %a_p = aot.data %a : memref<16xf32> to !aot.ptr<f32>
    %1 = func.call @conv(%x, %a_p) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %1
    scf.for %i = %c0 to %c16 step %c1 {
      %at = arith.muli %i, %c16 : index
      %v = memref.reinterpret_cast %y_b to offset: [%at], sizes: [16], strides: [1] : memref<4x16xf32> to memref<16xf32>
      %v_p = aot.data %v : memref<16xf32> to !aot.ptr<f32>
      %2 = func.call @conv(%a_p, %v_p) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
      aot.check %2
    }
    %f = memref.load %a[%c0] : memref<16xf32>
    %t = arith.cmpf olt, %f, %f : f32
    scf.if %t {
      %3 = func.call @relu(%a_p, %y) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
      aot.check %3
    }
    func.return %0 : i32
  }
}
