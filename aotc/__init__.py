"""aotc: ahead-of-time compiler for neural networks, ONNX or TensorFlow Lite in, native code out.

    model = aotc.compile("model.onnx")      in process
    y = model({"x": array})
    aotc.build("model.onnx")                its artefacts as values, to keep, link or load
    aotc.compile_to("model.onnx", "out/")   what the command `aotc compile` does
    model = aotc.load("out/model.so")       what `--emit shared` wrote

Nothing heavy is imported before it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aotc.model.version import VERSION as __version__

if TYPE_CHECKING:
    from aotc.compiler.driver import build, compile, compile_to, to_onnx
    from aotc.compiler.dynamic.model import DynamicModel
    from aotc.compiler.session import InferenceSession
    from aotc.errors import AotcError, BudgetError, CompileError, Problem, UsageError
    from aotc.executor import CompiledModel, cpu, load, to_dlpack
    from aotc.model.artifacts import Artifact, ArtifactSet

__all__ = [
    "AotcError",
    "Artifact",
    "ArtifactSet",
    "BudgetError",
    "CompileError",
    "CompiledModel",
    "DynamicModel",
    "InferenceSession",
    "Problem",
    "UsageError",
    "__version__",
    "build",
    "compile",
    "compile_to",
    "cpu",
    "load",
    "to_dlpack",
    "to_onnx",
]

_HOME = {
    name: module
    for module, names in (
        ("aotc.model.artifacts", "Artifact ArtifactSet"),
        ("aotc.compiler.driver", "build compile compile_to to_onnx"),
        ("aotc.compiler.dynamic.model", "DynamicModel"),
        ("aotc.compiler.session", "InferenceSession"),
        ("aotc.executor", "CompiledModel cpu load to_dlpack"),
        ("aotc.errors", "AotcError BudgetError CompileError Problem UsageError"),
    )
    for name in names.split()
}


if not TYPE_CHECKING:  # to type checkers a name that is not above is an error

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module 'aotc' has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
