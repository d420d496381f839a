// RUN: aotc-opt %s -p fuse-prologues --split-input-file | filecheck %s

// Two products read the weights: each dequantises for itself, the weights stay narrow, nothing is stored wide.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.dequantize {{.*}} -> tensor<8x4xf32>
// CHECK:         graph.fused
// CHECK:           [[W:%.*]] = graph.dequantize {{.*}} -> tensor<8x4xf32>
// CHECK-NEXT:      graph.matmul {{.*}}, [[W]]
// CHECK:         }
// CHECK-NEXT:    graph.fused
// CHECK:           [[W:%.*]] = graph.dequantize {{.*}} -> tensor<8x4xf32>
// CHECK-NEXT:      graph.matmul {{.*}}, [[W]]
// CHECK:         }
// CHECK-NEXT:    func.return
func.func @main(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>, %q: tensor<8x4xi8>, %s: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) attributes {aot.entry} {
  %w = graph.dequantize %q, %s {to = f32, axis = 1 : i64} : (tensor<8x4xi8>, tensor<4xf32>) -> tensor<8x4xf32>
  %0 = graph.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = graph.matmul %y, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  func.return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// A product reads its operands often: exp is not computed again at each read; a sum reads them once.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[E:%.*]] = graph.exp %x
// CHECK-NEXT:    [[M:%.*]] = graph.matmul [[E]], %w
// CHECK-NEXT:    [[R:%.*]] = graph.fused ([[A:%.*]] = %x
// CHECK-NEXT:      [[L:%.*]] = graph.log [[A]]
// CHECK-NEXT:      [[T:%.*]] = graph.transpose [[L]]
// CHECK-NEXT:      [[S:%.*]] = graph.reduce [[T]]
// CHECK-NEXT:      graph.yield [[S]]
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return [[M]], [[R]]
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>) attributes {aot.entry} {
  %0 = graph.exp %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = graph.matmul %0, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %2 = graph.log %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<2x8xf32>) -> tensor<8x2xf32>
  %4 = graph.reduce %3 {kind = "sum", axes = array<i64: 0>, keepdims = false} : (tensor<8x2xf32>) -> tensor<2xf32>
  func.return %1, %4 : tensor<2x4xf32>, tensor<2xf32>
}

// -----

// What others read too is not recomputed, unless that keeps it narrow.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[L:%.*]] = graph.log %x
// CHECK-NEXT:    [[S:%.*]] = graph.reduce [[L]]
// CHECK-NEXT:    func.return [[L]], [[S]]
func.func @main(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2xf32>) attributes {aot.entry} {
  %0 = graph.log %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = graph.reduce %0 {kind = "sum", axes = array<i64: 1>, keepdims = false} : (tensor<2x8xf32>) -> tensor<2xf32>
  func.return %0, %1 : tensor<2x8xf32>, tensor<2xf32>
}

// -----

// The side operand of an epilogue is read where the result is written.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    graph.fused
// CHECK-NEXT:      [[E:%.*]] = graph.exp
// CHECK-NEXT:      [[M:%.*]] = graph.matmul
// CHECK-NEXT:      [[A:%.*]] = graph.add [[M]], [[E]]
// CHECK-NEXT:      graph.yield [[A]]
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %r: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {aot.entry} {
  %0 = graph.exp %r : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = graph.fused (%a = %x : tensor<2x8xf32>, %b = %w : tensor<8x4xf32>, %c = %0 : tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    %2 = graph.matmul %a, %b : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %3 = graph.add %2, %c : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    graph.yield %3 : tensor<2x4xf32>
  }
  func.return %1 : tensor<2x4xf32>
}

// -----

// A dequantised operand keeps its narrow tensor, and a transpose below it costs nothing more.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.transpose
// CHECK:         graph.fused
// CHECK-NEXT:      [[T:%.*]] = graph.transpose
// CHECK:           [[D:%.*]] = graph.dequantize [[T]]
// CHECK-NEXT:      graph.matmul {{.*}}, [[D]]
func.func @main(%x: tensor<5x8xf32>, %q: tensor<4x8xi8>) -> tensor<5x4xf32> attributes {aot.entry} {
  %s = graph.constant dense<0.5> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %0 = graph.transpose %q {permutation = array<i64: 1, 0>} : (tensor<4x8xi8>) -> tensor<8x4xi8>
  %1 = graph.dequantize %0, %s, %z {to = f32} : (tensor<8x4xi8>, tensor<f32>, tensor<i8>) -> tensor<8x4xf32>
  %2 = graph.matmul %x, %1 : (tensor<5x8xf32>, tensor<8x4xf32>) -> tensor<5x4xf32>
  func.return %2 : tensor<5x4xf32>
}

// -----

// An anchor's kernel has one result: what others read, too, stays outside, even where it is read as it is written.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[E:%.*]] = graph.exp %r
// CHECK-NEXT:    [[F:%.*]] = graph.fused
// CHECK-NOT:       graph.exp
// CHECK:         func.return [[F]], [[E]]
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %r: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) attributes {aot.entry} {
  %0 = graph.exp %r : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = graph.fused (%a = %x : tensor<2x8xf32>, %b = %w : tensor<8x4xf32>, %c = %0 : tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    %2 = graph.matmul %a, %b : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %3 = graph.add %2, %c : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    graph.yield %3 : tensor<2x4xf32>
  }
  func.return %1, %0 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// Two cheap operations may be repeated at every read, not three.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    graph.neg %x
// CHECK-NEXT:    graph.fused
// CHECK-NEXT:      graph.abs
// CHECK-NEXT:      graph.neg
// CHECK-NEXT:      graph.matmul
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> attributes {aot.entry} {
  %0 = graph.neg %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = graph.abs %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = graph.neg %1 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = graph.matmul %2, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  func.return %3 : tensor<2x4xf32>
}

// -----

// Of two ways from a value to its readers the one that repeats more counts.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    graph.add %x, %y
// CHECK-NEXT:    graph.fused
// CHECK-NEXT:      graph.neg
// CHECK-NEXT:      graph.matmul
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {aot.entry} {
  %0 = graph.add %x, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.neg %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = graph.matmul %1, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %2 : tensor<4x4xf32>
}

// -----

// Data movement that branches is not for nothing.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    graph.concat %x, %y
// CHECK-NEXT:    graph.matmul
func.func @main(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> attributes {aot.entry} {
  %0 = graph.concat %x, %y {axis = 1} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %1 = graph.matmul %0, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}
