// RUN: aotc-opt %s -p 'outline-kernels' --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'outline-kernels,bufferize' --split-input-file | filecheck %s --check-prefix BUFFER
// RUN: aotc-opt %s -p 'outline-kernels,bufferize,plan-memory' --split-input-file | filecheck %s --check-prefix PLAN
// RUN: aotc-opt %s -p 'outline-kernels,bufferize,plan-memory,convert-graph-to-loops' --split-input-file | filecheck %s --check-prefix LOOPS

// Kernels write parts whose elements are apart in the whole where they belong: each knows where. Such a result takes over
// no operand's buffer.

// CHECK:       func.func private @relu_0
// CHECK-SAME:    aot.in_place = {{\[\[}}]], aot.within = {{\[\[}}1 : i64, 0 : i64, 5 : i64]]
// CHECK:       func.func private @neg_0
// CHECK-SAME:    aot.within = {{\[\[}}1 : i64, 2 : i64, 5 : i64]]
// CHECK-LABEL: func.func @main
// CHECK:         [[A:%.*]] = func.call @relu_0
// CHECK-NEXT:    [[B:%.*]] = func.call @neg_0
// CHECK-NEXT:    [[C:%.*]] = graph.concat [[A]], [[B]]
// CHECK-NEXT:    func.call @abs_0([[C]])

// BUFFER:       func.func private @neg_0(%x: memref<4x3xf32>, %out: memref<4x5xf32>) attributes {aot.kernel, aot.in_place = {{\[\[}}]]} {
// BUFFER:         [[V:%.*]] = graph.neg
// BUFFER-NEXT:    [[O:%.*]] = bufferization.to_tensor %out
// BUFFER-NEXT:    [[P:%.*]] = tensor.insert_slice [[V]] into [[O]][0, 2] [4, 3] [1, 1] : tensor<4x3xf32> into tensor<4x5xf32>
// BUFFER-NEXT:    bufferization.materialize_in_destination [[P]] in writable %out
// BUFFER-LABEL: func.func @main
// BUFFER-NEXT:    [[W:%.*]] = memref.alloc() : memref<4x5xf32>
// BUFFER-NEXT:    func.call @relu_0(%x, [[W]])
// BUFFER-NEXT:    func.call @neg_0(%y, [[W]])
// BUFFER-NEXT:    func.call @abs_0([[W]], %{{.*}})

// The second write keeps its place behind the first and before what reads the whole.
// PLAN-LABEL: func.func @main
// PLAN:         func.call @relu_0
// PLAN-NEXT:    func.call @neg_0
// PLAN-NEXT:    func.call @abs_0

// LOOPS:       func.func private @neg_0(%x: memref<4x3xf32>, %out: memref<4x5xf32>)
// LOOPS:         [[TWO:%.*]] = arith.constant 2 : index
// LOOPS:         "scf.parallel"
// LOOPS-NEXT:    ^bb0([[I:%.*]]: index, [[J:%.*]]: index):
// LOOPS-NEXT:      memref.load %x[[[I]], [[J]]]
// LOOPS:           [[K:%.*]] = arith.addi [[J]], [[TWO]] : index
// LOOPS-NEXT:      memref.store %{{.*}}, %out[[[I]], [[K]]]
func.func @main(%x: tensor<4x2xf32>, %y: tensor<4x3xf32>) -> tensor<4x5xf32> attributes {aot.entry} {
  %0 = graph.relu %x : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %1 = graph.neg %y : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %2 = graph.concat %0, %1 {axis = 1, in_place = true} : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
  %3 = graph.abs %2 : (tensor<4x5xf32>) -> tensor<4x5xf32>
  func.return %3 : tensor<4x5xf32>
}

// -----

// Inputs, what others read or a view is of, and another such result are copied to their places.

