"""More functions of one element, and quotients and squares of two."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f64, i32, i64

from aotc.dialects.dtypes import integer_range
from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite import arithmetic, fixed_point
from aotc.frontend.tflite.arithmetic import Multiplier, divided
from aotc.frontend.tflite.importers.elementwise import function
from aotc.frontend.tflite.node import First, Node
from aotc.frontend.tflite.registry import tflite_op
from aotc.model.weight_store import Array

# --- real numbers -----------------------------------------------------------------------------------------------------


@tflite_op("CEIL", "COS", "EXP", "FLOOR", "LOG", "NEG", "ROUND", "SIN", "SQRT")
def plain(node: Node) -> Tensor | First:
    """Functions of real numbers alone; the middle between two integers is rounded to the even one."""
    node.require_type(0, "float32", *["int32", "int64"] if node.op_type == "NEG" else [])
    (x,), ordered = node.alike(0)
    return ordered(x.emit(node.op_type.lower()))


@tflite_op("SQUARE")
def square(node: Node) -> Tensor | First:
    node.require_type(0, "float32")
    (x,), ordered = node.alike(0)
    return ordered(x * x)


@tflite_op("FLOOR_DIV")
def floor_div(node: Node) -> Tensor | First:
    """Divided in f64."""
    node.require_type(0, "float32")
    (x, y), ordered = node.alike(0, 1)
    return ordered((x.cast(f64) / y.cast(f64)).emit("floor").cast(x.kind))


@tflite_op("FLOOR_MOD")
def floor_mod(node: Node) -> Tensor | First:
    """The rest of a division that is cut off, moved to the sign of the divisor."""
    node.require_type(0, "float32")
    (x, y), ordered = node.alike(0, 1)
    rest = x.emit("rem", y)
    is_other = rest.compare("ne", 0).emit("and", (y < 0).compare("ne", rest < 0))
    return ordered(is_other.choose(rest + y, rest))


# --- real numbers and integers ----------------------------------------------------------------------------------------


def _quotient(node: Node) -> np.float64:
    """The scale of input 0 over that of the result."""
    (scale, _), (to, _) = node.input_quantization(0), node.quantization(node.results[0])
    return np.float64(scale) / np.float64(to)


def _less(node: Node, x: Array) -> Array:
    """The difference of integers of input 0 from their zero point."""
    return x - node.input_quantization(0)[1]


def _placed(node: Node, x: Array) -> Array:
    """The bytes of the result for integers above its zero point."""
    return (x + node.quantization(node.results[0])[1]).clip(-128, 127)


def _bounded(node: Node, x: Tensor) -> Tensor:
    """The result for integers above its zero point, i32."""
    least, greatest = integer_range(node.to)
    return (x + node.quantization(node.results[0])[1]).at_least(least).at_most(greatest).cast(node.to)


@tflite_op("ABS")
def absolute(node: Node) -> Tensor | First:
    """Integers are rescaled unless both scales are the same."""
    node.require_type(0, "float32", "int8", "int16", "int32")

    def table(x: Array) -> Array:
        size, ratio = np.abs(_less(node, x)), _quotient(node)
        return _placed(node, size if ratio == 1 else Multiplier.of(ratio)(size))

    def wide(x: Tensor) -> Tensor:
        size, ratio = node.integers(x, node.input_quantization(0)[1]).emit("abs"), _quotient(node)
        return _bounded(node, size if ratio == 1 else node.rescaled(size, Multiplier.of(ratio)))

    return function(node, lambda x: x.emit("abs"), table, wide)


@tflite_op("ELU")
def elu(node: Node) -> Tensor | First:
    """Of bytes: as f32, the middle between two integers away from zero."""
    node.require_type(0, "float32", "int8")

    def real(x: Tensor) -> Tensor:
        return (x < 0).choose(x.emit("exp") - 1, x)

    def table(x: Array) -> Array:
        (scale, _), (to, _) = node.input_quantization(0), node.quantization(node.results[0])
        of = scale * _less(node, x).astype(np.float32)
        found = np.where(of < 0, np.exp(of) - np.float32(1), of) * (np.float32(1) / to)
        return _placed(node, (np.sign(found) * np.floor(np.abs(found) + np.float32(0.5))).astype(np.int64))

    return function(node, real, table)


@tflite_op("LEAKY_RELU")
def leaky_relu(node: Node) -> Tensor | First:
    """One factor above 0, one below."""
    node.require_type(0, "float32", "int8", "int16")
    alpha = np.float32(node.real_option("Alpha"))

    def real(x: Tensor) -> Tensor:
        return (x > 0).choose(x, x * float(alpha))

    def factors() -> tuple[Multiplier, Multiplier]:
        (scale, _), (to, _) = node.input_quantization(0), node.quantization(node.results[0])
        below = np.float64(scale) * np.float64(alpha) / np.float64(to)  # in this order
        return Multiplier.of(_quotient(node)), Multiplier.of(abs(below))

    def table(x: Array) -> Array:
        of, (above, below) = _less(node, x), factors()
        return _placed(node, np.where(of >= 0, above(of), int(np.sign(alpha)) * below(of)))

    def wide(x: Tensor) -> Tensor:
        of, (above, below) = node.integers(x, node.input_quantization(0)[1]), factors()
        return _bounded(
            node, (of >= 0).choose(node.rescaled(of, above), node.rescaled(of, below) * int(np.sign(alpha)))
        )

    return function(node, real, table, wide)


@tflite_op("PRELU")
def prelu(node: Node) -> Tensor | First:
    """As a leaky ReLU whose factors below 0 are a tensor."""
    node.require_type(0, "float32", "int8", "int16")
    (x, alpha), ordered = node.alike(0, 1)
    if not node.is_quantized:
        return ordered((x >= 0).choose(x, x * alpha))
    node.require_type(1, "int8")
    (_, point), (factor, zero) = node.input_quantization(0), node.input_quantization(1)
    (scale, _), (to, _) = node.input_quantization(0), node.quantization(node.results[0])
    of = node.integers(x, point)
    below = Multiplier.of(np.float64(scale) * np.float64(factor) / np.float64(to))
    above = node.requantized(of, Multiplier.of(_quotient(node)))
    return ordered((of >= 0).choose(above, node.requantized(of * node.integers(alpha, zero), below)))


@tflite_op("HARD_SWISH")
def hard_swish(node: Node) -> Tensor | First:
    """Of bytes in 16 bits: the number 128 times as fine, times the factor of the result, and the same as a
    fraction of 3, saturating, moved to 0 to 1; their product is cut off towards 0."""
    node.require_type(0, "float32", "int8")

    def real(x: Tensor) -> Tensor:
        return x * (x + 3).at_least(0).at_most(6) / 6

    def table(x: Array) -> Array:
        (scale, _), fine = node.input_quantization(0), _less(node, x) << 7
        own = np.float64(scale) / 128
        by, share = Multiplier.of(_quotient(node) / 128), Multiplier.of(own / (3 / 32768))
        up, down = int(share.exponents), int(by.exponents)
        part = (fine << up - 1).clip(-32768, 32767) if up > 0 else fine
        part = _product_of_halves(part, share)
        part = (part << 1).clip(-32768, 32767) if up > 0 else divided(part, -up)
        product = (part + (1 << 15) >> 1) * _product_of_halves(fine, by)
        return _placed(node, divided(np.sign(product) * (np.abs(product) >> 15), -down))

    return function(node, real, table)


def _product_of_halves(x: Array, by: Multiplier) -> Array:
    """Numbers of 16 bits times factors in 15 bits, without their exponents; the middle up."""
    factor = 32767 if by.factors >= 2**31 - 1 - (1 << 15) else by.factors + (1 << 15) >> 16
    return np.minimum(x * factor + (1 << 14) >> 15, 32767)


@tflite_op("RSQRT")
def rsqrt(node: Node) -> Tensor | First:
    """Of bytes by Newton's method, with 20 bits of fraction; 0 becomes the greatest; what is below has no meaning."""
    node.require_type(0, "float32", "int8")

    def table(x: Array) -> Array:
        of, (scale, _), (to, _) = _less(node, x), node.input_quantization(0), node.quantization(node.results[0])
        root = arithmetic.inverse_root(of)
        last = Multiplier.of(1.0 / (np.sqrt(np.float64(scale)) * np.float64(to)))
        fine = Multiplier(root.factors, root.exponents + 20)(np.ones_like(of))
        found = Multiplier(last.factors, last.exponents - 20)(fine)
        return np.where(of == 0, 127, _placed(node, found))

    return function(node, lambda x: 1 / x.sqrt(), table)


