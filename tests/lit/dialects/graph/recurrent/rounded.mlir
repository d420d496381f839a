// RUN: aotc-opt %s -p convert-graph-to-loops,serialize-parallel-loops,simplify-functions | filecheck %s

// The ends of a state, its scale and zero point, the integers, and their products, which are scaled; the zero point is
// multiplied with what the weights of a column add up to.
// CHECK-LABEL: func.func private @scalar
// CHECK:      scf.for
// CHECK:        arith.minimumf
// CHECK:        arith.maximumf
// CHECK:      arith.divf
// CHECK:      math.roundeven
// CHECK:      scf.for
// CHECK:        arith.divf
// CHECK:        math.roundeven
// CHECK:        memref.store %{{.*}}, %q[
// CHECK:      memref.load %q[
// CHECK:      memref.load %w[
// CHECK:      arith.muli
// CHECK:      memref.load %n[
// CHECK:      memref.load %s[
// CHECK:      memref.store %{{.*}}, %sums[
func.func private @scalar(%x: memref<2x1x16xf32>, %w: memref<16x4xi8>, %s: memref<16xf32>, %n: memref<16xi32>, %y: memref<2x1x4xf32>, %h: memref<1x4xf32>, %c: memref<1x4xf32>, %sums: memref<1x16xf32>, %q: memref<1x4xui8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<2x1x16xf32> to tensor<2x1x16xf32>
  %1 = bufferization.to_tensor %w : memref<16x4xi8> to tensor<16x4xi8>
  %2 = bufferization.to_tensor %s : memref<16xf32> to tensor<16xf32>
  %3 = bufferization.to_tensor %n : memref<16xi32> to tensor<16xi32>
  %4, %5, %6, %7, %8, %9, %10 = graph.rounded_lstm %0, %1, %2, %3 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8} : (tensor<2x1x16xf32>, tensor<16x4xi8>, tensor<16xf32>, tensor<16xi32>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x16xf32>, tensor<1x4xui8>)
  bufferization.materialize_in_destination %4 in %y : (tensor<2x1x4xf32>, memref<2x1x4xf32>) -> ()
  bufferization.materialize_in_destination %7 in %h : (tensor<1x4xf32>, memref<1x4xf32>) -> ()
  bufferization.materialize_in_destination %8 in %c : (tensor<1x4xf32>, memref<1x4xf32>) -> ()
  bufferization.materialize_in_destination %9 in %sums : (tensor<1x16xf32>, memref<1x16xf32>) -> ()
  bufferization.materialize_in_destination %10 in %q : (tensor<1x4xui8>, memref<1x4xui8>) -> ()
  func.return
}

// On tiles: groups of four are multiplied at once, and of the last group two.
// CHECK-LABEL: func.func private @tiles
// CHECK:      aot.tile_load %h[
// CHECK:      aot.tile_reduce "min"
// CHECK:      aot.tile_reduce "max"
// CHECK:      aot.tile_store %{{.*}}, %q[
// CHECK:      aot.tile_load %q[{{.*}}, group = 4
// CHECK:      aot.tile_load %w[
// CHECK:      aot.tile_dot {{.*}}xi8
// CHECK:      aot.tile_load %q[{{.*}}valid = 2 : i64, group = 4
// CHECK:      aot.tile_dot
// CHECK:      aot.tile_store %{{.*}}, %sums[
func.func private @tiles(%x: memref<2x1x24xf32>, %w: memref<6x2x16xi8>, %s: memref<24xf32>, %n: memref<24xi32>, %y: memref<2x1x6xf32>, %h: memref<1x6xf32>, %c: memref<1x6xf32>, %sums: memref<1x24xf32>, %q: memref<1x6xi8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<2x1x24xf32> to tensor<2x1x24xf32>
  %1 = bufferization.to_tensor %w : memref<6x2x16xi8> to tensor<6x2x16xi8>
  %2 = bufferization.to_tensor %s : memref<24xf32> to tensor<24xf32>
  %3 = bufferization.to_tensor %n : memref<24xi32> to tensor<24xi32>
  %4, %5, %6, %7, %8, %9, %10 = graph.rounded_lstm %0, %1, %2, %3 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = i8, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 1, unroll = 1, units = 1>} : (tensor<2x1x24xf32>, tensor<6x2x16xi8>, tensor<24xf32>, tensor<24xi32>) -> (tensor<2x1x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x24xf32>, tensor<1x6xi8>)
  bufferization.materialize_in_destination %4 in %y : (tensor<2x1x6xf32>, memref<2x1x6xf32>) -> ()
  bufferization.materialize_in_destination %7 in %h : (tensor<1x6xf32>, memref<1x6xf32>) -> ()
  bufferization.materialize_in_destination %8 in %c : (tensor<1x6xf32>, memref<1x6xf32>) -> ()
  bufferization.materialize_in_destination %9 in %sums : (tensor<1x24xf32>, memref<1x24xf32>) -> ()
  bufferization.materialize_in_destination %10 in %q : (tensor<1x6xi8>, memref<1x6xi8>) -> ()
  func.return
}

