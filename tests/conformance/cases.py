"""Single nodes over their element types, the versions whose forms differ, and awkward values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from harness import Array, reference
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from aotc.dialects import arrays
from aotc.dialects.dtypes import ELEMENT_TYPES, is_encoded, is_minifloat, numpy_dtype
from aotc.frontend.onnx.tensors import ONNX_TYPES

FLOATS = ("float32", "float64", "float16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ALL = (*FLOATS, *INTEGERS, "bool")


@dataclass(frozen=True)
class Case:
    """One node: operator, version of the operator set, inputs (None: left out), attributes, number of outputs."""

    op_type: str
    opset: int
    inputs: tuple[Array | None, ...]
    attributes: dict[str, Any]
    outputs: int = 1

    def __str__(self) -> str:
        types = "-".join("none" if x is None else x.dtype.name + "x".join(map(str, x.shape)) for x in self.inputs)
        values = "-".join(f"{name}={value}" for name, value in self.attributes.items())
        return f"{self.op_type}-{self.opset}-{types}-{values}".rstrip("-").replace(" ", "")

    def model(self) -> tuple[ModelProto, dict[str, Array]]:
        names = [f"x{i}" if x is not None else "" for i, x in enumerate(self.inputs)]
        feed = {name: x for name, x in zip(names, self.inputs, strict=True) if x is not None}
        outputs = [f"y{i}" for i in range(self.outputs)]
        graph = helper.make_graph(
            [helper.make_node(self.op_type, names, outputs, **self.attributes)],
            "case",
            [helper.make_tensor_value_info(name, onnx_type(x.dtype.name), x.shape) for name, x in feed.items()],
            [ValueInfoProto(name=name) for name in outputs],
        )
        sets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=sets, ir_version=11 if self.opset > 22 else 10), feed


def onnx_type(dtype: str) -> int:
    return ONNX_TYPES[ELEMENT_TYPES[dtype]]


def case(op_type: str, opset: int, *inputs: Array | None, outputs: int = 1, **attributes: Any) -> Case:
    return Case(op_type, opset, inputs, attributes, outputs)


_random = np.random.default_rng(7)


def values(dtype: str, *shape: int, low: float = -4, high: float = 4) -> Array:
    """Random values: floats in [low, high), integers in [-100, 100) or [0, 100)."""
    if dtype == "bool":
        return _random.integers(0, 2, shape).astype(dtype)
    if dtype in INTEGERS:
        return _random.integers(0 if dtype[0] == "u" else -100, 100, shape).astype(dtype)
    return _random.uniform(low, high, shape).astype(dtype)


def small(dtype: str, *shape: int) -> Array:
    """Positive values up to 4, none of them zero."""
    if dtype in INTEGERS:
        return _random.integers(1, 5, shape).astype(dtype)
    return values(dtype, *shape, low=0.5, high=4)


AWKWARD = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 1e-40, 0.5, 1.5, 2.5, -0.5, -1.5], np.float32)
OUT_OF_RANGE = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 5e9, 300.7, -1.5, 70000, -129, 65535.9], np.float32)

DOMAINS = {"Acosh": (1.01, 5), "Log": (0.01, 5), "Sqrt": (0, 5), "Asin": (-1, 1), "Acos": (-1, 1), "Atanh": (-0.9, 0.9)}
FUNCTIONS = (
    "Abs Neg Exp Log Sqrt Reciprocal Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Erf Ceil Floor Round "
    "Sign Relu Sigmoid Softplus Softsign Elu Selu Celu LeakyRelu HardSigmoid HardSwish Mish ThresholdedRelu Shrink"
)
ON_AWKWARD = "Abs Neg Exp Sqrt Sigmoid Tanh Erf Ceil Floor Round Sign Relu Softplus IsNaN IsInf"
BINARY = "Add Sub Mul Div Max Min Sum Mean Equal Less Greater LessOrEqual GreaterOrEqual Mod PRelu"
REDUCTIONS = "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare"


def unary() -> Iterator[Case]:
    for op_type in FUNCTIONS.split():
        low, high = DOMAINS.get(op_type, (-4, 4))
        for dtype in FLOATS:
            yield case(op_type, 22, values(dtype, 3, 5, low=low, high=high))
        for opset in (10, 16):
            yield case(op_type, opset, values("float32", 3, 5, low=low, high=high))
    yield case("Celu", 12, values("float32"), alpha=0.5)
    for op_type in ("Abs", "Neg", "Sign", "Relu"):
        for dtype in INTEGERS:
            yield case(op_type, 14, values(dtype, 7))
    for op_type in ON_AWKWARD.split():
        yield case(op_type, 20, AWKWARD)
    for negative, positive in ((0, 1), (1, 0), (0, 0)):
        yield case("IsInf", 10, AWKWARD, detect_negative=negative, detect_positive=positive)
    for approximate in ("none", "tanh"):
        yield case("Gelu", 20, values("float32", 9), approximate=approximate)
    yield case("Not", 7, values("bool", 3))


def binary() -> Iterator[Case]:
    for op_type in BINARY.split():
        for dtype in (*FLOATS, *INTEGERS):
            x, y = values(dtype, 3, 1, 5), small(dtype, 5) if op_type in ("Div", "Mod") else values(dtype, 5)
            for opset in (7, 12, 16):
                if dtype == "float32" or opset == 16:
                    yield case(op_type, opset, x, y)
    for op_type in ("Max", "Min", "Sum", "Mean"):
        for dtype in FLOATS:
            yield case(op_type, 8, values(dtype, 3, 1, 5))
            yield case(op_type, 13, values(dtype, 3, 1, 5), values(dtype, 5), values(dtype, 3, 1))
        yield case(op_type, 13, AWKWARD, np.ones_like(AWKWARD))
    for dtype in (*FLOATS, *INTEGERS):
        yield case("Mod", 13, values(dtype, 9), small(dtype, 9), fmod=1)
    for base in ("float32", "float64", "int32", "int64"):
        for exponent in ("float32", "float64", "int32", "int64"):
            yield case("Pow", 15, small(base, 4), np.array([3, 1, 2, 0], exponent))
            yield case("Pow", 15, small(base, 4), np.array(2, exponent))
    for op_type in ("And", "Or", "Xor", "Equal"):
        yield case(op_type, 7, values("bool", 3, 4), values("bool", 4))
    for dtype in INTEGERS:
        yield case("BitwiseNot", 18, values(dtype, 5))
        for op_type in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
            yield case(op_type, 18, values(dtype, 2, 5), values(dtype, 5))
    for dtype in ("uint8", "uint32", "uint64"):
        for direction in ("LEFT", "RIGHT"):
            amounts = np.array([0, 1, 3, 7, 200], dtype)
            yield case("BitShift", 11, values(dtype, 5), amounts, direction=direction)
    for dtype in ALL:
        yield case("Where", 16, values("bool", 3, 1), values(dtype, 4), values(dtype, 3, 4))
    for dtype in (*FLOATS, *INTEGERS):
        low, high = np.array(1, dtype), np.array(2, dtype)
        yield case("Clip", 13, values(dtype, 9), low, high)
        yield case("Clip", 12, values(dtype, 9), None, high)
        yield case("Clip", 13, values(dtype, 9), high, low)
    yield case("Clip", 7, values("float32", 9), min=-1.0, max=1.0)
    yield case("Clip", 10, values("float32", 9), max=1.0)
    yield case("Clip", 13, AWKWARD, np.array(-1, np.float32), np.array(1, np.float32))


def conversion() -> Iterator[Case]:
    for source in ALL:
        for target in ALL:
            yield case("Cast", 13, values(source, 9), to=onnx_type(target))
    for target in ("int8", "uint8", "int16", "uint16", "int32", "int64", "bool"):
        yield case("Cast", 9, OUT_OF_RANGE, to=onnx_type(target))
    for opset in (7, 10, 12, 13):
        yield case("Dropout", opset, values("float32", 3, 4), outputs=2)
    yield case("Cast", 7, values("float32", 9), to=TensorProto.INT32)
    yield case("CastLike", 15, values("float32", 9), values("int8", 2))


def quantization() -> Iterator[Case]:
    x, one = values("float32", 3, 4, 6, low=-300, high=300), np.array(0.7, np.float32)
    for dtype in ("int8", "uint8", "int16", "uint16"):
        point, points = np.array(5, dtype), values(dtype, 4)
        scales = values("float32", 4, low=0.1, high=2)
        blocks = values("float32", 3, 4, 2, low=0.1, high=2)
        q = values(dtype, 3, 4, 6)
        for opset in (10, 13, 21):
            yield case("QuantizeLinear", opset, x, one, point)
            yield case("DequantizeLinear", opset, q, one, point)
        for opset in (13, 23):
            yield case("QuantizeLinear", opset, x, scales, points, axis=1)
            yield case("DequantizeLinear", opset, q, scales, points, axis=-2)
        yield case("QuantizeLinear", 21, x, blocks, values(dtype, 3, 4, 2), axis=2, block_size=3)
        yield case("DequantizeLinear", 21, q, blocks, values(dtype, 3, 4, 2), axis=-1, block_size=3)
        yield case("QuantizeLinear", 21, x, one, output_dtype=onnx_type(dtype))
        yield case("QuantizeLinear", 19, x.astype(np.float16), one.astype(np.float16), point)
        yield case("DequantizeLinear", 19, q, one.astype(np.float16), point)
    yield case("QuantizeLinear", 13, AWKWARD, one)
    yield case("DequantizeLinear", 13, values("int32", 4), one)
    yield case("DequantizeLinear", 13, values("int8", 4), one.reshape(1))
    for data in (values("float32", 3, 4), small("float32", 3, 4), np.zeros((3, 4), np.float32)):
        yield case("DynamicQuantizeLinear", 11, data, outputs=3)


def reductions() -> Iterator[Case]:
    for kind in REDUCTIONS.split():
        op_type = "Reduce" + kind
        for dtype in (*FLOATS, "int32", "int64", "int8", "uint8"):
            if not (kind == "LogSumExp" and dtype in INTEGERS):  # onnxruntime truncates every exponential there
                yield case(op_type, 18, small(dtype, 2, 3, 4), np.array([1]), keepdims=0)
        x = small("float32", 2, 3, 4)
        yield case(op_type, 7, x, axes=[0, 2])
        yield case(op_type, 11, x, keepdims=0)
        if kind == "Sum":
            yield case(op_type, 13, x, np.array([0, -1]), keepdims=0)
        else:
            yield case(op_type, 13, x, axes=[0, -1], keepdims=0)
        yield case(op_type, 18, x, noop_with_empty_axes=1)
        yield case(op_type, 18, x, np.array([], np.int64), keepdims=0)
        yield case(op_type, 18, x[0, 0, 0])
        yield case(op_type, 18, np.zeros((2, 0, 3), np.float32), np.array([1]))
    for op_type in ("ReduceMax", "ReduceMin"):
        yield case(op_type, 20, values("bool", 3, 4), np.array([1]))
    for op_type in ("ArgMax", "ArgMin"):
        for dtype in (*FLOATS, *INTEGERS):
            x = values(dtype, 3, 4, 5)
            x[:, 1] = x[:, 2]
            yield case(op_type, 13, x, axis=1, keepdims=0)
            yield case(op_type, 12, x, axis=-2, select_last_index=1)
        yield case(op_type, 7, values("float32", 3, 4))
    for dtype in ("float32", "float64", "int32", "int64"):
        for exclusive in (0, 1):
            for reverse in (0, 1):
                axis = np.array(-2, np.int32)
                yield case("CumSum", 14, values(dtype, 3, 4), axis, exclusive=exclusive, reverse=reverse)


def normalization() -> Iterator[Case]:
    for op_type in ("Softmax", "LogSoftmax", "Hardmax"):
        x = values("float32", 2, 3, 4)
        yield case(op_type, 13, np.array([[1e4, -1e4, 0], [-np.inf, 0, 1]], np.float32))
        for axis in (0, 1, -1):
            yield case(op_type, 11, x, axis=axis)
            yield case(op_type, 13, x, axis=axis)
        for dtype in FLOATS:
            yield case(op_type, 7, values(dtype, 2, 3, 4))
            yield case(op_type, 13, values(dtype, 2, 3, 4))
    for dtype in FLOATS:
        x = values(dtype, 2, 6, 4, 3)
        scale, bias, mean = (values(dtype, 6) for _ in range(3))
        for opset in (7, 9, 14, 15):
            yield case("BatchNormalization", opset, x, scale, bias, mean, small(dtype, 6), epsilon=1e-3)
        if dtype != "float16":  # normalised values are f16 between the operations, in onnxruntime f32
            for axis in (-1, 1, 2):
                row = values(dtype, *x.shape[axis:])
                yield case("LayerNormalization", 17, x, row, row, axis=axis)
                yield case("LayerNormalization", 17, x, row, axis=axis, epsilon=1e-2)
            for opset in (7, 22):
                yield case("InstanceNormalization", opset, x, scale, bias)
        for p in (1, 2):
            for axis in (-1, 1):
                yield case("LpNormalization", 7, x, p=p, axis=axis)
        yield case("MeanVarianceNormalization", 13, x, axes=[0, 2])
        yield case("RMSNormalization", 23, x, values(dtype, 3))
    x, row = values("float32", 2, 6, 4), values("float32", 4)
    yield case("GroupNormalization", 21, x, values("float32", 6), values("float32", 6), num_groups=3)
    yield case("LayerNormalization", 17, x, row, row, outputs=3)
    per_element = (values("float32", 6, 4) for _ in range(3))
    yield case("BatchNormalization", 7, x, *per_element, small("float32", 6, 4), spatial=0)


ENCODED = tuple(name for name, kind in ELEMENT_TYPES.items() if is_encoded(kind))
QUANTIZED = tuple(name for name in ENCODED if name != "float8_e8m0fnu")


def encoded(dtype: str, *shape: int) -> Array:
    """Random numbers of a type that memory codes in a byte."""
    low, high = (0, 15) if dtype.startswith("uint") else (0.1, 5) if dtype == "float8_e8m0fnu" else (-8, 7)
    return arrays.convert(_random.uniform(low, high, shape).astype(np.float32), numpy_dtype(dtype))


def codes() -> Iterator[Case]:
    """The types that memory codes in a byte: casts, quantisation, movement; no ties of floats, which onnxruntime takes
    up."""
    numbers = np.array([0, 0.3, -0.7, 1.2, 1.9, 3.2, -2.3, 6.1, 7.4, -6.8], np.float32)
    for name in ENCODED:
        kept: list[dict[str, Any]] = [{}, {"saturate": 0}] if name.startswith("float8") else [{}]
        positive = np.abs(numbers) + np.float32(0.01) if name == "float8_e8m0fnu" else numbers
        for attributes in kept:
            for source in ("float32", "float16", "float64"):
                yield case("Cast", 25, positive.astype(source), to=onnx_type(name), **attributes)
            if not is_minifloat(ELEMENT_TYPES[name]):
                ties = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, -3.4], np.float32)
                yield case("Cast", 25, ties, to=onnx_type(name))
            huge = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 3e-41], np.float32)
            if is_minifloat(ELEMENT_TYPES[name]):
                yield case("Cast", 25, huge, to=onnx_type(name), **attributes)
        yield case("Cast", 25, np.array([0, 1, 2, 3, 7], np.int32), to=onnx_type(name))
        for target in ("float32", "float16", "float64", "int8", "int32", "uint8", "bool"):
            yield case("Cast", 25, encoded(name, 9), to=onnx_type(target))
        x = encoded(name, 2, 3, 4)
        yield case("Transpose", 25, x, perm=[2, 0, 1])
        yield case("Reshape", 25, x, np.array([4, -1]))
        yield case("Pad", 25, x, np.array([1, 0, 2, 0, 1, 0]), encoded(name, 1).reshape(()))
        yield case("Pad", 25, x, np.array([0, -1, 0, 0, 0, 1]), mode="edge")
    for mode in ("up", "down", "nearest"):
        for saturate in (0, 1):
            powers = np.array([0.3, 1, 1.5, 1.75, 2**-127, 2**-126.2, 1e-40, 3e38, np.inf, np.nan, -1], np.float32)
            to = onnx_type("float8_e8m0fnu")
            yield case("Cast", 25, powers, to=to, saturate=saturate, round_mode=mode)
    for name in QUANTIZED:
        x, one = values("float32", 3, 4, 6, low=-9, high=9), np.array(0.7, np.float32)
        is_float = is_minifloat(ELEMENT_TYPES[name])
        point = np.zeros((), numpy_dtype(name)) if is_float else np.array(1).astype(numpy_dtype(name))
        scales, points = values("float32", 4, low=0.3, high=2), np.broadcast_to(point, 4).copy()
        blocks = values("float32", 3, 4, 2, low=0.3, high=2)
        q = encoded(name, 3, 4, 6)
        for kind in ("float32", "float16"):
            yield case("QuantizeLinear", 25, x.astype(kind), one.astype(kind), point)
            yield case("DequantizeLinear", 25, q, one.astype(kind), point)
        yield case("QuantizeLinear", 25, x, scales, points, axis=1)
        yield case("DequantizeLinear", 25, q, scales, points, axis=1)
        yield case("QuantizeLinear", 25, x, one, output_dtype=onnx_type(name))
        yield case("QuantizeLinear", 25, x, blocks, axis=2, block_size=3, output_dtype=onnx_type(name))
        yield case("DequantizeLinear", 25, q, blocks, axis=2, block_size=3)
        if name.startswith("float8"):
            yield case("QuantizeLinear", 25, AWKWARD, one, point, saturate=0)
            yield case("QuantizeLinear", 25, AWKWARD, one, point)
    # Quotients near ties: until version 21 they are in f32, since 23 rounded to the type of the scale.
    ties, narrow = np.linspace(-60, 60, 8192, dtype=np.float16), np.array(0.7, np.float16)
    for version in (21, 23):
        yield case("QuantizeLinear", version, ties, narrow, np.zeros((), np.int8))


FAMILIES = (unary, binary, conversion, quantization, reductions, normalization, codes)


@cache
def decided() -> list[tuple[Case, list[Array]]]:
    """Every case that onnxruntime has a kernel for, with its outputs."""
    made = ((each, reference(*each.model())) for family in FAMILIES for each in family())
    return [(each, expected) for each, expected in made if expected is not None]
