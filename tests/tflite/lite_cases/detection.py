"""Boxes of detectors, and buffers of the last inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lite_cases.case import Case, constant, single, tensor
from lite_cases.signal import flexbuffer


def _detection(name: str, most: int, **more: Any) -> Case:
    """Sixteen boxes on a grid, three classes behind the background; the fast way finds as many as it may."""
    rows, columns = np.meshgrid(np.arange(4), np.arange(4), indexing="ij")
    places = np.stack([rows.ravel(), columns.ravel()], 1) * 0.25 + 0.125
    anchors = constant(np.concatenate([places, np.full((16, 2), 0.3)], 1).astype(np.float32))
    options: dict[str, Any] = {
        "max_detections": most, "max_classes_per_detection": 1, "num_classes": 3, "nms_score_threshold": 0.0,
        "nms_iou_threshold": 0.5, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0,
    } | more  # fmt: skip
    inputs = [tensor((1, 16, 4), "float32"), tensor((1, 16, 4), "float32"), anchors]
    outputs = [tensor(shape, "float32") for shape in ((1, most, 4), (1, most), (1, most), (1,))]
    ranges = {"x0": (-2.0, 2.0), "x1": (0.0, 1.0)}
    near = 1e-6  # of exp
    code = "TFLite_Detection_PostProcess"
    return single(
        f"detection-{name}", code, inputs, outputs, custom=flexbuffer(**options), ranges=ranges, tolerance=near
    )


def cases() -> Iterator[Case]:
    """TFLite_Detection_PostProcess and CIRCULAR_BUFFER."""
    yield _detection("fast", 3)
    yield _detection("regular", 10, use_regular_nms=True, detections_per_class=4)
    yield _detection("above", 10, use_regular_nms=True, detections_per_class=100, nms_score_threshold=0.6)
    yield _detection("strict", 8, use_regular_nms=True, nms_iou_threshold=0.05)
    x, y = tensor((1, 1, 3, 4), "int8", 0.1, 3), tensor((1, 5, 3, 4), "int8", 0.1, 3, variable=True)
    yield single("circular_buffer-int8", "CIRCULAR_BUFFER", [x], [y], custom=flexbuffer(cycles_max=1))
