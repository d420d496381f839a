/* Text that generated C has before its functions, by the name on the line above it (`preamble.py`). */
// CONTRACTION

/* No fused multiply-add: results do not depend on the machine. GCC needs -std=c99 or -ffp-contract=off. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif
// SHIFTS

#if (-1 >> 1) != -1
#error "right shifts of negative numbers are not arithmetic"
#endif
// VECTOR_CONTRACTION

/* Multiply-adds are fused only where the code says so: results do not depend on the compiler. GCC shall not carry loads
 * from one iteration to the next, in registers that the accumulators need. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize ("fp-contract=off", "no-predictive-commoning")
#if defined(__ARM_FEATURE_MVE) /* nor load early: there are eight vector registers; nor call memcpy for some bytes */
#pragma GCC optimize ("no-schedule-insns", "no-tree-loop-distribute-patterns")
#else /* nor keep constants of a later loop in them */
#pragma GCC optimize ("ira-loop-pressure")
#endif
#endif
// SECTION

/* Section of the {what}, for example __attribute__((section(".{what}"))). */
#ifndef {name}
#define {name}{attribute}
#endif
// LITTLE_ENDIAN

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "{what} little-endian"
#endif
// BYTES

/* Long arrays are string literals of their bytes: compilers read these in a tenth of the time and memory of numbers. */
#pragma GCC diagnostic ignored "-Woverlength-strings"
// OPERATOR

/* Attributes of each operator. Operators are not inlined: the stack then holds the frame of only one at a time, and
 * type-based alias analysis cannot reorder what two of them do to the same bytes of the workspace. A section attribute
 * goes here, too, beside noinline. */
#ifndef AOTC_OPERATOR
#if defined(__GNUC__) || defined(__clang__)
#define AOTC_OPERATOR __attribute__((noinline))
#else
#define AOTC_OPERATOR
#endif
#endif
// HELPER

/* Attributes of each helper, which operators call unless the compiler puts it into them, or has an instruction for it.
 * A section attribute goes here, too, beside unused. */
#ifndef AOTC_HELPER
#if defined(__GNUC__) || defined(__clang__)
#define AOTC_HELPER __attribute__((unused))
#else
#define AOTC_HELPER
#endif
#endif
// BRANCHES

/* Attributes of operators that are mostly branches, of which few are taken: small code is as fast. */
#ifndef AOTC_BRANCHES
#if defined(__clang__)
#define AOTC_BRANCHES __attribute__((minsize))
#elif defined(__GNUC__)
#define AOTC_BRANCHES __attribute__((optimize("Os")))
#else
#define AOTC_BRANCHES
#endif
#endif
// ALIGNED

#ifndef AOTC_ALIGNED
#if defined(__GNUC__) || defined(__clang__)
#define AOTC_ALIGNED(bytes) __attribute__((aligned(bytes)))
#elif defined(_MSC_VER)
#define AOTC_ALIGNED(bytes) __declspec(align(bytes))
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define AOTC_ALIGNED(bytes) _Alignas(bytes)
#else
#error "define AOTC_ALIGNED(bytes) as this compiler's way to align a variable"
#endif
#endif
