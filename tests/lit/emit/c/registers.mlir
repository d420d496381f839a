// RUN: aotc-opt %s -p attach-target{target=x86-64-v3},select-instructions -t c | filecheck %s

// A constant that is a term of sums in a loop is made once, at the top; 0, a factor, a distance of shifts, booleans and
// floats are not.
// CHECK-LABEL: constants(const int32_t *restrict x
// CHECK-NEXT:  {
// CHECK-NEXT:      aotc_u32x8 c0 = aotc_splat_u32x8(7u);
// CHECK-NEXT:      aotc_keep_in_register_u32x8(c0);
// CHECK-NEXT:      aotc_u32x8 acc = aotc_splat_u32x8(0u);
// CHECK:           for
// CHECK-NEXT:          const aotc_u32x8 v = aotc_load_u32x8(&x[i * 8]);
// CHECK-NEXT:          const aotc_u32x8 g = acc ^ ((v ^ c0) * aotc_splat_u32x8(3u)) ^ (v ^ c0) ^ (v << aotc_splat_u32x8(5u));
// CHECK-NEXT:          const aotc_u32x8 h = g ^ aotc_splat_u32x8(0u);
// CHECK-NEXT:          const aotc_i32x8 is_not = {{.*}} ^ aotc_splat_i32x8(-1);
// CHECK:               aotc_vmaxps_256({{.*}}, aotc_splat_f32x8(2.0f));
func.func private @constants(%x_p: !aot.ptr<i32> {aot.name = "x", aot.readonly, aot.noalias}, %out_p: !aot.ptr<i32> {aot.name = "out", aot.noalias}) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %x = aot.buffer %x_p : !aot.ptr<i32> to memref<16x8xi32>
  %out = aot.buffer %out_p : !aot.ptr<i32> to memref<8xi32>
  %zero = arith.constant dense<0> : vector<8xi32>
  %sum = scf.for %i = %c0 to %c16 step %c1 iter_args(%acc = %zero) -> (vector<8xi32>) {
    %seven = arith.constant dense<7> : vector<8xi32>
    %three = arith.constant dense<3> : vector<8xi32>
    %five = arith.constant dense<5> : vector<8xi32>
    %v = aot.tile_load %x[%i, %c0] {strides = array<i64: 1>} : memref<16x8xi32> -> vector<8xi32>
    %a = arith.xori %v, %seven : vector<8xi32>
    %b = arith.muli %a, %three : vector<8xi32>
    %again = arith.constant dense<7> : vector<8xi32>
    %c = arith.xori %v, %again : vector<8xi32>
    %d = arith.shli %v, %five : vector<8xi32>
    %e = arith.xori %acc, %b : vector<8xi32>
    %f = arith.xori %e, %c : vector<8xi32>
    %g = arith.xori %f, %d : vector<8xi32>
    %h = arith.xori %g, %zero : vector<8xi32>
    %true = arith.constant dense<true> : vector<8xi1>
    %is_less = aot.tile_compare "slt" %v, %acc : vector<8xi32> -> vector<8xi1>
    %is_not = arith.xori %is_less, %true : vector<8xi1>
    %j = aot.tile_select %is_not, %h, %v : vector<8xi1>, vector<8xi32>
    %two = arith.constant dense<2.0> : vector<8xf32>
    %float = arith.bitcast %v : vector<8xi32> to vector<8xf32>
    %greater = aot.instruction "vmaxps.256" %float, %two : vector<8xf32>, vector<8xf32> -> vector<8xf32>
    %bits = arith.bitcast %greater : vector<8xf32> to vector<8xi32>
    %k = arith.xori %j, %bits : vector<8xi32>
    scf.yield %k : vector<8xi32>
  }
  aot.tile_store %sum, %out[%c0] {strides = array<i64: 1>} : vector<8xi32>, memref<8xi32>
  %status = arith.constant 0 : i32
  func.return %status : i32
}

// Without a loop that carries vectors constants stay where they are.
// CHECK-LABEL: elementwise(const int32_t *restrict x
// CHECK-NOT:       aotc_keep_in_register
// CHECK:           ^ aotc_splat_u32x8(7u)
func.func private @elementwise(%x_p: !aot.ptr<i32> {aot.name = "x", aot.readonly, aot.noalias}, %out_p: !aot.ptr<i32> {aot.name = "out", aot.noalias}) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %x = aot.buffer %x_p : !aot.ptr<i32> to memref<16x8xi32>
  %out = aot.buffer %out_p : !aot.ptr<i32> to memref<16x8xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    %seven = arith.constant dense<7> : vector<8xi32>
    %v = aot.tile_load %x[%i, %c0] {strides = array<i64: 1>} : memref<16x8xi32> -> vector<8xi32>
    %a = arith.xori %v, %seven : vector<8xi32>
    aot.tile_store %a, %out[%i, %c0] {strides = array<i64: 1>} : vector<8xi32>, memref<16x8xi32>
  }
  %status = arith.constant 0 : i32
  func.return %status : i32
}

