"""Weights are in memory about once when a model is compiled for this process."""

from __future__ import annotations

import subprocess
import sys
from mmap import mmap
from pathlib import Path

import numpy as np
import onnx
import pytest
from memory import most_more
from onnx import TensorProto, helper, numpy_helper

from aotc.compiler.driver import lower
from aotc.model import weight_store
from aotc.model.weight_store import WeightStore
from aotc.pipeline.options import CompileOptions


def stored() -> tuple[WeightStore, dict[str, int]]:
    store = WeightStore()
    store.add("one", np.arange(5, dtype=np.float32))
    store.add("two", np.arange(7, dtype=np.int8))
    return store, {"two": 64, "one": 128}


def test_pages_hold_what_a_blob_does() -> None:
    store, offsets = stored()
    pages = store.pages(offsets, keep=True)
    assert isinstance(pages, mmap) and pages[:] == store.blob(offsets)
    assert np.frombuffer(pages, np.uint8).ctypes.data % 4096 == 0
    assert set(store) == {"one", "two"}
    assert store.pages({}, keep=True) == b""


def test_arrays_go_as_they_are_copied_unless_all_are_kept() -> None:
    store, offsets = stored()
    expected = store.blob(offsets)
    store.keeps_all = True
    assert store.pages(offsets, keep=False)[:] == expected and set(store) == {"one", "two"}
    store.keeps_all = False
    assert store.pages(offsets, keep=False)[:] == expected and not set(store)


def test_memory_is_given_back_where_much_was_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    times = 0

    def counted() -> None:
        nonlocal times
        times += 1

    monkeypatch.setattr(weight_store, "give_back", counted)
    store = WeightStore()
    for number in range(5):
        store.add(f"w{number}", np.full(weight_store._MUCH // 2, number, np.uint8))
    store.discard(["w0", "none"])
    assert times == 0
    store.discard(["w1"])
    store.discard(["w2"])
    assert times == 1
    store.discard(["w3", "w4"])
    assert times == 2


def products(rows: int, size: int) -> onnx.ModelProto:
    """Six products with square weights."""
    random, count = np.random.default_rng(0), 6
    weights = [numpy_helper.from_array(random.standard_normal((size, size), np.float32), f"w{i}") for i in range(count)]
    nodes = [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(count)]
    ends = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, [rows, size]) for i in (0, count)]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_each_weight_goes_as_soon_as_it_is_packed(tmp_path: Path) -> None:
    options = CompileOptions.of(accuracy="strict")
    lower(products(16, 64).SerializeToString(), options)
    onnx.save(products(16, 1024), tmp_path / "model.onnx", save_as_external_data=True)
    assert most_more(lambda: lower(tmp_path / "model.onnx", options)) < 1.6 * 6 * 4 * 1024**2


MEASURED = """
import sys, aotc
model = aotc.compile(sys.argv[1])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="knows how Linux counts memory")
def test_a_cold_compilation_takes_little_more_than_twice_the_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AOTC_CACHE_DIR", str(tmp_path / "cache"))
    onnx.save(products(1, 2048), tmp_path / "model.onnx")
    command = [sys.executable, "-c", MEASURED, str(tmp_path / "model.onnx")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    most = (150 << 10) + 2.2 * (tmp_path / "model.onnx").stat().st_size / 1024
    """KiB: the modules, LLVM, and the weights as they are read and as they are packed."""
    assert int(done.stdout) < most
