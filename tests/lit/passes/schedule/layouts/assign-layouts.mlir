// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},assign-layouts' --split-input-file | filecheck %s

// One chain on blocks: nothing is packed but weights, nothing is unpacked but the result. Few channels are read where
// they lie; what broadcasts is packed like what it meets; both operands of the sum are blocks.

// CHECK-LABEL: func.func @chain
// CHECK:         [[W:%.*]] = graph.pack %w {layout = #graph.layout<conv_weight (d0 floordiv 32, d1 floordiv 3, {{[^)]*}}, d1 mod 3, d0 mod 32)>}
// CHECK:         [[B:%.*]] = graph.reshape {{.*}} -> tensor<32xf32>
// CHECK:         [[C:%.*]] = graph.blocked_conv %x, [[W]], [[B]] {{{.*}}block = 16 : i64, schedule = #graph.matmul_schedule<lanes = 16, mr = 8, nr = 2, unroll = 4, order = rows>} : {{.*}} -> tensor<1x2x8x8x16xf32>
// CHECK-NEXT:    [[R:%.*]] = graph.relu [[C]] : (tensor<1x2x8x8x16xf32>) -> tensor<1x2x8x8x16xf32>
// CHECK-NEXT:    [[S:%.*]] = graph.reshape %s {shape = array<i64: 1, 32, 1, 1>}
// CHECK-NEXT:    [[P:%.*]] = graph.pack [[S]] {layout = #graph.layout<channels (d0, d1 floordiv 16, d2, d3, d1 mod 16)>} : (tensor<1x32x1x1xf32>) -> tensor<1x2x1x1x16xf32>
// CHECK-NEXT:    [[M:%.*]] = graph.mul [[R]], [[P]]
// CHECK-NEXT:    [[A:%.*]] = graph.add [[M]], [[R]] : (tensor<1x2x8x8x16xf32>, tensor<1x2x8x8x16xf32>)
// CHECK-NEXT:    [[U:%.*]] = graph.unpack [[A]] {layout = #graph.layout<channels {{[^>]*}}>, shape = array<i64: {{[0-9]+}}, 32{{(, [0-9]+)*}}>}
// CHECK-NEXT:    func.return [[U]]
func.func @chain(%x: tensor<1x3x8x8xf32>) -> tensor<1x32x8x8xf32> attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<32x3x3x3xf32>
  %b = graph.constant dense<1.0> : tensor<32xf32>
  %s = graph.constant dense<2.0> : tensor<32x1x1xf32>
  %0 = graph.conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 8, nr = 2, unroll = 4, order = rows>} : (tensor<1x3x8x8xf32>, tensor<32x3x3x3xf32>, tensor<32xf32>) -> tensor<1x32x8x8xf32>
  %1 = graph.relu %0 : (tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
  %2 = graph.mul %1, %s : (tensor<1x32x8x8xf32>, tensor<32x1x1xf32>) -> tensor<1x32x8x8xf32>
  %3 = graph.add %2, %1 : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
  func.return %3 : tensor<1x32x8x8xf32>
}

// -----

// Movement on blocks: whole blocks of channels are cut out and joined, everything along spatial axes is as it was.

