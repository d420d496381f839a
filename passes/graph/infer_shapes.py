"""Give every graph operation the result types that its operands and attributes imply, from the arguments down.

Before:
```mlir
func.func @main(%x: tensor<2x8xf32>) -> tensor<1x8xf32> attributes {aot.entry} {
  %0 = graph.relu %x : (tensor<2x8xf32>) -> tensor<1x8xf32>
  func.return %0 : tensor<1x8xf32>
}
```
After:
```mlir
func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> attributes {aot.entry} {
  %0 = graph.relu %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  func.return %0 : tensor<2x8xf32>
}
```
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass

from aotc.dialects.aot.contract import functions
from aotc.dialects.graph.compound.control_flow import ControlOp
from aotc.dialects.graph.interfaces import GraphOp, ShapeError
from aotc.dialects.graph.structure import FusedOp
from aotc.errors import CompileError, Problem
from aotc.model.locations import node_names


class InferShapesPass(ModulePass):
    name = "infer-shapes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        problems: list[Problem] = []
        for function in [each for each in functions(op) if not each.is_declaration]:
            _infer(function.body.block, problems)
            function.update_function_type()
        if problems:
            raise CompileError(problems)


def _infer(block: Block, problems: list[Problem]) -> None:
    for op in block.ops:
        if isinstance(op, ControlOp):
            _infer_regions(op, problems)
        if isinstance(op, GraphOp):
            try:
                op.refine()
            except ShapeError as error:
                problems.append(
                    Problem("invalid-shape", str(error), node=", ".join(node_names(op.location)), op_type=op.name)
                )
        elif isinstance(op, FusedOp):
            for arg, value in zip(op.block.args, op.inputs, strict=True):
                _retype(arg, value.type)
            _infer(op.block, problems)
            for result, value in zip(op.outputs, op.yield_op.values, strict=True):
                _retype(result, value.type)


def _infer_regions(op: ControlOp, problems: list[Problem]) -> None:
    """The regions, whose arguments get their types from the operands; `refine` says where these do not fit."""
    try:
        kinds = op.argument_types()
    except ShapeError:
        return
    for block in op.blocks:
        for argument, kind in zip(block.args, kinds, strict=False):
            _retype(argument, kind)
        _infer(block, problems)


def _retype(value: SSAValue, kind: Attribute) -> None:
    value._type = kind  # pyright: ignore[reportPrivateUsage]
