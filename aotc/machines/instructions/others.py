"""Instructions on floats of processors that have no others here: POWER, LoongArch and RISC-V.

None has a name in C yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from aotc.machines.instructions import floats
from aotc.machines.instructions.floats import Function
from aotc.machines.instructions.rows import Architecture, Instruction, Lanes, Spelling, of_floats
from aotc.machines.instructions.values import bits_of


def _architecture(name: str, *features: str) -> Architecture:
    def none(of: str | Lanes) -> str:
        raise AssertionError(f"C has no name for instructions with {of}")

    return Architecture(name, (), none, none, others=features)


POWER = _architecture("powerpc64le", "vsx", "power9-vector")
LOONGARCH = _architecture("loongarch64", "lsx", "lasx")
RISCV = tuple(_architecture(f"riscv{bits}", "d", "v", "zfa", "zfhmin") for bits in (32, 64))


_BOTH = ("f32", "f64")
_TABLE: tuple[tuple[Architecture, Sequence[str], Sequence[Function], Sequence[str], Sequence[int]], ...] = (
    (POWER, ["vsx"], floats.ROUNDS[1:], _BOTH, (0, 128)),  # ties to even only where a register says so
    (POWER, ["power9-vector"], floats.HALVES, ["f32"], (0, 128)),
    (LOONGARCH, ["lsx"], floats.ROUNDS, _BOTH, (0, 128)),
    (LOONGARCH, ["lasx"], floats.ROUNDS, _BOTH, (256,)),
    *((each, ["zfa"], floats.ROUNDS, ["f32"], (0,)) for each in RISCV),
    *((each, ["zfa", "d"], floats.ROUNDS, ["f64"], (0,)) for each in RISCV),
    *((each, ["zfa", "v"], floats.ROUNDS, _BOTH, (128,)) for each in RISCV),
    *((each, ["zfhmin"], floats.HALVES, ["f32"], (0, 128)) for each in RISCV),
)
"""Features that functions need, and on registers of how many bits; 0 is one number."""


def _rows() -> Iterator[Instruction]:
    for architecture, features, functions, dtypes, sizes in _TABLE:
        for function, dtype, size in product(functions, dtypes, sizes):
            lanes = size // bits_of(dtype) or 1
            name = f"{architecture.name}.{function.name}.{dtype}{f'x{lanes}' if size else ''}"
            yield of_floats(name, architecture, function, dtype, lanes, Spelling((*features,)))


ROWS = (*_rows(),)
