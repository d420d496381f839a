// RUN: aotc-opt %s -t c | filecheck %s

// f16 and bf16 are stored as their bits and computed in float. Scalars are converted by functions that say what they do,
// vectors by macros of the same names with the type of the result behind them. From double, rounding to odd comes first.
// CHECK:      static AOTC_HELPER inline uint16_t aotc_f32_to_f16(float x)
// CHECK-NEXT: {
// CHECK-NEXT:     const uint32_t bits = aotc_float_bits(x);
// CHECK-NEXT:     const uint32_t magnitude = bits & 0x7fffffffu;
// CHECK-NEXT:     const uint32_t shifted = magnitude >> 13u;
// CHECK-NEXT:     const uint32_t finite = magnitude < 0x38800000u
// CHECK-NEXT:         ? aotc_float_bits(aotc_float_of_bits(magnitude) + 0.5f) - 0x3f000000u
// CHECK-NEXT:         : (magnitude + 0xc8000fffu + (shifted & 1u)) >> 13u;
// CHECK:      static AOTC_HELPER inline float aotc_bf16_to_f32(uint16_t x)
// CHECK-NEXT: {
// CHECK-NEXT:     return aotc_float_of_bits((uint32_t)x << 16u);
// CHECK-NEXT: }
// CHECK:      static AOTC_HELPER inline uint16_t aotc_f32_to_bf16(float x)
// CHECK-NEXT: {
// CHECK-NEXT:     const uint32_t bits = aotc_float_bits(x);
// CHECK-NEXT:     const uint32_t upper = bits >> 16u;
// CHECK-NEXT:     const uint32_t narrowed = (aotc_float_bits(x) & 0x7fffffffu) > 0x7f800000u
// CHECK-NEXT:         ? upper | 0x40u
// CHECK-NEXT:         : (bits + ((upper & 1u) + 0x7fffu)) >> 16u;
// CHECK-NEXT:     return (uint16_t)narrowed;
// CHECK-NEXT: }
// CHECK:      typedef uint16_t aotc_unaligned_u16x8 __attribute__((vector_size(16), aligned(2), may_alias));
// CHECK:      #define aotc_bf16_to_f32_f32x8(x) ((aotc_f32x8)(aotc_extended_unsigned16_u32x8((x)) << 16u))
// CHECK:      #if defined(__F16C__)
// CHECK-NEXT: #define aotc_f32_to_f16_u16x8(x) ((aotc_u16x8)_mm256_cvtps_ph((__m256)(x), 8))
// CHECK-NEXT: #else
// CHECK-NEXT: #define aotc_f32_to_f16_u16x8(x) \
// CHECK-NEXT:     (__extension__ ({ const aotc_u32x8 aotc_bits = (aotc_u32x8)(x);
// CHECK:      int32_t scale(const uint16_t *restrict x, uint16_t *restrict h, const double *restrict d)
// CHECK-NEXT: {
// CHECK-NEXT:     for (int32_t i = 0; i < 8; ++i) {
// CHECK-NEXT:         const uint16_t wide = x[i];
// CHECK-NEXT:         const uint16_t product = aotc_f32_to_bf16(aotc_bf16_to_f32(wide) * aotc_bf16_to_f32(wide));
// CHECK-NEXT:         h[i] = aotc_f32_to_f16(aotc_bf16_to_f32(product));
// CHECK-NEXT:     }
// CHECK-NEXT:     const aotc_u16x8 a = aotc_load_u16x8(&x[8]);
// CHECK-NEXT:     const aotc_f32x8 v0 = aotc_bf16_to_f32_f32x8(a);
// CHECK-NEXT:     const aotc_f32x8 v1 = aotc_bf16_to_f32_f32x8(a);
// CHECK-NEXT:     const aotc_f32x8 v2 = v0 * v1;
// CHECK-NEXT:     const aotc_u16x8 v3 = aotc_f32_to_bf16_u16x8(v2);
// CHECK-NEXT:     const aotc_f32x8 v4 = aotc_bf16_to_f32_f32x8(v3);
// CHECK-NEXT:     aotc_store_u16x8(&h[8], aotc_f32_to_f16_u16x8(v4));
// CHECK-NEXT:     const aotc_f64x8 v5 = aotc_load_f64x8(d);
// CHECK-NEXT:     const aotc_f32x8 v6 = aotc_f64_to_f32_odd_f32x8(v5);
// CHECK-NEXT:     aotc_store_u16x8(h, aotc_f32_to_f16_u16x8(v6));
func.func @scale(%x_p: !aot.ptr<bf16> {aot.name = "x", aot.readonly, aot.noalias}, %h_p: !aot.ptr<f16> {aot.name = "h", aot.noalias}, %d_p: !aot.ptr<f64> {aot.name = "d", aot.readonly, aot.noalias}) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = aot.buffer %x_p : !aot.ptr<bf16> to memref<16xbf16>
  %h = aot.buffer %h_p : !aot.ptr<f16> to memref<16xf16>
  %d = aot.buffer %d_p : !aot.ptr<f64> to memref<16xf64>
  scf.for %i = %c0 to %c8 step %c1 {
    %wide = memref.load %x[%i] : memref<16xbf16>
    %product = arith.mulf %wide, %wide : bf16
    %sum = arith.extf %product : bf16 to f32
    %narrow = arith.truncf %sum : f32 to f16
    memref.store %narrow, %h[%i] : memref<16xf16>
  }
  %a = aot.tile_load %x[%c8] {strides = array<i64: 1>} : memref<16xbf16> -> vector<8xbf16>
  %b = arith.mulf %a, %a : vector<8xbf16>
  %c = aot.tile_convert "extf" %b : vector<8xbf16> -> vector<8xf32>
  %e = aot.tile_convert "truncf" %c : vector<8xf32> -> vector<8xf16>
  aot.tile_store %e, %h[%c8] {strides = array<i64: 1>} : vector<8xf16>, memref<16xf16>
  %f = aot.tile_load %d[%c0] {strides = array<i64: 1>} : memref<16xf64> -> vector<8xf64>
  %g = aot.tile_convert "truncf" %f : vector<8xf64> -> vector<8xf16>
  aot.tile_store %g, %h[%c0] {strides = array<i64: 1>} : vector<8xf16>, memref<16xf16>
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}
