"""Models of one node over types, ranks and attributes, and how they are compared."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from cases import onnx_type
from harness import SCALAR, Array, assert_close, by_c_and_llvm, reference
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper
from quick_c import write_c

import aotc
from aotc.compiler.driver import lower
from aotc.pipeline.options import CompileOptions


@dataclass(frozen=True)
class Draft:
    """One node: inputs (None: left out), the positions of those that are constants, attributes."""

    op_type: str
    opset: int
    inputs: tuple[Array | None, ...]
    constants: tuple[int, ...] = ()
    outputs: int = 1
    attributes: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        types = "-".join("none" if x is None else x.dtype.name + "x".join(map(str, x.shape)) for x in self.inputs)
        values = "-".join(f"{name}={value}" for name, value in self.attributes)
        return f"{self.op_type}-{self.opset}-{types}-{values}".rstrip("-").replace(" ", "")

    def model(self, suffix: str = "") -> tuple[ModelProto, dict[str, Array]]:
        """The model, and what it reads at run time."""
        names = [f"x{i}{suffix}" if x is not None else "" for i, x in enumerate(self.inputs)]
        outputs = [f"y{i}{suffix}" for i in range(self.outputs)]
        feed = {
            name: x
            for i, (name, x) in enumerate(zip(names, self.inputs, strict=True))
            if x is not None and i not in self.constants
        }
        known = [numpy_helper.from_array(np.asarray(self.inputs[i]), names[i]) for i in self.constants]
        graph = helper.make_graph(
            [helper.make_node(self.op_type, names, outputs, f"{self.op_type}{suffix}", **dict(self.attributes))],
            "draft",
            [helper.make_tensor_value_info(name, onnx_type(x.dtype.name), x.shape) for name, x in feed.items()],
            [ValueInfoProto(name=name) for name in outputs],
            known,
        )
        version = 11 if self.opset > 22 else 10
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=version), feed


def draft(
    op_type: str, opset: int, *inputs: Array | None, constants: Sequence[int] = (), outputs: int = 1, **attributes: Any
) -> Draft:
    return Draft(op_type, opset, inputs, tuple(constants), outputs, tuple(attributes.items()))


def agrees_with_onnxruntime(each: Draft, absolute: float = 0.0) -> None:
    """By LLVM's code, without schedules and as users compile, the outputs are onnxruntime's: within the tolerance of
    their type, or where it is less precise within an `absolute` one."""
    model, feed = each.model()
    expected = reference(model, feed)
    assert expected is not None, "onnxruntime has no kernel"
    for level in ("0", "2"):
        outputs = aotc.compile(model, optimize=level)(feed)
        for value, reference_value in zip(model.graph.output, expected, strict=True):
            actual = outputs[value.name]
            if (count := outputs.get(f"{value.name}_count")) is not None:
                axis = next(
                    a
                    for a, (m, e) in enumerate(zip(actual.shape, reference_value.shape, strict=True))
                    if e == int(count) and (m != e or a == actual.ndim - 1 or e == m)
                )
                actual = np.take(actual, range(int(count)), axis)
            if absolute:
                np.testing.assert_allclose(actual, reference_value, rtol=1e-4, atol=absolute)
            else:
                assert_close(f"-O{level} {value.name}", actual, reference_value)


def _together(drafts: Iterable[Draft], path: Path) -> dict[str, Array]:
    """All in one model, which is written to `path`, and what it reads."""
    whole: ModelProto | None = None
    feed: dict[str, Array] = {}
    for number, each in enumerate(drafts):
        model, inputs = each.model(f"_{number}")
        feed |= inputs
        if whole is None:
            whole = model
        else:
            for field in ("node", "input", "output", "initializer"):
                getattr(whole.graph, field).extend(getattr(model.graph, field))
    assert whole is not None
    onnx.save(whole, path)
    return feed


def is_the_same_in_c(drafts: Iterable[Draft], folder: Path) -> None:
    """All in one model, by way of C and a C compiler: the bits are those of LLVM's code in process."""
    path = folder / "drafts.onnx"
    feed = _together(drafts, path)
    by_c, by_llvm = (compiled(feed) for compiled in by_c_and_llvm(path, folder))
    for name, array in by_c.items():
        assert array.tobytes() == by_llvm[name].tobytes(), name


WARNINGS = (
    *("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Wvla", "-Wstrict-prototypes"),
    *("-Wmissing-prototypes", "-Werror"),
)


def has_no_warnings_in_c(drafts: Iterable[Draft], folder: Path) -> None:
    """All in one model: its C for cores without vectors is clean under the warnings of docs/abi.md."""
    path = folder / "drafts.onnx"
    _together(drafts, path)
    for level in ("0", "2", "s"):
        lowered = lower(path, CompileOptions.of(name="m", target=SCALAR, optimize=level))
        command = ["gcc", *WARNINGS, "-fsyntax-only", str(write_c(lowered, folder / level))]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