@tflite_op("DIV")
def div(node: Node) -> Tensor | First:
    """Of integers: the dividend, shifted up as far as its sign allows, times the reciprocal of the divisor."""
    node.require_type(0, "float32", "int8", "int32")
    (x, y), ordered = node.alike(0, 1)
    if not node.is_quantized:
        return ordered(node.activated(x / y))
    node.require_type(1, "int8")
    (x_scale, x_point), (y_scale, y_point) = node.input_quantization(0), node.input_quantization(1)
    scale, point = node.quantization(node.results[0])
    numbers = np.arange(256).astype(np.int8).astype(np.int64)
    size = np.maximum(np.abs(numbers - y_point), 1)  # what is divided by 0 has no meaning
    zeros = 32 - np.frexp(size)[1].astype(np.int64)
    inverse = arithmetic.reciprocal_of_one_plus((size << zeros) - (1 << 31))
    is_less = y.cast(i32) < y_point
    above, room = (
        is_less.choose(*(_found(node, x, each) for each in tables))
        for tables in zip(_headroom(x_point - numbers), _headroom(numbers - x_point), strict=True)
    )
    by = Multiplier.of(np.float64(x_scale) / (np.float64(y_scale) * np.float64(scale)))
    product = fixed_point.doubling_product(above, _found(node, y, inverse))
    fine = fixed_point.doubling_product(product, int(by.factors))
    down = room + _found(node, y, 31 - zeros - int(by.exponents))
    # Beyond 31, where quotients are near 0, x86 shifts by the low 5 bits, and a mask of ones rounds up.
    inside = down.emit("and", down.scalar(31))
    is_up = fine > (fine < 0).cast(i64) - 1
    beyond = fixed_point.right(fine, inside) + is_up.cast(i64)
    found = (down > 31).choose(beyond, fixed_point.divided(fine, inside)) + point
    low, high = node.clamp()
    return ordered(found.at_least(low).at_most(high).cast(node.to))


