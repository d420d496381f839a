"""One function on its way to LLVM: its values, its early exits, the attributes of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from aotc.dialects import aot
from aotc.dialects.aot.contract import BRANCHES, arguments_of, is_kernel
from aotc.dialects.operations import take_name
from aotc.dialects.properties import integer
from aotc.errors import CompileError
from aotc.passes.lower.llvm_builder import UNIT, LLVMBuilder
from aotc.passes.lower.module import ModuleLowering

Lowering: TypeAlias = "Callable[[FunctionLowering, Any], None]"
"""Emits the llvm operations of one operation and maps its results."""
Lowerings: TypeAlias = Mapping[type[Operation], Lowering]

_HIDDEN = 1
"""LLVM's number for a symbol that no other library sees."""


class FunctionLowering:
    """One function, in one walk.

    `known` holds the indices that are constant, `bases` the base addresses of vectors by block.
    """

    def __init__(self, module: ModuleLowering, function: func.FuncOp, lowerings: Lowerings) -> None:
        self.module = module
        self.types = module.types
        self.known: dict[SSAValue, int] = {}
        self.bases: dict[tuple[Block, SSAValue, tuple[SSAValue, ...]], SSAValue] = {}
        self._function = function
        self._lowerings = lowerings
        self._values: dict[SSAValue, SSAValue] = {}
        self._exit: Block | None = None
        inputs = function.function_type.inputs.data
        entry = Block(arg_types=[self.types.value(each) for each in inputs])
        self.b = LLVMBuilder(entry)

    def get(self, value: SSAValue) -> SSAValue:
        """The llvm value of a value."""
        return self._values[value]

    def set(self, value: SSAValue, to: SSAValue) -> None:
        """Map a value; its name goes along."""
        self._values[value] = to
        take_name(to, value)

    def set_all(self, values: Sequence[SSAValue], to: Sequence[SSAValue]) -> None:
        """Map several values."""
        for value, each in zip(values, to, strict=True):
            self.set(value, each)

    @property
    def _is_private(self) -> bool:
        visibility = self._function.sym_visibility
        return visibility is not None and visibility.data == "private"

    def declare(self) -> llvm.FuncOp:
        """The llvm.func without its body; where it has one, that is in another object of the same library."""
        visibility = _HIDDEN if self._function.body.blocks and self._is_private else 0
        return self._made({"no_unwind": UNIT}, None, "external", visibility=visibility)

    def lower(self, apart: bool = False) -> llvm.FuncOp:
        """The llvm.func; if it goes into an object `apart` from others of a library, these can call it."""
        function = self._function
        defined = bool(function.body.blocks)
        private = self._is_private
        hidden = apart and private and defined and is_kernel(function)
        properties: dict[str, Attribute | None] = {"no_unwind": UNIT}
        body = self._body() if defined else None
        if defined:
            properties = self.module.function_properties(vectors=bool(self.bases), small=BRANCHES.on(function))
            if is_kernel(function):  # not inlined: the stack then holds the frame of only one operator
                properties["no_inline"] = UNIT
        linkage = "internal" if private and defined and not hidden else "external"
        return self._made(properties, body, linkage, visibility=_HIDDEN if hidden else 0)

    def _made(
        self, properties: dict[str, Attribute | None], body: Region | None, linkage: str, *, visibility: int
    ) -> llvm.FuncOp:
        function = self._function
        outputs = function.function_type.outputs.data
        properties["arg_attrs"] = self._argument_attributes()
        lowered = llvm.FuncOp(
            function.sym_name.data,
            llvm.LLVMFunctionType(
                [self.types.value(each) for each in function.function_type.inputs],
                self.types.value(outputs[0]) if outputs else None,
            ),
            llvm.LinkageAttr(linkage),
            visibility=visibility,
            body=body,
            other_props=properties,
        )
        lowered.location = function.location
        return lowered

    def _body(self) -> Region:
        function = self._function
        if len(function.body.blocks) != 1:
            raise CompileError("no-form-in-llvm", f"{function.sym_name.data} has control flow that is not structured")
        self.set_all(function.args, self.b.entry.args)
        self.lower_block(function.body.block)
        if self._exit is not None:
            self.b.start(self._exit)
            self.b.ret(self._exit.args[0])
        return self.b.finish()

    def lower_block(self, block: Block) -> None:
        """Emit the operations of a block at the insertion point, up to its terminator's lowering."""
        for op in block.ops:
            if (lowering := self._lowerings.get(type(op))) is not None:
                lowering(self, op)

    def leave(self, condition: SSAValue, status: SSAValue, where: bool = True) -> None:
        """Return `status` where the condition is as said, else go on."""
        if self._exit is None:
            self._exit = Block(arg_types=[status.type])
            self._exit.name_hint = "leave"
            self._exit.args[0].name_hint = "status"
        following = Block()
        if where:
            self.b.branch_if(condition, self._exit, following, then_arguments=(status,))
        else:
            self.b.branch_if(condition, following, self._exit, otherwise_arguments=(status,))
        self.b.start(following)

    def _argument_attributes(self) -> ArrayAttr[DictionaryAttr]:
        collected: list[DictionaryAttr] = []
        kinds = self._function.function_type.inputs
        for position, (kind, given) in enumerate(zip(kinds, arguments_of(self._function), strict=True)):
            attributes: dict[str, Attribute] = {}
            if isinstance(kind, aot.PtrType):
                if given.noalias:
                    attributes["llvm.noalias"] = UNIT
                if given.readonly:
                    attributes["llvm.readonly"] = UNIT
                if given.align is not None:
                    attributes["llvm.align"] = integer(given.align)
                # what is dereferenceable is also loaded before the branch that it is behind
                known = self._function.body.blocks and not BRANCHES.on(self._function)
                if known and (size := self._buffer_size(self._function.args[position])):
                    attributes["llvm.dereferenceable"] = integer(size)
                attributes["llvm.noundef"] = UNIT
            collected.append(DictionaryAttr(attributes))
        return ArrayAttr(collected)

    def _buffer_size(self, argument: BlockArgument) -> int:
        """Bytes that are there behind a pointer argument, 0 where that is not known or it is tested for null."""
        size = 0
        for use in argument.uses:
            if isinstance(use.operation, aot.IsNullOp):
                return 0
            if isinstance(use.operation, aot.BufferOp):
                kind = use.operation.result.type
                if kind.has_static_shape():
                    size = max(size, kind.element_count() * self.types.size(kind.element_type))
        return size
