// RUN: aotc-opt %s -p fuse-epilogues --split-input-file | filecheck %s

// Bias, residual addition and a diamond (x * sigmoid(x)) go into the kernel of the product.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[F:%.*]] = graph.fused ([[A:%.*]] = %x : {{.*}}, [[W:%.*]] = %w : {{.*}}, [[B:%.*]] = %b : {{.*}}, [[R:%.*]] = %r : {{.*}}) -> (tensor<2x4xf32>) {
// CHECK-NEXT:      [[M:%.*]] = graph.matmul [[A]], [[W]]
// CHECK-NEXT:      [[M1:%.*]] = graph.add [[M]], [[B]]
// CHECK-NEXT:      [[M2:%.*]] = graph.add [[R]], [[M1]]
// CHECK-NEXT:      [[S:%.*]] = graph.sigmoid [[M2]]
// CHECK-NEXT:      [[P:%.*]] = graph.mul [[M2]], [[S]]
// CHECK-NEXT:      graph.yield [[P]]
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return [[F]]
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>, %r: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {aot.entry} {
  %0 = graph.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = graph.add %0, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = graph.add %r, %1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = graph.sigmoid %2 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = graph.mul %2, %3 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %4 : tensor<2x4xf32>
}

// -----

// The squeeze-and-excite gate depends on the product's result by another way: no group, which would need itself.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.fused
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> attributes {aot.entry} {
  %0 = graph.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = graph.reduce %0 {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = graph.mul %0, %1 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  func.return %2 : tensor<2x4xf32>
}

// -----

// The epilogue ends at relu, which two others read, and before a larger shape.
// CHECK-LABEL: func.func @main
// CHECK:         graph.fused
// CHECK:           graph.matmul
// CHECK-NEXT:      [[R:%.*]] = graph.relu
// CHECK-NEXT:      graph.yield [[R]]
// CHECK-NEXT:    }
// CHECK-NEXT:    graph.exp
// CHECK-NEXT:    graph.transpose
func.func @main(%x: tensor<1x8xf32>, %w: tensor<8x4xf32>) -> (tensor<1x4xf32>, tensor<4x1xf32>) attributes {aot.entry} {
  %0 = graph.matmul %x, %w : (tensor<1x8xf32>, tensor<8x4xf32>) -> tensor<1x4xf32>
  %1 = graph.relu %0 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %2 = graph.exp %1 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %3 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<1x4xf32>) -> tensor<4x1xf32>
  func.return %2, %3 : tensor<1x4xf32>, tensor<4x1xf32>
}

// -----

