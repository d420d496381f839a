"""Layers of real numbers with weights of int8: what is multiplied with them is quantised when it comes, row by row or
image by image, as LiteRT's reference kernels do."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import f32, f64, i8, i16

from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite.fixed_point import nearest
from aotc.frontend.tflite.node import Node


def layer(node: Node, product: Callable[[Tensor], Tensor], x: Tensor, axis: int = -1) -> Tensor:
    """The result of a layer of real numbers; `product` makes sums in i32 of integers less their zero point, with the
    outputs along `axis`. Indices of the first axis are quantised apart."""
    numbers = node.declared(1).tensor.quantization
    if numbers is None:
        node.fail("unsupported-type", "the weights have no scale", "their integers must stand for real numbers")
    others, scales = [*range(1, len(x.shape))], numbers.scales
    is_symmetric = node.op_type == "FULLY_CONNECTED" or bool((scales == scales.flat[0]).all())
    whole, scale = (_symmetric if is_symmetric else _asymmetric)(x, others)
    sums = product(whole).cast(f32)
    shape = [1] * len(sums.shape)
    shape[axis] = -1
    result = sums * (scale * Tensor(node, node.constant(scales.reshape(shape))))
    bias = node.value(2)
    if bias is not None:
        result = result + Tensor(node, node.constant(node.array(2, "the bias").reshape(shape)))
    return node.activated(result)


def _symmetric(x: Tensor, axes: list[int]) -> tuple[Tensor, Tensor]:
    """Integers of 8 bits, and their scale: the greatest magnitude is 127."""
    most = x.emit("abs").reduce("max", axes)
    inverse = (most > 0).choose(most.scalar(127) / most, 0)
    return nearest(x * inverse).at_least(-127.0).at_most(127.0).cast(i8), most / 127


def _asymmetric(x: Tensor, axes: list[int]) -> tuple[Tensor, Tensor]:
    """Integers of 8 bits less their zero point, i16, and their scale: from the least number, or 0, to the greatest
    are 255. The zero point is that of the end which it is nearer to."""
    low, high = x.reduce("min", axes).at_most(0.0).cast(f64), x.reduce("max", axes).at_least(0.0).cast(f64)
    wide = (high - low) / 255
    wide = (wide > 0).choose(wide, 1)
    below, above = low / wide, high / wide
    is_below = below.emit("abs") + 128 < above.emit("abs") + 127
    point = nearest(is_below.choose(below.emit("neg") - 128, above.emit("neg") + 127))
    point, scale = point.at_least(-128.0).at_most(127.0).cast(f32), wide.cast(f32)
    whole = nearest(point + x * (1 / scale)).at_least(-128.0).at_most(127.0)
    return (whole - point).cast(i16), scale


def is_hybrid(node: Node) -> bool:
    """Whether a layer of real numbers has weights of int8, and is not to compute with what these stand for."""
    is_one = node.declared(0).tensor.dtype == "float32" and node.declared(1).tensor.dtype == "int8" and not node.real
    is_one_scale = not (is_one and node.option("AsymmetricQuantizeInputs"))
    what = "numbers are quantised with a zero point when they come"
    node.require(is_one_scale, "unsupported-attribute", what)
    return is_one
