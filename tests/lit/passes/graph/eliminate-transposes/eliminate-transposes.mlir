// RUN: aotc-opt %s -p eliminate-transposes,fold-constants,canonicalize --split-input-file | filecheck %s

// A pair cancels through a diamond; the broadcast constant is permuted instead.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[B:%.*]] = graph.constant {{.*}} : tensor<1x2x1x1xf32>
// CHECK-NEXT:    [[A:%.*]] = graph.add %x, [[B]] : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>)
// CHECK-NEXT:    [[S:%.*]] = graph.sigmoid [[A]]
// CHECK-NEXT:    [[M:%.*]] = graph.mul [[A]], [[S]]
// CHECK-NEXT:    func.return [[M]]
func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> attributes {aot.entry} {
  %b = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x2xf32>
  %1 = graph.add %0, %b : (tensor<1x4x4x2xf32>, tensor<2xf32>) -> tensor<1x4x4x2xf32>
  %2 = graph.sigmoid %1 : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  %3 = graph.mul %1, %2 : (tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  %4 = graph.transpose %3 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x4x4x2xf32>) -> tensor<1x2x4x4xf32>
  func.return %4 : tensor<1x2x4x4xf32>
}

// -----

// Two transposed operands cost two transposes, one behind the sum costs one.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[A:%.*]] = graph.add %x, %y
// CHECK-NEXT:    [[T:%.*]] = graph.transpose [[A]]
// CHECK-NEXT:    func.return [[T]]
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<3x2xf32> attributes {aot.entry} {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = graph.transpose %y {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = graph.add %0, %1 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %2 : tensor<3x2xf32>
}

// -----

// It moves fewer bytes behind a quantisation, not behind a dequantisation.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[S:%.*]] = graph.constant
// CHECK-NEXT:    [[T:%.*]] = graph.transpose %q
// CHECK-NEXT:    [[D:%.*]] = graph.dequantize [[T]]
// CHECK-NEXT:    [[Q:%.*]] = graph.quantize %x
// CHECK-NEXT:    [[U:%.*]] = graph.transpose [[Q]]
// CHECK-NEXT:    func.return [[D]], [[U]]
func.func @main(%x: tensor<2x3xf32>, %q: tensor<2x3xi8>) -> (tensor<3x2xf32>, tensor<3x2xi8>) attributes {aot.entry} {
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.transpose %q {permutation = array<i64: 1, 0>} : (tensor<2x3xi8>) -> tensor<3x2xi8>
  %1 = graph.dequantize %0, %s {to = f32} : (tensor<3x2xi8>, tensor<f32>) -> tensor<3x2xf32>
  %2 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %3 = graph.quantize %2, %s {to = i8} : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xi8>
  func.return %1, %3 : tensor<3x2xf32>, tensor<3x2xi8>
}

// -----

// A scale for each row is not the same for each column: quantisation by axis stays below.
// CHECK-LABEL: func.func @main
// CHECK:         [[T:%.*]] = graph.transpose %x
// CHECK-NEXT:    graph.quantize [[T]]
func.func @main(%x: tensor<2x3xf32>, %s: tensor<3xf32>) -> tensor<3x2xi8> attributes {aot.entry} {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = graph.quantize %0, %s {to = i8, axis = 0 : i64} : (tensor<3x2xf32>, tensor<3xf32>) -> tensor<3x2xi8>
  func.return %1 : tensor<3x2xi8>
}

// -----

// Another reader of the transposed value keeps one transpose: two go, one comes.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[N:%.*]] = graph.neg %x
// CHECK-NEXT:    [[B:%.*]] = graph.transpose [[N]]
// CHECK-NEXT:    [[S:%.*]] = graph.softmax [[B]]
// CHECK-NEXT:    func.return [[N]], [[S]]
func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>) attributes {aot.entry} {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = graph.neg %0 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %3 = graph.softmax %1 {axes = array<i64: 1>} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %2, %3 : tensor<2x3xf32>, tensor<3x2xf32>
}

// -----

// As many bytes behind as before: it stays where it is.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[T:%.*]] = graph.transpose %x
// CHECK-NEXT:    [[N:%.*]] = graph.neg [[T]]
// CHECK-NEXT:    graph.softmax [[N]]
func.func @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> attributes {aot.entry} {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = graph.neg %0 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = graph.softmax %1 {axes = array<i64: 1>} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %2 : tensor<3x2xf32>
}

// -----

