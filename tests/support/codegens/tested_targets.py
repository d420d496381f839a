"""Targets for tests of choices: machines with numbers of their own, which nobody measures.

Each has the instructions of a real processor, so that its code is real, and costs, caches and registers as of some day,
so that measuring that processor again changes no test of what passes choose. Entries of the group `aotc.targets`.
"""

from __future__ import annotations

from dataclasses import replace

from aotc.machines.expansions.dot_costs import DotProduct, StepPairs
from aotc.machines.expansions.permutations import COMPUTED, ByteLookup
from aotc.machines.machine import (
    Bandwidths,
    CacheShares,
    Core,
    Machine,
    RecurrentCosts,
    RegisterUse,
    ScalarUnit,
    StrassenCosts,
    SumsCosts,
    ThreadCosts,
    TileCosts,
    WindowCosts,
    WinogradCosts,
)
from aotc.machines.targets import Target

_TILES = TileCosts(
    multipliers=2,
    loads=2,
    latency=4,
    busy_results=14,
    stall_cycles=0.12,
    load_factor=1.12,
    load_cycles=0.02,
    start_cycles=5,
    write_cycles=3,
    burst_results=14,
    hiding_steps=32,
    widest=8,
    unroll=2,
    block_unroll=2,
    prefetch_lines=1.2,
    hidden_lines=0.8,
    most_inner_product_time=0.75,
)
_OF_16 = RegisterUse(chain=4, window=6, sums=4, row_tile=12, row_parts=24, fewest_rows=4, most_rows=8)
_OF_32 = RegisterUse(chain=4, window=8, sums=8, row_tile=24, row_parts=48, fewest_rows=4, most_rows=8)
_SUMS = SumsCosts(
    spill=2.5,
    about=1.04,
    loop=3,
    tile=12,
    result=8,
    word_load=3,
    address_registers=3,
    window_registers=4,
    most=4,
    most_small=2,
    recomputed=10,
    predicate=4,
    strip=3,
    patch=6,
    patch_share=64,
    most_patch_time=0.6,
    quad=20,
    ring_place=3.5,
    unrolled=16,
)
_SCALARS = ScalarUnit(
    multiply="mla",
    long_multiply=True,
    registers=14,
    offsets=True,
    unaligned=True,
    fpu=True,
    float_registers=16,
    sums=_SUMS,
)
_RECURRENT = RecurrentCosts(begun_bytes=64, spare_bytes=0, load_share=1 / 4, l1_ways=8, sharpness=6, most_time=0.95)
_WIDENED = DotProduct("one", cycles=4 / 3, widening_cycles=0.8, registers=3, busy_sums=4, pair_cycles=2 / 3)
_NARROW = DotProduct(
    "narrow",
    cycles=4 / 3,
    widening_cycles=0,
    registers=2,
    busy_sums=6,
    pair_cycles=2 / 3,
    complements=True,
    weight_cycles=2 / 3,
    weight_registers=1,
    sign_cycles=2 / 3,
    pairs=StepPairs(plain=1.9, complemented=7 / 3, flip_cycles=1 / 3, loop_cycles=4, registers=8),
)
_WHOLE = DotProduct("one", cycles=0.5, widening_cycles=0, registers=0, busy_sums=14, pair_cycles=0.5)
_SIGNED = DotProduct("none", cycles=0.5, widening_cycles=0, registers=0, busy_sums=14)
_BY_HALVES = DotProduct("one", cycles=2, widening_cycles=1, registers=3, busy_sums=4, pair_cycles=1)
_PORTABLE = DotProduct("any", cycles=4, widening_cycles=4, registers=4, busy_sums=4)
_SHUFFLED = ByteLookup("pshufb", row=16, fewest_operations=3)

_AVX512 = Machine(
    "test machine with vectors of 64 bytes",
    fma=True,
    l1=32 << 10,
    l2=1 << 20,
    l3=8 << 20,
    cache_line=64,
    threads=ThreadCosts(phase_operations=4000, shared_bytes=1 / 4, weight_bytes=8, most_time=0.9),
    scalars=_SCALARS,
    vector_bytes=64,
    registers=32,
    issue=3,
    tiles=_TILES,
    use=_OF_32,
    shares=CacheShares(
        panel=3 / 4,
        resident=1 / 2,
        between_kernels=1 / 2,
        line_buffers=1,
        stages=1 / 4,
        operands=3 / 4,
        transforms=5 / 8,
        weights=1 / 2,
    ),
    bandwidths=Bandwidths(l2=24, l3=16, memory=8, sharpness=3),
    winograd=WinogradCosts(
        transform_cycles=4, narrow_cycles=4, filter_cycles=2, fewest_tiles=16, product_registers=4, most_time=1
    ),
    strassen=StrassenCosts(sum_cycles=5, most_rows=128, most_time=0.98),
    windows=WindowCosts(most_taps=16, most_stretches=6, least_bytes=16, least_filled=1 / 4, packing_cycles=3),
    recurrent=_RECURRENT,
    dot=_WIDENED,
    lookup=ByteLookup("vpermw", row=64, fewest_operations=2),
    picks=True,
)
_AVX2 = replace(
    _AVX512,
    l2=512 << 10,
    vector_bytes=32,
    registers=16,
    tiles=replace(_TILES, block_unroll=8),
    use=_OF_16,
    dot=_NARROW,
    lookup=_SHUFFLED,
)
_SSE = replace(_AVX2, fma=False, vector_bytes=16, tiles=_TILES, dot=_WIDENED, lookup=COMPUTED, picks=False)
_NEON = replace(
    _AVX512,
    l2=512 << 10,
    vector_bytes=16,
    dot=_PORTABLE,
    lookup=ByteLookup("tbl", row=16, fewest_operations=3),
    picks=False,
)
_WASM = replace(
    _NEON,
    fma=False,
    threads=None,
    registers=16,
    use=_OF_16,
    dot=_BY_HALVES,
    lookup=ByteLookup("i8x16.swizzle", row=16, fewest_operations=3),
)

