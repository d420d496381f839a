"""Executables of IR: functions of the vm dialect, their registers allocated, become bytecode."""

from __future__ import annotations

import warnings

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from aotc.dialects import vm
from aotc.dialects.constants import constant_array
from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.structure import ConstantOp as TensorConstantOp
from aotc.model.weight_store import WeightStore
from aotc.vm import ExecBuilder, Executable, Label, Place, ShapeTuple, UnusedInputWarning
from aotc.vm.instructions import Operand


def executable_of(module: ModuleOp, weights: WeightStore) -> Executable:
    """The functions of the vm dialect in a module as an executable. Raises VMError for what bytecode cannot hold."""
    builder = ExecBuilder()
    for function in module.walk():
        if isinstance(function, vm.FuncOp):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnusedInputWarning)  # a model's inputs are what they are
                with builder.function(function.sym_name.data, num_inputs=len(function.args)):
                    _Emitter(builder, weights).emit(function)
    return builder.get()


class _Emitter:
    """Emits one function, block by block in their order."""

    def __init__(self, builder: ExecBuilder, weights: WeightStore) -> None:
        self._builder = builder
        self._weights = weights
        self._labels: dict[Block, Label] = {}

    def emit(self, function: vm.FuncOp) -> None:
        blocks = list(function.body.blocks)
        self._labels = {block: self._builder.label() for block in blocks}
        for block, following in zip(blocks, [*blocks[1:], None], strict=True):
            self._builder.place(self._labels[block])
            for operation in vm.instructions(block):
                self._instruction(operation, following)

    def _instruction(self, operation: Operation, following: Block | None) -> None:
        build = self._builder
        match operation:
            case vm.CallOp():
                result = None if operation.result is None else self._operand(operation.result)
                build.emit_call(operation.callee.data, [self._operand(each) for each in operation.arguments], result)
            case vm.ReturnOp():
                build.emit_ret(self._operand(operation.value))
            case vm.GotoOp():
                self._goto(operation.target, following)
            case vm.IfOp():
                build.emit_if(self._operand(operation.condition), self._labels[operation.else_block])
                self._goto(operation.then_block, following)
            case _:
                raise AssertionError(f"{operation.name} in a function of the vm dialect")

    def _goto(self, target: Block, following: Block | None) -> None:
        if target is not following:
            self._builder.emit_goto(self._labels[target])

    def _operand(self, value: SSAValue) -> Operand:
        build = self._builder
        match value.owner:
            case vm.ImmediateOp(value=number):
                return build.imm(number)
            case vm.StateOp():
                return build.vm_state()
            case vm.ConstantOp(value=constant):
                return build.c(build.add_constant(self._constant(constant)))
            case vm.PlaceOp(offset=offset, kind=kind):
                shape = ShapeTuple(kind.get_shape())
                return build.c(build.add_constant(Place(offset, numpy_dtype(kind.element_type), shape)))
            case _:
                register = vm.register_of(value)
                assert register is not None, "allocate-registers has not run"
                return build.r(register)

    def _constant(self, value: Attribute) -> object:
        if isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr):
            kind = value.get_type()
            assert isinstance(kind, TensorType)
            array = constant_array(TensorConstantOp(value), self._weights)
            return array.view(numpy_dtype(kind.element_type)).reshape(kind.get_shape())
        return numpy_dtype(value)
