// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: there must be two anchors or more, found 1
func.func @alone(%x: tensor<4x8xf32>) {
  %y = graph.staged (%a = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>) attributes {tile = array<i64: 1, 8>} {
    %0 = graph.softmax %a {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.yield %0 : tensor<4x8xf32>
  }
  func.return
}

// -----

// CHECK: a buffer tensor<2x8xf64> does not hold tiles of tensor<4x8xf32>
func.func @type(%x: tensor<4x8xf32>) {
  %y, %m = graph.staged (%a = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2x8xf64>) attributes {tile = array<i64: 2, 8>} {
    %0 = graph.softmax %a {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = graph.softmax %0 {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.yield %1 : tensor<4x8xf32>
  }
  func.return
}

// -----

// CHECK: a buffer tensor<16xf32> does not hold tiles of tensor<4x8xf32>
func.func @rank_of_buffer(%x: tensor<4x8xf32>) {
  %y, %m = graph.staged (%a = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<16xf32>) attributes {tile = array<i64: 2, 8>} {
    %0 = graph.softmax %a {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = graph.softmax %0 {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.yield %1 : tensor<4x8xf32>
  }
  func.return
}

// -----

// CHECK: 2 stages need 1 scratch buffers, found 0
func.func @no_buffer(%x: tensor<4x8xf32>) {
  %y = graph.staged (%a = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>) attributes {tile = array<i64: 2, 8>} {
    %0 = graph.softmax %a {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = graph.softmax %0 {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.yield %1 : tensor<4x8xf32>
  }
  func.return
}

// -----

// CHECK: what is made of the result of graph.softmax is used by graph.transpose
func.func @moved(%x: tensor<4x4xf32>) {
  %y, %m = graph.staged (%a = %x : tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<2x4xf32>) attributes {tile = array<i64: 2, 4>} {
    %0 = graph.softmax %a {axes = array<i64: 1>, log = false} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = graph.softmax %1 {axes = array<i64: 1>, log = false} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.yield %2 : tensor<4x4xf32>
  }
  func.return
}

// -----

// CHECK: the result of graph.softmax must be for one other anchor
func.func @twice(%x: tensor<4x4xf32>) {
  %y, %m = graph.staged (%a = %x : tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<2x4xf32>) attributes {tile = array<i64: 2, 4>} {
    %0 = graph.softmax %a {axes = array<i64: 1>, log = false} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = graph.matmul %0, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.yield %1 : tensor<4x4xf32>
  }
  func.return
}

// -----

// CHECK: a tile [2] does not fit the result [4, 8]
func.func @rank(%x: tensor<4x8xf32>) {
  %y, %m = graph.staged (%a = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2x8xf32>) attributes {tile = array<i64: 2>} {
    %0 = graph.softmax %a {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = graph.softmax %0 {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.yield %1 : tensor<4x8xf32>
  }
  func.return
}

// -----

// CHECK: graph.cast works on encoded elements
func.func @codes(%x: tensor<4x8xf8E5M2>) {
  %y, %m = graph.staged (%a = %x : tensor<4x8xf8E5M2>) -> (tensor<4x8xf32>, tensor<2x8xf32>) attributes {tile = array<i64: 2, 8>} {
    %c = graph.cast %a {to = f32} : (tensor<4x8xf8E5M2>) -> tensor<4x8xf32>
    %0 = graph.softmax %c {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = graph.softmax %0 {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.yield %1 : tensor<4x8xf32>
  }
  func.return
}

// -----

// CHECK: 2 tiles do not divide into parts of [2, 1]
func.func @parts(%x: tensor<4x8xf32>) {
  %y, %m = graph.staged (%a = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2x8xf32>) attributes {tile = array<i64: 2, 8>, parts = array<i64: 2, 1>} {
    %0 = graph.softmax %a {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = graph.softmax %0 {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.yield %1 : tensor<4x8xf32>
  }
  func.return
}

// -----

// CHECK: 2 tiles do not divide into parts of [0, 2]
func.func @no_tiles(%x: tensor<4x8xf32>) {
  %y, %m = graph.staged (%a = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2x8xf32>) attributes {tile = array<i64: 2, 8>, parts = array<i64: 0, 2>} {
    %0 = graph.softmax %a {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = graph.softmax %0 {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.yield %1 : tensor<4x8xf32>
  }
  func.return
}
