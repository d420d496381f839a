// RUN: aotc-opt %s -p raise-quantization,dce --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'raise-quantization{means=true},dce' --split-input-file | filecheck %s --check-prefix=MEANS
// RUN: aotc-opt %s -p 'raise-quantization{means=true averages=true},dce' --split-input-file | filecheck %s --check-prefix=AVERAGES

// Means: of a channel, and of windows whose mean is never half of an integer, with multipliers 1 / 4 and 1 / 9.
// CHECK-LABEL: func.func @means
// CHECK:      %[[C:.*]] = graph.cast %x {to = i32}
// CHECK-NEXT: %[[S:.*]] = graph.reduce %[[C]] {kind = "sum"
// CHECK-NEXT: %[[Z:.*]] = graph.add %[[S]]
// CHECK-NEXT: graph.requantize %[[Z]]
// CHECK:      %[[P:.*]] = graph.sum_pool %x {{{.*}}x_zero_point = 3 : i64} : (tensor<1x2x3x3xi8>) -> tensor<1x2x1x1xi32>
// CHECK-NEXT: graph.requantize %[[P]]
// CHECK:      graph.average_pool {{.*}}f32>
// CHECK:      graph.average_pool {{.*}}f32>
// CHECK:      graph.reduce {{.*}}f32>
// Where all means are wanted as sums, those of windows at borders have multipliers of their own: 1 / 4, 1 / 6, 1 / 9.
// MEANS-LABEL: func.func @means
// MEANS-DAG:   %[[M:.*]] = graph.constant dense<{{\[\[\[\[}}2.500000e-01, 0.166666672, 2.500000e-01], [0.166666672, 0.111111112, 0.166666672], [2.500000e-01, 0.166666672, 2.500000e-01]]]]> : tensor<1x1x3x3xf32>
// MEANS-NOT:   graph.average_pool
// MEANS:       %[[B:.*]] = graph.sum_pool %x {{{.*}}pads = array<i64: 1, 1, 1, 1>
// MEANS-NEXT:  graph.requantize %[[B]], %[[M]]
// MEANS-NOT:   kind = "mean"
// MEANS:       func.return
// In fixed point, where a mean may be near the middle, windows have factors and middles by their count.
// AVERAGES-LABEL: func.func @means
// AVERAGES:       graph.sum_pool
// AVERAGES-NEXT:  graph.requantize
// AVERAGES-NEXT:  graph.fixed_average_pool %x, %{{.*}}, %{{.*}} {{{.*}}counts = array<i64: 4>{{.*}}} : (tensor<1x2x3x3xi8>, tensor<1xi32>, tensor<1x255xi32>) -> tensor<1x2x2x2xi8>
// AVERAGES-NEXT:  graph.fixed_average_pool %x, %{{.*}}, %{{.*}} {{{.*}}counts = array<i64: 4, 6, 9>{{.*}}} : (tensor<1x2x3x3xi8>, tensor<3xi32>, tensor<3x255xi32>) -> tensor<1x2x3x3xi8>
func.func @means(%x: tensor<1x2x3x3xi8>) -> (tensor<1x2x1x1xi8>, tensor<1x2x1x1xi8>, tensor<1x2x2x2xi8>, tensor<1x2x3x3xi8>, tensor<1x2x3x1xi8>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x2x3x3xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x3x3xf32>
  %g = graph.reduce %xf {kind = "mean", axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x2x3x3xf32>) -> tensor<1x2x1x1xf32>
  %gq = graph.quantize %g, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2x1x1xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x1x1xi8>
  %p = graph.average_pool %xf {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x2x3x3xf32>) -> tensor<1x2x1x1xf32>
  %pq = graph.quantize %p, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2x1x1xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x1x1xi8>
  %h = graph.average_pool %xf {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x2x3x3xf32>) -> tensor<1x2x2x2xf32>
  %hq = graph.quantize %h, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x2x2xi8>
  %e = graph.average_pool %xf {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %eq = graph.quantize %e, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2x3x3xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x3x3xi8>
  %two = graph.slice %xf {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>, shape = array<i64: 1, 2, 3, 2>} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x2xf32>
  %m = graph.reduce %two {kind = "mean", axes = array<i64: 3>, keepdims = true} : (tensor<1x2x3x2xf32>) -> tensor<1x2x3x1xf32>
  %mq = graph.quantize %m, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2x3x1xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x3x1xi8>
  func.return %gq, %pq, %hq, %eq, %mq : tensor<1x2x1x1xi8>, tensor<1x2x1x1xi8>, tensor<1x2x2x2xi8>, tensor<1x2x3x3xi8>, tensor<1x2x3x1xi8>
}
