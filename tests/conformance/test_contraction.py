"""Contractions, pooling and data movement against onnxruntime, over random attributes.

Each case is one node; the seed of its attributes is its number, so that a failure can be run alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import pytest
from harness import reference
from onnx import helper

import aotc

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """One node: its inputs (None leaves one out), which of them are initializers, and its attributes."""

    op_type: str
    inputs: Sequence[Array | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    opset: int = 17
    constant: Sequence[int] = ()
    outputs: int = 1

    def model(self) -> onnx.ModelProto:
        """The model of this node alone."""
        given = {f"x{i}": array for i, array in enumerate(self.inputs) if array is not None}
        names = [f"x{i}" if array is not None else "" for i, array in enumerate(self.inputs)]
        node = helper.make_node(
            self.op_type, names, [f"y{i}" for i in range(self.outputs)], name="node", **self.attributes
        )
        initial = {f"x{i}" for i in self.constant}
        graph = helper.make_graph(
            [node],
            "graph",
            [
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                for name, array in given.items()
                if name not in initial
            ],
            [helper.make_empty_tensor_value_info(f"y{i}") for i in range(self.outputs)],
            [onnx.numpy_helper.from_array(array, name) for name, array in given.items() if name in initial],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9)
        inferred = onnx.shape_inference.infer_shapes(model).graph.output
        for output, found in zip(model.graph.output, inferred, strict=True):
            output.CopyFrom(found)
        return model

    def feeds(self) -> dict[str, Array]:
        """The inputs of the model by name."""
        return {f"x{i}": array for i, array in enumerate(self.inputs) if array is not None and i not in self.constant}


Generator = np.random.Generator

TOLERANCE = 1e-4


def floats(r: Generator, *shape: int) -> Array:
    return r.standard_normal(shape).astype(np.float32)


def pick(r: Generator, *choices: Any) -> Any:
    return choices[int(r.integers(len(choices)))]


def ints(r: Generator, low: int, high: int, count: int) -> list[int]:
    """`count` numbers in low..high, both included."""
    return [int(value) for value in r.integers(low, high + 1, count)]


def padding(r: Generator, kernel: Sequence[int]) -> dict[str, Any]:
    """Explicit pads below the kernel's size, or an auto_pad mode."""
    mode = pick(r, "NOTSET", "NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    if mode != "NOTSET":
        return {"auto_pad": mode}
    return {"pads": [int(r.integers(size)) for size in (*kernel, *kernel)]}


def conv(r: Generator) -> Case:
    rank, group = pick(r, 1, 2, 2, 3), pick(r, 1, 1, 2, 3)
    kernel, strides = ints(r, 1, 3, rank), ints(r, 1, 3, rank)
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "group": group}
    attributes |= padding(r, kernel)
    if "auto_pad" not in attributes:
        attributes["dilations"] = ints(r, 1, 3, rank)
    channels = int(r.integers(1, 3))
    x = floats(r, 2, channels * group, *ints(r, 7, 9, rank))
    weight = floats(r, group * int(r.integers(1, 3)), channels, *kernel)
    bias = floats(r, weight.shape[0]) if r.integers(2) else None
    return Case(
        "Conv", [x, weight, bias] if bias is not None else [x, weight], attributes, constant=pick(r, (), (1, 2))
    )


def conv_transpose(r: Generator) -> Case:
    rank, group = pick(r, 1, 2, 2), pick(r, 1, 1, 2)
    kernel, strides, dilations = ints(r, 1, 4, rank), ints(r, 1, 4, rank), ints(r, 1, 3, rank)
    extents = ints(r, 2, 5, rank)
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "group": group}
    more = [int(r.integers(stride)) for stride in strides]
    style = pick(r, "pads", "pads", "output_shape", "SAME_UPPER", "SAME_LOWER")
    if style == "pads":
        attributes["pads"] = [int(r.integers(size)) for size in (*kernel, *kernel)]
        attributes["output_padding"] = more
    elif style == "output_shape":
        attributes["output_shape"] = [
            max(1, (n - 1) * s + (k - 1) * d + 1 - int(r.integers(3)))
            for n, s, k, d in zip(extents, strides, kernel, dilations, strict=True)
        ]
        attributes["auto_pad"] = pick(r, "SAME_UPPER", "SAME_LOWER", "NOTSET")
    else:
        attributes["auto_pad"] = style
    x = floats(r, 2, 2 * group, *extents)
    weight = floats(r, 2 * group, int(r.integers(1, 3)), *kernel)
    bias = floats(r, weight.shape[1] * group)
    return Case("ConvTranspose", [x, weight, bias], attributes)


