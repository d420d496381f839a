// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p fold-constants | filecheck %s --check-prefix=FOLD
// RUN: aotc-opt %s -p convert-graph-to-loops,serialize-parallel-loops,simplify-functions | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.pack_tree_masks %f, %t, %c, %r, %m {features = 8 : i64, nodes = 3 : i64, lanes = 4 : i64} : (tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<5xui8>, tensor<3xi1>) -> tensor<2x13x4xi32>
// CHECK-NEXT: graph.masked_tree_leaves %x, %0 {trees = 5 : i64, to = ui8, missing = true} : (tensor<6x8xf32>, tensor<2x13x4xi32>) -> (tensor<6x5xui8>, tensor<6x16xi32>, tensor<6x4xi32>)
// CHECK-NEXT: graph.masked_tree_leaves %x, %0 {trees = 5 : i64, to = ui8} : (tensor<6x8xf32>, tensor<2x13x4xi32>) -> (tensor<6x5xui8>, tensor<6x8xi32>, tensor<6x4xi32>)
func.func @forms(%x: tensor<6x8xf32>, %f: tensor<3xui8>, %t: tensor<3xf32>, %c: tensor<3x2xui8>, %r: tensor<5xui8>, %m: tensor<3xi1>) {
  %0 = graph.pack_tree_masks %f, %t, %c, %r, %m {features = 8 : i64, nodes = 3 : i64, lanes = 4 : i64} : (tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<5xui8>, tensor<3xi1>) -> tensor<2x13x4xi32>
  %1, %2, %3 = graph.masked_tree_leaves %x, %0 {trees = 5 : i64, to = ui8, missing = true} : (tensor<6x8xf32>, tensor<2x13x4xi32>) -> (tensor<6x5xui8>, tensor<6x16xi32>, tensor<6x4xi32>)
  %4, %5, %6 = graph.masked_tree_leaves %x, %0 {trees = 5 : i64, to = ui8} : (tensor<6x8xf32>, tensor<2x13x4xi32>) -> (tensor<6x5xui8>, tensor<6x8xi32>, tensor<6x4xi32>)
  func.return
}

// Two trees in one of two lanes each: node 0 with node 1 as its second child and leaves 1, 2 and 0 in this order; and
// leaf 1 alone, whose nodes are never greater. Node 0 rules out the first leaf, node 1 the second one.
// FOLD-LABEL: func.func @packed
// FOLD: graph.constant dense<{{\[\[}}[7, 0], [1065353216, 2147483647], [-2, 0], [12, 0], [-1056964609, 2147483647], [-3, 0], [1, 1], [2, 0], [0, 0]{{\]\]}}> : tensor<1x9x2xi32>
func.func @packed() -> tensor<1x9x2xi32> attributes {aot.entry} {
  %f = graph.constant dense<[7, 4]> : tensor<2xui8>
  %t = graph.constant dense<[1.0, -0.5]> : tensor<2xf32>
  %c = graph.constant dense<[[3, 1], [4, 2]]> : tensor<2x2xui8>
  %r = graph.constant dense<[0, 3]> : tensor<2xui8>
  %m = graph.constant dense<[false, true]> : tensor<2xi1>
  %0 = graph.pack_tree_masks %f, %t, %c, %r, %m {features = 8 : i64, nodes = 2 : i64, lanes = 2 : i64} : (tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<2xui8>, tensor<2xi1>) -> tensor<1x9x2xi32>
  func.return %0 : tensor<1x9x2xi32>
}

// All nodes are asked; the leaf is the lowest bit that is left.
// LOOPS-LABEL: func.func private @asked
// LOOPS:      arith.bitcast
// LOOPS:      memref.store %{{.*}}, %keys[
// LOOPS:      scf.for
// LOOPS:        scf.for
// LOOPS:          arith.cmpi sgt
// LOOPS:          arith.andi
// LOOPS:          arith.select
// LOOPS:        arith.subi
// LOOPS:        arith.andi
// LOOPS:        arith.sitofp
// LOOPS:        arith.shrsi
// LOOPS:        memref.load %w[
// LOOPS:        memref.store %{{.*}}, %out[
func.func private @asked(%x: memref<6x8xf32>, %w: memref<2x13x4xi32>, %out: memref<6x5xui8>, %keys: memref<6x8xi32>, %bits: memref<6x4xi32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<6x8xf32> to tensor<6x8xf32>
  %1 = bufferization.to_tensor %w : memref<2x13x4xi32> to tensor<2x13x4xi32>
  %2, %3, %4 = graph.masked_tree_leaves %0, %1 {trees = 5 : i64, to = ui8} : (tensor<6x8xf32>, tensor<2x13x4xi32>) -> (tensor<6x5xui8>, tensor<6x8xi32>, tensor<6x4xi32>)
  bufferization.materialize_in_destination %2 in %out : (tensor<6x5xui8>, memref<6x5xui8>) -> ()
  bufferization.materialize_in_destination %3 in %keys : (tensor<6x8xi32>, memref<6x8xi32>) -> ()
  bufferization.materialize_in_destination %4 in %bits : (tensor<6x4xi32>, memref<6x4xi32>) -> ()
  func.return
}

// In registers: two of four features each, of which each lane picks one; a third of the first two numbers.
// LOOPS-LABEL: func.func private @in_registers
// LOOPS-COUNT-3: aot.tile_load %keys[
// LOOPS:      scf.for {{.*}} iter_args({{.*}}) -> (vector<1x4xi32>)
// LOOPS:        aot.tile_load %w[
// LOOPS:        %[[LOW:.*]] = aot.tile_pick
// LOOPS:        %[[HIGH:.*]] = aot.tile_pick
// LOOPS:        aot.tile_compare "sge"
// LOOPS:        aot.tile_select %{{.*}}, %[[HIGH]], %[[LOW]]
// LOOPS:        aot.tile_compare "sgt"
// LOOPS:        arith.andi
// LOOPS:      aot.tile_store %{{.*}}, %bits[
func.func private @in_registers(%x: memref<6x10xf32>, %w: memref<2x13x4xi32>, %out: memref<6x5xui8>, %keys: memref<6x10xi32>, %bits: memref<6x4xi32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<6x10xf32> to tensor<6x10xf32>
  %1 = bufferization.to_tensor %w : memref<2x13x4xi32> to tensor<2x13x4xi32>
  %2, %3, %4 = graph.masked_tree_leaves %0, %1 {trees = 5 : i64, to = ui8, schedule = #graph.tree_schedule<lanes = 4, rows = 6, trees = 4, steps = 1>} : (tensor<6x10xf32>, tensor<2x13x4xi32>) -> (tensor<6x5xui8>, tensor<6x10xi32>, tensor<6x4xi32>)
  bufferization.materialize_in_destination %2 in %out : (tensor<6x5xui8>, memref<6x5xui8>) -> ()
  bufferization.materialize_in_destination %3 in %keys : (tensor<6x10xi32>, memref<6x10xi32>) -> ()
  bufferization.materialize_in_destination %4 in %bits : (tensor<6x4xi32>, memref<6x4xi32>) -> ()
  func.return
}
