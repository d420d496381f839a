// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},count-votes,dce' | filecheck %s

// A table that is as large as votes and the code that divides them: as few bytes, and fewer of them are read.
// CHECK-LABEL: func.func @equal
// CHECK:         graph.vote_sum %{{.*}} {targets = 3 : i64, divisor = 2 : i64} : (tensor<16x4xui8>, tensor<1x2xui8>)
func.func @equal(%i: tensor<1x2xui8>) -> tensor<1x3xf32> attributes {aot.entry} {
  %t = graph.constant dense<0.125> : tensor<16x3xf32>
  %0 = graph.gather_sum %t, %i : (tensor<16x3xf32>, tensor<1x2xui8>) -> tensor<1x3xf32>
  func.return %0 : tensor<1x3xf32>
}

// Doubles are no quotients of floats.
// CHECK-LABEL: func.func @doubles
// CHECK-NOT:     graph.vote_sum
// CHECK:         func.return
func.func @doubles(%i: tensor<1x2xui8>) -> tensor<1x2xf64> attributes {aot.entry} {
  %t = graph.constant dense<0.25> : tensor<80x2xf64>
  %0 = graph.gather_sum %t, %i : (tensor<80x2xf64>, tensor<1x2xui8>) -> tensor<1x2xf64>
  func.return %0 : tensor<1x2xf64>
}

// The first leaf has another number, too: 79 where it is the one with more votes than a byte holds.
// CHECK-LABEL: func.func @first
// CHECK:      %[[C:.*]] = graph.constant dense<{{.}}{{.}}1, 80]]> : tensor<1x2xui8>
// CHECK-NEXT: %[[R:.*]] = graph.constant dense<[0, 1]> : tensor<2xui8>
// CHECK-NEXT: graph.tree_leaves %x, %f, %h, %[[C]], %[[R]] {depth = 1 : i64, leaves = 81 : i64}
// CHECK:      graph.vote_sum {{.*}}wide = 79 : i64
func.func @first(%x: tensor<1x1xf32>, %f: tensor<1xui8>, %h: tensor<1xf32>) -> tensor<1x2xf32> attributes {aot.entry} {
  %t = graph.constant dense<[[0.3505, 0.1495], [0.5, 0.0], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25]]> : tensor<80x2xf32>
  %c = graph.constant dense<[[2, 1]]> : tensor<1x2xui8>
  %r = graph.constant dense<[0, 2]> : tensor<2xui8>
  %i = graph.tree_leaves %x, %f, %h, %c, %r {depth = 1 : i64, leaves = 80 : i64} : (tensor<1x1xf32>, tensor<1xui8>, tensor<1xf32>, tensor<1x2xui8>, tensor<2xui8>) -> tensor<1x2xui8>
  %0 = graph.gather_sum %t, %i : (tensor<80x2xf32>, tensor<1x2xui8>) -> tensor<1x2xf32>
  func.return %0 : tensor<1x2xf32>
}

// The fewest such votes are 256.
// CHECK-LABEL: func.func @least
// CHECK:      graph.branching_trees %x {{.*}}children = array<i64: 1, 80>, roots = array<i64: 0, 1>, leaves = 81 : i64
// CHECK:      graph.vote_sum {{.*}}wide = 79 : i64
func.func @least(%x: tensor<1x1xf32>) -> tensor<1x2xf32> attributes {aot.entry} {
  %t = graph.constant dense<[[0.4980544747, 0.0019455253], [0.5, 0.0], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25]]> : tensor<80x2xf32>
  %i = graph.branching_trees %x {features = array<i64: 0>, thresholds = array<f64: 0.5>, children = array<i64: 2, 1>, roots = array<i64: 0, 2>, leaves = 80 : i64, to = ui8} : (tensor<1x1xf32>) -> tensor<1x2xui8>
  %0 = graph.gather_sum %t, %i : (tensor<80x2xf32>, tensor<1x2xui8>) -> tensor<1x2xf32>
  func.return %0 : tensor<1x2xf32>
}
