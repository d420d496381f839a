// RUN: aotc-opt %s -p 'attach-target{target=cortex-m4f},choose-schedule' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=cortex-m4},choose-schedule' | filecheck %s --check-prefix=SOFT

// Of one output samples are loaded once for several positions; of four outputs it is cheaper to share samples among
// these. Without an FPU neither is asked.
// CHECK-LABEL: func.func @filter
// CHECK: graph.conv %x, %w {{.*}} schedule = #signal.fir_schedule<lanes = 1, positions = 4, taps = 4>
// CHECK: graph.conv %x, %v {{.*}} schedule = #graph.sums_schedule<lanes = 1, positions = {{.*}}
// SOFT-LABEL: func.func @filter
// SOFT-NOT: schedule =
func.func @filter(%x: tensor<1x1x160xf32>) -> (tensor<1x1x145xf32>, tensor<1x4x145xf32>) {
  %w = graph.constant dense<1.0> : tensor<1x1x16xf32>
  %v = graph.constant dense<1.0> : tensor<4x1x16xf32>
  %0 = graph.conv %x, %w {group = 1 : i64, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x160xf32>, tensor<1x1x16xf32>) -> tensor<1x1x145xf32>
  %1 = graph.conv %x, %v {group = 1 : i64, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x160xf32>, tensor<4x1x16xf32>) -> tensor<1x4x145xf32>
  func.return %0, %1 : tensor<1x1x145xf32>, tensor<1x4x145xf32>
}
