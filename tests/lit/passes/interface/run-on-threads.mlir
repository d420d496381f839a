// RUN: aotc-opt %s -p 'run-on-threads' | filecheck %s

builtin.module attributes {aot.name = "kws", aot.threads = 3 : i64} {
  // Not shared: it stays as it is.
  // CHECK-LABEL: func.func private @aotc_kws_relu_0(%x: !aot.ptr<f32> {aot.readonly}, %y: !aot.ptr<f32> {aot.noalias}) -> i32
  func.func private @aotc_kws_relu_0(%x: !aot.ptr<f32> {aot.readonly}, %y: !aot.ptr<f32> {aot.noalias}) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  // Threads that wait for each other here read what the others wrote.
  // CHECK-LABEL: func.func private @aotc_kws_conv_0(%x: !aot.ptr<f32> {aot.noalias, aot.readonly}, %y: !aot.ptr<f32>, %thread: i32 {aot.name = "thread"}) -> i32
  // CHECK:         arith.index_cast %thread : i32 to index
  // CHECK:         %[[N:.*]] = arith.constant 3 : i32
  // CHECK-NEXT:    func.call @aotc_threads_barrier(%[[N]]) : (i32) -> ()
  func.func private @aotc_kws_conv_0(%x: !aot.ptr<f32> {aot.noalias, aot.readonly}, %y: !aot.ptr<f32> {aot.noalias}) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %t = aot.thread
    %0 = arith.constant 0 : i32
    aot.barrier
    func.return %0 : i32
  }
  // CHECK-LABEL: func.func private @aotc_kws_share(%arguments: !aot.ptr<i8>, %thread: i32) -> i32
  // CHECK:         %[[ARRAY:.*]] = aot.ptr_cast %arguments : !aot.ptr<i8> to !aot.ptr<!aot.ptr<i8>>
  // CHECK:         %[[X:.*]] = aot.element %[[ARRAY]][0]
  // CHECK-NEXT:    %x = aot.ptr_cast %[[X]]
  // CHECK:         %[[Y:.*]] = aot.element %[[ARRAY]][1]
  // CHECK-NEXT:    %y = aot.ptr_cast %[[Y]]
  // CHECK:         %[[FIRST:.*]] = arith.cmpi eq, %thread,
  // Both calls only read %x and write apart.
  // CHECK:         %[[A:.*]] = func.call @aotc_kws_conv_0(%x, %a_p, %thread)
  // CHECK-NOT:     barrier
  // CHECK:         func.call @aotc_kws_conv_0(%x, %b_p, %thread)
  // One thread reads what all wrote, then goes on by itself, then all read what it wrote.
  // CHECK:         func.call @aotc_threads_barrier
  // CHECK-NEXT:    %[[S:.*]] = scf.if %[[FIRST]] -> (i32) {
  // CHECK-NEXT:      func.call @aotc_kws_relu_0(%a_p, %b_p)
  // CHECK-NOT:     barrier
  // CHECK:         func.call @aotc_kws_relu_0(%b_p, %a_p)
  // CHECK:         func.call @aotc_threads_barrier
  // CHECK-NEXT:    %[[LAST:.*]] = func.call @aotc_kws_conv_0(%a_p, %y, %thread)
  // CHECK:         %[[STATUS:.*]] = arith.select %{{.*}}, %[[LAST]], %{{.*}} : i32
  // CHECK-NEXT:    func.return %[[STATUS]] : i32
  // CHECK-LABEL: func.func @aotc_kws_run(
  // CHECK-NEXT:    %arguments = aot.alloca 2 : !aot.ptr<!aot.ptr<i8>>
  // CHECK:         aot.set_element %arguments[0],
  // CHECK:         aot.set_element %arguments[1],
  // CHECK:         %[[ALL:.*]] = aot.ptr_cast %arguments
  // CHECK-NEXT:    %[[WORK:.*]] = aot.symbol @aotc_kws_share : !aot.ptr<i8>
  // CHECK-NEXT:    %[[N:.*]] = arith.constant 3 : i32
  // CHECK-NEXT:    %[[S:.*]] = func.call @aotc_threads_run(%[[N]], %[[WORK]], %[[ALL]]) : (i32, !aot.ptr<i8>, !aot.ptr<i8>) -> i32
  // CHECK-NEXT:    func.return %[[S]] : i32
  // CHECK:       func.func private @aotc_threads_run(i32, !aot.ptr<i8>, !aot.ptr<i8>) -> i32
  // CHECK:       func.func private @aotc_threads_barrier(i32) -> ()
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
    %5 = func.call @aotc_kws_conv_0(%a_p, %y) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %5
    func.return %0 : i32
  }
}
