// RUN: aotc-opt %s --split-input-file -p roll-rows | filecheck %s

// Groups with a number become one kernel. A window of three rows needs a ring of three rows, which begin at multiples
// of four bytes; one of a row needs one. What is read elsewhere is a result, too.

// CHECK-LABEL: func.func @chain
// CHECK:         [[R:%.*]], {{%.*}}, {{%.*}}, {{%.*}} = graph.rolled ({{%.*}} = %x : tensor<1x1x8x5x3xi8>) -> (tensor<1x1x8x5x3xi8>, tensor<1x1x6x5x3xi8>, tensor<16xi8>, tensor<48xi8>)
// CHECK-SAME:      attributes {aot.rings = [{stage = 0 : i64, rows = 1 : i64, of = 8 : i64, row_bytes = 16 : i64, buffer = 0 : i64}, {stage = 1 : i64, rows = 3 : i64, of = 8 : i64, row_bytes = 16 : i64, buffer = 1 : i64}]} {
// CHECK:           [[A:%.*]] = graph.fused
// CHECK:           [[B:%.*]] = graph.fused ({{%.*}} = [[A]] :
// CHECK:           [[C:%.*]] = graph.fused ({{%.*}} = [[B]] :
// CHECK:           graph.yield [[A]], [[C]] :
// CHECK-NOT:     graph.fused
// CHECK:         func.return
func.func @chain(%x: tensor<1x1x8x5x3xi8>) -> (tensor<1x1x8x5x3xi8>, tensor<1x1x6x5x3xi8>) attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<1x1x8x5x3xi8>) -> (tensor<1x1x8x5x3xi8>) attributes {roll = 0 : i64} {
    %3 = graph.neg %a : (tensor<1x1x8x5x3xi8>) -> tensor<1x1x8x5x3xi8>
    graph.yield %3 : tensor<1x1x8x5x3xi8>
  }
  %1 = graph.fused (%a = %0 : tensor<1x1x8x5x3xi8>) -> (tensor<1x1x8x5x3xi8>) attributes {roll = 0 : i64} {
    %4 = graph.abs %a : (tensor<1x1x8x5x3xi8>) -> tensor<1x1x8x5x3xi8>
    graph.yield %4 : tensor<1x1x8x5x3xi8>
  }
  %2 = graph.fused (%a = %1 : tensor<1x1x8x5x3xi8>) -> (tensor<1x1x6x5x3xi8>) attributes {roll = 0 : i64} {
    %5 = graph.max_pool %a {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x8x5x3xi8>) -> tensor<1x1x6x5x3xi8>
    graph.yield %5 : tensor<1x1x6x5x3xi8>
  }
  func.return %0, %2 : tensor<1x1x8x5x3xi8>, tensor<1x1x6x5x3xi8>
}

// -----

// Without numbers nothing changes.

// CHECK-LABEL: func.func @plain
// CHECK-NOT:     graph.rolled
func.func @plain(%x: tensor<1x1x8x5x3xi8>) -> tensor<1x1x8x5x3xi8> attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<1x1x8x5x3xi8>) -> (tensor<1x1x8x5x3xi8>) {
    %3 = graph.neg %a : (tensor<1x1x8x5x3xi8>) -> tensor<1x1x8x5x3xi8>
    graph.yield %3 : tensor<1x1x8x5x3xi8>
  }
  func.return %0 : tensor<1x1x8x5x3xi8>
}

// -----

// A pool of all rows takes them as they come: it has a buffer for sums, and the ring one row.

// CHECK-LABEL: func.func @pool
// CHECK:         graph.rolled {{.*}} -> (tensor<1x3x1x1xi32>, tensor<16xi8>, tensor<3xi32>)
func.func @pool(%x: tensor<1x1x8x5x3xi8>) -> tensor<1x3x1x1xi32> attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<1x1x8x5x3xi8>) -> (tensor<1x1x8x5x3xi8>) attributes {roll = 0 : i64} {
    %2 = graph.neg %a : (tensor<1x1x8x5x3xi8>) -> tensor<1x1x8x5x3xi8>
    graph.yield %2 : tensor<1x1x8x5x3xi8>
  }
  %1 = graph.fused (%a = %0 : tensor<1x1x8x5x3xi8>) -> (tensor<1x3x1x1xi32>) attributes {roll = 0 : i64} {
    %3 = graph.unpack %a {layout = #graph.layout<channels (d0, d1 floordiv 3, d2, d3, d1 mod 3)>, shape = array<i64: 1, 3, 8, 5>} : (tensor<1x1x8x5x3xi8>) -> tensor<1x3x8x5xi8>
    %4 = graph.sum_pool %3 {kernel = array<i64: 8, 5>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x3x8x5xi8>) -> tensor<1x3x1x1xi32>
    graph.yield %4 : tensor<1x3x1x1xi32>
  }
  func.return %1 : tensor<1x3x1x1xi32>
}

// -----

// Rows are written into the planes of a result; a ring with them there would have no rows.

// CHECK-LABEL: func.func @planes
// CHECK:         graph.rolled {{.*}} -> (tensor<1x3x8x5xi8>, tensor<16xi8>)
func.func @planes(%x: tensor<1x1x8x5x3xi8>) -> tensor<1x3x8x5xi8> attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<1x1x8x5x3xi8>) -> (tensor<1x1x8x5x3xi8>) attributes {roll = 0 : i64} {
    %2 = graph.neg %a : (tensor<1x1x8x5x3xi8>) -> tensor<1x1x8x5x3xi8>
    graph.yield %2 : tensor<1x1x8x5x3xi8>
  }
  %1 = graph.fused (%a = %0 : tensor<1x1x8x5x3xi8>) -> (tensor<1x3x8x5xi8>) attributes {roll = 0 : i64} {
    %3 = graph.unpack %a {layout = #graph.layout<channels (d0, d1 floordiv 3, d2, d3, d1 mod 3)>, shape = array<i64: 1, 3, 8, 5>} : (tensor<1x1x8x5x3xi8>) -> tensor<1x3x8x5xi8>
    graph.yield %3 : tensor<1x3x8x5xi8>
  }
  func.return %1 : tensor<1x3x8x5xi8>
}

// -----

// Groups that go on with the rows of an input are told how many have come.

// CHECK-LABEL: func.func @streamed
// CHECK-SAME:    %pushed: tensor<3xi32> {aot.name = "x rows", aot.dtype = "int32", aot.io = "pushed"}) -> (tensor<1x1x8x5x3xi8> {aot.name = "y"})
// CHECK:         graph.rolled ({{%.*}} = %x : tensor<1x1x8x5x3xi8>, {{%.*}} = %pushed : tensor<3xi32>) -> (tensor<1x1x8x5x3xi8>) attributes {{{.*}}streamed = 0 : i64} {
// CHECK-NOT:       streamed
func.func @streamed(%x: tensor<1x1x8x5x3xi8> {aot.name = "x", aot.rows = 2 : i64}) -> (tensor<1x1x8x5x3xi8> {aot.name = "y"}) attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<1x1x8x5x3xi8>) -> (tensor<1x1x8x5x3xi8>) attributes {roll = 0 : i64, streamed} {
    %3 = graph.neg %a : (tensor<1x1x8x5x3xi8>) -> tensor<1x1x8x5x3xi8>
    graph.yield %3 : tensor<1x1x8x5x3xi8>
  }
  func.return %0 : tensor<1x1x8x5x3xi8>
}
