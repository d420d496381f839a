// RUN: aotc-opt %s -p fold-constants | filecheck %s
// RUN: aotc-opt %s -p 'fold-constants{quantized=false}' | filecheck %s --check-prefix=STORED

// CHECK-LABEL: func.func @main(%s: tensor<f32>)
// CHECK-NEXT:    [[SUM:%.*]] = graph.constant dense<[2.000000e+00, 4.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    [[W:%.*]] = graph.constant dense<1> : tensor<128xi8>
// CHECK-NEXT:    [[D:%.*]] = graph.cast [[W]] {to = f32} : (tensor<128xi8>) -> tensor<128xf32>
// CHECK-NEXT:    [[N:%.*]] = graph.constant dense_resource<constant> : tensor<128xi8>
// CHECK-NEXT:    func.return [[SUM]], [[D]], [[N]]
// STORED-LABEL: func.func @main(%s: tensor<f32>)
// STORED-NEXT:    graph.constant dense<[2.000000e+00, 4.000000e+00]> : tensor<2xf32>
func.func @main(%s: tensor<f32>) -> (tensor<2xf32>, tensor<128xf32>, tensor<128xi8>) attributes {aot.entry} {
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = graph.add %0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // Widening weights would make the model larger; negating them does not.
  %w = graph.constant dense<1> : tensor<128xi8>
  %2 = graph.cast %w {to = f32} : (tensor<128xi8>) -> tensor<128xf32>
  %3 = graph.neg %w : (tensor<128xi8>) -> tensor<128xi8>
  func.return %1, %2, %3 : tensor<2xf32>, tensor<128xf32>, tensor<128xi8>
}

// What packs weights is done at compile time, even from narrow ones.
// CHECK-LABEL: func.func @packed
// CHECK:         [[P:%.*]] = graph.constant dense_resource<{{.*}}> : tensor<2x10x16xf32>
// CHECK-NEXT:    func.return [[P]]
func.func @packed() -> tensor<2x10x16xf32> attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<10x20xi8>
  %0 = graph.cast %w {to = f32} : (tensor<10x20xi8>) -> tensor<10x20xf32>
  %1 = graph.pack %0 {layout = #graph.layout<columns (d1 floordiv 16, d0, d1 mod 16)>} : (tensor<10x20xf32>) -> tensor<2x10x16xf32>
  func.return %1 : tensor<2x10x16xf32>
}

// Small weights are dequantised, but not before something can be computed with the integers that are stored.
// CHECK-LABEL: func.func @quantized
// CHECK-NEXT:    graph.constant dense<[5.000000e-01, -1.000000e+00]> : tensor<2xf32>
// STORED-LABEL: func.func @quantized
// STORED:         graph.dequantize
func.func @quantized() -> tensor<2xf32> attributes {aot.entry} {
  %w = graph.constant dense<[1, -2]> : tensor<2xi8>
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %0 = graph.dequantize %w, %s {axis = 0, block_size = 0, to = f32} : (tensor<2xi8>, tensor<f32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// Two constants are one array, of which one is gone when the other is read.
// CHECK-LABEL: func.func @one_array
// CHECK-NEXT:    [[A:%.*]] = graph.constant dense_resource<constant
// CHECK-NEXT:    [[B:%.*]] = graph.constant dense_resource<constant
// CHECK-NEXT:    func.return [[A]], [[B]]
func.func @one_array() -> (tensor<128xf32>, tensor<128xf32>) attributes {aot.entry} {
  %w = graph.constant dense<3.0> : tensor<128xf32>
  %0 = graph.neg %w : (tensor<128xf32>) -> tensor<128xf32>
  %1 = graph.neg %w : (tensor<128xf32>) -> tensor<128xf32>
  %2 = graph.exp %0 : (tensor<128xf32>) -> tensor<128xf32>
  %3 = graph.abs %1 : (tensor<128xf32>) -> tensor<128xf32>
  func.return %2, %3 : tensor<128xf32>, tensor<128xf32>
}
