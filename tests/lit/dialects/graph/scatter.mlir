// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.scatter_elements %x, %e, %u {reduction = "add", axis = 1 : i64}
// CHECK-NEXT: graph.scatter_nd %x, %n, %s {reduction = "none"}
// CHECK-NEXT: graph.top_k %x {k = 2 : i64, axis = 1 : i64, smallest = true} : (tensor<5x3xf32>) -> (tensor<5x2xf32>, tensor<5x2xi64>)
func.func @forms(%x: tensor<5x3xf32>, %e: tensor<5x2xi64>, %u: tensor<5x2xf32>, %n: tensor<4x1xi64>, %s: tensor<4x3xf32>) {
  %0 = graph.scatter_elements %x, %e, %u {reduction = "add", axis = 1} : (tensor<5x3xf32>, tensor<5x2xi64>, tensor<5x2xf32>) -> tensor<5x3xf32>
  %1 = graph.scatter_nd %x, %n, %s {reduction = "none"} : (tensor<5x3xf32>, tensor<4x1xi64>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %2, %3 = graph.top_k %x {k = 2, axis = 1, smallest = true} : (tensor<5x3xf32>) -> (tensor<5x2xf32>, tensor<5x2xi64>)
  func.return
}

// Each element collects the updates that meet it.
// LOOPS-LABEL: func.func private @scatter
// LOOPS:      ^bb0(%[[I:.*]]: index, %[[J:.*]]: index):
// LOOPS:        %[[OLD:.*]] = memref.load %x[%[[I]], %[[J]]]
// LOOPS-NEXT:   %[[NEW:.*]] = scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[ACC:.*]] = %[[OLD]]) -> (f32) {
// LOOPS:          %[[MEETS:.*]] = arith.cmpi eq
// LOOPS-NEXT:     scf.if %[[MEETS]] -> (f32) {
// LOOPS-NEXT:       memref.load %s[%[[K]], %[[J]]]
// LOOPS-NEXT:       arith.addf %[[ACC]]
// LOOPS:        memref.store %[[NEW]], %out[%[[I]], %[[J]]]
func.func private @scatter(%x: memref<5x3xf32>, %n: memref<4x1xi64>, %s: memref<4x3xf32>, %out: memref<5x3xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<5x3xf32> to tensor<5x3xf32>
  %1 = bufferization.to_tensor %n : memref<4x1xi64> to tensor<4x1xi64>
  %2 = bufferization.to_tensor %s : memref<4x3xf32> to tensor<4x3xf32>
  %3 = graph.scatter_nd %0, %1, %2 {reduction = "add"} : (tensor<5x3xf32>, tensor<4x1xi64>, tensor<4x3xf32>) -> tensor<5x3xf32>
  bufferization.materialize_in_destination %3 in %out : (tensor<5x3xf32>, memref<5x3xf32>) -> ()
  func.return
}

// With a scratch buffer: a copy is updated, then written.
// LOOPS-LABEL: func.func private @in_memory
// LOOPS:        %[[X:.*]] = memref.load %x
// LOOPS-NEXT:   memref.store %[[X]], %memory
// LOOPS:      scf.for
// LOOPS:        scf.if %{{.*}} {
// LOOPS:          %[[OLD:.*]] = memref.load %memory
// LOOPS:          %[[NEW:.*]] = arith.addf %[[OLD]]
// LOOPS-NEXT:     memref.store %[[NEW]], %memory
// LOOPS:        %[[Y:.*]] = memref.load %memory
// LOOPS-NEXT:   memref.store %[[Y]], %out
func.func private @in_memory(%x: memref<5x3xf32>, %n: memref<4x1xi64>, %s: memref<4x3xf32>, %out: memref<5x3xf32>, %memory: memref<5x3xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<5x3xf32> to tensor<5x3xf32>
  %1 = bufferization.to_tensor %n : memref<4x1xi64> to tensor<4x1xi64>
  %2 = bufferization.to_tensor %s : memref<4x3xf32> to tensor<4x3xf32>
  %3, %4 = graph.scatter_nd_in_memory %0, %1, %2 {reduction = "add", schedule = #graph.scatter_schedule<lanes = 1>} : (tensor<5x3xf32>, tensor<4x1xi64>, tensor<4x3xf32>) -> (tensor<5x3xf32>, tensor<5x3xf32>)
  bufferization.materialize_in_destination %3 in %out : (tensor<5x3xf32>, memref<5x3xf32>) -> ()
  bufferization.materialize_in_destination %4 in %memory : (tensor<5x3xf32>, memref<5x3xf32>) -> ()
  func.return
}

// Slices of four bytes and more that are replaced: the number of the last update of each, then all of them once.
// LOOPS-LABEL: func.func private @numbered
// LOOPS-DAG:  %[[NONE:.*]] = arith.constant -1 : i32
// LOOPS:        memref.store %[[NONE]], %memory
// LOOPS:      scf.for
// LOOPS:        scf.if %{{.*}} {
// LOOPS-NOT:      memref.load %s
// LOOPS:          memref.store %{{.*}}, %memory
// LOOPS:        %[[NUMBER:.*]] = memref.load %memory
// LOOPS-NEXT:   %[[UPDATED:.*]] = arith.cmpi sge, %[[NUMBER]]
// LOOPS:        scf.if %[[UPDATED]] {
// LOOPS:          memref.load %s
// LOOPS-NEXT:     memref.store %{{.*}}, %out
// LOOPS:          memref.load %x
// LOOPS-NEXT:     memref.store %{{.*}}, %out
func.func private @numbered(%x: memref<5x2xi16>, %n: memref<4x1xi64>, %s: memref<4x2xi16>, %out: memref<5x2xi16>, %memory: memref<5xi32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<5x2xi16> to tensor<5x2xi16>
  %1 = bufferization.to_tensor %n : memref<4x1xi64> to tensor<4x1xi64>
  %2 = bufferization.to_tensor %s : memref<4x2xi16> to tensor<4x2xi16>
  %3, %4 = graph.scatter_nd_in_memory %0, %1, %2 {reduction = "none", schedule = #graph.scatter_schedule<lanes = 1>} : (tensor<5x2xi16>, tensor<4x1xi64>, tensor<4x2xi16>) -> (tensor<5x2xi16>, tensor<5xi32>)
  bufferization.materialize_in_destination %3 in %out : (tensor<5x2xi16>, memref<5x2xi16>) -> ()
  bufferization.materialize_in_destination %4 in %memory : (tensor<5xi32>, memref<5xi32>) -> ()
  func.return
}

// Smaller ones are replaced in a copy.
// LOOPS-LABEL: func.func private @small
// LOOPS:          memref.load %s
// LOOPS-NEXT:     memref.store %{{.*}}, %memory
func.func private @small(%x: memref<5x3xi8>, %n: memref<4x1xi64>, %s: memref<4x3xi8>, %out: memref<5x3xi8>, %memory: memref<5x3xi8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<5x3xi8> to tensor<5x3xi8>
  %1 = bufferization.to_tensor %n : memref<4x1xi64> to tensor<4x1xi64>
  %2 = bufferization.to_tensor %s : memref<4x3xi8> to tensor<4x3xi8>
  %3, %4 = graph.scatter_nd_in_memory %0, %1, %2 {reduction = "none", schedule = #graph.scatter_schedule<lanes = 1>} : (tensor<5x3xi8>, tensor<4x1xi64>, tensor<4x3xi8>) -> (tensor<5x3xi8>, tensor<5x3xi8>)
  bufferization.materialize_in_destination %3 in %out : (tensor<5x3xi8>, memref<5x3xi8>) -> ()
  bufferization.materialize_in_destination %4 in %memory : (tensor<5x3xi8>, memref<5x3xi8>) -> ()
  func.return
}
