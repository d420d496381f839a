"""Variables: what a model keeps from one call to the next.

Each becomes an argument of the entry, and what was last written to it a result, which is the argument at the next call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, BlockArgument, SSAValue

from aotc.dialects.aot.contract import Argument
from aotc.dialects.constants import constant_op
from aotc.dialects.dtypes import element_type, extended
from aotc.frontend.emitter import name_value
from aotc.frontend.tflite.file import Tensor
from aotc.model.naming import distinct_names
from aotc.model.weight_store import Array, WeightStore

Key: TypeAlias = "str | tuple[int, str]"
"""Of a variable: its name, or of one that an operator keeps by itself, or in a tensor, the `id` of a tensor and what is
kept."""


@dataclass(eq=False)
class _Variable:
    """A variable during import."""

    name: str
    tensor: Tensor | None = None
    """As it is read."""
    argument: BlockArgument | None = None
    """Its value before the call; None where nothing asked for that."""
    value: SSAValue | None = None
    """The value last read or written."""
    initial: Array | None = None
    """Its value before the first call; None for zeros."""


@dataclass(eq=False)
class States:
    """The variables of a model: by name, or by the tensor or operator that has one of its own."""

    block: Block
    """Of the entry."""
    variables: dict[Key, _Variable] = field(default_factory=dict[Key, _Variable])

    def read(self, key: Key, tensor: Tensor, initial: Array | None = None) -> SSAValue:
        """The value of a variable, which is like `tensor`; `initial` is the first one where no other is known."""
        found = self._variable(key, tensor.name)
        if found.value is None:
            kind = TensorType(element_type(tensor.dtype), tensor.shape)
            found.value = found.argument = self.block.insert_arg(kind, len(self.block.args))
            name_value(found.argument, found.name)
            found.tensor, found.initial = tensor, initial if found.initial is None else found.initial
        return found.value

    def write(self, key: Key, value: SSAValue) -> None:
        """Give a variable another value."""
        self._variable(key).value = value

    def begin(self, key: Key, value: Array) -> bool:
        """Give a variable its first value; whether nothing has read or written it before."""
        found = self._variable(key)
        found.initial = value
        return found.value is None

    def _variable(self, key: Key, name: str = "") -> _Variable:
        return self.variables.setdefault(key, _Variable(key if isinstance(key, str) else name or "state"))

    def mismatched(self) -> list[str]:
        """The names of variables whose values have other types than they are read as."""
        every = self.variables.values()
        return [each.name for each in every if (kind := _kind(each)) is not None and _kinds(each) - {kind}]

    def finish(self, names: list[str], store: WeightStore) -> tuple[list[Argument], list[SSAValue], list[Argument]]:
        """Additions to the entry, whose inputs and outputs have these `names`: arguments; results, and what they are.

        One that is never written is a constant.
        """
        kept: list[_Variable] = []
        for each in self.variables.values():
            if each.argument is None or each.tensor is None:
                continue
            if each.value is not each.argument:
                kept.append(each)
                continue
            array = np.zeros(each.tensor.shape, each.tensor.dtype) if each.initial is None else each.initial
            op = constant_op(array, each.name, store)
            first = self.block.first_op
            assert first is not None
            self.block.insert_op_before(op, first)
            each.argument.replace_all_uses_with(op.result)
            self.block.erase_arg(each.argument)
        own = [each.name for each in kept]
        called = distinct_names([*names, *own, *(f"{name}_next" for name in own)])[len(names) :]
        arguments: list[Argument] = []
        results: list[Argument] = []
        values: list[SSAValue] = []
        for place, each in enumerate(kept):
            assert each.tensor is not None and each.argument is not None and each.value is not None
            given = Argument(name=called[place], dtype=each.tensor.dtype)
            if each.initial is not None and each.initial.any():
                given.initial = store.add(f"state_{called[place]}", extended(each.initial.reshape(-1)))
            following = Argument(name=called[len(kept) + place], dtype=each.tensor.dtype)
            following.state_of = self.block.args.index(each.argument)
            arguments.append(given)
            results.append(following)
            values.append(each.value)
        return arguments, values, results


def _kind(each: _Variable) -> object:
    return None if each.argument is None else each.argument.type


def _kinds(each: _Variable) -> set[object]:
    kinds: set[object] = set() if each.value is None else {each.value.type}
    if each.initial is not None and each.tensor is not None:
        dtype = element_type(each.initial.dtype.name)
        kinds.add(TensorType(dtype, each.initial.shape))
    return kinds
