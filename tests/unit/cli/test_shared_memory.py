"""`aotc link-plan`: memory that several models have together."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_commands import Capture, aotc, fails

from aotc import compile_to

MODELS = Path(__file__).parents[2] / "models" / "data"
POOLS = {"dtcm": "8K", "sram": "64K,speed=3"}


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("linking")
    for name, model, pools in [("a", "kws_int8", POOLS), ("b", "hello_world_int8", POOLS), ("c", "kws_int8", {})]:
        options: dict[str, Any] = {"target": "cortex-m4", "workspace": "caller", "pools": pools}
        compile_to(MODELS / model / "model.onnx", folder, name=name, **options)
    return folder


@pytest.fixture
def compiled(once: Path, tmp_path: Path) -> Path:
    """Two models with pools, of which one is only in the first, and one with an arena."""
    for each in once.iterdir():
        (tmp_path / each.name).write_bytes(each.read_bytes())
    return tmp_path


def test_models_have_the_larger_of_each_memory(compiled: Path, capsys: Capture) -> None:
    plans = [compiled / f"{name}.json" for name in "abc"]
    done = aotc(capsys, "link-plan", *plans, "-o", compiled / "both.h", "--name", "both", "--json")
    said = json.loads(done.stdout)
    infos = [json.loads(plan.read_text()) for plan in plans]
    sizes = [{pool["name"]: pool["peak_bytes"] for pool in info["plan"].get("pools", ())} for info in infos]
    want = {name: max(size.get(name, 0) for size in sizes) for name in ("dtcm", "sram")}
    want[""] = max(info["workspace_bytes"] for info, size in zip(infos, sizes, strict=True) if not size)
    assert {each["pool"]: each["size"] for each in said["arenas"]} == want
    assert said["bytes"] == sum(want.values()) < said["apart_bytes"] == sum(info["workspace_bytes"] for info in infos)
    assert said["arenas"][0]["models"] == ["a", "b"] and said["arenas"][2]["models"] == ["c"]

    header = (compiled / "both.h").read_text()
    assert f"#define AOTC_BOTH_POOL_DTCM_SIZE {want['dtcm']}\n" in header
    assert f"#define AOTC_BOTH_WORKSPACE_SIZE {want['']}\n#define AOTC_BOTH_WORKSPACE_ALIGNMENT 16\n" in header
    compiler = ["cc", "-fsyntax-only", "-x", "c", str(compiled / "both.h")]
    assert subprocess.run(compiler, check=False, capture_output=True).returncode == 0
    (compiled / "a.h").write_text((compiled / "a.h").read_text().replace("POOL_DTCM_SIZE ", "POOL_DTCM_SIZE 1"))
    refused = subprocess.run(compiler, check=False, capture_output=True, text=True)
    assert refused.returncode != 0 and "a has been compiled again" in refused.stderr
    assert "#define AOTC_SHARED_POOL_SRAM_SIZE" in aotc(capsys, "link-plan", *plans).stdout


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"workspace": "internal"}, "--workspace caller [unshared-workspace]"),
        ({"states": [{"name": "h", "symbol": "h", "dtype": "int8", "shape": [1]}]}, "[unshared-workspace]"),
        ({"name": "B"}, "[duplicate-name]"),
        ({"name": "shared"}, "[duplicate-name]"),
        ({"version": 0}, "[invalid-file]"),
    ],
)
def test_models_that_cannot_share_are_refused(
    change: dict[str, object], says: str, compiled: Path, capsys: Capture
) -> None:
    members = json.loads((compiled / "a.json").read_text())
    (compiled / "a.json").write_text(json.dumps(members | change))
    fails(capsys, 2, "link-plan", compiled / "a.json", compiled / "b.json", says=says)


def test_names_are_of_c(compiled: Path, capsys: Capture) -> None:
    fails(capsys, 2, "link-plan", compiled / "a.json", "--name", "2nd", says="[invalid-name]")
