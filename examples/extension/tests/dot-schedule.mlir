// RUN: aotc-opt %s | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v4},choose-schedule' | filecheck %s --check-prefix=CHOSEN

// CHECK-LABEL: func.func @given
// CHOSEN-LABEL: func.func @given
func.func @given(%x: tensor<4x512xf32>, %w: tensor<512x1xf32>) -> tensor<4x1xf32> {
  // CHECK: schedule = #signal.dot_schedule<lanes = 8, sums = 2>
  // CHOSEN: schedule = #signal.dot_schedule<lanes = 8, sums = 2>
  %0 = graph.matmul %x, %w {schedule = #signal.dot_schedule<lanes = 8, sums = 2>} : (tensor<4x512xf32>, tensor<512x1xf32>) -> tensor<4x1xf32>
  func.return %0 : tensor<4x1xf32>
}

// CHOSEN-LABEL: func.func @long
func.func @long(%x: tensor<4x512xf32>, %w: tensor<512x1xf32>) -> tensor<4x1xf32> {
  // CHOSEN: schedule = #signal.dot_schedule<lanes = 16, sums = 4>
  %0 = graph.matmul %x, %w : (tensor<4x512xf32>, tensor<512x1xf32>) -> tensor<4x1xf32>
  func.return %0 : tensor<4x1xf32>
}

// CHOSEN-LABEL: func.func @columns
func.func @columns(%x: tensor<4x512xf32>, %w: tensor<512x2xf32>) -> tensor<4x2xf32> {
  // CHOSEN: schedule = #graph.matmul_schedule
  %0 = graph.matmul %x, %w : (tensor<4x512xf32>, tensor<512x2xf32>) -> tensor<4x2xf32>
  func.return %0 : tensor<4x2xf32>
}
