"""TFLite_Detection_PostProcess: boxes from anchors, and those of them that overlap no better one."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, f64, i64

from aotc.frontend.emitter import Tensor, joined
from aotc.frontend.tflite.importers.movement import cut
from aotc.frontend.tflite.node import Node
from aotc.frontend.tflite.registry import tflite_op


@tflite_op("TFLite_Detection_PostProcess")
def detection_postprocess(node: Node) -> list[Tensor]:
    """Boxes, classes, scores and how many, zeros behind them: the best boxes by their best class, or with
    `use_regular_nms` those of each class by itself."""
    node.require_outputs(4)
    for position in range(3):
        node.require_type(position, "float32")
    codes, scores = node.tensor(0), node.tensor(1)
    most, classes = node.custom_count("max_detections", 1), node.custom_count("num_classes", 1)
    shapes = codes.shape, scores.shape, node.tensor(2).shape
    fits = len(codes.shape) == 3 == len(scores.shape) and codes.shape[0] == 1 and codes.shape[2] >= 4
    fits = fits and scores.shape[:2] == codes.shape[:2] and shapes[2] == (codes.shape[1], 4)
    node.require(fits and scores.shape[2] - classes in (0, 1), "invalid-shape", f"{shapes} and {classes} classes")
    boxes = _boxes(node)
    scores = cut(scores, {2: (scores.shape[2] - classes, 1, classes)}).reshape([codes.shape[1], classes])
    if node.custom("use_regular_nms", False):
        return _of_classes(node, boxes, scores, most)
    more = node.custom_count("max_classes_per_detection", 1)
    what = f"max_classes_per_detection is {more}"
    if min(more, classes) != 1:
        node.fail("unsupported-attribute", what, "TFLite Micro writes beyond its outputs then", "set use_regular_nms")
    best = scores.reduce("max", [1])
    selected, count = _suppressed(node, boxes, best.transpose([1, 0]), most)
    chosen = _padded(cut(selected, {1: (2, 1, 1)}).reshape([selected.shape[0]]), most).at_least(0)
    kinds = scores.emit("arg_reduce", kind="max", axis=1, keepdims=False)
    kinds, best, corners = (each.emit("gather", chosen, axis=0) for each in (kinds, best.reshape(kinds.shape), boxes))
    return _results(node, corners, kinds, best, count)


def _boxes(node: Node) -> Tensor:
    """Corners [boxes, 4], y before x: centres and halves of sizes in f64."""
    count = node.shape(0)[1]
    code = cut(node.tensor(0), {2: (0, 1, 4)}).reshape([count, 4]).cast(f64)
    anchor = node.tensor(2).cast(f64)
    scales = np.array([node.custom(f"{name}_scale") for name in "yxhw"], np.float32)
    node.require(bool((scales > 0).all()), "invalid-attribute", f"the scales are {scales.tolist()}")
    code = code / Tensor(node, node.constant(scales.astype(np.float64)))
    (place, size), (middle, extent) = (
        (cut(each, {1: (0, 1, 2)}), cut(each, {1: (2, 1, 2)})) for each in (code, anchor)
    )
    center = (place * extent + middle).cast(f32)
    half = (size.emit("exp") * 0.5 * extent).cast(f32)
    return joined([center - half, center + half], 1)


def _suppressed(node: Node, boxes: Tensor, scores: Tensor, limit: int) -> tuple[Tensor, Tensor]:
    """Rows of batch, class and box of the best ones of `scores` [classes, boxes], at most `limit` of a class, and how
    many."""
    overlap, least = (np.float32(node.custom(f"nms_{name}_threshold")) for name in ("iou", "score"))
    node.require(
        bool(0 < overlap <= 1), "invalid-attribute", f"nms_iou_threshold is {overlap}, not above 0 and at most 1"
    )
    below = np.nextafter(least, np.float32(-np.inf))  # a score that is the threshold counts
    thresholds = [node.constant(each.reshape(1)) for each in (overlap, below)]
    limit, (boxes, scores) = min(limit, boxes.shape[0]), (each.reshape([1, *each.shape]) for each in (boxes, scores))
    selected, count, *_ = node.emit_all("suppress", boxes, scores, None, *thresholds, limit=limit)
    return Tensor(node, selected), Tensor(node, count)


def _of_classes(node: Node, boxes: Tensor, scores: Tensor, most: int) -> list[Tensor]:
    """The best of all classes."""
    each = node.custom("detections_per_class", 100)
    node.require(each >= 1, "invalid-attribute", f"detections_per_class is {int(each)}")
    by_class = scores.transpose([1, 0])
    selected, count = _suppressed(node, boxes, by_class, int(each))
    rows = cut(selected, {1: (1, 1, 2)}).at_least(0)
    found = by_class.emit("gather_nd", rows, batch_dims=0)
    found = (Tensor(node, node.constant(node.numbers(rows.shape[0]))) < count).choose(found, -np.inf)
    taken = min(most, rows.shape[0])
    values, places = (Tensor(node, value) for value in node.emit_all("top_k", found, k=taken, axis=0)[:2])
    kinds, chosen = (
        _padded(cut(rows.emit("gather", places, axis=0), {1: (column, 1, 1)}).reshape([taken]), most)
        for column in (0, 1)
    )
    corners = boxes.emit("gather", chosen, axis=0)
    return _results(node, corners, kinds, _padded(values, most), count.at_most(most))


def _padded(x: Tensor, count: int) -> Tensor:
    """As many numbers, zeros behind."""
    if x.shape[0] >= count:
        return cut(x, {0: (0, 1, count)})
    return x.emit("pad", x.scalar(0).value, pads=[0, count - x.shape[0]], mode="constant")


def _results(node: Node, boxes: Tensor, kinds: Tensor, scores: Tensor, count: Tensor) -> list[Tensor]:
    """The outputs, zeros from the count on."""
    there = Tensor(node, node.constant(node.numbers(boxes.shape[0]))) < count.cast(i64)
    rows = there.reshape([boxes.shape[0], 1])
    found = rows.choose(boxes, 0), *(there.choose(each.cast(f32), 0) for each in (kinds, scores)), count.cast(f32)
    return [each.reshape(result.shape) for each, result in zip(found, node.results, strict=True)]
