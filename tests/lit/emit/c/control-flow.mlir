// RUN: aotc-opt %s -t c | filecheck %s

// Two carried values that change places need a temporary.
// CHECK-LABEL: static int32_t swap(
// CHECK-NEXT:  {
// CHECK-NEXT:      int32_t a = 1;
// CHECK-NEXT:      int32_t b = 2;
// CHECK-NEXT:      for (int32_t i = 0; i < 4; ++i) {
// CHECK-NEXT:          const int32_t next0 = a;
// CHECK-NEXT:          a = b;
// CHECK-NEXT:          b = next0;
// CHECK-NEXT:      }
// CHECK-NEXT:      return a;
func.func private @swap() -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %r, %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %one, %b = %two) -> (i32, i32) {
    scf.yield %b, %a : i32, i32
  }
  func.return %r : i32
}

// A conditional update of a carried value: no copy, no else.
// CHECK-LABEL: static float update(
// CHECK:           float acc = 0.0f;
// CHECK-NEXT:      for (int32_t i = 0; i < 4; ++i) {
// CHECK-NEXT:          if (x[i] > 1.0f) {
// CHECK-NEXT:              acc += x[i];
// CHECK-NEXT:          }
// CHECK-NEXT:      }
// CHECK-NEXT:      return acc;
func.func private @update(%x_p: !aot.ptr<f32> {aot.name = "x", aot.readonly, aot.noalias}) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %x = aot.buffer %x_p : !aot.ptr<f32> to memref<4xf32>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (f32) {
    %a = memref.load %x[%i] : memref<4xf32>
    %big = arith.cmpf ogt, %a, %one : f32
    %n = scf.if %big -> (f32) {
      %b = memref.load %x[%i] : memref<4xf32>
      %s = arith.addf %acc, %b : f32
      scf.yield %s : f32
    } else {
      scf.yield %acc : f32
    }
    scf.yield %n : f32
  }
  func.return %r : f32
}

// A result that nothing reads has no variable.
// CHECK-LABEL: static float half_read(
// CHECK-NEXT:  {
// CHECK-NEXT:      float b;
// CHECK-NEXT:      if (c) {
// CHECK-NEXT:          x[0] = 1.0f;
// CHECK-NEXT:          b = 2.0f;
// CHECK-NEXT:      } else {
// CHECK-NEXT:          b = 1.0f;
// CHECK-NEXT:      }
// CHECK-NEXT:      return b;
func.func private @half_read(%x_p: !aot.ptr<f32> {aot.name = "x"}, %c: i1 {aot.name = "c"}) -> f32 {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %x = aot.buffer %x_p : !aot.ptr<f32> to memref<4xf32>
  %a, %b = scf.if %c -> (f32, f32) {
    memref.store %one, %x[%c0] : memref<4xf32>
    scf.yield %one, %two : f32, f32
  } else {
    scf.yield %two, %one : f32, f32
  }
  func.return %b : f32
}

// A chain of conditionals with effects.
// CHECK-LABEL: static int32_t chain(
// CHECK:           if (n < 1) {
// CHECK-NEXT:          y[0] = 1;
// CHECK-NEXT:      } else if (n < 2) {
// CHECK-NEXT:          y[1] = 1;
// CHECK-NEXT:      } else {
// CHECK-NEXT:          y[2] = 1;
// CHECK-NEXT:      }
func.func private @chain(%n: i32, %y_p: !aot.ptr<i32> {aot.name = "y"}) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %y = aot.buffer %y_p : !aot.ptr<i32> to memref<3xi32>
  %p = arith.cmpi slt, %n, %one : i32
  scf.if %p {
    memref.store %one, %y[%c0] : memref<3xi32>
  } else {
    %q = arith.cmpi slt, %n, %two : i32
    scf.if %q {
      memref.store %one, %y[%c1] : memref<3xi32>
    } else {
      memref.store %one, %y[%c2] : memref<3xi32>
    }
  }
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}

// Names that C keeps for itself, and a name that is taken.
// CHECK-LABEL: static int32_t names(int32_t int_, int32_t for_, int32_t x, int32_t x_1)
// CHECK-NEXT:  {
// CHECK-NEXT:      (void)x;
// CHECK-NEXT:      (void)x_1;
// CHECK-NEXT:      return (int32_t)((uint32_t)int_ + (uint32_t)for_);
func.func private @names(%int: i32, %for: i32, %a: i32 {aot.name = "x"}, %b: i32 {aot.name = "x"}) -> i32 {
  %r = arith.addi %int, %for : i32
  func.return %r : i32
}
