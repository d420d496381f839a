// RUN: aotc-opt %s -p bufferize --split-input-file | filecheck %s

// CHECK-LABEL: func.func private @relu_0(%x: memref<2x4xui8> {aot.dtype = "uint8"}, %out: memref<2x4xui8> {aot.dtype = "uint8"}) attributes {aot.kernel, aot.in_place = {{\[\[}}0 : i64]]} {
// CHECK-NEXT:    [[X:%.*]] = bufferization.to_tensor %x : memref<2x4xui8> to tensor<2x4xui8>
// CHECK-NEXT:    [[R:%.*]] = graph.relu [[X]]
// CHECK-NEXT:    bufferization.materialize_in_destination [[R]] in writable %out
// CHECK-NEXT:    func.return
func.func private @relu_0(%x: tensor<2x4xui8>) -> tensor<2x4xui8> attributes {aot.kernel, aot.in_place = [[0]]} {
  %0 = graph.relu %x : (tensor<2x4xui8>) -> tensor<2x4xui8>
  func.return %0 : tensor<2x4xui8>
}

// The last kernel writes the output's own buffer, seen in the kernel's shape.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%x: memref<2x4xui8> {aot.name = "x", aot.io = "input"}, [[OUT:%.*]]: memref<8xui8> {aot.name = "y", aot.io = "output"})
// CHECK-NEXT:    [[Y:%.*]] = memref.reinterpret_cast [[OUT]] to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<8xui8> to memref<2x4xui8>
// CHECK-NEXT:    [[T:%.*]] = memref.alloc() : memref<2x4xui8>
// CHECK-NEXT:    func.call @relu_0(%x, [[T]])
// CHECK-NEXT:    func.call @relu_0([[T]], [[Y]])
// CHECK-NEXT:    func.return
func.func @main(%x: tensor<2x4xui8> {aot.name = "x"}) -> (tensor<8xui8> {aot.name = "y"}) attributes {aot.entry} {
  %0 = func.call @relu_0(%x) : (tensor<2x4xui8>) -> tensor<2x4xui8>
  %1 = func.call @relu_0(%0) : (tensor<2x4xui8>) -> tensor<2x4xui8>
  %2 = graph.reshape %1 {shape = array<i64: 8>} : (tensor<2x4xui8>) -> tensor<8xui8>
  func.return %2 : tensor<8xui8>
}

// -----

