"""Features of a processor beyond the base of its architecture, and how a program asks for it.

Code that was compiled for a target ends in an illegal instruction on a processor without the target's features. The
rows are those that code generation uses on its own accord; what only system programs or intrinsics use (keys, counters,
cryptography, state of the operating system) has none. Bits are those of the makers' manuals and of Linux's headers
`asm/hwcap.h`; Linux's names are those of /proc/cpuinfo.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aotc.machines import processor

if TYPE_CHECKING:
    from llvmlite.binding import TargetMachine

YMM: Final = 0x6
"""Bits of the register XCR0: the operating system saves registers of 32 bytes."""
ZMM: Final = 0xE6
"""The same of those of 64 bytes."""

EAX, EBX, ECX, EDX = range(4)
HWCAP: Final = 16
HWCAP2: Final = 26


@dataclass(frozen=True)
class Feature:
    """One feature: LLVM's name, Linux's name for it, and the bit that says it is there.

    On x86 `leaf` and `subleaf` are what cpuid is given, `slot` is which of its four results, and `state`
    what of XCR0 there must be; elsewhere `slot` is what getauxval is given.
    """

    name: str
    flag: str
    slot: int
    bit: int
    leaf: int = 0
    subleaf: int = 0
    state: int = 0


def _x86(leaf: int, subleaf: int, slot: int, *rows: tuple[str, str, int, int]) -> tuple[Feature, ...]:
    return tuple(Feature(name, flag, slot, bit, leaf, subleaf, state) for name, flag, bit, state in rows)


def _auxiliary(slot: int, *rows: tuple[str, str, int]) -> tuple[Feature, ...]:
    return tuple(Feature(name, flag, slot, bit) for name, flag, bit in rows)


FEATURES: Final[dict[str, tuple[Feature, ...]]] = {
    "x86_64": (
        *_x86(
            *(1, 0, ECX),
            ("sse3", "pni", 0, 0),
            ("ssse3", "ssse3", 9, 0),
            ("fma", "fma", 12, YMM),
            ("sse4.1", "sse4_1", 19, 0),
            ("sse4.2", "sse4_2", 20, 0),
            ("movbe", "movbe", 22, 0),
            ("popcnt", "popcnt", 23, 0),
            ("avx", "avx", 28, YMM),
            ("f16c", "f16c", 29, YMM),
        ),
        *_x86(
            *(7, 0, EBX),
            ("bmi", "bmi1", 3, 0),
            ("avx2", "avx2", 5, YMM),
            ("bmi2", "bmi2", 8, 0),
            ("avx512f", "avx512f", 16, ZMM),
            ("avx512dq", "avx512dq", 17, ZMM),
            ("avx512ifma", "avx512ifma", 21, ZMM),
            ("avx512cd", "avx512cd", 28, ZMM),
            ("avx512bw", "avx512bw", 30, ZMM),
            ("avx512vl", "avx512vl", 31, ZMM),
        ),
        *_x86(
            *(7, 0, ECX),
            ("avx512vbmi", "avx512vbmi", 1, ZMM),
            ("avx512vbmi2", "avx512_vbmi2", 6, ZMM),
            ("gfni", "gfni", 8, 0),
            ("avx512vnni", "avx512_vnni", 11, ZMM),
            ("avx512bitalg", "avx512_bitalg", 12, ZMM),
            ("avx512vpopcntdq", "avx512_vpopcntdq", 14, ZMM),
        ),
        *_x86(
            *(7, 0, EDX),
            ("avx512vp2intersect", "avx512_vp2intersect", 8, ZMM),
            ("avx512fp16", "avx512_fp16", 23, ZMM),
        ),
        *_x86(
            *(7, 1, EAX),
            ("avxvnni", "avx_vnni", 4, YMM),
            ("avx512bf16", "avx512_bf16", 5, ZMM),
            ("avxifma", "avx_ifma", 23, YMM),
        ),
        *_x86(
            *(7, 1, EDX),
            ("avxvnniint8", "avx_vnni_int8", 4, YMM),
            ("avxneconvert", "avx_ne_convert", 5, YMM),
            ("avxvnniint16", "avx_vnni_int16", 10, YMM),
        ),
        *_x86(
            *(0x80000001, 0, ECX),
            ("lzcnt", "abm", 5, 0),
            ("sse4a", "sse4a", 6, 0),
            ("xop", "xop", 11, YMM),
            ("fma4", "fma4", 16, YMM),
            ("tbm", "tbm", 21, 0),
        ),
    ),
    "aarch64": (
        *_auxiliary(
            HWCAP,
            ("lse", "atomics", 8),
            ("fullfp16", "asimdhp", 10),
            ("rdm", "asimdrdm", 12),
            ("jsconv", "jscvt", 13),
            ("complxnum", "fcma", 14),
            ("rcpc", "lrcpc", 15),
            ("dotprod", "asimddp", 20),
            ("sve", "sve", 22),
            ("fp16fml", "asimdfhm", 23),
        ),
        *_auxiliary(HWCAP2, ("sve2", "sve2", 1), ("i8mm", "i8mm", 13), ("bf16", "bf16", 14)),
    ),
    "armv7": _auxiliary(HWCAP, ("neon", "neon", 12), ("vfp3", "vfpv3", 13), ("vfp4", "vfpv4", 16)),
    "riscv64": _auxiliary(HWCAP, ("v", "v", 21)),
}
"""By architecture, as a target's triple begins."""


