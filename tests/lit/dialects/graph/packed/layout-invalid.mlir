// RUN: aotc-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: blocks of dimension 0 must be positive, found 0
func.func @blocks(%x: tensor<7x6xi8>) {
  %0 = graph.pack %x {layout = #graph.layout<rows (d0 floordiv 0, (d1, d0 mod 0))>} : (tensor<7x6xi8>) -> tensor<2x24xi8>
  func.return
}

// -----

// CHECK: dimension 1 has no digit for what is beyond 4
func.func @digits(%x: tensor<7x6xi8>) {
  %0 = graph.pack %x {layout = #graph.layout<rows (d0, d1 mod 4)>} : (tensor<7x6xi8>) -> tensor<7x4xi8>
  func.return
}

// -----

// CHECK: a dimension is d0, d1, ..., found k
func.func @names(%x: tensor<7x6xi8>) {
  %0 = graph.pack %x {layout = #graph.layout<rows (d0, k)>} : (tensor<7x6xi8>) -> tensor<7x6xi8>
  func.return
}

// -----

// CHECK: a layout of 3 dimensions is not of [5, 18]
func.func @rank(%x: tensor<5x18xi8>) {
  %0 = graph.pack %x {layout = #graph.layout<words ((d0, d1, d2)), tight>} : (tensor<5x18xi8>) -> tensor<90xi8>
  func.return
}

// -----

// CHECK: what puts channels into parts is regroup_channels
func.func @parts(%x: tensor<1x6xi8>) {
  %0 = graph.pack %x {layout = #graph.layout<channels (d0, d1 floordiv 4, d1 mod 4), parts = [3, 3]>} : (tensor<1x6xi8>) -> tensor<1x2x4xi8>
  func.return
}

// -----

// CHECK: [1, 9, 5] in this layout is [1, 3, 5, 4], found [1, 2, 5, 4]
func.func @unpacked(%x: tensor<1x2x5x4xf32>) {
  %0 = graph.unpack %x {layout = #graph.layout<channels (d0, d1 floordiv 4, d2, d1 mod 4)>, shape = array<i64: 1, 9, 5>} : (tensor<1x2x5x4xf32>) -> tensor<1x9x5xf32>
  func.return
}
