"""One model, compiled again and again for shapes that arrive."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

from aotc.compiler import cache
from aotc.compiler.cache import in_process_set
from aotc.compiler.dynamic.interface import Array
from aotc.compiler.lowering import import_source, in_process, run_phases
from aotc.errors import Problem, UsageError, warning_once
from aotc.executor.loading import InMemory, SharedWeights
from aotc.model.extensions import explained
from aotc.model.known_tensors import KnownTensor
from aotc.model.model_file import ModelFile, Source
from aotc.model.naming import c_identifier
from aotc.pipeline.compilation import Compilation, uncollected
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.signature import in_python_terms

if TYPE_CHECKING:
    from aotc.executor import CompiledModel
    from aotc.frontend.onnx import Model

_WITHOUT: Final = {
    "offload": "kernels of code generators from outside are linked",
    "start_at": "IR has fixed shapes",
    "dump_phases": "each shape would have phases of its own",
}
"""Options without a meaning where shapes are open, and why."""


@dataclass(frozen=True)
class Specialization:
    """A model that was compiled, or found in the cache on disk, for a call at new extents."""

    extents: Mapping[str, int]
    """Of the open dimensions, by name; those that were compiled for, where buckets round them up."""
    seconds: float
    """Until it was ready."""
    from_cache: bool
    """It was compiled before, in this process or another."""


class Recipe:
    """A model and the options it is compiled with, but for its shapes.

    The model stays the one that it was: bytes are kept, a file is read again and has to be the same.
    """

    def __init__(self, source: Source, options: CompileOptions) -> None:
        """Raises UsageError for options without a meaning here and for what is no model, OSError."""
        from aotc.frontend.onnx.load import serialized

        if wrong := [name for name in _WITHOUT if getattr(options, name)]:
            fix = "fix the dimensions with dims"
            raise UsageError(
                [Problem("option-conflict", f"{name} with open shapes", _WITHOUT[name], fix) for name in wrong]
            )
        name = options.name
        if isinstance(source, str | os.PathLike):
            file = source if isinstance(source, ModelFile) else ModelFile(source)
            name = name or c_identifier(file.path.stem)
            source = file.path if file.path.is_file() else file.content()
        elif not isinstance(source, bytes):
            source = serialized(source)
        self.name = c_identifier(name or "model")
        self._source: Path | bytes = source
        known = options.known_constants
        self._options = replace(
            in_process(options), name=name, dims={}, input_shapes={}, constants=known, weights_apart=True
        )
        self.values = frozenset(options.constants.keys() - known.keys())
        """The inputs whose values are compiled for, not only their shapes."""
        self.weights = SharedWeights()
        """Facts that are equal in all that is compiled."""
        self._content = cache.content_digest(self._source)
        self._said: set[Problem] = set()
        """The warnings to the user."""

    def model(self) -> Model:
        """The model as it is in its file, with the constants that are known.

        Raises CompileError, OSError, UsageError.
        """
        from aotc.frontend.onnx import freeze, load_model

        model = freeze(load_model(self._source), self._options.constants)
        known = {tensor.name for tensor in model.proto.graph.initializer}
        inputs = [value.name for value in model.proto.graph.input if value.name not in known]
        if unknown := sorted(self.values.difference(inputs)):
            fix = f"there are {', '.join(inputs)}"
            raise UsageError(
                [Problem("unknown-input", f"--constant {name}: there is no such input", fix=fix) for name in unknown]
            )
        return model

    @uncollected()
    @in_python_terms()
    def compiled(
        self, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, Array]
    ) -> tuple[CompiledModel, float, bool]:
        """The model for these shapes of its inputs, where others are constants of these values; the seconds that took,
        and whether it was in the cache.

        Raises CompileError, OSError, and UsageError where the file of the model is another by now.
        """
        start = perf_counter()
        source = ModelFile(self._source) if isinstance(self._source, Path) else self._source
        if cache.content_digest(source) != self._content:
            fix = "compile it again"
            raise UsageError("changed-file", f"{self._source} has changed since it was compiled first", fix=fix)
        is_new = False

        def lowered(source: Source, options: CompileOptions) -> Compilation:
            nonlocal is_new
            is_new = True
            with explained("the import"), warning_once(self._said):
                compilation = import_source(source, options)
            run_phases(compilation)
            return compilation

        constants = {name: KnownTensor.of(value, name) for name, value in values.items()}
        chosen = replace(self._options, input_shapes=dict(shapes), constants={**self._options.constants, **constants})
        artifacts = in_process_set(source, chosen, lowered)
        model = artifacts.loaded_on(InMemory(shared=self.weights).open(artifacts))
        return model, perf_counter() - start, not is_new
