"""Kernels as nests write them, run operation by operation in numpy: no address outside of a buffer is touched.

A tile is an array, and so is a scalar, of no axes. What a nest is tested for is where elements come from and go to, and
how often; reductions and multiply-adds are rounded as numpy does it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from kernels.evaluated import Array, computed, type_of
from xdsl.dialects import math as math_ops
from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Block, Operation, SSAValue

from aotc.dialects import aot
from aotc.dialects.aot.tiles import tile_shape

_MATH: dict[str, Callable[..., Any]] = {
    "math.exp": np.exp,
    "math.log": np.log,
    "math.sqrt": np.sqrt,
    "math.copysign": np.copysign,
}
_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.sum,
    "mul": np.prod,
    "max": np.max,
    "min": np.min,
    "ogt": np.nanmax,
}


class Run:
    """The values of a kernel, and of its buffers, while it runs."""

    def __init__(self, buffers: Mapping[SSAValue, Array]) -> None:
        self._values: dict[SSAValue, Array] = dict(buffers)
        self.stores = {buffer: np.zeros(array.shape, np.int64) for buffer, array in buffers.items()}
        """How often each element of a buffer was stored."""

    def block(self, block: Block, *given: Array) -> list[Array]:
        """Run a block with these arguments; what it yields."""
        self._values.update(zip(block.args, given, strict=False))
        found: list[Array] = []
        with np.errstate(all="ignore"):
            for op in block.ops:
                found = self._operation(op)
        return found

    def _of(self, values: Sequence[SSAValue]) -> list[Array]:
        return [self._values[value] for value in values]

    def _operation(self, op: Operation) -> list[Array]:
        results = self._results(op)
        if isinstance(op, scf.YieldOp | scf.ReduceOp):
            return results
        for value, result in zip(op.results, results, strict=True):
            kind = value.type.element_type if isinstance(value.type, VectorType) else value.type
            array = np.asarray(result)
            assert array.dtype == type_of(kind), f"{op.name}: {array.dtype} for {kind}"
            assert array.shape == tile_shape(value), f"{op.name}: {array.shape} for {value.type}"
            self._values[value] = array
        return []

    def _results(self, op: Operation) -> Sequence[Any]:
        match op:
            case scf.YieldOp():
                return self._of(op.operands)
            case scf.ReduceOp() | aot.PrefetchOp():
                return []
            case scf.ForOp():
                low, high, step = (int(each) for each in self._of([op.lb, op.ub, op.step]))
                carried = self._of(op.iter_args)
                for position in range(low, high, step):
                    carried = self.block(op.body.block, np.asarray(position), *carried)
                return carried
            case scf.ParallelOp():
                bounds = [self._of(each) for each in (op.lowerBound, op.upperBound, op.step)]
                ranges = [range(*map(int, each)) for each in zip(*bounds, strict=True)]
                for place in itertools.product(*ranges):
                    self.block(op.body.block, *map(np.asarray, place))
                return []
            case scf.IfOp():
                taken = op.true_region if self._values[op.cond] else op.false_region
                return self.block(taken.block) if taken.blocks else []
            case memref.LoadOp() | aot.TileLoadOp():
                return [self._load(op)]
            case memref.StoreOp() | aot.TileStoreOp():
                self._store(op)
                return []
            case _:
                return [self._computed(op, self._of(op.operands))]

    def _computed(self, op: Operation, operands: list[Array]) -> Any:
        match op:
            case vector.BroadcastOp():
                return np.broadcast_to(operands[0], tile_shape(op.results[0]))
            case math_ops.FmaOp():
                x, y, z = operands
                return (x.astype(np.float64) * y + z).astype(z.dtype)
            case aot.OpaqueOp():
                return operands[0]
            case aot.TileSliceOp():
                return operands[0][_part(op.offsets.get_values(), tile_shape(op.result))]
            case aot.TileInsertOp():
                whole = operands[1].copy()
                whole[_part(op.offsets.get_values(), operands[0].shape)] = operands[0]
                return whole
            case aot.TileShuffleOp():
                return np.concatenate(operands, -1)[..., list(op.lanes.get_values())]
            case aot.TileTransposeOp():
                lanes = operands[0].shape[-1]
                return operands[0].reshape(lanes, lanes).T.reshape(operands[0].shape)
            case aot.TileReduceOp():
                return _REDUCTIONS[op.kind.data](operands[0]).astype(operands[0].dtype)
            case _ if op.name in _MATH:
                return _MATH[op.name](*operands)
            case _:
                return computed(op, operands)

    # Memory

    def _load(self, op: memref.LoadOp | aot.TileLoadOp) -> Array:
        buffer, indices = (op.memref, op.indices) if isinstance(op, memref.LoadOp) else (op.buffer, op.indices)
        memory = self._values[buffer].reshape(-1)
        places, present = self._places(op, buffer, indices)
        return np.where(present, memory[np.where(present, places, 0)], np.zeros((), memory.dtype))

    def _store(self, op: memref.StoreOp | aot.TileStoreOp) -> None:
        is_one = isinstance(op, memref.StoreOp)
        buffer, value = (op.memref, op.value) if is_one else (op.buffer, op.tile)
        places, present = self._places(op, buffer, op.indices)
        places, values = places[present], np.broadcast_to(self._values[value], places.shape)[present]
        self._values[buffer].reshape(-1)[places] = values
        np.add.at(self.stores[buffer].reshape(-1), places, 1)

    def _places(self, op: Operation, buffer: SSAValue, indices: Sequence[SSAValue]) -> tuple[Array, Array]:
        """The places of elements in a buffer, and which of them there are: all of these are in the buffer."""
        assert isinstance(buffer.type, MemRefType)
        shape, base = buffer.type.get_shape(), 0
        for extent, index in zip(shape, self._of(indices), strict=True):
            base = base * extent + int(index)
        places, present = np.asarray(base), np.asarray(True)
        if isinstance(op, aot.TileLoadOp | aot.TileStoreOp):
            tile = tile_shape(op.result if isinstance(op, aot.TileLoadOp) else op.tile)
            at = np.indices(tile)
            strides = op.element_strides()
            places = base + (op.offset or 0) + sum(at[axis] * stride for axis, stride in enumerate(strides))
            number = at[-1] if len(tile) == 1 else at[-2] * tile[-1] + at[-1]
            if isinstance(op, aot.TileLoadOp) and op.repeated() > 1:
                number = at[-1] % op.repeated()
                places = places + number
            present = np.ones(tile, np.bool_) if (count := op.count()) is None else number < count
        inside = (places >= 0) & (places < math.prod(shape))
        assert (inside | ~present).all(), f"{op.name} touches what is outside of {buffer.type}"
        return places, present


def _part(offsets: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(low, low + extent) for low, extent in zip(offsets, shape, strict=False))
