// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=cortex-m4},select-instructions,convert-to-llvm' | filecheck %s --check-prefix DSP
// RUN: aotc-opt %s -p 'attach-target{target=cortex-m55},select-instructions' -t c | filecheck %s --check-prefix CC
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

// Registers of 16 bytes, four of whose sums are a quad, and what becomes of it. Nothing is not added; without
// instructions they are what they mean.
// MVE-LABEL: llvm.func internal @lanes
// MVE:      %[[D:.*]] = llvm.call_intrinsic "llvm.arm.mve.vmldava.v16i8"(%{{.*}}, %{{.*}}, %{{.*}}, %{{s.*}}, %{{.*}}, %{{.*}})
// MVE-NEXT: %[[E:.*]] = llvm.call_intrinsic "llvm.arm.mve.addv.v16i8"(%{{.*}}, %{{.*}})
// MVE-NEXT: %[[T:.*]] = llvm.call_intrinsic "llvm.arm.mve.addv.v16i8"(%{{.*}}, %{{.*}})
// MVE-NEXT: llvm.add %[[T]], %[[D]] : i32
// MVE-COUNT-4: llvm.insertelement
// MVE:      llvm.call_intrinsic "llvm.arm.mve.vcvtn.v4i32.v4f32"
// MVE-NEXT: llvm.call_intrinsic "llvm.sadd.sat.v4i32"
// PLAIN-LABEL: llvm.func internal @lanes
// PLAIN-COUNT-16: llvm.mul %{{.*}}, %{{.*}} : i32
// PLAIN-NOT: llvm.mul
// PLAIN-NOT: llvm.arm
// PLAIN:     llvm_ext.fcmp
// PLAIN-LABEL: llvm.func internal @fractions
// CC-LABEL: lanes(
// CC:      aotc_of_lanes_u32x4(d, aotc_vaddv_s8(b), aotc_vaddva_s8(b, d), 0)
// CC:      aotc_vcvtn_s32_f32(
// CC:      aotc_narrowed8_u32x4(o, aotc_vqadd_s32(n, aotc_splat_u32x4(5u)));
func.func private @lanes(%p: !aot.ptr<i8>, %q: !aot.ptr<i8>, %s: i32, %o: !aot.ptr<i8>) {
  %x = aot.buffer %p : !aot.ptr<i8> to memref<16xi8>
  %w = aot.buffer %q : !aot.ptr<i8> to memref<16xi8>
  %out = aot.buffer %o : !aot.ptr<i8> to memref<4xi8>
  %i = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %five = arith.constant dense<5> : vector<4xi32>
  %a = aot.tile_load %x[%i] {strides = array<i64: 1>} : memref<16xi8> -> vector<16xi8>
  %b = aot.tile_load %w[%i] {strides = array<i64: 1>} : memref<16xi8> -> vector<16xi8>
  %d = aot.instruction "vmladava.s8" %a, %b, %s : vector<16xi8>, vector<16xi8>, i32 -> i32
  %e = aot.instruction "vaddva.s8" %b, %z : vector<16xi8>, i32 -> i32
  %t = aot.instruction "vaddva.s8" %b, %d : vector<16xi8>, i32 -> i32
  %f = aot.quad %d, %e, %t, %z : vector<4xi32>
  %g = aot.tile_convert "sitofp" %f : vector<4xi32> -> vector<4xf32>
  %n = aot.instruction "vcvtn.s32.f32" %g : vector<4xf32> -> vector<4xi32>
  %m = aot.instruction "vqadd.s32" %n, %five : vector<4xi32>, vector<4xi32> -> vector<4xi32>
  %r = aot.tile_convert "trunci" %m : vector<4xi32> -> vector<4xi8>
  aot.tile_store %r, %out[%i] {strides = array<i64: 1>} : vector<4xi8>, memref<4xi8>
  func.return
}

// Doubled upper halves of products, and rounding shifts: elsewhere of integers of 64 bits.
// CC-LABEL: fractions(
// CC:      d = aotc_vqrdmulh_s32(a, b);
// CC:      aotc_store_u32x4(o, aotc_vrshl_s32(d, c));
// MVE-LABEL: llvm.func internal @fractions
// MVE:      %[[D:.*]] = llvm.call_intrinsic "llvm.arm.mve.vqrdmulh.v4i32"(%{{.*}}, %{{.*}})
// MVE-NEXT: llvm.call_intrinsic "llvm.arm.mve.vshl.vector.v4i32.v4i32"(%[[D]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
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
  %d = aot.instruction "vqrdmulh.s32" %a, %b : vector<4xi32>, vector<4xi32> -> vector<4xi32>
  %e = aot.instruction "vrshl.s32" %d, %c : vector<4xi32>, vector<4xi32> -> vector<4xi32>
  aot.tile_store %e, %out[%i] {strides = array<i64: 1>} : vector<4xi32>, memref<4xi32>
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
// CC:      return (int32_t)((uint32_t)aotc_ssat8(a) ^ (uint32_t)aotc_usat16(b) ^ (uint32_t)((g < 65535) ? g : 65535));
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
