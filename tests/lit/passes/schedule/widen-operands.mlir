// RUN: aotc-opt %s --split-input-file -p 'attach-target{target=test-avx512},choose-algorithms,choose-schedule,widen-operands' | filecheck %s
// RUN: aotc-opt %s --split-input-file -p 'attach-target{target=test-m4},choose-schedule,widen-operands' | filecheck %s --check-prefix=SCALAR

// Without vectors nothing is widened.
// SCALAR-NOT: graph.cast

// Movement that only products read moves widened elements; the weight stays narrow, and so does the result.
// CHECK-LABEL: func.func @moved
// CHECK-NEXT:  [[R:%.*]] = graph.relu %x : (tensor<4x32xf16>) -> tensor<4x32xf16>
// CHECK-NEXT:  [[C:%.*]] = graph.cast [[R]] {to = f32} : (tensor<4x32xf16>) -> tensor<4x32xf32>
// CHECK-NEXT:  [[M:%.*]] = graph.reshape [[C]] {shape = array<i64: 8, 16>} : (tensor<4x32xf32>) -> tensor<8x16xf32>
// CHECK-NEXT:  graph.matmul [[M]], %w {{.*}} : (tensor<8x16xf32>, tensor<16x64xf16>) -> tensor<8x64xf16>
// CHECK-NEXT:  graph.matmul [[M]], %v {{.*}} : (tensor<8x16xf32>, tensor<16x64xf16>) -> tensor<8x64xf16>
// CHECK-NEXT:  func.return
func.func @moved(%x: tensor<4x32xf16>, %w: tensor<16x64xf16>, %v: tensor<16x64xf16>) -> (tensor<8x64xf16>, tensor<8x64xf16>) attributes {aot.entry} {
  %0 = graph.relu %x : (tensor<4x32xf16>) -> tensor<4x32xf16>
  %1 = graph.reshape %0 {shape = array<i64: 8, 16>} : (tensor<4x32xf16>) -> tensor<8x16xf16>
  %2 = graph.matmul %1, %w : (tensor<8x16xf16>, tensor<16x64xf16>) -> tensor<8x64xf16>
  %3 = graph.matmul %1, %v : (tensor<8x16xf16>, tensor<16x64xf16>) -> tensor<8x64xf16>
  func.return %2, %3 : tensor<8x64xf16>, tensor<8x64xf16>
}

// -----

// What others read, too, is moved as it is, and so is what indices choose.
// CHECK-LABEL: func.func @read_by_others
// CHECK:       [[R:%.*]] = graph.reshape %x {{.*}} -> tensor<8x16xbf16>
// CHECK-NEXT:  [[C:%.*]] = graph.cast [[R]] {to = f32}
// CHECK-NEXT:  [[G:%.*]] = graph.gather %x, %i {{.*}} -> tensor<8x32xbf16>
// CHECK-NEXT:  [[D:%.*]] = graph.cast [[G]] {to = f32}
// CHECK-NEXT:  graph.relu [[R]]
// CHECK-NEXT:  graph.matmul [[C]], %w
// CHECK-NEXT:  graph.matmul [[D]], %v
func.func @read_by_others(%x: tensor<4x32xbf16>, %i: tensor<8xi64>, %w: tensor<16x64xbf16>, %v: tensor<32x64xbf16>) -> (tensor<8x16xbf16>, tensor<8x64xbf16>, tensor<8x64xbf16>) attributes {aot.entry} {
  %0 = graph.reshape %x {shape = array<i64: 8, 16>} : (tensor<4x32xbf16>) -> tensor<8x16xbf16>
  %g = graph.gather %x, %i {axis = 0 : i64} : (tensor<4x32xbf16>, tensor<8xi64>) -> tensor<8x32xbf16>
  %1 = graph.relu %0 : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
  %2 = graph.matmul %0, %w : (tensor<8x16xbf16>, tensor<16x64xbf16>) -> tensor<8x64xbf16>
  %3 = graph.matmul %g, %v : (tensor<8x32xbf16>, tensor<32x64xbf16>) -> tensor<8x64xbf16>
  func.return %1, %2, %3 : tensor<8x16xbf16>, tensor<8x64xbf16>, tensor<8x64xbf16>
}

// -----

