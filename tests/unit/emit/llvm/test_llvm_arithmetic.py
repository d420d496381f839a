"""Operations on scalars and vectors through the LLVM route, computed in this process, against numpy on special values.

Every function runs twice: for the host, whose processor has most instructions, and for no target in particular, where
rounding, extremes and conversions of narrow floats are expanded; the results must agree bit for bit.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.parser import Parser

from aotc.compiler.lowering import new_context
from aotc.dialects.aot import tiles
from aotc.emit.llvm.ir import llvm_ir
from aotc.emit.llvm.jit import JitLibrary, load_object
from aotc.errors import CompileError
from aotc.machines.targets import binding, lookup
from aotc.passes.loops.select_instructions import SelectInstructionsPass
from aotc.passes.lower.arith import LIBM
from aotc.passes.lower.convert_to_llvm import ConvertToLLVMPass

Array = np.ndarray[Any, Any]
TARGETS = ("host", None)
NAMES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i1": np.bool_}
NAMES |= {f"i{bits}": np.dtype(f"int{bits}").type for bits in (8, 16, 32, 64)}

TINY = [0.0, -0.0, 0.25, -0.25, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.5, -2.5, 0.49999997, 3.4999998, 1e-40, -1e-40]
LARGE = [8388607.5, -8388607.5, 8388608.0, 4503599627370495.5, 1e30, -1e30, np.inf, -np.inf, np.nan]
FLOATS = [*TINY, *LARGE, 65504.0, 65519.996, 65520.0, 65536.0, 6.1035156e-05, 5.9604645e-08, 2.9802322e-08, 3e-08]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """numpy warns of the very values that are tested."""
    with np.errstate(all="ignore"):
        yield


LANES = 8
SCALAR = {operation.name for operation in LIBM}


def on_vectors(body: str) -> str | None:
    """`body` as operations on vectors; None where those lack one of its operations."""
    lines: list[str] = []
    for line in body.splitlines():
        result, _, name, rest = line.split(maxsplit=3)
        *operands, kind = re.split(r", | : ", rest)
        source, _, to = kind.partition(" to ")
        source, to = f"vector<{LANES}x{source}>", f"vector<{LANES}x{to}>"
        if name in SCALAR:
            return None
        if name.startswith("arith.cmp"):
            if operands[0] not in tiles.COMPARISONS:
                return None
            predicate, *operands = operands
            name, kind = f'aot.tile_compare "{predicate}"', f"{source} -> vector<{LANES}xi1>"
        elif to != f"vector<{LANES}x>":
            name, kind = f'aot.tile_convert "{name.partition(".")[2]}"', f"{source} -> {to}"
        else:
            kind = source
        values = f"dense<{operands[0]}>" if name == "arith.constant" else ", ".join(operands)
        lines.append(f"{result} = {name} {values} : {kind}")
    return "\n".join(lines)


def run(body: str, inputs: list[str], output: str, arrays: list[Array], target: str | None) -> list[Array]:
    """Apply `%r = body(%a, %b, ..)` to each element of the arrays, one by one and, if that can be, by vectors."""
    count = len(arrays[0])
    length = -(-count // LANES) * LANES
    kinds = [*inputs, output]
    bodies = [each for each in (body, on_vectors(body)) if each is not None]
    buffers = "\n".join(
        f"%m{n} = aot.buffer %p{n} : !aot.ptr<{kind}> to memref<{length}x{kind}>" for n, kind in enumerate(kinds)
    )
    functions: list[str] = []
    for number, each in enumerate(bodies):
        loads = "\n".join(f"%{'abc'[n]} = {_load(f'%m{n}', length, kind, number)}" for n, kind in enumerate(inputs))
        functions.append(f"""
    func.func @f{number}({", ".join(f"%p{n}: !aot.ptr<{kind}>" for n, kind in enumerate(kinds))}) -> i32 {{
      %c0 = arith.constant 0 : index
      %step = arith.constant {LANES if number else 1} : index
      %n = arith.constant {length} : index
      {buffers}
      scf.for %i = %c0 to %n step %step {{
        {loads}
        {each}
        {_store(f"%m{len(inputs)}", length, output, number)}
      }}
      %ok = arith.constant 0 : i32
      func.return %ok : i32
    }}""")
    text = f"builtin.module {{ {' '.join(functions)} }}"
    parsed = Parser(new_context(), text).parse_module()
    SelectInstructionsPass().apply(new_context(), parsed)
    module = ConvertToLLVMPass().convert(parsed, target)
    module.verify()
    library = compile_text(llvm_ir(module), [f"f{number}" for number in range(len(bodies))])
    arguments = [
        np.pad(array.astype(NAMES[kind]), (0, length - count), "edge")
        for array, kind in zip(arrays, inputs, strict=True)
    ]
    results: list[Array] = []
    for number in range(len(bodies)):
        result = np.empty(length, NAMES[output])
        function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * len(kinds))(library.address(f"f{number}"))
        assert function(*(array.ctypes.data for array in arguments), result.ctypes.data) == 0
        results.append(result[:count])
    return results


def _load(buffer: str, length: int, kind: str, vectors: int) -> str:
    if not vectors:
        return f"memref.load {buffer}[%i] : memref<{length}x{kind}>"
    return f"aot.tile_load {buffer}[%i] {{strides = array<i64: 1>}} : memref<{length}x{kind}> -> vector<{LANES}x{kind}>"


def _store(buffer: str, length: int, kind: str, vectors: int) -> str:
    if not vectors:
        return f"memref.store %r, {buffer}[%i] : memref<{length}x{kind}>"
    place = f"{buffer}[%i] {{strides = array<i64: 1>}}"
    return f"aot.tile_store %r, {place} : vector<{LANES}x{kind}>, memref<{length}x{kind}>"


def compile_text(text: str, exports: list[str]) -> JitLibrary:
    """LLVM text as code of this process, without optimisation that could fold what is tested."""
    machine = lookup("host").machine(0)
    module = binding().parse_assembly(text)
    module.verify()
    return load_object(machine.emit_object(module), exports)


def bits(array: Array) -> Array:
    """The bit patterns, all NaNs alike."""
    pattern = array.view(f"u{array.itemsize}")
    if array.dtype == np.bool_ or array.dtype.kind in "iu":
        return pattern
    return np.where(np.isnan(array.astype(np.float64)), np.array(-1).astype(pattern.dtype), pattern)


def check(body: str, inputs: list[str], output: str, arrays: list[Array], expected: Array) -> None:
    """Compare with `expected` bit by bit on every target."""
    for target in TARGETS:
        for found in run(body, inputs, output, arrays, target):
            np.testing.assert_array_equal(bits(found), bits(expected.astype(NAMES[output])), err_msg=f"target {target}")


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize(
    ("name", "reference"),
    [("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("roundeven", np.rint), ("absf", np.abs)],
)
def test_rounding(name: str, kind: str, reference: Callable[[Array], Array]) -> None:
    x = np.array(FLOATS, NAMES[kind])
    check(f"%r = math.{name} %a : {kind}", [kind], kind, [x], reference(x))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_round_half_away(kind: str) -> None:
    x = np.array(FLOATS, NAMES[kind])
    away = np.copysign(np.floor(np.abs(x.astype(np.longdouble)) + np.longdouble(0.5)), x)
    check(f"%r = math.round %a : {kind}", [kind], kind, [x], away.astype(x.dtype))


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", ["maximumf", "minimumf"])
def test_extremes(name: str, kind: str) -> None:
    a, b = (
        each.ravel() for each in np.meshgrid(np.array(FLOATS[:8] + LARGE, np.float64), np.array(FLOATS[:8] + LARGE))
    )
    a, b = a.astype(NAMES[kind]).astype(np.float64), b.astype(NAMES[kind]).astype(np.float64)
    greater = name == "maximumf"
    zeros = (a == 0) & (b == 0)
    first = (a > b) if greater else (a < b)
    signed_zero = np.where(np.signbit(a) & np.signbit(b) if greater else np.signbit(a) | np.signbit(b), -0.0, 0.0)
    expected = np.where(zeros, signed_zero, np.where(first | np.isnan(a), a, b))
    check(f"%r = arith.{name} %a, %b : {kind}", [kind, kind], kind, [a, b], expected)


@pytest.mark.parametrize("bound", [0.0, -0.0, 6.0])
@pytest.mark.parametrize("name", ["maximumf", "minimumf"])
@pytest.mark.parametrize("order", ["%a, %k", "%k, %a"])
def test_extremes_with_a_constant(name: str, bound: float, order: str) -> None:
    x = np.array(FLOATS, np.float32)
    greater = name == "maximumf"
    signed = np.signbit(x) & np.signbit(bound) if greater else np.signbit(x) | np.signbit(bound)
    chosen = np.where((x > bound) if greater else (x < bound), x, np.float32(bound))
    expected = np.where(np.isnan(x), x, np.where((x == 0) & (bound == 0), np.where(signed, -0.0, 0.0), chosen))
    body = f"%k = arith.constant {bound:e} : f32\n%r = arith.{name} {order} : f32"
    check(body, ["f32"], "f32", [x], expected.astype(np.float32))


@pytest.mark.parametrize("narrow", ["f16", "bf16"])
def test_narrow_floats(narrow: str) -> None:
    every = np.arange(2**16, dtype=np.uint16).view(NAMES[narrow])
    exact = every.astype(np.float32)
    check(f"%r = arith.extf %a : {narrow} to f32", [narrow], "f32", [every], exact)
    check(f"%r = arith.truncf %a : f32 to {narrow}", ["f32"], narrow, [exact], every)
    finite = np.unique(exact[np.isfinite(exact)])
    middle = (finite[:-1].astype(np.float64) + finite[1:].astype(np.float64)) / 2
    x = np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf), FLOATS])
    x = x.astype(np.float32)
    expected = nearest(x, finite).astype(NAMES[narrow])
    check(f"%r = arith.truncf %a : f32 to {narrow}", ["f32"], narrow, [x], expected)


def nearest(x: Array, grid: Array) -> Array:
    """The element of a sorted grid nearest to each x, ties to the even bit pattern; beyond the grid infinity."""
    numbers = np.where(np.isnan(x), 0.0, x).astype(np.float64)
    above = np.clip(np.searchsorted(grid, numbers), 1, len(grid) - 1)
    low, high = grid[above - 1].astype(np.float64), grid[above].astype(np.float64)
    down, up = numbers - low, high - numbers
    even = (np.arange(len(grid)) % 2 == len(grid) // 2 % 2)[above]  # the grid is symmetric around an even zero
    chosen = np.where((up < down) | ((up == down) & even), high, low)
    half_step = (grid[-1].astype(np.float64) - grid[-2].astype(np.float64)) / 2
    chosen = np.where(
        numbers >= grid[-1] + half_step, np.inf, np.where(numbers <= grid[0] - half_step, -np.inf, chosen)
    )
    return np.where(np.isnan(x), np.nan, np.where(chosen == 0, np.copysign(0.0, x.astype(np.float64)), chosen))


@pytest.mark.parametrize(
    "body",
    [
        "%r = arith.addf %a, %a : f16",
        "%r = math.absf %a : f16",
        "%b = arith.fptosi %a : f16 to i8\n%r = arith.sitofp %b : i8 to f16",
        "%b = arith.extf %a : f16 to f64\n%r = arith.truncf %b : f64 to f16",
    ],
)
def test_arithmetic_of_narrow_floats_is_refused(body: str) -> None:
    with pytest.raises(CompileError, match="of f16 or bf16"):
        run(body, ["f16"], "f16", [np.zeros(8, np.float16)], None)


COMPARISONS = {
    "oeq": lambda a, b: a == b,
    "ogt": lambda a, b: a > b,
    "oge": lambda a, b: a >= b,
    "olt": lambda a, b: a < b,
    "ole": lambda a, b: a <= b,
    "one": lambda a, b: (a < b) | (a > b),
    "ord": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "ueq": lambda a, b: ~((a < b) | (a > b)),
    "ugt": lambda a, b: ~(a <= b),
    "uge": lambda a, b: ~(a < b),
    "ult": lambda a, b: ~(a >= b),
    "ule": lambda a, b: ~(a > b),
    "une": lambda a, b: ~(a == b),
    "uno": lambda a, b: np.isnan(a) | np.isnan(b),
    "false": lambda a, b: np.zeros(len(a), bool),
    "true": lambda a, b: np.ones(len(a), bool),
}


@pytest.mark.parametrize("predicate", COMPARISONS)
def test_float_comparison(predicate: str) -> None:
    a, b = (each.ravel() for each in np.meshgrid([0.0, -0.0, 1.0, -1.0, np.inf, np.nan], [0.0, 1.0, -np.inf, np.nan]))
    body = f"%r = arith.cmpf {predicate}, %a, %b : f32"
    check(body, ["f32", "f32"], "i1", [a, b], COMPARISONS[predicate](a, b))


INTEGERS = [0, 1, -1, 2, -2, 7, -7, 100, -100, 127, -128]


@pytest.mark.parametrize("kind", ["i8", "i32", "i64"])
@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
def test_integer_comparison(predicate: str, kind: str) -> None:
    a, b = (each.ravel().astype(NAMES[kind]) for each in np.meshgrid(INTEGERS, INTEGERS))
    unsigned = predicate[0] == "u"
    left, right = (each.view(f"u{each.itemsize}") if unsigned else each for each in (a, b))
    compare = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}
    compare |= {"gt": np.greater, "ge": np.greater_equal}
    expected = compare[predicate[-2:]](left, right)
    check(f"%r = arith.cmpi {predicate}, %a, %b : {kind}", [kind, kind], "i1", [a, b], expected)


def _c_division(a: Array, b: Array) -> Array:
    return np.trunc(a.astype(np.float64) / b).astype(np.int64)


INTEGER_FUNCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "maxsi": np.maximum,
    "minsi": np.minimum,
    "divsi": _c_division,
    "remsi": lambda a, b: a - _c_division(a, b) * b,
    "floordivsi": lambda a, b: np.floor_divide(a.astype(np.int64), b.astype(np.int64)),
    "ceildivsi": lambda a, b: -np.floor_divide(-a.astype(np.int64), b.astype(np.int64)),
}
UNSIGNED_FUNCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "divui": np.floor_divide,
    "remui": np.remainder,
    "maxui": np.maximum,
    "minui": np.minimum,
    "ceildivui": lambda a, b: a // b + (a % b != 0),
}


@pytest.mark.parametrize("kind", ["i8", "i32"])
@pytest.mark.parametrize("name", [*INTEGER_FUNCTIONS, *UNSIGNED_FUNCTIONS])
def test_integer_arithmetic(name: str, kind: str) -> None:
    a, b = (each.ravel().astype(NAMES[kind]) for each in np.meshgrid(INTEGERS, INTEGERS))
    keep = b != 0
    if name in INTEGER_FUNCTIONS:
        keep &= ~((b == -1) & (a == np.iinfo(a.dtype).min))
        a, b = a[keep], b[keep]
        expected = INTEGER_FUNCTIONS[name](a, b)
    else:
        a, b = a[keep], b[keep]
        expected = UNSIGNED_FUNCTIONS[name](a.view(f"u{a.itemsize}"), b.view(f"u{b.itemsize}"))
    check(f"%r = arith.{name} %a, %b : {kind}", [kind, kind], kind, [a, b], expected)


@pytest.mark.parametrize(
    ("name", "reference"),
    [("exp", np.exp), ("log", np.log), ("tanh", np.tanh), ("sin", np.sin), ("atan", np.arctan), ("log1p", np.log1p)],
)
def test_libm_is_found(name: str, reference: Callable[[Array], Array]) -> None:
    x = np.linspace(0.1, 3, 50)
    for kind, tolerance in (("f32", 1e-6), ("f64", 1e-14)):
        (found,) = run(f"%r = math.{name} %a : {kind}", [kind], kind, [x], "host")
        np.testing.assert_allclose(found, reference(x.astype(NAMES[kind])), rtol=tolerance)


def test_remainder_of_floats() -> None:
    a, b = np.array([5.5, -5.5, 1e10, 3.0]), np.array([2.0, 2.0, 3.0, np.inf])
    check("%r = aot.fmod %a, %b : f32", ["f32", "f32"], "f32", [a, b], np.fmod(a.astype("f4"), b.astype("f4")))


@pytest.mark.parametrize("kind", ["i1", "i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("wide", ["f32", "f64"])
def test_integers_to_floats(kind: str, wide: str) -> None:
    x = np.array([0, 1] if kind == "i1" else INTEGERS).astype(NAMES[kind])
    unsigned = x if kind == "i1" else x.view(f"u{x.itemsize}")
    signed = -x.astype(np.int8) if kind == "i1" else x
    check(f"%r = arith.sitofp %a : {kind} to {wide}", [kind], wide, [x], signed.astype(NAMES[wide]))
    check(f"%r = arith.uitofp %a : {kind} to {wide}", [kind], wide, [x], unsigned.astype(NAMES[wide]))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_floats_to_integers(kind: str) -> None:
    x = np.array([0.0, 1.9, -1.9, 100.5, -100.5]).astype(NAMES[kind])
    check(f"%r = arith.fptosi %a : {kind} to i8", [kind], "i8", [x], np.trunc(x.astype(np.float64)))
    check(f"%r = arith.fptoui %a : {kind} to i32", [kind], "i32", [abs(x)], np.trunc(abs(x).astype(np.float64)))
