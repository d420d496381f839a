"""Modules and programs of PyTorch, through its own exporter (torch.onnx.export with dynamo=True), in memory."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from onnx import ModelProto

from aotc.errors import UsageError
from aotc.frontend.objects.sources import ByClass, Examples, converting, needed, of_class


def _model_of(given: Any, examples: Examples) -> ModelProto:
    what = of_class(given)
    torch = needed("torch", what)
    needed("onnxscript", what)
    asked: dict[str, Any] = {}
    if isinstance(given, torch.nn.Module):
        if examples.inputs is None:
            fix = "give example_inputs=(tensor, ...), as the module is called"
            raise UsageError("missing-example", f"{what} without example_inputs", "torch traces a call of it", fix)
        asked = {"args": _tensors(torch, examples.positional), "dynamic_shapes": examples.shapes}
        asked["kwargs"] = dict(zip(examples.named, _tensors(torch, tuple(examples.named.values())), strict=True))
    elif examples.are_given:
        why = "it has the inputs that it was exported with"
        raise UsageError("option-conflict", f"example_inputs or dynamic_shapes of {what}", why, "leave them out")
    with converting(what, "torch.onnx.export"), _evaluating(torch, given), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.onnx.export(given, dynamo=True, verbose=False, **asked).model_proto


def _tensors(torch: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arrays as tensors; numbers and tensors as they are."""
    return tuple(torch.from_numpy(each) if type(each).__module__ == "numpy" else each for each in inputs)


@contextmanager
def _evaluating(torch: Any, given: Any) -> Generator[None]:
    """Inside, a module and its submodules are in evaluation mode: without dropout, with the statistics they learned."""
    modules = list(given.modules()) if isinstance(given, torch.nn.Module) else []
    modes = [each.training for each in modules]
    try:
        for each in modules:
            each.training = False
        yield
    finally:
        for each, training in zip(modules, modes, strict=True):
            each.training = training


def _of_onnx_ir(given: Any, examples: Examples) -> ModelProto:
    return needed("onnx_ir", of_class(given)).to_proto(given)


SOURCES = (
    ByClass("torch", ("Module", "ExportedProgram"), _model_of),
    ByClass("onnx_ir", ("Model",), _of_onnx_ir),
)
