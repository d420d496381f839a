"""Caches from one compilation to the next are bounded: a process that compiles for ever does not grow.

`functools.lru_cache` has a size. `functools.cache` has none, so that what it is called with must not come from a model;
each function that has it, and arguments, is listed here with what there are only so many of.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from functools import cache, lru_cache

import aotc

CLASSES, TYPES, TABLE = "classes of operations or of values", "types of scalars, and of registers", "rows of a table"
BOUNDED = {
    "aotc.dialects.attributes._hints": CLASSES,
    "aotc.dialects.dtypes._is_float": TYPES,
    "aotc.dialects.dtypes._is_minifloat": TYPES,
    "aotc.dialects.dtypes.element_type": TYPES,
    "aotc.dialects.graph.patterns.patterns_of": CLASSES,
    "aotc.dialects.llvm_ext.suffix": TYPES,
    "aotc.dialects.operations._defaults": CLASSES,
    "aotc.dialects.operations.is_terminator": CLASSES,
    "aotc.mathematics.winograd_transforms.exact_transforms": TABLE,
    "aotc.mathematics.winograd_transforms.transforms": TABLE,
    "aotc.emit.library._of_runtime": "files of the runtime",
    "aotc.passes.kernel.strategy.strategies_of": CLASSES,
    "aotc.passes.loops.simplify_functions._folds": CLASSES,
    "aotc.passes.loops.simplify_functions._is_recursive": CLASSES,
    "aotc.passes.loops.simplify_functions._patterns": CLASSES,
    "aotc.passes.lower.llvm_builder._intrinsic": TABLE,
    "aotc.passes.lower.llvm_builder._vector": TYPES,
    "aotc.passes.lower.llvm_builder.alignment": "powers of two",
    "aotc.passes.lower.llvm_builder.integer": TYPES,
    "aotc.pipeline.verification._by_signature": CLASSES,
}


def _unbounded(space: object, module: str) -> Iterator[str]:
    """The functions in a module, or in a class of it, that keep whatever they are called with."""
    for name, found in vars(space).items():
        function = getattr(found, "__func__", found)
        if isinstance(found, type) and found.__module__ == module and found is not space:
            yield from (f"{name}.{each}" for each in _unbounded(found, module))
        elif hasattr(function, "cache_parameters") and function.__module__ == module:
            takes = inspect.signature(function.__wrapped__).parameters
            if function.cache_parameters()["maxsize"] is None and takes:
                yield name


def test_what_is_kept_for_ever_is_listed() -> None:
    for module in pkgutil.walk_packages(aotc.__path__, "aotc."):
        importlib.import_module(module.name)
    ours = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "aotc"}
    found = {f"{name}.{each}" for name, module in ours.items() for each in _unbounded(module, name)}
    assert found == BOUNDED.keys()


def test_functions_that_keep_everything_are_found() -> None:
    class Space:
        kept = cache(lambda key: key)
        nothing = cache(lambda: None)
        bounded = lru_cache(maxsize=8)(lambda key: key)

        @staticmethod
        @cache
        def static(*keys: int) -> int:
            return len(keys)

    assert [*_unbounded(Space, __name__)] == ["kept", "static"]
