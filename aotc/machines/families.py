"""The table of machines: a row for each processor family.

Costs of code on vectors were measured on one core, a Zen 5 at 4 GHz in f32, mostly with AVX-512; records of them are
named after it. Where the row of another family has such a record, nobody measured that family: to do better, measure it
and give the row a record of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from aotc.machines import machine
from aotc.machines.instructions import available
from aotc.machines.instructions.arm64 import AARCH64
from aotc.machines.instructions.wasm import WASM32
from aotc.machines.instructions.x86 import X86_64
from aotc.machines.machine import Core, Machine

# --- records that rows share -----------------------------------------------------------------------------------------

_ZEN5_THREADS: Final = machine.ThreadCosts(phase_operations=4000, shared_bytes=1 / 4, weight_bytes=8, most_time=0.9)
_ZEN5_TILES: Final = machine.TileCosts(
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
    prefetch_lines=2.4,
    hidden_lines=0.8,
    most_inner_product_time=0.75,
)
_ZEN4_TILES: Final = replace(_ZEN5_TILES, multipliers=1, column_cycles=0.02, hidden_lines=2.2)
"""Of vectors of 512 bits, which are computed and loaded in two halves. Time of a Zen 4 over that by Zen 5's costs: 3 x
3 taps, 256 channels, 7 x 7 0.86; two layers 768 x 3072 on 32 rows 0.92; SqueezeNet 0.96, a small BERT 0.97. With so
many lines prefetched, over 1.2: transformer layers of 384 channels, 13 tokens 0.95, 32 0.93; 128 channels, 14 x 14
0.96."""
_ZEN5_SHARES: Final = machine.CacheShares(
    panel=3 / 4,
    resident=1 / 2,
    between_kernels=1 / 2,
    line_buffers=1,
    stages=1 / 4,
    operands=3 / 4,
    transforms=5 / 8,
    weights=1 / 4,
)
_ZEN_SHARES: Final = replace(_ZEN5_SHARES, weights=1 / 2)
_ZEN_BANDWIDTHS: Final = machine.Bandwidths(l2=24, l3=16, memory=10, sharpness=3)
"""By Strassen's and Winograd's weights on a Zen 5 at 4 GHz and a Zen 4 at 3.7 GHz; L2 has 32 where nothing else is
done."""
_MESH_BANDWIDTHS: Final = machine.Bandwidths(l2=24, l3=7, memory=3, sharpness=3)
"""Of servers whose many cores share one L3 over a mesh. A Xeon with 2 MiB of L2, at about 3 GHz: transformer layers 6 x
384 on 24 rows get 7.5 bytes a cycle of 42 MB; Strassen's weights, 74 MB, 3.4; Winograd's, 84 to 188 MB, 3.0 and 2.8."""
_ZEN_WINOGRAD: Final = machine.WinogradCosts(
    transform_cycles=4, narrow_cycles=4, filter_cycles=2, fewest_tiles=16, product_registers=4, most_time=1
)
_WINOGRAD: Final = replace(_ZEN_WINOGRAD, narrow_cycles=8, filter_cycles=6, most_time=0.9)
"""Additions wait for the units that multiply. That Xeon, 3 x 3 taps of 8-bit integers, Winograd over direct: 256
channels, 14 x 14 1.47; 512, 14 x 14 1.13; 24, 56 x 56 1.33; 32, 56 x 56 1.24."""
_RECURRENT: Final = machine.RecurrentCosts(
    begun_bytes=64, spare_bytes=0, load_share=1 / 4, l1_ways=8, sharpness=6, most_time=0.95
)
_ZEN_RECURRENT: Final = replace(_RECURRENT, spare_bytes=64)
_ZEN5_STRASSEN: Final = machine.StrassenCosts(sum_cycles=5, most_rows=128, most_time=0.98)

_OF_16: Final = machine.RegisterUse(chain=4, window=6, sums=4, row_tile=12, row_parts=24, fewest_rows=4, most_rows=8)
_OF_32: Final = machine.RegisterUse(chain=4, window=8, sums=8, row_tile=24, row_parts=48, fewest_rows=4, most_rows=8)
_OF_64: Final = machine.RegisterUse(chain=4, window=16, sums=16, row_tile=48, row_parts=96, fewest_rows=4, most_rows=8)
"""By the number of registers: a quarter of them for sums, three quarters for rows in a tile. Nobody measured 64."""

_SUMS: Final = machine.SumsCosts(
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
"""Counted in code of GCC 12 for Cortex-M and RV32.