def pool(r: Generator) -> Case:
    rank = pick(r, 1, 2, 2, 3)
    op_type = pick(r, "MaxPool", "AveragePool", "LpPool")
    kernel, strides = ints(r, 1, 4, rank), ints(r, 1, 3, rank)
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": strides} | padding(r, kernel)
    if "auto_pad" not in attributes:
        attributes |= {"dilations": ints(r, 1, 2, rank), "ceil_mode": pick(r, 0, 1)}
    x = floats(r, 1, 2, *ints(r, 6, 9, rank))
    outputs = 1
    if op_type == "AveragePool":
        attributes["count_include_pad"] = pick(r, 0, 1)
    elif op_type == "LpPool":
        attributes["p"] = pick(r, 1, 2, 3)
    else:
        x = pick(r, x, x, (x * 40).astype(np.int8), (x * 40 + 128).astype(np.uint8), x.astype(np.float64))
        if rank < 3 and x.dtype == np.float32:
            attributes["storage_order"] = pick(r, 0, 1)
            outputs = pick(r, 1, 2)
    return Case(op_type, [x], attributes, opset=19, outputs=outputs)


def matmul(r: Generator) -> Case:
    batch = ints(r, 1, 3, int(r.integers(3)))
    m, k, n = ints(r, 1, 6, 3)
    left = [pick(r, 1, extent) for extent in batch][int(r.integers(len(batch) + 1)) :]
    right = [pick(r, 1, extent) for extent in batch][int(r.integers(len(batch) + 1)) :]
    lhs = [k] if r.integers(6) == 0 else [*left, m, k]
    rhs = [k] if r.integers(6) == 0 else [*right, k, n]
    kind = pick(r, np.float32, np.float32, np.float64, np.int32, np.int64, np.uint32, np.uint64)
    return Case("MatMul", [(floats(r, *shape) * 9).astype(np.int64).astype(kind) for shape in (lhs, rhs)])


def gemm(r: Generator) -> Case:
    m, k, n = ints(r, 1, 6, 3)
    flip_a, flip_b = ints(r, 0, 1, 2)
    a, b = floats(r, *((k, m) if flip_a else (m, k))), floats(r, *((n, k) if flip_b else (k, n)))
    c = pick(r, None, floats(r, n), floats(r, m, 1), floats(r, 1, n), floats(r, m, n), floats(r, 1), floats(r))
    attributes = {"transA": flip_a, "transB": flip_b, "alpha": pick(r, 1.0, 0.5), "beta": pick(r, 1.0, 2.0, 0.0)}
    return Case("Gemm", [a, b] if c is None else [a, b, np.asarray(c)], attributes)


def integer(r: Generator) -> Case:
    kinds = pick(r, (np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8))

    def numbers(kind: type[Any], *shape: int) -> Array:
        limits = np.iinfo(kind)
        return r.integers(limits.min, limits.max + 1, shape).astype(kind)

    if r.integers(2):
        m, k, n = ints(r, 1, 6, 3)
        inputs = [numbers(kinds[0], m, k), numbers(kinds[1], k, n)]
        zero_points = [numbers(kinds[0]), numbers(kinds[1], *pick(r, (), (n,)))]
        return Case("MatMulInteger", [*inputs, *(np.asarray(z) for z in zero_points)][: pick(r, 2, 3, 4)])
    kernel = ints(r, 1, 3, 2)
    inputs = [numbers(np.uint8, 1, 2, 6, 5), numbers(np.uint8, 3, 2, *kernel)]
    zero_points = [np.asarray(numbers(np.uint8)), np.asarray(numbers(np.uint8))]
    attributes = {"kernel_shape": kernel, "strides": ints(r, 1, 2, 2)} | padding(r, kernel)
    return Case("ConvInteger", [*inputs, *zero_points][: pick(r, 2, 3, 4)], attributes)


