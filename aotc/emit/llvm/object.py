"""Machine code: LLVM text optimised and compiled by llvmlite into objects and assembly, with the weights patched in.

Weights never pass through text on their way into an object. The text has a marker of 32 bytes and zeros where they
belong; after code generation the marker is searched in the object file and the bytes are written over it.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp

from aotc.dialects.aot.contract import EMBEDDED, MINIMUM_BLOB
from aotc.emit.llvm.ir import llvm_ir
from aotc.emit.llvm.values import bytes_text
from aotc.errors import CompileError, Problem
from aotc.machines.targets import Target, binding, lookup
from aotc.model.weights import WeightStore
from aotc.pipeline.phases import PassTiming, is_vectorized, to_llvm

if TYPE_CHECKING:
    from aotc.pipeline.compilation import Compilation


@dataclass(frozen=True)
class EmbeddedWeights:
    """Where in one blob of `size` bytes, behind `symbol`, each array of the WeightStore lies."""

    symbol: str
    size: int
    offsets: dict[str, int]

    @staticmethod
    def of(module: ModuleOp) -> EmbeddedWeights | None:
        """From a module after `convert-to-llvm`; None where it embeds nothing."""
        for op in module.ops:
            if isinstance(op, llvm.GlobalOp) and (offsets := EMBEDDED.get(op)) is not None:
                size = cast(llvm.LLVMArrayType, op.global_type).size.data
                return EmbeddedWeights(op.sym_name.data, size, dict(offsets))
        return None

    @cached_property
    def marker(self) -> bytes:
        """What stands in the object for the beginning of the blob: the same in every compilation of the model."""
        return hashlib.sha256(f"{self.symbol}:{self.size}".encode()).digest()[:MINIMUM_BLOB]

    def blob(self, store: WeightStore) -> bytearray:
        """The contents."""
        blob = bytearray(self.size)
        for key, offset in self.offsets.items():
            content = store[key].tobytes()
            blob[offset : offset + len(content)] = content
        return blob

    def marked(self) -> str:
        """The blob as a value of LLVM text: marker and zeros."""
        rest = self.size - MINIMUM_BLOB
        kinds = f"<{{ [{MINIMUM_BLOB} x i8], [{rest} x i8] }}>"
        return f"{kinds} <{{ [{MINIMUM_BLOB} x i8] {bytes_text(self.marker)}, [{rest} x i8] zeroinitializer }}>"

    def text(self, store: WeightStore) -> str:
        """The blob as a value of LLVM text, with its contents."""
        escapes = np.array([f"\\{byte:02X}".encode() for byte in range(256)], "S3")
        return f'[{self.size} x i8] c"{escapes[np.frombuffer(self.blob(store), np.uint8)].tobytes().decode()}"'

    def patch(self, image: bytes, store: WeightStore) -> bytes:
        """An object file with the contents in place of the marker; CompileError where there is not exactly one."""
        start = image.find(self.marker)
        end = start + self.size
        zeros = np.frombuffer(image, np.uint8)[start + MINIMUM_BLOB : end]
        if start < 0 or end > len(image) or zeros.any() or image.find(self.marker, end) >= 0:
            raise CompileError(Problem("the object file does not hold the weights in one piece, so they cannot be set"))
        view = memoryview(image)
        return b"".join((view[:start], self.blob(store), view[end:]))


class NativeCode:
    """A compilation on its way through LLVM; every step runs once, when first asked for."""

    def __init__(self, compilation: Compilation, target: Target | None = None, *, pool: bool = True) -> None:
        """With `pool` code for several threads has these in it, else it refers to symbols of the runtime."""
        self.compilation = compilation
        self._pool = pool
        self.target = target or lookup(compilation.options.target)
        self._level = compilation.options.optimize

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
            )

    @cached_property
    def weights(self) -> EmbeddedWeights | None:
        """The embedded weights, if there are any."""
        return EmbeddedWeights.of(self.module)

    @cached_property
    def machine(self) -> Any:
        """LLVM's target machine."""
        return self.target.machine(2 if self._level == "s" else int(self._level))

    @cached_property
    def optimized(self) -> Any:
        """LLVM's module, optimised; embedded weights are marked."""
        weights = self.weights

        def contents(op: llvm.GlobalOp) -> str | None:
            return weights.marked() if weights is not None and EMBEDDED.get(op) is not None else None

        with self._timed("llvm-text"):
            text = llvm_ir(self.module, contents, str(self.machine.target_data))
        with self._timed("llvm-optimize"):
            module = binding().parse_assembly(text)
            module.verify()
            # Kernels on tiles are unrolled as they should be. Flash is what a bare board has least of; -O3 asks for
            # speed whatever it costs.
            if is_vectorized(self.compilation.options):
                optimize(module, self.machine, "1", rolled=True)
            else:
                optimize(module, self.machine, self._level, rolled=self.target.freestanding and self._level != "3")
        if self._pool and self.compilation.options.threads > 1:
            from aotc.emit.llvm.threads import pool_module

            module.link_in(pool_module(self.target, self.machine))
        return module

    @cached_property
    def object(self) -> bytes:
        """An object file, weights and all."""
        module, weights = self.optimized, self.weights
        with self._timed("llvm-codegen"):
            image = self.machine.emit_object(module.clone())  # which it changes
        if weights is None:
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
        words, _, _ = definition.partition("<{")
        attributes = definition.rpartition("}>")[2]
        words = words.replace("externally_initialized ", "")
        return f"{before}{equals}{words}{weights.text(self.compilation.store)}{attributes}{newline}{rest}"

    @cached_property
    def assembly(self) -> str:
        """Assembly, weights and all."""
        text = self.text
        with self._timed("llvm-assembly"):
            return self.machine.emit_assembly(binding().parse_assembly(text))

    @property
    def exports(self) -> list[str]:
        """The symbols that other objects see."""
        return [
            op.sym_name.data
            for op in self.module.ops
            if isinstance(op, llvm.FuncOp | llvm.GlobalOp)
            and op.linkage.linkage.data == "external"
            and (op.body.blocks or (isinstance(op, llvm.GlobalOp) and op.value is not None))
        ]


def optimize(module: Any, machine: Any, level: str, rolled: bool = False) -> None:
    """Run LLVM's pipeline of `level` ("0".."3", "s") on its module, in place; `rolled` keeps loops as they are."""
    llvm_binding = binding()
    options = llvm_binding.create_pipeline_tuning_options(speed_level=2 if level == "s" else int(level))
    if rolled or level == "s":
        options.loop_unrolling = options.loop_interleaving = options.slp_vectorization = False
    builder = llvm_binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
