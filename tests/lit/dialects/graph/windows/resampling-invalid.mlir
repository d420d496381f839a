// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: axis 4 is out of range for rank 4
func.func @axis(%x: tensor<1x4x8x8xf32>, %p: tensor<5x2xi64>, %q: tensor<5x2xf32>) {
  %0 = graph.resample %x, %p, %q {axis = 4} : (tensor<1x4x8x8xf32>, tensor<5x2xi64>, tensor<5x2xf32>) -> tensor<1x4x5x8xf32>
  func.return
}

// -----

// CHECK: weights must be [5, 2], found tensor<5x3xf32>
func.func @weights(%x: tensor<1x4x8x8xf32>, %p: tensor<5x2xi64>, %q: tensor<5x3xf32>) {
  %0 = graph.resample %x, %p, %q {axis = 2} : (tensor<1x4x8x8xf32>, tensor<5x2xi64>, tensor<5x3xf32>) -> tensor<1x4x5x8xf32>
  func.return
}

// -----

// CHECK: element types differ: f32, f64
func.func @types(%x: tensor<1x4x8x8xf32>, %p: tensor<5x2xi64>, %q: tensor<5x2xf64>) {
  %0 = graph.resample %x, %p, %q {axis = 2} : (tensor<1x4x8x8xf32>, tensor<5x2xi64>, tensor<5x2xf64>) -> tensor<1x4x5x8xf32>
  func.return
}
