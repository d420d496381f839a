// RUN: aotc-opt %s -p 'convert-graph-to-loops,serialize-parallel-loops,canonicalize,cse' | filecheck %s

// Where an element of a bin is, is computed once for two blocks of channels: the third has a tile of its own.
// CHECK-LABEL: func.func private @regions
// CHECK-COUNT-2: arith.divf %{{.*}}, %{{.*}} : f32
// CHECK:         scf.if %{{.*}} -> (vector<2x4xf32>)
// CHECK:           [[FIRST:%.*]] = aot.tile_load %x{{.*}} {strides = array<i64: 396, 1>} : memref<2x3x9x11x4xf32> -> vector<2x4xf32>
// CHECK:           scf.for {{.*}} -> (vector<2x4xf32>)
// CHECK:             aot.tile_load %x
// CHECK-NEXT:        arith.maximumf
// CHECK:         aot.tile_store {{.*}} {strides = array<i64: 24, 1>} : vector<2x4xf32>, memref<7x3x2x3x4xf32>
// CHECK:         aot.tile_store {{.*}} : vector<1x4xf32>, memref<7x3x2x3x4xf32>
// CHECK-NOT:     aot.tile_store
func.func private @regions(%x: memref<2x3x9x11x4xf32>, %q: memref<7x5xf32>, %out: memref<7x3x2x3x4xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<2x3x9x11x4xf32> to tensor<2x3x9x11x4xf32>
  %1 = bufferization.to_tensor %q : memref<7x5xf32> to tensor<7x5xf32>
  %2 = graph.roi_max %0, %1 {size = array<i64: 2, 3>, scale = 1.0 : f64, schedule = #graph.elementwise_schedule<lanes = 4, registers = 2>} : (tensor<2x3x9x11x4xf32>, tensor<7x5xf32>) -> tensor<7x3x2x3x4xf32>
  bufferization.materialize_in_destination %2 in %out : (tensor<7x3x2x3x4xf32>, memref<7x3x2x3x4xf32>) -> ()
  func.return
}
