// RUN: aotc-opt %s -t c | filecheck %s

// A quantised dot product: 8-bit values cannot overflow 32 bits in 100 steps, so nothing is cast.
// CHECK-LABEL: static int32_t dot(const int8_t *restrict x, const uint8_t *restrict w)
// CHECK-NEXT:  {
// CHECK-NEXT:      int32_t acc = 0;
// CHECK-NEXT:      for (int32_t i = 0; i < 100; ++i) {
// CHECK-NEXT:          acc += (x[i] + 128) * w[i];
// CHECK-NEXT:      }
// CHECK-NEXT:      return acc;
func.func private @dot(%x_p: !aot.ptr<i8> {aot.name = "x", aot.readonly, aot.noalias}, %w_p: !aot.ptr<i8> {aot.name = "w", aot.readonly, aot.noalias}) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %zero = arith.constant 0 : i32
  %offset = arith.constant -128 : i32
  %x = aot.buffer %x_p : !aot.ptr<i8> to memref<100xi8>
  %w = aot.buffer %w_p : !aot.ptr<i8> to memref<100xi8>
  %r = scf.for %i = %c0 to %c100 step %c1 iter_args(%acc = %zero) -> (i32) {
    %a = memref.load %x[%i] : memref<100xi8>
    %b = arith.extsi %a : i8 to i32
    %c = arith.subi %b, %offset : i32
    %d = memref.load %w[%i] : memref<100xi8>
    %e = arith.extui %d : i8 to i32
    %f = arith.muli %c, %e : i32
    %g = arith.addi %acc, %f : i32
    scf.yield %g : i32
  }
  func.return %r : i32
}

// What may overflow wraps in unsigned arithmetic, a chain of it without casts in between.
// CHECK-LABEL: static int32_t wraps(int32_t a, int32_t b, int8_t c, int8_t d)
// CHECK-NEXT:  {
// CHECK-NEXT:      const int32_t g = (int8_t)(c + d);
// CHECK-NEXT:      return (int32_t)(((((uint32_t)a * (uint32_t)b) + 7u) >> (uint32_t)g) ^ (uint32_t)g);
func.func private @wraps(%a: i32, %b: i32, %c: i8, %d: i8) -> i32 {
  %seven = arith.constant 7 : i32
  %p = arith.muli %a, %b : i32
  %e = arith.addi %p, %seven : i32
  %f = arith.addi %c, %d : i8
  %g = arith.extsi %f : i8 to i32
  %s = arith.shrui %e, %g : i32
  %x = arith.xori %s, %g : i32
  func.return %x : i32
}

// 64-bit integers appear only where the program has them.
// CHECK-LABEL: static int64_t wide(int32_t a, int64_t b)
// CHECK-NEXT:  {
// CHECK-NEXT:      return ((int64_t)a * a) + (b % 10);
func.func private @wide(%a: i32, %b: i64) -> i64 {
  %ten = arith.constant 10 : i64
  %x = arith.extsi %a : i32 to i64
  %p = arith.muli %x, %x : i64
  %r = arith.remsi %b, %ten : i64
  %s = arith.addi %p, %r : i64
  func.return %s : i64
}
