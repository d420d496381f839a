"""Nodes of com.microsoft with their inputs, by families."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from harness import Array
from onnx import GraphProto, ModelProto, ValueInfoProto, helper, numpy_helper

from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.frontend.onnx.tensors import ONNX_TYPES


@dataclass(frozen=True)
class Case:
    """One node; an input is an array, a constant (in `constants`), or left out. `outputs` has "" for one left out."""

    op_type: str
    inputs: tuple[Array | None, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: tuple[str, ...] = ("y",)
    constants: tuple[int, ...] = ()
    domain: str = "com.microsoft"
    tolerance: float | None = None
    note: str = ""

    def __str__(self) -> str:
        return "-".join([self.op_type, *(f"{name}={value}" for name, value in self.attributes.items()), self.note])

    def model(self) -> tuple[ModelProto, dict[str, Array]]:
        return merged([self])


def merged(cases: Sequence[Case]) -> tuple[ModelProto, dict[str, Array]]:
    """One model of all cases side by side; names end with their numbers."""
    graph = GraphProto(name="cases")
    feed: dict[str, Array] = {}
    for number, each in enumerate(cases):
        names = ["" if x is None else f"x{place}_{number}" for place, x in enumerate(each.inputs)]
        outputs = [name and f"{name}_{number}" for name in each.outputs]
        for place, (name, x) in enumerate(zip(names, each.inputs, strict=True)):
            if place in each.constants and x is not None:
                graph.initializer.append(numpy_helper.from_array(x, name))
            elif x is not None:
                feed[name] = x
                kind = ONNX_TYPES[ELEMENT_TYPES[x.dtype.name]]
                graph.input.append(helper.make_tensor_value_info(name, kind, x.shape))
        node = helper.make_node(each.op_type, names, outputs, f"n{number}", domain=each.domain, **each.attributes)
        graph.node.append(node)
        graph.output.extend(ValueInfoProto(name=name) for name in outputs if name)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=9), feed


_random = np.random.default_rng(21)


def f(*shape: int) -> Array:
    return _random.normal(size=shape).astype(np.float32)


def i(low: int, high: int, *shape: int, dtype: Any = np.int32) -> Array:
    return _random.integers(low, high, shape).astype(dtype)


def case(op_type: str, *inputs: Array | None, **more: Any) -> Case:
    names = ("outputs", "constants", "domain", "tolerance", "note")
    given = {name: more.pop(name) for name in names if name in more}
    return Case(op_type, inputs, more, **given)


def layers() -> list[Case]:
    x, skip, gamma, beta = f(2, 3, 16), f(2, 3, 16), f(16), f(16)
    words, places, segments = f(20, 16), f(9, 16), f(2, 16)
    ids, kinds, mask = i(0, 20, 2, 5), i(0, 2, 2, 5), i(0, 2, 2, 5)
    three = ("y", "", "", "sum")
    return [
        case("Gelu", x),
        case("BiasGelu", x, gamma),
        case("FastGelu", x),
        case("FastGelu", x, gamma, note="bias"),
        case("QuickGelu", x, alpha=1.3),
        case("SimplifiedLayerNormalization", x, gamma, domain="", axis=-1, epsilon=1e-5, stash_type=1),
        case("SkipLayerNormalization", x, skip, gamma, beta, epsilon=1e-5),
        case("SkipLayerNormalization", x, skip, gamma, beta, gamma, epsilon=1e-5, outputs=three),
        case("SkipLayerNormalization", x, skip[0], gamma, None, beta, epsilon=1e-5, outputs=three, note="broadcast"),
        case("SkipLayerNormalization", *(each.astype(np.float16) for each in (x, skip[0], gamma)), epsilon=1e-5,
             outputs=("y", "mean", "deviation", "sum"), tolerance=1e-5, note="summed-in-f32"),
        case("SkipSimplifiedLayerNormalization", x, skip, gamma, outputs=three),
        case("SkipSimplifiedLayerNormalization", x, skip, gamma, beta, outputs=three, note="bias"),
        case("EmbedLayerNormalization", ids, kinds, words, places, segments, gamma, beta, mask, outputs=("y", "n")),
        case("EmbedLayerNormalization", ids, None, words, places, None, gamma, beta, outputs=("y", "n", "sum")),
        case("EmbedLayerNormalization", ids, kinds, words, places, segments, gamma, beta, None, i(0, 9, 2, 5),
             outputs=("y", "n")),
        *quantized_embeddings(),
    ]  # fmt: skip


def quantized_embeddings() -> list[Case]:
    """All tables of bytes, with segments and a mask and without."""
    found: list[Case] = []
    for whole in (True, False):
        tables = [i(0, 255, *shape, dtype=np.uint8) for shape in ((20, 16), (9, 16), (2, 16), (16,), (16,))]
        scales = [np.array(scale, np.float32) for scale in (0.02, 0.01, 0.03, 0.015, 0.02)]
        points = [np.array(point, np.uint8) for point in (120, 128, 110, 3, 127)]
        given: list[Array | None] = [i(0, 20, 2, 5), i(0, 2, 2, 5), *tables, i(0, 2, 2, 5), *scales, *points]
        if not whole:
            given = [None if place in (1, 4, 7, 10, 15) else each for place, each in enumerate(given)]
        constants = tuple(place for place in range(2, 18) if place != 7)
        found.append(case("QEmbedLayerNormalization", *given, constants=constants, outputs=("y", "n")))
    return found


def products() -> list[Case]:
    a, b = f(3, 2, 5), f(3, 5, 4)
    x, w = f(1, 3, 8, 8), f(4, 3, 3, 3)
    found = [
        case("FusedMatMul", a, b, alpha=0.5),
        case("FusedMatMul", a.swapaxes(1, 2).copy(), b, transA=1),
        case("FusedMatMul", a, b.swapaxes(1, 2).copy(), transB=1, alpha=2.0),
        case("FusedMatMul", a.transpose(1, 0, 2).copy(), b, transBatchA=1),
        case("FusedMatMul", a, b.transpose(1, 0, 2).copy(), transBatchB=1),
        case("FusedConv", x, w, f(4), activation="Relu", pads=[1, 1, 1, 1]),
        case("FusedConv", x, w, f(4), f(1, 4, 6, 6), activation="Relu", note="sum"),
        case("FusedConv", x, w, activation="LeakyRelu", activation_params=[0.3]),
        case("FusedConv", x, w, activation="Clip", activation_params=[-0.5, 0.5]),
        case("FusedConv", x, w, activation="HardSigmoid", activation_params=[0.3, 0.4]),
        case("FusedConv", x, w, activation="Tanh"),
        case("FusedConv", x, w, activation="Sigmoid"),
        case("FusedGemm", f(3, 5), f(5, 4), f(4), activation="Relu"),
    ]
    q, weight = i(0, 255, 6, 20, dtype=np.uint8), i(-127, 127, 20, 9, dtype=np.int8)
    scales = np.abs(f(9)) / 100
    point = [np.array(n, dtype) for n, dtype in ((0.02, np.float32), (0.01, np.float32), (120, np.uint8), (3, np.int8))]
    found += [
        # Of seven bits: onnxruntime's sums of two products saturate here without VNNI.
        case("MatMulIntegerToFloat", q, weight // 2, *point),
        case("MatMulIntegerToFloat", q, weight // 2, point[0], scales, point[2], None, f(9), note="columns"),
        case("DynamicQuantizeMatMul", f(6, 20), weight, scales, constants=(1,)),
        case("DynamicQuantizeMatMul", f(2, 6, 20), weight, scales, i(-3, 4, 9, dtype=np.int8), f(9), constants=(1, 3)),
    ]
    for bits, block, depth in ((4, 32, 64), (4, 16, 40), (8, 32, 64), (4, 32, 33)):
        columns, blocks = 24, -(-depth // block)
        stored = i(0, 256, columns, blocks, block * bits // 8, dtype=np.uint8)
        point = i(0, 256, columns * -(-blocks * bits // 8), dtype=np.uint8)
        given = {"K": depth, "N": columns, "bits": bits, "block_size": block}
        scale = np.abs(f(columns * blocks)) / 10
        found.append(case("MatMulNBits", f(3, depth), stored, scale, constants=(1, 2), **given))
        found.append(
            case("MatMulNBits", f(2, 1, depth), stored, scale, point, None, f(columns), constants=(1, 2, 3, 5), **given)
        )
    return found


def attentions() -> list[Case]:
    batch, steps, hidden, heads = 2, 4, 12, 3
    x, weight, bias = f(batch, steps, hidden), f(hidden, 3 * hidden), f(3 * hidden)
    past = f(2, batch, heads, 3, hidden // heads)
    q, k, v = f(batch, steps, hidden), f(batch, 5, hidden), f(batch, 5, hidden)
    keys = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    before = f(batch, heads, 2, hidden // heads), f(batch, heads, 2, hidden // heads)
    found = [
        case("Attention", x, weight, bias, num_heads=heads),
        case("Attention", x, weight, bias, num_heads=heads, unidirectional=1),
        case("Attention", x, weight, bias, np.array([2, 4], np.int32), num_heads=heads, note="lengths"),
        case("Attention", x, weight, bias, np.array([3, 4, 1, 0], np.int32), num_heads=heads, note="ends-and-starts"),
        case("Attention", x, weight, bias, keys[:, 1:], num_heads=heads, note="mask"),
        case("Attention", x, weight, bias, i(0, 2, batch, steps, steps) | np.eye(steps, dtype=np.int32),
             num_heads=heads, note="mask-of-steps"),
        case("Attention", x, weight, bias, None, past, num_heads=heads, unidirectional=1, outputs=("y", "present")),
        case("Attention", x, weight, bias, None, None, f(batch, heads, steps, steps), num_heads=heads, scale=0.3),
        case("Attention", x, f(hidden, 30), f(30), num_heads=heads, qkv_hidden_sizes=[12, 12, 6]),
        case("MultiHeadAttention", q, k, v, num_heads=heads),
        case("MultiHeadAttention", q, k, v, bias, keys, num_heads=heads),
        case("MultiHeadAttention", q, k, v, None, np.array([2, 5], np.int32), num_heads=heads),
        case("MultiHeadAttention", q, k, v, None, None, f(1, heads, steps, 5), num_heads=heads, scale=0.4),
        case("MultiHeadAttention", q, f(batch, steps, hidden), f(batch, steps, hidden), None, None, None, *before,
             num_heads=heads, unidirectional=1, outputs=("y", "k", "v")),
        case("MultiHeadAttention", q, f(batch, heads, 5, 4), f(batch, heads, 5, 4), num_heads=heads, note="heads"),
    ]  # fmt: skip
    cos, sin = f(16, 4), f(16, 4)
    for interleaved in (0, 1):
        given = {"interleaved": interleaved}
        found += [
            case("RotaryEmbedding", f(2, 3, 16), i(0, 16, 2, 3, dtype=np.int64), cos, sin, **given),
            case("RotaryEmbedding", f(2, 3, 16), np.array([2]), cos, sin, note="offset", **given),
            case("RotaryEmbedding", f(2, 2, 3, 8), i(0, 16, 2, 3, dtype=np.int64), cos, sin, **given),
            case("RotaryEmbedding", f(2, 3, 24), i(0, 16, 2, 3, dtype=np.int64), cos, sin, num_heads=2,
                 rotary_embedding_dim=8, **given),
        ]  # fmt: skip
    return found + grouped()


SIZE = 16
"""Of a head."""


def grouped() -> list[Case]:
    found: list[Case] = []
    cos, sin = f(32, 8), f(32, 8)
    outputs = ("y", "k", "v")
    for heads, groups in ((4, 2), (3, 3)):

        def inputs(batch: int, steps: int, room: int, heads: int = heads, groups: int = groups) -> list[Array | None]:
            new = [f(batch, steps, count * SIZE) for count in (heads, groups, groups)]
            return [*new, f(batch, groups, room, SIZE), f(batch, groups, room, SIZE)]

        given: dict[str, Any] = {"num_heads": heads, "kv_num_heads": groups, "outputs": outputs, "constants": (6,)}
        one, whole = np.array([6, 6], np.int32), np.array(7, np.int32)
        found += [
            case("GroupQueryAttention", *inputs(2, 1, 6), one, whole, **given, note="step"),
            case("GroupQueryAttention", *inputs(2, 1, 6), one, whole, cos, sin, do_rotary=1, **given),
            case("GroupQueryAttention", *inputs(2, 1, 6), one, whole, cos, sin, do_rotary=1, rotary_interleaved=1,
                 **given),
            case("GroupQueryAttention", *inputs(2, 1, 6), one, whole, local_window_size=3, **given),
            case("GroupQueryAttention", *inputs(2, 1, 6), one, whole, softcap=2.0, scale=0.5, **given),
            case("GroupQueryAttention", *inputs(2, 1, 6), one, whole, smooth_softmax=1, **given),
            case("GroupQueryAttention", *inputs(2, 1, 6), one, whole, None, None, None, None, f(heads), softcap=2.0,
                 **given),
            case("GroupQueryAttention", *inputs(2, 5, 0), np.array([4, 4], np.int32), np.array(5, np.int32), None, None,
                 None, None, f(heads), smooth_softmax=1, **given | {"constants": (3, 4, 6)}, note="prompt-with-sinks"),
            case("GroupQueryAttention", *inputs(2, 1, 10), np.array([3, 5], np.int32), np.array(6, np.int32), **given,
                 note="ragged-in-a-buffer"),
            case("GroupQueryAttention", *inputs(2, 5, 0), np.array([4, 4], np.int32), np.array(5, np.int32), cos, sin,
                 do_rotary=1, **given | {"constants": (3, 4, 6)}, note="prompt"),
            case("GroupQueryAttention", *inputs(1, 3, 4), np.array([6], np.int32), whole, cos, sin, do_rotary=1,
                 note="chunk", **given),
        ]  # fmt: skip
        packed = f(2, 1, (heads + 2 * groups) * SIZE)
        past = inputs(2, 1, 6)[3:]
        found.append(case("GroupQueryAttention", packed, None, None, *past, one, whole, cos, sin, do_rotary=1, **given))
    return found


def recurrent() -> list[Case]:
    """onnxruntime rounds the states of a batch together: it is near, and where there is one line as near as other
    layers."""
    forms = ((1, False, 1, True, 8), (2, True, 1, False, 8), (1, True, 2, False, 8), (1, True, 1, False, 39))
    return [rounded_lstm(*form) for form in forms]


def rounded_lstm(directions: int, channels: bool, batch: int, unsigned: bool, units: int) -> Case:
    """A layer with a scale for each column where `channels` says so; `unsigned` weights have a zero point."""
    steps, size = 5, 6
    weights: list[Array] = []
    scales: list[Array] = []
    for columns in (size, units):
        real = f(directions, columns, 4 * units) / 4
        scale = np.abs(real).max(axis=1 if channels else (1, 2)) / 127
        wide = scale[:, None, :] if channels else scale[:, None, None]
        integers = np.round(real / wide).astype(np.int8)
        weights.append((integers.astype(np.int16) + 130).clip(0, 255).astype(np.uint8) if unsigned else integers)
        scales.append(scale.astype(np.float32))
    states = [f(directions, batch, units) for _ in range(2)]
    points = [np.full_like(scale, 130 * unsigned, dtype=weights[0].dtype) for scale in scales]
    inputs = [f(steps, batch, size), *weights, f(directions, 8 * units), None, *states, None]
    inputs += [scales[0], points[0], scales[1], points[1]]
    return case("DynamicQuantizeLSTM", *inputs, constants=(1, 2, 3, 8, 9, 10, 11), hidden_size=units,
                direction="bidirectional" if directions == 2 else "forward", outputs=("y", "h", "c"),
                tolerance=0.01 if batch > 1 else 2e-5)  # fmt: skip


def quantized_attentions() -> list[Case]:
    """Weights of either sign, one scale or one for each column, every kind of mask, and a past."""
    heads, width = 2, 8
    point = np.array(120, np.uint8)
    found: list[Case] = []
    for unsigned, by_column, mask in (
        (False, False, None),
        (False, True, i(1, 5, 2)),
        (True, False, i(0, 2, 2, 5)),
        (True, True, i(0, 2, 2, 5, 5)),
    ):
        # Of seven bits: onnxruntime's sums of two products saturate here without VNNI.
        kind, middle = (np.uint8, 128) if unsigned else (np.int8, 3)
        weight = (i(-60, 60, width, 3 * width) + (middle if unsigned else 0)).astype(kind)
        scale = np.abs(f(3 * width)) / 50 if by_column else np.array(0.02, np.float32)
        own = np.full(3 * width if by_column else (), 0 if by_column and not unsigned else middle, kind)
        inputs = [i(0, 255, 2, 5, width, dtype=np.uint8), weight, f(3 * width), np.array(0.03, np.float32), scale]
        given = {"num_heads": heads, "constants": (1, 2, 3, 4, 6, 7), "note": f"{kind.__name__}-{by_column}"}
        found.append(case("QAttention", *inputs, mask, point, own, **given))
    past = [None, point, np.array(0, np.int8), f(2, 2, heads, 3, width // heads)]
    step = [i(0, 255, 2, 1, width, dtype=np.uint8), i(-60, 60, width, 3 * width, dtype=np.int8), f(3 * width)]
    scales = [np.array(0.03, np.float32), np.array(0.02, np.float32)]
    found.append(case("QAttention", *step, *scales, *past, num_heads=heads, unidirectional=1,
                      constants=(1, 2, 3, 4, 6, 7), outputs=("y", "present")))  # fmt: skip
    return found


FAMILIES = {
    "quantized": quantized_attentions,
    "layers": layers,
    "products": products,
    "attention": attentions,
    "recurrent": recurrent,
}
