"""Drawing networks of integers: layers between QuantizeLinear and DequantizeLinear, and layers of QLinear operators.

Scales of activations are powers of two, so that sums and ties are exact in floats, and what comes out is one number
however it is computed. Those of weights of QLinear operators are any. A result goes to the next layer, at times to
several, is added to another, or is joined with others of other scales.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from onnx import NodeProto, helper

from fuzz.drafts import MICROSOFT, STEPS, Draft, Drawer, Value
from fuzz.oracle import Array, Refused

BYTES, WORDS = ("int8", "uint8"), ("int16", "uint16")
_MOST = {"int8": 100, "uint8": 100, "int16": 900, "uint16": 900}
"""How far from their zero points elements of activations are: few enough bits that sums are exact in floats."""


@dataclass
class _Coded:
    """An activation: integers, their scale and zero point."""

    value: Value
    scale: Value
    point: Value

    @property
    def step(self) -> float:
        """The scale's value."""
        return float(self.scale.array)

    @property
    def parts(self) -> list[Value]:
        """As QLinear operators are given it."""
        return [self.value, self.scale, self.point]


class _Network:
    """Layers one after the other; `made` are the activations so far."""

    def __init__(self, d: Draft, kind: str, *shape: int, constant: bool = False) -> None:
        self._d, self.kind, self._constant = d, kind, constant
        self.made: list[_Coded] = []
        self.enter(*shape)

    def point(self) -> Value:
        """A zero point."""
        middle = {"uint8": 128, "uint16": 32768}.get(self.kind, 0)
        return self._d.known(np.array(middle + self._d.number(-9, 9), self.kind))

    def power(self, low: int, high: int, *shape: int) -> Value:
        """Powers of two."""
        return self._d.known(np.exp2(self._d.rng.integers(low, high + 1, shape)).astype(np.float32))

    def enter(self, *shape: int) -> _Coded:
        """An input."""
        d, point, most = self._d, self.point(), _MOST[self.kind]
        elements = d.rng.integers(-most, most + 1, shape) + int(point.array)
        self.made.append(_Coded(d.known(elements.astype(self.kind), False), self.power(-7, -3), point))
        return self.made[-1]

    def take(self, fits: Callable[[_Coded], bool] = lambda _: True) -> _Coded:
        """An activation there is, the latest more often."""
        found = [each for each in self.made if fits(each)]
        if not found:
            raise Refused("nothing fits")
        return found[-1] if self._d.chance(0.7) else self._d.pick(found)

    def bits(self, shape: Sequence[int], low: int = -100, high: int = 100) -> Value:
        """Weights."""
        high = min(high, 15) if self.kind in WORDS else high
        return self._d.known(self._d.rng.integers(max(low, -high), high + 1, shape).astype(np.int8))

    @property
    def channels(self) -> int:
        """How many outputs sums have; where some are constant, so many that they can be left out."""
        return self._d.pick((8, 16)) if self._constant else self._d.pick((1, 3, 8, 16, 16))

    def numbers(self, outputs: int) -> Array:
        """Biases; of some channels so great that these have one value, whatever goes in."""
        d = self._d
        numbers = d.rng.integers(-2000, 2001, (outputs,))
        if self._constant or d.chance(0.3):
            numbers[d.rng.random(outputs) < 0.6] += d.pick((-1, 1)) * 50_000_000
        return numbers.astype(np.int32)

    @property
    def has_bias(self) -> bool:
        """Whether the next sums have a bias."""
        return self._constant or self._d.chance(0.6)

    def result(self, sums: Array) -> tuple[Value, Value]:
        """A scale and a zero point for such numbers, most of which fit."""
        found = np.abs(sums)
        if self._constant:  # not for those of great biases, beside which the others had one value, too
            found = found[found <= found.max(initial=0.0) / 20]
        wide = float(found.max(initial=0.0)) or 1.0
        exponent = int(np.ceil(np.log2(wide / _MOST[self.kind]))) - self._d.pick((0, 0, 0, 1, 2))
        return self._d.known(np.array(2.0**exponent, np.float32)), self.point()

    def same(self, each: _Coded) -> tuple[Value, Value]:
        """The scale and zero point of what comes in."""
        return each.scale, each.point


def _real(each: _Coded) -> Array:
    return (each.value.array.astype(np.float64) - int(each.point.array)) * each.step