// CHECK-LABEL: func.func @movement
// CHECK:         [[C:%.*]] = graph.blocked_conv {{.*}} -> tensor<1x3x6x16xf32>
// CHECK-NEXT:    [[T:%.*]] = graph.slice [[C]] {starts = array<i64: 0, 1, 0, 0>, steps = array<i64: 1, 1, 1, 1>, shape = array<i64: 1, 2, 6, 16>}
// CHECK-NEXT:    graph.unpack [[T]] {layout = #graph.layout<channels {{[^>]*}}>, shape = array<i64: {{[0-9]+}}, 24{{(, [0-9]+)*}}>}
// CHECK-NEXT:    [[H:%.*]] = graph.slice [[C]] {starts = array<i64: 0, 0, 5, 0>, steps = array<i64: 1, 1, -1, 1>, shape = array<i64: 1, 3, 6, 16>}
// CHECK-NEXT:    [[P:%.*]] = graph.pad [[H]] {pads = array<i64: 0, 0, 1, 0, 0, 0, 0, 0>, mode = "edge"}
// CHECK-NEXT:    [[J:%.*]] = graph.concat [[P]], [[P]] {axis = 2 : i64} : {{.*}} -> tensor<1x3x14x16xf32>
// CHECK-NEXT:    [[G:%.*]] = graph.reduce [[J]] {kind = "mean", axes = array<i64: 2>, keepdims = false} : {{.*}} -> tensor<1x3x16xf32>
// CHECK-NEXT:    graph.unpack [[G]] {layout = #graph.layout<channels (d0, d1 floordiv 16, d1 mod 16)>, shape = array<i64: 1, 40>} : (tensor<1x3x16xf32>) -> tensor<1x40xf32>
func.func @movement(%x: tensor<1x16x6xf32>) -> (tensor<1x24x6xf32>, tensor<1x40xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<40x16x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 3, unroll = 4, order = rows>} : (tensor<1x16x6xf32>, tensor<40x16x1xf32>) -> tensor<1x40x6xf32>
  %1 = graph.slice %0 {starts = array<i64: 0, 16, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 24, 6>} : (tensor<1x40x6xf32>) -> tensor<1x24x6xf32>
  %2 = graph.slice %0 {starts = array<i64: 0, 0, 5>, steps = array<i64: 1, 1, -1>, shape = array<i64: 1, 40, 6>} : (tensor<1x40x6xf32>) -> tensor<1x40x6xf32>
  %3 = graph.pad %2 {pads = array<i64: 0, 0, 1, 0, 0, 0>, mode = "edge"} : (tensor<1x40x6xf32>) -> tensor<1x40x7xf32>
  %4 = graph.concat %3, %3 {axis = 2} : (tensor<1x40x7xf32>, tensor<1x40x7xf32>) -> tensor<1x40x14xf32>
  %5 = graph.reduce %4 {kind = "mean", axes = array<i64: 2>, keepdims = false} : (tensor<1x40x14xf32>) -> tensor<1x40xf32>
  func.return %1, %5 : tensor<1x24x6xf32>, tensor<1x40xf32>
}

// -----

// Rows that lie within channels are normalised in blocks.

// CHECK-LABEL: func.func @rows
// CHECK:         [[C:%.*]] = graph.blocked_conv {{.*}} -> tensor<1x3x6x16xf32>
// CHECK-NEXT:    [[N:%.*]] = graph.normalize [[C]] {axes = array<i64: 2>, epsilon = 2.500000e-01 : f64} : (tensor<1x3x6x16xf32>)
// CHECK-NEXT:    [[S:%.*]] = graph.softmax [[N]] {axes = array<i64: 2>, log = false} : (tensor<1x3x6x16xf32>)
// CHECK-NEXT:    [[U:%.*]] = graph.unpack [[S]] {layout = #graph.layout<channels {{[^>]*}}>, shape = array<i64: {{[0-9]+}}, 40{{(, [0-9]+)*}}>}
// CHECK-NEXT:    graph.softmax [[U]] {axes = array<i64: 1>
func.func @rows(%x: tensor<1x16x6xf32>) -> tensor<1x40x6xf32> attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<40x16x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 3, unroll = 4, order = rows>} : (tensor<1x16x6xf32>, tensor<40x16x1xf32>) -> tensor<1x40x6xf32>
  %1 = graph.normalize %0 {axes = array<i64: -1>, epsilon = 0.25 : f64} : (tensor<1x40x6xf32>) -> tensor<1x40x6xf32>
  %2 = graph.softmax %1 {axes = array<i64: 2>, log = false} : (tensor<1x40x6xf32>) -> tensor<1x40x6xf32>
  %3 = graph.softmax %2 {axes = array<i64: 1>, log = false} : (tensor<1x40x6xf32>) -> tensor<1x40x6xf32>
  func.return %3 : tensor<1x40x6xf32>
}

// -----

// What cannot work on blocks gets plain operands: a transpose, a slice or a concat in the middle of a block.

// CHECK-LABEL: func.func @plain
// CHECK:         [[C:%.*]] = graph.blocked_conv
// CHECK-NEXT:    [[U:%.*]] = graph.unpack [[C]] {layout = #graph.layout<channels {{[^>]*}}>, shape = array<i64: {{[0-9]+}}, 40{{(, [0-9]+)*}}>}
// CHECK-NEXT:    graph.transpose [[U]]
// CHECK-NEXT:    graph.slice [[U]]
// CHECK-NEXT:    graph.concat [[U]], [[U]]
func.func @plain(%x: tensor<1x16x6xf32>) -> (tensor<1x6x40xf32>, tensor<1x16x6xf32>, tensor<1x80x6xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<40x16x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 3, unroll = 4, order = rows>} : (tensor<1x16x6xf32>, tensor<40x16x1xf32>) -> tensor<1x40x6xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1>} : (tensor<1x40x6xf32>) -> tensor<1x6x40xf32>
  %2 = graph.slice %0 {starts = array<i64: 0, 8, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 16, 6>} : (tensor<1x40x6xf32>) -> tensor<1x16x6xf32>
  %3 = graph.concat %0, %0 {axis = 1} : (tensor<1x40x6xf32>, tensor<1x40x6xf32>) -> tensor<1x80x6xf32>
  func.return %1, %2, %3 : tensor<1x6x40xf32>, tensor<1x16x6xf32>, tensor<1x80x6xf32>
}