func.func private @add_0(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {aot.kernel, aot.in_place = [[0, 1]]} {
  %0 = graph.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// A view of a view is one cast from the buffer; a constant is a weight; the output may be read again.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%x: memref<2x3x4xf32> {aot.io = "input"}, [[Y:%.*]]: memref<4xf32> {aot.io = "output"}, [[Z:%.*]]: memref<4xf32> {aot.io = "output"})
// CHECK-NEXT:    %w = aot.weight "w" : memref<4xf32>
// CHECK-NEXT:    [[V:%.*]] = memref.reinterpret_cast %x to offset: [20], sizes: [4], strides: [1] : memref<2x3x4xf32> to memref<4xf32>
// CHECK-NEXT:    func.call @add_0([[V]], %w, [[Y]]) :
// CHECK-NEXT:    func.call @add_0([[Y]], %w, [[Z]]) :
// CHECK-NEXT:    func.return
func.func @main(%x: tensor<2x3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {aot.entry} {
  %w = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = graph.slice %x {starts = array<i64: 1, 1, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 2, 4>} : (tensor<2x3x4xf32>) -> tensor<1x2x4xf32>
  %1 = graph.slice %0 {starts = array<i64: 0, 1, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 1, 4>} : (tensor<1x2x4xf32>) -> tensor<1x1x4xf32>
  %2 = graph.reshape %1 {shape = array<i64: 4>} : (tensor<1x1x4xf32>) -> tensor<4xf32>
  %3 = func.call @add_0(%2, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = func.call @add_0(%3, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %3, %4 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Scratch buffers are written like results, each call has its own; they take over no other buffer.
// CHECK-LABEL: func.func private @winograd_conv_0
// CHECK-SAME:    %out: memref<1x1x4x4x8xf32>, %scratch: memref<16x3x8xf32> {aot.scratch}, %scratch_1: memref<16x3x8xf32> {aot.scratch}) attributes {aot.kernel, aot.in_place = {{\[\[0 : i64\], \[\], \[\]\]}}} {
// CHECK:         [[Y:%.*]], [[V:%.*]], [[P:%.*]] = graph.winograd_conv
// CHECK-NEXT:    bufferization.materialize_in_destination [[Y]] in writable %out
// CHECK-NEXT:    bufferization.materialize_in_destination [[V]] in writable %scratch :
// CHECK-NEXT:    bufferization.materialize_in_destination [[P]] in writable %scratch_1 :
func.func private @winograd_conv_0(%x: tensor<1x1x4x4x8xf32>, %w: tensor<1x16x8x8xf32>) -> tensor<1x1x4x4x8xf32> attributes {aot.kernel, aot.in_place = [[0 : i64]]} {
  %0, %1, %2 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 8, outputs = 8, output_tile = 2, tile_rows = 1} : (tensor<1x1x4x4x8xf32>, tensor<1x16x8x8xf32>) -> (tensor<1x1x4x4x8xf32>, tensor<16x3x8xf32>, tensor<16x3x8xf32>)
  func.return %0 : tensor<1x1x4x4x8xf32>
}

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[H:%.*]] = memref.alloc() : memref<1x1x4x4x8xf32>
// CHECK-NEXT:    [[V:%.*]] = memref.alloc() : memref<16x3x8xf32>
// CHECK-NEXT:    [[P:%.*]] = memref.alloc() : memref<16x3x8xf32>
// CHECK-NEXT:    func.call @winograd_conv_0(%x, %w, [[H]], [[V]], [[P]]) :
// CHECK-NEXT:    [[V2:%.*]] = memref.alloc() : memref<16x3x8xf32>
// CHECK-NEXT:    [[P2:%.*]] = memref.alloc() : memref<16x3x8xf32>
// CHECK-NEXT:    func.call @winograd_conv_0([[H]], %w, [[Y:%.*]], [[V2]], [[P2]]) :
func.func @main(%x: tensor<1x1x4x4x8xf32>, %w: tensor<1x16x8x8xf32>) -> tensor<1x1x4x4x8xf32> attributes {aot.entry} {
  %0 = func.call @winograd_conv_0(%x, %w) : (tensor<1x1x4x4x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x1x4x4x8xf32>
  %1 = func.call @winograd_conv_0(%0, %w) : (tensor<1x1x4x4x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x1x4x4x8xf32>
  func.return %1 : tensor<1x1x4x4x8xf32>
}

// -----

func.func private @relu(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> attributes {aot.kernel} {
  %0 = graph.relu %x : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  func.return %0 : tensor<1x2x4xf32>
}
func.func private @neg(%x: tensor<8xf32>) -> tensor<8xf32> attributes {aot.kernel} {
  %0 = graph.neg %x : (tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
func.func private @sum(%x: tensor<1x6x4xf32>) -> tensor<1x4xf32> attributes {aot.kernel} {
  %0 = graph.reduce %x {kind = "sum", axes = array<i64: 1>, keepdims = false} : (tensor<1x6x4xf32>) -> tensor<1x4xf32>
  func.return %0 : tensor<1x4xf32>
}

// A part of a part is where both say; so is what is seen of it in another shape.
// CHECK-LABEL: func.func @nested
// CHECK:         [[O:%.*]] = memref.alloc() : memref<1x6x4xf32>
// CHECK:         [[V:%.*]] = memref.reinterpret_cast [[O]] to offset: [16], sizes: [8], strides: [1] : memref<1x6x4xf32> to memref<8xf32>
// CHECK-NEXT:    func.call @neg([[V]],
func.func @nested(%x: tensor<1x2x4xf32>) -> (tensor<8xf32>, tensor<1x4xf32>) attributes {aot.entry} {
  %0 = func.call @relu(%x) : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %1 = func.call @relu(%0) : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %2 = func.call @relu(%1) : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %3 = graph.concat %1, %2 {axis = 1} : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x4x4xf32>
  %4 = graph.concat %0, %3 {axis = 1} : (tensor<1x2x4xf32>, tensor<1x4x4xf32>) -> tensor<1x6x4xf32>
  %5 = graph.reshape %2 {shape = array<i64: 8>} : (tensor<1x2x4xf32>) -> tensor<8xf32>
  %6 = func.call @neg(%5) : (tensor<8xf32>) -> tensor<8xf32>
  %7 = func.call @sum(%4) : (tensor<1x6x4xf32>) -> tensor<1x4xf32>
  func.return %6, %7 : tensor<8xf32>, tensor<1x4xf32>
}
