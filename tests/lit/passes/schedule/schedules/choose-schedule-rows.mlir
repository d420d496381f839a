// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule' | filecheck %s

// Rows that fit 32 registers stay in them: several at once, in two stages where they are short, or the steps of one, or
// neighbours in the lanes. Others are read again: registers and steps for eight sums.
// CHECK-LABEL: func.func @main
// CHECK:       graph.softmax %a {{.*}}<lanes = 16, registers = 4, steps = 1, rows = 4, stages = 2>
// CHECK:       graph.softmax %b {{.*}}<lanes = 16, registers = 32, steps = 1, rows = 1, stages = 4>
// CHECK:       graph.softmax %c {{.*}}<lanes = 16, registers = 7, steps = 1
// CHECK:       graph.softmax %d {{.*}}<lanes = 16, registers = 4, steps = 8
// CHECK:       graph.softmax %e {{.*}}<lanes = 16, registers = 4, steps = 2
// CHECK:       graph.softmax %f {{.*}}<lanes = 16, registers = 1, steps = 32
// CHECK:       graph.softmax %g {{.*}}<lanes = 16, registers = 4, steps = 2
// CHECK:       graph.softmax %h {{.*}}<lanes = 16, registers = 4, steps = 2
// Axes of one element hold neither lanes nor steps; one element, and rows along no axis, are no rows.
// CHECK:       graph.softmax %i {{.*}}<lanes = 16, registers = 4, steps = 1, rows = 4, stages = 2>
// CHECK:       graph.softmax %j {{.*}}<lanes = 16, registers = 4, steps = 4
// CHECK:       graph.softmax %k {axes = array<i64: 1>, log = false} :
// CHECK:       graph.softmax %a {axes = array<i64>, log = false} :
func.func @main(%a: tensor<8x64xf32>, %b: tensor<8x512xf32>, %c: tensor<8x513xf32>, %d: tensor<8x64xf32>, %e: tensor<9x64xf32>, %f: tensor<32x64xf32>, %g: tensor<33x64xf32>, %h: tensor<2x4x64xf32>, %i: tensor<8x64x1xf32>, %j: tensor<4x1x64xf32>, %k: tensor<1x1xf32>) attributes {aot.entry} {
  %0 = graph.softmax %a {axes = array<i64: 1>} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = graph.softmax %b {axes = array<i64: 1>} : (tensor<8x512xf32>) -> tensor<8x512xf32>
  %2 = graph.softmax %c {axes = array<i64: 1>} : (tensor<8x513xf32>) -> tensor<8x513xf32>
  %3 = graph.softmax %d {axes = array<i64: 0, 1>} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %4 = graph.softmax %e {axes = array<i64: 0, 1>} : (tensor<9x64xf32>) -> tensor<9x64xf32>
  %5 = graph.softmax %f {axes = array<i64: 0>} : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %6 = graph.softmax %g {axes = array<i64: 0>} : (tensor<33x64xf32>) -> tensor<33x64xf32>
  %7 = graph.softmax %h {axes = array<i64: 0, 1, 2>} : (tensor<2x4x64xf32>) -> tensor<2x4x64xf32>
  %8 = graph.softmax %i {axes = array<i64: 1>} : (tensor<8x64x1xf32>) -> tensor<8x64x1xf32>
  %9 = graph.softmax %j {axes = array<i64: 0, 1, 2>} : (tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  %10 = graph.softmax %k {axes = array<i64: 1>} : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %11 = graph.softmax %a {axes = array<i64>} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  func.return
}