// The tensor between two kernels stays narrow: the reader dequantises.
// CHECK-LABEL: func.func @main
// CHECK:           graph.matmul
// CHECK-NEXT:      [[S:%.*]] = graph.constant
// CHECK-NEXT:      [[Q:%.*]] = graph.quantize {{.*}}, [[S]]
// CHECK-NEXT:      graph.yield [[Q]] : tensor<2x4xi8>
// CHECK-NEXT:    }
// CHECK-NEXT:    graph.dequantize
// CHECK-NEXT:    graph.softmax
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> attributes {aot.entry} {
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = graph.quantize %0, %s {to = i8} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi8>
  %2 = graph.dequantize %1, %s {to = f32} : (tensor<2x4xi8>, tensor<f32>) -> tensor<2x4xf32>
  %3 = graph.softmax %2 {axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %3 : tensor<2x4xf32>
}

// -----

// So does the result of one product that the kernel of another adds: it has its epilogue already.
// CHECK-LABEL: func.func @main
// CHECK:           graph.matmul
// CHECK:           [[Q:%.*]] = graph.quantize
// CHECK-NEXT:      graph.yield [[Q]] : tensor<2x4xi8>
// CHECK-NEXT:    }
// CHECK-NEXT:    graph.dequantize
// CHECK-NEXT:    graph.fused
func.func @main(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> attributes {aot.entry} {
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = graph.matmul %y, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %2 = graph.quantize %1, %s {to = i8} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi8>
  %3 = graph.dequantize %2, %s {to = f32} : (tensor<2x4xi8>, tensor<f32>) -> tensor<2x4xf32>
  %4 = graph.add %0, %3 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %4 : tensor<2x4xf32>
}

// -----

// An anchor with two results that are read, and one whose result is moved, though its shape stays: no epilogue.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.fused
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>, tensor<4x4xf32>) attributes {aot.entry} {
  %0, %1 = graph.top_k %x {k = 2, axis = 1} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  %2 = graph.relu %0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %4 = graph.transpose %3 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %2, %1, %4 : tensor<4x2xf32>, tensor<4x2xi64>, tensor<4x4xf32>
}

// -----

// One with two results, of which one is read, has one.
// CHECK-LABEL: func.func @main
// CHECK:         graph.fused
// CHECK-NEXT:      graph.top_k
// CHECK-NEXT:      graph.relu
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x2xf32> attributes {aot.entry} {
  %0, %1 = graph.top_k %x {k = 2, axis = 1} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  %2 = graph.relu %0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  func.return %2 : tensor<4x2xf32>
}

// -----

// Nobody reads an output in a narrow form: it is dequantised where it is computed.
// CHECK-LABEL: func.func @main
// CHECK:           graph.matmul
// CHECK:           graph.quantize
// CHECK-NEXT:      [[D:%.*]] = graph.dequantize
// CHECK-NEXT:      graph.yield [[D]]
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> attributes {aot.entry} {
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = graph.quantize %0, %s {to = i8} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi8>
  %2 = graph.dequantize %1, %s {to = f32} : (tensor<2x4xi8>, tensor<f32>) -> tensor<2x4xf32>
  func.return %2 : tensor<2x4xf32>
}

// -----

// A vectorised product takes in no arithmetic where it reads, not even through a transpose: what it reads is widened where
// it is computed. A softmax would compute that itself.
// CHECK-LABEL: func.func @widened
// CHECK:           graph.softmax
// CHECK-NEXT:      [[W:%.*]] = graph.cast
// CHECK-NEXT:      graph.yield [[W]] : tensor<8x16xf32>
// CHECK:           graph.softmax
// CHECK-NEXT:      [[V:%.*]] = graph.cast
// CHECK-NEXT:      graph.yield [[V]] : tensor<16x8xf32>
// CHECK:         graph.transpose
// CHECK:         graph.matmul %
// CHECK:         graph.matmul %
// CHECK-NEXT:    graph.cast
// CHECK-NEXT:    graph.softmax
func.func @widened(%x: tensor<8x16xf16>, %y: tensor<16x8xf16>, %w: tensor<16x32xf16>) -> (tensor<8x32xf16>, tensor<8x32xf32>) attributes {aot.entry} {
  %0 = graph.softmax %x {axes = array<i64: 1>, schedule = #graph.row_schedule<lanes = 16, registers = 1, steps = 1, rows = 1, stages = 1>} : (tensor<8x16xf16>) -> tensor<8x16xf16>
  %1 = graph.cast %0 {to = f32} : (tensor<8x16xf16>) -> tensor<8x16xf32>
  %2 = graph.softmax %y {axes = array<i64: 1>, schedule = #graph.row_schedule<lanes = 8, registers = 1, steps = 1, rows = 1, stages = 1>} : (tensor<16x8xf16>) -> tensor<16x8xf16>
  %3 = graph.cast %2 {to = f32} : (tensor<16x8xf16>) -> tensor<16x8xf32>
  %4 = graph.transpose %3 {permutation = array<i64: 1, 0>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %5 = graph.matmul %1, %w {schedule = #graph.matmul_schedule<lanes = 16, mr = 8, nr = 2, unroll = 2, order = rows>} : (tensor<8x16xf32>, tensor<16x32xf16>) -> tensor<8x32xf16>
  %6 = graph.matmul %4, %w {schedule = #graph.matmul_schedule<lanes = 16, mr = 8, nr = 2, unroll = 2, order = rows>} : (tensor<8x16xf32>, tensor<16x32xf16>) -> tensor<8x32xf16>
  %7 = graph.cast %6 {to = f32} : (tensor<8x32xf16>) -> tensor<8x32xf32>
  %8 = graph.softmax %7 {axes = array<i64: 1>, schedule = #graph.row_schedule<lanes = 16, registers = 2, steps = 1, rows = 1, stages = 1>} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  func.return %5, %8 : tensor<8x32xf16>, tensor<8x32xf32>
}
