// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS
// RUN: aotc-opt %s -p convert-graph-to-loops{check-indices=true} | filecheck %s --check-prefix=CHECKED

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.gather %x, %i {axis = 0 : i64} : (tensor<5x3xf32>, tensor<2x2xi32>) -> tensor<2x2x3xf32>
// CHECK-NEXT: graph.gather_elements %x, %e {axis = 1 : i64} : (tensor<5x3xf32>, tensor<5x2xi64>) -> tensor<5x2xf32>
// CHECK-NEXT: graph.gather_nd %x, %i {batch_dims = 0 : i64} : (tensor<5x3xf32>, tensor<2x2xi32>) -> tensor<2xf32>
// CHECK-NEXT: graph.slice_places %s {extent = 5 : i64, distance = 3 : i64, step = 2 : i64} : (tensor<1xi64>) -> tensor<2xi64>
func.func @forms(%x: tensor<5x3xf32>, %i: tensor<2x2xi32>, %e: tensor<5x2xi64>, %s: tensor<1xi64>) {
  %0 = graph.gather %x, %i {axis = 0} : (tensor<5x3xf32>, tensor<2x2xi32>) -> tensor<2x2x3xf32>
  %1 = graph.gather_elements %x, %e {axis = 1} : (tensor<5x3xf32>, tensor<5x2xi64>) -> tensor<5x2xf32>
  %2 = graph.gather_nd %x, %i {batch_dims = 0} : (tensor<5x3xf32>, tensor<2x2xi32>) -> tensor<2xf32>
  %3 = graph.slice_places %s {extent = 5, distance = 3, step = 2} : (tensor<1xi64>) -> tensor<2xi64>
  func.return
}

// Each end counts from the end of the axis by itself; a window that is cut off fails, whatever is checked.
// LOOPS-LABEL: func.func private @window
// LOOPS:      %[[START:.*]] = memref.load %s
// LOOPS:      arith.cmpi slt, %[[START]]
// LOOPS:      arith.maxsi
// LOOPS:      %[[END:.*]] = arith.addi %[[START]]
// LOOPS:      arith.cmpi slt, %[[END]]
// LOOPS:      %[[WHOLE:.*]] = arith.cmpi sgt
// LOOPS-NEXT: aot.require %[[WHOLE]]
// LOOPS:      memref.store
func.func private @window(%s: memref<1xi64>, %out: memref<2xi64>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %s : memref<1xi64> to tensor<1xi64>
  %1 = graph.slice_places %0 {extent = 5, distance = 3, step = 2} : (tensor<1xi64>) -> tensor<2xi64>
  bufferization.materialize_in_destination %1 in %out : (tensor<2xi64>, memref<2xi64>) -> ()
  func.return
}

// A negative index counts from the end; what is still out of range is clamped into it.
// LOOPS-LABEL: func.func private @gather
// LOOPS:      ^bb0(%[[I:.*]]: index, %[[J:.*]]: index):
// LOOPS-NEXT:   %[[GIVEN:.*]] = memref.load %i[%[[I]]]
// LOOPS-NEXT:   %[[BEHIND:.*]] = arith.cmpi slt, %[[GIVEN]], %{{.*}} : i64
// LOOPS-NEXT:   %[[WRAPPED:.*]] = arith.addi %[[GIVEN]], %{{.*}} : i64
// LOOPS-NEXT:   %[[FRONT:.*]] = arith.select %[[BEHIND]], %[[WRAPPED]], %[[GIVEN]] : i64
// LOOPS-NEXT:   %[[LOW:.*]] = arith.maxsi %[[FRONT]], %{{.*}} : i64
// LOOPS-NEXT:   %[[SAFE:.*]] = arith.minsi %[[LOW]], %{{.*}} : i64
// LOOPS-NEXT:   %[[AT:.*]] = arith.index_cast %[[SAFE]] : i64 to index
// LOOPS-NEXT:   memref.load %x[%[[AT]], %[[J]]]

// Where indices are checked, one that is not in range ends the kernel.
// CHECKED-LABEL: func.func private @gather
// CHECKED:         %[[FRONT:.*]] = arith.select
// CHECKED-DAG:     %[[LOW:.*]] = arith.cmpi sge, %[[FRONT]], %{{.*}} : i64
// CHECKED-DAG:     %[[HIGH:.*]] = arith.cmpi slt, %[[FRONT]], %{{.*}} : i64
// CHECKED:         %[[INSIDE:.*]] = arith.andi %[[LOW]], %[[HIGH]] : i1
// CHECKED-NEXT:    aot.require %[[INSIDE]]
func.func private @gather(%x: memref<5x3xf32>, %i: memref<2xi64>, %out: memref<2x3xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<5x3xf32> to tensor<5x3xf32>
  %1 = bufferization.to_tensor %i : memref<2xi64> to tensor<2xi64>
  %2 = graph.gather %0, %1 {axis = 0} : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  bufferization.materialize_in_destination %2 in %out : (tensor<2x3xf32>, memref<2x3xf32>) -> ()
  func.return
}