def _headroom(x: Array) -> tuple[Array, Array]:
    """Numbers shifted up as far as their sign allows, and by how many bits."""
    room = 31 - np.frexp(np.where(x < 0, ~x, x))[1].astype(np.int64)
    return x << room, room


def _found(node: Node, x: Tensor, table: Array) -> Tensor:
    """The entries of bytes, as i64."""
    return x.emit("lookup", node.constant(table.astype(np.int32))).cast(i64)


@tflite_op("SQUARED_DIFFERENCE")
def squared_difference(node: Node) -> Tensor | First:
    """Of integers: both times 2^7, or as they are of 16 bits, are rescaled to twice the greater scale, and the square
    of their difference to that of the result."""
    node.require_type(0, "float32", "int8", "int16", "int32")
    (x, y), ordered = node.alike(0, 1)
    if not node.is_quantized:
        difference = x - y
        return ordered(difference * difference)
    scales = [np.float64(node.input_quantization(position)[0]) for position in (0, 1)]
    scale, _ = node.quantization(node.results[0])
    twice, terms, up = 2 * max(scales), list[Tensor](), _UP[x.dtype.itemsize]
    for position, each in enumerate((x, y)):
        node.require_type(position, str(x.dtype))
        _, point = node.input_quantization(position)
        by = Multiplier.of(scales[position] / twice)
        terms.append(node.rescaled(node.integers(each, point) * (1 << up), by))
    difference = terms[0] - terms[1]
    last = twice * twice / np.float64(np.float32(1 << 2 * up) * scale)
    return ordered(node.requantized(difference * difference, Multiplier.of(last)))


_UP = {1: 7, 2: 0}
"""By how many bits terms of differences are shifted up before they are rescaled, by their bytes."""
