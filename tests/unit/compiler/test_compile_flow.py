"""What a compilation takes, and how one model is reached from several levels."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import aotc
from aotc.errors import CompileError

DATA = Path(__file__).parents[2] / "models" / "data"
X = np.arange(6, dtype=np.float32).reshape(2, 3) - 3


def parsed(body: str, more: str = "") -> onnx.ModelProto:
    text = f'<ir_version: 10, opset_import: ["" : 21]> m (float[2,3] x{more}) => (float[2,3] y) {{ {body} }}'
    return onnx.parser.parse_model(text)


def test_a16_a_value_that_several_read_is_computed_once() -> None:
    """A16: also where each of its readers is a kernel of its own, and where it is written twice in the model."""
    body = "e = Exp(x) f = Exp(x) a = Softmax(e) b = Softmax<axis = 0>(f) c = Add(a, b) y = Mul(c, e)"
    artifacts = aotc.build(parsed(body), name="m", emit="c", optimize="0", target="cortex-m4")
    assert len(re.findall(r"^ *status = aotc_m_exp\w*\(", artifacts["m.c"].text(), re.MULTILINE)) == 1
    e = np.exp(X)
    softmax = [np.exp(e) / np.exp(e).sum(axis, keepdims=True) for axis in (1, 0)]
    np.testing.assert_allclose(aotc.compile(parsed(body))(X)["y"], sum(softmax) * e, rtol=1e-5)


def test_a17_what_is_known_when_it_runs() -> None:
    """A17: control flow works; a shape that is open waits for a call in Python, and is an error elsewhere that says how
    to fix it."""
    then, other = (f"g () => (float[2,3] z) {{ z = {name}(x) }}" for name in ("Neg", "Abs"))
    model = aotc.compile(parsed(f"y = If<then_branch = {then}, else_branch = {other}>(c)", ", bool c"))
    for chosen, expected in ((True, -X), (False, np.abs(X))):
        assert np.array_equal(model(x=X, c=np.array(chosen))["y"], expected)
    source = parsed("y = Neg(x)")
    source.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    with pytest.raises(CompileError, match="open-shapes"):
        aotc.build(source, emit="c")
    assert np.array_equal(aotc.compile(source)(x=X[:1])["y"], -X[:1])


@pytest.mark.parametrize("operators", ["unpacked", "cpacked"])
def test_d16_what_is_checked_is_checked_at_the_entry(operators: str) -> None:
    """D16: a typed operator has no device to look at; with packed ones each has. Type and number of the device are
    looked at, once for each tensor."""
    artifacts = aotc.build(
        parsed("e = Exp(x) y = Softmax(e)"), name="m", emit="c", interface_api="packed", operator_api=operators
    )
    defined = re.findall(
        r"^[\w ]+ \**(aotc_m_\w+)\([^;{]*\)\n\{(.*?)^\}", artifacts["m.c"].text(), re.MULTILINE | re.DOTALL
    )
    checks = {
        name: [
            len(re.findall(rf"device\.device_{what} [!=]= {value}\b", body)) for what, value in (("type", 1), ("id", 0))
        ]
        for name, body in defined
    }
    tensors = {"aotc_m_run_packed": 2}
    if operators == "cpacked":
        tensors |= {each.symbol: len(each.inputs) + len(each.outputs) for each in artifacts.metadata.kernels}
    assert len(tensors) == (3 if operators == "cpacked" else 1)
    assert {name: count for name, count in checks.items() if any(count)} == {
        name: [count, count] for name, count in tensors.items()
    }


def test_b25_b26_one_script_at_every_level(tmp_path: Path) -> None:
    """B25, B26: functions by name, calls, and the entry itself, of a model in process, linked, and loaded."""
    import ctypes

    artifacts = aotc.build(parsed("y = Neg(x)"), name="m", emit="object")
    library = artifacts.export_library(tmp_path / "m.so")
    for model in (artifacts.jit(), artifacts.load(), aotc.load(library)):
        executor = model["m"](aotc.cpu())
        executor["set_input"]("x", X)
        executor["run"]()
        assert np.array_equal(executor["get_output"](0), -X) and np.array_equal(model(X)["y"], -X)
    y = np.zeros_like(X)
    run = ctypes.CDLL(str(library)).aotc_m_run
    assert run(*(array.ctypes.data_as(ctypes.c_void_p) for array in (X, y))) == 0
    assert np.array_equal(y, -X)


def test_a11_functions_are_found_by_name_without_a_registry_of_the_library() -> None:
    """A11: with `packed` operators each is a row of the model's own table; nothing is registered when it is loaded."""
    model = parsed("e = Softmax(x) f = Softmax<axis = 0>(e) y = Abs(f)")
    artifacts = aotc.build(model, name="m", emit="c", interface_api="packed", operator_api="packed", runtime="host")
    text = artifacts["m.c"].text()
    (table,) = re.findall(r"AOTCFunctionEntry aotc_m_functions\[\] = \{(.*?)\n\};", text, re.DOTALL)
    names = re.findall(r'\{"(\w+)", (\w+)\}', table)
    operators = {kernel.symbol for kernel in artifacts.metadata.kernels}
    assert len(operators) > 1 and {name for name, function in names if name == function} == operators
    assert {name for name, function in names} == {"run", "get_model_metadata", *operators}
    assert dict(names)["run"] == "aotc_m_run_packed" and len(names) == 2 + len(operators)
    assert "AOTCFuncRegisterGlobal" not in text and "constructor" not in text
    softmax = [np.exp(X) / np.exp(X).sum(1, keepdims=True)]
    softmax += [np.exp(softmax[0]) / np.exp(softmax[0]).sum(0, keepdims=True)]
    np.testing.assert_allclose(artifacts.load()(X)["y"], softmax[1], rtol=1e-5)
