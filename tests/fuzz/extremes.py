"""One node on the ends of the types that its operator allows, whatever type its drawer takes: integers of every width,
zeros of both signs, infinities, NaN, subnormals; with the attributes that the drawer draws."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from onnx import NodeProto, defs

from aotc.dialects.dtypes import ELEMENT_TYPES, number_kind, numpy_dtype
from fuzz.catalogue import DRAWERS
from fuzz.drafts import Draft, Specimen, Value, is_float
from fuzz.oracle import OWN, Array, Part, Refused

OPEN = {
    **dict.fromkeys(
        ("BlackmanWindow", "ConstantOfShape", "HammingWindow", "HannWindow", "MelWeightMatrix"),
        "their operands are extents",
    ),
    "BitShift": "by as many bits as there are, or more",
    "Cast": "which integer a float becomes that the type does not hold",
    "CastLike": "the same",
    "DequantizeLinear": "the standard has int32 without a zero point",
    "Einsum": "onnxruntime's sums of integers saturate on the way for some equations",
    "GridSample": "to which integer an interpolation rounds",
    "If": "branches have types of their own",
    "Loop": "so have bodies",
    "QuantizeLinear": "the judges have integers overflow before they are clamped",
    "Scan": "the same",
}
"""Operators of which the standard leaves open what comes out of such operands."""

SMALL = {
    "Pow": 3,
    "ReduceProd": 2,
    "Gemm": 100,
    "Resize": 1 << 15,
    "Upsample": 1 << 15,
    "CumProd": 1,
    "Normalizer": 100,
} | {f"Reduce{kind}": 100 for kind in ("L1", "L2", "LogSum", "LogSumExp", "Mean", "Sum", "SumSquare")}
"""The greatest magnitude of operands where a result that the type does not hold is open."""

ROUNDED = {"Gemm", "Resize", "Upsample"}
"""Operators that compute with floats whatever their type: the nearest integers are as good."""

EXACT = {
    *("Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Relu", "IsNaN", "IsInf", "Where", "Equal", "Greater", "Less"),
    *("GreaterOrEqual", "LessOrEqual", "Max", "Min", "Clip", "ReduceMax", "ReduceMin", "ArgMax", "ArgMin", "MaxPool"),
    *("Transpose", "Reshape", "Concat", "Slice", "Gather", "GatherElements", "GatherND", "Pad", "Tile", "Expand"),
    *("Squeeze", "Unsqueeze", "Flatten", "Identity", "Split", "DepthToSpace", "SpaceToDepth", "Compress", "Trilu"),
    *("ReverseSequence", "EyeLike", "ScatterElements", "ScatterND", "GlobalMaxPool", "CenterCropPad"),
}
"""Operators whose results are exact, whatever floats they are of."""

ONCE = {"Add", "Sub", "Mul", "Div", "Sqrt", "Reciprocal", "PRelu", "LeakyRelu", "ThresholdedRelu", "Shrink"}
"""Operators that round once, to a float that may be subnormal or too large for one."""

LOSES_NAN = {"ReduceMax", "ReduceMin", "ScatterElements", "ScatterND", "Clip", "MaxPool", "GlobalMaxPool", "Max", "Min"}
LOSES_NAN |= {"ArgMax", "ArgMin", "Relu", "PRelu", "LeakyRelu", "ThresholdedRelu", "Shrink", "Sign"}
"""Operators that choose between elements: what they do with NaN is not the same for all implementations
(docs/compatibility)."""

_TRIES = 40
"""How often a node is drawn again until one of its types has a judge."""


@cache
def names() -> tuple[str, ...]:
    """The operators of tensors that ONNX defines, by the drawers that they have."""
    found = {name: name.partition(" ")[0].rpartition(".") for name in DRAWERS if name not in OPEN | OWN}
    return tuple(name for name, (domain, _, op_type) in found.items() if _is_of_tensors(op_type, domain))


def _is_of_tensors(op_type: str, domain: str) -> bool:
    if not defs.has(op_type, domain):
        return False
    schema = defs.get_schema(op_type, domain)
    return not any("seq" in text or "map" in text for each in schema.outputs for text in each.types)


def draw_extreme(seed: int, name: str = "", dtype: str = "") -> Specimen:
    """The node of a seed; of this operator, and this type of its first operand, if they are given. Raises Refused."""
    rng, last = np.random.default_rng(seed), ""
    for _ in range(_TRIES):
        draft = Draft(rng)
        try:
            DRAWERS[name or draft.pick(names())](draft)
            return _at_the_ends(draft, dtype, seed)
        except Refused as error:
            last = str(error)
    raise Refused(f"{_TRIES} times, at last: {last}")


def allowed(node: NodeProto, versions: dict[str, int]) -> dict[str, set[int]]:
    """The element types that the first operand may have -> the places of the operands that have the same.

    Raises Refused where the version has no such operator.
    """
    if not defs.has(node.op_type, versions[node.domain], node.domain):
        raise Refused(f"{node.op_type} is not of version {versions[node.domain]}")
    schema = defs.get_schema(node.op_type, versions[node.domain], node.domain)
    if not schema.inputs or not node.input:
        return {}
    formal = [schema.inputs[min(place, len(schema.inputs) - 1)].type_str for place in range(len(node.input))]
    alike = {place for place, each in enumerate(formal) if each == formal[0] and node.input[place]}
    types = {f"tensor({_ONNX_NAMES.get(each, each)})": each for each in ELEMENT_TYPES}
    return {types[each]: alike for each in schema.inputs[0].types if each in types}


_ONNX_NAMES = {"float32": "float", "float64": "double"}


def _at_the_ends(draft: Draft, dtype: str, seed: int) -> Specimen:
    if not draft.nodes:
        raise Refused("no node")
    node, values = draft.nodes[0], {value.name: value for value in draft.values}
    types = allowed(node, draft.versions) if _is_of_tensors(node.op_type, node.domain) else {}
    floats = {each for each in types if number_kind(numpy_dtype(each)) == "f" and numpy_dtype(each).isbuiltin == 1}
    kinds = {each for each in types if number_kind(numpy_dtype(each)) in "iu" and numpy_dtype(each).isbuiltin == 1}
    if node.op_type in EXACT | ONCE and (not kinds or draft.chance(0.4)):
        kinds |= floats - {"float16"} if node.op_type in ONCE else floats
    choices = sorted(kinds & {dtype} if dtype else kinds)
    if not choices or any(name not in values for name in node.input if name):
        raise Refused("of another type")
    dtype = draft.pick(choices)
    for place in sorted(types[dtype]):
        old = values[node.input[place]]
        array = _ends(draft, node, place, dtype, old.array.shape)
        values[old.name] = Value(old.name, array, 0.0, old.constant, old.fixed)
    outputs = [name for name in node.output if name]
    given = {name: values[name].array for name in node.input if name}
    constant = {name for name in given if values[name].constant}
    if _is_nearest(node):  # judges compute with floats, which hold the numbers of elements
        first, given = given[node.input[0]], {**given, node.input[0]: _numbers(given[node.input[0]].shape)}
        numbers = Part([node], outputs, given, constant, draft.versions).run(given)
        found = [first.reshape(-1)[each.astype(np.int64)] for each in numbers]
    else:
        found = Part([node], outputs, given, constant, draft.versions, _is_misjudged(node, dtype)).run(given)
    if any(not array.size for array in found):
        raise Refused("empty")
    made = {name: Value(name, array, _error(node, array)) for name, array in zip(outputs, found, strict=True)}
    used = {name: values[name] for name in given}
    return Specimen([node], used | made, outputs, draft.versions, seed=seed)


def _is_nearest(node: NodeProto) -> bool:
    """Whether a node resizes by taking each element from one place, as it is."""
    modes = [each.s for each in node.attribute if each.name == "mode"]
    return node.op_type in ("Resize", "Upsample") and modes in ([], [b"nearest"])


def _numbers(shape: tuple[int, ...]) -> Array:
    """The elements of a shape, numbered."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def _is_misjudged(node: NodeProto, dtype: str) -> bool:
    """Whether onnxruntime clamps what it resizes of int8 to the ends of uint8."""
    return dtype == "int8" and any(each.name == "antialias" and each.i for each in node.attribute)