def slice_(r: Generator) -> Case:
    shape = ints(r, 1, 6, int(r.integers(1, 5)))
    axes = sorted(r.permutation(len(shape))[: r.integers(1, len(shape) + 1)].tolist())
    starts = [int(r.integers(-shape[axis] - 3, shape[axis] + 3)) for axis in axes]
    ends = [
        pick(r, int(r.integers(-shape[axis] - 3, shape[axis] + 3)), 2**31 - 1, 2**63 - 1, -(2**31)) for axis in axes
    ]
    steps = [pick(r, 1, 1, 2, 3, -1, -2) for _ in axes]
    axes = [axis - len(shape) if r.integers(2) else axis for axis in axes]
    extra = [np.array(values, np.int64) for values in (starts, ends, axes, steps)]
    return Case("Slice", [floats(r, *shape), *extra], constant=(1, 2, 3, 4))


def pad(r: Generator) -> Case:
    shape = ints(r, 3, 5, int(r.integers(1, 4)))
    mode = pick(r, "constant", "constant", "edge", "reflect", "wrap")
    low = -1 if mode in ("constant", "edge") else 0
    axes = sorted(r.permutation(len(shape))[: r.integers(1, len(shape) + 1)].tolist())
    pads = np.array(ints(r, low, 2, 2 * len(axes)), np.int64)
    kind = pick(r, np.float32, np.float32, np.int32, np.int64, np.float64)
    value = np.array(3).astype(kind) if mode == "constant" and r.integers(2) else None
    x = (floats(r, *shape) * 9).astype(kind)
    return Case("Pad", [x, pads, value, np.array(axes)], {"mode": mode}, opset=19, constant=(1, 3))


def gather(r: Generator) -> Case:
    shape = ints(r, 1, 5, int(r.integers(1, 4)))
    axis = int(r.integers(len(shape)))
    kind = pick(r, np.int32, np.int64)
    if r.integers(2):
        indices = r.integers(-shape[axis], shape[axis], ints(r, 1, 3, int(r.integers(3)))).astype(kind)
        op_type = "Gather"
    else:
        indices = r.integers(-shape[axis], shape[axis], shape).astype(kind)
        op_type = "GatherElements"
    x = pick(r, floats(r, *shape), np.asarray(floats(r, *shape) > 0), (floats(r, *shape) * 50).astype(np.int8))
    return Case(
        op_type, [x, np.asarray(indices)], {"axis": pick(r, axis, axis - len(shape))}, constant=pick(r, (), (1,))
    )


def gather_nd(r: Generator) -> Case:
    shape = ints(r, 1, 4, int(r.integers(2, 5)))
    batch = int(r.integers(min(2, len(shape))))
    depth = int(r.integers(1, len(shape) - batch + 1))
    tuples = (*shape[:batch], *ints(r, 1, 3, int(r.integers(1, 3))), 1)
    parts = [r.integers(-shape[batch + i], shape[batch + i], tuples) for i in range(depth)]
    return Case("GatherND", [floats(r, *shape), np.concatenate(parts, -1)], {"batch_dims": batch})


def scatter(r: Generator) -> Case:
    reduction = {"reduction": pick(r, "none", "add", "mul", "max", "min")}
    shape = ints(r, 2, 4, int(r.integers(1, 4)))
    x = floats(r, *shape)
    if r.integers(2):
        axis = int(r.integers(len(shape)))
        covered = [int(r.integers(1, extent + 1)) for extent in shape]
        indices = r.integers(-shape[axis], shape[axis], covered)
        if reduction["reduction"] == "none":  # which of two updates of one element wins is not defined
            indices = np.indices(covered)[axis]
        inputs = [x, np.asarray(indices), floats(r, *covered)]
        return Case("ScatterElements", inputs, {"axis": axis} | reduction, opset=18)
    depth = int(r.integers(1, len(shape) + 1))
    places = r.permutation(int(np.prod(shape[:depth])))[:2]
    tuples = np.stack(np.unravel_index(places, shape[:depth]), -1)
    return Case("ScatterND", [x, tuples, floats(r, len(places), *shape[depth:])], reduction, opset=18)


def concat(r: Generator) -> Case:
    shape = ints(r, 1, 4, int(r.integers(1, 5)))
    axis = int(r.integers(len(shape)))
    parts = [floats(r, *shape[:axis], size, *shape[axis + 1 :]) for size in ints(r, 1, 4, int(r.integers(1, 5)))]
    return Case("Concat", parts, {"axis": pick(r, axis, axis - len(shape))})