// An operand of the same size would have to be transposed instead.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[T:%.*]] = graph.transpose %x
// CHECK-NEXT:    graph.add [[T]], %y
func.func @main(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) -> tensor<2x3xf32> attributes {aot.entry} {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = graph.add %0, %y : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = graph.exp %1 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %3 = graph.softmax %2 {axes = array<i64: 1>} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %4 = graph.mul %2, %3 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %5 = graph.transpose %4 {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  func.return %5 : tensor<2x3xf32>
}

// -----

// The second operand's transpose has another reader and would not go: nothing is gained.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[A:%.*]] = graph.transpose %x
// CHECK-NEXT:    [[B:%.*]] = graph.transpose %y
// CHECK-NEXT:    graph.add [[A]], [[B]]
// CHECK-NEXT:    graph.softmax [[B]]
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) attributes {aot.entry} {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = graph.transpose %y {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = graph.add %0, %1 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %3 = graph.softmax %1 {axes = array<i64: 1>} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %2, %3 : tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

// A side operand that is transposed in another way; all axes are of one extent, so only the numbers would differ.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[A:%.*]] = graph.transpose %x {permutation = array<i64: 1, 2, 0>}
// CHECK-NEXT:    [[B:%.*]] = graph.transpose %y {permutation = array<i64: 2, 0, 1>}
// CHECK-NEXT:    graph.add [[A]], [[B]]
func.func @main(%x: tensor<2x2x2xf32>, %y: tensor<2x2x2xf32>) -> tensor<2x2x2xf32> attributes {aot.entry} {
  %0 = graph.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %1 = graph.transpose %y {permutation = array<i64: 2, 0, 1>} : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %2 = graph.add %0, %1 : (tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  func.return %2 : tensor<2x2x2xf32>
}

// -----

// What is transposed the same way twice is not as it was.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[A:%.*]] = graph.transpose %x {permutation = array<i64: 1, 2, 0>}
// CHECK-NEXT:    [[N:%.*]] = graph.neg [[A]]
// CHECK-NEXT:    [[B:%.*]] = graph.transpose [[N]] {permutation = array<i64: 1, 2, 0>}
// CHECK-NEXT:    func.return [[B]]
func.func @main(%x: tensor<2x2x2xf32>) -> tensor<2x2x2xf32> attributes {aot.entry} {
  %0 = graph.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %1 = graph.neg %0 : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 2, 0>} : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  func.return %2 : tensor<2x2x2xf32>
}

// -----

// Two go and two come, as what is computed would be transposed where a constant would not.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    graph.transpose %x
func.func @main(%x: tensor<2x3x4xf32>, %y: tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3x4xf32>) attributes {aot.entry} {
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  %n = graph.exp %y : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  %1 = graph.add %0, %n : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 2, 1>} : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
  func.return %1, %2 : tensor<2x4x3xf32>, tensor<2x3x4xf32>
}

// -----

// A triangle is not that of the transposed matrix.
// CHECK-LABEL: func.func @main
// CHECK:         [[T:%.*]] = graph.transpose %x
// CHECK-NEXT:    [[U:%.*]] = graph.trilu [[T]]
// CHECK-NEXT:    graph.transpose [[U]]
func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32> attributes {aot.entry} {
  %k = graph.constant dense<0> : tensor<i64>
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %1 = graph.trilu %0, %k {upper = true} : (tensor<3x3xf32>, tensor<i64>) -> tensor<3x3xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  func.return %2 : tensor<3x3xf32>
}

// -----

// A larger constant repeats what is transposed: the sum has other axes.
// CHECK-LABEL: func.func @main
// CHECK:         [[T:%.*]] = graph.transpose %x
// CHECK-NEXT:    [[A:%.*]] = graph.add [[T]], %c
// CHECK-NEXT:    graph.cast [[A]]
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3x2xi8> attributes {aot.entry} {
  %c = graph.constant dense<[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]]> : tensor<2x3x2xf32>
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = graph.add %0, %c : (tensor<3x2xf32>, tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
  %2 = graph.cast %1 {to = i8} : (tensor<2x3x2xf32>) -> tensor<2x3x2xi8>
  func.return %2 : tensor<2x3x2xi8>
}

// -----

// A triangle is not that of the transposed matrix, though one operand has its shape and the other is one number.
// CHECK-LABEL: func.func @main
// CHECK:         [[A:%.*]] = graph.transpose %x
// CHECK-NEXT:    [[T:%.*]] = graph.trilu [[A]]
// CHECK-NEXT:    graph.transpose [[T]]
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> attributes {aot.entry} {
  %k = graph.constant dense<0> : tensor<i64>
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = graph.trilu %0, %k {upper = true} : (tensor<3x2xf32>, tensor<i64>) -> tensor<3x2xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}

// -----

// Nor are scales of blocks in the order of the transposed ones, whatever the zero point.
// CHECK-LABEL: func.func @main
// CHECK:         [[A:%.*]] = graph.transpose %x
// CHECK-NEXT:    graph.dequantize [[A]]
func.func @main(%x: tensor<2x3xi8>, %s: tensor<3x1xf32>, %z: tensor<i8>) -> tensor<2x3xf32> attributes {aot.entry} {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xi8>) -> tensor<3x2xi8>
  %1 = graph.dequantize %0, %s, %z {axis = 1 : i64, block_size = 2 : i64, to = f32} : (tensor<3x2xi8>, tensor<3x1xf32>, tensor<i8>) -> tensor<3x2xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}
