"""Functions of floats: what each means is what numpy computes, and what C and LLVM print of it, bit for bit.

All 65,536 numbers of f16 and of bf16 are compared, and of f32 and f64 those beside which results change: every sign,
exponent and upper bit of the mantissa, with the bits below none, few, half, or all. Any NaN is as good as another, but
where it is converted.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from c_program import elementwise, parse, printed, run

from aotc.emit.llvm.ir import llvm_ir
from aotc.emit.llvm.jit import load_object
from aotc.machines.instructions.evaluation import ArrayValue, numpy_type
from aotc.machines.instructions.floats import FUNCTIONS, Function
from aotc.machines.instructions.values import bits_of
from aotc.machines.targets import binding, lookup
from aotc.passes.lower.convert_to_llvm import ConvertToLLVMPass

Array = np.ndarray[Any, Any]
CASES = [(name, kind) for name, f in FUNCTIONS.items() for kind in (("f32", "f64") if f.is_of_any else ("f32",))]
LANES = (1, 4, 8, 16)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """numpy warns of the very values that are tested."""
    with np.errstate(all="ignore"):
        yield


@cache
def _numbers(dtype: str) -> Array:
    """As many for every type, a multiple of `LANES`."""
    upper = np.arange(1 << 16, dtype=np.uint64)
    spare = bits_of(dtype) - 16
    if not spare:
        return np.resize(upper, 4 << 16).astype(np.uint16)
    below = (0, 1, 1 << spare - 1, (1 << spare) - 1)
    bits = np.concatenate([upper << np.uint64(spare) | np.uint64(low) for low in below])
    return bits.astype(f"u{bits_of(dtype) // 8}").view(numpy_type(dtype))


def _operands(function: Function, kind: str) -> list[Array]:
    """Of two operands the second is the first one, its opposite, or any other."""
    types, _ = function.types(kind)
    first = _numbers(types[0])
    second = np.random.default_rng(1).permutation(first)
    second[::4], second[1::4] = first[::4], -first[1::4]
    return [first, second][: len(types)]


def _meaning(function: Function, kind: str) -> Array:
    types, _ = function.types(kind)
    given = [ArrayValue(each, dtype) for each, dtype in zip(_operands(function, kind), types, strict=True)]
    found = function.meaning(*given)
    assert isinstance(found, ArrayValue)
    return found.array


def _bits(array: Array, exact: bool) -> Array:
    bits = array.view(f"u{array.itemsize}")
    return bits if exact or array.dtype.kind == "u" else np.where(np.isnan(array), bits.dtype.type(1), bits)


def _extreme(better: Callable[[Array, Array], Array], signed: bool) -> Callable[[Array, Array], Array]:
    def found(x: Array, y: Array) -> Array:
        return np.where(x == y, np.where(np.signbit(x) == signed, x, y), better(x, y))

    return found


REFERENCES: dict[str, Callable[..., Array]] = {
    "f16_to_f32": lambda x: x.view(np.float16).astype(np.float32),
    "f32_to_f16": lambda x: x.astype(np.float16).view(np.uint16),
    "bf16_to_f32": lambda x: x.view(ml_dtypes.bfloat16).astype(np.float32),
    "f32_to_bf16": lambda x: x.astype(ml_dtypes.bfloat16).view(np.uint16),
    "roundeven": np.rint,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "maximum": _extreme(np.maximum, signed=False),
    "minimum": _extreme(np.minimum, signed=True),
}


def _is_nan(array: Array, function: Function) -> Array:
    if array.dtype != np.uint16:
        return np.isnan(array)
    return np.isnan(array.view(ml_dtypes.bfloat16 if "bf16" in function.name else np.float16))


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_meanings_are_what_numpy_computes(name: str, kind: str) -> None:
    function = FUNCTIONS[name]
    found, expected = _meaning(function, kind), REFERENCES[name](*_operands(function, kind))
    is_nan = _is_nan(expected, function)
    np.testing.assert_array_equal(_is_nan(found, function), is_nan)
    np.testing.assert_array_equal(_bits(found, True)[~is_nan], _bits(expected, True)[~is_nan])


def _functions(lanes: int | None) -> str:
    """A function for each case, of scalars or of vectors."""
    return "".join(_function(number, name, kind, lanes) for number, (name, kind) in enumerate(CASES))


def _function(number: int, name: str, kind: str, lanes: int | None) -> str:
    function = FUNCTIONS[name]
    if not function.is_of_any:
        source, _, target = name.partition("_to_")
        how = "extf" if source in ("f16", "bf16") else "truncf"
        shape = f"vector<{lanes}x@>" if lanes else "@"
        kinds = [shape.replace("@", each) for each in (source, target)]
        body = f"arith.{how} %x0 : {kinds[0]} to {kinds[1]}"
        body = f'aot.tile_convert "{how}" %x0 : {kinds[0]} -> {kinds[1]}' if lanes else body
        inputs = [source]
    else:
        inputs, target = [*function.types(kind)[0]], kind
        operation = f"arith.{name}f %x0, %x1" if len(inputs) > 1 else f"math.{name} %x0"
        body = f"{operation} : {f'vector<{lanes}x{kind}>' if lanes else kind}"
    return elementwise(f"f{number}_{lanes or 1}", f"%r = {body}", inputs, target, len(_numbers("f32")), lanes)


def _check(name: str, kind: str, found: Array, where: object) -> None:
    exact = not FUNCTIONS[name].is_of_any
    np.testing.assert_array_equal(
        _bits(found, exact), _bits(_meaning(FUNCTIONS[name], kind), exact), f"{name} of {kind}, {where}"
    )


@pytest.mark.parametrize("flags", [("-O1", "-march=native"), ("-O2",)], ids=["native", "plain"])
@pytest.mark.parametrize("lanes", [None, *LANES])
def test_meanings_are_what_c_computes(lanes: int | None, flags: Sequence[str], tmp_path: Path) -> None:
    arrays: dict[str, Array] = {}
    calls: list[tuple[str, ...]] = []
    for number, (name, kind) in enumerate(CASES):
        names = [f"x{number}_{place}" for place in range(len(_operands(FUNCTIONS[name], kind)))]
        arrays |= dict(zip(names, _operands(FUNCTIONS[name], kind), strict=True))
        arrays[f"r{number}"] = np.zeros_like(_meaning(FUNCTIONS[name], kind))
        calls.append((f"f{number}_{lanes or 1}", *names, f"r{number}"))
    extra = ("-Wno-psabi", "-Wno-pedantic") if lanes else ()
    results = run(tmp_path, printed(parse(_functions(lanes))), arrays, calls, [*flags, *extra])
    for number, (name, kind) in enumerate(CASES):
        _check(name, kind, results[f"r{number}"], flags)


@pytest.mark.parametrize("target", ["host", None])
@pytest.mark.parametrize("lanes", [None, *LANES])
def test_meanings_are_what_llvm_computes(lanes: int | None, target: str | None) -> None:
    text = llvm_ir(ConvertToLLVMPass().convert(parse(_functions(lanes)), target))
    symbols = [f"f{number}_{lanes or 1}" for number in range(len(CASES))]
    library = load_object(lookup("host").machine(1).emit_object(binding().parse_assembly(text)), symbols)
    for symbol, (name, kind) in zip(symbols, CASES, strict=True):
        arrays = [*_operands(FUNCTIONS[name], kind), np.zeros_like(_meaning(FUNCTIONS[name], kind))]
        function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * len(arrays))(library.address(symbol))
        assert function(*(array.ctypes.data for array in arrays)) == 0
        _check(name, kind, arrays[-1], target)
