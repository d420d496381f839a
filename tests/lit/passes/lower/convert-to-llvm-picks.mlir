// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v4},convert-to-llvm' -t llvm-text | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v3},convert-to-llvm' -t llvm-text | filecheck %s --check-prefix=LANES
// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v2},convert-to-llvm' -t llvm-text | filecheck %s --check-prefix=SSE

// One instruction where registers are of 512 bits and the processor has it; one for either vector of 256 bits, and the
// lane of the right one; else each lane of one vector or the other.
// CHECK-LABEL: define i32 @picks(
// CHECK:     %wide = call <16 x i32> @llvm.x86.avx512.vpermi2var.d.512(<16 x i32> %a, <16 x i32> %n, <16 x i32> %b)
// CHECK:     [[LOW:%.+]] = call <8 x i32> @llvm.x86.avx2.permd(<8 x i32> %c, <8 x i32> %d)
// CHECK:     [[HIGH:%.+]] = call <8 x i32> @llvm.x86.avx2.permd(<8 x i32> %d, <8 x i32> %d)
// CHECK:     [[SIDE:%.+]] = shl <8 x i32> %d, splat (i32 28)
// CHECK:     [[IS_HIGH:%.+]] = icmp slt <8 x i32> [[SIDE]], zeroinitializer
// CHECK:     select <8 x i1> [[IS_HIGH]], <8 x i32> [[HIGH]], <8 x i32> [[LOW]]
// CHECK:     ret i32
// SSE-LABEL: define i32 @picks(
// SSE-NOT:   permd
// LANES-LABEL: define i32 @picks(
// LANES-NOT:   vpermi2var
// LANES:       [[PLACES:%.+]] = and <16 x i32> %n, splat (i32 15)
// LANES-NEXT:  [[SIDES:%.+]] = and <16 x i32> %n, splat (i32 16)
// LANES-NEXT:  [[PLACE:%.+]] = extractelement <16 x i32> [[PLACES]], i64 0
// LANES-NEXT:  [[LOW:%.+]] = extractelement <16 x i32> %a, i32 [[PLACE]]
// LANES-NEXT:  [[HIGH:%.+]] = extractelement <16 x i32> %b, i32 [[PLACE]]
// LANES-NEXT:  [[SIDE:%.+]] = extractelement <16 x i32> [[SIDES]], i64 0
// LANES-NEXT:  [[IS_LOW:%.+]] = icmp eq i32 [[SIDE]], 0
// LANES-NEXT:  [[PICKED:%.+]] = select i1 [[IS_LOW]], i32 [[LOW]], i32 [[HIGH]]
// LANES-NEXT:  insertelement <16 x i32> zeroinitializer, i32 [[PICKED]], i64 0
func.func @picks(%p: !aot.ptr<i32>) -> i32 {
  %x = aot.buffer %p : !aot.ptr<i32> to memref<64xi32>
  %c0 = arith.constant 0 : index
  %a = aot.tile_load %x[%c0] {strides = array<i64: 1>} : memref<64xi32> -> vector<16xi32>
  %b = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 16 : i64} : memref<64xi32> -> vector<16xi32>
  %n = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 32 : i64} : memref<64xi32> -> vector<16xi32>
  %wide = aot.tile_pick %a, %b, %n : vector<16xi32>
  aot.tile_store %wide, %x[%c0] {strides = array<i64: 1>} : vector<16xi32>, memref<64xi32>
  %c = aot.tile_load %x[%c0] {strides = array<i64: 1>} : memref<64xi32> -> vector<8xi32>
  %d = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 8 : i64} : memref<64xi32> -> vector<8xi32>
  %narrow = aot.tile_pick %c, %d, %d : vector<8xi32>
  aot.tile_store %narrow, %x[%c0] {strides = array<i64: 1>} : vector<8xi32>, memref<64xi32>
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}
