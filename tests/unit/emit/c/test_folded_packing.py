"""Packed arguments between the entry and its operators cost nothing where a compiler may inline them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import onnx.parser
import pytest

import aotc

ROOT = Path(__file__).parents[4]
TEXT = """<ir_version: 10, opset_import: ["" : 21]>
m (float[2,3] x, float[3] w) => (float[2,3] y) { p = Mul(x, w) y = Softmax(p) }"""
INLINED = "-DAOTC_OPERATOR=__attribute__((always_inline)) inline"


def entry_code(folder: Path, operator_api: str, flag: str) -> str:
    """The instructions of the packed entry, as GCC makes them at -O2."""
    out = folder / operator_api
    model = onnx.parser.parse_model(TEXT)
    aotc.compile_to(
        model, out, name="m", interface_api="packed", operator_api=operator_api, optimize=0, target="x86-64"
    )
    command = ["gcc", "-O2", flag, f"-I{out}", "-c", str(out / "m.c"), "-o", str(out / "m.o")]
    subprocess.run(command, check=True)
    shown = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", str(out / "m.o")], capture_output=True, text=True, check=True
    ).stdout
    code = re.search(r"<aotc_m_run_packed>:\n(.*?)\n\n", shown + "\n\n", re.DOTALL)
    assert code is not None
    return re.sub(r"^ *[0-9a-f]+:\s+", "", code[1], flags=re.MULTILINE)


@pytest.mark.skipif(shutil.which("objdump") is None or shutil.which("gcc") is None, reason="needs gcc and objdump")
def test_d24_inlined_packed_operators_are_the_same_code(tmp_path: Path) -> None:
    """Without inlining they are not."""
    for flag, equal in ((INLINED, True), ("-DNOTHING", False)):
        direct, packed = (entry_code(tmp_path, api, flag) for api in ("unpacked", "cpacked"))
        assert len(direct.splitlines()) > 30
        assert (direct == packed) == equal


def test_d14_packing_is_in_one_place() -> None:
    """Who fills or reads the structures of packed calls is one module; the others say what they are, and where."""
    found = {
        str(path.relative_to(ROOT))
        for top in ("aotc", "dialects", "passes")
        for path in (ROOT / top).rglob("*.py")
        if not any(parent.is_symlink() for parent in path.parents) and '"v_handle"' in path.read_text(encoding="utf-8")
    }
    assert found == {"dialects/aot/types.py", "passes/lower/llvm_builder.py", "passes/interface/packing.py"}
