// RUN: aotc-opt %s -p convert-graph-to-loops,serialize-parallel-loops,simplify-functions | filecheck %s

// Weights in panels of eight registers in seven, of four lanes here: elements of the first three are integers, those of the
// fourth come from their lower bits, the other four are floats. The sums are multiplied by 2^-31.
// CHECK-LABEL: func.func private @scalar
// CHECK:         memref.store %{{.*}}, %h
// CHECK:         scf.for %{{.*}} = %{{.*}} {
// CHECK-NEXT:    scf.for [[WITHIN:%\d+]] =
// CHECK-NEXT:    [[TOTAL:%\d+]] = scf.for {{.*}} iter_args
// CHECK:         arith.cmpi slt, [[WITHIN]], %{{.*}} : index
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      arith.cmpi slt, [[WITHIN]]
// CHECK-NEXT:      scf.if
// CHECK-NEXT:        [[WORD:%\d+]] = memref.load %w[{{.*}}, [[WITHIN]]]
// CHECK-NEXT:        arith.sitofp [[WORD]]
// CHECK:             [[LANE:%\d+]] = arith.subi [[WITHIN]]
// CHECK-NEXT:        [[A:%\d+]] = memref.load %w[{{.*}}, [[LANE]]]
// CHECK:             [[B:%\d+]] = memref.load %w
// CHECK:             [[C:%\d+]] = memref.load %w
// CHECK-NEXT:        [[A8:%\d+]] = arith.shli [[A]]
// CHECK-NEXT:        [[AB:%\d+]] = arith.addi [[A8]], [[B]]
// CHECK-NEXT:        [[AB8:%\d+]] = arith.shli [[AB]]
// CHECK-NEXT:        [[ABC:%\d+]] = arith.addi [[AB8]], [[C]]
// CHECK-NEXT:        [[FOURTH:%\d+]] = arith.shli [[ABC]]
// CHECK-NEXT:        arith.sitofp [[FOURTH]]
// CHECK:           [[BEHIND:%\d+]] = arith.subi [[WITHIN]]
// CHECK-NEXT:      [[BITS:%\d+]] = memref.load %w[{{.*}}, [[BEHIND]]]
// CHECK-NEXT:      arith.bitcast [[BITS]] : i32 to f32
// CHECK:         [[SUM:%\d+]] = arith.mulf [[TOTAL]]
// CHECK-NEXT:    memref.store [[SUM]], %sums
func.func private @scalar(%x: memref<3x1x32xf32>, %w: memref<1x32x28xi32>, %y: memref<3x1x32xf32>, %h: memref<1x32xf32>, %sums: memref<1x32xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<3x1x32xf32> to tensor<3x1x32xf32>
  %1 = bufferization.to_tensor %w : memref<1x32x28xi32> to tensor<1x32x28xi32>
  %2, %3, %4, %5 = graph.rnn %0, %1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, exponent = -31} : (tensor<3x1x32xf32>, tensor<1x32x28xi32>) -> (tensor<3x1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<3x1x32xf32>, memref<3x1x32xf32>) -> ()
  bufferization.materialize_in_destination %4 in %h : (tensor<1x32xf32>, memref<1x32xf32>) -> ()
  bufferization.materialize_in_destination %5 in %sums : (tensor<1x32xf32>, memref<1x32xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func private @tiles
// CHECK:         [[WORDS:%\d+]] = aot.tile_load %w{{.*}} -> vector<1x3x4xi32>
// CHECK-DAG:     aot.tile_convert "sitofp" [[WORDS]] : vector<1x3x4xi32> -> vector<1x3x4xf32>
// CHECK-DAG:     [[FOURTH:%\d+]] = arith.shli {{.*}} : vector<1x1x4xi32>
// CHECK:         [[F:%\d+]] = aot.tile_convert "sitofp" {{.*}} : vector<1x1x4xi32> -> vector<1x1x4xf32>
// CHECK-NEXT:    aot.tile_insert [[F]], {{.*}} {offsets = array<i64: 0, 3>
// CHECK-NEXT:    [[OTHERS:%\d+]] = aot.tile_load %w{{.*}} -> vector<1x4x4xi32>
// CHECK-NEXT:    [[FLOATS:%\d+]] = arith.bitcast [[OTHERS]]
// CHECK-NEXT:    [[WHOLE:%\d+]] = aot.tile_insert [[FLOATS]], {{.*}} {offsets = array<i64: 0, 4>
// CHECK:         math.fma {{.*}}, [[WHOLE]], {{.*}} : vector<1x8x4xf32>
// CHECK:         [[SUM:%\d+]] = arith.mulf {{.*}} : vector<1x8x4xf32>
// CHECK-NEXT:    aot.tile_store [[SUM]], %sums
func.func private @tiles(%x: memref<3x1x32xf32>, %w: memref<1x32x28xi32>, %y: memref<3x1x32xf32>, %h: memref<1x32xf32>, %sums: memref<1x32xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<3x1x32xf32> to tensor<3x1x32xf32>
  %1 = bufferization.to_tensor %w : memref<1x32x28xi32> to tensor<1x32x28xi32>
  %2, %3, %4, %5 = graph.rnn %0, %1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, exponent = -31, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 8, unroll = 1, units = 1>} : (tensor<3x1x32xf32>, tensor<1x32x28xi32>) -> (tensor<3x1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<3x1x32xf32>, memref<3x1x32xf32>) -> ()
  bufferization.materialize_in_destination %4 in %h : (tensor<1x32xf32>, memref<1x32xf32>) -> ()
  bufferization.materialize_in_destination %5 in %sums : (tensor<1x32xf32>, memref<1x32xf32>) -> ()
  func.return
}

// Panels of another width than that of the tile.
// CHECK-LABEL: func.func private @narrow
// CHECK-SAME:    aot.scalar_fallback = "the weight is not packed into panels of the width of the register tile"
func.func private @narrow(%x: memref<3x1x32xf32>, %w: memref<1x32x28xi32>, %y: memref<3x1x32xf32>, %h: memref<1x32xf32>, %sums: memref<1x32xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<3x1x32xf32> to tensor<3x1x32xf32>
  %1 = bufferization.to_tensor %w : memref<1x32x28xi32> to tensor<1x32x28xi32>
  %2, %3, %4, %5 = graph.rnn %0, %1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, exponent = -31, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 4, unroll = 1, units = 1>} : (tensor<3x1x32xf32>, tensor<1x32x28xi32>) -> (tensor<3x1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<3x1x32xf32>, memref<3x1x32xf32>) -> ()
  bufferization.materialize_in_destination %4 in %h : (tensor<1x32xf32>, memref<1x32xf32>) -> ()
  bufferization.materialize_in_destination %5 in %sums : (tensor<1x32xf32>, memref<1x32xf32>) -> ()
  func.return
}
