// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: each region must be a block that ends in graph.yield
func.func @no_terminator(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  graph.loop %x {trips = 2 : i64, operandSegmentSizes = array<i32: 0, 0, 0, 0, 1>} : (tensor<4xf32>) -> () {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %0 = graph.neg %v : (tensor<4xf32>) -> tensor<4xf32>
  }
  func.return
}

// -----

// CHECK: a region has arguments of types tensor<i64>, tensor<2xf32>, the operands give tensor<i64>, tensor<4xf32>
func.func @arguments(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  graph.loop %x {trips = 2 : i64, operandSegmentSizes = array<i32: 0, 0, 0, 0, 1>} : (tensor<4xf32>) -> () {
  ^bb0(%i: tensor<i64>, %v: tensor<2xf32>):
    graph.yield :
  }
  func.return
}

// -----

// CHECK: the condition must be one boolean, found tensor<4xf32>
func.func @condition(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  graph.if %x : (tensor<4xf32>) -> () {
  ^bb0:
    graph.yield :
  } {
  ^bb0:
    graph.yield :
  }
  func.return
}

// -----

// CHECK: the condition must be one boolean, found tensor<2xi1>
func.func @several_conditions(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  graph.if %cc : (tensor<2xi1>) -> () {
  ^bb0:
    graph.yield :
  } {
  ^bb0:
    graph.yield :
  }
  func.return
}

// -----

// CHECK: one region yields tensor<4xf32>, the other nothing
func.func @branches(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  %0 = graph.if %c, %x : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%v: tensor<4xf32>):
    graph.yield %v : tensor<4xf32>
  } {
  ^bb0(%v: tensor<4xf32>):
    graph.yield :
  }
  func.return
}

// -----

// CHECK: the count must be one i64, found tensor<4xf32>
func.func @count(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  graph.loop %x {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>} : (tensor<4xf32>) -> () {
  ^bb0(%i: tensor<i64>):
    graph.yield :
  }
  func.return
}

// -----

// CHECK: a loop has a count or a number of trips, not both
func.func @both(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  graph.loop %n {trips = 2 : i64, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>} : (tensor<i64>) -> () {
  ^bb0(%i: tensor<i64>):
    graph.yield :
  }
  func.return
}

// -----

// CHECK: a loop has 0 to 2147483647 trips, found -1
func.func @trips(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  graph.loop {trips = -1 : i64, operandSegmentSizes = array<i32: 0, 0, 0, 0, 0>} : () -> () {
  ^bb0(%i: tensor<i64>):
    graph.yield :
  }
  func.return
}

// -----

// CHECK: a loop with a condition scans no tensor
func.func @scanned_if(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  graph.loop %c, %x {trips = 4 : i64, operandSegmentSizes = array<i32: 0, 1, 0, 1, 0>} : (tensor<i1>, tensor<4xf32>) -> () {
  ^bb0(%i: tensor<i64>, %v: tensor<f32>):
    graph.yield :
  }
  func.return
}

// -----

// CHECK: a scanned tensor has a slice for each of 3 trips, found tensor<4xf32>
func.func @scanned(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  graph.loop %x {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 0, 1, 0>} : (tensor<4xf32>) -> () {
  ^bb0(%i: tensor<i64>, %v: tensor<f32>):
    graph.yield :
  }
  func.return
}

// -----

// CHECK: the region must yield a condition of type tensor<i1> first
func.func @next_condition(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  graph.loop %c {operandSegmentSizes = array<i32: 0, 1, 0, 0, 0>} : (tensor<i1>) -> () {
  ^bb0(%i: tensor<i64>):
    graph.yield :
  }
  func.return
}

// -----

// CHECK: carried value 0 begins as tensor<4xf32> and goes on as tensor<i64>
func.func @carried(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  %0 = graph.loop %x {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 0>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    graph.yield %i : tensor<i64>
  }
  func.return
}

// -----

// CHECK: 1 carried values, the region yields 0
func.func @too_few(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  %0 = graph.loop %x {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 0>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    graph.yield :
  }
  func.return
}

// -----

// CHECK: slices are stacked only where the number of trips, or the most, is known when compiling
func.func @stacked(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  %0 = graph.loop %n {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>} : (tensor<i64>) -> tensor<3xi64> {
  ^bb0(%i: tensor<i64>):
    graph.yield %i : tensor<i64>
  }
  func.return
}

// -----

// CHECK: stacked_backward has 2 flags for 1 tensors
func.func @flags(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  %0 = graph.loop {trips = 3 : i64, stacked_backward = array<i64: 1, 0>, operandSegmentSizes = array<i32: 0, 0, 0, 0, 0>} : () -> tensor<3xi64> {
  ^bb0(%i: tensor<i64>):
    graph.yield %i : tensor<i64>
  }
  func.return
}

// -----

// CHECK: result type is tensor<4xi64>, operands and attributes give tensor<3xi64>
func.func @results(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  %0 = graph.loop {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 0, 0, 0>} : () -> tensor<4xi64> {
  ^bb0(%i: tensor<i64>):
    graph.yield %i : tensor<i64>
  }
  func.return
}

// -----

// CHECK: IsolatedFromAbove
func.func @isolated(%x: tensor<4xf32>, %c: tensor<i1>, %cc: tensor<2xi1>, %n: tensor<i64>) {
  graph.if %c : (tensor<i1>) -> () {
  ^bb0:
    %0 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield :
  } {
  ^bb0:
    graph.yield :
  }
  func.return
}
