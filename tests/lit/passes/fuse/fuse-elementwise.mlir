// RUN: aotc-opt %s -p fuse-elementwise --split-input-file | filecheck %s

// A diamond over data movement is one kernel; a value that others read is a second result.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[A:%.*]], [[B:%.*]] = graph.fused
// CHECK-NEXT:      [[E:%.*]] = graph.exp
// CHECK-NEXT:      [[T:%.*]] = graph.transpose [[E]]
// CHECK-NEXT:      [[R:%.*]] = graph.relu [[T]]
// CHECK-NEXT:      [[S:%.*]] = graph.add [[T]], [[R]]
// CHECK-NEXT:      graph.yield [[S]], [[R]]
// CHECK-NEXT:    }
// CHECK-NEXT:    [[M:%.*]] = graph.matmul [[B]],
func.func @main(%x: tensor<4x8xf32>, %w: tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) attributes {aot.entry} {
  %0 = graph.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %2 = graph.relu %1 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = graph.matmul %2, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %4 = graph.add %1, %2 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %3, %4 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// exp of the small vector is not computed again for every row; relu may be.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[E:%.*]] = graph.exp %v
// CHECK-NEXT:    graph.fused ({{.*}} = %u : tensor<8xf32>, {{.*}} = %x : tensor<4x8xf32>, {{.*}} = [[E]] : tensor<8xf32>)
// CHECK-NEXT:      graph.relu
// CHECK-NEXT:      graph.add
// CHECK-NEXT:      graph.mul
func.func @main(%x: tensor<4x8xf32>, %v: tensor<8xf32>, %u: tensor<8xf32>) -> tensor<4x8xf32> attributes {aot.entry} {
  %0 = graph.exp %v : (tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.relu %u : (tensor<8xf32>) -> tensor<8xf32>
  %2 = graph.add %x, %1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %3 = graph.mul %2, %0 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return %3 : tensor<4x8xf32>
}

// -----

// The sum needs the softmax of its own other operand's source: a group of exp and add would need itself.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[E:%.*]] = graph.exp
// CHECK-NEXT:    [[S:%.*]] = graph.softmax [[E]]
// CHECK-NEXT:    graph.add [[E]], [[S]]
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {aot.entry} {
  %0 = graph.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.softmax %0 {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = graph.add %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}

// -----

// The user of the second result stood before the group: it is moved behind it.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[A:%.*]], [[B:%.*]] = graph.fused
// CHECK:         }
// CHECK-NEXT:    graph.softmax [[B]]
// CHECK-NEXT:    func.return
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) attributes {aot.entry} {
  %0 = graph.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.softmax %0 {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = graph.add %0, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Parts that are written where they belong cost nothing: a concatenation of them takes nothing in.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.fused
func.func @main(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<4x4xf32> attributes {aot.entry} {
  %0 = graph.exp %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = graph.log %y : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = graph.concat %0, %1 {axis = 0 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %3 = graph.softmax %2 {axes = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %3 : tensor<4x4xf32>
}

// -----

// What is read at another index than it is written at, though of the same shape, is no second result.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[E:%.*]] = graph.exp %x
// CHECK-NEXT:    [[F:%.*]] = graph.fused
// CHECK-NEXT:      graph.transpose
// CHECK-NEXT:      graph.add
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return [[E]], [[F]]
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) attributes {aot.entry} {
  %0 = graph.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = graph.add %1, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %0, %2 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Read twice, once at another index: the exponential would be computed twice.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[E:%.*]] = graph.exp %x
// CHECK-NEXT:    graph.fused
// CHECK-NEXT:      graph.transpose
// CHECK-NEXT:      graph.add
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {aot.entry} {
  %0 = graph.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = graph.add %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %2 : tensor<4x4xf32>
}

// -----

// A view takes no time, and is no part of a kernel.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    graph.exp
// CHECK-NEXT:    graph.reshape
// CHECK-NEXT:    graph.neg
// CHECK-NEXT:    graph.reshape
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {aot.entry} {
  %0 = graph.exp %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = graph.reshape %0 {shape = array<i64: 8>} : (tensor<2x4xf32>) -> tensor<8xf32>
  %2 = graph.neg %1 : (tensor<8xf32>) -> tensor<8xf32>
  %3 = graph.reshape %2 {shape = array<i64: 2, 4>} : (tensor<8xf32>) -> tensor<2x4xf32>
  func.return %3 : tensor<2x4xf32>
}

// -----

// Nor is a concatenation, whose parts others write in place, a second result of who reads it.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[C:%.*]] = graph.concat %x, %y
// CHECK-NEXT:    [[R:%.*]] = graph.exp [[C]]
// CHECK-NEXT:    func.return [[C]], [[R]]
func.func @main(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) attributes {aot.entry} {
  %0 = graph.concat %x, %y {axis = 0 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %1 = graph.exp %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}