class _Pairs(_Network):
    """Layers of operators on floats, between DequantizeLinear and QuantizeLinear."""

    def layer(
        self,
        op_type: str,
        given: Sequence[_Coded],
        *more: tuple[Value, ...],
        target: tuple[Value, Value] | None = None,
        after: str = "",
        fixed: Sequence[Value] = (),
        **attributes: Any,
    ) -> None:
        """An operator on activations and on weights that are dequantised; `after` is an activation function."""
        d, prefix = self._d, f"q{len(self._d.nodes)}"
        nodes: list[NodeProto] = []
        read: list[Value] = []
        names: list[str] = []

        def node(kind: str, inputs: Sequence[str], **some: Any) -> str:
            name = f"{prefix}_{len(nodes)}"
            nodes.append(helper.make_node(kind, inputs, [name], name=f"{kind}_{name}", **some))
            return name

        for place, values in enumerate((*(tuple(each.parts) for each in given), *more)):
            read += values
            along = {"axis": self.axis} if place >= len(given) and values[1].rank else {}
            names.append(node("DequantizeLinear", [value.name for value in values], **along))
        last = node(op_type, names + [value.name for value in fixed], **attributes)
        read += fixed
        if after == "Clip":
            bounds = [d.known(np.array(number, np.float32)) for number in (0, 6)]
            read += bounds
            last = node("Clip", [last, *(bound.name for bound in bounds)])
        elif after:
            last = node(after, [last])
        target = target or self.result(self._floats(nodes, last, read))
        read += target
        last = node("QuantizeLinear", [last, *(value.name for value in target)])
        (value,) = d.put(nodes, [last], list({each.name: each for each in read}.values()), STEPS)
        self.made.append(_Coded(value, *target))

    axis = 0
    """Along which axis weights have scales."""

    def _floats(self, nodes: Sequence[NodeProto], name: str, read: Sequence[Value]) -> Array:
        """The results before they are quantised."""
        (found,) = self._d.peek(nodes, [name], list({each.name: each for each in read}.values()))
        return found

    def weight(self, each: _Coded, shape: Sequence[int], axis: int) -> list[tuple[Value, ...]]:
        """Weights with a scale for each output or for all of them, and at times a bias."""
        self.axis = axis
        outputs = shape[axis]
        each_has = (outputs,) if self._d.chance(0.6) else ()
        scale = self.power(-7, -4, *each_has)
        found: list[tuple[Value, ...]] = [(self.bits(shape), scale, self._d.known(np.zeros(each_has, np.int8)))]
        return found

    def bias(self, each: _Coded, weight: tuple[Value, ...], outputs: int) -> tuple[Value, ...]:
        """A bias of the scale that sums have."""
        numbers = self.numbers(outputs)
        scale = self._d.known(np.asarray(each.scale.array * weight[1].array, np.float32))
        return self._d.known(numbers), scale, self._d.known(np.zeros(scale.shape, np.int32))


def _after(d: Draft) -> str:
    return d.pick(("", "", "", "Relu", "Clip")) if d.opset >= 13 else d.pick(("", "Relu"))


