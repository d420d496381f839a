// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-schedule' | filecheck %s --check-prefix=AVX2
// RUN: aotc-opt %s -p 'attach-target{target=test-sse4},choose-schedule' | filecheck %s --check-prefix=SSE
// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},choose-schedule' | filecheck %s --check-prefix=SCALAR
// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},choose-schedule{size=true}' | filecheck %s --check-prefix=SIZE

// Trees of f32 are packed where processors have vectors; others become branches, unless code is to be small or there
// are too many.
// CHECK-LABEL: func.func @main
// CHECK: graph.tree_leaves %x, {{.*}}#graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, packed>
// CHECK: graph.tree_leaves %y, {{.*}}leaves = 3 : i64}
// SCALAR-LABEL: func.func @main
// SCALAR: graph.tree_leaves %x, {{.*}}#graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, branches>
// SIZE-LABEL: func.func @main
// SIZE: graph.tree_leaves %x, {{.*}}leaves = 3 : i64}
func.func @main(%x: tensor<5x3xf32>, %y: tensor<5x3xf64>, %f: tensor<2xui8>, %t: tensor<2xf32>, %u: tensor<2xf64>, %c: tensor<2x2xui8>, %r: tensor<1xui8>) attributes {aot.entry} {
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 3 : i64} : (tensor<5x3xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<1xui8>) -> tensor<5x1xui8>
  %1 = graph.tree_leaves %y, %f, %u, %c, %r {depth = 2 : i64, leaves = 3 : i64} : (tensor<5x3xf64>, tensor<2xui8>, tensor<2xf64>, tensor<2x2xui8>, tensor<1xui8>) -> tensor<5x1xui8>
  func.return
}

// SIZE-LABEL: func.func @deep
// SCALAR-LABEL: func.func @deep
// SCALAR: graph.tree_leaves {{.*}}#graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, branches>
// SCALAR: graph.tree_leaves {{.*}}leaves = 3 : i64}
// SCALAR: graph.tree_leaves {{.*}}leaves = 3 : i64}
func.func @deep(%x: tensor<5x3xf32>, %f: tensor<4096xui8>, %t: tensor<4096xf32>, %c: tensor<4096x2xui16>, %g: tensor<4097xui8>, %u: tensor<4097xf32>, %d: tensor<4097x2xui16>, %r: tensor<1xui16>) attributes {aot.entry} {
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 32 : i64, leaves = 3 : i64} : (tensor<5x3xf32>, tensor<4096xui8>, tensor<4096xf32>, tensor<4096x2xui16>, tensor<1xui16>) -> tensor<5x1xui16>
  %1 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 33 : i64, leaves = 3 : i64} : (tensor<5x3xf32>, tensor<4096xui8>, tensor<4096xf32>, tensor<4096x2xui16>, tensor<1xui16>) -> tensor<5x1xui16>
  %2 = graph.tree_leaves %x, %g, %u, %d, %r {depth = 32 : i64, leaves = 3 : i64} : (tensor<5x3xf32>, tensor<4097xui8>, tensor<4097xf32>, tensor<4097x2xui16>, tensor<1xui16>) -> tensor<5x1xui16>
  func.return
}

// What is packed takes as many trees at once as there are, up to 12, and the steps that the depth allows.
// CHECK-LABEL: func.func @packed
// CHECK: graph.packed_tree_leaves {{.*}}#graph.tree_schedule<lanes = 1, rows = 64, trees = 12, steps = 2>
// CHECK: graph.packed_tree_leaves {{.*}}#graph.tree_schedule<lanes = 1, rows = 64, trees = 3, steps = 1>
func.func @packed(%x: tensor<100x3xf32>, %n: tensor<70x4xi32>, %r: tensor<20xui8>, %s: tensor<3xui8>) attributes {aot.entry} {
  %0, %1 = graph.packed_tree_leaves %x, %n, %r {depth = 2 : i64, inner = 33 : i64} : (tensor<100x3xf32>, tensor<70x4xi32>, tensor<20xui8>) -> (tensor<100x20xui8>, tensor<100x3xi32>)
  %2, %3 = graph.packed_tree_leaves %x, %n, %s {depth = 1 : i64, inner = 33 : i64} : (tensor<100x3xf32>, tensor<70x4xi32>, tensor<3xui8>) -> (tensor<100x3xui8>, tensor<100x3xi32>)
  func.return
}

// Of small trees all nodes are asked: where registers hold the features, of which there are two copies with `missing`,
// and where lanes of registers are picked by number: of 16 registers four hold them.
// CHECK-LABEL: func.func @small
// CHECK: graph.tree_leaves %x, {{.*}}#graph.tree_schedule<lanes = 16, rows = 1, trees = 1, steps = 1, packed, masks>
// CHECK: graph.tree_leaves %x, {{.*}}#graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, packed>
// CHECK: graph.tree_leaves %x, {{.*}}#graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, packed>
// CHECK: graph.tree_leaves %x, {{.*}}#graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, packed>
// CHECK: graph.tree_leaves %y, {{.*}}#graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, packed>
func.func @small(%x: tensor<5x128xf32>, %y: tensor<5x129xf32>, %f: tensor<2xui8>, %t: tensor<2xf32>, %c: tensor<2x2xui8>, %r: tensor<2xui8>, %m: tensor<2xi1>) attributes {aot.entry} {
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 3 : i64, most = 31 : i64} : (tensor<5x128xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
  %1 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 3 : i64, most = 32 : i64} : (tensor<5x128xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
  %2 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 0 : i64, leaves = 3 : i64, most = 0 : i64} : (tensor<5x128xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
  %3 = graph.tree_leaves %x, %f, %t, %c, %r, %m {depth = 2 : i64, leaves = 3 : i64, most = 31 : i64} : (tensor<5x128xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<2xui8>, tensor<2xi1>) -> tensor<5x2xui8>
  %4 = graph.tree_leaves %y, %f, %t, %c, %r {depth = 2 : i64, leaves = 3 : i64, most = 31 : i64} : (tensor<5x129xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
  func.return
}

// CHECK-LABEL: func.func @few
// CHECK: graph.tree_leaves %x, {{.*}}#graph.tree_schedule<lanes = 16, rows = 1, trees = 1, steps = 1, packed, masks>
// AVX2-LABEL: func.func @few
// AVX2: graph.tree_leaves %x, {{.*}}#graph.tree_schedule<lanes = 8, rows = 1, trees = 1, steps = 1, packed, masks>
// AVX2: graph.tree_leaves %y, {{.*}}#graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, packed>
// SSE-LABEL: func.func @few
// SSE: graph.tree_leaves %z, {{.*}}#graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, packed>
func.func @few(%x: tensor<5x32xf32>, %y: tensor<5x33xf32>, %z: tensor<5x3xf32>, %f: tensor<2xui8>, %t: tensor<2xf32>, %c: tensor<2x2xui8>, %r: tensor<2xui8>) attributes {aot.entry} {
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 3 : i64, most = 2 : i64} : (tensor<5x32xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
  %1 = graph.tree_leaves %y, %f, %t, %c, %r {depth = 2 : i64, leaves = 3 : i64, most = 2 : i64} : (tensor<5x33xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
  %2 = graph.tree_leaves %z, %f, %t, %c, %r {depth = 2 : i64, leaves = 3 : i64, most = 2 : i64} : (tensor<5x3xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
  func.return
}