_THUMB = replace(_SCALARS, registers=13, fpu=False, float_registers=0)
_DSP = replace(_THUMB, multiply="smlad")
_DSP_FPU = replace(_DSP, fpu=True, float_registers=32)
_M0 = Core(
    "test core",
    fma=False,
    l1=0,
    l2=0,
    l3=0,
    cache_line=4,
    threads=None,
    scalars=replace(
        _SCALARS,
        multiply="mul",
        long_multiply=False,
        registers=10,
        offsets=False,
        unaligned=False,
        fpu=False,
        float_registers=0,
        sums=replace(_SUMS, recomputed=40),
    ),
)
_M4F = replace(_M0, fma=True, scalars=_DSP_FPU)
_M55 = replace(_M4F, cache_line=32, scalars=replace(_DSP_FPU, multiply="mve", sums=replace(_SUMS, recomputed=100)))


def _x86(name: str, cpu: str, core: Machine, features: str = "") -> Target:
    return Target(name, "for tests", "x86_64-unknown-linux-gnu", cpu, features, core=core)


def _arm(name: str, arch: str, cpu: str, core: Core, features: str = "", *, hard: bool = False) -> Target:
    return Target(
        name,
        "for tests",
        f"{arch}-none-unknown-eabi{'hf' if hard else ''}",
        cpu,
        features,
        pointer_width=32,
        weight_alignment=4,
        relocation="static",
        freestanding=True,
        core=core,
    )


SSE2 = _x86("test-sse2", "x86-64", _SSE)
SSE4 = _x86("test-sse4", "x86-64-v2", replace(_SSE, dot=_NARROW, lookup=_SHUFFLED))
AVX2 = _x86("test-avx2", "x86-64-v3", _AVX2)
AVX512 = _x86("test-avx512", "x86-64-v4", _AVX512, "-prefer-256-bit")
VNNI = _x86("test-vnni", "cascadelake", replace(_AVX512, dot=_WHOLE))
ZEN = _x86(
    "test-zen",
    "znver4",
    replace(
        _AVX512,
        recurrent=replace(_RECURRENT, spare_bytes=64),
        dot=_WHOLE,
        lookup=ByteLookup("vpermb", row=64, fewest_operations=2),
    ),
)
XEON = _x86(
    "test-xeon",
    "sapphirerapids",
    replace(
        _AVX512,
        l2=2 << 20,
        l3=260 << 20,
        shares=replace(_AVX512.shares, weights=1 / 4),
        bandwidths=Bandwidths(l2=24, l3=7, memory=3, sharpness=3),
        winograd=replace(_AVX512.winograd, narrow_cycles=8, filter_cycles=6, most_time=0.9),
        dot=_WHOLE,
    ),
)
"""A server whose many cores share one large L3 that is far away."""
NEON = Target("test-neon", "for tests", "aarch64-unknown-linux-gnu", "generic", core=_NEON)
SDOT = Target("test-sdot", "for tests", "aarch64-unknown-linux-gnu", "neoverse-n1", core=replace(_NEON, dot=_SIGNED))
RVV = Target(
    "test-rvv",
    "for tests",
    "riscv64-unknown-linux-gnu",
    "generic-rv64",
    "+m,+a,+f,+d,+c,+v",
    "lp64d",
    core=replace(_NEON, lookup=COMPUTED),
)
WASM = Target(
    "test-wasm",
    "for tests",
    "wasm32-unknown-unknown",
    "generic",
    "+simd128",
    pointer_width=32,
    weight_alignment=16,
    relocation="static",
    freestanding=True,
    core=_WASM,
)
M0 = _arm("test-m0", "thumbv6m", "cortex-m0", _M0)
M3 = _arm("test-m3", "thumbv7m", "cortex-m3", replace(_M0, scalars=_THUMB))
M4 = _arm("test-m4", "thumbv7em", "cortex-m4", replace(_M0, scalars=_DSP), "-fpregs")
M4F = _arm("test-m4f", "thumbv7em", "cortex-m4", _M4F, hard=True)
M55 = _arm("test-m55", "thumbv8.1m.main", "cortex-m55", _M55, hard=True)
