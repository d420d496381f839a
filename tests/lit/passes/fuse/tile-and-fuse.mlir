// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule,tile-and-fuse' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule,attach-target{target=test-m4},tile-and-fuse' | filecheck %s --check-prefix PLAIN
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule,tile-and-fuse{threads=2}' | filecheck %s --check-prefix THREADS

// PLAIN-NOT: graph.staged

// Scores of 2 MiB are worth it: tiles of rows, a head at a time; what is pointwise between the anchors goes along.
// In scratch buffers rows of 1 KiB are put a little apart.

// CHECK-LABEL: func.func @attention
// CHECK-NEXT:    [[Y:%.*]], [[S:%.*]], [[P:%.*]] = graph.staged ([[Q:%.*]] = %q : {{.*}}, [[K:%.*]] = %k : {{.*}}, [[M:%.*]] = %m : {{.*}}, [[V:%.*]] = %v
// CHECK-SAME:      -> (tensor<8x256x64xf32>, tensor<1x[[R:[0-9]+]]x272xf32>, tensor<1x[[R]]x272xf32>)
// CHECK-SAME:      attributes {tile = array<i64: 1, [[R]], 64>, schedule =
// CHECK-NEXT:      [[A:%.*]] = graph.matmul [[Q]], [[K]]
// CHECK-NEXT:      [[B:%.*]] = graph.add [[A]], [[M]]
// CHECK-NEXT:      [[C:%.*]] = graph.softmax [[B]]
// CHECK-NEXT:      [[D:%.*]] = graph.matmul [[C]], [[V]]
// CHECK-NEXT:      graph.yield [[D]]
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return [[Y]]

// Of eight heads two threads take half each.

// THREADS-LABEL: func.func @attention
// THREADS-NEXT:    graph.staged
// THREADS-SAME:      -> (tensor<8x256x64xf32>, tensor<2x[[R:[0-9]+]]x272xf32>, tensor<2x[[R]]x272xf32>)
// THREADS-SAME:      tile = array<i64: 1, [[R]], 64>, parts = array<i64: 12, 12>
func.func @attention(%q: tensor<8x256x64xf32>, %k: tensor<8x64x256xf32>, %m: tensor<1x256xf32>, %v: tensor<8x256x64xf32>) -> tensor<8x256x64xf32> attributes {aot.entry} {
  %0 = graph.matmul %q, %k : (tensor<8x256x64xf32>, tensor<8x64x256xf32>) -> tensor<8x256x256xf32>
  %1 = graph.add %0, %m : (tensor<8x256x256xf32>, tensor<1x256xf32>) -> tensor<8x256x256xf32>
  %2 = graph.softmax %1 {axes = array<i64: 2>, log = false} : (tensor<8x256x256xf32>) -> tensor<8x256x256xf32>
  %3 = graph.matmul %2, %v : (tensor<8x256x256xf32>, tensor<8x256x64xf32>) -> tensor<8x256x64xf32>
  func.return %3 : tensor<8x256x64xf32>
}

// What stays in the cache is stored: 64 KiB.

// CHECK-LABEL: func.func @small
// CHECK-NOT:     graph.staged
func.func @small(%q: tensor<1x128x64xf32>, %k: tensor<1x64x128xf32>, %v: tensor<1x128x64xf32>) -> tensor<1x128x64xf32> attributes {aot.entry} {
  %0 = graph.matmul %q, %k : (tensor<1x128x64xf32>, tensor<1x64x128xf32>) -> tensor<1x128x128xf32>
  %1 = graph.matmul %0, %v : (tensor<1x128x128xf32>, tensor<1x128x64xf32>) -> tensor<1x128x64xf32>
  func.return %1 : tensor<1x128x64xf32>
}

// Somebody else needs what is between them.

// CHECK-LABEL: func.func @used
// CHECK-NOT:     graph.staged
func.func @used(%q: tensor<8x256x64xf32>, %k: tensor<8x64x256xf32>, %v: tensor<8x256x64xf32>) -> (tensor<8x256x256xf32>, tensor<8x256x64xf32>) attributes {aot.entry} {
  %0 = graph.matmul %q, %k : (tensor<8x256x64xf32>, tensor<8x64x256xf32>) -> tensor<8x256x256xf32>
  %1 = graph.matmul %0, %v : (tensor<8x256x256xf32>, tensor<8x256x64xf32>) -> tensor<8x256x64xf32>
  func.return %0, %1 : tensor<8x256x256xf32>, tensor<8x256x64xf32>
}

// Windows over windows, for a pointwise convolution: tiles keep the two rows that the next one sees again, so there are
// two more of the first in scratch buffers than of the second.

