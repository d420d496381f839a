// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=cortex-m4},select-instructions,convert-to-llvm' | filecheck %s --check-prefix DSP
// RUN: aotc-opt %s -t c | filecheck %s --check-prefix CC
// RUN: aotc-opt %s -p 'attach-target{target=cortex-m55},select-instructions,convert-to-llvm' | filecheck %s --check-prefix MVE
// RUN: aotc-opt %s -p 'attach-target{target=cortex-m3},select-instructions,convert-to-llvm' | filecheck %s --check-prefix PLAIN

// CHECK-LABEL: func.func private @words
// CHECK:      %[[A:.*]] = aot.word_load %x[%{{.*}}, %{{.*}}] : memref<4x10xi8>
// CHECK-NEXT: %[[E:.*]] = aot.instruction "sxtb16" %[[A]] : i32 -> i32
// CHECK-NEXT: %[[O:.*]] = aot.instruction "uxtab16.ror8" %[[E]], %[[A]] : i32, i32 -> i32
// CHECK-NEXT: %[[D:.*]] = aot.instruction "smlad" %[[E]], %[[O]], %[[A]] : i32, i32, i32 -> i32
// CHECK-NEXT: %[[R:.*]] = aot.round_product %[[D]], %[[E]], %[[O]], 40
// CHECK-NEXT: %{{.*}} = aot.round_product %[[D]], %[[E]], %[[R]], 36 near

// One function of its own for all roundings of products.
// DSP: llvm.func internal @aotc.round_product({{.*}}"noinline", "cold"]
// DSP: llvm.func internal @aotc.round_near_product({{.*}}"noinline", "cold"]

// An address that is not aligned; instructions of the DSP extension, where the target has it.
// DSP-LABEL: llvm.func internal @words
// DSP:      %a = llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr -> i32
// DSP-NEXT: %e = llvm.call_intrinsic "llvm.arm.sxtb16"(%a)
// DSP-NEXT: %[[R:.*]] = llvm.call_intrinsic "llvm.fshr.i32"(%a, %a, %{{.*}})
// DSP-NEXT: %o = llvm.call_intrinsic "llvm.arm.uxtab16"(%e, %[[R]])
// DSP-NEXT: %d = llvm.call_intrinsic "llvm.arm.smlad"(%e, %o, %a)
// DSP-NEXT: %[[S:.*]] = llvm.call @aotc.round_product(%d, %e, %o, %{{.*}})
// DSP-NEXT: llvm.call @aotc.round_near_product(%d, %e, %[[S]], %{{.*}})
// PLAIN-LABEL: llvm.func internal @words
// PLAIN-NOT: llvm.arm
// PLAIN:     llvm.sext %{{.*}} : i8 to i16
// PLAIN:     llvm.zext %{{.*}} : i8 to i16
// PLAIN:     llvm.mul
// PLAIN:     llvm.mul
// PLAIN-NOT: llvm.mul
// PLAIN-LABEL: llvm.func internal @runs
func.func private @words(%p: !aot.ptr<i8>) -> i32 {
  %x = aot.buffer %p : !aot.ptr<i8> to memref<4x10xi8>
  %i = arith.constant 1 : index
  %j = arith.constant 3 : index
  %a = aot.word_load %x[%i, %j] : memref<4x10xi8>
  %e = aot.instruction "sxtb16" %a : i32 -> i32
  %o = aot.instruction "uxtab16.ror8" %e, %a : i32, i32 -> i32
  %d = aot.instruction "smlad" %e, %o, %a : i32, i32, i32 -> i32
  %r = aot.round_product %d, %e, %o, 40
  %n = aot.round_product %d, %e, %r, 36 near
  func.return %n : i32
}

// A run of eight bytes is a vector, a shorter one is not; in C helpers for the signs.
// DSP-LABEL: llvm.func internal @runs
// DSP:      %[[X:.*]] = llvm.sext %{{.*}} : vector<8xi8> to vector<8xi16>
// DSP:      %[[W:.*]] = llvm.zext %{{.*}} : vector<8xi8> to vector<8xi16>
// DSP:      llvm.add %[[X]], %{{.*}} : vector<8xi16>
// DSP:      %[[T:.*]] = llvm.mul %{{.*}}, %{{.*}} : vector<8xi32>
// DSP-NEXT: llvm.call_intrinsic "llvm.vector.reduce.add.v8i32"(%[[T]])
// DSP-COUNT-3: llvm.mul %{{.*}}, %{{.*}} : i32
// CC-LABEL: runs(
// CC:      aotc_run_dot_us(&p[3], &q[2], aotc_run_dot_su(&p[13], &q[2], s, 128, 8), 0, 3)
// CHECK-LABEL: func.func private @runs
// CHECK:      aot.run_dot %x[%{{.*}}, %{{.*}}], %w[%{{.*}}], %s {count = 8 : i64, added = 128 : i64, w_zero_extend} : memref<4x10xi8>, memref<40xi8>
// CHECK-NEXT: aot.run_dot %x[%{{.*}}, %{{.*}}], %w[%{{.*}}], %{{.*}} {count = 3 : i64, added = 0 : i64, x_zero_extend} : memref<4x10xi8>, memref<40xi8>
func.func private @runs(%p: !aot.ptr<i8>, %q: !aot.ptr<i8>, %s: i32) -> i32 {
  %x = aot.buffer %p : !aot.ptr<i8> to memref<4x10xi8>
  %w = aot.buffer %q : !aot.ptr<i8> to memref<40xi8>
  %z = arith.constant 0 : index
  %i = arith.constant 1 : index
  %j = arith.constant 3 : index
  %k = arith.constant 2 : index
  %a = aot.run_dot %x[%i, %j], %w[%k], %s {count = 8, added = 128, w_zero_extend} : memref<4x10xi8>, memref<40xi8>
  %b = aot.run_dot %x[%z, %j], %w[%k], %a {count = 3, added = 0, x_zero_extend} : memref<4x10xi8>, memref<40xi8>
  func.return %b : i32
}

