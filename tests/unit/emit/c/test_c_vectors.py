"""Vector operations in C against the scalar ones, bit for bit, with the instructions of several processors."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from c_program import WARNINGS, elementwise, run, source_once

from aotc.emit.c.definitions.macros import prologue
from aotc.machines.targets import lookup
from aotc.model.weight_store import Array

DTYPES: dict[str, np.dtype[Any]] = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "i1": np.dtype(np.bool_),
    **{f"i{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
}
CORNERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-42, -1e-42, 3e38, -3e38, 0.1, np.inf, -np.inf, np.nan]
FLOATS = ("f32", "f64")
INTEGERS = ("i8", "i16", "i32", "i64")


@dataclass(frozen=True)
class Case:
    """One function: IR for vectors and for scalars, in which @ stands for `vector<..x` and # for its end."""

    body: str
    inputs: tuple[str, ...]
    output: str
    scalar: str | None = None
    """Where the scalar operation is spelt otherwise."""
    bounds: tuple[float, float] | None = None
    """Values of inputs, where not every one is defined."""


def cases() -> Iterator[Case]:
    for kind in FLOATS:
        two = (kind, kind)
        for name in ("arith.subf", "arith.divf", "arith.maximumf", "arith.minimumf", "math.copysign"):
            yield Case(f"%r = {name} %x0, %x1 : @{kind}#", two, kind)
        for name in ("absf", "ceil", "floor", "trunc", "roundeven", "sqrt"):
            yield Case(f"%r = math.{name} %x0 : @{kind}#", (kind,), kind)
        yield Case(f"%r = arith.negf %x0 : @{kind}#", (kind,), kind)
        for bound in ("0.0", "-0.0", "1.5"):
            constant = f"%b = arith.constant dense<{bound}> : @{kind}#\n"
            for name in ("maximumf %x0, %b", "minimumf %b, %x0"):
                body = f"{constant}%r = arith.{name} : @{kind}#"
                yield Case(body, (kind,), kind, body.replace(f"dense<{bound}>", bound))
        for predicate in ("oeq", "une", "olt", "ole", "ogt", "oge"):
            compare = f'%c = aot.tile_compare "{predicate}" %x0, %x1 : @{kind}# -> @i1#\n'
            scalar = f"%c = arith.cmpf {predicate}, %x0, %x1 : {kind}\n"
            for a, b in (("%x0", "%x1"), ("%x1", "%x0")):
                select = f"%r = aot.tile_select %c, {a}, {b} : @i1#, @{kind}#"
                yield Case(compare + select, two, kind, f"{scalar}%r = arith.select %c, {a}, {b} : {kind}")
            yield Case(compare.replace("%c", "%r", 1), two, "i1", scalar.replace("%c", "%r", 1))
    for kind in INTEGERS:
        two = (kind, kind)
        bits = int(kind[1:])
        for name in ("addi", "subi", "muli", "andi", "ori", "xori", "minsi", "maxsi", "minui", "maxui"):
            yield Case(f"%r = arith.{name} %x0, %x1 : @{kind}#", two, kind)
        for name in ("divsi", "remsi", "divui", "remui", "floordivsi", "ceildivsi", "ceildivui"):
            yield Case(f"%r = arith.{name} %x0, %x1 : @{kind}#", two, kind, bounds=(1, 90))
        for name in ("divsi", "remsi", "floordivsi", "ceildivsi"):
            yield Case(f"%r = arith.{name} %x0, %x1 : @{kind}#", two, kind, bounds=(-90, -2))
        for name, by in (("shli", bits - 3), ("shrsi", bits - 3), ("shrui", bits - 3), ("shrsi", bits - 1)):
            constant = f"%b = arith.constant dense<{by}> : @{kind}#\n"
            body = f"{constant}%r = arith.{name} %x0, %b : @{kind}#"
            yield Case(body, (kind,), kind, body.replace(f"dense<{by}>", str(by)))
        yield Case(f"%r = math.absi %x0 : @{kind}#", (kind,), kind)
        for predicate in ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"):
            compare = f'%c = aot.tile_compare "{predicate}" %x0, %x1 : @{kind}# -> @i1#\n'
            scalar = f"%c = arith.cmpi {predicate}, %x0, %x1 : {kind}\n"
            select = f"%r = aot.tile_select %c, %x0, %x1 : @i1#, @{kind}#"
            if predicate in ("eq", "slt", "uge") or kind == "i32":
                yield Case(compare + select, two, kind, f"{scalar}%r = arith.select %c, %x0, %x1 : {kind}")
    yield from conversions()
    yield from masks()


