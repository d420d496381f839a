// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: %0 = graph.add %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %1 = graph.sub %x, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %2 = graph.rem %i, %i : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
// CHECK-NEXT: %3 = graph.pow %x, %e : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
// CHECK-NEXT: %4 = graph.erf %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %5 = graph.compare %x, %row {how = "le"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: %6 = graph.where %5, %x, %1 : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @forms(%x: tensor<2x3xf32>, %row: tensor<3xf32>, %i: tensor<4xi8>, %e: tensor<i64>) {
  %0 = graph.add %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = graph.sub %x, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = graph.rem %i, %i : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %3 = graph.pow %x, %e : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  %4 = graph.erf %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = graph.compare %x, %row {how = "le"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %6 = graph.where %5, %x, %1 : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// A bound that is a known number needs no NaN of its own: one comparison, and x's NaN is kept.
// LOOPS-LABEL: func.func private @relu
// LOOPS:      %[[X:.*]] = memref.load %x
// LOOPS-NEXT: %[[NEGATIVE:.*]] = arith.cmpf olt, %[[X]], %[[ZERO:.*]] : f32
// LOOPS-NEXT: %[[R:.*]] = arith.select %[[NEGATIVE]], %[[ZERO]], %[[X]] : f32
// LOOPS-NEXT: memref.store %[[R]], %out
func.func private @relu(%x: memref<4xf32>, %out: memref<4xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4xf32> to tensor<4xf32>
  %1 = graph.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  bufferization.materialize_in_destination %1 in %out : (tensor<4xf32>, memref<4xf32>) -> ()
  func.return
}

// f16 is computed in f32, unsigned integers compare and divide as such.
// LOOPS-LABEL: func.func private @narrow
// LOOPS:      arith.extf %{{.*}} : f16 to f32
// LOOPS:      math.exp %{{.*}} : f32
// LOOPS:      arith.truncf %{{.*}} : f32 to f16
func.func private @narrow(%x: memref<4xf16>, %out: memref<4xf16>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4xf16> to tensor<4xf16>
  %1 = graph.exp %0 : (tensor<4xf16>) -> tensor<4xf16>
  bufferization.materialize_in_destination %1 in %out : (tensor<4xf16>, memref<4xf16>) -> ()
  func.return
}

// LOOPS-LABEL: func.func private @unsigned
// LOOPS:      %[[ZERO:.*]] = arith.cmpi eq, %[[BY:.*]], %{{.*}} : i8
// LOOPS:      %[[BY_ONE:.*]] = arith.select %[[ZERO]], %{{.*}}, %[[BY]] : i8
// LOOPS:      %[[QUOTIENT:.*]] = arith.divui %{{.*}}, %[[BY_ONE]] : i8
// LOOPS:      %[[Q:.*]] = arith.select %[[ZERO]], %{{.*}}, %[[QUOTIENT]] : i8
// LOOPS:      arith.maxui %[[Q]], %{{.*}} : i8
func.func private @unsigned(%x: memref<4xui8>, %y: memref<4xui8>, %out: memref<4xui8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4xui8> to tensor<4xui8>
  %1 = bufferization.to_tensor %y : memref<4xui8> to tensor<4xui8>
  %2 = graph.div %0, %1 : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %3 = graph.max %2, %1 : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  bufferization.materialize_in_destination %3 in %out : (tensor<4xui8>, memref<4xui8>) -> ()
  func.return
}

// LOOPS-LABEL: func.func private @fmod
// LOOPS:      aot.fmod %{{.*}}, %{{.*}} : f64
func.func private @fmod(%x: memref<4xf64>, %y: memref<f64>, %out: memref<4xf64>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4xf64> to tensor<4xf64>
  %1 = bufferization.to_tensor %y : memref<f64> to tensor<f64>
  %2 = graph.rem %0, %1 : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
  bufferization.materialize_in_destination %2 in %out : (tensor<4xf64>, memref<4xf64>) -> ()
  func.return
}
