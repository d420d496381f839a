"""Products of i32 with fixed-point numbers, rounded twice, as TFLite's kernels have them (`aot.tile_rescale`).

x86 multiplies every other lane in 64 bits: even lanes as they are, odd ones shifted down; the upper halves of both
kinds of products are put together. Without that instruction all lanes are widened.
"""

from aotc.machines.expansions.vocabulary import Processor, V
from aotc.machines.instructions.values import bits_of

_NUDGE = 1 << 30


def rescaled(p: Processor[V], x: V, factor: V, shift: V) -> V:
    """x * factor / 2^31 to the nearest integer, the middle up, then its quotient by 2^shift, the middle away from
    zero."""
    high = _high(p, x, factor)
    mask = (shift.number(1, shift.dtype) << shift) - 1
    middle = (mask >> 1) - (high >> 31)
    up = ((high & mask) > middle).select(1, high.number(0, high.dtype))
    return (high >> shift) + up


def _high(p: Processor[V], x: V, factor: V) -> V:
    """Twice the upper halves of products."""
    if p.has(name := f"pmuldq.{bits_of(x.dtype) * x.lanes}"):
        even = p.apply(name, x, factor) + _NUDGE
        odd = p.apply(name, *((each.reinterpret("s64") >> 32).reinterpret("s32") for each in (x, factor))) + _NUDGE
        low, high = (even >> 31).reinterpret("s32"), (odd << 1).reinterpret("s32")
        return low.shuffle([lane + x.lanes * (lane % 2) for lane in range(x.lanes)], high)
    product = x.convert("s64") * factor.convert("s64") + _NUDGE
    return (product >> 31).convert("s32")
