"""D30: machine code has debug information by `-g`, whose lines are the nodes of the model."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import aotc

MODEL = """
<ir_version: 10, opset_import: ["" : 20]>
g (float[4,8] x, float[8,5] w) => (float[4,5] y, float[4,5] z) {
  axis = Constant<value_int = 1>()
  [head] a = MatMul(x, w)
  [bend] b = Relu(a)
  [grow] y = Softmax(b)
  [tail] z = CumSum<reverse = 1>(y, axis)
}
"""


@pytest.fixture(scope="module")
def model() -> bytes:
    made = onnx.parser.parse_model(MODEL)
    onnx.checker.check_model(made)
    return made.SerializeToString()


def _build(model: bytes, **options: Any) -> aotc.ArtifactSet:
    return aotc.build(model, name="m", debug_info=True, **options)


def _places(image: Path) -> dict[str, str]:
    """The file and line of the first instruction of each function of an object, by its symbol (GNU binutils)."""
    symbols = subprocess.run(["nm", image], capture_output=True, text=True, check=True).stdout.splitlines()
    code = [line.split() for line in symbols if line.split()[-2] in "tT"]
    found: dict[str, str] = {}
    for address, _, symbol in code:
        section = ["-j", f".text.{symbol}"] if f".text.{symbol}" in _sections(image) else []
        command = ["addr2line", "-f", "-e", image, *section, address]
        _, place = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        found[symbol] = place.rpartition("/")[2].split(" ")[0]
    return found


def _sections(image: Path) -> str:
    return subprocess.run(["readelf", "-SW", image], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "options",
    [{}, {"optimize": "0"}, {"optimize": "s"}, {"split": True}, {"target": "cortex-m4f"}, {"threads": 2}],
    ids=str,
)
def test_d30_lines_are_nodes(model: bytes, options: dict[str, Any], tmp_path: Path) -> None:
    """D30: of each kernel the line of its first node; the listing says which; footprints are the same."""
    artifacts = _build(model, emit="object", **options)
    artifacts.write(tmp_path)
    nodes = artifacts["m.nodes"].text().splitlines()
    assert {"head", "grow", "tail"} <= {*nodes}
    places = {}
    for artifact in artifacts:
        if artifact.name.endswith(".o"):
            places |= _places(tmp_path / artifact.name)
    kernels = {kernel.symbol: kernel.nodes for kernel in artifacts.metadata.kernels}
    assert {symbol: places[symbol] for symbol in kernels} == {
        symbol: f"m.nodes:{nodes.index(names[0]) + 1}" for symbol, names in kernels.items()
    }
    plain = aotc.build(model, name="m", emit="object", **options).metadata
    assert plain.footprint == artifacts.metadata.footprint, "debug information is no part of the flash"


def test_d30_calls_are_places_of_the_entry(model: bytes) -> None:
    text = _build(model, emit="llvm-ir", optimize="0")["m.ll"].text()
    entry = text[text.index("@aotc_m_run(") :].partition("\n}")[0]
    places = [line.rpartition("!dbg ")[2] for line in entry.splitlines() if " call " in line]
    assert len({*places}) == len(places) >= 2
    assert all(f"\n{place} = !DILocation(line: 0" not in text for place in places)


@pytest.mark.parametrize("emit", ["shared", "static", "asm"])
def test_d30_all_machine_code_has_it(model: bytes, emit: str, tmp_path: Path) -> None:
    artifacts = _build(model, emit=emit)
    (code,) = [each for each in artifacts if each.name.endswith((".so", ".a", ".s"))]
    assert b".debug_line" in code.read()
    if emit == "shared":
        library = tmp_path / "m.so"
        library.write_bytes(code.read())
        x, w = (np.random.default_rng(0).standard_normal(shape).astype(np.float32) for shape in ((4, 8), (8, 5)))
        with_it, without = aotc.load(library)({"x": x, "w": w}), aotc.compile(model)({"x": x, "w": w})
        assert all(np.array_equal(with_it[name], without[name]) for name in "yz")


def test_there_is_none_unless_asked_for(model: bytes) -> None:
    artifacts = aotc.build(model, name="m", emit="object")
    assert b".debug" not in artifacts["m.o"].read() and "m.nodes" not in artifacts


def test_c_is_compiled_by_others(model: bytes) -> None:
    with pytest.raises(aotc.UsageError, match=r"debug_info.*-g.*\[option-conflict\]"):
        _build(model, emit="c")
