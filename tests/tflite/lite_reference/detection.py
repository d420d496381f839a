"""TFLite_Detection_PostProcess: boxes from anchors, and those of them that overlap least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lite_reference.fixed import Array
from lite_reference.nodes import Node, computes
from lite_reference.signal import options_of


def _boxes(node: Node, options: dict[str, Any]) -> Array:
    """Corners: centres and sizes in double, of which float32 is made before half the size is added."""
    code, anchor = (node[k].array.reshape(-1, 4).astype(np.float64) for k in (0, 2))
    scale = np.array([options[name] for name in ("y_scale", "x_scale", "h_scale", "w_scale")], np.float32)
    code = code / scale.astype(np.float64)
    center = (code[:, :2] * anchor[:, 2:] + anchor[:, :2]).astype(np.float32)
    half = (0.5 * np.exp(code[:, 2:]) * anchor[:, 2:]).astype(np.float32)
    return np.concatenate([center - half, center + half], 1)


def _overlap(a: Array, b: Array) -> np.float32:
    """The shared area as a fraction of what both cover."""

    def area(box: Array) -> Any:
        return (box[2] - box[0]) * (box[3] - box[1])

    inner = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), np.float32(0))
    shared = inner[0] * inner[1]
    return shared / (area(a) + area(b) - shared)


def _best(boxes: Array, scores: Array, options: dict[str, Any], most: int) -> list[int]:
    """Boxes by their scores, the first of equal ones first, without those that overlap one before them too much."""
    order = [
        int(k) for k in np.argsort(-scores, kind="stable") if scores[k] >= np.float32(options["nms_score_threshold"])
    ]
    found: list[int] = []
    limit = np.float32(options["nms_iou_threshold"])
    for place in order:
        if len(found) == min(most, len(order)):
            break
        if all(_overlap(boxes[each], boxes[place]) <= limit for each in found):
            found.append(place)
    return found


@computes("TFLite_Detection_PostProcess")
def detection_postprocess(node: Node) -> Sequence[Array]:
    """Boxes, classes, scores and how many. The fast way takes each box's best class and writes nothing where there are
    no more; the regular one takes each class by itself, and has zeros there."""
    options = options_of(node)
    boxes, scores = _boxes(node, options), node[1].array[0]
    scores = scores[:, scores.shape[1] - options["num_classes"] :]
    most = options["max_detections"]
    rows: list[tuple[np.float32, int, int]] = []
    if options.get("use_regular_nms", False):
        for kind in range(options["num_classes"]):
            best = _best(boxes, scores[:, kind], options, options.get("detections_per_class", 100))
            rows += [(scores[place, kind], place, kind) for place in best]
            rows = sorted(rows, key=lambda row: -row[0])[:most]
    else:
        best = _best(boxes, scores.max(1), options, most)
        rows = [(scores[place].max(), place, int(scores[place].argmax())) for place in best]
    out = np.zeros((most, 6), np.float32)
    for k, (score, place, kind) in enumerate(rows):
        out[k] = *boxes[place], kind, score
    return [out[:, :4], out[:, 4].copy(), out[:, 5].copy(), np.array([len(rows)], np.float32)]
