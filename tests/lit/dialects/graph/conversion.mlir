// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: %0 = graph.cast %x {to = ui8} : (tensor<2x4xf32>) -> tensor<2x4xui8>
// CHECK-NEXT: %1 = graph.quantize %x, %s, %z {axis = 1 : i64, block_size = 0 : i64, to = i8} : (tensor<2x4xf32>, tensor<f32>, tensor<i8>) -> tensor<2x4xi8>
// CHECK-NEXT: %2 = graph.dequantize %1, %b {axis = -1 : i64, block_size = 2 : i64, to = f16} : (tensor<2x4xi8>, tensor<2x2xf16>) -> tensor<2x4xf16>
// CHECK-NEXT: %3 = graph.dequantize %1, %c {axis = 0 : i64, block_size = 0 : i64, to = f32} : (tensor<2x4xi8>, tensor<2xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %4 = graph.dequantize %1, %b, %z {axis = 1 : i64, block_size = 2 : i64, to = f16} : (tensor<2x4xi8>, tensor<2x2xf16>, tensor<i8>) -> tensor<2x4xf16>
// CHECK-NEXT: %5 = graph.dequantize %1, %b, %b {axis = 1 : i64, block_size = 2 : i64, to = f16} : (tensor<2x4xi8>, tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x4xf16>
func.func @forms(%x: tensor<2x4xf32>, %s: tensor<f32>, %z: tensor<i8>, %b: tensor<2x2xf16>, %c: tensor<2xf32>) {
  %0 = graph.cast %x {to = ui8} : (tensor<2x4xf32>) -> tensor<2x4xui8>
  %1 = graph.quantize %x, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<2x4xf32>, tensor<f32>, tensor<i8>) -> tensor<2x4xi8>
  %2 = graph.dequantize %1, %b {axis = -1, block_size = 2, to = f16} : (tensor<2x4xi8>, tensor<2x2xf16>) -> tensor<2x4xf16>
  %3 = graph.dequantize %1, %c {axis = 0, block_size = 0, to = f32} : (tensor<2x4xi8>, tensor<2xf32>) -> tensor<2x4xf32>
  %4 = graph.dequantize %1, %b, %z {axis = 1, block_size = 2, to = f16} : (tensor<2x4xi8>, tensor<2x2xf16>, tensor<i8>) -> tensor<2x4xf16>
  %5 = graph.dequantize %1, %b, %b {axis = 1, block_size = 2, to = f16} : (tensor<2x4xi8>, tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x4xf16>
  func.return
}

// Infinities and NaNs survive print and parse, and so does a splat.
// CHECK-LABEL: func.func @constants
// CHECK-NEXT: graph.constant dense<"0x0000807F0000C07F"> : tensor<2xf32>
// CHECK-NEXT: graph.constant dense<"0x80FF"> : tensor<bf16>
// CHECK-NEXT: graph.constant dense<true> : tensor<2x3xi1>
// CHECK-NEXT: graph.constant dense<[0, 18446744073709551615]> : tensor<2xui64>
func.func @constants() {
  %0 = graph.constant dense<"0x0000807F0000C07F"> : tensor<2xf32>
  %1 = graph.constant dense<"0x80FF"> : tensor<bf16>
  %2 = graph.constant dense<true> : tensor<2x3xi1>
  %3 = graph.constant dense<[0, 18446744073709551615]> : tensor<2xui64>
  func.return
}

// The conversion is only ever asked for values in range.
// LOOPS-LABEL: func.func private @cast
// LOOPS:      %[[X:.*]] = memref.load %x
// LOOPS-NEXT: %[[A:.*]] = math.absf %[[X]] : f32
// LOOPS-NEXT: %[[IN:.*]] = arith.cmpf olt, %[[A]], %{{.*}} : f32
// LOOPS-NEXT: %[[SAFE:.*]] = arith.select %[[IN]], %[[X]], %{{.*}} : f32
// LOOPS-NEXT: %[[WHOLE:.*]] = arith.fptosi %[[SAFE]] : f32 to i32
// LOOPS-NEXT: %[[R:.*]] = arith.select %[[IN]], %[[WHOLE]], %{{.*}} : i32
// LOOPS-NEXT: arith.trunci %[[R]] : i32 to i8
func.func private @cast(%x: memref<4xf32>, %out: memref<4xi8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4xf32> to tensor<4xf32>
  %1 = graph.cast %0 {to = i8} : (tensor<4xf32>) -> tensor<4xi8>
  bufferization.materialize_in_destination %1 in %out : (tensor<4xi8>, memref<4xi8>) -> ()
  func.return
}

// LOOPS-LABEL: func.func private @quantize
// LOOPS:      %[[V:.*]] = arith.divf
// LOOPS:      arith.cmpf ogt, %[[V]]
// LOOPS:      arith.cmpf olt
// LOOPS:      %[[R:.*]] = math.roundeven
// LOOPS-NEXT: %[[I:.*]] = arith.fptosi %[[R]] : f32 to i32
// LOOPS-NEXT: arith.trunci %[[I]] : i32 to i8
func.func private @quantize(%x: memref<4xf32>, %s: memref<f32>, %out: memref<4xi8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4xf32> to tensor<4xf32>
  %1 = bufferization.to_tensor %s : memref<f32> to tensor<f32>
  %2 = graph.quantize %0, %1 {to = i8} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi8>
  bufferization.materialize_in_destination %2 in %out : (tensor<4xi8>, memref<4xi8>) -> ()
  func.return
}
