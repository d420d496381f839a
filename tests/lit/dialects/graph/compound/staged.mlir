// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p 'outline-kernels,bufferize,convert-graph-to-loops' | filecheck %s --check-prefix LOOPS

// Rows of scores become weights of a sum, five at a time.

// CHECK-LABEL: func.func @attention
// CHECK:         [[Y:%.*]], [[S:%.*]], [[P:%.*]] = graph.staged ([[A:%.*]] = %q : tensor<2x12x8xf32>, [[B:%.*]] = %k : tensor<2x8x16xf32>, [[C:%.*]] = %v : tensor<2x16x4xf32>) -> (tensor<2x12x4xf32>, tensor<1x5x16xf32>, tensor<1x5x16xf32>)
// CHECK-SAME:      attributes {tile = array<i64: 1, 5, 4>} {
// CHECK-NEXT:      graph.matmul [[A]], [[B]]
// CHECK-NEXT:      graph.softmax
// CHECK-NEXT:      graph.matmul {{%.*}}, [[C]]
// CHECK-NEXT:      graph.yield
// CHECK:         func.return [[Y]]

// The scratch buffers come after the result; the last tile of a batch has two rows.

// LOOPS-LABEL: func.func private @matmul_softmax_matmul_0(
// LOOPS-SAME:    %lhs: memref<2x12x8xf32>, %rhs: memref<2x8x16xf32>, %rhs_1: memref<2x16x4xf32>, %out: memref<2x12x4xf32>, [[S:%.*]]: memref<1x5x16xf32> {aot.scratch}, [[P:%.*]]: memref<1x5x16xf32> {aot.scratch})
// LOOPS:         scf.for
// LOOPS-NEXT:      scf.for
// LOOPS:           memref.store {{.*}}, [[S]]
// LOOPS:           memref.load [[S]]
// LOOPS:           memref.store {{.*}}, [[P]]
// LOOPS:           memref.load [[P]]
// LOOPS:           memref.store {{.*}}, %out
// LOOPS:         scf.for
// LOOPS:           memref.store {{.*}}, [[S]]
// LOOPS:           memref.store {{.*}}, %out
func.func @attention(%q: tensor<2x12x8xf32>, %k: tensor<2x8x16xf32>, %v: tensor<2x16x4xf32>) -> tensor<2x12x4xf32> attributes {aot.entry} {
  %y, %s, %p = graph.staged (%a = %q : tensor<2x12x8xf32>, %b = %k : tensor<2x8x16xf32>, %c = %v : tensor<2x16x4xf32>) -> (tensor<2x12x4xf32>, tensor<1x5x16xf32>, tensor<1x5x16xf32>) attributes {tile = array<i64: 1, 5, 4>} {
    %0 = graph.matmul %a, %b : (tensor<2x12x8xf32>, tensor<2x8x16xf32>) -> tensor<2x12x16xf32>
    %1 = graph.softmax %0 {axes = array<i64: 2>, log = false} : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32>
    %2 = graph.matmul %1, %c : (tensor<2x12x16xf32>, tensor<2x16x4xf32>) -> tensor<2x12x4xf32>
    graph.yield %2 : tensor<2x12x4xf32>
  }
  func.return %y : tensor<2x12x4xf32>
}

// A pool sees one row of a convolution again in the next tile, which computes four more: memory has five, in turn.

// LOOPS-LABEL: func.func private @blocked_conv_max_pool_0(
// LOOPS-SAME:    %out: memref<1x1x8x2x4xf32>, [[M:%.*]]: memref<1x1x5x5x4xf32> {aot.scratch})
// LOOPS:         [[FIVE:%.*]] = arith.constant 5 : index
// LOOPS:         memref.store {{%.*}}, [[M]][{{%.*}}, {{%.*}}, [[R:%.*]], {{%.*}}, {{%.*}}]
// LOOPS:         memref.load [[M]]
// LOOPS:         memref.store {{%.*}}, %out
// LOOPS:         scf.for
// LOOPS:           [[FIRST:%.*]] = arith.remui {{%.*}}, [[FIVE]] : index
// LOOPS:           "scf.parallel"
// LOOPS-NEXT:        ([[ROW:%.*]]: index, [[COLUMN:%.*]]: index, [[LANE:%.*]]: index):
// LOOPS:             [[PLACE:%.*]] = arith.addi [[FIRST]], [[ROW]] : index
// LOOPS-NEXT:        [[OVER:%.*]] = arith.cmpi sge, [[PLACE]], [[FIVE]] : index
// LOOPS-NEXT:        [[BACK:%.*]] = arith.subi [[PLACE]], [[FIVE]] : index
// LOOPS-NEXT:        [[TURN:%.*]] = arith.select [[OVER]], [[BACK]], [[PLACE]] : index
// LOOPS-NEXT:        memref.store {{%.*}}, [[M]][{{%.*}}, {{%.*}}, [[TURN]], [[COLUMN]], [[LANE]]]
// LOOPS:           arith.remui {{%.*}}, [[FIVE]] : index
// LOOPS:             memref.load [[M]]
// LOOPS:             memref.store {{%.*}}, %out
func.func @pool(%x: tensor<1x1x17x5x4xf32>, %w: tensor<1x1x1x1x4x4xf32>) -> tensor<1x1x8x2x4xf32> attributes {aot.entry} {
  %y, %m = graph.staged (%a = %x : tensor<1x1x17x5x4xf32>, %b = %w : tensor<1x1x1x1x4x4xf32>) -> (tensor<1x1x8x2x4xf32>, tensor<1x1x5x5x4xf32>) attributes {tile = array<i64: 1, 1, 2, 2, 4>} {
    %0 = graph.blocked_conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, channels = 4 : i64, outputs = 4 : i64, block = 4 : i64} : (tensor<1x1x17x5x4xf32>, tensor<1x1x1x1x4x4xf32>) -> tensor<1x1x17x5x4xf32>
    %1 = graph.max_pool %0 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x1x17x5x4xf32>) -> tensor<1x1x8x2x4xf32>
    graph.yield %1 : tensor<1x1x8x2x4xf32>
  }
  func.return %y : tensor<1x1x8x2x4xf32>
}

