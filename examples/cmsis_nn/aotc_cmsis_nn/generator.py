"""Kernels that CMSIS-NN computes instead of the compiler, and the C that calls them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.context import Context
from xdsl.ir import Operation, SSAValue

from aotc import Artifact
from aotc.dialects.constants import known_array
from aotc.dialects.dtypes import dtype_name
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.elementwise import AddOp
from aotc.dialects.graph.interfaces import element_type_of, producer, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.windows.pooling import MaxPoolOp, SumPoolOp, WindowOp
from aotc.machines.compilers import compiler_flags
from aotc.machines.targets import lookup
from aotc.model.codegens import Claim, ExternalKernel, Operand
from aotc.model.weight_store import WeightStore
from aotc_cmsis_nn.requantization import Requantization, requantization
from aotc_cmsis_nn.source import file_of

LAST = (0, 2, 3, 1)
"""From N, C, H, W to the order in which CMSIS-NN has activations, and from M, C, H, W that of weights."""
DEPTHWISE = (1, 2, 3, 0)
SAME_SCALE = 2.0**-20
"""How far the scale of a mean may be from 1 / count: pools of CMSIS-NN do not scale."""


class CmsisNN:
    """Claims int8 convolutions, depthwise ones, products with weights, mean and maximum pools on Cortex-M."""

    linkable = True

    def claim(self, op: Operation, target: str, ctx: Context) -> Claim | None:
        if not target.startswith("cortex-m"):
            return None
        store = WeightStore.of(ctx)
        if isinstance(op, MaxPoolOp):
            return _max_pool(op)
        if (found := requantization(op, store)) is None:
            return None
        maker = found.sums.owner
        if isinstance(maker, ConvOp):
            return _conv(maker, found, target)
        if isinstance(maker, SumPoolOp):
            return _mean_pool(maker, found)
        return _fully_connected(found, target, store)

    def generate(self, kernels: Sequence[ExternalKernel], name: str, target: str) -> Sequence[Artifact]:
        flags = ("-std=c99", *compiler_flags(lookup(target), "2"))
        content = file_of(kernels).encode()
        return [Artifact("cmsis-nn", "native", f"{name}_cmsis_nn.c", content, "flash", target, flags)]


def _is_int8(*values: SSAValue) -> bool:
    return all(dtype_name(element_type_of(value)) == "int8" for value in values)


def _conv(op: ConvOp, after: Requantization, target: str) -> Claim | None:
    channels, outputs = shape_of(op.x)[1], shape_of(op.weight)[0]
    depthwise = op.groups == channels and op.groups > 1
    numbers = after.per_channel(outputs, 1)
    if not _is_int8(op.x, op.weight) or len(shape_of(op.x)) != 4 or op.zero_points[1] or numbers is None:
        return None
    if op.groups != 1 and not depthwise:
        return None
    bias: SSAValue | np.ndarray = np.zeros(outputs, np.int32) if op.bias is None else op.bias
    kernel, dilations, pads = op.kernel(), op.ints("dilations"), op.ints("pads")
    settings = {
        "stride": op.ints("strides"),
        "padding": pads[:2],
        "dilation": dilations,
        "input_offset": -op.zero_points[0],
        "output_offset": after.zero_point,
        "clamp": (after.low, after.high),
    }
    plain = all(each == 1 for each in dilations)
    if depthwise:
        small = kernel == (3, 3) and max(pads[:2]) <= 1
        scratch = _depthwise_bytes(kernel, channels, target, small and plain)
    else:
        scratch = 0 if kernel == (1, 1) and not any(pads) and plain else _conv_bytes(kernel, channels, target)
    return Claim(
        "depthwise" if depthwise else "conv",
        [
            Operand(op.x, LAST),
            Operand(op.weight, DEPTHWISE if depthwise else LAST),
            *map(Operand, (bias, *numbers)),
        ],
        LAST,
        settings,
        scratch,
    )


def _has_mve(target: str) -> bool:
    return lookup(target).core.scalars.multiply == "mve"


def _conv_bytes(kernel: Sequence[int], channels: int, target: str) -> int:
    """Columns of the image as CMSIS-NN gathers them: two of int16, or with MVE four of int8 in whole registers."""
    column = math.prod(kernel) * channels
    return 4 * -(-column // 16) * 16 if _has_mve(target) else 4 * -(-column // 4) * 4


def _depthwise_bytes(kernel: Sequence[int], channels: int, target: str, small: bool) -> int:
    if _has_mve(target):
        return 4 * 124 * math.prod(kernel)
    return 0 if small else 2 * math.prod(kernel) * channels


def _fully_connected(after: Requantization, target: str, store: WeightStore) -> Claim | None:
    product, bias = producer(after.sums, MatMulOp), None
    if (add := producer(after.sums, AddOp)) is not None:
        for value, other in (tuple(add.operands), tuple(reversed(add.operands))):
            if (found := producer(value, MatMulOp)) is not None and (known := known_array(other, store)) is not None:
                product, bias = found, known
    if product is None or not _is_int8(*product.operands) or len(list(product.result.uses)) > 1:
        return None
    lhs, rhs = product.operands
    outputs = shape_of(product.result)[-1]
    numbers = after.per_channel(outputs, len(shape_of(product.result)) - 1)
    if len(shape_of(lhs)) != 2 or len(shape_of(rhs)) != 2 or product.transpose_lhs or numbers is None:
        return None
    if product.zero_points[1] or (bias is not None and bias.size not in (1, outputs)):
        return None
    many = after.multipliers.size > 1
    start = np.zeros(1, np.int32) if bias is None else bias.reshape(-1)
    settings = {
        "input_offset": -product.zero_points[0],
        "output_offset": after.zero_point,
        "clamp": (after.low, after.high),
        "per_channel": int(many),
    }
    return Claim(
        "fully_connected",
        [
            Operand(lhs),
            Operand(rhs, None if product.transpose_rhs else (1, 0)),
            Operand(np.ascontiguousarray(np.broadcast_to(start, (outputs,)))),
            *(Operand(each if many else each[:1]) for each in numbers),
        ],
        None,
        settings,
        4 * outputs if _has_mve(target) else 0,
    )


def _pool_settings(op: WindowOp, clamp: tuple[int, int]) -> dict[str, tuple[int, ...]]:
    return {"kernel": op.ints("kernel"), "stride": op.ints("strides"), "padding": op.ints("pads")[:2], "clamp": clamp}


def _fits_pool(op: WindowOp, x: SSAValue) -> bool:
    """Whether CMSIS-NN has such windows: on images, without holes, the last one within the padded image."""
    return op.rank == 2 and len(shape_of(x)) == 4 and set(op.ints("dilations")) == {1} and not op.ceil


def _max_pool(op: MaxPoolOp) -> Claim | None:
    if not _is_int8(op.x) or not _fits_pool(op, op.x):
        return None
    return Claim("max_pool", [Operand(op.x, LAST)], LAST, _pool_settings(op, (-128, 127)))


def _mean_pool(op: SumPoolOp, after: Requantization) -> Claim | None:
    count = math.prod(op.ints("kernel"))
    point = op.x_zero_point or 0
    same = after.multipliers.size == 1 and abs(float(after.scales.reshape(-1)[0]) * count - 1) < SAME_SCALE
    if not _is_int8(op.x) or not _fits_pool(op, op.x) or not same or point != after.zero_point:
        return None
    if any(op.ints("pads")):  # padding would count
        return None
    scratch = 4 * shape_of(op.x)[1]
    return Claim("mean_pool", [Operand(op.x, LAST)], LAST, _pool_settings(op, (after.low, after.high)), scratch)
