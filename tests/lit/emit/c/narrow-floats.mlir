// RUN: aotc-opt %s -t c | filecheck %s

// f16 and bf16 are stored as their bits and converted from float and to it. Scalars are converted by functions that say
// what they do, vectors by macros of the same names with the type of the result behind them. Where a processor has an
// instruction for it, they are that.
// CHECK:      static AOTC_HELPER inline uint16_t aotc_f32_to_f16(float x)
// CHECK-NEXT: {
// CHECK-NEXT: #if defined(__ARM_FP) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
// CHECK-NEXT:     return (__extension__ ({
// CHECK-NEXT:         uint32_t aotc_w;
// CHECK-NEXT:         float aotc_t;
// CHECK-NEXT:         __asm__("vcvtb.f16.f32 %1, %2\n\tvmov %0, %1" : "=r"(aotc_w), "=t"(aotc_t) : "t"(x));
// CHECK-NEXT:         uint16_t aotc_r = (uint16_t)(aotc_w & 0xffffu);
// CHECK-NEXT:         aotc_r;
// CHECK-NEXT:     }));
// CHECK-NEXT: #else
// CHECK-NEXT:     const uint32_t bits = aotc_float_bits(x);
// CHECK-NEXT:     const uint32_t magnitude = bits & 0x7fffffffu;
// CHECK-NEXT:     const uint32_t shifted = magnitude >> 13u;
// CHECK-NEXT:     const uint32_t finite = (magnitude < 0x38800000u)
// CHECK-NEXT:         ? (aotc_float_bits(aotc_float_of_bits(magnitude) + 0.5f) - 0x3f000000u)
// CHECK-NEXT:         : ((magnitude + 0xc8000fffu + (shifted & 1u)) >> 13u);
// CHECK:      static AOTC_HELPER inline float aotc_bf16_to_f32(uint16_t x)
// CHECK-NEXT: {
// CHECK-NEXT:     return aotc_float_of_bits((uint32_t)x << 16u);
// CHECK-NEXT: }
// CHECK:      static AOTC_HELPER inline uint16_t aotc_f32_to_bf16(float x)
// CHECK-NEXT: {
// CHECK-NEXT:     const uint32_t bits = aotc_float_bits(x);
// CHECK-NEXT:     const uint32_t upper = bits >> 16u;
// CHECK-NEXT:     const uint32_t narrowed = ((aotc_float_bits(x) & 0x7fffffffu) > 0x7f800000u)
// CHECK-NEXT:         ? (upper | 0x40u)
// CHECK-NEXT:         : ((bits + ((upper & 1u) + 0x7fffu)) >> 16u);
// CHECK-NEXT:     return (uint16_t)narrowed;
// CHECK-NEXT: }
// CHECK:      typedef uint16_t aotc_unaligned_u16x8 __attribute__((vector_size(16), aligned(2), may_alias));
// CHECK:      #define aotc_bf16_to_f32_f32x8(x) ((aotc_f32x8)(aotc_extended_unsigned16_u32x8((x)) << 16u))
// CHECK:      #if defined(__F16C__)
// CHECK-NEXT: #define aotc_f32_to_f16_u16x8(x) ((aotc_u16x8)_mm256_cvtps_ph((__m256)(x), 8))
// CHECK-NEXT: #else
// CHECK-NEXT: #define aotc_f32_to_f16_u16x8(x) \
// CHECK-NEXT:     (__extension__ ({ const aotc_u32x8 aotc_bits = (aotc_u32x8)(x);
// CHECK:      int32_t scale(const uint16_t *restrict x, uint16_t *restrict h)
// CHECK-NEXT: {
// CHECK-NEXT:     for (int32_t i = 0; i < 8; ++i) {
// CHECK-NEXT:         const float wide = aotc_bf16_to_f32(x[i]);
// CHECK-NEXT:         h[i] = aotc_f32_to_f16(aotc_bf16_to_f32(aotc_f32_to_bf16(wide * wide)));
// CHECK-NEXT:     }
// CHECK-NEXT:     const aotc_u16x8 a = aotc_load_u16x8(&x[8]);
// CHECK-NEXT:     const aotc_f32x8 b = aotc_bf16_to_f32_f32x8(a);
// CHECK-NEXT:     const aotc_u16x8 c = aotc_f32_to_bf16_u16x8(b);
// CHECK-NEXT:     const aotc_f32x8 d = aotc_bf16_to_f32_f32x8(c);
// CHECK-NEXT:     aotc_store_u16x8(&h[8], aotc_f32_to_f16_u16x8(d));
func.func @scale(%x_p: !aot.ptr<bf16> {aot.name = "x", aot.readonly, aot.noalias}, %h_p: !aot.ptr<f16> {aot.name = "h", aot.noalias}) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = aot.buffer %x_p : !aot.ptr<bf16> to memref<16xbf16>
  %h = aot.buffer %h_p : !aot.ptr<f16> to memref<16xf16>
  scf.for %i = %c0 to %c8 step %c1 {
    %loaded = memref.load %x[%i] : memref<16xbf16>
    %wide = arith.extf %loaded : bf16 to f32
    %square = arith.mulf %wide, %wide : f32
    %product = arith.truncf %square : f32 to bf16
    %again = arith.extf %product : bf16 to f32
    %narrow = arith.truncf %again : f32 to f16
    memref.store %narrow, %h[%i] : memref<16xf16>
  }
  %a = aot.tile_load %x[%c8] {strides = array<i64: 1>} : memref<16xbf16> -> vector<8xbf16>
  %b = aot.tile_convert "extf" %a : vector<8xbf16> -> vector<8xf32>
  %c = aot.tile_convert "truncf" %b : vector<8xf32> -> vector<8xbf16>
  %d = aot.tile_convert "extf" %c : vector<8xbf16> -> vector<8xf32>
  %e = aot.tile_convert "truncf" %d : vector<8xf32> -> vector<8xf16>
  aot.tile_store %e, %h[%c8] {strides = array<i64: 1>} : vector<8xf16>, memref<16xf16>
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}