// Four tiles in two parts. They are alike, so that one loop over parts is for both, in whose memory five rows of the
// second come after those of the first; only the code of a part's first tile, which keeps nothing, is another.

// CHECK-LABEL: func.func @parts
// CHECK:         graph.staged {{.*}} attributes {tile = array<i64: 1, 1, 2, 2, 4>, parts = array<i64: 2, 2>}

// LOOPS-LABEL: func.func private @blocked_conv_max_pool_1(
// LOOPS-SAME:    %out: memref<1x1x8x2x4xf32>, [[M:%.*]]: memref<2x1x5x5x4xf32> {aot.scratch})
// LOOPS:         "scf.parallel"
// LOOPS-NEXT:    ([[PART:%.*]]: index):
// LOOPS-NOT:       scf.if
// LOOPS:           memref.store {{%.*}}, [[M]][[[PART]], {{.*}}]
// LOOPS:           memref.load [[M]][[[PART]], {{.*}}]
// LOOPS:           memref.store {{%.*}}, %out
// LOOPS:           memref.store {{%.*}}, [[M]][[[PART]], {{.*}}]
// LOOPS:           memref.load [[M]][[[PART]], {{.*}}]
// LOOPS:           memref.store {{%.*}}, %out
// LOOPS-NOT:       memref.store
// LOOPS:         func.return

// Padding before the first part and none before the second is code of its own for each.

// LOOPS-LABEL: func.func private @blocked_conv_max_pool_2(
// LOOPS:         "scf.parallel"
// LOOPS:           scf.if
// LOOPS:           scf.if
// LOOPS:         func.return
func.func @parts(%x: tensor<1x1x17x5x4xf32>, %w: tensor<1x1x1x1x4x4xf32>) -> (tensor<1x1x8x2x4xf32>, tensor<1x1x8x2x4xf32>) attributes {aot.entry} {
  %y, %m = graph.staged (%a = %x : tensor<1x1x17x5x4xf32>, %b = %w : tensor<1x1x1x1x4x4xf32>) -> (tensor<1x1x8x2x4xf32>, tensor<2x1x5x5x4xf32>) attributes {tile = array<i64: 1, 1, 2, 2, 4>, parts = array<i64: 2, 2>} {
    %0 = graph.blocked_conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, channels = 4 : i64, outputs = 4 : i64, block = 4 : i64} : (tensor<1x1x17x5x4xf32>, tensor<1x1x1x1x4x4xf32>) -> tensor<1x1x17x5x4xf32>
    %1 = graph.max_pool %0 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x1x17x5x4xf32>) -> tensor<1x1x8x2x4xf32>
    graph.yield %1 : tensor<1x1x8x2x4xf32>
  }
  %z, %n = graph.staged (%a = %x : tensor<1x1x17x5x4xf32>, %b = %w : tensor<1x1x1x1x4x4xf32>) -> (tensor<1x1x8x2x4xf32>, tensor<2x1x5x5x4xf32>) attributes {tile = array<i64: 1, 1, 2, 2, 4>, parts = array<i64: 2, 2>} {
    %0 = graph.blocked_conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, channels = 4 : i64, outputs = 4 : i64, block = 4 : i64} : (tensor<1x1x17x5x4xf32>, tensor<1x1x1x1x4x4xf32>) -> tensor<1x1x17x5x4xf32>
    %1 = graph.max_pool %0 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 0, -1, 0>, dilations = array<i64: 1, 1>} : (tensor<1x1x17x5x4xf32>) -> tensor<1x1x8x2x4xf32>
    graph.yield %1 : tensor<1x1x8x2x4xf32>
  }
  func.return %y, %z : tensor<1x1x8x2x4xf32>, tensor<1x1x8x2x4xf32>
}
