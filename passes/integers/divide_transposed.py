"""Compute transposed convolutions of 8-bit integers as convolutions, of which there are dot products.

Positions of the result that are a stride apart see the same taps: for them it is a convolution with these taps, in
reverse (see `TransposedWindow`). All residues together are one convolution with as many output channels more, whose
results are put side by side; a residue with fewer taps than others has weights of 0. What requantises the sums does so
before they are moved.

Before:
```mlir
%1 = graph.conv_transpose %x, %w {strides = [2, 2], ..} : (.., tensor<8x6x2x2xi8>) -> tensor<1x6x8x8xi32>
%2 = graph.requantize %1, %m
```
After:
```mlir
%1 = graph.conv %x, %v {strides = [1, 1], accumulator = i32, ..} : (.., tensor<24x8x1x1xi8>) -> tensor<1x24x4x4xi32>
%3 = graph.requantize %1, %n
%4 = graph.reshape %3 : tensor<1x1x2x2x6x4x4xi8>
%5 = graph.transpose %4 : tensor<1x1x6x4x2x4x2xi8>
%2 = graph.reshape %5 : tensor<1x6x8x8xi8>
```
"""

import math

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i8, i64
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot.contract import target_of
from aotc.dialects.constants import constant_op, key_of, known_array
from aotc.dialects.graph.accumulation import integer_sums
from aotc.dialects.graph.convolution import ConvOp, ConvTransposeOp
from aotc.dialects.graph.interfaces import Array, GraphOp, element_type_of, shape_of
from aotc.dialects.graph.movement import ReshapeOp, SliceOp, TransposeOp
from aotc.dialects.graph.packed.integers.dot_products import GROUP
from aotc.dialects.graph.quantized.bytes import UI8
from aotc.dialects.graph.quantized.requantization import RequantizeOp
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.sliding import TransposedWindow
from aotc.machines.targets import machine_of
from aotc.model.weight_store import WeightStore


class DivideTransposedPass(ModulePass):
    name = "divide-transposed"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if machine_of(target_of(op)) is None:
            return
        store = WeightStore.of(ctx)
        for each in integer_sums(op):
            if isinstance(each, ConvTransposeOp) and _may_divide(each, store):
                _Division(each, store).replace()


def _may_divide(op: ConvTransposeOp, store: WeightStore) -> bool:
    """Whether the operand is of bytes, what it is multiplied with and added to constant, and the residues are alike: as
    many products as a dot product has at once may be there for one."""
    if element_type_of(op.x) not in (i8, UI8):
        return False
    if any(known_array(value, store) is None for value in op.operands[1:]):
        return False
    windows = op.windows()
    work = math.prod(_taps(each) * each.stride for each in windows)
    return all(each.dilation == 1 for each in windows) and work <= GROUP * math.prod(op.kernel())


def _taps(window: TransposedWindow) -> int:
    """Of the residue that has most."""
    return ceil_div(window.size, window.stride)


