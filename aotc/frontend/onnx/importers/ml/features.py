"""Functions on features before a model sees them, and on labels after it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import is_float, numpy_dtype
from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.elementwise import AbsOp, DivOp, MulOp, NegOp, SubOp
from aotc.dialects.graph.functions import SqrtOp
from aotc.dialects.graph.indexing import GatherOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.logical import CompareOp, WhereOp
from aotc.dialects.graph.movement import ConcatOp, PadOp
from aotc.dialects.graph.reduction import ReduceOp
from aotc.dialects.graph.trees.leaves import TreeLeavesOp
from aotc.frontend.onnx.composition import cast, reshape, scalar
from aotc.frontend.onnx.importers.ml.ensembles import smallest
from aotc.frontend.onnx.importers.movement import cut
from aotc.frontend.onnx.labels import NO_LABEL, choices
from aotc.frontend.onnx.registry import Node, onnx_op
from aotc.model.weight_store import Array

_DOMAIN = "ai.onnx.ml"


def _per_feature(node: Node, values: Any, what: str) -> Array:
    """One value for all features, or one for each."""
    found, features = np.array(values), node.shape(0)[-1] if node.shape(0) else 1
    if found.size not in (1, features):
        node.fail("invalid-attribute", f"{what} has {found.size} values for {features} features")
    return found


@onnx_op("Scaler", domain=_DOMAIN)
def scaler(node: Node) -> SSAValue:
    x = cast(node, node.input(0), f32)
    offset, scale = (_per_feature(node, node.attr(name, [d]), name) for name, d in (("offset", 0.0), ("scale", 1.0)))
    return node.emit(MulOp, node.emit(SubOp, x, node.constant(offset, np.float32)), node.constant(scale, np.float32))


@onnx_op("Normalizer", domain=_DOMAIN)
def normalizer(node: Node) -> SSAValue:
    """Of a row that is all zeros the norm is 1. As in onnxruntime, MAX divides by the maximum, not by that of sizes."""
    x, norm = node.input(0), node.attr("norm", "MAX")
    if len(node.shape(0)) not in (1, 2):
        node.fail("invalid-shape", f"its input must be [rows, features], found {list(node.shape(0))}")

    def total(value: SSAValue, kind: str) -> SSAValue:
        return node.emit(ReduceOp, value, kind=kind, axes=[-1], keepdims=True)

    match norm:
        case "MAX":
            size = total(cast(node, x, f32), "max")
        case "L1":
            size = total(cast(node, node.emit(AbsOp, x), f32), "sum")
        case "L2":
            size = total(cast(node, node.emit(MulOp, x, x), f32), "sum")
        case _:
            node.fail("unsupported-attribute", f"norm = {norm} is not supported", fix="choose from MAX, L1, L2")
    x = cast(node, x, f32)
    nothing = node.emit(CompareOp, size, scalar(node, 0, size), how="eq")
    safe = node.emit(WhereOp, nothing, scalar(node, 1, size), size)
    if norm != "L2":
        return node.emit(DivOp, x, safe)
    root = node.emit(SqrtOp, node.emit(DivOp, node.emit(MulOp, x, x), safe))
    below = node.emit(CompareOp, x, scalar(node, 0, x), how="lt")
    return node.emit(WhereOp, nothing, x, node.emit(WhereOp, below, node.emit(NegOp, root), root))


@onnx_op("Binarizer", domain=_DOMAIN)
def binarizer(node: Node) -> SSAValue:
    x, threshold = node.input(0), float(np.float32(node.attr("threshold", 0.0)))
    if not is_float(element_type_of(x)):
        threshold = math.floor(threshold)
    above = node.emit(CompareOp, x, scalar(node, threshold, x), how="gt")
    return cast(node, above, element_type_of(x))


@onnx_op("Imputer", domain=_DOMAIN)
def imputer(node: Node) -> SSAValue:
    x = node.input(0)
    real = is_float(element_type_of(x))
    values, replaced = (
        ("imputed_value_floats", "replaced_value_float") if real else ("imputed_value_int64s", "replaced_value_int64")
    )
    if not node.attr(values):
        node.fail("missing-attribute", f"it has no {values}", "its input is " + ("real" if real else "integer"))
    dtype = numpy_dtype(element_type_of(x))
    new, old = (
        _per_feature(node, node.attr(values), values).astype(dtype),
        np.array(node.attr(replaced, 0)).astype(dtype),
    )
    if real and np.isnan(old):
        hit = node.emit(CompareOp, x, x, how="ne")
    else:
        hit = node.emit(CompareOp, x, node.constant(old), how="eq")
    return node.emit(WhereOp, hit, node.constant(new), x)


@onnx_op("OneHotEncoder", domain=_DOMAIN)
def one_hot_encoder(node: Node) -> SSAValue:
    """A category that is not among those given is all zeros, also where `zeros` is 0: then it counts as impossible."""
    if node.attr("cats_strings"):
        fix = "encode them before the model"
        node.fail("unsupported-type", "its categories are names", "text has no fixed size", fix)
    categories = np.array(node.attr("cats_int64s", []), np.int64)
    if not categories.size:
        node.fail("missing-attribute", "it has no cats_int64s")
    again = [place for place, each in enumerate(categories) if each in categories[place + 1 :]]
    x, shape = cast(node, node.input(0), i64), node.shape(0)
    hit = node.emit(CompareOp, reshape(node, x, [*shape, 1]), node.constant(categories), how="eq")
    result = cast(node, hit, f32)
    if again:  # of equal categories the last one counts
        result = node.emit(
            MulOp, result, node.constant([place not in again for place in range(len(categories))], np.float32)
        )
    return result


@onnx_op("FeatureVectorizer", domain=_DOMAIN)
def feature_vectorizer(node: Node) -> SSAValue:
    """Rows side by side; those that are longer than told are cut off, those that are shorter are filled up with 0."""
    sizes: list[int] = node.attr("inputdimensions", [])
    if len(sizes) != len(node.inputs) or min(sizes, default=0) < 1:
        node.fail("invalid-attribute", f"inputdimensions = {sizes} for {len(node.inputs)} inputs")
    parts: list[SSAValue] = []
    for position, size in enumerate(sizes):
        shape = node.shape(position)
        rows = 1 if len(shape) == 1 else shape[0]
        width = math.prod(shape) // max(rows, 1)
        part = reshape(node, cast(node, node.input(position), f32), [rows, width])
        if width > size:
            part = cut(node, part, {1: (0, 1, size)})
        elif width < size:
            part = node.emit(PadOp, part, scalar(node, 0, part), pads=[0, 0, 0, size - width], mode="constant")
        parts.append(part)
    return parts[0] if len(parts) == 1 else node.emit(ConcatOp, parts, axis=1)


@onnx_op("ArrayFeatureExtractor", domain=_DOMAIN)
def array_feature_extractor(node: Node) -> SSAValue:
    shape, count = node.shape(0), math.prod(node.shape(1))
    if not shape or not count:
        node.fail("invalid-shape", f"there is nothing to take from {list(shape)} at {list(node.shape(1))}")
    known = node.known(1)
    if known is not None and not (known.min() >= 0 and known.max() < shape[-1]):
        node.fail("invalid-value", f"indices reach beyond the {shape[-1]} elements of the last axis")
    x = reshape(node, node.input(0), [1, *shape]) if len(shape) == 1 else node.input(0)
    return node.emit(GatherOp, x, reshape(node, node.input(1), [count]), axis=len(shape_of(x)) - 1)


@onnx_op("LabelEncoder", domain=_DOMAIN)
def label_encoder(node: Node) -> SSAValue:
    """The sorted keys are searched by a tree, at whose leaves they are."""
    x = node.input(0)
    keys, values = _column(node, "keys"), _column(node, "values")
    if len(keys) != len(values) or not len(keys):
        node.fail("invalid-attribute", f"there are {len(keys)} keys and {len(values)} values")
    tensor = node.attr("default_tensor")
    default = tensor.reshape(-1)[0] if tensor is not None else _default(node, values)
    dtype = numpy_dtype(element_type_of(x))
    last = {key: value for key, value in zip(keys.astype(dtype).tolist(), range(len(keys)), strict=True) if key == key}
    result = node.constant(np.array(default, values.dtype))
    shape = node.shape(0)
    if last:
        ordered = sorted(last)
        table = values[[last[key] for key in ordered]]
        found = reshape(node, _search(node, reshape(node, x, [math.prod(shape), 1]), np.array(ordered, dtype)), shape)
        same = node.emit(CompareOp, x, node.emit(GatherOp, node.constant(ordered, dtype), found, axis=0), how="eq")
        result = node.emit(WhereOp, same, node.emit(GatherOp, node.constant(table), found, axis=0), result)
    missing = values[keys != keys]
    if missing.size:
        result = node.emit(WhereOp, node.emit(CompareOp, x, x, how="ne"), node.constant(missing[-1]), result)
    return result


def _column(node: Node, name: str) -> Array:
    """The keys or the values, in whichever attribute they are."""
    if name == "values" and (text := node.attr("values_strings")):
        known = choices(text)
        return np.array([known.index(each) for each in text], np.int64)
    if node.attr(f"{name}_strings") or (name == "keys" and node.attr("classes_strings")):
        fix = "encode them outside of the model"
        node.fail("unsupported-type", f"its {name} are names", "text has no fixed size", fix)
    if (tensor := node.attr(f"{name}_tensor")) is not None:
        return tensor.reshape(-1)
    floats, ints = node.attr(f"{name}_floats"), node.attr(f"{name}_int64s")
    return np.array(floats, np.float32) if floats else np.array(ints or [], np.int64)


def _default(node: Node, values: Array) -> Any:
    if text := node.attr("values_strings"):
        default = node.attr("default_string", NO_LABEL)
        return choices([*text, default]).index(default)
    return node.attr("default_float", -0.0) if values.dtype.kind == "f" else node.attr("default_int64", -1)


def _search(node: Node, x: SSAValue, keys: Array) -> SSAValue:
    """For each row of x [n, 1] the position of the least of the ascending keys that is not less, else of the last."""
    children: list[list[int]] = []
    thresholds: list[Any] = []

    def build(low: int, high: int) -> int:
        """The root of a tree for keys low..high: a node, or below 0 a leaf."""
        if high - low == 1:
            return -1 - low
        middle, place = (low + high) // 2, len(children)
        children.append([])
        thresholds.append(keys[middle - 1])
        children[place] = [build(low, middle), build(middle, high)]
        return place

    root = build(0, len(keys))
    if not children:
        children, thresholds = [[-1, -1]], [keys[0]]
    count = len(children)
    table = np.array(children, np.int64)
    numbers = smallest(np.concatenate([np.where(table < 0, count - 1 - table, table).reshape(-1), [max(root, 0)]]))
    tables = [np.zeros(count, np.uint8), np.array(thresholds, keys.dtype), numbers[:-1].reshape(-1, 2), numbers[-1:]]
    operands = [node.constant(each) for each in tables]
    found = node.emit(TreeLeavesOp, x, *operands, None, depth=max(len(keys) - 1, 1).bit_length(), leaves=len(keys))
    return node.emit(CastOp, reshape(node, found, [shape_of(x)[0]]), to=i64)


@onnx_op("ZipMap", domain=_DOMAIN)
def zip_map(node: Node) -> SSAValue:
    """A list of dictionaries is the table of their values: its columns are in the order of the labels."""
    return node.input(0)