// Movement behind movement; what something else moves, or has as a weight, or reads along the lanes stays narrow.
// CHECK-LABEL: func.func @behind
// CHECK-NEXT:  [[C:%.*]] = graph.cast %x {to = f32} : (tensor<4x32xf16>) -> tensor<4x32xf32>
// CHECK-NEXT:  [[T:%.*]] = graph.transpose [[C]]
// CHECK-NEXT:  [[R:%.*]] = graph.reshape [[T]]
// CHECK-NEXT:  graph.matmul [[R]], %w
func.func @behind(%x: tensor<4x32xf16>, %w: tensor<16x64xf16>) -> tensor<8x64xf16> attributes {aot.entry} {
  %t = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x32xf16>) -> tensor<32x4xf16>
  %r = graph.reshape %t {shape = array<i64: 8, 16>} : (tensor<32x4xf16>) -> tensor<8x16xf16>
  %0 = graph.matmul %r, %w : (tensor<8x16xf16>, tensor<16x64xf16>) -> tensor<8x64xf16>
  func.return %0 : tensor<8x64xf16>
}
// CHECK-LABEL: func.func @beside_others
// CHECK-NEXT:  [[T:%.*]] = graph.transpose %x {{.*}} -> tensor<16x16xf16>
// CHECK-NEXT:  [[C:%.*]] = graph.cast [[T]]
// CHECK-NEXT:  [[R:%.*]] = graph.reshape [[C]] {{.*}} -> tensor<8x32xf32>
// CHECK-NEXT:  [[S:%.*]] = graph.reshape [[T]] {{.*}} -> tensor<4x64xf16>
// CHECK-NEXT:  graph.matmul [[R]], %w
// CHECK-NEXT:  graph.relu [[S]]
func.func @beside_others(%x: tensor<16x16xf16>, %w: tensor<32x64xf16>) -> (tensor<8x64xf16>, tensor<4x64xf16>) attributes {aot.entry} {
  %t = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<16x16xf16>) -> tensor<16x16xf16>
  %r = graph.reshape %t {shape = array<i64: 8, 32>} : (tensor<16x16xf16>) -> tensor<8x32xf16>
  %s = graph.reshape %t {shape = array<i64: 4, 64>} : (tensor<16x16xf16>) -> tensor<4x64xf16>
  %0 = graph.matmul %r, %w : (tensor<8x32xf16>, tensor<32x64xf16>) -> tensor<8x64xf16>
  %1 = graph.relu %s : (tensor<4x64xf16>) -> tensor<4x64xf16>
  func.return %0, %1 : tensor<8x64xf16>, tensor<4x64xf16>
}
// CHECK-LABEL: func.func @weight
// CHECK-NEXT:  [[C:%.*]] = graph.cast %x
// CHECK-NEXT:  [[T:%.*]] = graph.transpose %x {{.*}} -> tensor<64x64xf16>
// CHECK-NEXT:  [[D:%.*]] = graph.cast [[T]]
// CHECK-NEXT:  graph.matmul [[D]], [[T]]
// CHECK-NEXT:  graph.softmax %x {{.*}} : (tensor<64x64xf16>)
// CHECK-NEXT:  graph.matmul [[C]], [[T]]
func.func @weight(%x: tensor<64x64xf16>) -> (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>) attributes {aot.entry} {
  %t = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<64x64xf16>) -> tensor<64x64xf16>
  %0 = graph.matmul %t, %t : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %1 = graph.softmax %x {axes = array<i64: 1>} : (tensor<64x64xf16>) -> tensor<64x64xf16>
  %2 = graph.matmul %x, %t : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  func.return %0, %1, %2 : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>
}

// -----

// A depthwise convolution, whose lanes hold channels, and f32 stay as they are.
// CHECK-LABEL: func.func @along_lanes
// CHECK-NOT:   graph.cast
// CHECK:       func.return
func.func @along_lanes(%x: tensor<1x32x9x9xf16>, %w: tensor<32x1x3x3xf16>, %a: tensor<8x16xf32>, %b: tensor<16x64xf32>) -> (tensor<1x32x7x7xf16>, tensor<8x64xf32>) attributes {aot.entry} {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 32 : i64} : (tensor<1x32x9x9xf16>, tensor<32x1x3x3xf16>) -> tensor<1x32x7x7xf16>
  %1 = graph.matmul %a, %b : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  func.return %0, %1 : tensor<1x32x7x7xf16>, tensor<8x64xf32>
}

// -----

// Winograd's transforms read along the lanes: alone they take narrow elements, beside a direct convolution the widened
// ones that are there.
// CHECK-LABEL: func.func @beside
// CHECK:       [[C:%.*]] = graph.cast %x {to = f32}
// CHECK:       graph.conv [[C]], {{.*}}winograd{{.*}} : (tensor<1x64x28x28xf32>, tensor<64x64x3x3xf16>) -> tensor<1x64x28x28xf16>
// CHECK:       graph.conv [[C]], {{.*}} : (tensor<1x64x28x28xf32>, tensor<64x64x1x1xf16>) -> tensor<1x64x28x28xf16>
// CHECK:       graph.conv %y, {{.*}}winograd
func.func @beside(%x: tensor<1x64x28x28xf16>, %y: tensor<1x64x28x28xf16>) -> (tensor<1x64x28x28xf16>, tensor<1x64x28x28xf16>, tensor<1x64x28x28xf16>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<64x64x3x3xf16>
  %v = graph.constant dense<1.0> : tensor<64x64x1x1xf16>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x64x28x28xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x28x28xf16>
  %1 = graph.conv %x, %v {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x64x28x28xf16>, tensor<64x64x1x1xf16>) -> tensor<1x64x28x28xf16>
  %2 = graph.conv %y, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x64x28x28xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x28x28xf16>
  func.return %0, %1, %2 : tensor<1x64x28x28xf16>, tensor<1x64x28x28xf16>, tensor<1x64x28x28xf16>
}
