// RUN: aotc-opt %s -p drop-idle-preemphasis | filecheck %s

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<160xf32>) -> (tensor<160xf32>, tensor<160xf32>) {
  // CHECK-NOT: coefficient = 0.000000e+00
  %0 = signal.preemphasis %x {coefficient = 0.0 : f64} : (tensor<160xf32>) -> tensor<160xf32>
  // CHECK: %[[KEPT:.*]] = signal.preemphasis %x {coefficient = 9.700000e-01 : f64}
  %1 = signal.preemphasis %x {coefficient = 0.97 : f64} : (tensor<160xf32>) -> tensor<160xf32>
  // CHECK: func.return %x, %[[KEPT]]
  func.return %0, %1 : tensor<160xf32>, tensor<160xf32>
}
