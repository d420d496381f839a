// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},choose-schedule,assign-layouts,dce' --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-m55},center-weights,flip-signs,choose-schedule,assign-layouts,dce' --split-input-file | filecheck %s --check-prefix=QUADS

// Weights of 4 bits: those of two outputs in a byte, half as many bytes as there are weights; also of groups.
// CHECK-LABEL: func.func @main
// CHECK-DAG:   %[[P:.*]] = graph.pack_nibbles %{{.*}} : (tensor<6x1x24xi8>) -> tensor<3x1x24xi8>
// CHECK-DAG:   %[[I:.*]] = graph.pack %[[P]] {layout = #graph.layout<words {{.*}}, tight>} : (tensor<3x1x24xi8>) -> tensor<72xi8>
// CHECK:       graph.channels_last_conv %{{.*}}, %[[I]] {{.*}}outputs = 6 : i64, columns = {{2|4}} : i64, word = 4 : i64, paired = true
// CHECK:       graph.channels_last_conv {{.*}}outputs = 4 : i64, columns = 2 : i64, {{.*}}paired = true{{.*}}} : (tensor<1x160xi8>, tensor<24xi8>)
// CHECK:       graph.interleaved_matmul {{.*}}outputs = 5 : i64, {{.*}}paired = true{{.*}}} : (tensor<3x16xi8>, tensor<48xi8>)
// CHECK:       graph.interleaved_matmul {{.*}}outputs = 2 : i64, {{.*}}paired = true{{.*}}} : (tensor<3x16xi8>, tensor<16xi8>)
// QUADS-LABEL: func.func @main
// QUADS:       graph.channels_last_conv {{.*}}outputs = 6 : i64, columns = 4 : i64, word = 16 : i64, paired = true
// QUADS:       graph.interleaved_matmul {{.*}}word = 16 : i64, paired = true
func.func @main(%x: tensor<1x8x20xi8>, %l: tensor<3x16xi8>) -> (tensor<1x6x18xi32>, tensor<1x4x18xi32>, tensor<3x5xi32>, tensor<3x2xi32>) attributes {aot.entry} {
  %w = graph.constant dense<-8> : tensor<6x8x3xi4>
  %g = graph.constant dense<7> : tensor<4x4x3xi4>
  %m = graph.constant dense<1> : tensor<16x5xi4>
  %n = graph.constant dense<1> : tensor<16x2xi4>
  %0 = graph.conv %x, %w {group = 1 : i64, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, accumulator = i32} : (tensor<1x8x20xi8>, tensor<6x8x3xi4>) -> tensor<1x6x18xi32>
  %1 = graph.conv %x, %g {group = 2 : i64, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, accumulator = i32} : (tensor<1x8x20xi8>, tensor<4x4x3xi4>) -> tensor<1x4x18xi32>
  %2 = graph.matmul %l, %m {accumulator = i32} : (tensor<3x16xi8>, tensor<16x5xi4>) -> tensor<3x5xi32>
  %3 = graph.matmul %l, %n {accumulator = i32} : (tensor<3x16xi8>, tensor<16x2xi4>) -> tensor<3x2xi32>
  func.return %0, %1, %2, %3 : tensor<1x6x18xi32>, tensor<1x4x18xi32>, tensor<3x5xi32>, tensor<3x2xi32>
}

// -----

// Bytes: those of each channel's kernel, of groups with an odd number of outputs, of one output, and with a zero point.
// CHECK-LABEL: func.func @bytes
// CHECK-NOT:   pair
// CHECK:       graph.channels_last_depthwise_conv {{.*}}tensor<3x8xi8>)
// CHECK:       graph.channels_last_conv {{.*}} : (tensor<1x160xi8>, tensor<120xi8>)
// CHECK:       graph.channels_last_conv {{.*}} : (tensor<1x160xi8>, tensor<24xi8>)
// CHECK:       graph.conv {{.*}}w_zero_point = 1
// QUADS-LABEL: func.func @bytes
// QUADS-NOT:   paired
// QUADS:       func.return
func.func @bytes(%x: tensor<1x8x20xi8>) -> (tensor<1x8x18xi32>, tensor<1x10x18xi32>, tensor<1x1x18xi32>, tensor<1x6x18xi32>) attributes {aot.entry} {
  %d = graph.constant dense<3> : tensor<8x1x3xi4>
  %g = graph.constant dense<7> : tensor<10x4x3xi4>
  %o = graph.constant dense<7> : tensor<1x8x3xi4>
  %w = graph.constant dense<-8> : tensor<6x8x3xi4>
  %0 = graph.conv %x, %d {group = 8 : i64, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, accumulator = i32} : (tensor<1x8x20xi8>, tensor<8x1x3xi4>) -> tensor<1x8x18xi32>
  %1 = graph.conv %x, %g {group = 2 : i64, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, accumulator = i32} : (tensor<1x8x20xi8>, tensor<10x4x3xi4>) -> tensor<1x10x18xi32>
  %2 = graph.conv %x, %o {group = 1 : i64, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, accumulator = i32} : (tensor<1x8x20xi8>, tensor<1x8x3xi4>) -> tensor<1x1x18xi32>
  %3 = graph.conv %x, %w {group = 1 : i64, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, accumulator = i32, w_zero_point = 1} : (tensor<1x8x20xi8>, tensor<6x8x3xi4>) -> tensor<1x6x18xi32>
  func.return %0, %1, %2, %3 : tensor<1x8x18xi32>, tensor<1x10x18xi32>, tensor<1x1x18xi32>, tensor<1x6x18xi32>
}

// -----

// 16 times a sum of 16 bits times 4 bits leaves an i32 from 256 products on.
// CHECK-LABEL: func.func @long
// CHECK:       graph.interleaved_matmul {{.*}}paired = true{{.*}}} : (tensor<1x255xi16>
// CHECK-NOT:   paired
// CHECK:       func.return
func.func @long(%x: tensor<1x255xi16>, %y: tensor<1x256xi16>) -> (tensor<1x4xi32>, tensor<1x4xi32>) attributes {aot.entry} {
  %v = graph.constant dense<-8> : tensor<255x4xi4>
  %w = graph.constant dense<-8> : tensor<256x4xi4>
  %0 = graph.matmul %x, %v {accumulator = i32} : (tensor<1x255xi16>, tensor<255x4xi4>) -> tensor<1x4xi32>
  %1 = graph.matmul %y, %w {accumulator = i32} : (tensor<1x256xi16>, tensor<256x4xi4>) -> tensor<1x4xi32>
  func.return %0, %1 : tensor<1x4xi32>, tensor<1x4xi32>
}
