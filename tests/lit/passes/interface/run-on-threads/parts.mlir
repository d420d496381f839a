// RUN: aotc-opt %s -p 'run-on-threads' | filecheck %s

// Halves of one buffer: calls that touch different ones are of one phase, those of one are not.
builtin.module attributes {aot.name = "kws", aot.threads = 3 : i64} {
  func.func private @aotc_kws_conv_0(%x: !aot.ptr<f32> {aot.noalias, aot.readonly}, %y: !aot.ptr<f32> {aot.noalias}) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %t = aot.thread
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  // CHECK-LABEL: func.func private @aotc_kws_share(
  // CHECK:         %[[A:.*]] = func.call @aotc_kws_conv_0(%x, %a_p, %thread)
  // CHECK-NEXT:    %[[B:.*]] = func.call @aotc_kws_conv_0(%x, %b_p, %thread)
  // The first error stays.
  // CHECK-NEXT:    %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK-NEXT:    %[[FINE:.*]] = arith.cmpi eq, %[[A]], %[[ZERO]]
  // CHECK-NEXT:    %[[STATUS:.*]] = arith.select %[[FINE]], %[[B]], %[[A]]
  // CHECK-NEXT:    scf.yield %[[STATUS]]
  // CHECK:         func.call @aotc_kws_conv_0(%b_p, %y, %thread)
  // CHECK:         arith.constant 2 : i32
  // CHECK:         func.call @aotc_threads_run
  func.func @aotc_kws_run(%x: !aot.ptr<f32> {aot.name = "x", aot.io = "input", aot.readonly}, %y: !aot.ptr<f32> {aot.name = "y", aot.io = "output", aot.noalias}) -> i32 attributes {aot.entry, aot.convention = #aot<convention c>} {
    %0 = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %ws = aot.workspace : memref<64xi8>
    %all = memref.view %ws[%c0][] : memref<64xi8> to memref<16xf32>
    %a = memref.reinterpret_cast %all to offset: [0], sizes: [8], strides: [1] : memref<16xf32> to memref<8xf32>
    %b = memref.reinterpret_cast %all to offset: [8], sizes: [8], strides: [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 8>>
    %a_p = aot.data %a : memref<8xf32> to !aot.ptr<f32>
    %b_p = aot.data %b : memref<8xf32, strided<[1], offset: 8>> to !aot.ptr<f32>
    %1 = func.call @aotc_kws_conv_0(%x, %a_p) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %1
    %2 = func.call @aotc_kws_conv_0(%x, %b_p) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %2
    %3 = func.call @aotc_kws_conv_0(%b_p, %y) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %3
    func.return %0 : i32
  }
}
