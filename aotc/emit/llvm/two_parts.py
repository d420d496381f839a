"""A module in two: the entry with all that belongs to it, and the operators, for objects that are linked apart."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.func import FuncOp

from aotc.dialects.aot.contract import arguments_of, is_kernel, kernels, set_arguments
from aotc.pipeline.compilation import Compilation


def network_of(compilation: Compilation) -> Compilation:
    """All but the operators, which are declared only. They must be exported, as `--split` has them."""
    module = compilation.module.clone()
    for kernel in [each for each in kernels(module) if each.body.blocks]:
        given = arguments_of(kernel)
        signature = kernel.function_type
        declared = FuncOp.external(kernel.sym_name.data, list(signature.inputs), list(signature.outputs))
        declared.attributes |= kernel.attributes
        declared.location = kernel.location
        set_arguments(declared, given)
        module.body.block.insert_op_before(declared, kernel)
        kernel.detach()
        kernel.erase()
    return replace(compilation, module=module)


def operators_of(compilation: Compilation) -> Compilation:
    """The operators alone."""
    module = compilation.module.clone()
    for op in list(module.ops):
        if not isinstance(op, FuncOp) or (op.body.blocks and not is_kernel(op)):
            op.detach()
            op.erase(safe_erase=False)
    return replace(compilation, module=module)
