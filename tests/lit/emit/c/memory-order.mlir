// RUN: aotc-opt %s -t c | filecheck %s

// A load moves into its use only past stores that cannot change it.

// CHECK-LABEL: static int32_t may_alias(
// CHECK-NEXT:  {
// CHECK-NEXT:      const float v = x[0];
// CHECK-NEXT:      y[1] = 2.0f;
// CHECK-NEXT:      y[0] = v;
func.func private @may_alias(%x_p: !aot.ptr<f32> {aot.name = "x", aot.readonly}, %y_p: !aot.ptr<f32> {aot.name = "y"}) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  %x = aot.buffer %x_p : !aot.ptr<f32> to memref<4xf32>
  %y = aot.buffer %y_p : !aot.ptr<f32> to memref<4xf32>
  %v = memref.load %x[%c0] : memref<4xf32>
  memref.store %two, %y[%c1] : memref<4xf32>
  memref.store %v, %y[%c0] : memref<4xf32>
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}

// CHECK-LABEL: static int32_t no_alias(
// CHECK-NEXT:  {
// CHECK-NEXT:      y[1] = 2.0f;
// CHECK-NEXT:      y[0] = x[0];
func.func private @no_alias(%x_p: !aot.ptr<f32> {aot.name = "x", aot.readonly, aot.noalias}, %y_p: !aot.ptr<f32> {aot.name = "y", aot.noalias}) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  %x = aot.buffer %x_p : !aot.ptr<f32> to memref<4xf32>
  %y = aot.buffer %y_p : !aot.ptr<f32> to memref<4xf32>
  %v = memref.load %x[%c0] : memref<4xf32>
  memref.store %two, %y[%c1] : memref<4xf32>
  memref.store %v, %y[%c0] : memref<4xf32>
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}

// In place: the load is read before the store of the same statement.
// CHECK-LABEL: static int32_t in_place(
// CHECK:           y[i] *= 2.0f;
// CHECK-NEXT:      y[i] -= x[i];
func.func private @in_place(%x_p: !aot.ptr<f32> {aot.name = "x", aot.readonly}, %y_p: !aot.ptr<f32> {aot.name = "y"}) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %two = arith.constant 2.0 : f32
  %x = aot.buffer %x_p : !aot.ptr<f32> to memref<4xf32>
  %y = aot.buffer %y_p : !aot.ptr<f32> to memref<4xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %a = memref.load %y[%i] : memref<4xf32>
    %b = arith.mulf %a, %two : f32
    memref.store %b, %y[%i] : memref<4xf32>
    %c = memref.load %y[%i] : memref<4xf32>
    %d = memref.load %x[%i] : memref<4xf32>
    %e = arith.subf %c, %d : f32
    memref.store %e, %y[%i] : memref<4xf32>
  }
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}

// A load whose use is behind a loop that writes.
// CHECK-LABEL: static int32_t across_loop(
// CHECK:           const float v = y[0];
// CHECK-NEXT:      for (int32_t i = 0; i < 4; ++i) {
// CHECK-NEXT:          y[i] = 2.0f;
// CHECK-NEXT:      }
// CHECK-NEXT:      y[1] = v;
func.func private @across_loop(%y_p: !aot.ptr<f32> {aot.name = "y", aot.noalias}) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %two = arith.constant 2.0 : f32
  %y = aot.buffer %y_p : !aot.ptr<f32> to memref<4xf32>
  %v = memref.load %y[%c0] : memref<4xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    memref.store %two, %y[%i] : memref<4xf32>
  }
  memref.store %v, %y[%c1] : memref<4xf32>
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}