def _pairs_conv(d: Draft, net: _Pairs) -> None:
    x = net.take(lambda each: each.value.rank == 4)
    channels, *space = x.value.shape[1:]
    groups = d.pick((1, 1, channels))
    outputs = channels * d.pick((1, 1, 2)) if groups > 1 else net.channels
    kernel = [d.number(1, min(3, extent)) for extent in space]
    weight = net.weight(x, (outputs, channels // groups, *kernel), 0)
    more = [net.bias(x, weight[0], outputs)] if net.has_bias else []
    some: dict[str, Any] = {"strides": [d.number(1, 2)] * 2} if d.chance(0.4) else {}
    if d.chance(0.5):
        some["pads"] = [d.number(0, extent - 1) for extent in (*kernel, *kernel)]
    net.layer("Conv", [x], *weight, *more, after=_after(d), group=groups, **some)


def _pairs_transposed(d: Draft, net: _Pairs) -> None:
    """Weights may have scales along their second axis only where a group has all of the outputs."""
    x = net.take(lambda each: each.value.rank == 4)
    channels, *_ = x.value.shape[1:]
    outputs, strides = d.pick((1, 2, 3, 8)), [d.number(1, 3) for _ in range(2)]
    kernel = [d.number(1, 4) for _ in range(2)]
    weight = net.weight(x, (channels, outputs, *kernel), 1)
    some: dict[str, Any] = {"strides": strides}
    if d.chance(0.5):
        some["pads"] = [d.number(0, (extent - 1) // 2) for extent in (*kernel, *kernel)]
    if d.chance(0.3):
        some["output_padding"] = [d.number(0, stride - 1) for stride in strides]
    net.layer("ConvTranspose", [x], *weight, after=_after(d), **some)


def _pairs_product(d: Draft, net: _Pairs) -> None:
    x = net.take(lambda each: each.value.rank == 2)
    depth, columns = x.value.shape[1], d.extent()
    if d.chance(0.5):
        net.layer("MatMul", [x], *net.weight(x, (depth, columns), 1), after=_after(d))
        return
    weight = net.weight(x, (columns, depth), 0)
    more = [net.bias(x, weight[0], columns)] if net.has_bias else []
    net.layer("Gemm", [x], *weight, *more, after=_after(d), transB=1)


def _both(net: _Network) -> tuple[_Coded, _Coded]:
    """Two activations of one shape, or one twice, or another input."""
    one = net.take()
    others = [each for each in net.made if each.value.shape == one.value.shape and each is not one]
    return one, others[-1] if others else net.enter(*one.value.shape)


def _pairs_two(d: Draft, net: _Pairs) -> None:
    one, other = _both(net)
    net.layer(d.pick(("Add", "Add", "Sub", "Mul")), [one, other], after=_after(d))


def _pairs_concat(d: Draft, net: _Pairs) -> None:
    one, other = _both(net)
    parts = [one, other] if d.chance(0.7) else [one, other, one]
    target = net.same(one) if d.chance(0.3) else None
    net.layer("Concat", parts, target=target, axis=d.number(0, one.value.rank - 1))


def _pairs_pool(d: Draft, net: _Pairs) -> None:
    """A mean of four is exact, too."""
    x = net.take(lambda each: each.value.rank == 4 and min(each.value.shape[2:]) >= 2)
    average = d.chance(0.4)
    some: dict[str, Any] = {"kernel_shape": (2, 2), "strides": [d.number(1, 2)] * 2}
    target = net.same(x) if d.chance(0.6) else None
    net.layer("AveragePool" if average else "MaxPool", [x], target=target, **some)


def _pairs_moved(d: Draft, net: _Pairs) -> None:
    x = net.take()
    target = net.same(x) if d.chance(0.7) else None
    if d.chance(0.5):
        net.layer("Transpose", [x], target=target, perm=[int(axis) for axis in d.rng.permutation(x.value.rank)])
    else:
        net.layer("Flatten", [x], target=target, axis=1)


def _pairs_function(d: Draft, net: _Pairs) -> None:
    net.layer(d.pick(("Relu", "Abs", "Neg", "HardSwish" if d.opset >= 14 else "Relu")), [net.take()])


_LAYERS: tuple[Callable[[Draft, _Pairs], None], ...] = (
    *(_pairs_conv, _pairs_conv, _pairs_conv, _pairs_transposed, _pairs_product, _pairs_product, _pairs_two, _pairs_two),
    *(_pairs_concat, _pairs_pool, _pairs_moved, _pairs_function),
)


def _grow(
    d: Draft,
    net: Any,
    layers: Sequence[Callable[[Draft, Any], None]],
    first: Callable[[Draft, Any], None],
    most: int = 4,
) -> None:
    """Some layers; the first must be drawn, the others where they fit."""
    first(d, net)
    for _ in range(d.number(most - 4, most)):
        before = len(net.made)
        try:
            d.pick(layers)(d, net)
        except Refused:
            del net.made[before:]


def _rows(d: Draft) -> tuple[int, ...]:
    return d.number(1, 9), d.extent()


def _image(d: Draft) -> tuple[int, ...]:
    return 1, d.pick((1, 2, 3, 4, 8, 16, 17)), d.number(2, 8), d.number(2, 8)


def _pairs(first: Callable[[Draft, _Pairs], None], d: Draft) -> None:
    if d.opset < 13:
        raise Refused("scales along an axis are of a later version")
    kind = d.pick((*BYTES, *BYTES, *WORDS)) if d.opset >= 21 else d.pick(BYTES)
    shape = _rows(d) if first is _pairs_product else _image(d)
    _grow(d, _Pairs(d, kind, *shape), _LAYERS, first)


# --- operators on integers ---


class _Linear(_Network):
    """Layers of QLinear operators. onnxruntime adds zero points before it rounds to even: they are even."""

    def point(self) -> Value:
        point = super().point()
        return self._d.known(point.array // 2 * 2)

    def layer(self, op_type: str, given: Sequence[Value | None], target: tuple[Value, Value], **more: Any) -> None:
        """An operator and what it gives."""
        (value,) = self._d.add(op_type, given, how=STEPS, **more)
        self.made.append(_Coded(value, *target))

    def scale(self, *shape: int) -> Value:
        """Scales of weights, any."""
        return self._d.fresh("float32", shape, 0.002, 0.05, constant=True)

    def sums(self, x: _Coded, weight: Value, scale: Value, depth: int) -> tuple[Value, Value]:
        """A scale for sums of so many products."""
        wide = float(np.abs(_real(x)).max(initial=0.0)) * 60 * float(scale.array.max()) * np.sqrt(depth)
        return self.result(np.array(wide))


def _linear_conv(d: Draft, net: _Linear) -> None:
    x = net.take(lambda each: each.value.rank == 4)
    channels, *space = x.value.shape[1:]
    groups = d.pick((1, 1, channels))
    outputs = channels * d.pick((1, 1, 2)) if groups > 1 else net.channels
    kernel = [d.number(1, min(3, extent)) for extent in space]
    columns = (outputs,) if d.chance(0.6) else ()
    weight, scale = net.bits((outputs, channels // groups, *kernel)), net.scale(*columns)
    target = net.sums(x, weight, scale, int(np.prod(weight.shape[1:])))
    bias = [d.known(net.numbers(outputs))] if net.has_bias else []
    some: dict[str, Any] = {"strides": [d.number(1, 2)] * 2} if d.chance(0.4) else {}
    if d.chance(0.5):
        some["pads"] = [d.number(0, extent - 1) for extent in (*kernel, *kernel)]
    given = [*x.parts, weight, scale, d.known(np.zeros(columns, np.int8)), *target, *bias]
    net.layer("QLinearConv", given, target, group=groups, **some)


def _linear_product(d: Draft, net: _Linear) -> None:
    x = net.take(lambda each: each.value.rank == 2)
    weight = net.bits((x.value.shape[1], d.extent()))
    columns = (weight.shape[1],) if d.chance(0.4) else ()
    scale = net.scale(*columns)
    target = net.sums(x, weight, scale, weight.shape[0])
    given = [*x.parts, weight, scale, d.known(np.zeros(columns, np.int8)), *target]
    net.layer("QLinearMatMul", given, target)


def _linear_two(d: Draft, net: _Linear) -> None:
    one, other = _both(net)
    added = d.chance(0.7)
    target = net.result(_real(one) + _real(other) if added else _real(one) * _real(other))
    kind = "QLinearAdd" if added else "QLinearMul"
    net.layer(kind, [*one.parts, *other.parts, *target], target, domain=MICROSOFT)


def _linear_concat(d: Draft, net: _Linear) -> None:
    one, other = _both(net)
    target = net.same(one) if d.chance(0.3) else net.result(np.maximum(np.abs(_real(one)), np.abs(_real(other))))
    axis = d.number(0, one.value.rank - 1)
    net.layer("QLinearConcat", [*target, *one.parts, *other.parts], target, domain=MICROSOFT, axis=axis)


def _linear_moved(d: Draft, net: _Linear) -> None:
    x = net.take()
    if d.chance(0.5) and x.value.rank == 4 and d.opset >= 12 and min(x.value.shape[2:]) >= 2:
        net.layer("MaxPool", [x.value], net.same(x), kernel_shape=(2, 2))
    elif d.chance(0.5):
        net.layer("Flatten", [x.value], net.same(x), axis=1)
    else:
        perm = [int(axis) for axis in d.rng.permutation(x.value.rank)]
        net.layer("Transpose", [x.value], net.same(x), perm=perm)


_LINEAR: tuple[Callable[[Draft, _Linear], None], ...] = (
    *(_linear_conv, _linear_conv, _linear_product, _linear_two, _linear_two, _linear_concat, _linear_moved),
)


def _linear(first: Callable[[Draft, _Linear], None], d: Draft) -> None:
    if d.opset < 10:
        raise Refused("a later operator")
    shape = _rows(d) if first is _linear_product else _image(d)
    _grow(d, _Linear(d, d.pick(BYTES), *shape), _LINEAR, first)


def _constant_channels(d: Draft) -> None:
    """Sums of sums some of whose channels are the same whatever goes in."""
    if d.opset < 13:
        raise Refused("scales along an axis are of a later version")
    kind, shape = d.pick(BYTES), _image(d)
    if d.chance(0.5):
        _grow(d, _Linear(d, kind, *shape, constant=True), (*_LINEAR, *[_linear_conv] * 7), _linear_conv, 6)
    else:
        _grow(d, _Pairs(d, kind, *shape, constant=True), (*_LAYERS, *[_pairs_conv] * 7), _pairs_conv, 6)


DRAWERS: dict[str, Drawer] = {
    "Conv of bytes": partial(_pairs, _pairs_conv),
    "ConvTranspose of bytes": partial(_pairs, _pairs_transposed),
    "Concat of bytes": partial(_pairs, _pairs_concat),
    "QuantizeLinear after products": partial(_pairs, _pairs_product),
    "QLinearConv in a network": partial(_linear, _linear_conv),
    "QLinearMatMul in a network": partial(_linear, _linear_product),
    "QLinearConv of constant channels": _constant_channels,
}
"""Operator and what it is part of -> what draws it."""