// CHECK-LABEL: func.func @separable
// CHECK-NEXT:    graph.staged
// CHECK-SAME:      -> (tensor<1x2x112x112x16xf32>, tensor<1x6x4x113x16xf32>, tensor<1x6x2x113x16xf32>)
// CHECK-SAME:      tile = array<i64: 1, 2, 2, 112, 16>
// CHECK-NEXT:      graph.blocked_depthwise_conv
// CHECK-NEXT:      graph.blocked_depthwise_conv
// CHECK-NEXT:      graph.relu
// CHECK-NEXT:      graph.blocked_conv
// CHECK-NEXT:      graph.yield

// Two threads compute halves of the rows, each with scratch buffers of its own.

// THREADS-LABEL: func.func @separable
// THREADS-NEXT:    graph.staged
// THREADS-SAME:      -> (tensor<1x2x112x112x16xf32>, tensor<2x6x4x113x16xf32>, tensor<2x6x2x113x16xf32>)
// THREADS-SAME:      tile = array<i64: 1, 2, 2, 112, 16>, parts = array<i64: 28, 28>
func.func @separable(%x: tensor<1x6x112x112x16xf32>, %w: tensor<6x3x3x16xf32>, %p: tensor<1x6x1x1x16x32xf32>) -> tensor<1x2x112x112x16xf32> attributes {aot.entry} {
  %0 = graph.blocked_depthwise_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x6x112x112x16xf32>, tensor<6x3x3x16xf32>) -> tensor<1x6x112x112x16xf32>
  %1 = graph.blocked_depthwise_conv %0, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x6x112x112x16xf32>, tensor<6x3x3x16xf32>) -> tensor<1x6x112x112x16xf32>
  %2 = graph.relu %1 : (tensor<1x6x112x112x16xf32>) -> tensor<1x6x112x112x16xf32>
  %3 = graph.blocked_conv %2, %p {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, channels = 96 : i64, outputs = 32 : i64, block = 16 : i64} : (tensor<1x6x112x112x16xf32>, tensor<1x6x1x1x16x32xf32>) -> tensor<1x2x112x112x16xf32>
  func.return %3 : tensor<1x2x112x112x16xf32>
}

// A pool that sees rows of a convolution twice.

// CHECK-LABEL: func.func @stem
// CHECK-NEXT:    graph.staged
// CHECK-SAME:      -> (tensor<1x4x56x56x16xf32>, tensor<1x4x9x113x16xf32>)
// CHECK-SAME:      tile = array<i64: 1, 4, 4, 56, 16>
// CHECK-NEXT:      graph.blocked_conv
// CHECK-NEXT:      graph.max_pool
// CHECK-NEXT:      graph.yield
func.func @stem(%x: tensor<1x3x224x224xf32>, %w: tensor<2x1x7x7x3x32xf32>) -> tensor<1x4x56x56x16xf32> attributes {aot.entry} {
  %0 = graph.blocked_conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 3, 3, 3, 3>, dilations = array<i64: 1, 1>, group = 1 : i64, channels = 3 : i64, outputs = 64 : i64, block = 16 : i64} : (tensor<1x3x224x224xf32>, tensor<2x1x7x7x3x32xf32>) -> tensor<1x4x112x112x16xf32>
  %1 = graph.max_pool %0 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x4x112x112x16xf32>) -> tensor<1x4x56x56x16xf32>
  func.return %1 : tensor<1x4x56x56x16xf32>
}

// 588 KiB are worth tiles, but not the code of first and last ones that keep rows.

// CHECK-LABEL: func.func @medium
// CHECK-NEXT:    graph.blocked_conv
// CHECK-NEXT:    graph.staged
// CHECK-NEXT:      graph.blocked_depthwise_conv
// CHECK-NEXT:      graph.blocked_conv
// CHECK-NEXT:      graph.yield
func.func @medium(%x: tensor<1x2x28x28x16xf32>, %w: tensor<6x2x1x1x16x32xf32>, %d: tensor<12x3x3x16xf32>, %p: tensor<1x12x1x1x16x32xf32>) -> tensor<1x2x28x28x16xf32> attributes {aot.entry} {
  %0 = graph.blocked_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, channels = 32 : i64, outputs = 192 : i64, block = 16 : i64} : (tensor<1x2x28x28x16xf32>, tensor<6x2x1x1x16x32xf32>) -> tensor<1x12x28x28x16xf32>
  %1 = graph.blocked_depthwise_conv %0, %d {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x12x28x28x16xf32>, tensor<12x3x3x16xf32>) -> tensor<1x12x28x28x16xf32>
  %2 = graph.blocked_conv %1, %p {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, channels = 192 : i64, outputs = 32 : i64, block = 16 : i64} : (tensor<1x12x28x28x16xf32>, tensor<1x12x1x1x16x32xf32>) -> tensor<1x2x28x28x16xf32>
  func.return %2 : tensor<1x2x28x28x16xf32>
}

// Three rows of the expansion, of 140 KiB each, are too much to keep; what tiles need of the rest is not.

