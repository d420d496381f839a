// RUN: aotc-opt %s -p convert-graph-to-loops,canonicalize,cse | filecheck %s

// Neighbouring loops that all operands step through alike are one, whose position is the last index.
func.func private @relu(%x: memref<4x8x7xf32>, %out: memref<4x8x7xf32>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 8, registers = 4>} {
  %x_t = bufferization.to_tensor %x : memref<4x8x7xf32> to tensor<4x8x7xf32>
  %r = graph.relu %x_t : (tensor<4x8x7xf32>) -> tensor<4x8x7xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<4x8x7xf32>, memref<4x8x7xf32>) -> ()
  func.return
}
// CHECK-LABEL: @relu
// CHECK:      "scf.parallel"(%{{.*}}, %{{.*}}, %{{.*}}) <
// CHECK:        %[[I:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK:        aot.tile_load %x[%[[Z:.*]], %[[Z]], %[[I]]] {strides = array<i64: 0, 8, 1>} : memref<4x8x7xf32> -> vector<1x4x8xf32>
// CHECK:        aot.tile_store %{{.*}}, %out[%[[Z]], %[[Z]], %[[I]]] {strides = array<i64: 0, 8, 1>}
// CHECK-NOT:  scf.parallel

// A short run along the lanes: further registers count rows, and the rest of the rows is a smaller tile.
func.func private @channels(%x: memref<2x3x35x8xf32>, %y: memref<3x1x8xf32>, %out: memref<2x3x35x8xf32>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 8, registers = 4>} {
  %x_t = bufferization.to_tensor %x : memref<2x3x35x8xf32> to tensor<2x3x35x8xf32>
  %y_t = bufferization.to_tensor %y : memref<3x1x8xf32> to tensor<3x1x8xf32>
  %r = graph.add %x_t, %y_t : (tensor<2x3x35x8xf32>, tensor<3x1x8xf32>) -> tensor<2x3x35x8xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<2x3x35x8xf32>, memref<2x3x35x8xf32>) -> ()
  func.return
}
// CHECK-LABEL: @channels
// CHECK:      "scf.parallel"
// CHECK:        aot.tile_load %x[{{.*}}] {strides = array<i64: 8, 0, 1>} : memref<2x3x35x8xf32> -> vector<4x1x8xf32>
// CHECK-NEXT:   aot.tile_load %y[{{.*}}] {strides = array<i64: 0, 0, 1>} : memref<3x1x8xf32> -> vector<4x1x8xf32>
// CHECK:      "scf.parallel"
// CHECK:        aot.tile_load %x[{{.*}}] {strides = array<i64: 8, 0, 1>} : memref<2x3x35x8xf32> -> vector<3x1x8xf32>

// A run that no tile divides ends in lanes that are not in memory; one value for each row is broadcast.
func.func private @rows(%x: memref<6x43xf32>, %y: memref<6x1xf32>, %out: memref<6x43xf32>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 8, registers = 4>} {
  %x_t = bufferization.to_tensor %x : memref<6x43xf32> to tensor<6x43xf32>
  %y_t = bufferization.to_tensor %y : memref<6x1xf32> to tensor<6x1xf32>
  %r = graph.add %x_t, %y_t : (tensor<6x43xf32>, tensor<6x1xf32>) -> tensor<6x43xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<6x43xf32>, memref<6x43xf32>) -> ()
  func.return
}
// CHECK-LABEL: @rows
// CHECK:      "scf.parallel"
// CHECK:        aot.tile_load %x[{{.*}}] {strides = array<i64: 0, 8, 1>} : memref<6x43xf32> -> vector<1x4x8xf32>
// CHECK-NEXT:   memref.load %y[
// CHECK-NEXT:   vector.broadcast
// CHECK:      "scf.parallel"
// CHECK:        aot.tile_load %x[{{.*}}] {strides = array<i64: 0, 8, 1>, valid = 11 : i64} : memref<6x43xf32> -> vector<1x2x8xf32>
// CHECK:        aot.tile_store {{.*}}, %out[{{.*}}] {strides = array<i64: 0, 8, 1>, valid = 11 : i64} : vector<1x2x8xf32>

