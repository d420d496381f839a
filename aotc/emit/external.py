"""Artefacts of code generators from outside: what defines the kernels that a module only declares."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from aotc.dialects.aot.contract import EXTERNAL, Argument, arguments_of, kernels
from aotc.dialects.graph.compound.external_kernel import setting_values
from aotc.errors import CompileError
from aotc.model.artifacts import Artifact
from aotc.model.codegens import ExternalArgument, ExternalKernel, code_generator
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.model_info import kernel_nodes


def external_artifacts(compilation: Compilation) -> list[Artifact]:
    """Artefacts that code generators make of the kernels that they have claimed; after the phase `interface`.

    Raises UsageError where one is not installed, CompileError where one gives something else than artefacts of its own.
    """
    found: list[Artifact] = []
    for name, wanted in external_kernels(compilation.module).items():
        made = code_generator(name).generate(wanted, compilation.name, compilation.options.target)
        for artifact in made:
            if not isinstance(artifact, Artifact) or artifact.codegen != name:
                why = f"{artifact!r} is not an artefact of the code generator {name}"
                raise CompileError("broken-package", f"the code generator {name} is broken", why)
        found += made
    return found


def external_kernels(module: ModuleOp) -> dict[str, list[ExternalKernel]]:
    """The kernels that are defined outside, by code generator, in the order of the module."""
    nodes = kernel_nodes(module)
    found: dict[str, list[ExternalKernel]] = {}
    for kernel in kernels(module):
        if (external := EXTERNAL.get(kernel)) is not None:
            given = arguments_of(kernel)
            pointers = tuple(_argument(each) for each in given if each.io is None)
            handle = len(pointers) < len(given)
            symbol, settings = kernel.sym_name.data, setting_values(external.settings)
            made = ExternalKernel(symbol, external.kernel, settings, pointers, handle, nodes[symbol])
            found.setdefault(external.codegen, []).append(made)
    return found


def _argument(given: Argument) -> ExternalArgument:
    use = "scratch" if given.scratch else "operand" if given.readonly else "result"
    where = "an argument of a kernel from outside"
    dtype, shape = Argument.dtype.require(given, where), Argument.shape.require(given, where)
    return ExternalArgument(use, dtype, shape, given.align or 1)
