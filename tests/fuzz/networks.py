"""Networks of layers on pictures, within budgets of RAM, and by rows: the numbers are those of the program without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from convolution_model import Layers
from onnx import ModelProto

from fuzz.routes import by_rows, within_budgets

_LONGEST: Final = 48
"""Positions along an axis, at most."""


def network(seed: int) -> str:
    """A network of a seed, of floats or of 8 bits, which may be given by rows; what it counts as."""
    model, rng = drawn(seed, quantized=bool(seed % 2)), np.random.default_rng(seed)
    shape = [each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim]
    x = rng.standard_normal(shape).astype(np.float32) * 2
    within_budgets(model.SerializeToString(), {"x": x}, rng)
    if seed % 3 == 0:
        by_rows(model.SerializeToString(), np.ascontiguousarray(x.transpose(0, 2, 3, 1)), rng)
    return "8 bits" if seed % 2 else "floats"


class Network(Layers):
    """Layers on pictures of any extents, `shapes` of which are those of a value without the batch."""

    def __init__(self, seed: int, *, quantized: bool) -> None:
        super().__init__(seed, quantized=quantized)
        self.shapes: dict[str, tuple[int, ...]] = {"x": (3, int(self.r.integers(9, 26)), int(self.r.integers(5, 14)))}

    def choice(self, *values: Any) -> Any:
        """One of some values."""
        return values[int(self.r.integers(0, len(values)))]

    def node(self, kind: str, *operands: str, shape: tuple[int, ...] = (), **attributes: Any) -> str:
        """A node whose result has a shape, or that of its first operand."""
        name = super().node(kind, *operands, **attributes)
        self.shapes[name] = shape or self.shapes.get(operands[0], ())
        return name

    def giving(self, *results: str) -> ModelProto:
        """The model of results whose shapes are known."""
        return self.model((1, *self.shapes["x"]), {name: (1, *self.shapes[name]) for name in results})

    def of(self, name: str, *shape: int, is_real: bool = True) -> str:
        """A result of this shape, rounded where the network is."""
        name = self.real(name) if is_real else name
        self.shapes[name] = shape
        return name

    def window(self, x: str, kind: str, weight: tuple[int, ...] = ()) -> str:
        """A convolution, depthwise where `weight` has one input, or a pool, of any window that fits."""
        channels, *extents = self.shapes[x]
        kernel = [int(self.r.integers(1, 4)) for _ in extents]
        strides = [self.choice(1, 1, 2) for _ in extents]
        dilations = [self.choice(1, 1, 2) for _ in extents] if kind == "Conv" else [1, 1]
        pads = [int(self.r.integers(0, size)) for size in kernel * 2]
        spans = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
        shape = [
            (extent + pads[axis] + pads[axis + 2] - spans[axis]) // strides[axis] + 1
            for axis, extent in enumerate(extents)
        ]
        if min(shape) < 2:
            return x
        attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "pads": pads}
        if kind != "Conv":
            return self.of(self.node(kind, x, **attributes), channels, *shape)
        group, taps = channels if weight[1] == 1 else 1, self.taps((*weight, *kernel))
        found = self.node("Conv", x, taps, dilations=dilations, group=group, **attributes)
        return self.of(self.node("Relu", found) if self.r.integers(0, 2) else found, weight[0], *shape)

    def conv(self, x: str) -> str:
        return self.window(x, "Conv", (int(self.r.integers(2, 9)), self.shapes[x][0]))

    def depthwise(self, x: str) -> str:
        return self.window(x, "Conv", (self.shapes[x][0], 1))

    def pool(self, x: str) -> str:
        return self.window(x, "MaxPool")

    def residual(self, x: str) -> str:
        """x and what becomes of it, added up."""
        y = x
        for size in self.r.choice([1, 3], int(self.r.integers(1, 3))):
            y = self.same(y, self.shapes[x][0], int(size))
        return self.of(self.node("Add", x, y), *self.shapes[x])

    def same(self, x: str, outputs: int, size: int) -> str:
        """A convolution whose result has the positions of x."""
        channels, *extents = self.shapes[x]
        taps = self.taps((outputs, channels, size, size))
        return self.of(self.node("Conv", x, taps, pads=[size // 2] * 4), outputs, *extents)

    def transposed(self, x: str) -> str:
        """A transposed convolution of any window."""
        channels, *extents = self.shapes[x]
        size, stride, dilation, outputs = self.choice(2, 3, 4), self.choice(1, 2, 3), self.choice(1, 1, 2), 4
        pad = int(self.r.integers(0, size))
        shape = [(extent - 1) * stride + (size - 1) * dilation + 1 - 2 * pad for extent in extents]
        if min(shape) < 3 or max(shape) > _LONGEST:
            return x
        attributes: dict[str, Any] = {"strides": [stride] * 2, "pads": [pad] * 4, "dilations": [dilation] * 2}
        found = self.node("ConvTranspose", x, self.taps((channels, outputs, size, size)), **attributes)
        return self.of(found, outputs, *shape)

    def scaled(self, x: str) -> str:
        """A resize by any factors."""
        channels, *extents = self.shapes[x]
        scales = [self.choice(2.0, 2.0, 1.5, 0.5, 3.0, 0.75), self.choice(1.0, 2.0)]
        shape = [int(extent * scale) for extent, scale in zip(extents, scales, strict=True)]
        if min(shape) < 3 or max(shape) > _LONGEST:
            return x
        ways = self.choice("asymmetric", "half_pixel", "pytorch_half_pixel")
        attributes = {"mode": self.choice("nearest", "linear"), "coordinate_transformation_mode": ways}
        if attributes["mode"] == "nearest":
            attributes["nearest_mode"] = self.choice("floor", "round_prefer_floor", "ceil")
        return self.of(self.resized(x, *scales, **attributes), channels, *shape, is_real=False)

    def cut(self, x: str) -> str:
        """Some rows of x, or every other one."""
        channels, height, width = self.shapes[x]
        first, last = int(self.r.integers(0, height // 3 + 1)), int(self.r.integers(2 * height // 3, height + 1))
        step = self.choice(1, 1, 2)
        if last - first < 4:
            return x
        ends = (self.constant([value], np.int64) for value in (first, last, 2, step))
        return self.of(self.node("Slice", x, *ends), channels, -(-(last - first) // step), width, is_real=False)

    def padded(self, x: str) -> str:
        """x with a border of any kind."""
        channels, height, width = self.shapes[x]
        above, left, below, right = (int(value) for value in self.r.integers(0, 3, 4))
        pads = self.constant([0, 0, above, left, 0, 0, below, right], np.int64)
        found = self.node("Pad", x, pads, mode=self.choice("constant", "edge", "reflect"))
        return self.of(found, channels, height + above + below, width + left + right, is_real=False)

    def turned(self, x: str) -> str:
        """Channels of x become positions, or positions channels, by blocks of 2 x 2."""
        channels, height, width = self.shapes[x]
        if channels % 4 == 0 and 2 * height <= _LONGEST:
            found = self.node("DepthToSpace", x, blocksize=2, mode=self.choice("DCR", "CRD"))
            return self.of(found, channels // 4, 2 * height, 2 * width, is_real=False)
        if height % 2 or width % 2 or height < 8 or width < 6:
            return x
        found = self.node("SpaceToDepth", x, blocksize=2)
        return self.of(found, 4 * channels, height // 2, width // 2, is_real=False)

    def joined(self, x: str, others: Sequence[str]) -> str:
        """x beside another value in the order of channels, or of rows."""
        channels, *extents = self.shapes[x]
        beside = [each for each in others if [*self.shapes[each][1:]] == extents]
        below = [each for each in others if self.shapes[each][::2] == (channels, extents[1])]
        if beside and self.r.integers(0, 3):
            parts = self.r.permutation([x, self.choice(*beside)]).tolist()
            return self.of(self.node("Concat", *parts, axis=1), sum(self.shapes[each][0] for each in parts), *extents)
        if not below or (height := extents[0] + self.shapes[other := self.choice(*below)][1]) > _LONGEST:
            return x
        return self.of(self.node("Concat", x, other, axis=2), channels, height, extents[1])


def drawn(seed: int, *, quantized: bool) -> ModelProto:
    """Some layers in a row; what some of them give is read again later, or a result of the model."""
    g = Network(seed, quantized=quantized)
    x = g.conv(g.of("x", *g.shapes["x"]))
    values, also = [x], list[str]()
    usual: list[Callable[[str], str]] = [g.conv, g.depthwise, g.depthwise, g.pool, g.residual]
    other = [g.transposed, g.scaled, g.cut, g.padded, g.turned, lambda each: g.joined(each, values[:-1])]
    for _ in range(int(g.r.integers(3, 9))):
        x = g.choice(*usual, *other)(x)
        values += [x] if x not in values else []
        if g.r.integers(0, 8) == 0:
            also.append(x)
    return g.giving(x, *also)