// An operand that is contiguous along another axis is loaded in squares and transposed.
func.func private @transpose(%x: memref<16x20xf32>, %out: memref<20x16xf32>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 8, registers = 4>} {
  %x_t = bufferization.to_tensor %x : memref<16x20xf32> to tensor<16x20xf32>
  %r = graph.transpose %x_t {permutation = array<i64: 1, 0>} : (tensor<16x20xf32>) -> tensor<20x16xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<20x16xf32>, memref<20x16xf32>) -> ()
  func.return
}
// CHECK-LABEL: @transpose
// CHECK:        %[[S:.*]] = aot.tile_load %x[%[[C:.*]], %[[R:.*]]] {strides = array<i64: 20, 0, 1>} : memref<16x20xf32> -> vector<8x1x8xf32>
// CHECK-NEXT:   %[[T:.*]] = aot.tile_transpose %[[S]] : vector<8x1x8xf32>
// CHECK-NEXT:   aot.tile_store %[[T]], %out[%[[R]], %[[C]]] {strides = array<i64: 16, 0, 1>}
// CHECK:        %[[S:.*]] = aot.tile_load %x[{{.*}}] {strides = array<i64: 20, 0, 1>, valid = 4 : i64} : memref<16x20xf32> -> vector<8x1x8xf32>
// CHECK-NEXT:   %[[T:.*]] = aot.tile_transpose %[[S]] : vector<8x1x8xf32>
// CHECK-NEXT:   %[[P:.*]] = aot.tile_slice %[[T]] {{.*}} -> vector<4x1x8xf32>
// CHECK-NEXT:   aot.tile_store %[[P]], %out[

// Each part of a concatenation is a nest of its own, without a test in it.
func.func private @concat(%x: memref<2x4x8xf32>, %y: memref<2x8x8xf32>, %out: memref<2x12x8xf32>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 8, registers = 4>} {
  %x_t = bufferization.to_tensor %x : memref<2x4x8xf32> to tensor<2x4x8xf32>
  %y_t = bufferization.to_tensor %y : memref<2x8x8xf32> to tensor<2x8x8xf32>
  %r = graph.concat %x_t, %y_t {axis = 1 : i64} : (tensor<2x4x8xf32>, tensor<2x8x8xf32>) -> tensor<2x12x8xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<2x12x8xf32>, memref<2x12x8xf32>) -> ()
  func.return
}
// CHECK-LABEL: @concat
// CHECK-NOT:  scf.if
// CHECK:        %[[X:.*]] = aot.tile_load %x[
// CHECK-NEXT:   aot.tile_store %[[X]], %out[
// CHECK-NOT:  scf.if
// CHECK:        %[[Y:.*]] = aot.tile_load %y[
// CHECK-NEXT:   aot.tile_store %[[Y]], %out[
// CHECK-NOT:  scf.if

// Also where each is too short for lanes; a result that is all of one piece stays with scalar loops then.
func.func private @concat_few(%x: memref<9x3xf32>, %out: memref<9x6xf32>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 8, registers = 4>} {
  %x_t = bufferization.to_tensor %x : memref<9x3xf32> to tensor<9x3xf32>
  %r = graph.concat %x_t, %x_t {axis = 1 : i64} : (tensor<9x3xf32>, tensor<9x3xf32>) -> tensor<9x6xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<9x6xf32>, memref<9x6xf32>) -> ()
  func.return
}
// CHECK-LABEL: @concat_few
// CHECK-NOT:  aot.scalar_fallback
// CHECK-NOT:  scf.if
// CHECK-COUNT-2: memref.store %{{.*}}, %out[
// CHECK-NOT:  scf.if

// A channel of blocks is a block and a lane: no quotient is computed.
func.func private @unpack(%x: memref<1x2x5x8xf32>, %out: memref<1x16x5xf32>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 8, registers = 4>} {
  %x_t = bufferization.to_tensor %x : memref<1x2x5x8xf32> to tensor<1x2x5x8xf32>
  %r = graph.unpack %x_t {layout = #graph.layout<channels (d0, d1 floordiv 8, d2, d1 mod 8)>, shape = array<i64: 1, 16, 5>} : (tensor<1x2x5x8xf32>) -> tensor<1x16x5xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<1x16x5xf32>, memref<1x16x5xf32>) -> ()
  func.return
}
// CHECK-LABEL: @unpack
// CHECK-NOT:  div
// CHECK:        aot.tile_load %x[{{.*}}] {strides = array<i64: 8, 0, 1>} : memref<1x2x5x8xf32> -> vector<5x1x8xf32>
// CHECK-NEXT:   aot.tile_insert
// CHECK-NEXT:   aot.tile_transpose
// CHECK:        aot.tile_store {{.*}}, %out[{{.*}}] {strides = array<i64: 5, 0, 1>, valid = 5 : i64} : vector<8x1x8xf32>, memref<1x16x5xf32>

// An index that is known at run time is no axis of a tile.
func.func private @gather(%x: memref<9x20xf32>, %i: memref<3xi64>, %out: memref<3x20xf32>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 8, registers = 4>} {
  %x_t = bufferization.to_tensor %x : memref<9x20xf32> to tensor<9x20xf32>
  %i_t = bufferization.to_tensor %i : memref<3xi64> to tensor<3xi64>
  %r = graph.gather %x_t, %i_t {axis = 0 : i64} : (tensor<9x20xf32>, tensor<3xi64>) -> tensor<3x20xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<3x20xf32>, memref<3x20xf32>) -> ()
  func.return
}
// CHECK-LABEL: @gather
// CHECK:        %[[I:.*]] = arith.index_cast
// CHECK-NEXT:   aot.tile_load %x[%[[I]], %{{.*}}] {strides = array<i64: 0, 8, 1>, valid = 20 : i64} : memref<9x20xf32> -> vector<1x3x8xf32>

