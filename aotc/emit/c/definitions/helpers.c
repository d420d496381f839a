/* Functions that generated C defines where it needs them, instead of calling a library (`helpers.py`). One that stands
 * in for one of libm has its name; others say what they do. Each is exactly what the IR operation says: rounding to
 * nearest even, NaN and signed zeros as IEEE 754 has them. A blank line ends each, two end a section. */
#include <stdint.h>
#define AOTC_HELPER


#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32)
#include <arm_acle.h>
#define AOTC_DSP 1
#else
#define AOTC_DSP 0
#endif


/* The bits of a float as an integer. */
static AOTC_HELPER inline uint32_t aotc_float_bits(float x)
{
    union { float value; uint32_t bits; } both;
    both.value = x;
    return both.bits;
}

/* The float with these bits. */
static AOTC_HELPER inline float aotc_float_of_bits(uint32_t bits)
{
    union { float value; uint32_t bits; } both;
    both.bits = bits;
    return both.value;
}

/* The bits of a double as an integer. */
static AOTC_HELPER inline uint64_t aotc_double_bits(double x)
{
    union { double value; uint64_t bits; } both;
    both.value = x;
    return both.bits;
}

/* The double with these bits. */
static AOTC_HELPER inline double aotc_double_of_bits(uint64_t bits)
{
    union { double value; uint64_t bits; } both;
    both.bits = bits;
    return both.value;
}

/* e to the power of x, within 2 units in the last place: 2^n times a polynomial (Cephes) of the remainder. */
static AOTC_HELPER inline float aotc_expf(float x)
{
    const float low = x < -104.0f ? -104.0f : x;
    const float bounded = low > 89.0f ? 89.0f : low;
    const float shifted = bounded * 1.44269504f + 12582912.0f; /* adding 1.5 * 2^23 leaves n in the low bits */
    const float n = shifted - 12582912.0f;
    const float r = bounded - n * 0.693359375f + n * 2.12194440e-4f;
    const uint32_t exponent = aotc_float_bits(shifted) - 0x4b400000u + 508u; /* n + 4 * 127, never negative */
    const uint32_t half = exponent / 2u - 127u; /* in two steps, for results that are subnormal or infinite */
    float y = 1.9875691500e-4f;
    y = y * r + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * (r * r) + r + 1.0f;
    return y * aotc_float_of_bits(half << 23) * aotc_float_of_bits((exponent - 254u - half) << 23);
}

/* The hyperbolic tangent, within 2 units in the last place (Cephes). */
static AOTC_HELPER inline float aotc_tanhf(float x)
{
    const float magnitude = x < 0.0f ? -x : x;
    if (magnitude < 0.625f) {
        const float z = x * x;
        float y = -5.70498872745e-3f;
        y = y * z + 2.06390887954e-2f;
        y = y * z - 5.37397155531e-2f;
        y = y * z + 1.33314422036e-1f;
        y = y * z - 3.33332819422e-1f;
        return x * (y * z + 1.0f);
    }
    if (x != x) {
        return x;
    }
    const float y = 1.0f - 2.0f / (aotc_expf(magnitude + magnitude) + 1.0f);
    return x < 0.0f ? -y : y;
}


/* The four bytes at p, the lowest first. */
static AOTC_HELPER inline int32_t aotc_word(const void *p)
{
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return word;
#else
    const unsigned char *bytes = p;
    const uint32_t low = bytes[0] | (uint32_t)bytes[1] << 8;
    return (int32_t)(low | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24);
#endif
}

/* The word at p, which is aligned, to be moved. */
static AOTC_HELPER inline int32_t aotc_aligned_word(const void *p)
{
#if defined(__GNUC__)
    int32_t word;
    __builtin_memcpy(&word, __builtin_assume_aligned(p, 4), sizeof word);
    return word;
#else
    return aotc_word(p);
#endif
}

/* Moves a word to p, which is aligned. */
static AOTC_HELPER inline void aotc_set_word(void *p, int32_t word)
{
#if defined(__GNUC__)
    __builtin_memcpy(__builtin_assume_aligned(p, 4), &word, sizeof word);
#else
    unsigned char *bytes = p;
    const uint32_t all = (uint32_t)word;
    for (int byte = 0; byte < 4; byte++) {
        bytes[byte] = (unsigned char)(all >> (8 * byte));
    }
#endif
}


/* n, hidden from the optimizer: it would unroll a loop of few iterations completely and keep what later ones load in
 * registers that the accumulators need. */
static AOTC_HELPER inline int32_t aotc_opaque_i32(int32_t n)
{
#if defined(__GNUC__) || defined(__clang__)
    __asm__ volatile("" : "+r"(n));
#endif
    return n;
}

/* n, hidden from the optimizer: it would unroll a loop of few iterations completely and keep what later ones load in
 * registers that the accumulators need. */
static AOTC_HELPER inline int64_t aotc_opaque_i64(int64_t n)
{
#if defined(__GNUC__) || defined(__clang__)
    __asm__ volatile("" : "+r"(n));
#endif
    return n;
}
