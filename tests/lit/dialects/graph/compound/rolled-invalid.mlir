// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: graph.neg is neither a group nor a join or a view
func.func @neither(%x: tensor<8x4xi8>) {
  %0 = graph.rolled (%a = %x : tensor<8x4xi8>) -> (tensor<8x4xi8>) {
    %1 = graph.neg %a : (tensor<8x4xi8>) -> tensor<8x4xi8>
    graph.yield %1 : tensor<8x4xi8>
  }
  func.return
}

// -----

// CHECK: the region must yield what its groups and joins compute
func.func @argument(%x: tensor<8x4xi8>) {
  %0 = graph.rolled (%a = %x : tensor<8x4xi8>) -> (tensor<8x4xi8>) {
    graph.yield %a : tensor<8x4xi8>
  }
  func.return
}

// -----

// CHECK: the region must yield values
func.func @nothing(%x: tensor<8x4xi8>) {
  %0 = graph.rolled (%a = %x : tensor<8x4xi8>) -> (tensor<8x4xi8>) {
    %1 = graph.fused (%b = %a : tensor<8x4xi8>) -> (tensor<8x4xi8>) {
      %2 = graph.neg %b : (tensor<8x4xi8>) -> tensor<8x4xi8>
      graph.yield %2 : tensor<8x4xi8>
    }
    graph.yield :
  }
  func.return
}

// -----

// CHECK: result type is tensor<4x8xi8>, operands and attributes give tensor<8x4xi8>
func.func @type(%x: tensor<8x4xi8>) {
  %0 = graph.rolled (%a = %x : tensor<8x4xi8>) -> (tensor<4x8xi8>) {
    %1 = graph.fused (%b = %a : tensor<8x4xi8>) -> (tensor<8x4xi8>) {
      %2 = graph.neg %b : (tensor<8x4xi8>) -> tensor<8x4xi8>
      graph.yield %2 : tensor<8x4xi8>
    }
    graph.yield %1 : tensor<8x4xi8>
  }
  func.return
}

// -----

// CHECK: what comes by rows must be an input, and the last input say how many have come
func.func @counts(%x: tensor<8x4xi8>, %n: tensor<3xi64>) {
  %0 = graph.rolled (%a = %x : tensor<8x4xi8>, %m = %n : tensor<3xi64>) -> (tensor<8x4xi8>) attributes {streamed = 0 : i64} {
    %1 = graph.fused (%b = %a : tensor<8x4xi8>) -> (tensor<8x4xi8>) {
      %2 = graph.neg %b : (tensor<8x4xi8>) -> tensor<8x4xi8>
      graph.yield %2 : tensor<8x4xi8>
    }
    graph.yield %1 : tensor<8x4xi8>
  }
  func.return
}

// -----

// CHECK: what comes by rows must be an input, and the last input say how many have come
func.func @number(%x: tensor<8x4xi8>, %n: tensor<3xi32>) {
  %0 = graph.rolled (%a = %x : tensor<8x4xi8>, %m = %n : tensor<3xi32>) -> (tensor<8x4xi8>) attributes {streamed = 1 : i64} {
    %1 = graph.fused (%b = %a : tensor<8x4xi8>) -> (tensor<8x4xi8>) {
      %2 = graph.neg %b : (tensor<8x4xi8>) -> tensor<8x4xi8>
      graph.yield %2 : tensor<8x4xi8>
    }
    graph.yield %1 : tensor<8x4xi8>
  }
  func.return
}

// -----

// CHECK: what comes by rows must be an input, and the last input say how many have come
func.func @no_inputs() {
  %0 = graph.rolled () -> (tensor<1xi8>) attributes {streamed = 0 : i64} {
    %1 = graph.fused () -> (tensor<1xi8>) {
      %2 = graph.constant dense<1> : tensor<1xi8>
      %3 = graph.neg %2 : (tensor<1xi8>) -> tensor<1xi8>
      graph.yield %3 : tensor<1xi8>
    }
    graph.yield %1 : tensor<1xi8>
  }
  func.return
}