// CHECK-LABEL: func.func @wide
// CHECK-NEXT:    graph.blocked_conv
// CHECK-NEXT:    graph.staged
// CHECK-NEXT:      graph.blocked_depthwise_conv
// CHECK-NEXT:      graph.blocked_conv
// CHECK-NEXT:      graph.yield
func.func @wide(%x: tensor<1x1x56x56x16xf32>, %w: tensor<20x1x1x1x16x32xf32>, %d: tensor<40x3x3x16xf32>, %p: tensor<1x40x1x1x16x32xf32>) -> tensor<1x2x56x56x16xf32> attributes {aot.entry} {
  %0 = graph.blocked_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, channels = 16 : i64, outputs = 640 : i64, block = 16 : i64} : (tensor<1x1x56x56x16xf32>, tensor<20x1x1x1x16x32xf32>) -> tensor<1x40x56x56x16xf32>
  %1 = graph.blocked_depthwise_conv %0, %d {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x40x56x56x16xf32>, tensor<40x3x3x16xf32>) -> tensor<1x40x56x56x16xf32>
  %2 = graph.blocked_conv %1, %p {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, channels = 640 : i64, outputs = 32 : i64, block = 16 : i64} : (tensor<1x40x56x56x16xf32>, tensor<1x40x1x1x16x32xf32>) -> tensor<1x2x56x56x16xf32>
  func.return %2 : tensor<1x2x56x56x16xf32>
}

// Of three heads two threads have one and a half each, as nearly as whole tiles can be: one begins in the middle of the
// second. Tiles of 78 rows are not near enough, smaller ones are; these are the tiles of one thread, too, since the rows
// of a tile decide how results are rounded.

// CHECK-LABEL: func.func @odd
// CHECK:         tile = array<i64: 1, 65, 64>, schedule =

// THREADS-LABEL: func.func @odd
// THREADS-NEXT:    graph.staged
// THREADS-SAME:      -> (tensor<3x397x64xf32>, tensor<2x65x{{[0-9]+}}xf32>, tensor<2x65x{{[0-9]+}}xf32>)
// THREADS-SAME:      tile = array<i64: 1, 65, 64>, parts = array<i64: 10, 11>
func.func @odd(%q: tensor<3x397x64xf32>, %k: tensor<3x64x397xf32>, %v: tensor<3x397x64xf32>) -> tensor<3x397x64xf32> attributes {aot.entry} {
  %0 = graph.matmul %q, %k : (tensor<3x397x64xf32>, tensor<3x64x397xf32>) -> tensor<3x397x397xf32>
  %1 = graph.softmax %0 {axes = array<i64: 2>, log = false} : (tensor<3x397x397xf32>) -> tensor<3x397x397xf32>
  %2 = graph.matmul %1, %v : (tensor<3x397x397xf32>, tensor<3x397x64xf32>) -> tensor<3x397x64xf32>
  func.return %2 : tensor<3x397x64xf32>
}

// Elements that are encoded in memory are not computed with in stages.

// CHECK-LABEL: func.func @encoded
// CHECK-NOT:     graph.staged
func.func @encoded(%q: tensor<8x256x64xf32>, %k: tensor<8x64x256xf32>, %v: tensor<8x256x64xf32>) -> tensor<8x256x64xf32> attributes {aot.entry} {
  %0 = graph.matmul %q, %k : (tensor<8x256x64xf32>, tensor<8x64x256xf32>) -> tensor<8x256x256xf32>
  %1 = graph.cast %0 {to = i4} : (tensor<8x256x256xf32>) -> tensor<8x256x256xi4>
  %2 = graph.cast %1 {to = f32} : (tensor<8x256x256xi4>) -> tensor<8x256x256xf32>
  %3 = graph.matmul %2, %v : (tensor<8x256x256xf32>, tensor<8x256x64xf32>) -> tensor<8x256x64xf32>
  func.return %3 : tensor<8x256x64xf32>
}

// A product of f8E4M3FN computes nothing in tiles: it is stored, and the others are.

// CHECK-LABEL: func.func @narrow
// CHECK-NEXT:    graph.matmul %q, %k
// CHECK-NOT:       graph.matmul {{.*}}xf8E4M3FN
// CHECK:         func.return
func.func @narrow(%q: tensor<8x256x64xf8E4M3FN>, %k: tensor<8x64x256xf8E4M3FN>, %v: tensor<8x256x64xf32>) -> tensor<8x256x64xf32> attributes {aot.entry} {
  %0 = graph.matmul %q, %k : (tensor<8x256x64xf8E4M3FN>, tensor<8x64x256xf8E4M3FN>) -> tensor<8x256x256xf8E4M3FN>
  %1 = graph.cast %0 {to = f32} : (tensor<8x256x256xf8E4M3FN>) -> tensor<8x256x256xf32>
  %2 = graph.matmul %1, %v : (tensor<8x256x256xf32>, tensor<8x256x64xf32>) -> tensor<8x256x64xf32>
  func.return %2 : tensor<8x256x64xf32>
}