def convert(name: str, source: str, target: str, bounds: tuple[float, float] | None = None) -> Case:
    body = f'%r = aot.tile_convert "{name}" %x0 : @{source}# -> @{target}#'
    return Case(body, (source,), target, f"%r = arith.{name} %x0 : {source} to {target}", bounds)


def conversions() -> Iterator[Case]:
    for narrow, wide in (("f32", "f64"), ("f16", "f32"), ("bf16", "f32")):
        yield convert("extf", narrow, wide)
        yield convert("truncf", wide, narrow)
    for integer in ("i1", *INTEGERS):
        bits = int(integer[1:])
        for kind in FLOATS:
            signed, unsigned = (-100.9, 100.9), (0.0, 200.9)
            if bits > 1:
                yield convert("fptosi", kind, integer, signed)
                yield convert("fptoui", kind, integer, unsigned)
            yield convert("sitofp", integer, kind)
            yield convert("uitofp", integer, kind)
        for wide in INTEGERS:
            if bits < int(wide[1:]):
                yield convert("extsi", integer, wide)
                yield convert("extui", integer, wide)
                yield convert("trunci", wide, integer)
    for kind, integer in (("f32", "i32"), ("f64", "i64"), ("f16", "i16"), ("bf16", "i16")):
        yield Case(f"%r = arith.bitcast %x0 : @{kind}# to @{integer}#", (kind,), integer)
        yield Case(f"%r = arith.bitcast %x0 : @{integer}# to @{kind}#", (integer,), kind)


def masks() -> Iterator[Case]:
    """Booleans that come from operands of one width and go to those of another."""
    for name in ("andi", "ori", "xori"):
        body = (
            '%a = aot.tile_compare "olt" %x0, %x1 : @f32# -> @i1#\n'
            '%b = aot.tile_compare "slt" %x2, %x3 : @i8# -> @i1#\n'
            f"%c = arith.{name} %a, %b : @i1#\n"
            "%r = aot.tile_select %c, %x4, %x5 : @i1#, @f64#"
        )
        scalar = (
            "%a = arith.cmpf olt, %x0, %x1 : f32\n%b = arith.cmpi slt, %x2, %x3 : i8\n"
            f"%c = arith.{name} %a, %b : i1\n%r = arith.select %c, %x4, %x5 : f64"
        )
        yield Case(body, ("f32", "f32", "i8", "i8", "f64", "f64"), "f64", scalar)
        yield Case(f"%r = arith.{name} %x0, %x1 : @i1#", ("i1", "i1"), "i1")
    select = "%r = aot.tile_select %x0, %x1, %x2 : @i1#, @i1#"
    yield Case(select, ("i1",) * 3, "i1", "%r = arith.select %x0, %x1, %x2 : i1")
    constant = "%t = arith.constant dense<true> : @i1#\n%r = arith.xori %x0, %t : @i1#"
    yield Case(constant, ("i1",), "i1", constant.replace("dense<true> : @i1#", "true"))


