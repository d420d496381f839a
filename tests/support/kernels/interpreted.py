"""Kernels as nests write them, run operation by operation in numpy: no address outside of a buffer is touched.

A tile is an array, and so is a scalar, of no axes. What a nest is tested for is where elements come from and go to, and
how often; reductions and multiply-adds are rounded as numpy does it. An operation is looked at once, whatever the
number of times that it runs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from kernels.evaluated import Array, computation, type_of
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Block, Operation, SSAValue

from aotc.dialects import aot
from aotc.dialects.aot.tiles import tile_shape
from aotc.dialects.aot.words import WORD
from aotc.machines.instructions.evaluation import evaluate

Results: TypeAlias = Sequence[Any]
Step: TypeAlias = Callable[[], Results]

_MATH: dict[str, Callable[..., Any]] = {
    "math.exp": np.exp,
    "math.log": np.log,
    "math.sqrt": np.sqrt,
    "math.tanh": np.tanh,
    "math.copysign": np.copysign,
    "math.fma": lambda x, y, z: (x.astype(np.float64) * y + z).astype(z.dtype),
    "aot.opaque": lambda x: x,
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
        self._steps: dict[Block, list[Step]] = {}
        self.stores = {buffer: np.zeros(array.shape, np.int64) for buffer, array in buffers.items()}
        """How often each element of a buffer was stored."""
        self.prefetched: dict[SSAValue, list[int]] = {buffer: [] for buffer in buffers}
        """The places of elements that were prefetched."""

    def block(self, block: Block, *given: Array) -> Results:
        """Run a block with these arguments; what it yields."""
        self._values.update(zip(block.args, given, strict=False))
        if (steps := self._steps.get(block)) is None:
            steps = self._steps[block] = [self._step(op) for op in block.ops]
        found: Results = ()
        with np.errstate(all="ignore"):
            for step in steps:
                found = step()
        return found

    def _of(self, values: Sequence[SSAValue]) -> list[Array]:
        return [self._values[value] for value in values]

    def _step(self, op: Operation) -> Step:
        """The work of an operation each time that it runs; its results are looked at and kept."""
        results = self._results(op)
        if isinstance(op, scf.YieldOp | scf.ReduceOp | memref.AllocaOp) or not op.results:
            return results
        values, kinds = list(op.results), [_kind(value) for value in op.results]

        def step() -> Results:
            for value, (dtype, shape), result in zip(values, kinds, results(), strict=True):
                array = np.asarray(result)
                assert array.dtype == dtype, f"{op.name}: {array.dtype} for {value.type}"
                assert array.shape == shape, f"{op.name}: {array.shape} for {value.type}"
                self._values[value] = array
            return ()

        return step

    def _results(self, op: Operation) -> Step:
        match op:
            case scf.YieldOp():
                return lambda: self._of(op.operands)
            case scf.ReduceOp():
                return lambda: ()
            case aot.PrefetchOp():
                place, places = self._base(op.buffer, op.indices), self.prefetched[op.buffer]
                return lambda: places.append(place()) or ()
            case scf.ForOp():
                return lambda: self._loop(op)
            case scf.ParallelOp():
                return lambda: self._loops(op)
            case scf.IfOp():
                return lambda: self._branch(op)
            case memref.LoadOp() | aot.TileLoadOp():
                return self._load(op)
            case aot.WordLoadOp():
                return self._load_word(op)
            case memref.AllocaOp():
                return self._allocated(op)
            case memref.StoreOp() | aot.TileStoreOp():
                return self._store(op)
            case _:
                compute, operands = _computed(op), list(op.operands)
                return lambda: [compute(*self._of(operands))]

    def _loop(self, op: scf.ForOp) -> Results:
        low, high, step = (int(each) for each in self._of([op.lb, op.ub, op.step]))
        carried: Results = self._of(op.iter_args)
        for position in range(low, high, step):
            carried = self.block(op.body.block, np.asarray(position), *carried)
        return carried

    def _loops(self, op: scf.ParallelOp) -> Results:
        bounds = [self._of(each) for each in (op.lowerBound, op.upperBound, op.step)]
        ranges = [range(*map(int, each)) for each in zip(*bounds, strict=True)]
        for place in itertools.product(*ranges):
            self.block(op.body.block, *map(np.asarray, place))
        return ()

    def _branch(self, op: scf.IfOp) -> Results:
        taken = op.true_region if self._values[op.cond] else op.false_region
        return self.block(taken.block) if taken.blocks else ()

    # Memory

    def _load(self, op: memref.LoadOp | aot.TileLoadOp) -> Step:
        buffer = op.memref if isinstance(op, memref.LoadOp) else op.buffer
        (offsets, present), begin = _places(op), self._begin(op, buffer)
        some = offsets[present]
        memory = self._values[buffer].reshape(-1)

        def load() -> Results:
            start = begin()
            if present.all():
                return [memory[start + offsets]]
            found = np.zeros(offsets.shape, memory.dtype)
            found[present] = memory[start + some]
            return [found]

        return load

    def _load_word(self, op: aot.WordLoadOp) -> Step:
        memory, base = self._values[op.buffer].reshape(-1), self._base(op.buffer, op.indices)

        def load() -> Results:
            place = base()
            assert place >= 0 and place + WORD <= memory.size, "a word is outside of its buffer"
            return [memory[place : place + WORD].view(np.int32)[0]]

        return load

    def _allocated(self, op: memref.AllocaOp) -> Step:
        kind = op.memref.type
        array = np.zeros(kind.get_shape(), type_of(kind.element_type))
        self._values[op.memref], self.stores[op.memref] = array, np.zeros(array.shape, np.int64)
        return lambda: ()

    def _store(self, op: memref.StoreOp | aot.TileStoreOp) -> Step:
        is_one = isinstance(op, memref.StoreOp)
        buffer, value = (op.memref, op.value) if is_one else (op.buffer, op.tile)
        (offsets, present), begin = _places(op), self._begin(op, buffer)
        some = offsets[present]
        assert len(np.unique(some)) == some.size, f"{op.name} stores several elements in one place"
        memory, stores = self._values[buffer].reshape(-1), self.stores[buffer].reshape(-1)

        def store() -> Results:
            places = begin() + some
            memory[places] = np.broadcast_to(self._values[value], offsets.shape)[present]
            stores[places] += 1
            return ()

        return store

    def _begin(
        self, op: memref.LoadOp | memref.StoreOp | aot.TileLoadOp | aot.TileStoreOp, buffer: SSAValue
    ) -> Callable[[], int]:
        """The place in the buffer from which offsets count; all that there are lie in the buffer."""
        assert isinstance(buffer.type, MemRefType)
        (offsets, present), base = _places(op), self._base(buffer, op.indices)
        low, high = int(offsets[present].min(initial=0)), int(offsets[present].max(initial=0))
        size = math.prod(buffer.type.get_shape())

        def begin() -> int:
            place = base()
            assert place + low >= 0 and place + high < size, f"{op.name} touches what is outside of {buffer.type}"
            return place

        return begin

    def _base(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> Callable[[], int]:
        """The place of an index in a buffer."""
        assert isinstance(buffer.type, MemRefType)
        shape, values = buffer.type.get_shape(), list(indices)

        def base() -> int:
            place = 0
            for extent, index in zip(shape, self._of(values), strict=True):
                place = place * extent + int(index)
            return place

        return base


def _kind(value: SSAValue) -> tuple[np.dtype[Any], tuple[int, ...]]:
    kind = value.type.element_type if isinstance(value.type, VectorType) else value.type
    return type_of(kind), tile_shape(value)


def _places(op: Operation) -> tuple[Array, Array]:
    """Where elements of a tile are, from its first one on, and which of them there are."""
    if not isinstance(op, aot.TileLoadOp | aot.TileStoreOp):
        return np.asarray(0), np.asarray(True)
    tile = tile_shape(op.result if isinstance(op, aot.TileLoadOp) else op.tile)
    at = np.indices(tile)
    offsets = np.full(tile, op.displacement())
    for axis, stride in enumerate(op.element_strides()):
        offsets += at[axis] * stride
    number = at[-1] if len(tile) == 1 else at[-2] * tile[-1] + at[-1]
    if isinstance(op, aot.TileLoadOp) and op.repeated() > 1:
        number = at[-1] % op.repeated()
        offsets += number
    return offsets, np.ones(tile, np.bool_) if (count := op.count()) is None else number < count


def _computed(op: Operation) -> Callable[..., Any]:
    """The result of an operation for its operands."""
    match op:
        case aot.TileSliceOp():
            part = _part(op.offsets.get_values(), tile_shape(op.result))
            return lambda tile: tile[part]
        case aot.TileInsertOp():
            part = _part(op.offsets.get_values(), tile_shape(op.part))
            return lambda some, tile: _replaced(some, tile, part)
        case aot.TileShuffleOp():
            lanes = list(op.lanes.get_values())
            assert all(0 <= lane < 2 * tile_shape(op.a)[-1] for lane in lanes), (
                f"{lanes} are not lanes of two registers"
            )
            return lambda a, b: np.concatenate([a, b], -1)[..., lanes]
        case aot.TileTransposeOp():
            return lambda tile: tile.reshape(-1, tile.shape[-1]).T.reshape(tile.shape)
        case aot.TileDotOp():
            return lambda x, weight, sums: _dot(x, weight, sums, op.unsigned, complement=op.complement)
        case aot.TileDotPairOp():
            return lambda *factors: _dot_pair(op, *factors)
        case aot.InstructionOp():
            dtype, shape = _kind(op.result)
            return lambda *words: evaluate(op.row, list(map(np.atleast_1d, words))).view(dtype).reshape(shape)
        case aot.QuadOp():
            return lambda *lanes: np.stack(lanes)
        case aot.TileReduceOp():
            return lambda tile: _REDUCTIONS[op.kind.data](tile).astype(tile.dtype)
        case _ if op.name == "vector.broadcast":
            shape = tile_shape(op.results[0])
            return lambda value: np.broadcast_to(value, shape)
        case _ if op.name == "vector.bitcast":
            dtype, _ = _kind(op.results[0])
            return lambda tile: np.ascontiguousarray(tile).view(dtype)
        case _ if op.name in _MATH:
            return _MATH[op.name]
        case _:
            return computation(op)


def _replaced(part: Array, tile: Array, place: tuple[slice, ...]) -> Array:
    whole = tile.copy()
    whole[place] = part
    return whole


def _part(offsets: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(low, low + extent) for low, extent in zip(offsets, shape, strict=False))


def _dot_pair(op: aot.TileDotPairOp, x: Array, weight: Array, y: Array, other: Array, sums: Array) -> Array:
    unsigned = (op.lhs_unsigned, False)
    sums = _dot(x, weight, sums, unsigned, complement=op.complement)
    return _dot(y, other, sums, unsigned, complement=op.complement)


def _dot(x: Array, weight: Array, sums: Array, unsigned: Sequence[bool], *, complement: bool) -> Array:
    """As `aot.tile_dot` says."""
    x, weight = (
        (each.view(f"u{each.itemsize}") if no_sign else each).astype(np.int64)
        for each, no_sign in zip((x, weight), unsigned, strict=True)
    )
    if complement:
        x = x - 128 if unsigned[0] else x
        x, weight = np.where(weight < 0, -1 - x, x), np.abs(weight)
    return (sums + (x * weight).reshape(*sums.shape, -1).sum(axis=-1)).astype(np.int32)