Places in rings are measured on Cortex-M4F, as instructions over those without rings, less moves, rows and steps: of two
and one convolutions 3.7 a place, of two and three 4.8, of six 4.5, of ten layers, every other one depthwise, 3.3. RV32
takes about three times as many, Cortex-M0, whose registers are eight, four times."""
_HOST: Final = machine.ScalarUnit(
    multiply="mla",
    long_multiply=True,
    registers=14,
    offsets=True,
    unaligned=True,
    fpu=True,
    float_registers=16,
    sums=_SUMS,
)
_ARMV6M: Final = replace(
    _HOST,
    multiply="mul",
    long_multiply=False,
    registers=10,
    offsets=False,
    unaligned=False,
    fpu=False,
    float_registers=0,
    sums=replace(_SUMS, recomputed=40, ring_place=14),  # an address takes several instructions
)
_ARMV7M: Final = replace(_HOST, registers=13, fpu=False, float_registers=0)
_DSP: Final = replace(_ARMV7M, multiply="smlad")
_DSP_FPU: Final = replace(_DSP, fpu=True, float_registers=32)
# Of the 31 registers, 15 (a0-a7, t0-t6) are a function's to use without saving them on the stack, and one holds what an
# instruction has no room for.
_RV32: Final = replace(
    _HOST,
    multiply="mul",
    registers=14,
    unaligned=False,
    fpu=False,
    float_registers=0,
    sums=replace(_SUMS, ring_place=10.5),
)


# --- cores with vectors ----------------------------------------------------------------------------------------------

_V2 = ("ssse3", "sse4.1")
_V3 = (*_V2, "avx", "avx2", "f16c")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512dq", "avx512vl")
"""Features of x86-64 by its levels: those of instructions with rows."""

X86_AVX512: Final = Machine(
    "x86-64 with AVX-512",
    fma=True,
    l1=32 << 10,
    l2=1 << 20,
    l3=8 << 20,
    cache_line=64,
    threads=_ZEN5_THREADS,
    scalars=_HOST,
    vector_bytes=64,
    registers=32,
    issue=3,
    tiles=_ZEN5_TILES,
    use=_OF_32,
    shares=_ZEN5_SHARES,
    bandwidths=_MESH_BANDWIDTHS,
    winograd=_WINOGRAD,
    strassen=_ZEN5_STRASSEN,
    windows=machine.WindowCosts(most_taps=16, most_stretches=6, least_bytes=16, least_filled=1 / 4, packing_cycles=3),
    recurrent=_RECURRENT,
).with_instructions(available(X86_64, _V4))
X86_AVX2: Final = replace(
    X86_AVX512,
    name="x86-64 with AVX2",
    l2=512 << 10,
    vector_bytes=32,
    registers=16,
    tiles=replace(_ZEN5_TILES, block_unroll=8),
    use=_OF_16,
).with_instructions(available(X86_64, _V3))
X86_SSE: Final = replace(
    X86_AVX2,
    name="x86-64 with SSE2",
    fma=False,
    vector_bytes=16,
    tiles=_ZEN5_TILES,
).with_instructions(available(X86_64, ()))
X86_SSE4: Final = X86_SSE.with_instructions(available(X86_64, _V2))
"""Of the same family, with the dot product of SSSE3."""


def of_vendor(row: Machine, *, zen: int) -> Machine:
    """The row, or that for AMD's processors (Zen 1 to 5; 0: another's), which add and convert on units beside the
    multipliers, and whose L3 belongs to a few cores."""
    if not zen:
        return row
    tiles = _ZEN4_TILES if zen <= 4 and row.vector_bytes == 64 else row.tiles
    row = replace(row, tiles=tiles, shares=_ZEN_SHARES, bandwidths=_ZEN_BANDWIDTHS)
    return replace(row, winograd=_ZEN_WINOGRAD, recurrent=_ZEN_RECURRENT)


_OTHERS: Final = replace(X86_AVX512, name="", l2=512 << 10, vector_bytes=16, issue=2).with_instructions(frozenset())
"""Costs of families that nobody measured are those of a Zen 5; sizes of caches are common ones."""

ARM64_NEON: Final = replace(_OTHERS, name="AArch64 with NEON").with_instructions(available(AARCH64, ()))
ARM32_NEON: Final = replace(_OTHERS, name="32-bit Arm with NEON", fma=False, registers=16, use=_OF_16)
RISCV_V: Final = replace(_OTHERS, name="RISC-V with vectors of 128 bits or more")  # 128 is what each register has
POWER_VSX: Final = replace(_OTHERS, name="POWER with VSX", registers=64, use=_OF_64)
LOONGARCH_LSX: Final = replace(_OTHERS, name="LoongArch with LSX")
LOONGARCH_LASX: Final = replace(_OTHERS, name="LoongArch with LASX", vector_bytes=32)
WASM_SIMD: Final = replace(
    _OTHERS, name="WebAssembly with SIMD", fma=False, registers=16, use=_OF_16
).with_instructions(available(WASM32, ("simd128",)))
"""The registers are those of a processor it runs on, at least."""

# --- cores without vectors ------------------------------------------------------------------------------------------

HOSTED: Final = Core(
    "any other, with an operating system",
    fma=False,
    l1=32 << 10,
    l2=512 << 10,
    l3=8 << 20,
    cache_line=64,
    threads=_ZEN5_THREADS,
    scalars=_HOST,
)
RISCV64: Final = replace(HOSTED, name="64-bit RISC-V", fma=True)
WASM: Final = replace(HOSTED, name="WebAssembly", threads=None)

BARE: Final = Core(
    "any other, without an operating system",
    fma=False,
    l1=0,
    l2=0,
    l3=0,
    cache_line=4,
    threads=None,
    scalars=replace(_ARMV6M, long_multiply=True),
)
"""Memory on the chip, a word at a time. Where a core may have caches, as Cortex-M7 and M55 may, its name does not say
how large they are."""
CORTEX_M0: Final = replace(BARE, name="cortex-m0", scalars=_ARMV6M)
CORTEX_M3: Final = replace(BARE, name="cortex-m3", scalars=_ARMV7M)
CORTEX_M4: Final = replace(BARE, name="cortex-m4", scalars=_DSP)
CORTEX_M4F: Final = replace(BARE, name="cortex-m4f", fma=True, scalars=_DSP_FPU)
CORTEX_M7: Final = replace(CORTEX_M4F, name="cortex-m7", cache_line=32)
CORTEX_M33: Final = replace(CORTEX_M4F, name="cortex-m33")
CORTEX_M55: Final = replace(
    CORTEX_M4F,
    name="cortex-m55",
    cache_line=32,
    scalars=replace(_DSP_FPU, multiply="mve", sums=replace(_SUMS, recomputed=100)),
)
RISCV32: Final = replace(BARE, name="32-bit RISC-V", scalars=_RV32)
RISCV32_F: Final = replace(
    RISCV32, name="32-bit RISC-V with FPU", fma=True, scalars=replace(_RV32, fpu=True, float_registers=32)
)


def of_host(width: int, registers: int, *, zen: int) -> Machine:
    """The row of a machine by its vector registers (`processor.vector_registers`)."""
    rows = (X86_AVX512, X86_AVX2, X86_SSE, ARM64_NEON)
    row = next(each for each in rows if (each.vector_bytes, each.registers) == (width, registers))
    return of_vendor(row, zen=zen)


FAMILIES: Final[dict[str, Core]] = {
    row.name: row
    for name, row in list(globals().items())
    if isinstance(row, Core) and not name.startswith("_") and row is not X86_SSE4
}
"""The rows above, by name."""
