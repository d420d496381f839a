"""The elements of a kernel's tensors as expressions over its operands, evaluated where a result is written."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias, cast

from xdsl.ir import Block, OpResult, SSAValue
from xdsl.utils.exceptions import PassFailedException

from aotc.dialects.builder import Reader, Scalar
from aotc.dialects.dtypes import compute_type, is_encoded
from aotc.dialects.graph.interfaces import AnchorOp, Array, ElementOp, element_type_of, shape_of
from aotc.dialects.graph.structure import ConstantOp
from aotc.passes.kernel.builders.encodings import constant
from aotc.passes.kernel.builders.loop_builder import LoopBuilder

IndexKey: TypeAlias = tuple[object, ...]
Destination: TypeAlias = tuple[SSAValue, SSAValue]
"""A tensor and the buffer it goes to."""
Permuted: TypeAlias = tuple[SSAValue, tuple[int, ...]]
"""A tensor, and for each axis of one that is this with its axes permuted that of the tensor."""


class Expressions:
    """Writes, with one builder, the value of a tensor at an index: what a reader gives, or the operation's element.

    `given` are readers, of what memory holds, of the tensors that the kernel `kernel` is given; `constants` are the
    values of the others. What goes to a buffer in `starts` begins there along each axis. A value that is needed again
    at the same index in the same block is written once.
    """

    def __init__(
        self,
        kernel: str,
        b: LoopBuilder,
        given: Mapping[SSAValue, Reader],
        constants: Callable[[ConstantOp], Array],
        starts: Mapping[SSAValue, Sequence[int]] | None = None,
    ) -> None:
        self._kernel = kernel
        self._b = b
        self._given = given
        self._constants = constants
        self._starts = starts or {}
        self._bound: dict[SSAValue, tuple[IndexKey, Scalar]] = {}
        self._cache: dict[tuple[SSAValue, Block, IndexKey, bool], Scalar] = {}

    def store(self, destinations: Sequence[Destination], index: Sequence[Scalar]) -> None:
        """Compute every tensor at `index`, then store them all: a buffer that is written may be one that was read."""
        values = [self.reader(value, encoded=True)(index) for value, _ in destinations]
        for value, (_, buffer) in zip(values, destinations, strict=True):
            self._b.store(value, buffer, self._placed(buffer, index))

    def store_epilogue(self, destinations: Sequence[Destination], index: Sequence[Scalar]) -> None:
        """Store what becomes of the anchor's result at `index`: elements of a permuted tensor go where they belong."""
        sources = [permuted(value) for value, _ in destinations]
        values = [self.reader(source, encoded=True)(index) for source, _ in sources]
        for value, (_, axes), (_, buffer) in zip(values, sources, destinations, strict=True):
            self._b.store(value, buffer, self._placed(buffer, [index[axis] for axis in axes]))

    def _placed(self, buffer: SSAValue, index: Sequence[Scalar]) -> Sequence[Scalar]:
        starts = self._starts.get(buffer)
        return index if starts is None else [i + start for i, start in zip(index, starts, strict=True)]

    @contextmanager
    def bound(self, result: SSAValue, index: Sequence[Scalar], value: Scalar) -> Generator[None]:
        """Within this context, the anchor's `result` is `value` at `index`."""
        self._bound[result] = (_key(index), self._b.encode(value, element_type_of(result)))
        yield
        del self._bound[result]

    def reader(self, value: SSAValue, encoded: bool = False) -> Reader:
        """A reader of `value`: gives the number, or, `encoded`, the element as memory holds it."""

        def read(index: Sequence[Scalar]) -> Scalar:
            assert len(index) == len(shape_of(value)), "an index has one entry per dimension"
            key = (value, self._b.block, _key(index), encoded)
            if (cached := self._cache.get(key)) is None:
                cached = (
                    self._value(value, index) if encoded else self._b.decode(self.reader(value, encoded=True)(index))
                )
                self._cache[key] = cached
            return cached

        return read

    def _value(self, value: SSAValue, index: Sequence[Scalar]) -> Scalar:
        if (read := self._given.get(value)) is not None:
            return read(index)
        op = cast(OpResult, value).op
        if isinstance(op, AnchorOp):
            return self._anchor_value(value, index)
        if isinstance(op, ConstantOp):
            return self._constant(op)
        assert isinstance(op, ElementOp)
        kind = element_type_of(value)
        result = op.element(self._b, index, [self.reader(operand, op.MOVES) for operand in op.operands])
        encoded = self._b.encode(result, kind)
        assert encoded.dtype == (kind if is_encoded(kind) else compute_type(kind)), f"{op.name} gave {result.dtype}"
        return encoded

    def _anchor_value(self, value: SSAValue, index: Sequence[Scalar]) -> Scalar:
        bound = self._bound.get(value)
        if bound is None:
            raise failure(self._kernel, "the anchor's result is read outside the epilogue of that result")
        key, scalar = bound
        for mine, theirs, extent in zip(_key(index), key, shape_of(value), strict=True):
            if extent != 1 and mine != theirs:
                raise failure(self._kernel, "an epilogue operation reads the anchor's result at another index")
        return scalar

    def _constant(self, op: ConstantOp) -> Scalar:
        array = self._constants(op)
        first = array.reshape(-1)[:1]
        if array.size == 0 or ((array != first).any() and not (array != array).all()):
            raise failure(self._kernel, "a constant of several values must be an argument of the kernel")
        return constant(self._b, first, element_type_of(op.result))


def epilogue_shape(value: SSAValue) -> tuple[int, ...]:
    """The shape of the anchor's result where `value` is computed as its epilogue."""
    return shape_of(permuted(value)[0])


def permuted(value: SSAValue) -> Permuted:
    """A tensor of which `value` is a permuted one, and of each axis of `value` that of the tensor."""
    if isinstance(value.owner, ElementOp) and (axes := value.owner.permuted_axes()) is not None:
        return value.owner.operands[0], tuple(axes)
    return value, tuple(range(len(shape_of(value))))


def failure(kernel: str, why: str) -> PassFailedException:
    """A kernel that breaks the rules of `outline-kernels`."""
    return PassFailedException(f"kernel @{kernel}: {why}")


def _key(index: Sequence[Scalar]) -> IndexKey:
    return tuple(i.key for i in index)