// Registers of 16 bytes, four of whose sums are a quad, and what becomes of it.
// DSP-LABEL: llvm.func internal @lanes
// DSP:      %[[P:.*]] = llvm.mul %{{.*}}, %{{.*}} : vector<16xi32>
// DSP-NEXT: llvm.call_intrinsic "llvm.vector.reduce.add.v16i32"(%[[P]])
// DSP:      llvm.call_intrinsic "llvm.vector.reduce.add.v16i32"
// DSP-COUNT-4: llvm.insertelement
// DSP:      llvm.call_intrinsic "llvm.roundeven.v4f32"
// DSP-NEXT: llvm.call_intrinsic "llvm.fptosi.sat.v4i32.v4f32"
// DSP-NEXT: llvm.call_intrinsic "llvm.sadd.sat.v4i32"
// CC-LABEL: lanes(
// CC:      aotc_lane_dot_u8x16(a, b, s)
// CC:      aotc_of_lanes_u32x4(d, aotc_lane_sum_alone_u8x16(b), s, 0)
// CC:      aotc_narrowed8_u32x4(o, aotc_quantized_unsigned8_f32x4(g, 5, 5, 255))
// CHECK-LABEL: func.func private @lanes
// CHECK:      %[[D:.*]] = aot.lane_dot %a, %b, %s : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: %[[E:.*]] = aot.lane_sum %b, %z : vector<16xi8>
// CHECK-NEXT: %[[Q:.*]] = aot.quad %[[D]], %[[E]], %s, %z : vector<4xi32>
// CHECK:      aot.quad_quantize %{{.*}} {zero_point = 5 : i64, low = 5 : i64, high = 255 : i64, zero_extend} : vector<4xf32> -> vector<4xi8>
func.func private @lanes(%p: !aot.ptr<i8>, %q: !aot.ptr<i8>, %s: i32, %o: !aot.ptr<i8>) {
  %x = aot.buffer %p : !aot.ptr<i8> to memref<16xi8>
  %w = aot.buffer %q : !aot.ptr<i8> to memref<16xi8>
  %out = aot.buffer %o : !aot.ptr<i8> to memref<4xi8>
  %i = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %a = aot.tile_load %x[%i] {strides = array<i64: 1>} : memref<16xi8> -> vector<16xi8>
  %b = aot.tile_load %w[%i] {strides = array<i64: 1>} : memref<16xi8> -> vector<16xi8>
  %d = aot.lane_dot %a, %b, %s : vector<16xi8>, vector<16xi8>
  %e = aot.lane_sum %b, %z : vector<16xi8>
  %f = aot.quad %d, %e, %s, %z : vector<4xi32>
  %g = aot.tile_convert "sitofp" %f : vector<4xi32> -> vector<4xf32>
  %r = aot.quad_quantize %g {zero_point = 5, low = 5, high = 255, zero_extend} : vector<4xf32> -> vector<4xi8>
  aot.tile_store %r, %out[%i] {strides = array<i64: 1>} : vector<4xi8>, memref<4xi8>
  func.return
}

