// RUN: aotc-opt %s -p 'outline-kernels' --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'outline-kernels,bufferize' --split-input-file | filecheck %s --check-prefix BUFFER
// RUN: aotc-opt %s -p 'outline-kernels,bufferize,plan-memory' --split-input-file | filecheck %s --check-prefix PLAN

// Parts that kernels compute are written in their places, in one after the other; the concatenations stay in the entry.

// CHECK-LABEL: func.func @main
// CHECK:         [[A:%.*]] = func.call @relu_0
// CHECK-NEXT:    [[B:%.*]] = func.call @neg_0
// CHECK-NEXT:    [[V:%.*]] = graph.reshape [[B]]
// CHECK-NEXT:    [[I:%.*]] = graph.concat [[A]], [[V]]
// CHECK-NEXT:    [[C:%.*]] = func.call @abs_0([[I]])
// CHECK-NEXT:    [[O:%.*]] = graph.concat [[C]], [[I]]
// CHECK-NEXT:    [[R:%.*]] = func.call @reduce_0([[O]])
// CHECK-NEXT:    func.return [[R]]

// BUFFER-LABEL: func.func @main
// BUFFER-NEXT:    [[O:%.*]] = memref.alloc() : memref<1x12x4xf32>
// BUFFER-NEXT:    [[C:%.*]] = memref.reinterpret_cast [[O]] to offset: [0], sizes: [1, 6, 4], strides: [24, 4, 1]
// BUFFER-NEXT:    [[I:%.*]] = memref.reinterpret_cast [[O]] to offset: [24], sizes: [1, 6, 4], strides: [24, 4, 1]
// BUFFER-NEXT:    [[A:%.*]] = memref.reinterpret_cast [[O]] to offset: [24], sizes: [1, 4, 4], strides: [16, 4, 1]
// BUFFER-NEXT:    [[B:%.*]] = memref.reinterpret_cast [[O]] to offset: [40], sizes: [1, 8], strides: [8, 1]
// BUFFER-NEXT:    func.call @relu_0(%x, [[A]])
// BUFFER-NEXT:    func.call @neg_0(%y, [[B]])
// BUFFER-NEXT:    func.call @abs_0([[I]], [[C]])
// BUFFER-NEXT:    func.call @reduce_0([[O]], %{{.*}})
// BUFFER-NEXT:    func.return

// PLAN: peak_bytes = 192
// PLAN: aot.workspace : memref<192xi8>
// PLAN-NOT: aot.may_alias
func.func @main(%x: tensor<1x4x4xf32>, %y: tensor<1x8xf32>) -> tensor<1x12xf32> attributes {aot.entry} {
  %0 = graph.relu %x : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %1 = graph.neg %y : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %2 = graph.reshape %1 {shape = array<i64: 1, 2, 4>} : (tensor<1x8xf32>) -> tensor<1x2x4xf32>
  %3 = graph.concat %0, %2 {axis = 1} : (tensor<1x4x4xf32>, tensor<1x2x4xf32>) -> tensor<1x6x4xf32>
  %4 = graph.abs %3 : (tensor<1x6x4xf32>) -> tensor<1x6x4xf32>
  %5 = graph.concat %4, %3 {axis = 1} : (tensor<1x6x4xf32>, tensor<1x6x4xf32>) -> tensor<1x12x4xf32>
  %6 = graph.reduce %5 {kind = "sum", axes = array<i64: 2>, keepdims = false} : (tensor<1x12x4xf32>) -> tensor<1x12xf32>
  func.return %6 : tensor<1x12xf32>
}

// -----

// Inputs, outputs, what is there twice or in another result already is copied to its place.

// CHECK-LABEL: func.func @copies
// CHECK:         [[A:%.*]] = func.call @relu_0(%x)
// CHECK-NEXT:    [[O:%.*]] = func.call @neg_0(%x)
// CHECK-NEXT:    [[P:%.*]] = func.call @copy_0([[A]])
// CHECK-NEXT:    [[Q:%.*]] = func.call @copy_0(%x)
// CHECK-NEXT:    [[R:%.*]] = func.call @copy_0([[O]])
// CHECK-NEXT:    [[C:%.*]] = graph.concat [[A]], [[P]], [[Q]], [[R]]
// CHECK-NEXT:    [[S:%.*]] = func.call @reduce_0([[C]])
// CHECK-NEXT:    func.return [[S]], [[O]]
func.func @copies(%x: tensor<1x4x4xf32>) -> (tensor<1x16xf32>, tensor<1x4x4xf32>) attributes {aot.entry} {
  %0 = graph.relu %x : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %1 = graph.neg %x : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %2 = graph.concat %0, %0, %x, %1 {axis = 1} : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> tensor<1x16x4xf32>
  %3 = graph.reduce %2 {kind = "sum", axes = array<i64: 2>, keepdims = false} : (tensor<1x16x4xf32>) -> tensor<1x16xf32>
  func.return %3, %1 : tensor<1x16xf32>, tensor<1x4x4xf32>
}

// -----

// A concatenation of what no kernel computes, an output, and one that is no run of parts are kernels.

// CHECK-LABEL: func.func @kernels
// CHECK-NOT:     graph.concat
// CHECK:         func.return
func.func @kernels(%x: tensor<2x4xf32>, %y: tensor<1x4xf32>) -> (tensor<2x12xf32>, tensor<2x4xf32>) attributes {aot.entry} {
  %0 = graph.relu %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = graph.neg %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = graph.concat %y, %y {axis = 0} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %3 = graph.concat %0, %1, %2 {axis = 1} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x12xf32>
  %4 = graph.abs %y : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %5 = graph.neg %y : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %6 = graph.concat %4, %5 {axis = 0} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  func.return %3, %6 : tensor<2x12xf32>, tensor<2x4xf32>
}
