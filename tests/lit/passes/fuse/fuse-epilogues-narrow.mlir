// RUN: aotc-opt %s -p fuse-epilogues --split-input-file | filecheck %s

// Between two kernels a tensor stays narrow, too, where a kernel of another shape dequantises it.
// CHECK-LABEL: func.func @main
// CHECK:           graph.quantize
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    graph.dequantize
func.func @main(%x: tensor<1x8xf32>, %w: tensor<8x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {aot.entry} {
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.matmul %x, %w : (tensor<1x8xf32>, tensor<8x4xf32>) -> tensor<1x4xf32>
  %1 = graph.quantize %0, %s {to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %2 = graph.dequantize %1, %s {to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %3 = graph.add %2, %y : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %3 : tensor<2x4xf32>
}

// -----

// Not where a view, which is no kernel, is read.
// CHECK-LABEL: func.func @main
// CHECK:           graph.quantize
// CHECK-NEXT:      graph.dequantize
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    graph.reshape
// CHECK-NEXT:    graph.softmax
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<8xf32> attributes {aot.entry} {
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = graph.quantize %0, %s {to = i8} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi8>
  %2 = graph.dequantize %1, %s {to = f32} : (tensor<2x4xi8>, tensor<f32>) -> tensor<2x4xf32>
  %3 = graph.reshape %2 {shape = array<i64: 8>} : (tensor<2x4xf32>) -> tensor<8xf32>
  %4 = graph.softmax %3 {axes = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
  func.return %4 : tensor<8xf32>
}

// -----

// Not where an output is moved, though a kernel reads it, too.
// CHECK-LABEL: func.func @main
// CHECK:           graph.quantize
// CHECK-NEXT:      graph.dequantize
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    graph.transpose
// CHECK-NEXT:    graph.softmax
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) attributes {aot.entry} {
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = graph.quantize %0, %s {to = i8} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi8>
  %2 = graph.dequantize %1, %s {to = f32} : (tensor<2x4xi8>, tensor<f32>) -> tensor<2x4xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %4 = graph.softmax %3 {axes = array<i64: 1>} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  func.return %3, %4 : tensor<4x2xf32>, tensor<4x2xf32>
}

// -----

// Nor where one reader is a kernel and the other the caller.
// CHECK-LABEL: func.func @main
// CHECK:           graph.quantize
// CHECK-NEXT:      graph.dequantize
// CHECK-NEXT:      graph.yield
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) attributes {aot.entry} {
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = graph.quantize %0, %s {to = i8} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi8>
  %2 = graph.dequantize %1, %s {to = f32} : (tensor<2x4xi8>, tensor<f32>) -> tensor<2x4xf32>
  %3 = graph.softmax %2 {axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %2, %3 : tensor<2x4xf32>, tensor<2x4xf32>
}
