"""Costs of a model on its target: code, constants, RAM, and a bound of the stack for each function and the whole."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aotc.emit.llvm.costs import Frame, ObjectSizes, frames, object_sizes
from aotc.emit.llvm.modules import parsed
from aotc.machines.compilers import helper_stack
from aotc.machines.targets import Target
from aotc.model.conventions import CALL_PACKED, THREADS_RUN, operator_symbol, weights_symbol
from aotc.model.metadata import Footprint, FunctionFootprint, ModelInfo
from aotc.pipeline.phases import PassTiming

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from aotc.emit.llvm.object import NativeCode
    from aotc.pipeline.compilation import Compilation


def measure_footprint(
    native: NativeCode, info: ModelInfo, *, estimate: bool, stack: bool = True, beside: Iterable[bytes] = ()
) -> Footprint:
    """The footprint of the object that `native` makes of the model `info`, and of those `beside` it; see
    `Footprint.estimate`.

    Measuring the stack takes a second code generation; without `stack` it is left out.
    """
    sizes = sum(map(object_sizes, beside), object_sizes(native.object))
    if native.apart is not None:
        sizes = replace(sizes, constants=sizes.constants + native.apart.size)
    start = time.perf_counter()
    found = frames(_assembly(native)) if stack else {}
    native.compilation.timings.append(PassTiming("llvm", "measure-stack", time.perf_counter() - start))
    if native.target.triple.startswith("wasm") and info.workspace == "internal":
        # zeros, which the linker leaves out
        sizes = replace(sizes, constants=sizes.constants - info.workspace_bytes)
    return footprint_of(sizes, found, native.compilation, info, native.target, estimate=estimate)


STACK_MARGIN = 0.25, 24
"""How much more stack another compiler may take than LLVM: a part of it, and bytes. Twice what GCC 12 takes more at
most, over the models of the tests on five targets."""


def footprint_of(
    sizes: ObjectSizes,
    found: dict[str, Frame],
    compilation: Compilation,
    info: ModelInfo,
    target: Target,
    *,
    estimate: bool = False,
    compiler: str | None = None,
) -> Footprint:
    """The footprint of the model `info` in objects of these sizes, whose functions have the frames `found`.

    An `estimate` has a margin; `compiler` says who compiled them where that was not LLVM.
    """
    helpers = {name for frame in found.values() for name in frame.calls} - found.keys()
    stacks = {name: size for name in helpers if (size := helper_stack(target.triple, name)) is not None}
    tree = CallTree(found, _called_by_name(compilation.module), {weights_symbol(info.name)}, stacks)
    entry = tree.stack(info.entry())
    linked = info.weights_bytes if info.weights == "external" else 0
    constants = sizes.constants
    known = entry.size is not None and not target.triple.startswith("wasm")  # calls are on a stack of the engine's
    share, least = STACK_MARGIN
    margin = math.ceil(share * entry.size) + least if estimate and entry.size is not None else 0
    return Footprint(
        target=target.name,
        estimate=estimate,
        compiler=compiler,
        stack_margin_bytes=margin if known else 0,
        text_bytes=sizes.text,
        constants_bytes=constants,
        data_bytes=sizes.data,
        flash_bytes=sizes.text + constants + sizes.data + linked,
        ram_bytes=info.ram_bytes + sizes.data,
        stack_bytes=entry.size if known else None,
        stack_path=entry.path,
        library_calls=tuple(sorted({call for symbol in tree.frames for call in tree.library_calls(symbol)})),
        functions=tuple(
            FunctionFootprint(
                symbol=symbol,
                text_bytes=sizes.functions.get(symbol),
                frame_bytes=frame.size,
                stack_bytes=tree.stack(symbol).size,
                calls=tree.calls(symbol),
                library_calls=tree.library_calls(symbol),
            )
            for symbol, frame in tree.frames.items()
        ),
    )


@dataclass(frozen=True)
class StackPath:
    """The most stack that a function and its callees need, in bytes (None: not known), and the calls that need it."""

    size: int | None
    path: tuple[str, ...]


class CallTree:
    """Who calls whom. `by_name` maps an external function to those that it calls on behalf of its caller; `data` are
    external symbols that are no functions, `helpers` functions outside whose stack is known, in bytes."""

    def __init__(
        self,
        frames: dict[str, Frame],
        by_name: dict[str, tuple[str, ...]] | None = None,
        data: Collection[str] = (),
        helpers: Mapping[str, int] | None = None,
    ) -> None:
        self.frames = frames
        self._by_name = by_name or {}
        self._data = data
        self._helpers = helpers or {}
        self._known: dict[str, StackPath] = {}

    def calls(self, symbol: str) -> tuple[str, ...]:
        """The functions of the object that `symbol` calls, by itself or by name."""
        direct = self.frames[symbol].calls
        outside = [name for name in direct if name not in self.frames]
        found = [*direct, *(callee for name in (symbol, *outside) for callee in self._by_name.get(name, ()))]
        return tuple(dict.fromkeys(callee for callee in found if callee in self.frames and callee != symbol))

    def library_calls(self, symbol: str) -> tuple[str, ...]:
        """The functions outside the object that `symbol` calls."""
        return tuple(name for name in self.frames[symbol].calls if name not in self.frames and name not in self._data)

    def stack(self, symbol: str) -> StackPath:
        """The deepest path from `symbol` down."""
        if symbol not in self.frames:
            return StackPath(None, ())
        if symbol not in self._known:
            below = [self.stack(callee) for callee in self.calls(symbol)]
            below += [
                StackPath(self._helpers[call], (call,)) for call in self.frames[symbol].calls if call in self._helpers
            ]
            unknown = [each for each in below if each.size is None]
            deepest = max(unknown or below, key=lambda each: each.size or 0, default=StackPath(0, ()))
            own = self.frames[symbol].size
            size = None if own is None or deepest.size is None else own + deepest.size
            self._known[symbol] = StackPath(size, (symbol, *deepest.path))
        return self._known[symbol]


def _assembly(native: NativeCode) -> str:
    """Assembly that describes the frames. Weights are zeros there; on Arm it is that of the object, elsewhere that of
    functions which can be unwound, whose frames are the same."""
    module = native.optimized.clone()
    if not native.target.triple.startswith(("arm", "thumb")):
        text = str(module)
        groups = set(re.findall(r"^define .*? #(\d+)", text, re.MULTILINE))
        named = "|".join(sorted(groups)) or "none"
        module = parsed(re.sub(rf"^(attributes #(?:{named}) = {{)", r"\1 uwtable", text, flags=re.M))
    return native.machine.emit_assembly(module)


def _called_by_name(module: ModuleOp) -> dict[str, tuple[str, ...]]:
    """The packed operators and the share of a thread, which the runtime calls for the entry."""
    from aotc.dialects.aot import Convention
    from aotc.dialects.aot.contract import CONVENTION, kernels, model_name

    packed = [each for each in kernels(module) if CONVENTION.get(each) is Convention.PACKED]
    shares = (operator_symbol(model_name(module), "share"),)
    return {CALL_PACKED: tuple(each.sym_name.data for each in packed), THREADS_RUN: shares}
