"""Arrays in and out of `graph.constant`, inline when small, in the WeightStore otherwise; and what folds to one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, DenseResourceAttr, ModuleOp, TensorType
from xdsl.ir import Block, Operation, OpResult, SSAValue

from aotc.dialects import vm
from aotc.dialects.aot import WeightOp
from aotc.dialects.dtypes import element_type, extended, is_subbyte_integer, numpy_dtype
from aotc.dialects.graph.interfaces import GraphOp, bytes_of, element_type_of, shape_of
from aotc.dialects.graph.structure import ConstantOp
from aotc.model.locations import node_names
from aotc.model.weight_store import Array, WeightStore


def constant_op(array: Array, hint: str, store: WeightStore) -> ConstantOp:
    """A constant of `array`'s shape and dtype; `hint` names it in the store."""
    array = extended(np.asarray(array, order="C"))
    kind = TensorType(element_type(array.dtype), array.shape)
    if array.size <= ConstantOp.INLINE_LIMIT:
        value = DenseIntOrFPElementsAttr(kind, BytesAttr(array.tobytes()))  # pyright: ignore[reportArgumentType]
        return ConstantOp(value)
    return ConstantOp(DenseResourceAttr.from_params(store.add(hint, array), kind))


def constant_array(op: ConstantOp, store: WeightStore) -> Array:
    """The value of a constant, read-only, with its own shape and dtype."""
    return op.inline_array() if op.key is None else store[op.key]


def weight_keys(module: ModuleOp) -> set[str]:
    """The keys of the arrays that are constants of a module, in any phase."""
    found: set[str] = set()
    for op in module.walk():
        if isinstance(op, ConstantOp) and op.key is not None:
            found.add(op.key)
        elif isinstance(op, WeightOp):
            found.add(op.key.data)
        elif isinstance(op, vm.ConstantOp) and isinstance(op.value, DenseResourceAttr):
            found.add(op.value.resource_handle.data)
    return found


def key_of(value: SSAValue) -> str | None:
    """The WeightStore key of a constant that is not inline."""
    return value.op.key if isinstance(value, OpResult) and isinstance(value.op, ConstantOp) else None


def known_array(value: SSAValue | Operation, store: WeightStore) -> Array | None:
    """The value of an SSA value that a `graph.constant` defines, else None."""
    owner = value.owner if isinstance(value, OpResult) else value
    return constant_array(owner, store) if isinstance(owner, ConstantOp) else None


LEAST_FOLDED = 1 << 9
"""Bytes of what is made of constants small enough to stand in the IR, whatever else is allowed: shapes, indices."""

MOST_WIDENED = 16
"""How many times as large as its operands what is on the way to packed weights may be, whatever else is allowed: 4 bits
become 32, and then blocks are padded."""


def computed_array(value: SSAValue, store: WeightStore) -> Array | None:
    """The value of what is a constant or computed from constants only, else None. Raises CompileError where the store
    allows no constant as large."""
    known: dict[SSAValue, Array] = {}
    waiting = [value]
    while waiting:  # each value once, however many ways lead to it, and no further than to one that is not constant
        at = waiting[-1]
        if at not in known:
            array, op = known_array(at, store), at.owner
            if array is None:
                if not isinstance(op, GraphOp) or not op.operands:
                    return None
                if missing := [operand for operand in op.operands if operand not in known]:
                    waiting.append(missing[0])
                    continue
                operands = [known[operand] for operand in op.operands]
                store.require_room(max(0, _size(op) - MOST_WIDENED * _bytes(operands)), *_place(op))
                if (results := op.evaluate(operands)) is None:
                    return None
                array = results[op.results.index(at)]
            known[at] = array
        waiting.pop()
    return known[value]


def _size(op: GraphOp) -> int:
    """Bytes of the results of `op`."""
    return sum(map(bytes_of, op.results))


def _bytes(arrays: Iterable[Array]) -> int:
    return sum(array.nbytes for array in arrays)


def _place(op: GraphOp) -> tuple[str, str]:
    """The nodes of an operation, and what it is."""
    return ", ".join(node_names(op.location)), op.name


def folded(op: GraphOp, store: WeightStore, node: str = "", op_type: str = "") -> list[Array] | None:
    """The results of `op` where its operands are constants, or where there is nothing to compute; else None.

    Folding must not make a model larger: dequantised weights stay as they are stored, widened where they are read. What
    packs weights for a kernel may, by what fills up its panels, and widens them as the kernel reads them. Raises
    CompileError, which names the node, where the store allows no more computed constants.
    """
    if op.results and all(0 in shape_of(result) for result in op.results):
        return [np.empty(shape_of(result), numpy_dtype(element_type_of(result))) for result in op.results]
    find = computed_array if op.ORDERS_WEIGHTS else known_array
    if not op.ORDERS_WEIGHTS and not all(isinstance(operand.owner, ConstantOp) for operand in op.operands):
        return None  # and none of them is read, which may not be there yet
    known = [array for operand in op.operands if (array := find(operand, store)) is not None]
    if not op.operands or len(known) < len(op.operands):
        return None
    distinct = dict(zip(op.operands, known, strict=True))  # what it has twice is there once
    size, given = _size(op), _bytes(distinct.values())
    is_small = all(array.size <= ConstantOp.INLINE_LIMIT for array in known) and (
        size <= max(store.most_folded, LEAST_FOLDED)
    )
    if size > given and not is_small and not op.ORDERS_WEIGHTS:
        return None
    if size > given and is_small:
        store.count_computed(size - given, *((node, op_type) if node else _place(op)))
    with np.errstate(all="ignore"):
        values = op.evaluate(known)
    return None if values is None else list(values)


LEAST_LATER = 1 << 16
"""Bytes of a packed constant that is worth to be computed beside other work."""


def packed_later(op: GraphOp, hint: str, store: WeightStore) -> Array | None:
    """The result of `op`, which packs a large weight, as an array whose contents the store makes later (`fill_later`).

    None where it is to be computed now: where it is small, its operands are no constants, the store does nothing later,
    or would compare the contents with those of another array.
    """
    if store.aside is None or not op.ORDERS_WEIGHTS or len(op.results) != 1 or _size(op) < LEAST_LATER:
        return None
    kind = element_type_of(op.results[0])
    shape, dtype = shape_of(op.results[0]), numpy_dtype(kind)
    if is_subbyte_integer(kind) or store.may_meet(hint, shape, dtype):
        return None
    constants = [value.owner for value in op.operands if isinstance(value.owner, ConstantOp)]
    if len(constants) < len(op.operands):
        return None
    if any(each.key is not None and store.is_missing(each.key) for each in constants):
        return None
    operands = [constant_array(each, store) for each in constants]
    alone = Block(arg_types=[value.type for value in op.operands])
    copy = type(op).create(
        operands=alone.args, result_types=op.result_types, properties=op.properties, attributes=op.attributes
    )

    def make() -> Array:
        with np.errstate(all="ignore"):
            results = copy.evaluate(operands)
        assert results is not None and (results[0].shape, results[0].dtype) == (shape, dtype), copy.name
        return results[0]

    empty = np.empty(shape, dtype)
    store.fill_later(empty, make)
    return empty
