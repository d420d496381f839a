"""Machine code: LLVM text optimised and compiled by llvmlite into objects and assembly."""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, WhileOp
from xdsl.ir import Operation

from aotc.dialects.aot.contract import EMBEDDED, arguments_of, is_kernel, kernels, set_arguments
from aotc.emit.llvm.debug_info import DebugInfo, nodes_of
from aotc.emit.llvm.embedded_weights import EmbeddedWeights
from aotc.emit.llvm.ir import llvm_ir
from aotc.emit.llvm.modules import optimize, parsed, tidy
from aotc.emit.llvm.runtime_modules import pool_module, supported_module
from aotc.machines.requirements import needed
from aotc.machines.targets import Target, lookup
from aotc.model.conventions import supported_symbol
from aotc.pipeline.phases import PassTiming, make_passes, to_llvm

if TYPE_CHECKING:
    from aotc.pipeline.compilation import Compilation


@lru_cache(maxsize=8)
def _machine(target: Target, level: int) -> Any:
    """A target machine that compilations share: it keeps nothing of a module, and one call at a time is in LLVM."""
    return target.machine(level)


class NativeCode:
    """A compilation on its way through LLVM; each of them runs once, when first asked for."""

    def __init__(
        self,
        compilation: Compilation,
        target: Target | None = None,
        *,
        pool: bool = True,
        only: Sequence[Operation] | None = None,
        weights_apart: bool = False,
    ) -> None:
        """With `pool`, code for several threads contains their pool, else it refers to symbols of the runtime; and code
        that needs more than the base of its architecture has a function that says whether that is there. `only` are
        the operations at the top of the module that are compiled, if not all: those of one portion of several. With
        `weights_apart` embedded weights are in another object of the same library."""
        self.compilation = compilation
        self._weights_apart = weights_apart
        self._only = only
        self._pool = pool
        self.target = target or lookup(compilation.options.target)
        self._features = needed(self.target.name) if pool else ()
        self._level = compilation.options.optimize

    def prepare(self) -> None:
        """Load what every compilation needs."""
        make_passes("convert-to-llvm")
        assert self.machine is not None

    @contextmanager
    def _timed(self, name: str) -> Generator[None]:
        start = time.perf_counter()
        yield
        self.compilation.timings.append(PassTiming("llvm", name, time.perf_counter() - start))

    @cached_property
    def module(self) -> ModuleOp:
        """The llvm dialect."""
        with self._timed("convert-to-llvm"):
            options = self.compilation.options
            return to_llvm(
                self.compilation.module,
                self.target.name,
                optimize_size=self._level == "s",
                weights_section=options.weights_section,
                workspace_section=options.workspace_section,
                only=self._only,
            )

    @cached_property
    def weights(self) -> EmbeddedWeights | None:
        """The embedded weights, if there are any that the optimised code reads: the others LLVM has removed."""
        weights = self._marked
        if weights is None or weights.symbol not in {each.name for each in self.optimized.global_variables}:
            return None
        return weights

    @property
    def apart(self) -> EmbeddedWeights | None:
        """The weights that the code refers to, and the object does not have."""
        return self.weights if self._weights_apart else None

    @cached_property
    def _marked(self) -> EmbeddedWeights | None:
        """The weights that a marker stands for before optimisation."""
        return EmbeddedWeights.of(self.module)

    @cached_property
    def machine(self) -> Any:
        """LLVM's target machine."""
        return _machine(self.target, 2 if self._level == "s" else int(self._level))

    @property
    def _debug_info(self) -> DebugInfo | None:
        compilation = self.compilation
        return DebugInfo(compilation.name, nodes_of(compilation.module)) if compilation.options.debug_info else None

    @cached_property
    def optimized(self) -> Any:
        """LLVM's module, optimised; embedded weights are marked."""
        weights = self._marked

        def contents(op: llvm.GlobalOp) -> str | None:
            if weights is None or self._weights_apart or EMBEDDED.get(op) is None:
                return None
            return weights.marked()

        with self._timed("llvm-text"):
            text = llvm_ir(self.module, contents, str(self.machine.target_data), self._debug_info)
        with self._timed("llvm-optimize"):
            module = parsed(text)
            module.verify()
            # Vectorised kernels are unrolled as they should be. Flash is what a bare board has least of; -O3 asks for
            # speed whatever it costs.
            if not self.compilation.options.is_vectorized:
                optimize(module, self.machine, self._level, rolled=self.target.freestanding and self._level != "3")
            elif has_scalar_loops(self.compilation.module.ops if self._only is None else self._only):
                optimize(module, self.machine, "1", rolled=True)
            else:
                tidy(module, self.machine)
        if self._pool and self.compilation.options.threads > 1:
            module.link_in(pool_module(self.target, self.machine, module))
        if self._features:
            module.link_in(supported_module(self.compilation.name, self._features, self.target, self.machine, module))
        return module

    @cached_property
    def object(self) -> bytes:
        """An object file, weights and all if they are not apart."""
        module, weights = self.optimized, self.weights
        with self._timed("llvm-codegen"):
            image = self.machine.emit_object(module.clone())  # which it changes
        if weights is None or self._weights_apart:
            return image
        with self._timed("patch-weights"):
            return weights.patch(image, self.compilation.store)

    @cached_property
    def text(self) -> str:
        """LLVM IR after optimisation, weights and all."""
        text, weights = str(self.optimized), self.weights
        text = re.sub(r"^(; ModuleID = ).*\n", "", text, count=1)
        if weights is None:
            return text
        before, equals, after = text.partition(f"\n@{weights.symbol} = ")
        definition, newline, rest = after.partition("\n")
        keywords, _, _ = definition.partition("<{")
        attributes = definition.rpartition("}>")[2]
        keywords = keywords.replace("externally_initialized ", "")
        return f"{before}{equals}{keywords}{weights.text(self.compilation.store)}{attributes}{newline}{rest}"

    @cached_property
    def assembly(self) -> str:
        """Assembly, weights and all."""
        text = self.text
        with self._timed("llvm-assembly"):
            return self.machine.emit_assembly(parsed(text))

    @property
    def exports(self) -> list[str]:
        """The symbols that other objects see."""
        own = [supported_symbol(self.compilation.name)] if self._features else []
        return own + [
            op.sym_name.data
            for op in self.module.ops
            if isinstance(op, llvm.FuncOp | llvm.GlobalOp)
            and op.linkage.linkage.data == "external"
            and (op.body.blocks or (isinstance(op, llvm.GlobalOp) and op.value is not None))
        ]


def has_scalar_loops(functions: Iterable[Operation]) -> bool:
    """Whether some innermost loop of functions, in the `interface` phase, works on single elements."""
    return any(_search(function)[2] for function in functions)


def _search(op: Operation) -> tuple[bool, bool, bool]:
    """Whether there are loops, vectors, and innermost loops without vectors in an operation."""
    loops = scalar = False
    vectors = any(type(result.type) is VectorType for result in op.results)
    for region in op.regions:
        for block in region.blocks:
            for each in block.ops:
                if each.regions:
                    inside = _search(each)
                    loops, vectors, scalar = loops | inside[0], vectors | inside[1], scalar | inside[2]
                elif not vectors:
                    vectors = any(type(value.type) is VectorType for value in (*each.results, *each.operands))
    if isinstance(op, ForOp | WhileOp):
        scalar |= not loops and not vectors
        loops = True
    return loops, vectors, scalar


# --- in two: the entry with all that belongs to it, and the operators, for objects that are linked apart -------------


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
