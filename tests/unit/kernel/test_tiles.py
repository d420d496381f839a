"""Tiles written register by register and compiled through LLVM, against numpy: memory, shapes, reductions, loops.

Arithmetic lane by lane is test_llvm_arithmetic.py's business. Values are small whole numbers where their order of
summation must not matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_program import Array, lowered, through_llvm
from xdsl.dialects.builtin import ModuleOp

from aotc.emit.llvm.ir import llvm_ir
from aotc.emit.llvm.modules import optimize
from aotc.errors import CompileError
from aotc.machines.targets import binding, lookup
from aotc.passes.lower.convert_to_llvm import ConvertToLLVMPass

TYPES: dict[str, Any] = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
}
KINDS = {np.dtype(kind): name for name, kind in TYPES.items()}
MACHINES = ["host", None]
"""Targets whose code this processor runs; None is any 64-bit one: narrow registers, no masks, no fma."""
if "+avx2" in lookup("host").features.split(","):
    MACHINES.append("x86-64-v3")


def buffer_type(array: Array) -> str:
    """The type of an array in memory."""
    return f"memref<{'x'.join(map(str, array.shape))}x{KINDS[array.dtype]}>"


def module_of(body: str, arrays: Sequence[Array]) -> ModuleOp:
    """A function `f` of pointers to arrays, in which %m0, %m1, .. are those and %c0 .. %c9 indices; unrolled."""
    arguments = ", ".join(f"%p{n}: !aot.ptr<{KINDS[each.dtype]}>" for n, each in enumerate(arrays))
    buffers = "\n".join(
        f"%m{n} = aot.buffer %p{n} : !aot.ptr<{KINDS[each.dtype]}> to {buffer_type(each)}"
        for n, each in enumerate(arrays)
    )
    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in range(10))
    text = f"""func.func @f({arguments}) -> i32 {{
      {buffers}
      {constants}
      {body}
      %ok = arith.constant 0 : i32
      func.return %ok : i32
    }}"""
    return lowered(text, "unroll-tiles")


def run(body: str, arrays: Sequence[Array], target: str | None) -> list[Array]:
    """Run `body` on copies of the arrays, which are returned."""
    copies = [np.array(each, order="C") for each in arrays]
    through_llvm(module_of(body, arrays), "f", target)(*copies)
    return copies


def load(name: str, array: Array, place: str, tile: str, strides: Sequence[int], more: str = "") -> str:
    """A tile out of a buffer of the shape of `array`; `place` is `%m0[%c0]`."""
    return f"{name} = aot.tile_load {place} {{{_strides(strides, more)}}} : {buffer_type(array)} -> vector<{tile}>"


def store(name: str, array: Array, place: str, tile: str, strides: Sequence[int], more: str = "") -> str:
    """A tile into a buffer."""
    return f"aot.tile_store {name}, {place} {{{_strides(strides, more)}}} : vector<{tile}>, {buffer_type(array)}"


def _strides(strides: Sequence[int], more: str) -> str:
    return f"strides = array<i64: {', '.join(map(str, strides))}>" + more


def whole(kind: str, *shape: int) -> Array:
    """Small whole numbers of a type, no two neighbours alike."""
    values = np.arange(np.prod(shape)).reshape(shape) * 7 % 23
    return (values % 2 if kind == "i1" else values - 11).astype(TYPES[kind])


@pytest.mark.parametrize("target", MACHINES)
def test_product_of_matrices(target: str | None) -> None:
    """6 x 20 out of 37 steps: a tile of 6 x 2 registers of 16 lanes, of which the last is partial."""
    a, b, c = whole("f32", 6, 37), whole("f32", 37, 20), np.full((7, 20), 99, np.float32)
    tile = "6x2x16xf32"
    body = f"""
      %n = arith.constant 37 : index
      %zero = arith.constant dense<0.0> : vector<{tile}>
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<{tile}>) {{
        {load("%x", a, "%m0[%c0, %k]", tile, [37, 0, 0])}
        {load("%w", b, "%m1[%k, %c0]", tile, [0, 16, 1], ", valid = 20 : i64")}
        %next = math.fma %x, %w, %acc : vector<{tile}>
        scf.yield %next : vector<{tile}>
      }}
      {store("%sum", c, "%m2[%c0, %c0]", tile, [20, 16, 1], ", valid = 20 : i64")}"""
    found = run(body, [a, b, c], target)[2]
    np.testing.assert_array_equal(found[:6], a @ b)
    np.testing.assert_array_equal(found[6], c[6])


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize(("kind", "lanes"), [*((kind, 16) for kind in TYPES), ("f32", 1), ("f32", 4), ("i8", 2)])
def test_memory(kind: str, lanes: int, target: str | None) -> None:
    """Contiguous, broadcast, gathered and scattered registers, whole and cut off."""
    x, y = whole(kind, 200), np.ones(400, TYPES[kind])
    valid = max(1, lanes + lanes // 2 - 1)
    some, cut = f"2x{lanes}x{kind}", f", valid = {valid} : i64"
    body = "\n".join(
        [
            load("%whole", x, "%m0[%c3]", some, [50, 1]),
            store("%whole", y, "%m1[%c0]", some, [lanes, 1]),
            load("%cut", x, "%m0[%c3]", some, [lanes, 1], cut),
            store("%cut", y, "%m1[%c0]", some, [lanes, 1], ", offset = 40 : i64"),
            store("%cut", y, "%m1[%c1]", some, [lanes, 1], f", offset = 79 : i64{cut}"),
            load("%splat", x, "%m0[%c5]", some, [3, 0], ", offset = -2 : i64" + cut),
            store("%splat", y, "%m1[%c0]", some, [lanes, 1], ", offset = 120 : i64"),
            load("%gather", x, "%m0[%c2]", some, [1, 3], cut),
            store("%gather", y, "%m1[%c0]", some, [lanes, 1], ", offset = 160 : i64"),
            store("%whole", y, "%m1[%c0]", some, [1, 5], ", offset = 200 : i64" + cut),
        ]
    )
    counts = [min(lanes, valid), max(0, valid - lanes)]
    expected = y.copy()
    for register, count in enumerate(counts):
        at = register * lanes
        expected[at : at + lanes] = x[3 + 50 * register :][:lanes]
        expected[40 + at : 40 + at + lanes] = 0
        expected[40 + at : 40 + at + count] = x[3 + at : 3 + at + count]
        expected[80 + at : 80 + at + count] = x[3 + at : 3 + at + count]
        expected[120 + at : 120 + at + lanes] = 0
        expected[120 + at : 120 + at + count] = x[3 + 3 * register]
        expected[160 + at : 160 + at + lanes] = 0
        expected[160 + at : 160 + at + count] = x[2 + register :: 3][:count]
        for lane in range(count):
            expected[200 + register + 5 * lane] = x[3 + 50 * register + lane]
    found = run(body, [x, y], target)[1]
    np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))


def tree_reduce(values: list[Array], combine: Any) -> Array:
    """The order in which tiles are reduced."""
    while len(values) > 1:
        half = -(-len(values) // 2)
        pairs = [combine(a, b) for a, b in zip(values, values[half:], strict=False)]
        values = pairs + values[len(pairs) : half]
    return values[0]


REDUCTIONS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("kind", ["f32", "f64", "i8", "i32"])
def test_reductions(kind: str, target: str | None) -> None:
    """To the bit: sums of numbers of all sizes show the order."""
    floats = kind in ("f32", "f64")
    rng = np.random.default_rng(0)
    values = rng.normal(0, 1, 80) * 10.0 ** rng.integers(-3, 4, 80)
    x = (values if floats else whole("i8", 80)).astype(TYPES[kind])
    shapes = [(16,), (1, 8), (3, 4), (5, 2), (2, 5, 8), (7, 1)]
    names = [*REDUCTIONS, *([] if floats else ["umax", "umin"])]
    lines: list[str] = []
    expected: list[Array] = []
    y = np.zeros(len(shapes) * len(names), TYPES[kind])
    for number, (shape, name) in enumerate((shape, name) for shape in shapes for name in names):
        tile = f"{'x'.join(map(str, shape))}x{kind}"
        steps = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
        lines += [
            load(f"%t{number}", x, "%m0[%c0]", tile, steps),
            f'%r{number} = aot.tile_reduce "{name}" %t{number} : vector<{tile}> -> {kind}',
            f"%i{number} = arith.constant {number} : index",
            f"memref.store %r{number}, %m1[%i{number}] : {buffer_type(y)}",
        ]
        given = x[: np.prod(shape)]
        if unsigned := name.startswith("u"):
            given = given.view(f"u{x.itemsize}")
        combine = REDUCTIONS[name.removeprefix("u")]
        registers = tree_reduce(list(given.reshape(-1, shape[-1])), combine)
        result = tree_reduce(list(registers.reshape(-1, 1)), combine)[0]
        expected.append(result.view(x.dtype) if unsigned else result)
    with np.errstate(all="ignore"):
        found = run("\n".join(lines), [x, y], target)[1]
    np.testing.assert_array_equal(found.view(f"i{x.itemsize}"), np.array(expected, x.dtype).view(f"i{x.itemsize}"))


def test_reductions_keep_nan() -> None:
    x = whole("f32", 16)
    x[5] = np.nan
    y = np.zeros(2, np.float32)
    body = load("%t", x, "%m0[%c0]", "2x8xf32", [8, 1])
    for at, name in enumerate(("max", "min")):
        body += f'\n%r{at} = aot.tile_reduce "{name}" %t : vector<2x8xf32> -> f32'
        body += f"\nmemref.store %r{at}, %m1[%c{at}] : {buffer_type(y)}"
    for target in MACHINES:
        assert np.isnan(run(body, [x, y], target)[1]).all()


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize(
    ("kind", "lanes"),
    [*(("f32", 2**stages) for stages in range(6)), ("f64", 8), ("bf16", 16), ("i8", 8), ("i8", 32), ("i16", 16)],
)
def test_transposes(lanes: int, kind: str, target: str | None) -> None:
    x = np.arange(lanes * lanes).astype(np.int16).reshape(lanes, lanes)
    x = x.astype(np.int8) if kind == "i8" else x.astype(TYPES[kind])
    tile = f"{lanes}x{lanes}x{kind}"
    body = f"""
      {load("%t", x, "%m0[%c0, %c0]", tile, [lanes, 1])}
      %u = aot.tile_transpose %t : vector<{tile}>
      {store("%u", x, "%m1[%c0, %c0]", tile, [lanes, 1])}"""
    found = run(body, [x, np.zeros_like(x)], target)[1]
    np.testing.assert_array_equal(found.astype(np.float64), x.T.astype(np.float64))


def test_parts() -> None:
    x = whole("f32", 4, 3, 8)
    y = np.zeros((4, 3, 8), np.float32)
    body = f"""
      {load("%t", x, "%m0[%c0, %c0, %c0]", "4x3x8xf32", [24, 8, 1])}
      %p = aot.tile_slice %t {{offsets = array<i64: 1, 1>, sizes = array<i64: 2, 2>}}
        : vector<4x3x8xf32> -> vector<2x2x8xf32>
      %n = arith.negf %p : vector<2x2x8xf32>
      %r = aot.tile_insert %n, %t {{offsets = array<i64: 2, 0>}} : vector<2x2x8xf32>, vector<4x3x8xf32>
      {store("%r", y, "%m1[%c0, %c0, %c0]", "4x3x8xf32", [24, 8, 1])}"""
    expected = x.copy()
    expected[2:, :2] = -x[1:3, 1:]
    for target in MACHINES:
        np.testing.assert_array_equal(run(body, [x, y], target)[1], expected)


def test_broadcasts_and_constants() -> None:
    """Of scalars, of rows, of columns, of single lanes; constants with a value of their own in each place."""
    x, y = whole("f32", 3, 2, 4), np.zeros((5, 3, 2, 4), np.float32)
    table = whole("f32", 3, 2, 4) * 2
    rows = ", ".join("[" + ", ".join("[" + ", ".join(f"{v:e}" for v in r) + "]" for r in p) + "]" for p in table)
    tile = "3x2x4xf32"

    def put(name: str, at: int) -> str:
        return store(name, y, f"%m1[%c{at}, %c0, %c0, %c0]", tile, [8, 4, 1])

    body = f"""
      %s = memref.load %m0[%c1, %c1, %c2] : {buffer_type(x)}
      %scalar = vector.broadcast %s : f32 to vector<{tile}>
      {put("%scalar", 0)}
      {load("%row", x, "%m0[%c0, %c0, %c0]", "2x4xf32", [4, 1])}
      %rows = vector.broadcast %row : vector<2x4xf32> to vector<{tile}>
      {put("%rows", 1)}
      {load("%column", x, "%m0[%c0, %c0, %c0]", "3x1x4xf32", [8, 4, 1])}
      %columns = vector.broadcast %column : vector<3x1x4xf32> to vector<{tile}>
      {put("%columns", 2)}
      {load("%one", x, "%m0[%c0, %c0, %c0]", "3x2x1xf32", [8, 4, 1])}
      %lanes = vector.broadcast %one : vector<3x2x1xf32> to vector<{tile}>
      {put("%lanes", 3)}
      %table = arith.constant dense<[{rows}]> : vector<{tile}>
      {put("%table", 4)}"""
    expected = [np.full_like(x, x[1, 1, 2]), np.broadcast_to(x[0], x.shape), np.broadcast_to(x[:, :1], x.shape)]
    expected += [np.broadcast_to(x[:, :, :1], x.shape), table]
    for target in MACHINES:
        np.testing.assert_array_equal(run(body, [x, y], target)[1], np.stack(expected))


def test_control_flow_carries_tiles_and_scalars() -> None:
    """Two tiles of different shapes around two scalars, through a loop and a condition inside it."""
    x, y = whole("f32", 9, 8), np.zeros(40, np.float32)
    body = f"""
      {load("%a", x, "%m0[%c0, %c0]", "2x4xf32", [4, 1])}
      {load("%b", x, "%m0[%c1, %c0]", "8xf32", [1])}
      %one = arith.constant 1.0 : f32
      %t, %n, %u, %s = scf.for %i = %c1 to %c9 step %c1
          iter_args(%ti = %a, %ni = %c0, %ui = %b, %si = %one) -> (vector<2x4xf32>, index, vector<8xf32>, f32) {{
        %odd = arith.remui %i, %c2 : index
        %is = arith.cmpi eq, %odd, %c1 : index
        %tn, %sn = scf.if %is -> (vector<2x4xf32>, f32) {{
          {load("%v", x, "%m0[%i, %c0]", "2x4xf32", [4, 1])}
          %w = arith.addf %ti, %v : vector<2x4xf32>
          %d = arith.addf %si, %one : f32
          scf.yield %w, %d : vector<2x4xf32>, f32
        }} else {{
          scf.yield %ti, %si : vector<2x4xf32>, f32
        }}
        %nn = arith.addi %ni, %i : index
        %un = arith.negf %ui : vector<8xf32>
        scf.yield %tn, %nn, %un, %sn : vector<2x4xf32>, index, vector<8xf32>, f32
      }}
      {store("%t", y, "%m1[%c0]", "2x4xf32", [4, 1])}
      {store("%u", y, "%m1[%c8]", "8xf32", [1])}
      memref.store %s, %m1[%n] : {buffer_type(y)}"""
    expected = np.zeros(40, np.float32)
    expected[:8] = x[0] + x[1] + x[3] + x[5] + x[7]
    expected[8:16] = x[1]
    expected[36] = 5
    for target in MACHINES:
        np.testing.assert_array_equal(run(body, [x, y], target)[1], expected)


def test_masks_and_bits() -> None:
    """Comparisons combined, selections, conversions and reinterpretation on a tile of several registers."""
    x, y = whole("f32", 2, 16), np.zeros((2, 16), np.int32)
    tile = "2x16xf32"
    body = f"""
      {load("%x", x, "%m0[%c0, %c0]", tile, [16, 1])}
      %low = arith.constant dense<-4.0> : vector<{tile}>
      %high = arith.constant dense<5.0> : vector<{tile}>
      %above = aot.tile_compare "ogt" %x, %low : vector<{tile}> -> vector<2x16xi1>
      %below = aot.tile_compare "olt" %x, %high : vector<{tile}> -> vector<2x16xi1>
      %inside = arith.andi %above, %below : vector<2x16xi1>
      %whole = aot.tile_convert "fptosi" %x : vector<{tile}> -> vector<2x16xi32>
      %bits = arith.bitcast %x : vector<{tile}> to vector<2x16xi32>
      %r = aot.tile_select %inside, %whole, %bits : vector<2x16xi1>, vector<2x16xi32>
      aot.prefetch %m0[%c9, %c9] : {buffer_type(x)}
      {store("%r", y, "%m1[%c0, %c0]", "2x16xi32", [16, 1])}"""
    expected = np.where((x > -4) & (x < 5), x.astype(np.int32), x.view(np.int32))
    for target in MACHINES:
        np.testing.assert_array_equal(run(body, [x, y], target)[1], expected)


def test_functions_of_libm_are_refused() -> None:
    x = whole("f32", 8)
    body = load("%x", x, "%m0[%c0]", "8xf32", [1]) + "\n%r = math.exp %x : vector<8xf32>"
    with pytest.raises(CompileError, match=r"math\.exp.*\[no-form-on-tiles\]"):
        module_of(body, [x])


EVERYWHERE = [
    *("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64", "armv7", "rv64gcv", "wasm32-simd128"),
    *("cortex-m0", "cortex-m4", "cortex-m55", "rv32imc"),
]


@pytest.mark.parametrize("target", EVERYWHERE)
def test_every_target_compiles_it(target: str) -> None:
    """Vectors that a processor has not become narrower ones or scalars; none of them calls an unknown function."""
    x, q, y = whole("f32", 6, 20), whole("i8", 64), np.zeros((6, 32), np.float32)
    tile = "3x2x16xf32"
    body = f"""
      {load("%x", x, "%m0[%c0, %c0]", tile, [20, 16, 1], ", valid = 20 : i64")}
      {load("%q", q, "%m1[%c0]", "3x2x16xi8", [20, 2, 1])}
      %f = aot.tile_convert "sitofp" %q : vector<3x2x16xi8> -> vector<{tile}>
      %p = arith.mulf %x, %f : vector<{tile}>
      %m = arith.maximumf %p, %x : vector<{tile}>
      %r = math.roundeven %m : vector<{tile}>
      %n = aot.tile_convert "fptosi" %r : vector<{tile}> -> vector<3x2x16xi8>
      {store("%n", q, "%m1[%c0]", "3x2x16xi8", [20, 2, 3], ", valid = 3 : i64")}
      %h = aot.tile_convert "truncf" %m : vector<{tile}> -> vector<3x2x16xf16>
      %g = aot.tile_convert "extf" %h : vector<3x2x16xf16> -> vector<{tile}>
      %s = aot.tile_reduce "max" %g : vector<{tile}> -> f32
      memref.store %s, %m2[%c0, %c0] : {buffer_type(y)}
      {store("%g", y, "%m2[%c1, %c0]", tile, [32, 16, 1], ", valid = 17 : i64")}"""
    module = ConvertToLLVMPass().convert(module_of(body, [x, q, y]), target)
    module.verify()
    compiled = binding().parse_assembly(llvm_ir(module))
    machine = lookup(target).machine()
    optimize(compiled, machine, "2")
    called = set(re.findall(r"\b(?:call|bl|callq|tail)\s+([A-Za-z]\w*)", machine.emit_assembly(compiled)))
    arithmetic = re.compile(r"__aeabi_\w+|__(mul|add|sub|float|fix|lt|gt|le|ge|eq|ne|unord|mulsi)\w*|memcpy|f")
    assert not {name for name in called if not arithmetic.fullmatch(name)}


@pytest.mark.parametrize("count", range(1, 5))
@pytest.mark.parametrize("target", MACHINES)
def test_part_of_a_truncated_register_is_all_that_is_stored(target: str | None, count: int) -> None:
    a, y = np.arange(100, 116, dtype=np.int32), np.full(16, 7, np.int8)
    body = f"""
      {load("%x", a, "%m0[%c0]", "16xi32", [1])}
      %t = aot.tile_convert "trunci" %x : vector<16xi32> -> vector<16xi8>
      {store("%t", y, "%m1[%c0]", "16xi8", [1], f", valid = {count} : i64")}"""
    found = run(body, [a, y], target)[1]
    np.testing.assert_array_equal(found, [*range(100, 100 + count), *[7] * (16 - count)])