// Zero points of the weights are multiplied with what the state's integers add up to.
// CHECK-LABEL: func.func private @points
// CHECK:      aot.tile_store %{{.*}}, %q[
// CHECK:      %[[SUM:.*]] = scf.for
// CHECK:        memref.load %q[
// CHECK:        arith.addi
// CHECK:      aot.tile_dot
// CHECK:      aot.tile_load %p[
// CHECK-NEXT: %[[SUMS:.*]] = vector.broadcast %[[SUM]]
// CHECK-NEXT: arith.muli %{{.*}}, %[[SUMS]]
func.func private @points(%x: memref<2x1x16xf32>, %w: memref<4x1x16xi8>, %s: memref<16xf32>, %n: memref<16xi32>, %p: memref<16xi32>, %y: memref<2x1x4xf32>, %h: memref<1x4xf32>, %c: memref<1x4xf32>, %sums: memref<1x16xf32>, %q: memref<1x4xui8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<2x1x16xf32> to tensor<2x1x16xf32>
  %1 = bufferization.to_tensor %w : memref<4x1x16xi8> to tensor<4x1x16xi8>
  %2 = bufferization.to_tensor %s : memref<16xf32> to tensor<16xf32>
  %3 = bufferization.to_tensor %n : memref<16xi32> to tensor<16xi32>
  %4 = bufferization.to_tensor %p : memref<16xi32> to tensor<16xi32>
  %5, %6, %7, %8, %9, %10, %11 = graph.rounded_lstm %0, %1, %2, %3, %4 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 1, unroll = 1, units = 1>} : (tensor<2x1x16xf32>, tensor<4x1x16xi8>, tensor<16xf32>, tensor<16xi32>, tensor<16xi32>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x16xf32>, tensor<1x4xui8>)
  bufferization.materialize_in_destination %5 in %y : (tensor<2x1x4xf32>, memref<2x1x4xf32>) -> ()
  bufferization.materialize_in_destination %8 in %h : (tensor<1x4xf32>, memref<1x4xf32>) -> ()
  bufferization.materialize_in_destination %9 in %c : (tensor<1x4xf32>, memref<1x4xf32>) -> ()
  bufferization.materialize_in_destination %10 in %sums : (tensor<1x16xf32>, memref<1x16xf32>) -> ()
  bufferization.materialize_in_destination %11 in %q : (tensor<1x4xui8>, memref<1x4xui8>) -> ()
  func.return
}

// Panels whose rows are not interleaved are not for tiles.
// CHECK-LABEL: func.func private @unpacked
// CHECK-SAME: aot.scalar_fallback = "the weight is not packed into panels of the width of the register tile"
func.func private @unpacked(%x: memref<2x1x16xf32>, %w: memref<16x4xi8>, %s: memref<16xf32>, %n: memref<16xi32>, %y: memref<2x1x4xf32>, %h: memref<1x4xf32>, %c: memref<1x4xf32>, %sums: memref<1x16xf32>, %q: memref<1x4xui8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<2x1x16xf32> to tensor<2x1x16xf32>
  %1 = bufferization.to_tensor %w : memref<16x4xi8> to tensor<16x4xi8>
  %2 = bufferization.to_tensor %s : memref<16xf32> to tensor<16xf32>
  %3 = bufferization.to_tensor %n : memref<16xi32> to tensor<16xi32>
  %4, %5, %6, %7, %8, %9, %10 = graph.rounded_lstm %0, %1, %2, %3 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 1, unroll = 1, units = 1>} : (tensor<2x1x16xf32>, tensor<16x4xi8>, tensor<16xf32>, tensor<16xi32>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x16xf32>, tensor<1x4xui8>)
  bufferization.materialize_in_destination %4 in %y : (tensor<2x1x4xf32>, memref<2x1x4xf32>) -> ()
  bufferization.materialize_in_destination %7 in %h : (tensor<1x4xf32>, memref<1x4xf32>) -> ()
  bufferization.materialize_in_destination %8 in %c : (tensor<1x4xf32>, memref<1x4xf32>) -> ()
  bufferization.materialize_in_destination %9 in %sums : (tensor<1x16xf32>, memref<1x16xf32>) -> ()
  bufferization.materialize_in_destination %10 in %q : (tensor<1x4xui8>, memref<1x4xui8>) -> ()
  func.return
}
