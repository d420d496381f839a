// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},fold-tables{most=4096},dce' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},fold-tables{most=4095},dce' | filecheck %s --check-prefix=LARGE
// RUN: aotc-opt %s -p 'attach-target{target=test-m3},fold-tables{most=4096},dce' | filecheck %s --check-prefix=SOFT

// A table of angles of 64 positions and 16 frequencies: one constant, or computed in each call.
// CHECK-LABEL: func.func @angles()
// CHECK-NEXT:    graph.constant dense_resource<{{.*}}> : tensor<64x16xf32>
// CHECK-NEXT:    func.return
// LARGE-LABEL: func.func @angles
// LARGE:         graph.mul
// LARGE-NEXT:    [[C:%.*]] = graph.cos
// LARGE-NEXT:    func.return [[C]]
func.func @angles() -> tensor<64x16xf32> attributes {aot.entry} {
  %positions = graph.constant dense<3> : tensor<64x1xi64>
  %frequencies = graph.constant dense<5.000000e-01> : tensor<16xf32>
  %0 = graph.cast %positions {to = f32} : (tensor<64x1xi64>) -> tensor<64x1xf32>
  %1 = graph.mul %0, %frequencies : (tensor<64x1xf32>, tensor<16xf32>) -> tensor<64x16xf32>
  %2 = graph.cos %1 : (tensor<64x16xf32>) -> tensor<64x16xf32>
  func.return %2 : tensor<64x16xf32>
}

// It may be of constants that do not stand in the IR, and of a matrix product.
// CHECK-LABEL: func.func @halves
// CHECK-NEXT:    [[T:%.*]] = graph.constant dense_resource<{{.*}}> : tensor<16x64xf32>
// CHECK-NEXT:    func.return [[T]]
func.func @halves() -> tensor<16x64xf32> attributes {aot.entry} {
  %half = graph.constant dense<2.5> : tensor<8x64xf32>
  %0 = graph.concat %half, %half {axis = 0} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
  %1 = graph.sin %0 : (tensor<16x64xf32>) -> tensor<16x64xf32>
  func.return %1 : tensor<16x64xf32>
}
// CHECK-LABEL: func.func @product
// CHECK-NEXT:    graph.constant dense_resource<{{.*}}> : tensor<8x100xf32>
// CHECK-NEXT:    func.return
func.func @product() -> tensor<8x100xf32> attributes {aot.entry} {
  %frequencies = graph.constant dense<0.5> : tensor<8x1xf32>
  %positions = graph.constant dense<2.0> : tensor<1x100xf32>
  %0 = graph.matmul %frequencies, %positions : (tensor<8x1xf32>, tensor<1x100xf32>) -> tensor<8x100xf32>
  func.return %0 : tensor<8x100xf32>
}

// What is cheap is computed by what reads it, but where floats are functions.
// CHECK-LABEL: func.func @slopes
// CHECK:         graph.mul
// SOFT-LABEL: func.func @slopes
// SOFT-NEXT:    graph.constant dense_resource<{{.*}}> : tensor<8x100xf32>
// SOFT-NEXT:    func.return
func.func @slopes() -> tensor<8x100xf32> attributes {aot.entry} {
  %slopes = graph.constant dense<0.5> : tensor<8x1xf32>
  %distances = graph.constant dense<2.0> : tensor<100xf32>
  %0 = graph.mul %slopes, %distances : (tensor<8x1xf32>, tensor<100xf32>) -> tensor<8x100xf32>
  func.return %0 : tensor<8x100xf32>
}
// SOFT-LABEL: func.func @mask
// SOFT:         graph.add
func.func @mask() -> tensor<8x100xi32> attributes {aot.entry} {
  %rows = graph.constant dense<1> : tensor<8x1xi32>
  %columns = graph.constant dense<2> : tensor<100xi32>
  %0 = graph.add %rows, %columns : (tensor<8x1xi32>, tensor<100xi32>) -> tensor<8x100xi32>
  func.return %0 : tensor<8x100xi32>
}

// No tables: as many elements as are stored; narrow weights that are repeated; what depends on an input.
// CHECK-LABEL: func.func @stored
// CHECK:         graph.exp
func.func @stored() -> tensor<128xf32> attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<128xi8>
  %0 = graph.cast %w {to = f32} : (tensor<128xi8>) -> tensor<128xf32>
  %1 = graph.exp %0 : (tensor<128xf32>) -> tensor<128xf32>
  func.return %1 : tensor<128xf32>
}
// CHECK-LABEL: func.func @narrow
// CHECK:         graph.exp
// SOFT-LABEL: func.func @narrow
// SOFT:         graph.exp
func.func @narrow() -> tensor<256xf32> attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<128xi8>
  %0 = graph.cast %w {to = f32} : (tensor<128xi8>) -> tensor<128xf32>
  %1 = graph.concat %0, %0 {axis = 0} : (tensor<128xf32>, tensor<128xf32>) -> tensor<256xf32>
  %2 = graph.exp %1 : (tensor<256xf32>) -> tensor<256xf32>
  func.return %2 : tensor<256xf32>
}
// CHECK-LABEL: func.func @given
// CHECK:         graph.cos
func.func @given(%positions: tensor<64x1xf32>) -> tensor<64x16xf32> attributes {aot.entry} {
  %frequencies = graph.constant dense<5.000000e-01> : tensor<16xf32>
  %0 = graph.mul %positions, %frequencies : (tensor<64x1xf32>, tensor<16xf32>) -> tensor<64x16xf32>
  %1 = graph.cos %0 : (tensor<64x16xf32>) -> tensor<64x16xf32>
  func.return %1 : tensor<64x16xf32>
}
