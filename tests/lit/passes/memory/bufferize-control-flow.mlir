// RUN: aotc-opt %s -p bufferize | filecheck %s
// RUN: aotc-opt %s -p bufferize,plan-memory | filecheck %s --check-prefix PLAN

builtin.module attributes {aot.name = "m"} {
  func.func private @neg(%x: tensor<4xf32>) -> tensor<4xf32> attributes {aot.kernel, aot.in_place = [[0]]} {
    %0 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    func.return %0 : tensor<4xf32>
  }
  func.func private @back(%x: tensor<4xf32>) -> tensor<4xf32> attributes {aot.kernel, aot.in_place = [[]]} {
    %0 = graph.slice %x {starts = array<i64: 3>, steps = array<i64: -1>, shape = array<i64: 4>} : (tensor<4xf32>) -> tensor<4xf32>
    func.return %0 : tensor<4xf32>
  }
  func.func private @small(%x: tensor<4xf32>) -> tensor<i1> attributes {aot.kernel, aot.in_place = [[]]} {
    %0 = graph.reduce %x {kind = "max", axes = array<i64: 0>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
    %1 = graph.constant dense<9.0> : tensor<f32>
    %2 = graph.compare %0, %1 {how = "lt"} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    func.return %2 : tensor<i1>
  }
  func.func private @number(%i: tensor<i64>) -> tensor<4xf32> attributes {aot.kernel, aot.in_place = [[]]} {
    %0 = graph.cast %i {to = f32} : (tensor<i64>) -> tensor<f32>
    %1 = graph.broadcast %0 {shape = array<i64: 4>} : (tensor<f32>) -> tensor<4xf32>
    func.return %1 : tensor<4xf32>
  }

  // CHECK-LABEL: func.func @main(
  // CHECK-SAME:    %c: memref<1xi1>{{.*}}, %n: memref<i64>{{.*}}, %x: memref<4xf32>{{.*}}, %s: memref<3x4xf32>{{.*}}, %y: memref<4xf32>{{.*}}, %z: memref<3x4xf32>
  // Both branches write into the buffer of the result; a branch that needs a buffer has one.
  // CHECK:         [[I:%.*]] = arith.constant 0 : index
  // CHECK-NEXT:    [[C:%.*]] = memref.load %c[[[I]]] : memref<1xi1>
  // CHECK-NEXT:    [[R:%.*]] = memref.alloc() : memref<4xf32>
  // CHECK-NEXT:    scf.if [[C]] {
  // CHECK-NEXT:      [[T:%.*]] = memref.alloc() : memref<4xf32>
  // CHECK-NEXT:      func.call @neg(%x, [[T]])
  // CHECK-NEXT:      func.call @back([[T]], [[R]]) :
  // CHECK-NEXT:    } else {
  // CHECK-NEXT:      func.call @back(%x, [[R]])
  // CHECK-NEXT:    }
  // A condition, and a count that is between 0 and what an index holds; the next value is written over the last one.
  // CHECK:         func.call @neg([[R]], %y) :
  // CHECK-NEXT:    func.call @small(%x, [[G:%.*]]) :
  // CHECK-NEXT:    [[ZERO:%.*]] = arith.constant 0 : index
  // CHECK-NEXT:    [[ONE:%.*]] = arith.constant 1 : index
  // CHECK-NEXT:    [[N0:%.*]] = memref.load %n[] : memref<i64>
  // CHECK-NEXT:    [[L0:%.*]] = arith.constant 0 : i64
  // CHECK-NEXT:    [[N1:%.*]] = arith.maxsi [[N0]], [[L0]] : i64
  // CHECK-NEXT:    [[L1:%.*]] = arith.constant 2147483647 : i64
  // CHECK-NEXT:    [[N2:%.*]] = arith.minsi [[N1]], [[L1]] : i64
  // CHECK-NEXT:    [[N:%.*]] = arith.index_cast [[N2]] : i64 to index
  // CHECK-NEXT:    {{.*}} = scf.while ([[K:%.*]] = [[ZERO]]) : (index) -> index {
  // CHECK-NEXT:      [[GO:%.*]] = memref.load [[G]][] : memref<i1>
  // CHECK-NEXT:      [[IN:%.*]] = arith.cmpi slt, [[K]], [[N]] : index
  // CHECK-NEXT:      [[ALL:%.*]] = arith.andi [[GO]], [[IN]] : i1
  // CHECK-NEXT:      scf.condition([[ALL]]) [[K]] : index
  // CHECK-NEXT:    } do {
  // CHECK-NEXT:    ^bb0([[J:%.*]]: index):
  // CHECK-NEXT:      func.call @neg(%y, %y)
  // CHECK-NEXT:      func.call @small(%y, [[G]])
  // CHECK-NEXT:      [[NEXT:%.*]] = arith.addi [[J]], [[ONE]] : index
  // CHECK-NEXT:      scf.yield [[NEXT]] : index
  // What is scanned and stacked is read and written where it lies, here from the end; the number of the iteration is
  // a tensor where it is read.
  // CHECK:         scf.for [[J:%.*]] = {{%.*}} to [[TRIPS:%.*]] step {{%.*}} {
  // CHECK:           [[LAST:%.*]] = arith.subi [[TRIPS]], {{%.*}} : index
  // CHECK-NEXT:      [[P:%.*]] = arith.subi [[LAST]], [[J]] : index
  // CHECK-NEXT:      [[SIZE:%.*]] = arith.constant 4 : index
  // CHECK-NEXT:      [[AT:%.*]] = arith.muli [[P]], [[SIZE]] : index
  // CHECK-NEXT:      [[E:%.*]] = memref.reinterpret_cast %s to offset: [[[AT]]], sizes: [4], strides: [1] : memref<3x4xf32> to memref<4xf32>
  // CHECK:           [[B:%.*]] = memref.alloc() : memref<i64>
  // CHECK-NEXT:      [[W:%.*]] = arith.index_cast [[J]] : index to i64
  // CHECK-NEXT:      memref.store [[W]], [[B]][] : memref<i64>
  // CHECK:           [[AT:%.*]] = arith.muli [[J]],
  // CHECK-NEXT:      [[O:%.*]] = memref.reinterpret_cast %z to offset: [[[AT]]], sizes: [4], strides: [1]
  // CHECK:           func.call @number([[B]],
  // CHECK:           func.call @neg([[E]], [[O]])

  // Branches share memory, which is that of what only the loop needs, too. The plan has every step, those of regions
  // after that of control flow.
  // PLAN:        aot.plan = {peak_bytes = 24 : i64, lower_bound_bytes = 24 : i64, optimal = true, alignment = 16 : i64, order = ["If_3", "Neg_0", "Back_1", "Back_2", "Neg_4", "Small_5", "Loop_8", "Loop_8", "Neg_6", "Small_7", "Scan_12", "Scan_12", "Number_9", "Neg_10", "Neg_11"],
  // PLAN-SAME:   buffers = [{name = "Neg_0", offset = 0 : i64, size = 16 : i64, first = 1 : i64, last = 2 : i64, nodes = ["Neg_0"]},
  // PLAN-SAME:   {name = "Small_7", offset = 0 : i64, size = 1 : i64, first = 5 : i64, last = 9 : i64, nodes = ["Small_5", "Small_7"]},
  // PLAN-SAME:   {name = "Scan_12", offset = 16 : i64, size = 8 : i64, first = 11 : i64, last = 12 : i64, nodes = ["Scan_12"]},
  // PLAN-SAME:   {name = "Number_9", offset = 0 : i64, size = 16 : i64, first = 12 : i64, last = 13 : i64, nodes = ["Number_9", "Neg_10"]}],
  // PLAN-SAME:   outputs = [{name = "Back_2", offset = 0 : i64, size = 16 : i64, first = 0 : i64, last = 4 : i64, nodes = ["Back_1", "Back_2"], output = "y"}, {name = "y",
  // PLAN-SAME:   tasks = [{kind = "if", regions = array<i64: 2, 1>},
  // PLAN-SAME:   {kind = "loop", regions = array<i64: 1, 2>},
  // PLAN-SAME:   {kind = "loop", regions = array<i64: 4>},
  func.func @main(%c: tensor<1xi1> {aot.name = "c"}, %n: tensor<i64> {aot.name = "n"}, %x: tensor<4xf32> {aot.name = "x"}, %s: tensor<3x4xf32> {aot.name = "s"}) -> (tensor<4xf32> {aot.name = "y"}, tensor<3x4xf32> {aot.name = "z"}) attributes {aot.entry} {
    %r = graph.if %c, %x : (tensor<1xi1>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %t = func.call @neg(%a) : (tensor<4xf32>) -> tensor<4xf32> loc("Neg_0")
      %u = func.call @back(%t) : (tensor<4xf32>) -> tensor<4xf32> loc("Back_1")
      graph.yield %u : tensor<4xf32>
    } {
    ^bb0(%a: tensor<4xf32>):
      %u = func.call @back(%a) : (tensor<4xf32>) -> tensor<4xf32> loc("Back_2")
      graph.yield %u : tensor<4xf32>
    } loc("If_3")
    %v = func.call @neg(%r) : (tensor<4xf32>) -> tensor<4xf32> loc("Neg_4")
    %g = func.call @small(%x) : (tensor<4xf32>) -> tensor<i1> loc("Small_5")
    %y = graph.loop %n, %g, %v {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<i64>, tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%i: tensor<i64>, %w: tensor<4xf32>):
      %o = func.call @neg(%w) : (tensor<4xf32>) -> tensor<4xf32> loc("Neg_6")
      %h = func.call @small(%o) : (tensor<4xf32>) -> tensor<i1> loc("Small_7")
      graph.yield %h, %o : tensor<i1>, tensor<4xf32>
    } loc("Loop_8")
    %z = graph.loop %s {trips = 3 : i64, scanned_backward = array<i64: 1>, operandSegmentSizes = array<i32: 0, 0, 0, 1, 0>} : (tensor<3x4xf32>) -> tensor<3x4xf32> {
    ^bb0(%i: tensor<i64>, %e: tensor<4xf32>):
      %m = func.call @number(%i) : (tensor<i64>) -> tensor<4xf32> loc("Number_9")
      %k = func.call @neg(%m) : (tensor<4xf32>) -> tensor<4xf32> loc("Neg_10")
      %b = func.call @neg(%e) : (tensor<4xf32>) -> tensor<4xf32> loc("Neg_11")
      graph.yield %b : tensor<4xf32>
    } loc("Scan_12")
    func.return %y, %z : tensor<4xf32>, tensor<3x4xf32>
  }
}
