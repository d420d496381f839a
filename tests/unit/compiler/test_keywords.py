"""Messages name options as the caller gives them."""

from __future__ import annotations

from pathlib import Path

import onnx.parser
import pytest

import aotc
from aotc.errors import CompileError, UsageError
from aotc.pipeline.signature import python_terms

MODEL = '<ir_version: 8, opset_import: ["" : 17]> g (float[n,m] x, int64[2] s) => (y) { y = Reshape(x, s) }'


@pytest.mark.parametrize(
    ("flags", "keywords"),
    [
        ("fix them with --dim n=N --input-shape x=N,...", 'fix them with dims={"n": N} input_shapes={"x": (N, ...)}'),
        ("--input-shape x=3: no", 'input_shapes={"x": (3,)}: no'),
        ("with --dim or --input-shape, or", "with dims or input_shapes, or"),
        ("--constant s=[1, 2]; no", 'constants={"s": [1, 2]}; no'),
        ("--constant s: its shape", "constants s: its shape"),
        ("use --interface-api packed, or not", 'use interface_api="packed", or not'),
        ("--threads 3 with --target cortex-m4", 'threads=3 with target="cortex-m4"'),
        ("--selftest-outputs without --selftest", "selftest_outputs without selftest"),
        ("what --crash-report DIR writes", "what --crash-report DIR writes"),
    ],
)
def test_flags_as_keywords(flags: str, keywords: str) -> None:
    assert python_terms(flags) == keywords


def test_python_callers_are_told_keywords(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(MODEL)
    with pytest.raises(CompileError, match=r'dims=\{"n": N\}.*dims=\{"m": N\}.*\[open-shapes\]') as caught:
        aotc.compile_to(model, tmp_path)
    assert "--" not in str(caught.value)
    with pytest.raises(UsageError, match=r'dims=\{"n": three\}.*invalid-option'):
        aotc.compile(model, dims={"n": "three"})
    with pytest.raises(UsageError, match="wrong-argument"):
        aotc.compile(model, input_shapes={"x": (1.5, 2)})
    compiled = aotc.compile(model, dims={"n": "3", "m": 2}, constants={"s": [-1, 1]})
    assert compiled.outputs[0].shape == (6, 1)