def split(r: Generator) -> Case:
    shape = ints(r, 2, 6, int(r.integers(1, 4)))
    axis = int(r.integers(len(shape)))
    first = int(r.integers(1, shape[axis]))
    if r.integers(2):
        return Case("Split", [floats(r, *shape)], {"axis": axis, "num_outputs": 2}, opset=18, outputs=2)
    sizes = np.array([first, shape[axis] - first])
    return Case("Split", [floats(r, *shape), sizes], {"axis": axis - len(shape)}, constant=(1,), outputs=2)


def rearrange(r: Generator) -> Case:
    shape = ints(r, 1, 4, int(r.integers(1, 5)))
    x = floats(r, *shape)
    match pick(r, "Transpose", "Tile", "Expand", "Trilu", "DepthToSpace", "SpaceToDepth"):
        case "Transpose":
            return Case("Transpose", [x], {"perm": r.permutation(len(shape)).tolist()})
        case "Tile":
            return Case("Tile", [x, np.array(ints(r, 1, 3, len(shape)))], constant=(1,))
        case "Expand":
            target = [2, *(extent if extent > 1 else 3 for extent in shape)][pick(r, 0, 1) :]
            return Case("Expand", [x, np.array(target)], constant=(1,))
        case "Trilu":
            x = floats(r, *shape, *ints(r, 1, 5, 2))
            diagonal = np.array(int(r.integers(-3, 4)))
            return Case("Trilu", [x, diagonal], {"upper": pick(r, 0, 1)}, constant=pick(r, (), (1,)))
        case "DepthToSpace":
            return Case("DepthToSpace", [floats(r, 2, 8, 2, 3)], {"blocksize": 2, "mode": pick(r, "DCR", "CRD")})
        case _:
            return Case("SpaceToDepth", [floats(r, 2, 3, 4, 6)], {"blocksize": 2})


def resize(r: Generator) -> Case:
    mode = pick(r, "nearest", "linear", "cubic")
    attributes: dict[str, Any] = {
        "mode": mode,
        "coordinate_transformation_mode": pick(r, "asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners"),
    }
    if mode == "nearest":
        attributes["nearest_mode"] = pick(r, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    x = floats(r, 1, 2, *ints(r, 2, 6, 2))
    if r.integers(2):
        sizes = np.array([1, 2, *ints(r, 1, 9, 2)])
        return Case("Resize", [x, None, None, sizes], attributes, opset=19, constant=(3,))
    scales = np.array([1, 1, pick(r, 0.5, 1.5, 2.0, 3.0), pick(r, 0.7, 1.0, 2.0, 2.5)], np.float32)
    return Case("Resize", [x, None, scales], attributes, opset=19, constant=(2,))


def top_k(r: Generator) -> Case:
    shape = ints(r, 2, 5, int(r.integers(1, 4)))
    axis = int(r.integers(len(shape)))
    x = pick(r, floats(r, *shape), (floats(r, *shape) * 2).astype(np.int32))
    attributes = {"axis": axis, "largest": pick(r, 0, 1)}
    return Case("TopK", [x, np.array([int(r.integers(1, shape[axis] + 1))])], attributes, constant=(1,), outputs=2)


SWEEPS: dict[Callable[[Generator], Case], int] = {
    conv: 24,
    conv_transpose: 16,
    pool: 24,
    matmul: 14,
    gemm: 10,
    integer: 10,
    slice_: 16,
    pad: 14,
    gather: 12,
    gather_nd: 6,
    scatter: 12,
    concat: 6,
    split: 5,
    rearrange: 14,
    resize: 12,
    top_k: 6,
}
"""How many cases of each family run."""


CASES = [pytest.param(make, seed, id=f"{make.__name__}-{seed}") for make, n in SWEEPS.items() for seed in range(n)]


@pytest.mark.parametrize(("make", "seed"), CASES)
def test_agrees_with_onnxruntime(make: Callable[[Generator], Case], seed: int) -> None:
    case = make(np.random.default_rng(seed))
    model, feeds = case.model(), case.feeds()
    expected = reference(model, feeds)
    assert expected is not None, "onnxruntime refuses the case"
    for (name, found), wanted in zip(aotc.compile(model)(feeds).items(), expected, strict=True):
        assert found.dtype == wanted.dtype, name
        np.testing.assert_allclose(found, wanted, rtol=TOLERANCE, atol=TOLERANCE, err_msg=f"{name} of {case}")
