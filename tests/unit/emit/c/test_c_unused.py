"""Generated C declares nothing that it does not use."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
from c_program import WARNINGS
from onnx import TensorProto, helper, numpy_helper

import aotc
from aotc.emit.c.syntax.text import without_unused


def test_unused_declarations_go_with_what_only_they_use() -> None:
    lines = [
        "    const int32_t v0 = a;",
        "    const int32_t v1 = v0 + 1;",
        "    const int32_t kept = b;",
        "    for (int32_t i0 = 0; i0 < 4; ++i0) {",
        "        const int32_t v0 = kept;",
        "        y[i0] = v0;",
        "    }",
        "    const int32_t v2 = call(c);",
    ]
    declarations = {lines[0].strip(): "v0", lines[1].strip(): "v1", lines[2].strip(): "kept", lines[4].strip(): "v0"}
    assert without_unused(lines, declarations) == lines[2:], "what is no plain value, like the call, stays"


def test_index_into_a_single_row(tmp_path: Path) -> None:
    x, i, y = (
        helper.make_tensor_value_info(name, kind, shape)
        for name, kind, shape in (("x", 1, [1, 3]), ("i", TensorProto.INT64, [2]), ("y", 1, [2, 3]))
    )
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["rows"], axis=0),
        helper.make_node("Pad", ["x", "pads"], ["padded"], mode="edge"),
        helper.make_node("Add", ["rows", "padded"], ["y"]),
    ]
    pads = numpy_helper.from_array(np.array([0, 0, 1, 0]), "pads")
    graph = helper.make_graph(nodes, "g", [x, i], [y], [pads])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    aotc.compile_to(model, tmp_path, name="rows")
    source = tmp_path / "rows.c"
    subprocess.run(["gcc", *WARNINGS, "-c", str(source), "-o", str(source.with_suffix(".o"))], check=True)