def _error(node: NodeProto, array: Array) -> float:
    if not is_float(array) or node.op_type in EXACT:
        return float(node.op_type in ROUNDED and not _is_nearest(node))
    if node.op_type in ONCE:
        return float(np.finfo(array.dtype).tiny)  # what is smaller may be zero
    return 1e-5 * float(np.abs(array.astype(np.float64)).max(initial=1, where=np.isfinite(array)))


def _ends(draft: Draft, node: NodeProto, place: int, dtype: str, shape: tuple[int, ...]) -> Array:
    """The ends of a type, and a few others; of operands for which some have no result those that have one."""
    kind, most = numpy_dtype(dtype), 1 << 64 if _is_nearest(node) else SMALL.get(node.op_type, 1 << 64)
    pool = _floats(node.op_type, kind) if number_kind(kind) == "f" else _integers(node.op_type, kind, place, most)
    return draft.rng.choice(np.array(pool, kind), shape)


def _floats(op_type: str, kind: np.dtype[Any]) -> Iterable[float]:
    limits = np.finfo(kind.name)
    found = [0.0, -0.0, 1.0, -1.5, 0.5, 2.5, float(limits.max), float(limits.min), float(limits.tiny)]
    found += [float(limits.smallest_subnormal), -float(limits.smallest_subnormal), np.inf, -np.inf]
    return found if op_type in LOSES_NAN else [*found, np.nan]


def _integers(op_type: str, kind: np.dtype[Any], place: int, most: int) -> Iterable[int]:
    limits = np.iinfo(kind.name)
    if op_type == "Range":  # of few elements
        return [(int(limits.min), int(limits.max), int(limits.max) // 2)[place]]
    ends = [
        int(limits.min),
        int(limits.min) + 1,
        int(limits.max) // 2,
        int(limits.max) - 1,
        int(limits.max),
        0,
        1,
        3,
        100,
    ]
    ends += [-1, -2] if limits.min else []
    if op_type in ("Div", "Mod") and place:  # by 0 there is no result, nor of the least one by -1
        return [each for each in ends if each not in (0, -1)]
    return [each for each in ends if abs(each) <= most]