// -----

// A constant matrix is packed at compile time, a transposed one where it is; plain columns are read where they lie.
// Without a schedule all stays as it is.

// CHECK-LABEL: func.func @products
// CHECK:         [[P:%.*]] = graph.pack %w {layout = #graph.layout<columns (d1 floordiv 32, d0, d1 mod 32)>} : (tensor<16x40xf32>) -> tensor<2x16x32xf32>
// CHECK-NEXT:    graph.packed_matmul %x, [[P]] {columns = 40 : i64, schedule = #graph.matmul_schedule<lanes = 16, mr = 4, nr = 2, unroll = 4, order = rows>} : {{.*}} -> tensor<4x40xf32>
// CHECK-NEXT:    [[T:%.*]] = graph.pack %x {layout = #graph.layout<columns (d0 floordiv 16, d1, d0 mod 16)>} : (tensor<4x16xf32>) -> tensor<1x16x16xf32>
// CHECK-NEXT:    graph.packed_matmul %x, [[T]] {columns = 4 : i64
// CHECK-NEXT:    graph.matmul %x, %y {schedule
// CHECK-NEXT:    graph.matmul %x, %w : (tensor<4x16xf32>, tensor<16x40xf32>)
func.func @products(%x: tensor<4x16xf32>, %y: tensor<16x4xf32>) -> (tensor<4x40xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x40xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<16x40xf32>
  %0 = graph.matmul %x, %w {schedule = #graph.matmul_schedule<lanes = 16, mr = 4, nr = 2, unroll = 4, order = rows>} : (tensor<4x16xf32>, tensor<16x40xf32>) -> tensor<4x40xf32>
  %1 = graph.matmul %x, %x {transpose_rhs = true, schedule = #graph.matmul_schedule<lanes = 16, mr = 4, nr = 1, unroll = 4, order = rows>} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x4xf32>
  %2 = graph.matmul %x, %y {schedule = #graph.matmul_schedule<lanes = 16, mr = 4, nr = 1, unroll = 4, order = rows>} : (tensor<4x16xf32>, tensor<16x4xf32>) -> tensor<4x4xf32>
  %3 = graph.matmul %x, %w : (tensor<4x16xf32>, tensor<16x40xf32>) -> tensor<4x40xf32>
  func.return %0, %1, %2, %3 : tensor<4x40xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x40xf32>
}

// -----

// A transposed convolution keeps its attributes; the output channels of its weight come first, group by group.

// CHECK-LABEL: func.func @transposed
// CHECK:         [[S:%.*]] = graph.reshape %w {shape = array<i64: 2, 16, 32, 2>}
// CHECK-NEXT:    [[T:%.*]] = graph.transpose [[S]] {permutation = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT:    [[M:%.*]] = graph.reshape [[T]] {shape = array<i64: 64, 16, 2>}
// CHECK-NEXT:    [[X:%.*]] = graph.pack %x {layout = #graph.layout<channels ({{[^)]*}} mod 16)>}
// CHECK-NEXT:    [[W:%.*]] = graph.pack [[M]] {layout = #graph.layout<conv_weight (d0 floordiv 32, d1 floordiv 16, {{[^)]*}}, d1 mod 16, d0 mod 32), groups = 2>}
// CHECK-NEXT:    [[C:%.*]] = graph.blocked_conv_transpose [[X]], [[W]] {strides = array<i64: 2>, pads = array<i64: 0, 1>, dilations = array<i64: 1>, output_padding = array<i64: 1>, group = 2 : i64, channels = 32 : i64, outputs = 64 : i64, block = 16 : i64, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 2, order = rows>} : {{.*}} -> tensor<1x4x12x16xf32>
// CHECK-NEXT:    graph.unpack [[C]] {layout = #graph.layout<channels {{[^>]*}}>, shape = array<i64: {{[0-9]+}}, 64{{(, [0-9]+)*}}>}
func.func @transposed(%x: tensor<1x32x6xf32>) -> tensor<1x64x12xf32> attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<32x32x2xf32>
  %0 = graph.conv_transpose %x, %w {strides = array<i64: 2>, pads = array<i64: 0, 1>, dilations = array<i64: 1>, group = 2, output_padding = array<i64: 1>, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 2, order = rows>} : (tensor<1x32x6xf32>, tensor<32x32x2xf32>) -> tensor<1x64x12xf32>
  func.return %0 : tensor<1x64x12xf32>
}

// -----

// Groups of channels that are normalised between two reshapes: by means of the means of channels, which are few, and of
// what they are off by. What each group has one of, each of its channels gets.

// CHECK-LABEL: func.func @groups
// CHECK:         [[X:%.*]] = graph.blocked_conv %x{{.*}} -> tensor<1x1x6x16xf32>
// CHECK:         [[S:%.*]] = graph.reduce [[X]] {kind = "mean", axes = array<i64: 2>, keepdims = true} : {{.*}} -> tensor<1x1x1x16xf32>
// CHECK-NEXT:    [[C:%.*]] = graph.unpack [[S]] {layout = #graph.layout<channels {{[^>]*}}>, shape = array<i64: {{[0-9]+}}, 16{{(, [0-9]+)*}}>}
// CHECK-NEXT:    [[G:%.*]] = graph.reshape [[C]] {shape = array<i64: 1, 4, 4>}
// CHECK-NEXT:    [[M:%.*]] = graph.reduce [[G]] {kind = "mean", axes = array<i64: 2>, keepdims = true} : {{.*}} -> tensor<1x4x1xf32>
// CHECK:         [[B:%.*]] = graph.broadcast {{.*}} {shape = array<i64: 1, 4, 4>}
// CHECK:         [[P:%.*]] = graph.pack {{.*}}channels{{.*}} -> tensor<1x1x1x16xf32>
// CHECK-NEXT:    [[A:%.*]] = graph.sub [[X]], [[P]] : {{.*}} -> tensor<1x1x6x16xf32>
// CHECK-NEXT:    graph.reduce [[A]] {kind = "mean", axes = array<i64: 2>, keepdims = true} : {{.*}} -> tensor<1x1x1x16xf32>
// CHECK:         [[O:%.*]] = graph.pack {{.*}}channels{{.*}} -> tensor<1x1x1x16xf32>
// CHECK-NEXT:    [[D:%.*]] = graph.sub [[A]], [[O]] : {{.*}} -> tensor<1x1x6x16xf32>
// CHECK-NEXT:    [[Q:%.*]] = graph.mul [[D]], [[D]]
// CHECK-NEXT:    graph.reduce [[Q]] {kind = "mean"
// CHECK:         [[R:%.*]] = graph.sqrt
// CHECK:         graph.div {{.*}}, [[R]]
// CHECK:         [[I:%.*]] = graph.pack {{.*}}channels
// CHECK-NEXT:    [[N:%.*]] = graph.mul [[D]], [[I]]
// CHECK:         [[W:%.*]] = graph.pack {{.*}}channels{{.*}} -> tensor<1x1x1x16xf32>
// CHECK-NEXT:    [[Y:%.*]] = graph.add [[N]], [[W]] : {{.*}} -> tensor<1x1x6x16xf32>
// CHECK-NEXT:    graph.relu [[Y]]
func.func @groups(%x: tensor<1x3x6xf32>, %w: tensor<1x4x1xf32>) -> tensor<1x16x6xf32> attributes {aot.entry} {
  %w0 = graph.constant dense<1.0> : tensor<16x3x1xf32>
  %0 = graph.conv %x, %w0 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<16x3x1xf32>) -> tensor<1x16x6xf32>
  %1 = graph.reshape %0 {shape = array<i64: 1, 4, 24>} : (tensor<1x16x6xf32>) -> tensor<1x4x24xf32>
  %2 = graph.normalize %1 {axes = array<i64: 2>, epsilon = 0.25 : f64} : (tensor<1x4x24xf32>) -> tensor<1x4x24xf32>
  %3 = graph.add %2, %w : (tensor<1x4x24xf32>, tensor<1x4x1xf32>) -> tensor<1x4x24xf32>
  %4 = graph.reshape %3 {shape = array<i64: 1, 16, 6>} : (tensor<1x4x24xf32>) -> tensor<1x16x6xf32>
  %5 = graph.relu %4 : (tensor<1x16x6xf32>) -> tensor<1x16x6xf32>
  func.return %5 : tensor<1x16x6xf32>
}
