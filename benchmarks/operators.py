"""Every operator alone at a usual size: the points of a sweep, one node a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from points import MICROSOFT, Array, Point, drawn, single

IMAGE = (1, 64, 56, 56)
TOKENS = (1, 128, 768)

Shape = Sequence[int]

UNARY = (
    *("Abs", "Ceil", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "Neg"),
    *("Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Tanh"),
    *("ThresholdedRelu", "Identity", "IsNaN", "Not", "Sqrt", "Log"),
)
BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu", "Less", "Equal", "And", "Mod", "Pow")
REDUCTIONS = ("ReduceMax", "ReduceMean", "ReduceSum", "ReduceL2", "ReduceLogSumExp", "ReduceProd", "ReduceSumSquare")
POOLS: tuple[tuple[str, Shape, int, int, int, str, dict[str, Any]], ...] = (
    ("MaxPool", (1, 64, 112, 112), 3, 2, 1, "float32", {}),
    ("MaxPool", (1, 64, 112, 112), 2, 2, 0, "float32", {}),
    ("MaxPool", (1, 128, 20, 20), 5, 1, 2, "float32", {}),
    ("MaxPool", (1, 256, 20, 20), 13, 1, 6, "float32", {}),
    ("MaxPool", (1, 192, 28, 28), 3, 1, 1, "float32", {}),
    ("MaxPool", (1, 64, 56, 56), 3, 2, 0, "float32", {"ceil_mode": 1}),
    ("MaxPool", (1, 3, 224, 224), 2, 2, 0, "float32", {}),
    ("MaxPool", (1, 16, 16, 28, 28), 3, 2, 1, "float32", {}),
    ("MaxPool", (1, 16, 16, 28, 28), 2, 2, 0, "float32", {}),
    ("MaxPool", (1, 64, 1024), 3, 2, 1, "float32", {}),
    ("MaxPool", (1, 64, 1024), 2, 2, 0, "float32", {}),
    ("MaxPool", (1, 64, 56, 56), 3, 1, 2, "float32", {"dilations": [2, 2]}),
    ("MaxPool", (1, 64, 112, 112), 3, 2, 1, "uint8", {}),
    ("MaxPool", (1, 64, 56, 56), 2, 2, 0, "int8", {}),
    ("AveragePool", (1, 64, 56, 56), 3, 1, 1, "float32", {}),
    ("AveragePool", (1, 64, 56, 56), 3, 2, 1, "float32", {"count_include_pad": 1}),
    ("AveragePool", (1, 64, 56, 56), 2, 2, 0, "float32", {}),
    ("AveragePool", (1, 512, 7, 7), 7, 1, 0, "float32", {}),
    ("AveragePool", (1, 16, 16, 28, 28), 2, 2, 0, "float32", {}),
    ("AveragePool", (1, 64, 1024), 4, 4, 0, "float32", {}),
    ("LpPool", (1, 64, 56, 56), 2, 2, 0, "float32", {}),
)
"""Operator, operand, kernel, stride and pad along each axis, type, other attributes."""


def operators() -> Iterator[Point]:
    """All of them."""
    for family in (_pools, _of_elements, _reductions, _movement, _indices, _images, _products, _integers, _others):
        yield from family()


def _x(*shape: int, kind: str = "float32") -> Array:
    return drawn(f"{kind}{shape}", shape, kind)


def _ints(*values: int) -> Array:
    return np.array(values, np.int64)


def _text(shape: Shape) -> str:
    return " x ".join(map(str, shape))


def _one(kind: str, shape: Shape, note: str = "", more: dict[int, Array] | None = None, **attributes: Any) -> Point:
    """A node whose first operand is an input of `shape`, and all others are constants."""
    return single(f"{kind} {note}of {_text(shape)}", kind, [_x(*shape)], more, **attributes)


def _pools() -> Iterator[Point]:
    for kind, shape, size, stride, pad, dtype, more in POOLS:
        rank, note = len(shape) - 2, " ".join(more) + " " if more else ""
        places = {"kernel_shape": [size] * rank, "strides": [stride] * rank, "pads": [pad] * 2 * rank}
        name = f"{kind} {size} / {stride} {'' if dtype == 'float32' else dtype + ' '}{note}of {_text(shape)}"
        yield single(name, kind, [_x(*shape, kind=dtype)], **places, **more)
    for kind in ("GlobalAveragePool", "GlobalMaxPool"):
        yield _one(kind, (1, 512, 7, 7))


def _of_elements() -> Iterator[Point]:
    for kind in UNARY:
        x = _x(*IMAGE, kind="bool" if kind == "Not" else "float32")
        yield single(f"{kind} of {_text(IMAGE)}", kind, [np.abs(x) if kind in ("Sqrt", "Log") else x])
    for kind in BINARY:
        dtype = "bool" if kind == "And" else "float32"
        y = drawn("y", IMAGE, dtype)
        more: dict[str, Any] = {"fmod": 1} if kind == "Mod" else {}
        if kind == "Pow":
            yield single(f"{kind} of {_text(IMAGE)}", kind, [np.abs(_x(*IMAGE)), y])
        else:
            yield single(f"{kind} of {_text(IMAGE)}", kind, [_x(*IMAGE, kind=dtype), y], **more)
    yield single(f"Add of {_text(IMAGE)}, a number for each channel", "Add", [_x(*IMAGE), _x(1, 64, 1, 1)])
    yield single(f"Mul of {_text(TOKENS)}, a number for each column", "Mul", [_x(*TOKENS), _x(768)])
    yield _one("Clip", IMAGE, "", {1: np.array(0, np.float32), 2: np.array(6, np.float32)})
    yield single("Where of 1 x 12 x 128 x 128", "Where", [_x(1, 1, 128, 128, kind="bool"), *[_x(1, 12, 128, 128)] * 2])
    yield single("Cast to float16", "Cast", [_x(*IMAGE)], to=10)
    yield single("Cast of int64", "Cast", [_x(*IMAGE, kind="int64")], to=1)
    yield single("BitShift of uint8", "BitShift", [_x(*IMAGE, kind="uint8")] * 2, direction="LEFT")


def _reductions() -> Iterator[Point]:
    for kind in REDUCTIONS:
        yield _one(kind, TOKENS, "rows ", {1: _ints(-1)})
    yield _one("ReduceMean", IMAGE, "planes ", {1: _ints(2, 3)})
    yield _one("ReduceMax", IMAGE, "channels ", {1: _ints(1)})
    yield _one("ArgMax", (1, 21, 128, 128), "channels ", axis=1)
    yield _one("ArgMax", TOKENS, "rows ", axis=-1)
    yield _one("Softmax", (1, 12, 128, 128))
    yield _one("Softmax", (1, 21, 128, 128), "channels ", axis=1)
    yield _one("LogSoftmax", (1, 1000))
    yield _one("Hardmax", TOKENS)
    yield _one("LayerNormalization", TOKENS, "", {1: _x(768), 2: _x(768)})
    yield single("RMSNormalization of 1 x 128 x 768", "RMSNormalization", [_x(*TOKENS)], {1: _x(768)}, opset=23)
    yield _one("InstanceNormalization", IMAGE, "", {1: _x(64), 2: _x(64)})
    yield _one("GroupNormalization", IMAGE, "", {1: _x(64), 2: _x(64)}, num_groups=8, opset=21)
    vectors = {1: _x(64), 2: _x(64), 3: _x(64), 4: np.abs(_x(64))}
    yield _one("BatchNormalization", IMAGE, "", vectors)
    yield _one("LpNormalization", TOKENS)
    yield _one("MeanVarianceNormalization", IMAGE)
    yield _one("LRN", IMAGE, size=5)
    yield _one("CumSum", TOKENS, "", {1: np.array(1, np.int64)})


def _movement() -> Iterator[Point]:
    yield _one("Transpose", IMAGE, "to channels last ", perm=[0, 2, 3, 1])
    yield _one("Transpose", (1, 128, 12, 64), "of heads ", perm=[0, 2, 1, 3])
    yield _one("Transpose", (768, 768))
    yield single("Concat of 2 of 1 x 64 x 56 x 56", "Concat", [_x(*IMAGE), drawn("y", IMAGE)], axis=1)
    yield single("Concat of 2 of 1 x 56 x 56 x 64", "Concat", [_x(1, 56, 56, 64), _x(1, 56, 56, 64)], axis=3)
    yield _one("Split", IMAGE, outputs=2, axis=1, num_outputs=2)
    yield _one("Slice", IMAGE, "", {1: _ints(1, 1), 2: _ints(55, 55), 3: _ints(2, 3)})
    yield _one("Slice", IMAGE, "by 2 ", {1: _ints(0, 0), 2: _ints(56, 56), 3: _ints(2, 3), 4: _ints(2, 2)})
    yield _one("Pad", IMAGE, "", {1: _ints(0, 0, 1, 1, 0, 0, 1, 1)})
    yield _one("Pad", IMAGE, "reflect ", {1: _ints(0, 0, 1, 1, 0, 0, 1, 1)}, mode="reflect")
    yield _one("Expand", (1, 64, 1, 1), "", {1: _ints(*IMAGE)})
    yield _one("Tile", IMAGE, "", {1: _ints(1, 1, 2, 2)})
    yield _one("DepthToSpace", (1, 256, 28, 28), blocksize=2)
    yield _one("DepthToSpace", (1, 256, 28, 28), "CRD ", blocksize=2, mode="CRD")
    yield _one("SpaceToDepth", IMAGE, blocksize=2)
    yield _one("Trilu", (1, 12, 128, 128))
    lengths = np.full(16, 128, np.int64)
    yield single("ReverseSequence of 128 x 16 x 64", "ReverseSequence", [_x(128, 16, 64), lengths])
    yield _one("EyeLike", (512, 512))


def _indices() -> Iterator[Point]:
    random = np.random.default_rng(0)
    rows = random.integers(0, 4096, (1, 128))
    yield single("Gather of 128 rows of 4096 x 768", "Gather", [_x(4096, 768), rows])
    yield single("Gather of columns", "Gather", [_x(128, 1024), random.integers(0, 1024, 256)], axis=1)
    yield single("GatherElements of 128 x 768", "GatherElements", [_x(128, 768), random.integers(0, 128, (128, 768))])
    yield single("GatherND of 4096 x 64", "GatherND", [_x(4096, 64), random.integers(0, 4096, (1024, 1))])
    where = random.permutation(4096)[:1024, None]
    yield single("ScatterND of 4096 x 64", "ScatterND", [_x(4096, 64), where, _x(1024, 64)])
    places = random.integers(0, 128, (64, 768))
    yield single("ScatterElements of 128 x 768", "ScatterElements", [_x(128, 768), places, _x(64, 768)])
    yield single("TopK 5 of 1 x 1000", "TopK", [_x(1, 1000)], {1: _ints(5)}, outputs=2)
    yield single("TopK 100 of 1 x 8400", "TopK", [_x(1, 8400)], {1: _ints(100)}, outputs=2)
    yield single("OneHot of 128", "OneHot", [rows % 1000], {1: _ints(1000), 2: np.array([0, 1], np.float32)})
    yield single("NonZero of 64 x 64", "NonZero", [_x(64, 64, kind="bool")])
    corners = random.random((1, 1000, 2), np.float32)
    boxes = np.concatenate([corners, corners + 0.1], -1)
    limits = {2: _ints(100), 3: np.array([0.5], np.float32), 4: np.array([0.1], np.float32)}
    scores = random.random((1, 1, 1000), np.float32)
    yield single("NonMaxSuppression of 1000 boxes", "NonMaxSuppression", [boxes, scores], limits)


def _images() -> Iterator[Point]:
    for mode, shape in (("nearest", (1, 64, 28, 28)), ("linear", (1, 64, 28, 28)), ("cubic", (1, 16, 28, 28))):
        yield _one("Resize", shape, f"{mode} 2 ", {2: np.array([1, 1, 2, 2], np.float32)}, mode=mode)
    yield _one("Resize", (1, 3, 224, 224), "linear to 160 ", {3: _ints(1, 3, 160, 160)}, mode="linear")
    yield _one("Resize", (1, 3, 224, 224), "nearest to 160 ", {3: _ints(1, 3, 160, 160)}, mode="nearest")
    yield _one("Resize", (1, 64, 56, 56), "nearest 1/2 ", {2: np.array([1, 1, 0.5, 0.5], np.float32)}, mode="nearest")
    random = np.random.default_rng(0)
    grid = random.uniform(-1, 1, (1, 56, 56, 2)).astype(np.float32)
    yield single("GridSample of 1 x 64 x 56 x 56", "GridSample", [_x(*IMAGE), grid], mode="linear")
    yield _one("AffineGrid", (1, 2, 3), "to 64 x 64 ", {1: _ints(1, 3, 64, 64)})
    corners = random.uniform(0, 28, (100, 2)).astype(np.float32)
    rois, batch = np.concatenate([corners, corners + 20], -1), np.zeros(100, np.int64)
    sizes: dict[str, Any] = {"output_height": 7, "output_width": 7, "sampling_ratio": 2}
    yield single("RoiAlign of 100 boxes", "RoiAlign", [_x(1, 64, 50, 50), rois, batch], **sizes)
    pool: dict[str, Any] = {"pooled_shape": [7, 7], "spatial_scale": 1.0}
    indexed = np.concatenate([np.zeros((100, 1), np.float32), rois], -1)
    yield single("MaxRoiPool of 100 boxes", "MaxRoiPool", [_x(1, 64, 50, 50), indexed], **pool)
    block = {1: _ints(32, 32), 2: _ints(3, 3)}
    yield single("Col2Im 3 x 3 of 32 x 32", "Col2Im", [_x(1, 16 * 9, 1024)], block, pads=[1, 1, 1, 1])
    yield _one("CenterCropPad", IMAGE, "", {1: _ints(48, 48)}, axes=[2, 3])


def _products() -> Iterator[Point]:
    yield single("MatMul 128 x 768 x 768", "MatMul", [_x(1, 128, 768)], {1: _x(768, 768)})
    yield single("MatMul of 12 heads", "MatMul", [_x(1, 12, 128, 64), _x(1, 12, 64, 128)])
    yield single("Gemm 1 x 512 x 1000", "Gemm", [_x(1, 512)], {1: _x(1000, 512), 2: _x(1000)}, transB=1)
    yield single("Einsum bhwc,hkc->bhwk", "Einsum", [_x(1, 14, 14, 64), _x(14, 14, 64)], equation="bhwc,hkc->bhwk")
    yield _one("Conv", IMAGE, "3 x 3 ", {1: _x(64, 64, 3, 3), 2: _x(64)}, pads=[1, 1, 1, 1])
    yield _one("Conv", IMAGE, "1 x 1 ", {1: _x(64, 64, 1, 1), 2: _x(64)})
    yield _one("Conv", IMAGE, "depthwise ", {1: _x(64, 1, 3, 3), 2: _x(64)}, pads=[1, 1, 1, 1], group=64)
    yield _one("Conv", (1, 64, 1024), "3 taps ", {1: _x(64, 64, 3)}, pads=[1, 1])
    yield _one("ConvTranspose", (1, 64, 28, 28), "2 x 2 / 2 ", {1: _x(64, 32, 2, 2)}, strides=[2, 2])
    yield _one("LSTM", (32, 1, 64), "64 units ", {1: _x(1, 256, 64), 2: _x(1, 256, 64)}, hidden_size=64)
    yield _one("GRU", (32, 1, 64), "64 units ", {1: _x(1, 192, 64), 2: _x(1, 192, 64)}, hidden_size=64)


def _integers() -> Iterator[Point]:
    quantized: dict[int, Array] = {1: np.array(0.05, np.float32), 2: np.array(128, np.uint8)}
    yield single("QuantizeLinear", "QuantizeLinear", [_x(*IMAGE)], quantized)
    yield single("DequantizeLinear", "DequantizeLinear", [_x(*IMAGE, kind="uint8")], quantized)
    yield single("DynamicQuantizeLinear", "DynamicQuantizeLinear", [_x(*TOKENS)], outputs=3)
    weight = {1: _x(768, 768, kind="int8")}
    yield single("MatMulInteger 128 x 768 x 768", "MatMulInteger", [_x(128, 768, kind="uint8")], weight)
    yield single("Relu of int8", "Relu", [_x(*IMAGE, kind="int8")])
    yield single("Add of int32", "Add", [_x(*IMAGE, kind="int32")] * 2)
    yield single("ReduceSum of int32", "ReduceSum", [_x(*TOKENS, kind="int32")], {1: _ints(-1)})


def _others() -> Iterator[Point]:
    yield single("Det of 64 x 4 x 4", "Det", [_x(64, 4, 4)])
    yield single("DFT of 1024", "DFT", [_x(1, 1024, 1)], {2: np.array(1, np.int64)})
    yield single("STFT of 16000 by 400", "STFT", [_x(1, 16000, 1)], {1: np.array(160, np.int64), 2: _x(400)})
    yield single("FastGelu of 1 x 128 x 3072", "FastGelu", [_x(1, 128, 3072)], domain=MICROSOFT)
    names = (_x(*TOKENS), drawn("y", TOKENS))
    skip = {2: _x(768), 3: _x(768)}
    yield single("SkipLayerNormalization", "SkipLayerNormalization", names, skip, domain=MICROSOFT)