// A quad times fractions, rounded twice: instructions of MVE, elsewhere products of 64 bits.
// CHECK-LABEL: func.func private @fractions
// CHECK:      aot.quad_rescale %a, %b, %c
// CC-LABEL: fractions(
// CC:      aotc_rescaled_u32x4(aotc_load_u32x4(p), aotc_load_u32x4(q), aotc_load_u32x4(r))
// MVE-LABEL: llvm.func internal @fractions
// MVE:      %[[D:.*]] = llvm.call_intrinsic "llvm.arm.mve.vqrdmulh.v4i32"(%{{.*}}, %{{.*}})
// MVE:      %[[N:.*]] = llvm.sub %{{.*}}, %{{.*}} : vector<4xi32>
// MVE:      llvm.and %[[D]], %[[N]] : vector<4xi32>
// MVE:      %[[L:.*]] = llvm.call_intrinsic "llvm.sadd.sat.v4i32"(%[[D]], %{{.*}})
// MVE:      llvm.call_intrinsic "llvm.arm.mve.vshl.vector.v4i32.v4i32"(%[[L]], %[[N]], %{{.*}}, %{{.*}}, %{{.*}})
// DSP-LABEL: llvm.func internal @fractions
// DSP:      llvm.sext %{{.*}} : vector<4xi32> to vector<4xi64>
// DSP:      llvm.sext %{{.*}} : vector<4xi32> to vector<4xi64>
// DSP-NEXT: llvm.mul
// DSP-NOT:  llvm.arm.mve
// DSP-LABEL: llvm.func internal @halves
func.func private @fractions(%p: !aot.ptr<i32>, %q: !aot.ptr<i32>, %r: !aot.ptr<i32>, %o: !aot.ptr<i32>) {
  %x = aot.buffer %p : !aot.ptr<i32> to memref<4xi32>
  %y = aot.buffer %q : !aot.ptr<i32> to memref<4xi32>
  %z = aot.buffer %r : !aot.ptr<i32> to memref<4xi32>
  %out = aot.buffer %o : !aot.ptr<i32> to memref<4xi32>
  %i = arith.constant 0 : index
  %a = aot.tile_load %x[%i] {strides = array<i64: 1>} : memref<4xi32> -> vector<4xi32>
  %b = aot.tile_load %y[%i] {strides = array<i64: 1>} : memref<4xi32> -> vector<4xi32>
  %c = aot.tile_load %z[%i] {strides = array<i64: 1>} : memref<4xi32> -> vector<4xi32>
  %d = aot.quad_rescale %a, %b, %c
  aot.tile_store %d, %out[%i] {strides = array<i64: 1>} : vector<4xi32>, memref<4xi32>
  func.return
}

// One product of two halves.
// DSP:      %[[P:.*]] = llvm.call_intrinsic "llvm.arm.smlabb"(%{{.*}}, %{{.*}}, %{{.*}})
// DSP-NEXT: llvm.call_intrinsic "llvm.arm.smlatt"(%{{.*}}, %{{.*}}, %[[P]])
// CC-LABEL: halves(
// CC:      aotc_smlatt(a, b, aotc_smlabb(a, b, s))
func.func private @halves(%a: i32, %b: i32, %s: i32) -> i32 {
  %l = aot.instruction "smlabb" %a, %b, %s : i32, i32, i32 -> i32
  %h = aot.instruction "smlatt" %a, %b, %l : i32, i32, i32 -> i32
  func.return %h : i32
}

// A clamp to all that 8 or 16 bits hold is one instruction of some cores; any other is two comparisons.
// CC-LABEL: clamps(
// CC:      return aotc_saturate_s8(a) ^ aotc_saturate_u16(b) ^ (g < 65535 ? g : 65535);
func.func private @clamps(%a: i32, %b: i32) -> i32 {
  %l8 = arith.constant -128 : i32
  %h8 = arith.constant 127 : i32
  %z = arith.constant 0 : i32
  %h16 = arith.constant 65535 : i32
  %c = arith.maxsi %a, %l8 : i32
  %d = arith.minsi %c, %h8 : i32
  %e = arith.maxsi %b, %z : i32
  %f = arith.minsi %e, %h16 : i32
  %g = arith.maxsi %b, %l8 : i32
  %h = arith.minsi %g, %h16 : i32
  %i = arith.xori %d, %f : i32
  %j = arith.xori %i, %h : i32
  func.return %j : i32
}

// An index that is hidden, and values in an array on the stack, which are read by their numbers.
// DSP-LABEL: llvm.func internal @array
// DSP:      llvm.alloca
// CC-LABEL: array(
// CC:      int32_t sums[2];
// CC-NEXT: sums[0] = a;
// CC-NEXT: sums[1] = b;
// CC-NEXT: for (int32_t n = 0; n < 2; ++n) {
// CC-NEXT:   const int32_t m = aotc_opaque_i32(n);
// CC-NEXT:   p[m] = sums[m];
// CHECK-LABEL: func.func private @array
// CHECK:      aot.opaque %n
func.func private @array(%a: i32, %b: i32, %p: !aot.ptr<i32>) {
  %out = aot.buffer %p : !aot.ptr<i32> to memref<2xi32>
  %z = arith.constant 0 : index
  %o = arith.constant 1 : index
  %t = arith.constant 2 : index
  %sums = memref.alloca() : memref<2xi32>
  memref.store %a, %sums[%z] : memref<2xi32>
  memref.store %b, %sums[%o] : memref<2xi32>
  scf.for %n = %z to %t step %o {
    %m = aot.opaque %n
    %v = memref.load %sums[%m] : memref<2xi32>
    memref.store %v, %out[%m] : memref<2xi32>
  }
  func.return
}
