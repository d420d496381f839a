// RUN: aotc-opt %s -p 'attach-target{target=test-vnni},choose-algorithms' | filecheck %s

// Filters of many channels do not stay in L2 from where they are transformed to where they are multiplied, which is not
// worth it where each is multiplied with few positions.
// CHECK-LABEL: func.func @filters
// CHECK:       graph.conv %x, %{{.*}}sum_bits = 26 : i64} :
// CHECK:       graph.conv %y, %{{.*}}sum_bits = 26 : i64} :
// CHECK:       graph.conv %z, %{{.*}}algorithm = #graph.winograd<output_tile = 4,
func.func @filters(%x: tensor<1x512x14x14xui8>, %y: tensor<1x256x14x14xui8>, %z: tensor<1x256x28x28xui8>) attributes {aot.entry} {
  %0 = graph.constant dense<1> : tensor<512x512x3x3xi8>
  %1 = graph.constant dense<1> : tensor<256x256x3x3xi8>
  %2 = graph.conv %x, %0 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, sum_bits = 26 : i64} : (tensor<1x512x14x14xui8>, tensor<512x512x3x3xi8>) -> tensor<1x512x14x14xi32>
  %3 = graph.conv %y, %1 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, sum_bits = 26 : i64} : (tensor<1x256x14x14xui8>, tensor<256x256x3x3xi8>) -> tensor<1x256x14x14xi32>
  %4 = graph.conv %z, %1 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, sum_bits = 26 : i64} : (tensor<1x256x28x28xui8>, tensor<256x256x3x3xi8>) -> tensor<1x256x28x28xi32>
  func.return
}