class _Division:
    """One transposed convolution on its way."""

    def __init__(self, op: ConvTransposeOp, store: WeightStore) -> None:
        self._op = op
        self._store = store
        self._windows = op.windows()
        self._strides = [each.stride for each in self._windows]
        self._outputs = op.group_channels()[1]
        self._last: GraphOp = op
        """The operation whose result is replaced."""

    def replace(self) -> None:
        """Put the convolution, and what moves its results, in place."""
        sums = self._convolution()
        only = [use.operation for use in self._op.result.uses]
        if len(only) == 1 and isinstance(only[0], RequantizeOp):
            requantization = only[0]
            multiplier = known_array(requantization.multiplier, self._store)
            channels = self._op.groups * self._outputs if 1 in requantization.operand_axes(1) else 1
            if multiplier is not None and multiplier.size == channels:
                self._last = requantization
                sums = self._requantized(requantization, sums, multiplier)
        moved = self._side_by_side(sums)
        moved.name_hint = self._last.results[0].name_hint
        self._last.results[0].replace_all_uses_with(moved)
        for each in dict.fromkeys((self._last, self._op)):
            Rewriter.erase_op(each)

    def _convolution(self) -> SSAValue:
        """All residues: [N, groups * residues * outputs of a group, counts..]."""
        op, x = self._op, self._op.x
        before = [_taps(each) - 1 - _first(each) for each in self._windows]
        after = [_last(each) - (each.extent - 1) for each in self._windows]
        if min(*before, *after) < 0:  # elements that no position of the result sees
            starts = [max(0, -pad) for pad in before]
            ends = [each.extent - max(0, -pad) for each, pad in zip(self._windows, after, strict=True)]
            extents = [end - start for start, end in zip(starts, ends, strict=True)]
            x = self._add(
                SliceOp.get(
                    x,
                    starts=[0, 0, *starts],
                    steps=[1] * (len(starts) + 2),
                    shape=[*shape_of(x)[:2], *extents],
                )
            )
        names = {"strides", "pads", "dilations", "output_padding"}
        common = {name: value for name, value in op.properties.items() if name not in names}
        operands = [self._constant(self._weight(), op.weight)]
        if op.bias is not None:
            operands.append(self._constant(self._by_residue(self._known(op.bias)), op.bias))
        ones = [1] * len(self._windows)
        pads = [max(0, pad) for pad in (*before, *after)]
        return self._add(ConvOp.get(x, *operands, **common, strides=ones, dilations=ones, pads=pads))

    def _weight(self) -> Array:
        """[groups * residues * outputs, channels of a group, taps..], from [channels, outputs, kernel..]."""
        op, weight = self._op, self._known(self._op.weight)
        more = [(0, _taps(each) * each.stride - each.size) for each in self._windows]
        weight = np.pad(weight, [(0, 0), (0, 0), *more], constant_values=op.zero_points[1])
        split = [extent for each in self._windows for extent in (_taps(each), each.stride)]
        weight = weight.reshape([op.groups, -1, self._outputs, *split])
        group, channel, output, *others = range(weight.ndim)
        taps, residues = others[::2], others[1::2]
        weight = np.flip(weight, axis=tuple(taps)).transpose(group, *residues, output, channel, *taps)
        return np.ascontiguousarray(weight.reshape([-1, *weight.shape[len(residues) + 2 :]]))

    def _by_residue(self, channels: Array) -> Array:
        """The values of each output channel, for each residue."""
        by_group = channels.reshape(self._op.groups, 1, self._outputs)
        return np.repeat(by_group, math.prod(self._strides), axis=1).reshape(-1)

    def _requantized(self, op: RequantizeOp, sums: SSAValue, multiplier: Array) -> SSAValue:
        if multiplier.size == 1:
            factor = self._constant(multiplier.reshape(()), op.multiplier)
        else:
            factor = self._constant(self._by_residue(multiplier), op.multiplier)
        return self._add(RequantizeOp.get(sums, factor, **{**op.properties, "axis": IntegerAttr(1, i64)}))

    def _side_by_side(self, residues: SSAValue) -> SSAValue:
        """The residues as one tensor, without the positions that are cropped."""
        batches, _, *counts = shape_of(residues)
        rank, value = len(counts), residues
        channels = self._op.groups * self._outputs
        if math.prod(self._strides) > 1:
            split = [batches, self._op.groups, *self._strides, self._outputs, *counts]
            batch, group, *others = range(len(split))
            strides, output, places = others[:rank], others[rank], others[rank + 1 :]
            neighbours = [axis for both in zip(places, strides, strict=True) for axis in both]
            value = self._add(ReshapeOp.get(value, shape=split))
            value = self._add(TransposeOp.get(value, permutation=[batch, group, output, *neighbours]))
            extents = [count * stride for count, stride in zip(counts, self._strides, strict=True)]
            value = self._add(ReshapeOp.get(value, shape=[batches, channels, *extents]))
        starts = [0, 0, *(each.before - _first(each) * each.stride for each in self._windows)]
        shape = [batches, channels, *(each.positions for each in self._windows)]
        if tuple(shape) == shape_of(value):
            return value
        return self._add(SliceOp.get(value, starts=starts, steps=[1] * len(shape), shape=shape))

    def _known(self, value: SSAValue) -> Array:
        array = known_array(value, self._store)
        assert array is not None
        return array

    def _constant(self, array: Array, like: SSAValue) -> SSAValue:
        return self._add(constant_op(array, f"{key_of(like) or 'constant'}_residues", self._store))

    def _add(self, op: GraphOp) -> SSAValue:
        op.location = self._last.location
        Rewriter.insert_op(op, InsertPoint.before(self._last))
        return op.results[0]


def _first(window: TransposedWindow) -> int:
    """The first position of a residue, in strides from where an element begins to be seen."""
    return window.before // window.stride


def _last(window: TransposedWindow) -> int:
    return (window.positions - 1 + window.before) // window.stride
