// RUN: aotc-opt %s -p fold-constants | filecheck %s

// Of a module's attributes texts may name constants; others do not.
// CHECK:      builtin.module attributes {aot.threads = 2 : i64, test.mark} {
// CHECK-NEXT:   func.func @main() -> tensor<2xf32>
// CHECK-NEXT:     graph.constant dense<[2.000000e+00, 4.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:     func.return
builtin.module attributes {aot.threads = 2 : i64, test.mark} {
  func.func @main() -> tensor<2xf32> attributes {aot.entry} {
    %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %1 = graph.add %0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    func.return %1 : tensor<2xf32>
  }
}
