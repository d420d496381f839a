"""Every dialect, pass and target of the project, by name and loaded when first used.

This is the entry point `xdsl.universe`: it makes them appear in `aotc-opt` and in `xdsl-opt`. A package from outside
adds its own universe the same way. A unit test loads them all.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Any, Final

from xdsl.universe import XDSL_UNIVERSE, Universe

from aotc.model import extensions


def _lazy(module: str, name: str) -> Callable[[], Any]:
    return lambda: getattr(import_module(module), name)


def _pass(room: str, name: str) -> Callable[[], Any]:
    def load() -> Any:
        module = import_module(f"aotc.passes.{room}.{name.replace('-', '_')}")
        return next(each for each in vars(module).values() if isinstance(each, type) and vars(each).get("name") == name)

    return load


_PASSES: Final = {
    "graph": (
        "attach-target annotate-quantization infer-shapes fold-constants simplify-control-flow fold-batch-norm "
        "fold-channels raise-functions raise-normalization note-floats tabulate-quantized fix-arithmetic fix-softmax "
        "fix-requantization prove-small-sums raise-quantization eliminate-transposes absorb-transposes shrink-constants"
    ),
    "integers": (
        "center-weights divide-transposed multiply-in-floats flip-signs prove-fractions bound-sums flatten-positions "
        "pair-steps prove-narrow-pairs"
    ),
    "schedule": (
        "offload-operations flush-subnormals round-weights choose-algorithms choose-schedule branch-trees count-votes "
        "project-inputs widen-operands assign-layouts fold-tables"
    ),
    "fuse": (
        "divide-scratch tile-and-fuse fuse-epilogues fuse-prologues fuse-elementwise note-places stream-rows "
        "choose-rolls roll-rows count-operations outline-kernels"
    ),
    "memory": "bufferize plan-memory",
    "loops": (
        "convert-graph-to-loops serialize-parallel-loops recompute-indices simplify-functions move-invariants "
        "split-parallel-loops expand-math split-fma unroll-tiles select-instructions"
    ),
    "interface": (
        "quantize-interface transpose-interface select-calling-convention mangle-symbols place-weights "
        "buffers-to-pointers push-rows lower-calls run-on-threads add-reset add-selftest merge-kernels "
        "wrap-entry leave-entry profile-kernels"
    ),
    "lower": "convert-entry-to-vm allocate-registers convert-to-llvm",
}
"""The passes of each room, by name: each is in the file of its name."""

UNIVERSE = Universe(
    all_dialects={
        "aot": _lazy("aotc.dialects.aot", "AOT"),
        "graph": _lazy("aotc.dialects.graph", "GRAPH"),
        "llvm_ext": _lazy("aotc.dialects.llvm_ext", "LLVM_EXT"),
        "vm": _lazy("aotc.dialects.vm", "VM"),
    },
    all_passes={name: _pass(room, name) for room, names in _PASSES.items() for name in names.split()},
    all_targets={
        "c": _lazy("aotc.emit.c.files", "CTarget"),
        "llvm-text": _lazy("aotc.emit.llvm.ir", "LLVMTextTarget"),
    },
)


@cache
def multiverse() -> Universe:
    """Every installed universe, and ours in a checkout that is not installed.

    What two universes define is taken from the first one (xDSL's and ours come first); the others are left out."""
    found = extensions.load_all(extensions.UNIVERSES, _check)
    merged = Universe()
    others = [(point, universe) for point, universe in found if universe not in (UNIVERSE, XDSL_UNIVERSE)]
    for universe in (XDSL_UNIVERSE, UNIVERSE):
        _add(merged, universe, lambda make: make)
    for point, universe in others:
        if (clash := _clash(merged, universe)) is not None:
            extensions.leave_out(point, clash)
        else:
            _add(merged, universe, lambda make, point=point: extensions.guarded(point, make))
    return merged


_TABLES = ("all_dialects", "all_passes", "all_targets")


def _check(point: EntryPoint, loaded: object) -> str | None:
    return None if isinstance(loaded, Universe) else f"a {type(loaded).__name__} is not an xdsl.universe.Universe"


def _clash(merged: Universe, universe: Universe) -> str | None:
    taken = [name for table in _TABLES for name in getattr(universe, table) if name in getattr(merged, table)]
    return f"{', '.join(taken)} is defined by another package" if taken else None


def _add(merged: Universe, universe: Universe, wrap: Callable[[Callable[[], Any]], Callable[[], Any]]) -> None:
    for table in _TABLES:
        getattr(merged, table).update({name: wrap(make) for name, make in getattr(universe, table).items()})
