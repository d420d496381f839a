"""Additions of other packages: loaded in one place, left out where broken, named where their code fails."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from pathlib import Path

import numpy as np
import onnx
import pytest
from lite_model import Graph, write
from onnx import TensorProto, helper

import aotc
from aotc.errors import CompileError
from aotc.frontend.onnx import registry
from aotc.frontend.tflite import registry as lite_registry
from aotc.model import extensions
from aotc.passes.kernel import scalar_cost, strategy
from aotc.pipeline import phases, universe

DIALECT = '''
from typing import ClassVar
import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def
from xdsl.universe import Universe
from aotc.dialects.graph.interfaces import ElementOp, LoopNestOp, shape_of, tensor_type
from aotc.dialects.graph.elementwise import AddOp
from aotc.frontend.onnx.registry import onnx_op
from aotc.passes.kernel.strategy import KernelStrategy


@irdl_op_definition
class DifferenceOp(ElementOp):
    """x - y, by an operation of its own; `fails` says in which method it fails instead."""
    name = "odd.difference"
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    fails = prop_def(StringAttr)
    result = result_def(TensorType)

    def infer_types(self):
        if self.fails.data == "infer_types" and not isinstance(self.y.owner, AddOp):
            raise KeyError("no such type")
        if self.fails.data == "no types":
            return None
        return [tensor_type(self.x)]

    def evaluate(self, operands):
        if self.fails.data == "evaluate":
            raise ZeroDivisionError("evaluated")
        return [operands[0] - operands[1]]

    def element(self, b, index, reads):
        if self.fails.data == "element":
            raise IndexError("no such element")
        x, y = (read(index) for read in reads)
        return b.scalar(b.insert(arith.SubfOp(x.ssa, y.ssa)), x.dtype)


@irdl_op_definition
class DoubleOp(LoopNestOp):
    name = "odd.double"
    x = operand_def(TensorType)
    fails = prop_def(StringAttr)
    result = result_def(TensorType)

    def infer_types(self):
        return [tensor_type(self.x)]

    def loops(self, b, reads, writes):
        if self.fails.data == "loops":
            raise RuntimeError("no loops")
        def body(index):
            x = reads[0](index)
            writes[0](index, x + x)
        b.parallel_for(shape_of(self.x), body)


@onnx_op("Difference", domain="odd")
def difference(node):
    if node.attr("fails") == "importer":
        raise TypeError("imported")
    return node.emit(DifferenceOp, node.input(0), node.input(1), fails=node.attr("fails", ""))


@onnx_op("Double", domain="odd")
def double(node):
    return node.emit(DoubleOp, node.input(0), fails=node.attr("fails", ""))


class Failing(KernelStrategy):
    def schedule(self, op, machine):
        if op.fails.data == "strategy":
            raise AttributeError("no schedule")
        return None


UNIVERSE = Universe(all_dialects={"odd": lambda: Dialect("odd", [DifferenceOp, DoubleOp], [])})
KERNELS = {DoubleOp: (Failing(),)}
'''

ODD = {
    "xdsl.universe": "odd = odd_ops:UNIVERSE",
    "aotc.onnx_importers": "odd = odd_ops",
    "aotc.kernels": "odd = odd_ops:KERNELS",
}

Install = Callable[..., None]


def _forget() -> None:
    lite_registry.load_importers.cache_clear()
    for cached in (universe.multiverse, registry.load_importers, phases.make_passes, phases._extensions):  # pyright: ignore[reportPrivateUsage]
        cached.cache_clear()
    strategy.registered.cache_clear()
    strategy.strategies_of.cache_clear()
    scalar_cost._element_costs.clear()  # pyright: ignore[reportPrivateUsage]
    scalar_cost._anchor_reads.clear()  # pyright: ignore[reportPrivateUsage]
    extensions._broken.clear()  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Install]:
    """Install a package of one module for the length of a test, as pip would."""
    tables = registry, lite_registry
    for table in tables:
        table.load_importers()
    importers, modules = [dict(table.IMPORTERS) for table in tables], set(sys.modules)
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))

    def add(package: str, module: str, text: str, points: dict[str, str]) -> None:
        (site / f"{module}.py").write_text(text)
        info = site / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        groups = "\n".join(f"[{group}]\n{point}" for group, point in points.items())
        (info / "entry_points.txt").write_text(groups)
        _forget()

    yield add
    for table, given in zip(tables, importers, strict=True):
        table.IMPORTERS.clear()
        table.IMPORTERS.update(given)  # pyright: ignore[reportCallIssue, reportArgumentType]
    for name in set(sys.modules) - modules:
        if str(site) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    monkeypatch.undo()
    _forget()
    for table in tables:
        table.load_importers()


def model(*nodes: onnx.NodeProto, shape: tuple[int, ...] = (3, 50), weights: object = None) -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy")
    found = [onnx.numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]  # pyright: ignore
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("odd", 1)]
    graph = helper.make_graph(list(nodes), "g", [x], [y], found)
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def difference(x: str, y: str, result: str, fails: str = "") -> onnx.NodeProto:
    return helper.make_node("Difference", [x, y], [result], "minus", domain="odd", fails=fails)


RELU = helper.make_node("Relu", ["x"], ["y"], "rectify")


def check(made: onnx.ModelProto, expected: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    np.testing.assert_allclose(aotc.compile(made)({"x": x})["y"], expected(x), rtol=1e-4, atol=1e-4)


# Packages that do not load

BROKEN = {
    "an import that fails": ("import no_such_module", "aotc.onnx_importers", "wrong = wrong_ops", "no_such_module"),
    "a module that is not there": ("", "aotc.kernels", "wrong = wrong_elsewhere:KERNELS", "wrong_elsewhere"),
    "a name that is not there": ("", "xdsl.universe", "wrong = wrong_ops:UNIVERSE", "UNIVERSE"),
    "no module": ("A = 1", "aotc.onnx_importers", "wrong = wrong_ops:A", "a int is not a module"),
    "no universe": ("A = 1", "xdsl.universe", "wrong = wrong_ops:A", "is not an xdsl.universe.Universe"),
    "a dialect of ours": (
        "from xdsl.universe import Universe\nA = Universe(all_dialects={'graph': lambda: None})",
        "xdsl.universe",
        "wrong = wrong_ops:A",
        "graph is defined by another package",
    ),
    "no pipeline": ("A = 1", "aotc.pipelines", "graph = wrong_ops:A", "a int is not a pipeline"),
    "no pass": ("A = 'no-such-pass'", "aotc.pipelines", "graph = wrong_ops:A", "no pass no-such-pass"),
    "no phase": ("A = ''", "aotc.pipelines", "chart = wrong_ops:A", "no phase chart"),
    "no mapping": ("A = 1", "aotc.kernels", "wrong = wrong_ops:A", "a int is not a mapping"),
    "no operator": ("A = {int: ()}", "aotc.kernels", "wrong = wrong_ops:A", "is not a class of graph operations"),
    "no strategy": (
        "from aotc.dialects.graph.elementwise import AddOp\nA = {AddOp: [1]}",
        "aotc.kernels",
        "wrong = wrong_ops:A",
        "the strategies for AddOp",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_package_costs_a_line(install: Install, capfd: pytest.CaptureFixture[str], name: str) -> None:
    text, group, point, why = BROKEN[name]
    install("wrong-package", "wrong_ops", text, {group: point})
    check(model(RELU), lambda x: np.maximum(x, 0), (3, 50))
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("warning: the package wrong-package does not load (wrong_") and why in line


def test_one_line_for_all_that_a_package_adds(install: Install, capfd: pytest.CaptureFixture[str]) -> None:
    install("wrong-package", "wrong_ops", "import no_such_module", ODD | dict.fromkeys(ODD, "wrong = wrong_ops:A"))
    check(model(RELU), lambda x: np.maximum(x, 0), (3, 50))
    assert len(capfd.readouterr().err.splitlines()) == 1


def test_what_loads_is_silent(install: Install, capfd: pytest.CaptureFixture[str]) -> None:
    install("odd-package", "odd_ops", DIALECT, ODD)
    check(model(RELU), lambda x: np.maximum(x, 0), (3, 50))
    assert capfd.readouterr().err == ""


def test_an_operator_that_nobody_has_mentions_the_broken_package(install: Install) -> None:
    install("odd-package", "odd_ops", DIALECT + "\nimport no_such_module\n", ODD)
    with pytest.raises(CompileError) as caught:
        aotc.compile(model(difference("x", "x", "y")))
    (problem,) = caught.value.problems
    assert "odd.Difference" in problem.what or "Difference" in problem.what
    assert "odd-package" in problem.why and "no_such_module" in problem.why


def test_what_a_broken_package_registered_is_gone(install: Install) -> None:
    text = "from aotc.frontend.onnx.registry import onnx_op\n@onnx_op('Relu')\ndef relu(node): raise KeyError\n1 / 0\n"
    install("wrong-package", "wrong_ops", text, {"aotc.onnx_importers": "wrong = wrong_ops"})
    check(model(RELU), lambda x: np.maximum(x, 0), (3, 50))


def test_custom_operators_of_tflite_come_from_packages(install: Install) -> None:
    """One that works, one whose code fails, and what a package that does not load registered."""
    lines = ["from aotc.frontend.tflite.registry import tflite_op", "@tflite_op('Twice')"]
    lines += ["def twice(node): return node.tensor(0) * 2", "@tflite_op('Fails')", "def fails(node): raise KeyError"]
    install("lite-package", "lite_ops", "\n".join(lines), {"aotc.tflite_importers": "lite = lite_ops"})
    text = f"{lines[0]}\n@tflite_op('NEG')\ndef neg(node): raise KeyError\n1 / 0\n"
    install("wrong-package", "wrong_ops", text, {"aotc.tflite_importers": "wrong = wrong_ops"})
    x = np.arange(3, dtype=np.float32)
    for code, expected in (("Twice", 2 * x), ("NEG", -x)):
        np.testing.assert_array_equal(aotc.compile(_lite(code))({"x": x})["y"], expected)
    with pytest.raises(CompileError, match="lite-package") as caught:
        aotc.compile(_lite("Fails"))
    assert [(each.id, each.node, each.op_type) for each in caught.value.problems] == [("broken-package", "y", "Fails")]
    with pytest.raises(CompileError, match=r"aotc\.tflite_importers"):
        aotc.compile(_lite("Nobody"))


def _lite(code: str) -> bytes:
    graph = Graph()
    for name in ("x", "y"):
        graph.tensor(name, (3,), "float32")
    graph.op(code, ["x"], ["y"])
    return write([graph.ends(["x"], ["y"])])


def test_an_operator_that_nobody_has_without_broken_packages() -> None:
    with pytest.raises(CompileError, match="unsupported-operator") as caught:
        aotc.compile(model(difference("x", "x", "y")))
    assert "does not load" not in str(caught.value)


LATE = """
from xdsl.universe import Universe
def dialect():
    import no_such_module
