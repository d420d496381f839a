// RUN: aotc-opt %s -p tabulate-quantized | filecheck %s

// What nothing reads takes no table, nor do floats of 8 bits.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.lookup
// CHECK:         graph.quantize %{{.*}} -> tensor<1x4xi8>
// CHECK-NOT:     graph.lookup
// CHECK:         %[[Q:.*]] = graph.quantize %{{.*}} -> tensor<1x4xf8E4M3FN>
// CHECK-NEXT:    func.return %[[Q]]
func.func @main(%x: tensor<1x4xi8>) -> tensor<1x4xf8E4M3FN> attributes {aot.entry} {
  %s = graph.constant dense<1.250000e-01> : tensor<f32>
  %f = graph.dequantize %x, %s {to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %g = graph.sigmoid %f : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %unused = graph.quantize %g, %s {to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q = graph.quantize %g, %s {to = f8E4M3FN} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xf8E4M3FN>
  func.return %q : tensor<1x4xf8E4M3FN>
}