def rows_of(names: Iterable[str]) -> tuple[str, tuple[Feature, ...]]:
    """The architecture that has these features, of which there is at least one, and their rows."""
    wanted = {*names}
    for architecture, rows in FEATURES.items():
        if found := tuple(row for row in rows if row.name in wanted):
            return architecture, found
    raise ValueError(f"no architecture has {', '.join(sorted(wanted))}")


@dataclass(frozen=True)
class Checks:
    """The features that a program must find on x86: for each leaf and part of cpuid the bits of its results, and of
    XCR0."""

    leaves: tuple[tuple[int, int, tuple[tuple[int, int], ...]], ...]
    state: int


_XGETBV: Final = Feature("", "", ECX, 27, 1)
"""Whether XCR0 can be read at all."""


def checks(rows: Iterable[Feature]) -> Checks:
    """How the features of x86 are asked for."""
    rows = [*rows]
    state = 0
    for row in rows:
        state |= row.state
    found: dict[tuple[int, int], dict[int, int]] = {}
    for row in [*rows, *([_XGETBV] if state else [])]:
        slots = found.setdefault((row.leaf, row.subleaf), {})
        slots[row.slot] = slots.get(row.slot, 0) | 1 << row.bit
    leaves = ((leaf, subleaf, tuple(sorted(slots.items()))) for (leaf, subleaf), slots in sorted(found.items()))
    return Checks(tuple(leaves), state)


def here() -> tuple[str, ...] | None:
    """The features of this machine's processor that have rows; None where the operating system does not say them."""
    rows = FEATURES.get(processor.architecture())
    given = processor.feature_names()
    if rows is None or not given:
        return None
    return tuple(row.name for row in rows if row.flag in given)


def present(llvm: Any, triple: str, cpu: str, features: str, machine: TargetMachine, names: Sequence[str]) -> set[str]:
    """Which of some features a target has, by LLVM's own tables: a function is inlined only where its caller has them
    all."""
    text = [f'target triple = "{triple}"']
    for number, name in enumerate(names):
        more = ",".join(each for each in (features, f"+{name}") if each)
        text += [
            f'define internal void @callee{number}(ptr %p) "target-cpu"="{cpu}" "target-features"="{more}" {{',
            f"  store volatile i32 {number}, ptr %p\n  ret void\n}}",
            f'define void @caller{number}(ptr %p) "target-cpu"="{cpu}" "target-features"="{features}" {{',
            f"  call void @callee{number}(ptr %p)\n  ret void\n}}",
        ]
    module = llvm.parse_assembly("\n".join(text))
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    calls = str(module)
    return {name for number, name in enumerate(names) if f"@callee{number}(ptr" not in calls}
