// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: axis 2 is out of range for rank 2
func.func @axis(%x: tensor<5x3xf32>, %i: tensor<2xi64>) {
  %0 = graph.gather %x, %i {axis = 2} : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: indices must be integers, found f32
func.func @type(%x: tensor<5x3xf32>, %i: tensor<2xf32>) {
  %0 = graph.gather %x, %i {axis = 0} : (tensor<5x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: axis 0 of [0, 3] has no element to gather
func.func @empty(%x: tensor<0x3xf32>, %i: tensor<2xi64>) {
  %0 = graph.gather %x, %i {axis = 0} : (tensor<0x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: indices [6, 2] reach beyond [5, 3] off axis 1
func.func @elements(%x: tensor<5x3xf32>, %i: tensor<6x2xi64>) {
  %0 = graph.gather_elements %x, %i {axis = 1} : (tensor<5x3xf32>, tensor<6x2xi64>) -> tensor<6x2xf32>
  func.return
}

// -----

// CHECK: tuples of 3 do not index the 2 axes behind the batch of [5, 3]
func.func @tuples(%x: tensor<5x3xf32>, %i: tensor<2x3xi64>) {
  %0 = graph.gather_nd %x, %i {batch_dims = 0} : (tensor<5x3xf32>, tensor<2x3xi64>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: 6 elements, 1 apart, of an axis of 5
func.func @window(%s: tensor<1xi64>) {
  %0 = graph.slice_places %s {extent = 5, distance = 6, step = 1} : (tensor<1xi64>) -> tensor<6xi64>
  func.return
}

// -----

// CHECK: 0 elements, -1 apart, of an axis of 5
func.func @empty(%s: tensor<1xi64>) {
  %0 = graph.slice_places %s {extent = 5, distance = 2, step = -1} : (tensor<1xi64>) -> tensor<0xi64>
  func.return
}
