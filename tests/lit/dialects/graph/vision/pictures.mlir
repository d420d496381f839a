// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.grid_sample %x, %g {mode = "linear", padding = "zeros", align_corners = true} : (tensor<1x3x8x8xf32>, tensor<1x4x5x2xf32>) -> tensor<1x3x4x5xf32>
// CHECK-NEXT: graph.deform %x, %o {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<1x8x7x7xf32>) -> tensor<1x3x4x7x7xf32>
// CHECK-NEXT: graph.roi_align %x, %r, %b {size = array<i64: 2, 2>, scale = 5.000000e-01 : f64, ratio = 2 : i64, half_pixel = true} : (tensor<1x3x8x8xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<5x3x2x2xf32>
// CHECK-NEXT: graph.roi_max %x, %q {size = array<i64: 2, 2>, scale = 1.000000e+00 : f64} : (tensor<1x3x8x8xf32>, tensor<5x5xf32>) -> tensor<5x3x2x2xf32>
// CHECK-NEXT: graph.fold %c {image = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x8x9xf32>) -> tensor<1x2x4x4xf32>
func.func @forms(%x: tensor<1x3x8x8xf32>, %g: tensor<1x4x5x2xf32>, %o: tensor<1x8x7x7xf32>, %r: tensor<5x4xf32>, %b: tensor<5xi64>, %q: tensor<5x5xf32>, %c: tensor<1x8x9xf32>) {
  %0 = graph.grid_sample %x, %g {mode = "linear", padding = "zeros", align_corners = true} : (tensor<1x3x8x8xf32>, tensor<1x4x5x2xf32>) -> tensor<1x3x4x5xf32>
  %1 = graph.deform %x, %o {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<1x8x7x7xf32>) -> tensor<1x3x4x7x7xf32>
  %2 = graph.roi_align %x, %r, %b {size = array<i64: 2, 2>, scale = 0.5 : f64, ratio = 2, half_pixel = true} : (tensor<1x3x8x8xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<5x3x2x2xf32>
  %3 = graph.roi_max %x, %q {size = array<i64: 2, 2>, scale = 1.0 : f64} : (tensor<1x3x8x8xf32>, tensor<5x5xf32>) -> tensor<5x3x2x2xf32>
  %4 = graph.fold %c {image = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x8x9xf32>) -> tensor<1x2x4x4xf32>
  func.return
}

// With zeros outside nothing is read there.
// LOOPS-LABEL: func.func private @sample
// LOOPS:      memref.load %g
// LOOPS:      math.floor
// LOOPS:      scf.if
// LOOPS-NEXT:   memref.load %x
// LOOPS:      memref.store %{{.*}}, %out
func.func private @sample(%x: memref<1x3x8x8xf32>, %g: memref<1x4x5x2xf32>, %out: memref<1x3x4x5xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x3x8x8xf32> to tensor<1x3x8x8xf32>
  %1 = bufferization.to_tensor %g : memref<1x4x5x2xf32> to tensor<1x4x5x2xf32>
  %2 = graph.grid_sample %0, %1 {mode = "linear", padding = "zeros"} : (tensor<1x3x8x8xf32>, tensor<1x4x5x2xf32>) -> tensor<1x3x4x5xf32>
  bufferization.materialize_in_destination %2 in %out : (tensor<1x3x4x5xf32>, memref<1x3x4x5xf32>) -> ()
  func.return
}
