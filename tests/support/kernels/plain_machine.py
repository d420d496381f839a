"""A machine whose numbers are easy to reckon with, for tests of cost models.

A step of a tile of P x Q registers takes P * Q cycles, or P + Q if that is more; Q * 2 where its panel, of more than
512 bytes, comes from L2 again for each tile of rows. A panel of at most 4 KiB stays in L2: 128 registers.
"""

from __future__ import annotations

from dataclasses import replace

from codegens.tested_targets import AVX2

from aotc.machines.machine import Bandwidths, Machine, TileCosts

TILES = TileCosts(
    multipliers=1,
    loads=1,
    latency=0,
    busy_results=0,
    stall_cycles=0,
    load_factor=1,
    load_cycles=0,
    start_cycles=1,
    write_cycles=0,
    burst_results=16,
    hiding_steps=1,
    widest=4,
    unroll=1,
    block_unroll=1,
    prefetch_lines=1,
    hidden_lines=1,
    most_inner_product_time=1,
)
assert isinstance(AVX2.core, Machine)
MACHINE = replace(
    AVX2.core,
    l1=1 << 10,
    l2=8 << 10,
    tiles=TILES,
    threads=None,
    shares=replace(AVX2.core.shares, panel=1 / 2, resident=1 / 4, transforms=1 / 2),
    bandwidths=Bandwidths(l2=16, l3=8, memory=4, sharpness=2),
)
