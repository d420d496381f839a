// RUN: aotc-opt %s -p convert-graph-to-loops,canonicalize,cse,dce | filecheck %s

// Products that stay in i32 are rounded before they are clamped, others clamped first.
func.func private @fractions(%x: memref<4x64xi32>, %m: memref<64xf32>, %out: memref<4x64xi8>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 16, registers = 4>} {
  %x_t = bufferization.to_tensor %x : memref<4x64xi32> to tensor<4x64xi32>
  %m_t = bufferization.to_tensor %m : memref<64xf32> to tensor<64xf32>
  %r = graph.requantize %x_t, %m_t {axis = 1 : i64, zero_point = 5 : i64, low = 5 : i64, high = 127 : i64, fractions, to = i8} : (tensor<4x64xi32>, tensor<64xf32>) -> tensor<4x64xi8>
  bufferization.materialize_in_destination %r in %out : (tensor<4x64xi8>, memref<4x64xi8>) -> ()
  func.return
}
// CHECK-LABEL: @fractions
// CHECK-NOT:   aot.tile_compare
// CHECK:       [[PRODUCT:%.*]] = arith.mulf
// CHECK-NEXT:  [[BYTES:%.*]] = aot.tile_narrow [[PRODUCT]] {zero_point = 5 : i64, low = 5 : i64, high = 127 : i64}
// CHECK-NEXT:  aot.tile_store [[BYTES]]

func.func private @beyond(%x: memref<4x64xi32>, %m: memref<64xf32>, %out: memref<4x64xi8>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 16, registers = 4>} {
  %x_t = bufferization.to_tensor %x : memref<4x64xi32> to tensor<4x64xi32>
  %m_t = bufferization.to_tensor %m : memref<64xf32> to tensor<64xf32>
  %r = graph.requantize %x_t, %m_t {axis = 1 : i64, zero_point = 5 : i64, low = 5 : i64, high = 127 : i64, to = i8} : (tensor<4x64xi32>, tensor<64xf32>) -> tensor<4x64xi8>
  bufferization.materialize_in_destination %r in %out : (tensor<4x64xi8>, memref<4x64xi8>) -> ()
  func.return
}
// CHECK-LABEL: @beyond
// CHECK:       aot.tile_compare
// CHECK-NOT:   aot.tile_narrow
// CHECK:       func.return

// What is added to bytes before they are stored is added to the integers that they are of; the last clamp makes bytes.
func.func private @added(%x: memref<4x64xi32>, %m: memref<64xf32>, %y: memref<4x64xi8>, %out: memref<4x64xi8>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 16, registers = 4>} {
  %x_t = bufferization.to_tensor %x : memref<4x64xi32> to tensor<4x64xi32>
  %m_t = bufferization.to_tensor %m : memref<64xf32> to tensor<64xf32>
  %y_t = bufferization.to_tensor %y : memref<4x64xi8> to tensor<4x64xi8>
  %q = graph.requantize %x_t, %m_t {axis = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, fractions, to = i8} : (tensor<4x64xi32>, tensor<64xf32>) -> tensor<4x64xi8>
  %r = graph.fixed_add %q, %y_t {x_factor = 3000 : i64, y_factor = 2000 : i64, offset = 512 : i64, shift = 12 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<4x64xi8>, tensor<4x64xi8>) -> tensor<4x64xi8>
  bufferization.materialize_in_destination %r in %out : (tensor<4x64xi8>, memref<4x64xi8>) -> ()
  func.return
}
// CHECK-LABEL: @added
// CHECK:       [[Y:%.*]] = aot.tile_load %y
// CHECK:       aot.tile_convert "extsi" [[Y]]
// CHECK-NOT:   extsi
// CHECK:       [[SHIFTED:%.*]] = arith.shrsi
// CHECK-NEXT:  aot.tile_narrow [[SHIFTED]] {zero_point = 0 : i64, low = -128 : i64, high = 127 : i64}
// CHECK-NOT:   aot.tile_narrow
// CHECK:       func.return
