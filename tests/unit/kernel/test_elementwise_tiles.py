"""Kernels without an anchor on tiles: against the same kernels element by element, and against numpy.

All cases are kernels of one model, each of them twice, which is compiled once for each number of lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    f32,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from aotc.compiler.lowering import new_context
from aotc.dialects.aot.contract import SCHEDULE
from aotc.dialects.dtypes import ELEMENT_TYPES, numpy_dtype
from aotc.dialects.graph import conversion, elementwise, functions, indexing, logical, movement
from aotc.dialects.graph.interfaces import GraphOp, element_type_of, shape_of
from aotc.dialects.graph.packed.convolution.blocked_conv import channel_blocks, weight_panels
from aotc.dialects.graph.packed.pack import pack, unpack
from aotc.dialects.graph.schedules import ElementwiseSchedule, ScheduleAttr
from aotc.dialects.graph.structure import ConstantOp
from aotc.executor import compiled_in_process
from aotc.model.weight_store import WeightStore
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PHASES, PassRunner, phase_index, pipeline_of

Array = np.ndarray[Any, Any]
Expression: TypeAlias = "Callable[..., SSAValue | list[SSAValue]]"
LANES = (4, 16)


def blocked(x: SSAValue | Operation, lanes: int) -> SSAValue:
    """x in blocks of channels."""
    return pack(x, channel_blocks(len(shape_of(SSAValue.get(x))), lanes)).result


def unblocked(x: SSAValue, channels: int, *parts: int) -> SSAValue:
    """The channels of x, which is in blocks."""
    images, _, *spatial, lanes = shape_of(x)
    return unpack(x, channel_blocks(len(spatial) + 2, lanes, parts), [images, channels, *spatial]).result


@dataclass(frozen=True)
class Case:
    """The results of an expression of operands of these shapes (and dtypes, where not float32)."""

    expression: Expression
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...] = ()
    limit: int = 100
    """Operands that are integers are below it."""

    def operands(self) -> list[Array]:
        """Values of the operands."""
        random = np.random.default_rng(3)
        dtypes = self.dtypes or ("float32",) * len(self.shapes)
        return [
            random.integers(-self.limit if dtype.startswith("i") else 0, self.limit, shape).astype(dtype)
            if np.dtype(dtype).kind != "f"
            else random.uniform(-3, 3, shape).astype(dtype)
            for shape, dtype in zip(self.shapes, dtypes, strict=True)
        ]


def transpose(*permutation: int) -> Expression:
    return lambda x: movement.TransposeOp.get(x, permutation=permutation).result


def relu_of_sum(x: SSAValue, y: SSAValue) -> SSAValue:
    return elementwise.ReluOp.get(elementwise.AddOp.get(x, y)).result


def padded(mode: str, *pads: int) -> Expression:
    return lambda x: movement.PadOp.get(x, pads=pads, mode=mode).result


def sliced(starts: Sequence[int], steps: Sequence[int], shape: Sequence[int]) -> Expression:
    return lambda x: movement.SliceOp.get(x, starts=starts, steps=steps, shape=shape).result


def joined(axis: int) -> Expression:
    return lambda *parts: movement.ConcatOp.get(parts, axis=axis).result


def two_results(x: SSAValue, y: SSAValue) -> list[SSAValue]:
    total = elementwise.AddOp.get(x, y)
    return [total.result, elementwise.MulOp.get(total, x).result]


def joined_across(x: SSAValue, y: SSAValue) -> SSAValue:
    """A sum of one operand, transposed, and of a concatenation with another one."""
    turned = movement.TransposeOp.get(x, permutation=[1, 0])
    return elementwise.AddOp.get(turned, movement.ConcatOp.get([y, y], axis=1)).result


def quantized(x: SSAValue, scale: SSAValue, zero: SSAValue) -> SSAValue:
    return conversion.QuantizeOp.get(x, scale, zero, axis=1, to=ELEMENT_TYPES["uint8"]).result


def packed_words(x: SSAValue, scale: SSAValue, zero: SSAValue) -> SSAValue:
    """Quantised, and its few channels side by side."""
    whole = conversion.QuantizeOp.get(x, scale, zero, to=ELEMENT_TYPES["int8"]).result
    return blocked(whole, 4)


def packed_last(x: SSAValue) -> SSAValue:
    """Few channels, which are last, in words."""
    return blocked(movement.TransposeOp.get(x, permutation=[0, 3, 1, 2]).result, 4)


def padded_words(x: SSAValue) -> SSAValue:
    """Few channels in words, with others around them."""
    return movement.PadOp.get(blocked(x, 4), pads=[0, 0, 1, 2, 0, 0, 0, 0, 1, 0], mode="constant").result


def two_packed(x: SSAValue, y: SSAValue) -> list[SSAValue]:
    total = elementwise.MaxOp.get(x, y)
    return [blocked(total, 4), blocked(x, 4)]


def dequantized(x: SSAValue, scale: SSAValue, zero: SSAValue) -> SSAValue:
    return conversion.DequantizeOp.get(x, scale, zero, axis=1, to=ELEMENT_TYPES["float32"]).result


def power(exponent: float) -> Expression:
    def expression(x: SSAValue) -> SSAValue:
        constant = DenseIntOrFPElementsAttr.from_list(TensorType(f32, []), [exponent])
        return elementwise.PowOp.get(x, ConstantOp(constant)).result

    return expression


def cast(to: str) -> Expression:
    return lambda x: conversion.CastOp.get(x, to=ELEMENT_TYPES[to]).result


def rows_of_padded(x: SSAValue, indices: SSAValue) -> SSAValue:
    """Whether a row is padding is known only when its index is."""
    wider = movement.PadOp.get(x, pads=[1, 0, 2, 0], mode="constant")
    return indexing.GatherOp.get(wider, indices, axis=0).result


def gathered(axis: int) -> Expression:
    return lambda x, indices: indexing.GatherOp.get(x, indices, axis=axis).result


CASES = {
    "a run of every length": Case(lambda x: elementwise.ReluOp.get(x).result, ((7 * 31 * 3,),)),
    "a short run": Case(lambda x: elementwise.ReluOp.get(x).result, ((13,),)),
    "same shapes": Case(relu_of_sum, ((4, 8, 33), (4, 8, 33))),
    "one per row": Case(relu_of_sum, ((4, 8, 33), (8, 1))),
    "one per column": Case(relu_of_sum, ((5, 9, 20), (20,))),
    "one per short column": Case(relu_of_sum, ((5, 9, 11), (11,))),
    "one per column of few": Case(relu_of_sum, ((5, 9, 7), (7,))),
    "one per image": Case(relu_of_sum, ((5, 3, 7, 9), (5, 1, 1, 1))),
    "one of all": Case(relu_of_sum, ((5, 37), (1, 1))),
    "both broadcast": Case(relu_of_sum, ((5, 1, 37), (6, 1))),
    "channels of blocks": Case(relu_of_sum, ((2, 3, 7, 5, 16), (1, 3, 1, 1, 16))),
    "two results": Case(two_results, ((6, 35), (6, 1))),
    "rows of padding": Case(rows_of_padded, ((2, 37), (9,)), ("float32", "int64"), limit=5),
    "square": Case(power(2), ((40,),)),
    "cube": Case(power(3), ((40,),)),
    "power of three quarters": Case(power(0.75), ((40,),)),
    "negative power": Case(power(-1.5), ((40,),)),
    "power of zeros": Case(
        lambda x: power(-0.5)(elementwise.MulOp.get(x, elementwise.SubOp.get(x, x)).result), ((40,),)
    ),
    "transpose": Case(transpose(1, 0), ((37, 50),)),
    "transpose a column": Case(transpose(1, 0), ((17, 1),)),
    "transpose few rows": Case(transpose(1, 0), ((3, 50),)),
    "transpose of blocks": Case(transpose(0, 2, 1), ((2, 32, 48),)),
    "heads": Case(transpose(0, 2, 1, 3), ((1, 5, 3, 20),)),
    "heads across": Case(transpose(0, 2, 3, 1), ((1, 18, 2, 20),)),
    "reversed axes": Case(transpose(3, 2, 1, 0), ((5, 4, 3, 17),)),
    "sum of a transpose": Case(joined_across, ((34, 7), (7, 17))),
    "pack whole blocks": Case(lambda x: blocked(x, 16), ((2, 32, 5, 7),)),
    "pack": Case(lambda x: blocked(x, 16), ((1, 43, 5, 7),)),
    "pack few": Case(lambda x: blocked(x, 8), ((2, 3, 40),)),
    "words of one channel": Case(packed_words, ((1, 1, 70), (), ()), ("float32", "float32", "int8")),
    "words of three channels": Case(packed_words, ((2, 3, 7, 19), (), ()), ("float32", "float32", "int8")),
    "words of four channels": Case(packed_words, ((1, 4, 3, 5, 16), (), ()), ("float32", "float32", "int8")),
    "words of nine channels": Case(packed_words, ((2, 9, 37), (), ()), ("float32", "float32", "int8")),
    "words of few positions": Case(packed_words, ((9, 3, 3), (), ()), ("float32", "float32", "int8")),
    "words of two channels, last": Case(packed_last, ((2, 5, 37, 2),), ("uint8",), 256),
    "words of three channels, last": Case(packed_last, ((1, 9, 23, 3),), ("int8",), 99),
    "words of four channels, last": Case(packed_last, ((1, 9, 23, 4),), ("int8",), 99),
    "words of five channels, last": Case(packed_last, ((1, 9, 23, 5),), ("int8",), 99),
    "padded words": Case(padded_words, ((2, 3, 5, 37),), ("int8",), 99),
    "two results of words": Case(two_packed, ((2, 3, 7, 11), (2, 3, 7, 11)), ("uint8", "uint8"), 256),
    "four floats": Case(lambda x: blocked(x, 4), ((2, 3, 40),)),
    "four bytes of four": Case(lambda x, y: elementwise.MaxOp.get(x, y).result, ((9, 4), (4,)), ("int8", "int8")),
    "unpack whole blocks": Case(lambda x: unblocked(x, 32), ((2, 2, 5, 7, 16),)),
    "unpack": Case(lambda x: unblocked(x, 43), ((2, 3, 5, 7, 16),)),
    "unpack parts": Case(lambda x: unblocked(x, 43, 3, 40), ((2, 4, 5, 7, 16),)),
    "pack groups": Case(lambda x: pack(x, weight_panels(4, 16, 8, 3)).result, ((36, 5, 3, 2),)),
    "unpack few": Case(lambda x: unblocked(x, 3), ((2, 1, 40, 8),)),
    "concatenate": Case(joined(1), ((2, 3, 20), (2, 1, 20), (2, 5, 20))),
    "concatenate few": Case(joined(1), ((9, 3), (9, 2))),
    "concatenate the last axis": Case(joined(2), ((2, 3, 20), (2, 3, 1), (2, 3, 35))),
    "pad": Case(padded("constant", 0, 1, 2, 0, 3, 1), ((2, 5, 20),)),
    "pad with edges": Case(padded("edge", 0, 2, 3, 0), ((5, 20),)),
    "pad with reflections": Case(padded("reflect", 0, 2, 2, 3), ((5, 20),)),
    "pad with repetitions": Case(padded("wrap", 1, 2, 2, 23), ((5, 20),)),
    "slice": Case(sliced([1, 0, 2], [1, 2, 1], [2, 3, 30]), ((4, 6, 40),)),
    "slice with a step": Case(sliced([0, 1], [1, 2], [3, 19]), ((3, 40),)),
    "slice backwards": Case(sliced([2, 38], [-1, -1], [3, 37]), ((3, 40),)),
    "gather rows": Case(gathered(0), ((9, 40), (2, 3)), ("float32", "int64"), 9),
    "gather slices": Case(gathered(1), ((2, 5, 20), (3,)), ("float32", "int32"), 9),
    "gather elements": Case(gathered(1), ((30, 40), (20,)), ("float32", "int64"), 60),
    "broadcast": Case(lambda x: movement.BroadcastOp.get(x, shape=[3, 5, 20]).result, ((5, 1),)),
    "upper triangle": Case(
        lambda x, k: movement.TriluOp.get(x, k, upper=True).result, ((6, 20), ()), ("float32", "int64"), 3
    ),
    "compare": Case(lambda x, y: logical.CompareOp.get(x, y, how="lt").result, ((5, 37), (5, 1))),
    "where": Case(
        lambda c, x, y: logical.WhereOp.get(c, x, y).result,
        ((5, 1), (5, 37), (37,)),
        ("bool", "float32", "float32"),
        2,
    ),
    "not": Case(lambda x: logical.NotOp.get(x).result, ((5, 37),), ("bool",), 2),
    "transposed truth": Case(transpose(1, 0), ((20, 37),), ("bool",), 2),
    "transposed bytes": Case(transpose(1, 0), ((20, 37),), ("int8",)),
    "doubles": Case(relu_of_sum, ((5, 37), (5, 1)), ("float64", "float64")),
    "integers": Case(relu_of_sum, ((5, 37), (37,)), ("int64", "int64")),
    "unsigned": Case(lambda x, y: elementwise.MaxOp.get(x, y).result, ((5, 37), (37,)), ("uint8", "uint8"), 256),
    "to double": Case(cast("float64"), ((70,),)),
    "to integer": Case(cast("int32"), ((70,),)),
    "to byte": Case(cast("uint8"), ((70,),), ("int32",), 1000),
    "to truth": Case(cast("bool"), ((70,),), ("int64",), 2),
    "from truth": Case(cast("float32"), ((70,),), ("bool",), 2),
    "quantize": Case(quantized, ((2, 3, 37), (3,), (3,)), ("float32", "float32", "uint8")),
    "dequantize": Case(dequantized, ((2, 3, 37), (3,), (3,)), ("int8", "float32", "int8")),
    "half precision": Case(relu_of_sum, ((5, 37), (5, 1)), ("float16", "float16")),
    "half precision transposed": Case(transpose(1, 0), ((20, 37),), ("float16",)),
    "bfloat16": Case(relu_of_sum, ((5, 33), (33,)), ("bfloat16", "bfloat16")),
    "to bfloat16": Case(cast("bfloat16"), ((5, 33),)),
    "from minifloat": Case(cast("float32"), ((70,),), ("float8_e4m3fn",)),
    "tangent": Case(lambda x: functions.TanOp.get(x).result, ((5, 37),)),
    "tangent of doubles": Case(lambda x: functions.TanOp.get(x).result, ((5, 37),), ("float64",)),
    "sine": Case(lambda x: functions.SinOp.get(x).result, ((5, 37),)),
    "exponential of few": Case(lambda x: functions.ExpOp.get(x).result, ((3,),)),
}
PLAIN = {
    "from minifloat": "tiles of f8E4M3FN",
    "tangent of doubles": "tan of a tile of f64",
    "gather elements": "no axis is contiguous along the lanes",
    "upper triangle": "no axis is contiguous along the lanes",
}
"""Cases that are computed element by element, and why."""
SHORT = {"one per column of few", "transpose few rows", "reversed axes", "four bytes of four"}
"""Cases that fill too few of 16 lanes to be on tiles."""
INEXACT = {
    *{"tangent", "tangent of doubles", "sine", "exponential of few"},
    *{"cube", "power of three quarters", "negative power"},
}
"""Cases of which numpy computes another last bit."""


@dataclass(frozen=True)
class Results:
    """Of all cases, and why kernels are not on tiles."""

    tiled: dict[str, list[Array]]
    plain: dict[str, list[Array]]
    expected: dict[str, list[Array]]
    reasons: dict[str, str]


def kernel(name: str, case: Case, schedule: ElementwiseSchedule | None) -> FuncOp:
    """The case as a function."""
    kinds = [TensorType(ELEMENT_TYPES[array.dtype.name], array.shape) for array in case.operands()]
    block = Block(arg_types=kinds)
    with ImplicitBuilder(block):
        given = case.expression(*block.args)
        results = [given] if isinstance(given, SSAValue) else given
        ReturnOp(*results)
    signature = FunctionType.from_lists(kinds, [value.type for value in results])
    function = FuncOp(name, signature, Region(block), visibility="private")
    function.attributes |= {"aot.kernel": UnitAttr(), "aot.in_place": ArrayAttr(ArrayAttr([]) for _ in results)}
    if schedule is not None:
        function.attributes[SCHEDULE] = ScheduleAttr.of(schedule)
    return function


def model(functions: dict[str, FuncOp], cases: dict[str, Case]) -> ModuleOp:
    """One entry that calls every kernel on the operands of its case."""

    def named(name: str, value: SSAValue) -> dict[str, StringAttr]:
        return {"aot.name": StringAttr(name), "aot.dtype": StringAttr(numpy_dtype(element_type_of(value)).name)}

    places = [(name, index) for name, case in cases.items() for index in range(len(case.shapes))]
    kinds = [functions[f"{name} t"].body.block.args[index].type for name, index in places]
    block = Block(arg_types=kinds)
    arguments = dict(zip(places, block.args, strict=True))
    results: dict[str, SSAValue] = {}
    with ImplicitBuilder(block):
        for name, function in functions.items():
            operands = [arguments[name[:-2], index] for index in range(len(function.body.block.args))]
            call = CallOp(function.sym_name.data, operands, function.function_type.outputs.data)
            results |= {f"{name} {index}": value for index, value in enumerate(call.results)}
        ReturnOp(*results.values())
    signature = FunctionType.from_lists(kinds, [value.type for value in results.values()])
    entry = FuncOp("main", signature, Region(block))
    entry.attributes["aot.entry"] = UnitAttr()
    entry.arg_attrs = ArrayAttr(  # pyright: ignore[reportAttributeAccessIssue]
        DictionaryAttr(named(f"{name} {index}", argument)) for (name, index), argument in arguments.items()
    )
    entry.res_attrs = ArrayAttr(DictionaryAttr(named(name, value)) for name, value in results.items())  # pyright: ignore[reportAttributeAccessIssue]
    return ModuleOp([entry, *functions.values()], {"aot.name": StringAttr("cases")})


def evaluated(function: FuncOp, operands: Sequence[Array]) -> list[Array]:
    """The results of a kernel by numpy."""
    values: dict[SSAValue, Array] = dict(zip(function.body.block.args, operands, strict=True))
    for op in function.body.block.ops:
        if isinstance(op, ConstantOp):
            values[op.result] = op.inline_array()
        elif isinstance(op, GraphOp):
            results = op.evaluate([values[operand] for operand in op.operands])
            assert results is not None
            values |= dict(zip(op.results, results, strict=True))
    end = function.body.block.last_op
    assert end is not None
    return [values[value].reshape(shape_of(value)) for value in end.operands]


@cache
def results(lanes: int) -> Results:
    """Every case compiled and run."""
    functions = {
        f"{name} {way}": kernel(f"case_{number}_{way}", case, ElementwiseSchedule(lanes, 4) if way == "t" else None)
        for number, (name, case) in enumerate(CASES.items())
        for way in "tp"
    }
    expected = {name: evaluated(functions[f"{name} t"], case.operands()) for name, case in CASES.items()}
    symbols = {function.sym_name.data: name[:-2] for name, function in functions.items()}
    hosted = replace(
        CompileOptions.of(optimize="1"),
        interface_api="c",
        operator_api="unpacked",
        workspace="caller",
        weights="caller",
        io="caller",
    )
    ctx = new_context()
    compilation = Compilation(hosted, ctx, model(functions, CASES), WeightStore.of(ctx), "outline")
    runner = PassRunner(ctx)
    reasons: dict[str, str] = {}
    for phase in PHASES[phase_index("outline") + 1 :]:
        runner.run(phase.name, pipeline_of(phase, hosted), compilation.module)
        compilation.phase = phase.name
        if phase.name == "loops":
            for function in compilation.module.ops:
                if isinstance(function, FuncOp) and isinstance(
                    why := function.attributes.get("aot.scalar_fallback"), StringAttr
                ):
                    reasons[symbols[function.sym_name.data]] = why.data
    feed = {f"{name} {k}": array for name, case in CASES.items() for k, array in enumerate(case.operands())}
    outputs = compiled_in_process(compilation)(feed)

    def of(way: str) -> dict[str, list[Array]]:
        return {
            name: [np.asarray(outputs[f"{name} {way} {index}"]) for index in range(len(values))]
            for name, values in expected.items()
        }

    return Results(of("t"), of("p"), expected, reasons)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("lanes", LANES)
def test_tiles_give_what_elements_give(name: str, lanes: int) -> None:
    found = results(lanes)
    for tiled, plain, expected in zip(found.tiled[name], found.plain[name], found.expected[name], strict=True):
        if name in INEXACT:
            np.testing.assert_allclose(plain, expected, rtol=1e-6)
            np.testing.assert_allclose(tiled, expected, rtol=1e-6)
        else:
            np.testing.assert_array_equal(plain, expected)
            np.testing.assert_array_equal(tiled, expected)


@pytest.mark.parametrize("lanes", LANES)
def test_kernels_are_on_tiles_unless_there_is_a_reason(lanes: int) -> None:
    reasons = results(lanes).reasons
    assert {name: why for name, why in reasons.items() if name not in SHORT} == PLAIN
    assert reasons.keys() - PLAIN == (SHORT if lanes > 4 else set())