// A difference that is taken from another, too, stays as it is: GCC would compute a - b and add b - a. One that is only
// added, or used once, has no such use.
// CHECK-LABEL: differences(const int32_t *restrict x
// CHECK:           aotc_u32x8 d = a - b;
// CHECK-NEXT:      aotc_keep_in_register_u32x8(d);
// CHECK-NEXT:      const aotc_u32x8 f = (a * a) - b;
// CHECK-NEXT:      aotc_store_u32x8(out, d + f);
// CHECK-NEXT:      aotc_store_u32x8(&out[8], f - d - (b - a));
func.func private @differences(%x_p: !aot.ptr<i32> {aot.name = "x", aot.readonly, aot.noalias}, %out_p: !aot.ptr<i32> {aot.name = "out", aot.noalias}) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = aot.buffer %x_p : !aot.ptr<i32> to memref<2x8xi32>
  %out = aot.buffer %out_p : !aot.ptr<i32> to memref<2x8xi32>
  %a = aot.tile_load %x[%c0, %c0] {strides = array<i64: 1>} : memref<2x8xi32> -> vector<8xi32>
  %b = aot.tile_load %x[%c1, %c0] {strides = array<i64: 1>} : memref<2x8xi32> -> vector<8xi32>
  %d = arith.subi %a, %b : vector<8xi32>
  %square = arith.muli %a, %a : vector<8xi32>
  %f = arith.subi %square, %b : vector<8xi32>
  %e = arith.subi %b, %a : vector<8xi32>
  %g = arith.addi %d, %f : vector<8xi32>
  %h = arith.subi %f, %d : vector<8xi32>
  %i = arith.subi %h, %e : vector<8xi32>
  aot.tile_store %g, %out[%c0, %c0] {strides = array<i64: 1>} : vector<8xi32>, memref<2x8xi32>
  aot.tile_store %i, %out[%c1, %c0] {strides = array<i64: 1>} : vector<8xi32>, memref<2x8xi32>
  %status = arith.constant 0 : i32
  func.return %status : i32
}

// Products of instructions are added one by one, outside of loops, too: GCC would make all of them first. A sum that
// something else reads is no partial one.
// CHECK-LABEL: partial_sums(const int16_t *restrict x
// CHECK:           aotc_u32x8 acc = aotc_splat_u32x8(9u) + aotc_pmaddwd_256(a, b);
// CHECK-NEXT:      aotc_add_to_u32x8(acc, aotc_pmaddwd_256(b, b));
// CHECK-NEXT:      const aotc_u32x8 v0 = aotc_splat_u32x8(9u) + aotc_pmaddwd_256(a, a);
// CHECK-NEXT:      aotc_store_u32x8(out, acc);
// CHECK-NEXT:      aotc_store_u32x8(&out[8], v0 + aotc_pmaddwd_256(b, a) + v0);
func.func private @partial_sums(%x_p: !aot.ptr<i16> {aot.name = "x", aot.readonly, aot.noalias}, %out_p: !aot.ptr<i32> {aot.name = "out", aot.noalias}) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = aot.buffer %x_p : !aot.ptr<i16> to memref<2x16xi16>
  %out = aot.buffer %out_p : !aot.ptr<i32> to memref<2x8xi32>
  %nine = arith.constant dense<9> : vector<8xi32>
  %a = aot.tile_load %x[%c0, %c0] {strides = array<i64: 1>} : memref<2x16xi16> -> vector<16xi16>
  %b = aot.tile_load %x[%c1, %c0] {strides = array<i64: 1>} : memref<2x16xi16> -> vector<16xi16>
  %ab = aot.instruction "pmaddwd.256" %a, %b : vector<16xi16>, vector<16xi16> -> vector<8xi32>
  %bb = aot.instruction "pmaddwd.256" %b, %b : vector<16xi16>, vector<16xi16> -> vector<8xi32>
  %aa = aot.instruction "pmaddwd.256" %a, %a : vector<16xi16>, vector<16xi16> -> vector<8xi32>
  %ba = aot.instruction "pmaddwd.256" %b, %a : vector<16xi16>, vector<16xi16> -> vector<8xi32>
  %0 = arith.addi %nine, %ab : vector<8xi32>
  %1 = arith.addi %0, %bb : vector<8xi32>
  %2 = arith.addi %nine, %aa : vector<8xi32>
  %3 = arith.addi %2, %ba : vector<8xi32>
  %4 = arith.addi %3, %2 : vector<8xi32>
  aot.tile_store %1, %out[%c0, %c0] {strides = array<i64: 1>} : vector<8xi32>, memref<2x8xi32>
  aot.tile_store %4, %out[%c1, %c0] {strides = array<i64: 1>} : vector<8xi32>, memref<2x8xi32>
  %status = arith.constant 0 : i32
  func.return %status : i32
}
