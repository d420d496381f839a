// RUN: aotc-opt %s -p 'run-on-threads' | filecheck %s

builtin.module attributes {aot.name = "kws", aot.threads = 3 : i64} {
  // Not shared: it stays as it is.
  // CHECK-LABEL: func.func private @aotc_kws_relu_0(%x: !aot.ptr<f32> {aot.readonly}, %y: !aot.ptr<f32> {aot.noalias}) -> i32
  func.func private @aotc_kws_relu_0(%x: !aot.ptr<f32> {aot.readonly}, %y: !aot.ptr<f32> {aot.noalias}) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  // CHECK-LABEL: func.func private @aotc_kws_conv_0(%x: !aot.ptr<f32> {aot.noalias, aot.readonly}, %y: !aot.ptr<f32> {aot.noalias}, %thread: i32 {aot.name = "thread"}) -> i32
  // CHECK-NEXT:    arith.index_cast %thread : i32 to index
  // CHECK-NEXT:    arith.index_cast %thread : i32 to index
  func.func private @aotc_kws_conv_0(%x: !aot.ptr<f32> {aot.noalias, aot.readonly}, %y: !aot.ptr<f32> {aot.noalias}) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %t = aot.thread
    %u = aot.thread
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  // With phases of its own.
  // CHECK-LABEL: func.func private @aotc_kws_winograd_0(
  // CHECK-SAME:    %thread: i32 {aot.name = "thread"}, %phase: i32 {aot.name = "phase"}) -> i32
  // CHECK-NEXT:    arith.index_cast %phase : i32 to index
  // CHECK-NEXT:    arith.index_cast %thread : i32 to index
  func.func private @aotc_kws_winograd_0(%x: !aot.ptr<f32> {aot.noalias, aot.readonly}, %y: !aot.ptr<f32> {aot.noalias}) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %p = aot.phase 4
    %t = aot.thread
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  // CHECK-LABEL: func.func private @aotc_kws_share(%arguments: !aot.ptr<i8>, %thread: i32, %phase: i32) -> i32
  // CHECK:         %[[ARRAY:.*]] = aot.ptr_cast %arguments : !aot.ptr<i8> to !aot.ptr<!aot.ptr<i8>>
  // CHECK:         %[[X:.*]] = aot.element %[[ARRAY]][0]
  // CHECK-NEXT:    %x = aot.ptr_cast %[[X]]
  // CHECK:         %[[Y:.*]] = aot.element %[[ARRAY]][1]
  // CHECK-NEXT:    %y = aot.ptr_cast %[[Y]]
  // CHECK:         %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK-NEXT:    arith.cmpi slt, %phase, %[[ONE]] : i32
  // Phase 0: both calls only read %x and write apart; before it there is nothing.
  // CHECK:         %[[ALONE:.*]] = arith.cmpi slt, %thread, %{{.*}} : i32
  // CHECK-NEXT:    scf.if %[[ALONE]] -> (i32) {
  // CHECK-NEXT:      scf.yield
  // CHECK-NEXT:    } else {
  // CHECK-NEXT:      func.call @aotc_kws_conv_0(%x, %a_p, %thread)
  // CHECK-NEXT:      func.call @aotc_kws_conv_0(%x, %b_p, %thread)
  // Phase 1: one thread reads what all wrote and goes on by itself if all is well; all read what it wrote.
  // CHECK:         %[[ALONE:.*]] = arith.cmpi slt, %thread, %{{.*}} : i32
  // CHECK-NEXT:    scf.if %[[ALONE]] -> (i32) {
  // CHECK-NEXT:      %[[BEGINS:.*]] = arith.cmpi eq, %phase, %{{.*}} : i32
  // CHECK-NEXT:      scf.if %[[BEGINS]] -> (i32) {
  // CHECK:             %[[R:.*]] = func.call @aotc_kws_relu_0(%a_p, %b_p)
  // CHECK:             %[[FINE:.*]] = arith.cmpi eq, %[[R]],
  // CHECK-NEXT:        scf.if %[[FINE]] -> (i32) {
  // CHECK-NEXT:          func.call @aotc_kws_relu_0(%b_p, %a_p)
  // CHECK:             } else {
  // CHECK-NEXT:          scf.yield %[[R]] : i32
  // Phases 1 to 4: those of the kernel.
  // CHECK:           %[[OWN:.*]] = arith.subi %phase,
  // CHECK-NEXT:      func.call @aotc_kws_winograd_0(%a_p, %b_p, %thread, %[[OWN]])
  // Phase 5: nobody else does what is not shared and touches nothing that others do.
  // CHECK:         func.call @aotc_kws_conv_0(%b_p, %y, %thread)
  // CHECK:         %[[MINE:.*]] = arith.cmpi eq, %thread, %{{.*}} : i32
  // CHECK-NEXT:    scf.if %[[MINE]] -> (i32) {
  // CHECK-NEXT:      func.call @aotc_kws_relu_0(%x, %a_p)
  // At the end: what comes after.
  // CHECK:         func.call @aotc_kws_relu_0(%a_p, %b_p)
  // CHECK-LABEL: func.func @aotc_kws_run(
  // CHECK-NEXT:    %arguments = aot.alloca 2 : !aot.ptr<!aot.ptr<i8>>
  // CHECK:         aot.set_element %arguments[0],
  // CHECK:         aot.set_element %arguments[1],
  // CHECK:         %[[ALL:.*]] = aot.ptr_cast %arguments
  // CHECK-NEXT:    %[[WORK:.*]] = aot.symbol @aotc_kws_share : !aot.ptr<i8>
  // CHECK-NEXT:    %[[N:.*]] = arith.constant 3 : i32
  // CHECK-NEXT:    %[[PHASES:.*]] = arith.constant 6 : i32
  // CHECK-NEXT:    %[[S:.*]] = func.call @aotc_threads_run(%[[N]], %[[WORK]], %[[ALL]], %[[PHASES]]) : (i32, !aot.ptr<i8>, !aot.ptr<i8>, i32) -> i32
  // CHECK-NEXT:    aot.check %[[S]]
  // CHECK-NEXT:    func.return
  // CHECK:       func.func private @aotc_threads_run(i32, !aot.ptr<i8>, !aot.ptr<i8>, i32) -> i32
  func.func @aotc_kws_run(%x: !aot.ptr<f32> {aot.name = "x", aot.io = "input", aot.readonly}, %y: !aot.ptr<f32> {aot.name = "y", aot.io = "output", aot.noalias}) -> i32 attributes {aot.entry, aot.convention = #aot<convention c>} {
    %0 = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %ws = aot.workspace : memref<128xi8>
    %a = memref.view %ws[%c0][] : memref<128xi8> to memref<16xf32>
    %b = memref.view %ws[%c64][] : memref<128xi8> to memref<16xf32>
    %a_p = aot.data %a : memref<16xf32> to !aot.ptr<f32>
    %b_p = aot.data %b : memref<16xf32> to !aot.ptr<f32>
    %1 = func.call @aotc_kws_conv_0(%x, %a_p) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %1
    %2 = func.call @aotc_kws_conv_0(%x, %b_p) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %2
    %3 = func.call @aotc_kws_relu_0(%a_p, %b_p) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %3
    %4 = func.call @aotc_kws_relu_0(%b_p, %a_p) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %4
    %5 = func.call @aotc_kws_winograd_0(%a_p, %b_p) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %5
    %6 = func.call @aotc_kws_conv_0(%b_p, %y) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %6
    %7 = func.call @aotc_kws_relu_0(%x, %a_p) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %7
    %8 = func.call @aotc_kws_relu_0(%a_p, %b_p) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %8
    func.return %0 : i32
  }
}
