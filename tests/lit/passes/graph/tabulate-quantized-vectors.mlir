// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},tabulate-quantized{vectors=true},dce' | filecheck %s --check-prefixes=CHECK,WIDE
// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},tabulate-quantized{vectors=true},dce' | filecheck %s --check-prefixes=CHECK,AVX2
// RUN: aotc-opt %s -p 'attach-target{target=test-neon},tabulate-quantized{vectors=true},dce' | filecheck %s --check-prefixes=CHECK,NEON
// RUN: aotc-opt %s -p 'attach-target{target=test-sse2},tabulate-quantized{vectors=true},dce' | filecheck %s --check-prefix=NONE
// RUN: aotc-opt %s -p 'attach-target{target=test-rvv},tabulate-quantized{vectors=true},dce' | filecheck %s --check-prefix=NONE

// In registers as the machine has them; where nothing permutes bytes, functions stay what they are.
// NONE-NOT:  graph.lookup
// WIDE:      graph.lookup %x, %{{.*}} {width = 64 : i64, row = 64 : i64}
// AVX2:      graph.lookup %x, %{{.*}} {width = 32 : i64, row = 16 : i64}
// NEON:      graph.lookup %x, %{{.*}} {width = 16 : i64, row = 16 : i64}

// Another scale is no function that takes longer than 16 rows do.
// WIDE:      graph.lookup %x, %{{.*}} {width = 64 : i64, row = 64 : i64}

// What is quantised to 16 bits has no table in registers.
// CHECK-NOT: graph.lookup
// CHECK:     func.return
func.func @main(%x: tensor<1x4xi8>) -> (tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi16>) attributes {aot.entry} {
  %s = graph.constant dense<1.250000e-01> : tensor<f32>
  %f = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %g = graph.sigmoid %f : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %q = graph.quantize %g, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %r = graph.quantize %g, %s {axis = 1, block_size = 0, to = i16} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi16>
  %t = graph.constant dense<2.000000e-01> : tensor<f32>
  %p = graph.quantize %f, %t {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  func.return %q, %p, %r : tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi16>
}
