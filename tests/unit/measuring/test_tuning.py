"""`aotc tune` and `--tuned`: decisions are found, kept and obeyed; what is faster is nobody's claim here."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import onnx.parser
import prefork
import pytest
from onnx import TensorProto, helper, numpy_helper

import aotc
from aotc.compiler.driver import lower
from aotc.dialects.graph.interfaces import AnchorOp
from aotc.dialects.graph.schedules import FewBitsSchedule, MatmulSchedule, ScheduleAttr, schedule_of, signature
from aotc.errors import FileError, UsageError
from aotc.machines.targets import lookup
from aotc.machines.tuning_table import DIRECT, TuningTable
from aotc.measuring import tuning
from aotc.measuring.tuning import tune
from aotc.model.metadata import from_json
from aotc.pipeline.options import CompileOptions

pytestmark = pytest.mark.skipif(lookup("host").vectors is None, reason="no vectors")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A 3 x 3 convolution that Winograd would suit, then a product."""
    random = np.random.default_rng(0)
    arrays = {"w": random.standard_normal((32, 32, 3, 3)), "m": random.standard_normal((8, 24))}
    weights = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("MatMul", ["c", "m"], ["y"], "product"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 32, 8, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(path))
    return path


def anchors(model: Path, **options: object) -> list[AnchorOp]:
    module = lower(str(model), CompileOptions.of(**options)).module
    return [op for op in module.walk() if isinstance(op, AnchorOp)]


def test_decisions_are_obeyed_and_change_nothing_else(model: Path, tmp_path: Path) -> None:
    conv, product = anchors(model, stop_after="graph")
    chosen = schedule_of(anchors(model, stop_after="schedule")[-1])
    assert chosen is not None
    lanes = chosen.lanes
    schedule = ScheduleAttr.of(MatmulSchedule(lanes, 3, 2, 4, "rows"))
    table = TuningTable(
        lookup("host").cpu, {signature(conv): DIRECT}, dict.fromkeys(map(signature, (conv, product)), str(schedule))
    )
    path = tmp_path / "table.json"
    path.write_text(table.text())
    tuned = anchors(model, stop_after="schedule", tuned=str(path))
    assert [op.name for op in tuned] == ["graph.blocked_conv", "graph.packed_matmul"]
    assert [op.attributes[ScheduleAttr.KEY] for op in tuned] == [schedule, schedule]
    x = np.random.default_rng(1).standard_normal((1, 32, 8, 8)).astype(np.float32)
    expected = aotc.compile(str(model), accuracy="strict")(x)["y"]
    np.testing.assert_allclose(aotc.compile(str(model), tuned=str(path))(x)["y"], expected, rtol=1e-4, atol=1e-3)


def test_strict_accuracy_is_not_up_to_a_table(model: Path, tmp_path: Path) -> None:
    conv, _ = anchors(model, stop_after="graph")
    winograd = "#graph.winograd<output_tile = 2, tile_rows = 1>"
    path = tmp_path / "table.json"
    path.write_text(TuningTable(lookup("host").cpu, {signature(conv): winograd}).text())
    assert anchors(model, stop_after="schedule", tuned=str(path))[0].name == "graph.winograd_conv"
    strict = anchors(model, stop_after="schedule", tuned=str(path), accuracy="strict")
    assert strict[0].name == "graph.blocked_conv"


