// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-schedule,assign-layouts,fold-constants,cse,dce' | filecheck %s

// Words, scales and zero points in panels of as many columns as three registers have. One zero point is an attribute.
// CHECK-LABEL: func.func @blocks
// CHECK-DAG:   [[W:%.*]] = graph.constant {{.*}} : tensor<2x8x24xi32>
// CHECK-DAG:   [[S:%.*]] = graph.constant {{.*}} : tensor<2x4x24xf32>
// CHECK-DAG:   [[Z:%.*]] = graph.constant {{.*}} : tensor<2x4x24xui8>
// CHECK:       graph.few_bits_matmul %x, [[W]], [[S]], [[Z]] {columns = 40 : i64, bits = 4 : i64, block = 16 : i64, point = 0.000000e+00 : f64, to = f32, schedule =
// CHECK:       graph.few_bits_matmul %x, [[W]], [[S]] {columns = 40 : i64, bits = 4 : i64, block = 16 : i64, point = 8.000000e+00 : f64, to = f32, schedule =
func.func @blocks(%x: tensor<1x64xf32>) -> (tensor<1x40xf32>, tensor<1x40xf32>) attributes {aot.entry} {
  %b = graph.constant dense<17> : tensor<40x32xui8>
  %s = graph.constant dense<0.5> : tensor<40x4xf32>
  %z = graph.constant dense<7> : tensor<40x4xui8>
  %p = graph.constant dense<8> : tensor<ui8>
  %0 = graph.unpack_bits %b {bits = 4 : i64} : (tensor<40x32xui8>) -> tensor<40x64xui8>
  %1 = graph.dequantize %0, %s, %z {axis = 1 : i64, block_size = 16 : i64, to = f32} : (tensor<40x64xui8>, tensor<40x4xf32>, tensor<40x4xui8>) -> tensor<40x64xf32>
  %2 = graph.dequantize %0, %s, %p {axis = 1 : i64, block_size = 16 : i64, to = f32} : (tensor<40x64xui8>, tensor<40x4xf32>, tensor<ui8>) -> tensor<40x64xf32>
  %3 = graph.matmul %x, %1 {transpose_rhs = true} : (tensor<1x64xf32>, tensor<40x64xf32>) -> tensor<1x40xf32>
  %4 = graph.matmul %x, %2 {transpose_rhs = true} : (tensor<1x64xf32>, tensor<40x64xf32>) -> tensor<1x40xf32>
  func.return %3, %4 : tensor<1x40xf32>, tensor<1x40xf32>
}

// Signed integers are stored from 0 on, so their zero point is 8 more; a scale of a column is one of a block of all.
// Many rows have a buffer for a panel.
// CHECK-LABEL: func.func @columns
// CHECK:       %{{.*}}, %{{.*}} = graph.few_bits_matmul %x, %{{.*}}, %{{.*}} {columns = 40 : i64, bits = 4 : i64, block = 64 : i64, point = 9.000000e+00 : f64, to = f32, kc = 64 : i64, schedule = {{.*}} tensor<{{.*}}x1x{{.*}}xf32>) -> (tensor<30x40xf32>, tensor<64x{{.*}}xf32>)
// CHECK:       graph.few_bits_matmul %y, %{{.*}}, %{{.*}}, %{{.*}} {columns = 40 : i64, bits = 4 : i64, block = 64 : i64, point = 8.000000e+00 : f64, {{.*}} tensor<2x1x24xi8>)
func.func @columns(%x: tensor<30x64xf32>, %y: tensor<1x64xf32>) -> (tensor<30x40xf32>, tensor<1x40xf32>) attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x40xi4>
  %s = graph.constant dense<0.5> : tensor<f32>
  %t = graph.constant dense<0.5> : tensor<40xf32>
  %p = graph.constant dense<1> : tensor<i4>
  %z = graph.constant dense<2> : tensor<40xi4>
  %0 = graph.dequantize %w, %s, %p {axis = 0 : i64, block_size = 0 : i64, to = f32} : (tensor<64x40xi4>, tensor<f32>, tensor<i4>) -> tensor<64x40xf32>
  %1 = graph.dequantize %w, %t, %z {axis = 1 : i64, block_size = 0 : i64, to = f32} : (tensor<64x40xi4>, tensor<40xf32>, tensor<40xi4>) -> tensor<64x40xf32>
  %2 = graph.matmul %x, %0 : (tensor<30x64xf32>, tensor<64x40xf32>) -> tensor<30x40xf32>
  %3 = graph.matmul %y, %1 : (tensor<1x64xf32>, tensor<64x40xf32>) -> tensor<1x40xf32>
  func.return %2, %3 : tensor<30x40xf32>, tensor<1x40xf32>
}
