"""Integer operations in C against numpy, on the corners of every width, with undefined behaviour trapped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from c_program import elementwise, run, source

from aotc.model.weight_store import Array

Reference = Callable[[Array, Array], Array]

CMPI = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def corners(bits: int) -> Array:
    """Interesting values of a signed type."""
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    values = [low, low + 1, low // 2, -128, -100, -7, -2, -1, 0, 1, 2, 3, 7, 100, 127, high // 2, high - 1, high]
    return np.array(sorted({value for value in values if low <= value <= high}), f"i{bits // 8}")


def pairs(bits: int) -> tuple[Array, Array]:
    grid = np.meshgrid(corners(bits), corners(bits))
    return grid[0].reshape(-1).copy(), grid[1].reshape(-1).copy()


def unsigned(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


def truncated(x: Array, y: Array) -> Array:
    quotient = np.abs(x.astype(object)) // np.abs(y.astype(object))
    return np.where((x < 0) == (y < 0), quotient, -quotient)


BINARY: dict[str, Reference] = {
    "addi": lambda x, y: x + y,
    "subi": lambda x, y: x - y,
    "muli": lambda x, y: x * y,
    "andi": lambda x, y: x & y,
    "ori": lambda x, y: x | y,
    "xori": lambda x, y: x ^ y,
    "minsi": np.minimum,
    "maxsi": np.maximum,
    "minui": lambda x, y: np.minimum(unsigned(x), unsigned(y)),
    "maxui": lambda x, y: np.maximum(unsigned(x), unsigned(y)),
}
DIVISION: dict[str, Reference] = {
    "divsi": truncated,
    "remsi": lambda x, y: x.astype(object) - truncated(x, y) * y.astype(object),
    "floordivsi": lambda x, y: x.astype(object) // y.astype(object),
    "ceildivsi": lambda x, y: -(-x.astype(object) // y.astype(object)),
    "divui": lambda x, y: unsigned(x) // unsigned(y),
    "remui": lambda x, y: unsigned(x) % unsigned(y),
    "ceildivui": lambda x, y: -(-unsigned(x).astype(object) // unsigned(y).astype(object)),
}
SHIFTS: dict[str, Reference] = {
    "shli": lambda x, y: x << y,
    "shrsi": lambda x, y: x >> y,
    "shrui": lambda x, y: unsigned(x) >> unsigned(y),
}


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_binary(tmp_path: Path, bits: int) -> None:
    x, y = pairs(bits)
    no_division_error = (y != 0) & ~((x == x.min()) & (y == -1))
    dx, dy = x[no_division_error], y[no_division_error]
    sx, sy = (part.reshape(-1).copy() for part in np.meshgrid(corners(bits), np.arange(bits, dtype=x.dtype)))
    kind, dtype = f"i{bits}", x.dtype
    functions, calls, arrays, expected = "", [], {"x": x, "y": y, "dx": dx, "dy": dy, "sx": sx, "sy": sy}, {}
    for table, a, b in ((BINARY, "x", "y"), (DIVISION, "dx", "dy"), (SHIFTS, "sx", "sy")):
        for name, reference in table.items():
            with np.errstate(over="ignore"):
                value = reference(arrays[a], arrays[b])
            mask = (1 << bits) - 1
            wrapped = [int(item) & mask for item in value]
            expected[name] = np.array(wrapped, f"u{bits // 8}").view(dtype)
            functions += elementwise(f"f_{name}", f"%r = arith.{name} %x0, %x1 : {kind}", [kind] * 2, kind, len(value))
            arrays[name] = np.zeros(len(value), dtype)
            calls.append((f"f_{name}", a, b, name))
    results = run(tmp_path, source(functions), arrays, calls)
    for name, value in expected.items():
        np.testing.assert_array_equal(results[name], value, err_msg=name)


def test_a_negative_constant_is_subtracted(tmp_path: Path) -> None:
    """As zero points are; the least integer has no magnitude, and a difference stays one."""
    x, functions = corners(32), ""
    least = {"point": -128, "least": -(2**31), "most": 2**31 - 1, "difference": -5}
    for name, number in least.items():
        op = "subi" if name == "difference" else "addi"
        body = f"%k = arith.constant {number} : i32\n%r = arith.{op} %x0, %k : i32"
        functions += elementwise(name, body, ["i32"], "i32", len(x))
    text = source(functions)
    assert "- 128u" in text
    assert "4294967168" not in text
    results = run(tmp_path, text, {"x": x} | {n: np.zeros_like(x) for n in least}, [(n, "x", n) for n in least])
    for name, number in least.items():
        exact = x.astype(np.int64) + (-number if name == "difference" else number)
        np.testing.assert_array_equal(results[name], exact.astype(np.int32))


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_results_are_as_narrow_where_they_are_used_wide(tmp_path: Path, bits: int) -> None:
    x, y = pairs(bits)
    sx, sy = (part.reshape(-1).copy() for part in np.meshgrid(corners(bits), np.arange(bits, dtype=x.dtype)))
    functions, calls, arrays, expected = "", [], {"x": x, "y": y, "sx": sx, "sy": sy}, {}
    for table, a, b in ((BINARY, "x", "y"), (SHIFTS, "sx", "sy")):
        for name, reference in table.items():
            with np.errstate(over="ignore"):
                expected[name] = np.array(reference(arrays[a], arrays[b])).astype(x.dtype).astype(np.int64)
            body = f"%s = arith.{name} %x0, %x1 : i{bits}\n%r = arith.extsi %s : i{bits} to i64"
            functions += elementwise(f"f_{name}", body, [f"i{bits}"] * 2, "i64", len(arrays[a]))
            arrays[name] = np.zeros(len(arrays[a]), np.int64)
            calls.append((f"f_{name}", a, b, name))
    results = run(tmp_path, source(functions), arrays, calls)
    for name, value in expected.items():
        np.testing.assert_array_equal(results[name], value, err_msg=name)


def test_ranges_do_not_mislead(tmp_path: Path) -> None:
    """Of what is known to be small or natural: products in 64 bits, unsigned extremes, shifts of negative numbers."""
    x, y = pairs(32)
    z = corners(8)
    wide = "%a = arith.extsi %x0 : i32 to i64\n%b = arith.extsi %x1 : i32 to i64\n%r = arith.muli %a, %b : i64"
    most = "%m = arith.constant 127 : i8\n%k = arith.constant -2 : i8\n%a = arith.andi %x0, %m : i8\n"
    shift = "%a = arith.extsi %x0 : i8 to i32\n%k = arith.constant 3 : i32\n%r = arith.shli %a, %k : i32"
    functions = elementwise("wide", wide, ["i32", "i32"], "i64", len(x))
    functions += elementwise("most", most + "%r = arith.maxui %a, %k : i8", ["i8"], "i8", len(z))
    functions += elementwise("shift", shift, ["i8"], "i32", len(z))
    least = "%m = arith.constant 10 : i8\n%k = arith.constant 3 : i8\n%a = arith.minsi %x0, %m : i8\n"
    least += "%s = arith.shli %a, %k : i8\n%r = arith.extsi %s : i8 to i32"
    functions += elementwise("least", least, ["i8"], "i32", len(z))
    total = (
        "%k = arith.constant -2 : i8\n%s, %o = arith.addui_extended %x0, %k : i8, i1\n%r = arith.extsi %s : i8 to i32"
    )
    functions += elementwise("total", total, ["i8"], "i32", len(z))
    arrays = {"x": x, "y": y, "z": z, "w": np.zeros(len(x), np.int64), "t": np.zeros(len(z), np.int32)}
    arrays |= {"m": np.zeros(len(z), np.int8), "s": np.zeros(len(z), np.int32), "l": np.zeros(len(z), np.int32)}
    results = run(
        tmp_path,
        source(functions),
        arrays,
        [("wide", "x", "y", "w"), ("most", "z", "m"), ("shift", "z", "s"), ("total", "z", "t"), ("least", "z", "l")],
    )
    np.testing.assert_array_equal(results["t"], (z - np.int8(2)).astype(np.int32))
    np.testing.assert_array_equal(results["w"], x.astype(np.int64) * y)
    np.testing.assert_array_equal(results["m"], np.full(len(z), -2, np.int8))
    np.testing.assert_array_equal(results["s"], z.astype(np.int32) * 8)
    np.testing.assert_array_equal(results["l"], (np.minimum(z, 10) << np.int8(3)).astype(np.int32))


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_compare_and_select(tmp_path: Path, bits: int) -> None:
    x, y = pairs(bits)
    kind = f"i{bits}"
    functions, calls, arrays = "", [], {"x": x, "y": y}
    for name in CMPI:
        body = f"%r = arith.cmpi {name}, %x0, %x1 : {kind}"
        functions += elementwise(f"c_{name}", body, [kind] * 2, "i1", len(x))
        body = f"%c = arith.cmpi {name}, %x0, %x1 : {kind}\n%r = arith.select %c, %x0, %x1 : {kind}"
        functions += elementwise(f"s_{name}", body, [kind] * 2, kind, len(x))
        arrays |= {f"c_{name}": np.zeros(len(x), bool), f"s_{name}": np.zeros(len(x), x.dtype)}
        calls += [(f"{p}_{name}", "x", "y", f"{p}_{name}") for p in "cs"]
    results = run(tmp_path, source(functions), arrays, calls)
    python = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__"}
    for name in CMPI:
        a, b = (unsigned(x), unsigned(y)) if name[0] == "u" else (x, y)
        truth = getattr(a, python[name if name in python else name[1:]])(b)
        np.testing.assert_array_equal(results[f"c_{name}"], truth, err_msg=name)
        np.testing.assert_array_equal(results[f"s_{name}"], np.where(truth, x, y), err_msg=name)


def test_conversions(tmp_path: Path) -> None:
    functions, calls, arrays, expected = "", [], {}, {}
    for source_bits in (8, 16, 32, 64):
        x = corners(source_bits)
        arrays[f"x{source_bits}"] = x
        for bits in (8, 16, 32, 64):
            if bits == source_bits:
                continue
            for name in ("extsi", "extui") if bits > source_bits else ("trunci",):
                symbol = f"{name}_{source_bits}_{bits}"
                body = f"%r = arith.{name} %x0 : i{source_bits} to i{bits}"
                functions += elementwise(symbol, body, [f"i{source_bits}"], f"i{bits}", len(x))
                arrays[symbol] = np.zeros(len(x), f"i{bits // 8}")
                calls.append((symbol, f"x{source_bits}", symbol))
                expected[symbol] = (unsigned(x) if name == "extui" else x).astype(f"i{bits // 8}")
    results = run(tmp_path, source(functions), arrays, calls)
    for name, value in expected.items():
        np.testing.assert_array_equal(results[name], value, err_msg=name)


CHAINS = {
    # Products of widened values need the wider type; sums of unsigned readings must not turn signed ones unsigned.
    "wide_product": (
        "%a = arith.extsi %x0 : i32 to i64\n%b = arith.extui %x1 : i32 to i64\n%r = arith.muli %a, %b : i64",
        "i64",
        lambda x, y: x.astype(np.int64) * unsigned(y).astype(np.int64),
    ),
    "mixed_compare": (
        "%a = arith.extsi %x0 : i32 to i64\n%b = arith.extui %x1 : i32 to i64\n%r = arith.cmpi slt, %a, %b : i64",
        "i1",
        lambda x, y: x.astype(np.int64) < unsigned(y).astype(np.int64),
    ),
    "wrap_then_divide": (
        "%a = arith.addi %x0, %x1 : i32\n%seven = arith.constant 7 : i32\n%r = arith.divsi %a, %seven : i32",
        "i32",
        lambda x, y: truncated(x + y, np.full_like(x, 7)).astype(np.int32),
    ),
    "wrap_then_widen": (
        "%a = arith.muli %x0, %x1 : i32\n%r = arith.extsi %a : i32 to i64",
        "i64",
        lambda x, y: (x * y).astype(np.int64),
    ),
    "wrap_then_convert": (
        "%a = arith.subi %x0, %x1 : i32\n%r = arith.sitofp %a : i32 to f64",
        "f64",
        lambda x, y: (x - y).astype(np.float64),
    ),
    "shift_then_compare": (
        "%two = arith.constant 2 : i32\n%a = arith.shrui %x0, %two : i32\n%r = arith.cmpi slt, %a, %x1 : i32",
        "i1",
        lambda x, y: (unsigned(x) >> np.uint32(2)).astype(np.int32) < y,
    ),
    "low_half": (
        "%r, %h = arith.mulsi_extended %x0, %x1 : i32",
        "i32",
        lambda x, y: x * y,
    ),
    "high_half": (
        "%l, %r = arith.mulsi_extended %x0, %x1 : i32",
        "i32",
        lambda x, y: (x.astype(np.int64) * y.astype(np.int64) >> 32).astype(np.int32),
    ),
    "unsigned_high_half": (
        "%l, %r = arith.mului_extended %x0, %x1 : i32",
        "i32",
        lambda x, y: (unsigned(x).astype(np.uint64) * unsigned(y) >> np.uint64(32)).astype(np.uint32).view(np.int32),
    ),
    "carry": (
        "%s, %r = arith.addui_extended %x0, %x1 : i32, i1",
        "i1",
        lambda x, y: unsigned(x).astype(np.uint64) + unsigned(y) >= 2**32,
    ),
    "absolute": (
        "%a = math.absi %x0 : i32\n%r = arith.addi %a, %x1 : i32",
        "i32",
        lambda x, y: np.abs(x) + y,
    ),
    "through_narrow": (
        "%a = arith.trunci %x0 : i32 to i8\n%b = arith.trunci %x1 : i32 to i8\n%c = arith.addi %a, %b : i8\n"
        "%r = arith.extui %c : i8 to i32",
        "i32",
        lambda x, y: (x.astype(np.int8) + y.astype(np.int8)).view(np.uint8).astype(np.int32),
    ),
    "index_round_trip": (
        "%a = arith.index_cast %x0 : i32 to index\n%b = arith.index_cast %a : index to i64\n"
        "%c = arith.extsi %x1 : i32 to i64\n%r = arith.maxsi %b, %c : i64",
        "i64",
        lambda x, y: np.maximum(x, y).astype(np.int64),
    ),
    "truth": (
        "%a = arith.cmpi slt, %x0, %x1 : i32\n%b = arith.cmpi eq, %x0, %x1 : i32\n%t = arith.constant true\n"
        "%differ = arith.xori %b, %t : i1\n%o = arith.ori %a, %differ : i1\n%d = arith.andi %o, %differ : i1\n"
        "%e = arith.extui %d : i1 to i32\n%f = arith.extsi %a : i1 to i32\n%r = arith.subi %e, %f : i32",
        "i32",
        lambda x, y: ((x < y) | (x != y)).astype(np.int32) + (x < y).astype(np.int32),
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains(tmp_path: Path, name: str) -> None:
    body, output, reference = CHAINS[name]
    x, y = pairs(32)
    with np.errstate(over="ignore"):
        expected = reference(x, y)
    c = source(elementwise("f", body, ["i32"] * 2, output, len(x)))
    results = run(tmp_path, c, {"x": x, "y": y, "r": np.zeros(len(x), expected.dtype)}, [("f", "x", "y", "r")])
    np.testing.assert_array_equal(results["r"], expected)


def test_truth_values(tmp_path: Path) -> None:
    x, y = (part.reshape(-1).copy() for part in np.meshgrid([False, True], [False, True]))
    reference = {
        "addi": x ^ y,
        "muli": x & y,
        "andi": x & y,
        "ori": x | y,
        "xori": x ^ y,
        "minsi": x | y,
        "maxsi": x & y,
        "minui": x & y,
        "maxui": x | y,
        "cmpi slt,": x & ~y,
        "cmpi ult,": ~x & y,
        "cmpi sge,": ~(x & ~y),
        "cmpi uge,": ~(~x & y),
    }
    functions, calls, arrays = "", [], {"x": x, "y": y}
    for i, name in enumerate(reference):
        functions += elementwise(f"f{i}", f"%r = arith.{name} %x0, %x1 : i1", ["i1", "i1"], "i1", 4)
        arrays[f"r{i}"] = np.zeros(4, bool)
        calls.append((f"f{i}", "x", "y", f"r{i}"))
    results = run(tmp_path, source(functions), arrays, calls)
    for i, (name, expected) in enumerate(reference.items()):
        np.testing.assert_array_equal(results[f"r{i}"], expected, err_msg=name)


@pytest.mark.parametrize("bits", [8, 16])
def test_a_choice_of_casts_is_cast_where_it_is_stored(tmp_path: Path, bits: int) -> None:
    """GCC's -Wconversion forgets of a cast product below `?:` that it fits."""
    kind = f"i{bits}"
    body = f"""
      %zero = arith.constant 0 : {kind}
      %one = arith.constant 1 : {kind}
      %none = arith.cmpi eq, %x1, %zero : {kind}
      %divisor = arith.select %none, %one, %x1 : {kind}
      %product = arith.muli %x0, %x1 : {kind}
      %quotient = arith.divui %x0, %divisor : {kind}
      %r = arith.select %none, %product, %quotient : {kind}
    """
    x, y = pairs(bits)
    c = source(elementwise("f", body, [kind, kind], kind, x.size))
    out = run(tmp_path, c, {"x": x, "y": y, "out": np.zeros_like(x)}, [("f", "x", "y", "out")])["out"]
    divisor = np.where(y == 0, 1, y).astype(x.dtype)
    expected = np.where(y == 0, x * y, (unsigned(x) // unsigned(divisor)).view(x.dtype))
    np.testing.assert_array_equal(out, expected)
