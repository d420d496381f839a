"""Functions on features before a model sees them, and on labels after it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import is_float
from aotc.frontend.onnx.importers.ml.ensembles import smallest
from aotc.frontend.onnx.importers.ml.scores import DOMAIN
from aotc.frontend.onnx.importers.movement import cut
from aotc.frontend.onnx.labels import NO_LABEL, choices
from aotc.frontend.onnx.node import Tensor, joined
from aotc.frontend.onnx.registry import Node, onnx_op
from aotc.model.weight_store import Array


def _per_feature(node: Node, values: Any, what: str) -> Array:
    """One value for all features, or one for each."""
    found, features = np.array(values), node.shape(0)[-1] if node.shape(0) else 1
    if found.size not in (1, features):
        node.fail("invalid-attribute", f"{what} has {found.size} values for {features} features")
    return found


@onnx_op("Scaler", domain=DOMAIN)
def scaler(node: Node) -> Tensor:
    x = node.tensor(0).cast(f32)
    offset, scale = (_per_feature(node, node.attr(name, [d]), name) for name, d in (("offset", 0.0), ("scale", 1.0)))
    return (x - node.constant(offset, np.float32)) * node.constant(scale, np.float32)


@onnx_op("Normalizer", domain=DOMAIN)
def normalizer(node: Node) -> Tensor:
    """Of a row that is all zeros the norm is 1. As in onnxruntime, MAX divides by the maximum, not by that of sizes."""
    x, norm = node.tensor(0), node.attr("norm", "MAX")
    if len(x.shape) not in (1, 2):
        node.fail("invalid-shape", f"its input must be [rows, features], found {list(x.shape)}")
    match norm:
        case "MAX":
            size = x.cast(f32).reduce("max", [-1])
        case "L1":
            size = x.emit("abs").cast(f32).reduce("sum", [-1])
        case "L2":
            size = (x * x).cast(f32).reduce("sum", [-1])
        case _:
            node.fail("unsupported-attribute", f"norm = {norm} is not supported", fix="choose from MAX, L1, L2")
    x = x.cast(f32)
    nothing = size.compare("eq", 0)
    safe = nothing.choose(1, size)
    if norm != "L2":
        return x / safe
    root = (x * x / safe).sqrt()
    return nothing.choose(x, (x < 0).choose(root.emit("neg"), root))


@onnx_op("Binarizer", domain=DOMAIN)
def binarizer(node: Node) -> Tensor:
    x, threshold = node.tensor(0), float(np.float32(node.attr("threshold", 0.0)))
    return (x > (threshold if is_float(x.kind) else math.floor(threshold))).cast(x.kind)


@onnx_op("Imputer", domain=DOMAIN)
def imputer(node: Node) -> Tensor:
    x = node.tensor(0)
    real = is_float(x.kind)
    values, replaced = (
        ("imputed_value_floats", "replaced_value_float") if real else ("imputed_value_int64s", "replaced_value_int64")
    )
    if not node.attr(values):
        node.fail("missing-attribute", f"it has no {values}", f"its input is {x.dtype}")
    new = _per_feature(node, node.attr(values), values).astype(x.dtype)
    old = np.array(node.attr(replaced, 0)).astype(x.dtype)
    hit = x.compare("ne", x) if np.isnan(old) else x.compare("eq", node.constant(old))
    return hit.choose(node.constant(new), x)


@onnx_op("OneHotEncoder", domain=DOMAIN)
def one_hot_encoder(node: Node) -> Tensor:
    """A category that is not among those given is all zeros, also where `zeros` is 0: then it counts as impossible."""
    if node.attr("cats_strings"):
        fix = "encode them before the model"
        node.fail("unsupported-type", "its categories are names", "text has no fixed size", fix)
    categories = np.array(node.attr("cats_int64s", []), np.int64)
    if not categories.size:
        node.fail("missing-attribute", "it has no cats_int64s")
    again = [place for place, each in enumerate(categories) if each in categories[place + 1 :]]
    x = node.tensor(0).cast(i64)
    result = x.reshape([*x.shape, 1]).compare("eq", node.constant(categories)).cast(f32)
    if again:  # of equal categories the last one counts
        result *= node.constant([place not in again for place in range(len(categories))], np.float32)
    return result


@onnx_op("FeatureVectorizer", domain=DOMAIN)
def feature_vectorizer(node: Node) -> Tensor:
    """Rows side by side; those that are longer than told are cut off, those that are shorter are filled up with 0."""
    sizes: list[int] = node.attr("inputdimensions", [])
    if len(sizes) != len(node.inputs) or min(sizes, default=0) < 1:
        node.fail("invalid-attribute", f"inputdimensions = {sizes} for {len(node.inputs)} inputs")
    parts: list[Tensor] = []
    for position, size in enumerate(sizes):
        shape = node.shape(position)
        rows = 1 if len(shape) == 1 else shape[0]
        width = math.prod(shape) // max(rows, 1)
        part = node.tensor(position).cast(f32).reshape([rows, width])
        part = cut(part, {1: (0, 1, min(width, size))})
        if width < size:
            part = part.emit("pad", part.scalar(0), pads=[0, 0, 0, size - width], mode="constant")
        parts.append(part)
    return joined(parts, 1)


@onnx_op("ArrayFeatureExtractor", domain=DOMAIN)
def array_feature_extractor(node: Node) -> Tensor:
    shape, count = node.shape(0), math.prod(node.shape(1))
    if not shape or not count:
        node.fail("invalid-shape", f"there is nothing to take from {list(shape)} at {list(node.shape(1))}")
    known = node.known(1)
    if known is not None and not (known.min() >= 0 and known.max() < shape[-1]):
        node.fail("invalid-value", f"indices reach beyond the {shape[-1]} elements of the last axis")
    x = node.tensor(0).reshape([1, *shape] if len(shape) == 1 else shape)
    return x.emit("gather", node.tensor(1).reshape([count]), axis=len(x.shape) - 1)


@onnx_op("LabelEncoder", domain=DOMAIN)
def label_encoder(node: Node) -> Tensor:
    """The sorted keys are searched by a tree, at whose leaves they are."""
    x = node.tensor(0)
    keys, values = _column(node, "keys"), _column(node, "values")
    if len(keys) != len(values) or not len(keys):
        node.fail("invalid-attribute", f"there are {len(keys)} keys and {len(values)} values")
    tensor = node.attr("default_tensor")
    default = tensor.reshape(-1)[0] if tensor is not None else _default(node, values)
    numbered = zip(keys.astype(x.dtype).tolist(), range(len(keys)), strict=True)
    last = {key: value for key, value in numbered if key == key}
    result = Tensor(node, node.constant(np.array(default, values.dtype)))
    if last:
        ordered = sorted(last)
        table = values[[last[key] for key in ordered]]
        found = _search(x.reshape([math.prod(x.shape), 1]), np.array(ordered, x.dtype)).reshape(x.shape)
        same = x.compare("eq", node.emit("gather", node.constant(ordered, x.dtype), found, axis=0))
        result = same.choose(node.emit("gather", node.constant(table), found, axis=0), result)
    missing = values[keys != keys]
    if missing.size:
        result = x.compare("ne", x).choose(node.constant(missing[-1]), result)
    return result


def _column(node: Node, name: str) -> Array:
    """The keys or the values, in whichever attribute they are."""
    if name == "values" and (text := node.attr("values_strings")):
        known = choices(text)
        return np.array([known.index(each) for each in text], np.int64)
    if node.attr(f"{name}_strings") or node.attr("classes_strings"):
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


def _search(x: Tensor, keys: Array) -> Tensor:
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
    operands = [x.node.constant(each) for each in tables]
    found = x.emit("tree_leaves", *operands, None, depth=max(len(keys) - 1, 1).bit_length(), leaves=len(keys))
    return found.reshape([x.shape[0]]).emit("cast", to=i64)


@onnx_op("ZipMap", domain=DOMAIN)
def zip_map(node: Node) -> SSAValue:
    """A list of dictionaries is the table of their values: its columns are in the order of the labels."""
    return node.input(0)