def test_search_measures_each_operation_once(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SECONDS", 0.0)
    monkeypatch.setattr(tuning, "ROUNDS", 1)
    monkeypatch.setattr(tuning._Search, "_neighbours", lambda self, choice: [])  # pyright: ignore[reportPrivateUsage]
    table = TuningTable()
    gains = list(tune(str(model), CompileOptions(), table))
    assert [gain.nodes for gain in gains] == [("conv",), ("product",)]
    assert all(gain.after <= gain.before for gain in gains)
    for text in (*table.algorithms.values(), *table.schedules.values()):
        assert text == DIRECT or text.startswith("#graph.")


def test_a_wrong_candidate_is_never_the_best(model: Path) -> None:
    compilation = lower(str(model), CompileOptions(stop_after="graph"))
    conv = next(op for op in compilation.module.walk() if isinstance(op, AnchorOp))
    machine = tuning.machine_of("host")
    assert machine is not None
    search = tuning._Search(conv, CompileOptions(), machine, compilation.store)  # pyright: ignore[reportPrivateUsage]
    search.__dict__["_expected"] = [np.full((1, 32, 8, 8), 1e6, np.float32)]
    assert search._time(tuning.Choice(None)) == float("inf")  # pyright: ignore[reportPrivateUsage]


def test_other_machines_are_not_tuned_for(model: Path) -> None:
    with pytest.raises(UsageError, match="not-this-machine"):
        list(tune(str(model), CompileOptions(target="aarch64"), TuningTable()))
    with pytest.raises(UsageError, match="not-this-machine"):
        list(tune(str(model), CompileOptions(), TuningTable("z80")))


def test_a_file_that_is_no_table(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text("[]")
    with pytest.raises(FileError, match="invalid-file"):
        aotc.compile(str(model), tuned=str(path))
    with pytest.raises(FileError, match="unusable-file"):
        aotc.compile(str(model), tuned=str(tmp_path / "none.json"))


def test_command_keeps_what_it_found(tmp_path: Path) -> None:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Softmax", ["x"], ["y"], "s")], "g", [x], [y])
    model = tmp_path / "softmax.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(model))
    table = tmp_path / "new" / "table.json"
    command = [prefork.commands() / "aotc", "tune", model, "-o", table, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["gains"][0]["nodes"] == ["s"]
    assert TuningTable.read(table).processor == lookup("host").cpu


def test_a_table_of_another_processor_or_none_is_refused(tmp_path: Path) -> None:
    model, table = tmp_path / "model.onnx", tmp_path / "table.json"
    model.write_bytes(onnx.parser.parse_model(RELU).SerializeToString())
    table.write_text(TuningTable("another").text())
    with pytest.raises(UsageError, match="not-this-machine"):
        lower(str(model), CompileOptions(tuned=str(table), target="cortex-m4"))
    table.write_text(TuningTable("cortex-m4").text())
    lower(str(model), CompileOptions(tuned=str(table), target="cortex-m4", stop_after="graph"))
    table.write_text("[" * 100_000)
    with pytest.raises(FileError, match="invalid-file"):
        lower(str(model), CompileOptions(tuned=str(table)))
    with pytest.raises(ValueError, match="is not the metadata"):
        from_json("[" * 100_000)


RELU = '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { y = Relu(x) }'


def test_what_stays_packed_is_not_tuned(tmp_path: Path) -> None:
    """Of constants of few bits an entry would know the type that they stand for only: it is another operation's."""
    random = np.random.default_rng(0)
    q = helper.make_tensor(
        "q", TensorProto.INT4, [512, 512], random.integers(0, 256, 512 * 256).astype(np.uint8).tobytes(), raw=True
    )
    nodes = [helper.make_node("DequantizeLinear", ["q", "s"], ["w"]), helper.make_node("MatMul", ["x", "w"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [512, 512])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    constants = [q, numpy_helper.from_array(np.array(0.1, np.float32), "s")]
    path = tmp_path / "packed.onnx"
    graph = helper.make_graph(nodes, "g", [x], [y], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), str(path))
    assert not list(tune(str(path), CompileOptions(), TuningTable()))
    (product,) = anchors(path, stop_after="graph")
    other = TuningTable(lookup("host").cpu)
    other.algorithms[signature(product)] = "#graph.strassen<rows = 128>"
    other.schedules[signature(product)] = str(ScheduleAttr.of(MatmulSchedule(8, 3, 2, 4, "rows")))
    table = tmp_path / "table.json"
    table.write_text(other.text())
    (scheduled,) = anchors(path, stop_after="schedule", tuned=str(table))
    assert isinstance(schedule_of(scheduled), FewBitsSchedule)