def values(kind: str, position: int, bounds: tuple[float, float] | None, count: int) -> Array:
    """Corners in every pairing, or numbers between the bounds: of two operands the bounds hold for the second."""
    dtype = DTYPES[kind]
    random = np.random.default_rng(position)
    if bounds is not None:
        return random.uniform(*bounds, count).astype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, count).astype(dtype)
    if dtype.kind == "i":
        most = 2 ** (8 * dtype.itemsize - 1) - 1
        corners = np.array([0, 1, -1, 2, -2, most, -most - 1, most - 1, 77, -77, most // 3, 100], dtype)
    else:
        with np.errstate(over="ignore"):
            corners = np.array(CORNERS).astype(dtype)
    grid = np.meshgrid(corners, corners)[position % 2].reshape(-1)
    return np.resize(grid, count)


COUNT = 320
"""A multiple of all lanes, and more than all pairs of corners."""


def instantiate(text: str, lanes: int) -> str:
    return text.replace("@", f"vector<{lanes}x").replace("#", ">")


def assert_same(actual: Array, expected: Array, message: str) -> None:
    """Equal bit for bit, but any NaN is as good as another."""
    if actual.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected, err_msg=message)
        return
    nan = np.isnan(expected.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(actual.astype(np.float64)), nan, err_msg=message)
    bits = f"u{actual.dtype.itemsize}"
    np.testing.assert_array_equal(actual.view(bits)[~nan], expected.view(bits)[~nan], err_msg=message)


CONFIGURATIONS = [
    pytest.param("gcc", ("-Og",), 4, id="gcc"),
    pytest.param("gcc", ("-Og", "-march=native"), 16, id="gcc-native"),
    pytest.param("clang", ("-O1", "-march=native"), 8, id="clang-native"),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("compiler", "flags", "lanes"), CONFIGURATIONS)
def test_vectors_are_as_scalars(tmp_path: Path, compiler: str, flags: Sequence[str], lanes: int) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    scalars, vectors, calls, arrays = "", "", [], {}
    every = list(cases())
    for number, case in enumerate(every):
        names = []
        for position, kind in enumerate(case.inputs):
            bounds = case.bounds if position == len(case.inputs) - 1 else None
            name = f"{kind}_{position}" + ("" if bounds is None else f"_{bounds[0]}")
            arrays[name] = values(kind, position, bounds, COUNT)
            names.append(name)
        scalar = (case.scalar or case.body).replace("@", "").replace("#", "")
        scalars += elementwise(f"s{number}", scalar, case.inputs, case.output, COUNT)
        body = instantiate(case.body, lanes)
        vectors += elementwise(f"v{number}", body, case.inputs, case.output, COUNT, lanes)
        for prefix in "sv":
            arrays[f"{prefix}{number}"] = np.zeros(COUNT, DTYPES[case.output])
            calls.append((f"{prefix}{number}", *names, f"{prefix}{number}"))
    plain = {name: array.view(np.uint16) if array.dtype.name == "bfloat16" else array for name, array in arrays.items()}
    results = run(tmp_path, [source_once(scalars), source_once(vectors)], plain, calls, flags, compiler)
    for number, case in enumerate(every):
        dtype = DTYPES[case.output]
        assert_same(results[f"v{number}"].view(dtype), results[f"s{number}"].view(dtype), case.body)


PART = """
  func.func @f{number}(%x_p: !aot.ptr<{kind}> {{aot.readonly, aot.noalias}},
                       %y_p: !aot.ptr<{kind}> {{aot.noalias}}) -> i32 {{
    %c0 = arith.constant 0 : index
    %x = aot.buffer %x_p : !aot.ptr<{kind}> to memref<{count}x{kind}>
    %y = aot.buffer %y_p : !aot.ptr<{kind}> to memref<64x{kind}>
    %part = aot.tile_load %x[%c0] {{strides = array<i64: 1>, valid = {count} : i64}}
        : memref<{count}x{kind}> -> vector<{lanes}x{kind}>
    aot.tile_store %part, %y[%c0] {{strides = array<i64: 1>}} : vector<{lanes}x{kind}>, memref<64x{kind}>
    aot.tile_store %part, %y[%c0] {{strides = array<i64: 1>, offset = 32 : i64, valid = {count} : i64}}
        : vector<{lanes}x{kind}>, memref<64x{kind}>
    %done = arith.constant 0 : i32
    func.return %done : i32
  }}
"""

NARROWED = """
  func.func @f{number}(%x_p: !aot.ptr<{wide}> {{aot.readonly, aot.noalias}},
                       %y_p: !aot.ptr<{kind}> {{aot.noalias}}) -> i32 {{
    %c0 = arith.constant 0 : index
    %x = aot.buffer %x_p : !aot.ptr<{wide}> to memref<64x{wide}>
    %y = aot.buffer %y_p : !aot.ptr<{kind}> to memref<64x{kind}>
    %all = aot.tile_load %x[%c0] {{strides = array<i64: 1>}} : memref<64x{wide}> -> vector<{lanes}x{wide}>
    %narrow = aot.tile_convert "trunci" %all : vector<{lanes}x{wide}> -> vector<{lanes}x{kind}>
    aot.tile_store %narrow, %y[%c0] {{strides = array<i64: 1>, valid = {count} : i64}}
        : vector<{lanes}x{kind}>, memref<64x{kind}>
    %done = arith.constant 0 : i32
    func.return %done : i32
  }}
"""


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        pytest.param("gcc", ("-Og",), id="gcc"),
        pytest.param("gcc", ("-Og", "-march=native"), id="gcc-native"),
        pytest.param("gcc", ("-O2", "-march=x86-64-v3"), id="gcc-avx2"),
        pytest.param("clang", ("-O1", "-march=native"), id="clang-native"),
    ],
)
def test_parts_of_registers(tmp_path: Path, compiler: str, flags: Sequence[str]) -> None:
    """The lanes that are there, and zeros behind them; nothing else is overwritten."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    if "-march=x86-64-v3" in flags and "+avx2" not in lookup("host").features.split(","):
        pytest.skip("no AVX2 here")
    kinds = ("f32", "f64", *INTEGERS)
    every = [(kind, lanes, count) for kind in kinds for lanes in (4, 8, 16) for count in range(1, lanes)]
    arrays = {f"x_{kind}": np.arange(1, 65).astype(DTYPES[kind]) for kind in kinds}
    functions, calls = "", []
    for number, (kind, lanes, count) in enumerate(every):
        functions += PART.format(number=number, kind=kind, lanes=lanes, count=count)
        arrays[f"y{number}"] = np.full(64, 99, DTYPES[kind])
        calls.append((f"f{number}", f"x_{kind}", f"y{number}"))
    results = run(tmp_path, source_once(functions), arrays, calls, flags, compiler)
    for number, (kind, lanes, count) in enumerate(every):
        some = list(range(1, count + 1))
        expected = [*some, *[0] * (lanes - count), *[99] * (32 - lanes), *some, *[99] * (32 - count)]
        np.testing.assert_array_equal(results[f"y{number}"], expected, err_msg=f"{count} of {lanes} {kind}")


@pytest.mark.parametrize("flags", [("-Og",), ("-Og", "-march=native")], ids=["gcc", "gcc-native"])
def test_parts_of_registers_that_become_narrower(tmp_path: Path, flags: Sequence[str]) -> None:
    """Lanes that are not there are not written."""
    pairs = [("i32", "i8"), ("i32", "i16"), ("i16", "i8")]
    every = [(*pair, lanes, count) for pair in pairs for lanes in (4, 8, 16) for count in range(1, lanes + 1)]
    arrays = {f"x_{wide}": np.arange(1, 65).astype(DTYPES[wide]) for wide, _ in pairs}
    functions, calls = "", []
    for number, (wide, kind, lanes, count) in enumerate(every):
        functions += NARROWED.format(number=number, wide=wide, kind=kind, lanes=lanes, count=count)
        arrays[f"y{number}"] = np.full(64, 99, DTYPES[kind])
        calls.append((f"f{number}", f"x_{wide}", f"y{number}"))
    results = run(tmp_path, source_once(functions), arrays, calls, flags, "gcc")
    for number, (wide, kind, lanes, count) in enumerate(every):
        expected = [*range(1, count + 1), *[99] * (64 - count)]
        np.testing.assert_array_equal(results[f"y{number}"], expected, err_msg=f"{count} of {lanes} {wide} as {kind}")


@pytest.mark.skipif(platform.machine() != "x86_64" or shutil.which("gcc") is None, reason="GCC and instructions of x86")
@pytest.mark.parametrize("flags", [(), ("-mssse3",), ("-msse4.1",), ("-mavx",)], ids=lambda flags: "".join(flags))
def test_the_header_that_is_read_has_the_intrinsics_of_the_processor(tmp_path: Path, flags: Sequence[str]) -> None:
    uses = {
        "f32x4": "aotc_max_f32x4(*p, *p)",  # SSE2
        "u8x16": "aotc_psignb_128(*p, *p)",  # SSSE3
        "i32x4": "aotc_max_i32x4(*p, *p)",  # SSE 4.1
        "f32x8": "aotc_max_f32x8(*p, *p)",  # AVX
    }
    body = "".join(
        f"void {kind}(aotc_{kind} *p); void {kind}(aotc_{kind} *p) {{ *p = {use}; }}\n" for kind, use in uses.items()
    )
    before = prologue([body])
    unit = tmp_path / "unit.c"
    unit.write_text("".join(f"#include <{name}>\n" for name in ("stdint.h", *before.headers)) + before.text + body)
    subprocess.run(["gcc", *WARNINGS, *flags, "-fsyntax-only", unit], check=True)