// CHECK-LABEL: func.func @copies
// CHECK:         [[A:%.*]] = func.call @relu_0(%x)
// CHECK-NEXT:    [[B:%.*]] = func.call @neg_0(%z)
// CHECK-NEXT:    [[V:%.*]] = graph.reshape [[B]]
// CHECK-NEXT:    [[D:%.*]] = func.call @abs_0(%x)
// CHECK-NEXT:    [[E:%.*]] = func.call @exp_0(%x)
// CHECK-NEXT:    [[F:%.*]] = func.call @copy_0(%x)
// CHECK-NEXT:    [[I:%.*]] = graph.concat [[E]], [[F]]
// CHECK-NEXT:    [[P:%.*]] = func.call @copy_1(%x)
// CHECK-NEXT:    [[Q:%.*]] = func.call @copy_2([[A]])
// CHECK-NEXT:    [[R:%.*]] = func.call @copy_3([[V]])
// CHECK-NEXT:    [[S:%.*]] = func.call @copy_4([[I]])
// CHECK-NEXT:    [[O:%.*]] = graph.concat [[D]], [[P]], [[Q]], [[R]], [[S]]
// BUFFER-LABEL: func.func @copies
// PLAN-LABEL:  func.func @copies
// LOOPS-LABEL: func.func @copies
func.func @copies(%x: tensor<4x2xf32>, %z: tensor<2x4xf32>) -> (tensor<4x12xf32>, tensor<4x2xf32>) attributes {aot.entry} {
  %0 = graph.relu %x : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %1 = graph.neg %z : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = graph.reshape %1 {shape = array<i64: 4, 2>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %3 = graph.abs %x : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %4 = graph.exp %x : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %5 = graph.concat %4, %x {axis = 1, in_place = true} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %6 = graph.concat %3, %x, %0, %2, %5 {axis = 1, in_place = true} : (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x4xf32>) -> tensor<4x12xf32>
  %7 = graph.sqrt %6 : (tensor<4x12xf32>) -> tensor<4x12xf32>
  func.return %7, %0 : tensor<4x12xf32>, tensor<4x2xf32>
}

// -----

// Where no part can be written in place, where the whole is an output, and where nobody asks for it, it is a kernel.

// CHECK-LABEL: func.func @kernels
// CHECK-NOT:     graph.concat
// CHECK:         func.return
// BUFFER-LABEL: func.func @kernels
// PLAN-LABEL:  func.func @kernels
// LOOPS-LABEL: func.func @kernels
func.func @kernels(%x: tensor<4x2xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) attributes {aot.entry} {
  %0 = graph.concat %x, %x {axis = 1, in_place = true} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %1 = graph.abs %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = graph.relu %x : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = graph.concat %2, %x {axis = 1, in_place = true} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %4 = graph.neg %x : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %5 = graph.concat %4, %x {axis = 1} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %6 = graph.exp %5 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %1, %3, %6 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A kernel of several results writes all that are parts, and is there once; its two pointers to the whole may overlap.

// CHECK:       func.func private @neg_relu_0
// CHECK-SAME:    aot.within = {{\[\[}}1 : i64, 2 : i64, 4 : i64], [1 : i64, 0 : i64, 4 : i64]]
// CHECK-NOT:   func.func private @neg
// CHECK-LABEL: func.func @several
// CHECK:         [[R:%.*]], [[S:%.*]] = func.call @neg_relu_0(%x)
// CHECK-NEXT:    [[C:%.*]] = graph.concat [[S]], [[R]]
// CHECK-NEXT:    func.call @abs_0([[C]])

// BUFFER-LABEL: func.func @several
// BUFFER-NEXT:    [[W:%.*]] = memref.alloc() : memref<4x4xf32>
// BUFFER-NEXT:    func.call @neg_relu_0(%x, [[W]], [[W]])
// PLAN:         func.func private @neg_relu_0({{.*}}memref<4x4xf32> {aot.may_alias}, {{.*}}memref<4x4xf32> {aot.may_alias})
// PLAN-LABEL:   func.func @several
// LOOPS-LABEL:  func.func @several
func.func @several(%x: tensor<4x2xf32>) -> tensor<4x4xf32> attributes {aot.entry} {
  %0, %1 = graph.rolled (%a = %x : tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
    %4 = graph.fused (%b = %a : tensor<4x2xf32>) -> (tensor<4x2xf32>) {
      %5 = graph.neg %b : (tensor<4x2xf32>) -> tensor<4x2xf32>
      graph.yield %5 : tensor<4x2xf32>
    }
    %6 = graph.fused (%b = %a : tensor<4x2xf32>) -> (tensor<4x2xf32>) {
      %7 = graph.relu %b : (tensor<4x2xf32>) -> tensor<4x2xf32>
      graph.yield %7 : tensor<4x2xf32>
    }
    graph.yield %4, %6 : tensor<4x2xf32>, tensor<4x2xf32>
  }
  %2 = graph.concat %1, %0 {axis = 1, in_place = true} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %3 = graph.abs %2 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %3 : tensor<4x4xf32>
}

// -----

// What is a part of one whole, and an output, is no part of another: it is copied there.

// CHECK-LABEL: func.func @one_place
// CHECK:         [[R:%.*]], [[S:%.*]] = func.call @neg_relu_0(%x)
// CHECK-NEXT:    [[P:%.*]] = func.call @copy_0([[S]])
// CHECK-NEXT:    graph.concat [[R]], [[P]]
// CHECK:         func.return {{%.*}}, [[S]]
// BUFFER-LABEL: func.func @one_place
// PLAN-LABEL:   func.func @one_place
// LOOPS-LABEL:  func.func @one_place
func.func @one_place(%x: tensor<4x2xf32>) -> (tensor<4x4xf32>, tensor<4x2xf32>) attributes {aot.entry} {
  %0, %1 = graph.rolled (%a = %x : tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
    %4 = graph.fused (%b = %a : tensor<4x2xf32>) -> (tensor<4x2xf32>) {
      %5 = graph.neg %b : (tensor<4x2xf32>) -> tensor<4x2xf32>
      graph.yield %5 : tensor<4x2xf32>
    }
    %6 = graph.fused (%b = %a : tensor<4x2xf32>) -> (tensor<4x2xf32>) {
      %7 = graph.relu %b : (tensor<4x2xf32>) -> tensor<4x2xf32>
      graph.yield %7 : tensor<4x2xf32>
    }
    graph.yield %4, %6 : tensor<4x2xf32>, tensor<4x2xf32>
  }
  %2 = graph.concat %0, %1 {axis = 1, in_place = true} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %3 = graph.abs %2 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %3, %1 : tensor<4x4xf32>, tensor<4x2xf32>
}
