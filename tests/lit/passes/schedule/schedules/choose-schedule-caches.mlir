// RUN: aotc-opt %s -p 'attach-target{target="test-avx2@l2=512K"},choose-schedule' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target="test-avx2@l2=4M"},choose-schedule' | filecheck %s --check-prefix=LARGE
// RUN: aotc-opt %s -p 'attach-target{target="test-avx512@l2=128K"},choose-schedule' | filecheck %s --check-prefix=SMALL

// Where L2 holds the operand beside a panel of the weight, panels follow each other without blocks, with whole sums.
// LARGE-NOT: mc =
// LARGE-NOT: kc =

// An operand of 800 KB, which each of many panels reads: blocks of lines of it stay in L2. With a weight that is much
// larger than the operand, which few panels read, reading the operand again costs less than reading the weight again.
// CHECK:     graph.conv %x, %0 {{.*}}order = columns, prefetch, mc = 5>
// CHECK:     graph.conv %y, %1 {{.*}}order = columns
// CHECK-NOT: mc =

// A panel of 4608 steps is narrow in L2: partial sums of fewer steps in wider ones. Not where few steps more fit.
// SMALL:     graph.conv %z, %2 {{.*}}nr = {{[2-9]}}, {{.*}}kc = {{[0-9]+}}>
// SMALL:     graph.matmul %a, %b
// SMALL-NOT: kc =
func.func @main(%x: tensor<1x1024x14x14xf32>, %y: tensor<1x4096x7x7xf32>, %z: tensor<1x512x14x14xf32>, %a: tensor<64x256xf32>, %b: tensor<256x512xf32>) -> (tensor<1x256x14x14xf32>, tensor<1x32x7x7xf32>, tensor<1x512x7x7xf32>, tensor<64x512xf32>) attributes {aot.entry} {
  %0 = graph.constant dense<1.0> : tensor<256x1024x1x1xf32>
  %1 = graph.constant dense<1.0> : tensor<32x4096x1x1xf32>
  %2 = graph.constant dense<1.0> : tensor<512x512x3x3xf32>
  %3 = graph.conv %x, %0 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x1024x14x14xf32>, tensor<256x1024x1x1xf32>) -> tensor<1x256x14x14xf32>
  %4 = graph.conv %y, %1 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x4096x7x7xf32>, tensor<32x4096x1x1xf32>) -> tensor<1x32x7x7xf32>
  %5 = graph.conv %z, %2 {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x512x14x14xf32>, tensor<512x512x3x3xf32>) -> tensor<1x512x7x7xf32>
  %6 = graph.matmul %a, %b : (tensor<64x256xf32>, tensor<256x512xf32>) -> tensor<64x512xf32>
  func.return %3, %4, %5, %6 : tensor<1x256x14x14xf32>, tensor<1x32x7x7xf32>, tensor<1x512x7x7xf32>, tensor<64x512xf32>
}

// Partial sums are stored and read again: two rows have half as many steps in a block, not a third, in wider panels.
// SMALL-LABEL: func.func @rows
// SMALL:         graph.matmul {{.*}}mr = 2, nr = 2, {{.*}}kc = 512>
func.func @rows(%a: tensor<2x1024xf32>, %b: tensor<1024x64xf32>) attributes {aot.entry} {
  %0 = graph.matmul %a, %b : (tensor<2x1024xf32>, tensor<1024x64xf32>) -> tensor<2x64xf32>
  func.return
}
