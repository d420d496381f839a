// RUN: aotc-opt %s -p bufferize --split-input-file | filecheck %s

// A kernel that is defined elsewhere says which memory holds as others, floats too, and needs not say what it may reuse.
// CHECK: func.func private @py_f(memref<4xui8>, memref<4xf32>, memref<32xi8>) -> () attributes {{{.*}}aot.in_place = {{\[\[\]\]}}, aot.arguments = [{aot.dtype = "uint8"}, {aot.dtype = "float32"}, {aot.dtype = "int8", aot.scratch}]}
func.func private @py_f(tensor<4xui8>) -> tensor<4xf32> attributes {aot.kernel, aot.external = {codegen = "py", kernel = "f", settings = {}, scratch_bytes = 32 : i64}}

// -----

func.func private @neg(%x: tensor<4xf32>) -> tensor<4xf32> attributes {aot.kernel} {
  %0 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func private @square(%x: tensor<2x2xf32>) -> tensor<2x2xf32> attributes {aot.kernel} {
  %0 = graph.neg %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}

// What control flow yields is seen in another shape like any result.
// CHECK-LABEL: func.func @viewed
// CHECK:         [[R:%.*]] = memref.alloc() : memref<4xf32>
// CHECK:         [[V:%.*]] = memref.reinterpret_cast [[R]] to offset: [0], sizes: [2, 2], strides: [2, 1]
// CHECK-NEXT:    func.call @square([[V]], %y)
func.func @viewed(%c: tensor<i1>, %x: tensor<4xf32>) -> (tensor<2x2xf32> {aot.name = "y"}) attributes {aot.entry} {
  %r = graph.if %c, %x : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %t = func.call @neg(%a) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %t : tensor<4xf32>
  } {
  ^bb0(%a: tensor<4xf32>):
    %u = func.call @neg(%a) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %u : tensor<4xf32>
  }
  %v = graph.reshape %r {shape = array<i64: 2, 2>} : (tensor<4xf32>) -> tensor<2x2xf32>
  %y = func.call @square(%v) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}

// A loop that nothing ends goes on.
// CHECK-LABEL: func.func @forever
// CHECK:         scf.while
// CHECK-NEXT:      [[ON:%.*]] = arith.constant true
// CHECK-NEXT:      scf.condition([[ON]])
// CHECK:           [[NEXT:%.*]] = arith.addi
// CHECK-NEXT:      scf.yield [[NEXT]]
func.func @forever(%x: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %v = func.call @neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %y = graph.loop %v {operandSegmentSizes = array<i32: 0, 0, 1, 0, 0>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %w: tensor<4xf32>):
    %o = func.call @neg(%w) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %o : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