UNIVERSE = Universe(all_dialects={"late": dialect}, all_passes={"late-pass": dialect})
PIPELINE = "late-pass"
"""


def test_what_is_loaded_when_it_is_used_names_its_package(install: Install, capfd: pytest.CaptureFixture[str]) -> None:
    install("late-package", "late_ops", LATE, {"xdsl.universe": "late = late_ops:UNIVERSE"})
    check(model(RELU), lambda x: np.maximum(x, 0), (3, 50))
    assert capfd.readouterr().err == ""
    with pytest.raises(CompileError, match="broken-package"):
        universe.multiverse().all_dialects["late"]()


def test_a_pipeline_whose_passes_do_not_load_is_left_out(install: Install, capfd: pytest.CaptureFixture[str]) -> None:
    points = {"xdsl.universe": "late = late_ops:UNIVERSE", "aotc.pipelines": "graph = late_ops:PIPELINE"}
    install("late-package", "late_ops", LATE, points)
    check(model(RELU), lambda x: np.maximum(x, 0), (3, 50))
    assert capfd.readouterr().err.startswith("warning: the package late-package does not load (late_ops:PIPELINE: ")


# Operations of their own on scalars


def gemm(result: str) -> onnx.NodeProto:
    return helper.make_node("MatMul", ["x", "w"], [result], "product")


WEIGHT = np.random.default_rng(1).standard_normal((48, 48)).astype(np.float32)
SCALAR_CODE = {
    "alone": (lambda: [difference("x", "half", "y")], lambda x: x - 0.5),
    "two tensors": (
        lambda: [helper.make_node("Abs", ["x"], ["a"]), difference("a", "x", "y")],
        lambda x: np.abs(x) - x,
    ),
    "a number": (lambda: [difference("half", "x", "y")], lambda x: 0.5 - x),
    "epilogue": (lambda: [gemm("p"), difference("p", "p2", "y")], lambda x: x @ WEIGHT - WEIGHT),
    "prologue": (
        lambda: [difference("x", "p2", "d"), helper.make_node("MatMul", ["d", "w"], ["y"])],
        lambda x: (x - WEIGHT) @ WEIGHT,
    ),
    "prologue of a reduction": (
        lambda: [difference("x", "p2", "d"), helper.make_node("Softmax", ["d"], ["y"], axis=-1)],
        lambda x: np.exp(x - WEIGHT) / np.exp(x - WEIGHT).sum(-1, keepdims=True),
    ),
}


@pytest.mark.parametrize("name", SCALAR_CODE)
def test_inserted_operations_are_scalar_code(install: Install, tmp_path: Path, name: str) -> None:
    install("odd-package", "odd_ops", DIALECT, ODD)
    nodes, expected = SCALAR_CODE[name]
    half = np.full((48, 48), 0.5, np.float32)
    made = model(*nodes(), shape=(48, 48), weights={"w": WEIGHT, "half": half, "p2": WEIGHT})
    check(made, expected, (48, 48))
    for target in ("cortex-m4", "x86-64-v4", "aarch64"):
        aotc.compile_to(made, tmp_path / target, name="m", target=target)


# Errors in their code


@pytest.mark.parametrize(
    ("fails", "why"),
    [
        ("importer", "TypeError: imported"),
        ("infer_types", "KeyError: 'no such type'"),
        ("no types", "TypeError: "),
        ("element", "IndexError: no such element"),
    ],
)
def test_errors_of_an_operator_name_it(install: Install, fails: str, why: str) -> None:
    install("odd-package", "odd_ops", DIALECT, ODD)
    with pytest.raises(CompileError) as caught:
        aotc.compile(model(difference("x", "x", "y", fails)))
    (problem,) = caught.value.problems
    assert problem.node == "minus" and "odd-package" in problem.what and why in problem.why
    assert str(problem).startswith(("minus (odd.difference): ", "minus (Difference): "))


def test_errors_in_evaluate_name_the_operator(install: Install) -> None:
    install("odd-package", "odd_ops", DIALECT, ODD)
    half = np.full((3, 50), 0.5, np.float32)
    made = model(
        difference("half", "half", "d", "evaluate"), helper.make_node("Add", ["x", "d"], ["y"]), weights={"half": half}
    )
    with pytest.raises(CompileError, match="broken-package"):
        aotc.compile(made)


@pytest.mark.parametrize(("fails", "why"), [("loops", "RuntimeError"), ("strategy", "AttributeError: no schedule")])
def test_errors_of_anchors_and_strategies_name_them(install: Install, fails: str, why: str) -> None:
    install("odd-package", "odd_ops", DIALECT, ODD)
    node = helper.make_node("Double", ["x"], ["y"], "twice", domain="odd", fails=fails)
    with pytest.raises(
        CompileError, match=r"twice \(odd.double\): code of the package odd-package failed; " + why
    ) as caught:
        aotc.compile(model(node))
    assert "odd_ops.py:" in str(caught.value)


def test_anchors_without_faults_run(install: Install) -> None:
    install("odd-package", "odd_ops", DIALECT, ODD)
    check(model(helper.make_node("Double", ["x"], ["y"], "twice", domain="odd", fails="")), lambda x: 2 * x, (3, 50))


def test_our_own_errors_stay_as_they_are() -> None:
    try:
        raise KeyError("ours")
    except KeyError as error:
        assert extensions.problem_of(error) is None
