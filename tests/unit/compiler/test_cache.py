"""The cache of compiled models: what is found again, what is not, and what happens when it cannot be used."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import aotc
from aotc.cli.main import run
from aotc.compiler import cache, driver
from aotc.machines import processor
from aotc.pipeline.options import CompileOptions

MODEL = Path(__file__).parents[2] / "models" / "data" / "micro_speech_int8" / "model.onnx"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("AOTC_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def no_lowering(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on nothing may be compiled: what does not come from the cache fails."""
    aotc.compile(MODEL)

    def fail(*_: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(driver, "lower", fail)


def test_the_same_files_come_back(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = aotc.compile_to(MODEL, tmp_path / "a", emit="c,object")
    monkeypatch.setattr(driver, "lower", None)
    second = aotc.compile_to(MODEL, tmp_path / "b", emit="c,object")
    assert [path.name for path in first.files] == [path.name for path in second.files] and first.info == second.info
    for one, other in zip(first.files, second.files, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_code_in_process_comes_back(no_lowering: None) -> None:
    model = aotc.compile(MODEL)
    feed = {tensor.name: np.zeros(tensor.shape, tensor.dtype) for tensor in model.inputs}
    assert all(np.isfinite(value).all() for value in model(feed).values())
    assert model.clone()(feed).keys() == model(feed).keys()


def test_another_model_or_option_is_another_entry(folder: Path, tmp_path: Path) -> None:
    def key(path: Path = MODEL, **options: Any) -> str | None:
        return cache.key_of(path, CompileOptions.of(**options), "files")

    changed = onnx.load(MODEL)
    changed.producer_name = "another"
    onnx.save(changed, tmp_path / "model.onnx")
    keys = [key(), key(optimize=3), key(name="x"), key(emit="object"), key(dims={"n": 2}), key(tmp_path / "model.onnx")]
    assert None not in keys and len(set(keys)) == len(keys) and key() == keys[0]
    assert key(dump_phases="d") is None and key(tmp_path / "missing.onnx") is None
    table = tmp_path / "table.json"
    assert key(tuned=str(table)) is None
    for content in ("1", "2"):
        table.write_text(content)
        keys.append(key(tuned=str(table)))
    assert None not in keys and len(set(keys)) == len(keys)


def test_another_machine_is_another_entry(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [cache.key_of(MODEL, CompileOptions(), "files")]
    monkeypatch.setattr(processor, "caches", lambda: {"l1": 1 << 15, "l2": 1 << 18, "l3": 1 << 21})
    keys.append(cache.key_of(MODEL, CompileOptions(), "files"))
    monkeypatch.setattr(processor, "identity", lambda: "another")
    keys.append(cache.key_of(MODEL, CompileOptions(), "files"))
    assert None not in keys and len(set(keys)) == len(keys)


def test_external_data_counts(folder: Path, tmp_path: Path) -> None:
    model = onnx.load(MODEL)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    options = CompileOptions()
    before = cache.key_of(tmp_path / "m.onnx", options, "files")
    data = bytearray((tmp_path / "w.bin").read_bytes())
    data[0] ^= 1
    (tmp_path / "w.bin").write_bytes(data)
    assert before is not None and cache.key_of(tmp_path / "m.onnx", options, "files") not in (before, None)


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AOTC_CACHE_DIR", str(tmp_path / "file"))
    assert aotc.compile_to(MODEL, tmp_path / "out").files


def test_a_damaged_entry_is_compiled_again(folder: Path, tmp_path: Path) -> None:
    aotc.compile_to(MODEL, tmp_path / "a")
    (entry,) = folder.iterdir()
    (entry / ".info.json").write_text("{")
    assert aotc.compile_to(MODEL, tmp_path / "b").info is not None


def test_writers_at_once_leave_one_entry(folder: Path, tmp_path: Path) -> None:
    def compile_into(number: int) -> int:
        return len(aotc.compile_to(MODEL, tmp_path / str(number)).files)

    with ThreadPoolExecutor(3) as pool:
        assert len(set(pool.map(compile_into, range(3)))) == 1
    assert len(list(folder.iterdir())) == 1


def test_the_oldest_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LIMIT", 250)
    (folder / "of somebody else").mkdir(parents=True)
    os.utime(folder / "of somebody else", (0, 0))
    for number, name in enumerate("abc"):
        cache.store(64 * name, {"x": bytes(100)})
        os.utime(folder / (64 * name), (number, number))
    cache.store(64 * "d", {"x": bytes(100)})
    assert sorted(path.name for path in folder.iterdir()) == [64 * "c", 64 * "d", "of somebody else"]


def test_the_command_empties_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache.store(64 * "a", {"x": b"123"})
    other = folder / "of somebody else"
    other.mkdir()
    assert run(["cache"]) == 0 and "1 compiled models, 3 bytes" in capsys.readouterr().out
    assert run(["cache", "--clear"]) == 0 and list(folder.iterdir()) == [other]
    shutil.rmtree(folder)
    assert run(["cache", "--clear"]) == 0
