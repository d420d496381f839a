"""Facts of a processor that decide how kernels are computed. `families` has a row for each processor family.

Cost models take a `Machine` and nothing else: a number that is true of one core stands in its row, not in their code.
A cycle is one of the core's clock; sizes are in bytes; "registers" are vector registers.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from typing import Final, Literal, Self, TypeAlias

from aotc.errors import UsageError
from aotc.machines.expansions.dot_costs import DotProduct, dot_product
from aotc.machines.expansions.permutations import COMPUTED, ByteLookup, byte_lookup, picks

Multiply: TypeAlias = Literal["mul", "mla", "smlad", "mve"]
"""How a core adds up products of integers in registers of 32 bits: by a multiplication and an addition, by one
instruction that does both, by one for two products of 16 bits (Arm's DSP extension), or on vectors of 128 bits as well
(Helium)."""


_PORTABLE: Final = dot_product(frozenset(), 16, 2)
"""Without an instruction for it."""
MOST_ENLARGED = 1 << 30
"""Bytes of the weights of a model up to which an algorithm may make them larger."""


@dataclass(frozen=True)
class ThreadCosts:
    """When a kernel is worth sharing among threads. Work is counted in operations on registers (`loop_shares`)."""

    phase_operations: int
    """Operations that one thread does in the time that a phase takes beside its work: until other threads see it, until
    their results are seen, and what they read of each other's results (about a microsecond in all)."""
    shared_bytes: float
    """Bytes that are read in the time of an operation of what another thread has just written: a cache line here, one
    there."""
    weight_bytes: float
    """The same of a weight, in L3 or nearer, beside the operations."""
    most_time: float
    """Of the operations of one thread: what the slowest of several may be left with, phases included, for sharing to be
    chosen."""


@dataclass(frozen=True)
class TileCosts:
    """Cycles of a contraction on a register tile: rows x columns accumulators, which take rows + columns loads a step.

    Throughputs and the latency are in the tables of the processor's maker; the others follow measured times of kernels
    with tiles of different sizes.
    """

    multipliers: float
    """Multiply-adds of a register that start in a cycle."""
    loads: int
    """Loads of a register that start in a cycle."""
    latency: int
    """Cycles until the result of a multiply-add can be added to."""
    busy_results: int
    """Accumulators that keep the multiply-adds busy: more than latency x multipliers, because scheduling is not
    perfect."""
    stall_cycles: float
    """Cycles that a step loses for each accumulator below `busy_results`."""
    load_factor: float
    """By how much a step that waits for loads takes longer than `loads` says."""
    load_cycles: float
    """Cycles that each load of a step takes beside whatever the step waits for."""
    start_cycles: int
    """From the last step of a tile to the first of the next."""
    write_cycles: int
    """More for each result beyond `burst_results`, which are held up by the stores before them."""
    burst_results: int
    """Results of a tile that are stored while the next tile is already computed."""
    hiding_steps: int
    """Steps of a tile that hide all of its `write_cycles`; fewer hide their share."""
    widest: int
    """Columns of the widest tile that is tried, in registers."""
    unroll: int
    """Steps in one iteration of the loop: enough to hide the loop, few enough that nothing is spilled."""
    block_unroll: int
    """The same of a convolution's loop over the channels of a block, which is inside of those over blocks and taps.
    Zen 3 with AVX2, 2 -> 8 steps, time over that before, 1 x 1 taps: 2048 -> 512 channels, 7 x 7 0.77; 1024 -> 512, 14
    x 14 0.85; 1024 -> 256 0.88; 512 -> 128, 28 x 28 0.94; 3 x 3 taps: 512 -> 512, 14 x 14 / 2 1.00."""
    prefetch_lines: float
    """Cache lines that may be prefetched in a step before the step takes longer. Zen 5, time with 2.4 over that with
    1.2, weights from memory: two layers 768 x 3072, 13 rows 0.75, 16 0.84; transformer layers of 384 channels, 15 rows
    0.74; Winograd, 512 channels, 7 x 7 0.72, 14 x 14 0.70, 256, 14 x 14 0.96; from L3, 256 x 1024, 16 rows 1.01."""
    hidden_lines: float
    """Cache lines prefetched in a step up to which all of the next panel comes beside the products with this one; with
    more, as without prefetching, it comes beside those of its first rows."""
    most_inner_product_time: float
    """The greatest share of the estimated cycles of a convolution along output channels at which inner products along
    the lanes are chosen. Their estimate leaves out more."""
    column_cycles: float = 0
    """Cycles that a step takes for each register of columns, beside loading it."""
    column_registers: int = 1
    """Registers that each register of columns takes."""


@dataclass(frozen=True)
class RegisterUse:
    """How many registers kernels other than contractions use at once: enough to hide latency, with room for
    operands."""

    chain: int
    """Results that an elementwise kernel computes at a time: they hide the latency of a chain of operations."""
    window: int
    """Accumulators of pooling and depthwise convolution, with room beside them for rows of the operand and of the
    weight."""
    sums: int
    """Accumulators of a reduction: they hide the latency of an addition."""
    row_tile: int
    """Rows in one tile of a normalisation: they hide the latency of reductions across lanes."""
    row_parts: int
    """The same for all groups of such rows that are software-pipelined; more than there are registers, because a group
    that waits needs few."""
    fewest_rows: int
    """The fewest rows that a normalisation computes at once, in as many groups as that takes."""
    most_rows: int
    """The most rows in one tile of a normalisation: more hide nothing more."""


@dataclass(frozen=True)
class CacheShares:
    """The share of a cache's size that kernels may count on, because it is also used otherwise."""

    panel: float
    """Of L2 for a panel of the right matrix, to be there for the next rows; of L1, to be read from there."""
    resident: float
    """Of L1 or L2 for a matrix, to stay from one row of tiles to the next."""
    between_kernels: float
    """Of L2 for a tensor, to stay from the kernel that writes it to the one that reads it."""
    line_buffers: float
    """The share of L2 that a tensor must exceed for fusion with rolling line buffers to pay: the first and last tiles
    need code of their own."""
    stages: float
    """Of L2 for the scratch buffers between the stages of a fused kernel."""
    operands: float
    """Of L2 for what a spatial tile of a fused kernel reads."""
    transforms: float
    """Of L2 for the buffers of a block of Winograd's convolution."""
    weights: float
    """Of L3 for all weights of a model, to stay from one inference to the next: other cores use that cache, too."""


@dataclass(frozen=True)
class Bandwidths:
    """Bytes a cycle that one core gets from each level, one after the other, beside arithmetic on what is in L1."""

    l2: float
    """From L2."""
    l3: float
    """From L3, while other cores are idle."""
    memory: float
    """From memory."""
    sharpness: int
    """How little waiting for a weight and multiplying disturb each other (`overlapped` of `costs/product_cost.py`)."""


@dataclass(frozen=True)
class WinogradCosts:
    """Of convolution by minimal filtering; `winograd_cost` of the kernel room has the times that they are fitted to."""

    transform_cycles: int
    """To transform one register of the operand or of the products: arithmetic, a load and a store."""
    narrow_cycles: int
    """The same of integers of 8 bits, which are widened, and of their sums. Where additions have no units of their own,
    they wait for those of the products' registers."""
    filter_cycles: int
    """The same of a weight of such integers, for each register of products' weights: three taps are read for each four
    or six."""
    fewest_tiles: int
    """Tiles of a block, at least: with fewer the weight is read too often."""
    product_registers: int
    """Columns of a panel of products, in registers, as the size of a block's buffers is estimated."""
    most_time: float
    """The greatest share of direct convolution's time at which it is chosen: the estimate is no better."""


@dataclass(frozen=True)
class StrassenCosts:
    """Of matrix products by Strassen; `passes/kernel/costs/strassen_cost.py` has the times that they are fitted to."""

    sum_cycles: int
    """To add up one register of the operand or of the result: arithmetic, loads, stores."""
    most_rows: int
    """Rows of a block: more take larger scratch buffers and are fewer blocks for threads; fewer read the weight
    more often. Zen 4, one core, time with 128 over that with 256, AVX2 and AVX-512: 197 x 192 x 768 1.00 and 1.00, 256
    x 1024 x 1024 0.99 and 0.98, 256 x 768 x 3072 0.99 and 1.02, 1024 x 1024 x 1024 0.97 and 1.00."""
    most_time: float
    """The greatest share of the direct product's time at which Strassen's algorithm is chosen, as the weight grows."""


@dataclass(frozen=True)
class WindowCosts:
    """Of windows of plain tensors; `passes/kernel/costs/window_cost.py` has the times that they are fitted to."""

    most_taps: int
    """The most taps along a row whose positions are in the lanes: they are unrolled."""
    most_stretches: int
    """The most tiles of such a row with code of their own."""
    least_bytes: int
    """Of a register of which a row leaves parts empty."""
    least_filled: float
    """The share of the lanes that positions, or channels of packed blocks, fill at least."""
    packing_cycles: int
    """To pack or unpack a register, beside its shuffles."""


@dataclass(frozen=True)
class RecurrentCosts:
    """Of recurrent layers whose inputs are multiplied beside the products with the state (`costs/recurrent.py`)."""

    begun_bytes: int
    """Bytes of the multiply-adds that begin in a cycle which can be counted on: processors with registers of 512 bits
    have half as many multipliers for these (Zen 4)."""
    spare_bytes: int
    """Bytes of the conversions, shifts and additions that begin in a cycle beside multiply-adds; 0 where these are done
    by the same units, as of 512 bits on Intel's processors."""
    load_share: float
    """The share of the loads of such a tile that are not done while the step waits. With as few registers as AVX2 has,
    a tile takes so many that it does not pay: 1.10 of the time (LSTM of 256 units, Zen 4), where AVX-512 has 0.90."""
    l1_ways: int
    """So many lines stay in L1 whose addresses are a multiple of its size / `l1_ways` apart, as those of inputs of
    neighbouring steps may be. Tiles of 20 rows 2 KiB apart take 1.3 of the time of 10 (512 units, Zen 4)."""
    sharpness: int
    """As that of `Bandwidths`, of a weight that is read in each step."""
    most_time: float
    """The greatest share of the time of one product for all steps, and then the steps, at which this pays: the estimate
    is no better."""


@dataclass(frozen=True)
class SumsCosts:
    """Instructions of sums of products outside of vector registers, and how far their tiles go.

    An estimate of cycles counts one for each instruction.
    """

    spill: float
    """At each step for a value that has no register: it is loaded, and what it makes room for stored."""
    about: float
    """Up to this many times the instructions count as no more: the estimate is no better."""
    loop: int
    """Of an iteration beside its work: the counter and the jump."""
    tile: int
    """Of a tile beside its reduction: addresses, counters."""
    result: int
    """For each sum: what it begins with, and to store it."""
    word_load: int
    """For a word of several integers: its load, and what makes factors of it."""
    address_registers: int
    """Registers of addresses and counters in the innermost loop, if integers are summed up."""
    window_registers: int
    """Registers for each position of a window that keeps its weights."""
    most: int
    """The most positions, and the most outputs, of a tile."""
    most_small: int
    """The most outputs of a tile of small code: what becomes of each sum is code of its own."""
    recomputed: int
    """Operations of a tile for each one on an index that is computed again for it, at least."""
    predicate: int
    """Of a step that fills part of a vector."""
    strip: int
    """For a vector of elements of a strip: to load them, take off their zero point, and multiply and add."""
    patch: int
    """For a row of a patch, and for each register of it."""
    patch_share: int
    """Elements of a result for each byte of its patch, at least."""
    most_patch_time: float
    """The greatest share of the other way's instructions at which a patch is worth its memory."""
    quad: int
    """For four sums, and what becomes of them, in a vector."""
    ring_place: float
    """For the place of a row in a ring, which a tile of results is written to or computed of."""
    unrolled: int
    """Multiply-adds in one iteration of the innermost loop, at least."""


@dataclass(frozen=True)
class ScalarUnit:
    """Units of a core outside of vector registers."""

    multiply: Multiply
    """How products of integers are added up."""
    long_multiply: bool
    """Whether the product of two integers of 32 bits has 64 bits."""
    registers: int
    """Registers of integers that one loop can use, those of its addresses included."""
    offsets: bool
    """Whether a load of a byte extends it by its sign at a constant distance from a register; else that takes an
    instruction more."""
    unaligned: bool
    """Whether a load of a word may begin at any byte."""
    fpu: bool
    """Whether f32 is computed by instructions."""
    float_registers: int
    """Registers of f32; 0 without FPU."""
    sums: SumsCosts
    """Costs of sums of products."""

    @property
    def quads(self) -> bool:
        """Whether there are vectors of four integers of 32 bits and of four f32."""
        return self.multiply == "mve" and self.fpu


@dataclass(frozen=True)
class Core:
    """Facts known of every processor, with vectors or without."""

    name: str
    """Of the family, as in `FAMILIES`."""
    fma: bool
    """Whether a * b + c of f32 with one rounding is an instruction, as far as is known; of vectors, where there are."""
    l1: int
    """The data cache nearest to the core; 0 where there is none that can be counted on."""
    l2: int
    """The next cache, L2."""
    l3: int
    """The last one, shared with other cores."""
    cache_line: int
    """Bytes that a cache, or for want of one memory, moves at once."""
    threads: ThreadCosts | None
    """None where there are no threads."""
    scalars: ScalarUnit
    small: bool = field(default=False, kw_only=True)
    """Whether code is to be small: of the options rather than of the core, and matters without vectors only."""

    @property
    def multiply(self) -> Multiply:
        """How products of integers are added up."""
        return self.scalars.multiply

    @property
    def long_multiply(self) -> bool:
        """Whether the product of two integers of 32 bits has 64 bits."""
        return self.scalars.long_multiply

    @property
    def fpu(self) -> bool:
        """Whether f32 is computed by instructions."""
        return self.scalars.fpu

    @property
    def quads(self) -> bool:
        """Whether there are vectors of four integers of 32 bits and of four f32 (Helium with floats)."""
        return self.scalars.quads


@dataclass(frozen=True)
class Machine(Core):
    """A core with vectors: all that a cost model is told."""

    vector_bytes: int
    """Bytes of one vector register."""
    registers: int
    """The number of vector registers."""
    issue: int
    """Instructions on vector registers that begin in a cycle, whatever they compute."""
    tiles: TileCosts
    use: RegisterUse
    shares: CacheShares
    bandwidths: Bandwidths
    winograd: WinogradCosts
    strassen: StrassenCosts
    windows: WindowCosts
    recurrent: RecurrentCosts
    dot: DotProduct = _PORTABLE
    """How sums of products of 8-bit integers are computed."""
    lookup: ByteLookup = COMPUTED
    """How functions of bytes are looked up."""
    picks: bool = False
    """Whether an instruction picks the lanes of a register from another one or two, by numbers that are in a third."""
    weights: float = math.inf
    """Bytes of the weights that the whole model reads in an inference: of the model rather than of the core, and said
    by `with_weights`. Together they decide where each of them is at its next use."""

    def with_instructions(self, names: frozenset[str]) -> Self:
        """The same with these instructions, and what is computed with them at its cost."""
        dot, lookup = (price(names, self.vector_bytes, self.issue) for price in (dot_product, byte_lookup))
        return replace(self, dot=dot, lookup=lookup, picks=picks(names, self.vector_bytes))

    def with_weights(self, size: int) -> Self:
        """The same for a model that reads `size` bytes of weights in an inference."""
        return replace(self, weights=size)

    @property
    def enlarges_weights(self) -> bool:
        """Whether an algorithm may make weights larger to be faster: not where a model has very many, which whoever
        runs it must have room for and load."""
        return not MOST_ENLARGED < self.weights < math.inf

    def bytes_from(self, size: float) -> float:
        """Bytes a cycle of `size` bytes that are read in turn, again and again: from the nearest cache that keeps them
        all until then, or from memory."""
        if size <= self.l2 * self.shares.resident:
            return self.bandwidths.l2
        return self.bandwidths.l3 if size <= self.l3 * self.shares.weights else self.bandwidths.memory

    def weight_cycles(self, size: float, growth: float = 1, times: int = 1) -> float:
        """Cycles to fetch `size` bytes of weights `times` over in an inference, where an algorithm has made those of
        the model `growth` times as large: first from where all of them stay from one inference to the next."""
        again = (times - 1) * size / self.bytes_from(size)
        return size / self.bytes_from(self.weights * growth) + again


_NAMES: Final = ("l1", "l2", "l3")
_LEAST: Final = 1024
"""Bytes of the smallest cache: of much smaller ones a share has no room for an element."""


def with_caches(core: Core, spec: str, caches: str) -> Core:
    """`core` with the sizes that `caches` ("l2=512K,l3=8M") says; UsageError where it says anything else."""
    sizes: dict[str, int] = {}
    for item in caches.split(","):
        found = re.fullmatch(r"(\w+)=(\d+)([KM]?)", item)
        size = 0 if found is None else int(found[2]) << {"": 0, "K": 10, "M": 20}[found[3]]
        if found is None or found[1] not in _NAMES or size < _LEAST:
            fix = "write @l1=32K,l2=512K,l3=8M, or one of them, each at least 1K"
            raise UsageError("invalid-option", f"--target {spec}", f"{item!r} is not the size of a cache", fix)
        sizes[found[1]] = size
    if not isinstance(core, Machine):
        why = "without vectors nothing is decided by the size of a cache"
        raise UsageError("option-conflict", f"--target {spec}", why, f"use --target {spec.partition('@')[0]}")
    return replace(core, **sizes)
