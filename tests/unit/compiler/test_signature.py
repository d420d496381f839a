"""The options of `compile` and `compile_to` are in their signatures, as in the command and in CompileOptions."""

from __future__ import annotations

import inspect
import pydoc
from dataclasses import fields
from typing import get_type_hints

import numpy as np
import onnx.parser
import pytest

import aotc
from aotc.machines import processor
from aotc.pipeline.options import CHOICES, INTERNAL, CompileOptions
from aotc.pipeline.signature import NOT_IN_PROCESS, FileOptions, InProcessOptions

OPTIONS = {field.name for field in fields(CompileOptions)} - INTERNAL


def test_every_option_is_typed_and_described() -> None:
    assert set(get_type_hints(FileOptions)) == OPTIONS
    assert set(get_type_hints(InProcessOptions)) == OPTIONS - set(NOT_IN_PROCESS)


def test_choices_are_those_of_the_command() -> None:
    hints = get_type_hints(FileOptions)
    for name, choices in CHOICES.items():
        assert {str(choice) for choice in hints[name].__args__} - {""} == set(choices), name


def test_help_shows_every_option() -> None:
    for function, names in ((aotc.compile, OPTIONS - set(NOT_IN_PROCESS)), (aotc.compile_to, OPTIONS)):
        shown = inspect.signature(function).parameters
        assert names <= shown.keys() and "options" not in shown
        assert shown["threads"].default == 1 and shown["threads"].annotation is int
        text = pydoc.render_doc(function, renderer=pydoc.plaintext)
        assert all(f"\n        {name}: " in text for name in names)
    assert OPTIONS - set(NOT_IN_PROCESS) <= inspect.signature(aotc.DynamicModel).parameters.keys()
    assert "emit" not in inspect.signature(aotc.compile).parameters
    assert inspect.signature(aotc.compile_to).parameters["emit"].default == ("c",)


def test_a_target_in_this_process_is_one_that_it_runs_on() -> None:
    text = '<ir_version: 10, opset_import: ["" : 21]> m (float[2,3] x) => (float[2,3] y) { y = Neg(x) }'
    model, x = onnx.parser.parse_model(text), np.ones((2, 3), np.float32)
    baseline = {"x86_64": "x86-64", "aarch64": "aarch64", "riscv64": "rv64gc"}.get(processor.architecture())
    if baseline is not None:
        compiled = aotc.compile(model, target=baseline)
        assert np.array_equal(compiled(x)["y"], -x) and compiled.metadata.features == ()
        assert aotc.InferenceSession(model, target=baseline).run(None, {"x": x})[0].sum() == -6
    elsewhere = "rv64gc" if processor.architecture() == "aarch64" else "aarch64"
    for target in (elsewhere, "cortex-m4", "wasm32"):
        with pytest.raises(aotc.UsageError, match=rf"target=\"{target}\".*\[wrong-function\]"):
            aotc.compile(model, target=target)
