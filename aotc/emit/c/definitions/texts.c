/* Text within definitions of generated C, by the name on the line above it. */
// COMPILER

#if !defined(__clang__) && (!defined(__GNUC__) || __GNUC__ < 12)
#error "vector code needs GCC 12 or Clang"
#endif
// INCLUDES

#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__SSE4_1__)
#include <smmintrin.h>
#elif defined(__SSSE3__)
#include <tmmintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#elif defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif
// FAST_MATH
#ifdef __FAST_MATH__
#error "rounding here relies on IEEE arithmetic: compile without -ffast-math"
#endif
// SELDOM
#if defined(__GNUC__) || defined(__clang__)
__attribute__((noinline, cold))
#endif
