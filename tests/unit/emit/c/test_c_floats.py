"""Float operations in C against numpy: NaN, infinities, signed zeros, subnormals, rounding."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from c_program import elementwise, parse, printed, run, source

from aotc.compiler.lowering import new_context
from aotc.errors import CompileError
from aotc.model.weight_store import Array
from aotc.passes.loops.select_instructions import SelectInstructionsPass

TYPES = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
HALVES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
CORNERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-42, -1e-42, 3e38, -3e38, 0.1, np.inf, -np.inf, np.nan]


def pairs(dtype: np.dtype) -> tuple[Array, Array]:
    with np.errstate(over="ignore"):
        values = np.array(CORNERS).astype(dtype)
    grid = np.meshgrid(values, values)
    return grid[0].reshape(-1).copy(), grid[1].reshape(-1).copy()


def assert_same(actual: Array, expected: Array, message: str = "") -> None:
    """Equal bit for bit, but any NaN is as good as another."""
    expected = expected.astype(actual.dtype)
    nan = np.isnan(expected.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(actual.astype(np.float64)), nan, err_msg=message)
    bits = f"u{actual.dtype.itemsize}"
    np.testing.assert_array_equal(actual.view(bits)[~nan], expected.view(bits)[~nan], err_msg=message)


def maximum(x: Array, y: Array) -> Array:
    return np.where(x == y, np.where(np.signbit(x), y, x), np.maximum(x, y))


def minimum(x: Array, y: Array) -> Array:
    return np.where(x == y, np.where(np.signbit(x), x, y), np.minimum(x, y))


BINARY = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "maximumf": maximum,
    "minimumf": minimum,
}
ORDERED = {
    "eq": np.equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
    "ne": lambda x, y: (x < y) | (x > y),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", TYPES)
def test_binary_and_comparisons(tmp_path: Path, kind: str) -> None:
    x, y = pairs(TYPES[kind])
    unordered = np.isnan(x) | np.isnan(y)
    expected: dict[str, Array] = {name: f(x, y) for name, f in BINARY.items()}
    comparisons = {"ord": ~unordered, "uno": unordered, "true": ~unordered | True, "false": unordered & False}
    for name, f in ORDERED.items():
        comparisons |= {f"o{name}": f(x, y) & ~unordered, f"u{name}": f(x, y) | unordered}
    functions, calls, arrays = "", [], {"x": x, "y": y}
    for name, value in expected.items():
        functions += elementwise(name, f"%r = arith.{name} %x0, %x1 : {kind}", [kind] * 2, kind, len(x))
        arrays[name] = np.zeros_like(value)
        calls.append((name, "x", "y", name))
    for name, value in comparisons.items():
        functions += elementwise(f"c_{name}", f"%r = arith.cmpf {name}, %x0, %x1 : {kind}", [kind] * 2, "i1", len(x))
        arrays[f"c_{name}"] = np.zeros_like(value)
        calls.append((f"c_{name}", "x", "y", f"c_{name}"))
    results = run(tmp_path, source(functions), arrays, calls)
    for name, value in expected.items():
        assert_same(results[name], value, name)
    for name, value in comparisons.items():
        np.testing.assert_array_equal(results[f"c_{name}"], value, err_msg=name)


@pytest.mark.parametrize("bound", [0.0, -0.0, 1.0, -1.0])
def test_clamps(tmp_path: Path, bound: float) -> None:
    x = np.array(CORNERS, np.float32)
    y = np.full_like(x, bound)
    constant = f"%b = arith.constant {bound} : f32\n"
    functions = elementwise("above", f"{constant}%r = arith.maximumf %x0, %b : f32", ["f32"], "f32", len(x))
    functions += elementwise("below", f"{constant}%r = arith.minimumf %b, %x0 : f32", ["f32"], "f32", len(x))
    arrays = {"x": x, "above": np.zeros_like(x), "below": np.zeros_like(x)}
    module = parse(functions)
    SelectInstructionsPass().apply(new_context(), module)
    c = printed(module)
    assert ("aotc_maximum" in c, "aotc_minimum" in c) == (str(bound) == "-0.0", str(bound) == "0.0")
    results = run(tmp_path, c, arrays, [("above", "x", "above"), ("below", "x", "below")])
    assert_same(results["above"], maximum(x, y))
    assert_same(results["below"], minimum(x, y))


@pytest.mark.parametrize("kind", TYPES)
def test_rounding(tmp_path: Path, kind: str) -> None:
    limit = 2.0 ** (23 if kind == "f32" else 52)
    values = [*CORNERS, 0.4999999701976776, 3.5, 4.5, -0.3, -3.5, limit - 0.5, limit, limit + 1, -limit + 0.5, 1e300]
    with np.errstate(over="ignore"):
        x = np.array(values).astype(TYPES[kind])
    c = source(elementwise("f", f"%r = math.roundeven %x0 : {kind}", [kind], kind, len(x)))
    assert "math.h" not in c
    results = run(tmp_path, c, {"x": x, "r": np.zeros_like(x)}, [("f", "x", "r")])
    assert_same(results["r"], np.round(x))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", HALVES)
def test_half_precision(tmp_path: Path, kind: str) -> None:
    dtype = HALVES[kind]
    every = np.arange(65536, dtype=np.uint16).view(dtype)
    generator = np.random.default_rng(1)
    wide = generator.integers(0, 1 << 32, 20000, np.uint32).view(np.float32)
    middle = every.astype(np.float32)
    ties = np.concatenate([np.nextafter(middle, np.float32(sign * np.inf)) for sign in (1, -1)])
    halfway = (middle[:-1] + middle[1:]) / np.float32(2)
    x32 = np.concatenate([wide, middle, ties, halfway])
    functions = elementwise("widen", f"%r = arith.extf %x0 : {kind} to f32", [kind], "f32", len(every))
    functions += elementwise("narrow", f"%r = arith.truncf %x0 : f32 to {kind}", ["f32"], kind, len(x32))
    arrays = {
        "every": every.view(np.uint16),
        "x32": x32,
        "widen": np.zeros(len(every), np.float32),
        "narrow": np.zeros(len(x32), np.uint16),
    }
    calls = [("widen", "every", "widen"), ("narrow", "x32", "narrow")]
    results = run(tmp_path, source(functions), arrays, calls)
    assert_same(results["widen"], middle)
    assert_same(results["narrow"].view(dtype), x32.astype(dtype))


def test_arithmetic_of_narrow_floats_is_refused() -> None:
    with pytest.raises(CompileError, match="of f16 or bf16"):
        source(elementwise("sum", "%r = arith.addf %x0, %x1 : f16", ["f16"] * 2, "f16", 8))


def test_integers(tmp_path: Path) -> None:
    x = np.array([-128, -1, 0, 1, 127, 2**31 - 1, -(2**31), 2**24 + 1, -(2**24) - 3], np.int32)
    f = np.array([-128.9, -1.5, 0.0, 0.99, 126.5, 1e6, -1e6, 250.7], np.float32)
    positive = np.abs(f)
    cases = {
        "signed": ("%r = arith.sitofp %x0 : i32 to f32", "i32", "f32", x, x.astype(np.float32)),
        "unsigned": ("%r = arith.uitofp %x0 : i32 to f32", "i32", "f32", x, x.view(np.uint32).astype(np.float32)),
        "signed64": ("%r = arith.sitofp %x0 : i32 to f64", "i32", "f64", x, x.astype(np.float64)),
        "bytes": ("%r = arith.uitofp %x0 : i8 to f32", "i8", "f32", x.astype(np.int8), x.astype(np.uint8)),
        "to_signed": ("%r = arith.fptosi %x0 : f32 to i32", "f32", "i32", f, f.astype(np.int32)),
        "to_unsigned": ("%r = arith.fptoui %x0 : f32 to i32", "f32", "i32", positive, positive.astype(np.int32)),
        "bits": ("%r = arith.bitcast %x0 : f32 to i32", "f32", "i32", f, f.view(np.int32)),
        "of_bits": ("%r = arith.bitcast %x0 : i32 to f32", "i32", "f32", x, x.view(np.float32)),
        "narrow": ("%r = arith.truncf %x0 : f64 to f32", "f64", "f32", f.astype(np.float64) / 3, None),
    }
    functions, calls, arrays = "", [], {}
    for name, (body, given, output, value, _) in cases.items():
        functions += elementwise(f"f_{name}", body, [given], output, len(value))
        arrays |= {f"x_{name}": value, name: np.zeros(len(value), TYPES.get(output, np.dtype(np.int32)))}
        calls.append((f"f_{name}", f"x_{name}", name))
    results = run(tmp_path, source(functions), arrays, calls)
    for name, (*_, value, expected) in cases.items():
        expected = value.astype(np.float32) if expected is None else expected
        np.testing.assert_array_equal(results[name], expected.astype(results[name].dtype), err_msg=name)


@pytest.mark.parametrize("kind", TYPES)
def test_math_library(tmp_path: Path, kind: str) -> None:
    x = np.linspace(0.1, 0.9, 9).astype(TYPES[kind])
    plain = (
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
    )
    unary = {name: getattr(np, name) for name in (*plain, "floor", "ceil", "trunc", "cbrt")}
    unary |= {"absf": np.abs, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan}
    unary |= {"atanh": np.arctanh, "asinh": np.arcsinh}
    functions, calls, arrays = "", [], {"x": x}
    for name in unary:
        functions += elementwise(f"f_{name}", f"%r = math.{name} %x0 : {kind}", [kind], kind, len(x))
        arrays[name] = np.zeros_like(x)
        calls.append((f"f_{name}", "x", name))
    for name, op in {
        "pow": "math.powf",
        "atan2": "math.atan2",
        "fmod": "aot.fmod",
        "copysign": "math.copysign",
    }.items():
        functions += elementwise(f"f_{name}", f"%r = {op} %x0, %x0 : {kind}", [kind], kind, len(x))
        arrays[name] = np.zeros_like(x)
        calls.append((f"f_{name}", "x", name))
    functions += elementwise("f_fma", f"%r = math.fma %x0, %x0, %x0 : {kind}", [kind], kind, len(x))
    arrays["fma"] = np.zeros_like(x)
    results = run(tmp_path, source(functions), arrays, [*calls, ("f_fma", "x", "fma")])
    expected = {name: f(x) for name, f in unary.items()}
    expected |= {"pow": x**x, "atan2": np.arctan2(x, x), "fmod": np.fmod(x, x), "copysign": x, "fma": x * x + x}
    for name, value in expected.items():
        np.testing.assert_allclose(results[name], value, rtol=1e-6 if kind == "f32" else 1e-14, err_msg=name)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["exp", "tanh"])
def test_functions_without_a_library(tmp_path: Path, name: str) -> None:
    limits = [0.0, -0.0, np.inf, -np.inf, np.nan, 88.72283, 88.8, 1e30, -87.4, -103.5, -104.1, -1e30, 1e-40]
    x = np.concatenate([np.linspace(-110, 95, 60001), np.linspace(-2, 2, 40001), limits]).astype(np.float32)
    text = elementwise("f", f"%r = math.{name} %x0 : f32", ["f32"], "f32", len(x))
    c = source(text, freestanding=True)
    assert "math.h" not in c
    results = run(tmp_path, c, {"x": x, "r": np.zeros_like(x)}, [("f", "x", "r")])["r"]
    exact = getattr(np, name)(x.astype(np.float64))
    expected = exact.astype(np.float32)
    finite = np.isfinite(expected)
    assert_same(results[~finite], expected[~finite])
    unit = np.spacing(np.abs(expected[finite]))
    assert (np.abs(results[finite] - exact[finite]) / unit).max() < 2
    assert_same(np.signbit(results).astype(np.float32), np.signbit(expected).astype(np.float32))
