// RUN: aotc-opt %s -p bufferize | filecheck %s

// A state is one argument among the inputs, which kernels read and write; its output is none. Seen in another shape, too.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%h: memref<2x4xf32> {aot.name = "h", aot.io = "state", aot.next = "hn"}, %x: memref<8xf32> {aot.name = "x", aot.io = "input"}, [[Y:%.*]]: memref<8xf32> {aot.name = "y", aot.io = "output"})
// CHECK-NEXT:    [[NEXT:%.*]] = memref.reinterpret_cast %h to offset: [0], sizes: [8], strides: [1]
// CHECK-NEXT:    [[LAST:%.*]] = memref.reinterpret_cast %h to offset: [0], sizes: [8], strides: [1]
// CHECK-NEXT:    func.call @add_0(%x, [[LAST]], [[NEXT]])
// CHECK-NEXT:    func.call @add_0(%x, [[NEXT]], [[Y]])
func.func private @add_0(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> attributes {aot.kernel, aot.in_place = [[0, 1]]} {
  %0 = graph.add %x, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
func.func @main(%h: tensor<2x4xf32> {aot.name = "h"}, %x: tensor<8xf32> {aot.name = "x"}) -> (tensor<2x4xf32> {aot.name = "hn", aot.state_of = 0 : i64}, tensor<8xf32> {aot.name = "y"}) attributes {aot.entry} {
  %last = graph.reshape %h {shape = array<i64: 8>} : (tensor<2x4xf32>) -> tensor<8xf32>
  %next = func.call @add_0(%x, %last) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %hn = graph.reshape %next {shape = array<i64: 2, 4>} : (tensor<8xf32>) -> tensor<2x4xf32>
  %y = func.call @add_0(%x, %next) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %hn, %y : tensor<2x4xf32>, tensor<8xf32>
}