// What is not vectorizable stays with scalar loops, and says why.
func.func private @tangent(%x: memref<64xf64>, %out: memref<64xf64>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 4, registers = 4>} {
  %x_t = bufferization.to_tensor %x : memref<64xf64> to tensor<64xf64>
  %r = graph.tan %x_t : (tensor<64xf64>) -> tensor<64xf64>
  bufferization.materialize_in_destination %r in %out : (tensor<64xf64>, memref<64xf64>) -> ()
  func.return
}
// CHECK-LABEL: @tangent
// CHECK-SAME: aot.scalar_fallback = "tan of a tile of f64"
// CHECK:        memref.load %x

// Four bytes side by side, of channels that are apart, are a word for each lane: what is missing is zero.
func.func private @words(%x: memref<1x3x35xui8>, %out: memref<1x1x35x4xui8>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 8, registers = 4>} {
  %x_t = bufferization.to_tensor %x : memref<1x3x35xui8> to tensor<1x3x35xui8>
  %r = graph.pack %x_t {layout = #graph.layout<channels (d0, d1 floordiv 4, d2, d1 mod 4)>} : (tensor<1x3x35xui8>) -> tensor<1x1x35x4xui8>
  bufferization.materialize_in_destination %r in %out : (tensor<1x1x35x4xui8>, memref<1x1x35x4xui8>) -> ()
  func.return
}
// CHECK-LABEL: @words
// CHECK:        %[[FIRST:.*]] = aot.tile_load %x[%[[Z:.*]], %[[Z]], %[[AT:.*]]] {strides = array<i64: 0, 8, 1>} : memref<1x3x35xi8> -> vector<1x4x8xi8>
// CHECK-COUNT-2: aot.tile_load %x
// CHECK-NEXT:   %[[LOW:.*]] = aot.tile_convert "extui" %[[FIRST]] : vector<1x4x8xi8> -> vector<1x4x8xi32>
// CHECK:        %[[SHIFTED:.*]] = arith.shli
// CHECK-NEXT:   %[[TWO:.*]] = arith.ori %[[LOW]], %[[SHIFTED]]
// CHECK:        %[[WORD:.*]] = arith.ori %[[TWO]]
// CHECK-NEXT:   %[[BYTES:.*]] = vector.bitcast %[[WORD]] : vector<1x4x8xi32> to vector<1x4x32xi8>
// CHECK-NEXT:   aot.tile_store %[[BYTES]], %out[%[[Z]], %[[Z]], %[[AT]], %[[Z]]] {strides = array<i64: 0, 32, 1>} : vector<1x4x32xi8>
// CHECK:        aot.tile_store %{{.*}}, %out[{{.*}}] {strides = array<i64: 0, 0, 1>, valid = 12 : i64} : vector<1x1x32xi8>

// Four floats are no word, and four bytes that lie together in the operand, too, are read as they lie.
func.func private @no_words(%x: memref<1x3x35xf32>, %y: memref<35x4xi8>, %out: memref<1x1x35x4xf32>, %max: memref<35x4xi8>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 8, registers = 4>} {
  %x_t = bufferization.to_tensor %x : memref<1x3x35xf32> to tensor<1x3x35xf32>
  %y_t = bufferization.to_tensor %y : memref<35x4xi8> to tensor<35x4xi8>
  %r = graph.pack %x_t {layout = #graph.layout<channels (d0, d1 floordiv 4, d2, d1 mod 4)>} : (tensor<1x3x35xf32>) -> tensor<1x1x35x4xf32>
  %m = graph.max %y_t, %y_t : (tensor<35x4xi8>, tensor<35x4xi8>) -> tensor<35x4xi8>
  bufferization.materialize_in_destination %r in %out : (tensor<1x1x35x4xf32>, memref<1x1x35x4xf32>) -> ()
  bufferization.materialize_in_destination %m in %max : (tensor<35x4xi8>, memref<35x4xi8>) -> ()
  func.return
}
// CHECK-LABEL: @no_words
// CHECK-NOT:  vector.bitcast
