// RUN: aotc-opt %s -p select-instructions -t c | filecheck %s

// A kernel as a person would write it: nested loops share one accumulator, indices are linear, constants are literals.
// CHECK:      /* Conv_0, Relu * / 1 */
// CHECK-NEXT: static int32_t conv_relu_0(const float *restrict x, const float *restrict w, float *restrict out)
// CHECK-NEXT: {
// CHECK-NEXT:     for (int32_t oc = 0; oc < 16; ++oc) {
// CHECK-NEXT:         for (int32_t oh = 0; oh < 8; oh += 2) {
// CHECK-NEXT:             float acc = 0.5f;
// CHECK-NEXT:             for (int32_t ic = 0; ic < 3; ++ic) {
// CHECK-NEXT:                 for (int32_t kh = 0; kh < 5; ++kh) {
// CHECK-NEXT:                     const int32_t ih = oh + kh - 1;
// CHECK-NEXT:                     const float m = (((ih >= 0) && (ih < 8)) ? x[(ic * 8) + ih] : 0.0f) * w[(((oc * 3) + ic) * 5) + kh];
// CHECK-NEXT:                     acc += m;
// CHECK-NEXT:                 }
// CHECK-NEXT:             }
// CHECK-NEXT:             out[(oc * 8) + oh] = (acc <= 0.0f) ? 0.0f : acc;
// CHECK-NEXT:         }
// CHECK-NEXT:     }
// CHECK-NEXT:     return 0;
// CHECK-NEXT: }
func.func private @conv_relu_0(%x_p: !aot.ptr<f32> {aot.name = "x", aot.readonly, aot.noalias}, %w_p: !aot.ptr<f32> {aot.name = "w", aot.readonly, aot.noalias}, %out_p: !aot.ptr<f32> {aot.name = "out", aot.noalias}) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 0.0 : f32
  %x = aot.buffer %x_p : !aot.ptr<f32> to memref<1x3x8xf32>
  %w = aot.buffer %w_p : !aot.ptr<f32> to memref<16x3x5xf32>
  %out = aot.buffer %out_p : !aot.ptr<f32> to memref<1x16x8xf32>
  scf.for %oc = %c0 to %c16 step %c1 {
    scf.for %oh = %c0 to %c8 step %c2 {
      %r = scf.for %ic = %c0 to %c3 step %c1 iter_args(%acc = %half) -> (f32) {
        %r1 = scf.for %kh = %c0 to %c5 step %c1 iter_args(%acc1 = %acc) -> (f32) {
          %sum = arith.addi %oh, %kh : index
          %ih = arith.subi %sum, %c1 : index
          %low = arith.cmpi sge, %ih, %c0 : index
          %high = arith.cmpi slt, %ih, %c8 : index
          %inside = arith.andi %low, %high : i1
          %v = scf.if %inside -> (f32) {
            %xv = memref.load %x[%c0, %ic, %ih] : memref<1x3x8xf32>
            scf.yield %xv : f32
          } else {
            scf.yield %zero : f32
          }
          %wv = memref.load %w[%oc, %ic, %kh] : memref<16x3x5xf32>
          %m = arith.mulf %v, %wv : f32
          %s = arith.addf %acc1, %m : f32
          scf.yield %s : f32
        }
        scf.yield %r1 : f32
      }
      %relu = arith.maximumf %r, %zero : f32
      memref.store %relu, %out[%c0, %oc, %oh] : memref<1x16x8xf32>
    }
  }
  %ok = arith.constant 0 : i32
  func.return %ok : i32
} loc(fused["Conv_0", "Relu */ 1"])

// No library and no helper for a clamped sum.
// CHECK-NOT: math.h
