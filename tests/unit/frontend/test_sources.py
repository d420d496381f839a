"""Things given for a model: objects that one is made of, by stand-ins for their packages, and those that are none."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import onnx.parser
import pytest

import aotc
from aotc import InferenceSession
from aotc.compiler.dynamic.model import DynamicModel
from aotc.errors import AotcError, CompileError, UsageError
from aotc.frontend.objects import sources
from aotc.frontend.objects.sources import Examples, open_axes

MODEL = onnx.parser.parse_model(
    '<ir_version: 10, opset_import: ["" : 18]> m (float[2] x) => (float[2] y) { y = Relu (x) }'
)
NAMED = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 18, "ai.onnx.ml" : 3]>
    m (int64[n] x) => (string[n] label, int64[n] same)
    { label = ai.onnx.ml.LabelEncoder <keys_int64s = [0, 1], values_strings = ["cat", "dog"]> (x) same = Identity (x) }
""")


def _of(package: str, name: str, **attributes: object) -> Any:
    """An object whose class has a base class of this name in a package."""
    base = type(name, (), {"__module__": f"{package}.inner"})
    return type("Mine", (base,), attributes)()


def ids(caught: pytest.ExceptionInfo[AotcError]) -> list[str]:
    return [each.id for each in caught.value.problems]


@pytest.mark.parametrize("function", [aotc.compile, aotc.build, DynamicModel, InferenceSession, aotc.to_onnx])
@pytest.mark.parametrize(
    ("source", "fix"),
    [
        (None, "give a path"),
        (3, "give a path"),
        (["model.onnx"], "give a path"),
        (io.BytesIO(b""), "read"),
        (ids, "JAX"),
        (_of("torch", "Tensor"), "give a path"),
        (_of("mytorch", "Module"), "give a path"),
    ],
)
def test_what_is_no_model_is_the_users(function: Callable[[Any], object], source: object, fix: str) -> None:
    with pytest.raises(TypeError, match=fix) as caught:
        function(source)
    assert isinstance(caught.value, UsageError) and [each.id for each in caught.value.problems] == ["no-model-given"]


def test_a_program_of_torch_is_its_model() -> None:
    class ONNXProgram:
        model_proto = MODEL

    assert aotc.compile(ONNXProgram()).inputs[0].name == "x"
    assert aotc.to_onnx(ONNXProgram()) is MODEL
    assert InferenceSession(ONNXProgram()).get_inputs()[0].name == "x"  # type: ignore[arg-type]
    assert aotc.compile(bytearray(MODEL.SerializeToString())).inputs[0].name == "x"


@pytest.mark.parametrize("given", [MODEL, MODEL.SerializeToString(), "model.onnx", Path("model.onnx")])
@pytest.mark.parametrize("asked", [{"example_inputs": np.zeros(2)}, {"dynamic_shapes": ({0: "n"},)}])
def test_examples_are_for_objects(given: Any, asked: dict[str, Any], tmp_path: Path) -> None:
    for function in (aotc.compile, aotc.build, lambda source, **asked: aotc.compile_to(source, tmp_path, **asked)):
        with pytest.raises(UsageError) as caught:
            function(given, **asked)
        assert ids(caught) == ["option-conflict"]
    with pytest.raises(UsageError) as caught:
        aotc.to_onnx(given)
    assert ids(caught) == ["wrong-argument"]


@pytest.mark.parametrize(
    ("package", "name", "missing", "attributes"),
    [
        ("torch", "Module", "torch", {}),
        ("torch", "ExportedProgram", "torch", {}),
        ("onnx_ir", "Model", "onnx_ir", {}),
        ("sklearn", "BaseEstimator", "skl2onnx", {}),
        ("lightgbm", "LGBMModel", "skl2onnx", {}),
        ("lightgbm", "Booster", "onnxmltools", {"num_feature": lambda _: 3}),
        ("xgboost", "XGBModel", "skl2onnx", {}),
        ("xgboost", "Booster", "onnxmltools", {"num_features": lambda _: 3}),
        ("keras", "Model", "keras", {}),
        ("flax", "Module", "jax2onnx", {"__call__": lambda _: 0}),
    ],
)
def test_the_package_that_is_missing_is_named(
    package: str, name: str, missing: str, attributes: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError, match=f"pip install {missing}") as caught:
        aotc.compile(_of(package, name, **attributes), example_inputs=(np.zeros((1, 3), np.float32),))
    assert ids(caught) == ["missing-tool"]


def test_a_converter_that_refuses_is_quoted() -> None:
    def save_model(_: object, path: str, format: str) -> None:
        raise ValueError(f"no {format} of text features")

    with pytest.raises(CompileError, match="makes no model of a Mine; ValueError: no onnx of text") as caught:
        aotc.compile(_of("catboost", "CatBoost", save_model=save_model))
    assert ids(caught) == ["failed-tool"]


def test_trees_of_catboost_are_what_they_save() -> None:
    def save_model(_: object, path: str, format: str) -> None:
        assert format == "onnx"
        Path(path).write_bytes(NAMED.SerializeToString())

    model = aotc.compile(_of("catboost", "CatBoost", save_model=save_model))
    assert model(np.array([1, 0, 1]))["label"].tolist() == ["dog", "cat", "dog"]


# --- stand-ins for packages ------------------------------------------------------------------------------------------


class Module:
    """A stand-in for torch.nn.Module."""

    def __init__(self, *inner: Module) -> None:
        self.training = True
        self.inner = inner

    def modules(self) -> list[Module]:
        return [self, *(each for module in self.inner for each in module.modules())]


Module.__module__ = "torch.nn"


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A stand-in for torch, whose exporter notes what it is given."""
    made: Any = ModuleType("torch")

    def export(module: object, **asked: Any) -> object:
        made.asked = asked
        made.modes = [each.training for each in module.modules()] if isinstance(module, Module) else []
        if made.fault is not None:
            raise made.fault
        return SimpleNamespace(model_proto=MODEL)

    made.fault = None
    made.nn = SimpleNamespace(Module=Module)
    made.onnx = SimpleNamespace(export=export)
    made.from_numpy = lambda array: ("tensor", array)
    monkeypatch.setitem(sys.modules, "torch", made)
    monkeypatch.setitem(sys.modules, "onnxscript", ModuleType("onnxscript"))
    return made


def test_a_module_of_torch_is_exported_in_evaluation_mode(torch: Any) -> None:
    module = Module(Module())
    module.inner[0].training = False
    axes = ({0: "n"},)
    x = np.zeros(2, np.float32)
    assert aotc.compile(module, example_inputs=(x, 3), dynamic_shapes=axes).inputs[0].name == "x"
    assert torch.modes == [False, False] and [each.training for each in module.modules()] == [True, False]
    assert torch.asked["args"] == (("tensor", x), 3) and torch.asked["kwargs"] == {}
    assert torch.asked["dynamic_shapes"] is axes and torch.asked["dynamo"] is True
    aotc.to_onnx(module, example_inputs={"x": x})
    assert torch.asked["args"] == () and torch.asked["kwargs"] == {"x": ("tensor", x)}


def test_what_torch_does_not_export_is_told(torch: Any) -> None:
    module = Module()
    torch.fault = RuntimeError("aten.strange is not known")
    with pytest.raises(CompileError, match="strange") as caught:
        aotc.compile(module, example_inputs=(1,))
    assert ids(caught) == ["failed-tool"] and module.training


def test_modules_need_examples_and_programs_have_none(torch: Any) -> None:
    with pytest.raises(UsageError) as caught:
        aotc.compile(Module())
    assert ids(caught) == ["missing-example"]
    program = _of("torch", "ExportedProgram")
    assert aotc.to_onnx(program) is MODEL
    with pytest.raises(UsageError) as caught:
        aotc.to_onnx(program, example_inputs=(1,))
    assert ids(caught) == ["option-conflict"]


def test_axes_are_named_in_both_ways() -> None:
    assert open_axes({1: "n"}) == {1: "n"} and open_axes(("b", None, "n")) == {0: "b", 2: "n"} and open_axes(None) == {}
    assert Examples((1, 2), (None, ("n",))).axes == [{}, {0: "n"}]
    assert Examples(3).positional == (3,) and Examples(3).axes == [{}]
    assert Examples({"a": 3}).positional == () and Examples({"a": 3}).named == {"a": 3}


# --- labels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dims", [{}, {"n": 2}])
def test_labels_of_objects_come_back_as_text(dims: dict[str, int]) -> None:
    x = np.array([1, 0])
    model = aotc.compile(SimpleNamespace(model_proto=NAMED), dims=dims)
    for each in (model, model.clone()):
        found = each(x)
        assert found["label"].tolist() == ["dog", "cat"] and found["same"].tolist() == [1, 0]
    assert model.bind(x)()["label"].tolist() == [1, 0], "bound calls have numbers"
    assert aotc.compile(NAMED, dims=dims)(x)["label"].tolist() == [1, 0], "as models have them"


# --- sources of other packages ---------------------------------------------------------------------------------------


SOURCE = """
import onnx.parser
class Source:
    def takes(self, given):
        return type(given).__name__ == "Mine"
    def model_of(self, given, examples):
        return onnx.parser.parse_model('''<ir_version: 10, opset_import: ["" : 18]>
            m (float[%d] x) => (float[%d] y) { y = Relu (x) }''' % (examples.inputs, examples.inputs))
SOURCE = Source()
"""


def install(folder: Path, *entries: str) -> None:
    (folder / "acme_aotc.py").write_text(SOURCE)
    described = folder / "acme-0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 0\n")
    (described / "entry_points.txt").write_text("\n".join(["[aotc.sources]", *entries]) + "\n")


def test_another_package_has_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "acme = acme_aotc:SOURCE")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(TypeError):
        aotc.to_onnx(_of("other", "Net"))
    assert "acme_aotc" not in sys.modules, "there was no object of that package"
    try:
        model = aotc.compile(_of("acme", "Net"), example_inputs=5)
        assert model.inputs[0].shape == (5,)
    finally:
        sys.modules.pop("acme_aotc", None)


def test_a_source_that_does_not_load_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path, "acme = acme_aotc:onnx")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("aotc.model.extensions._broken", {})
    try:
        with pytest.raises(TypeError, match="no model"):
            aotc.to_onnx(_of("acme", "Net"))
    finally:
        sys.modules.pop("acme_aotc", None)
    assert "package acme does not load (acme_aotc:onnx: it has no takes and no model_of)" in capsys.readouterr().err


def test_packages_are_those_of_classes_the_most_derived_first() -> None:
    base = type("BaseEstimator", (), {"__module__": "sklearn.base"})
    given = type("Boosted", (base,), {"__module__": "lightgbm.sklearn"})()
    assert sources.packages_of(given, Examples())[:2] == ["lightgbm", "sklearn"]
    assert sources.packages_of(ids, Examples(_of("jaxlib", "Array")))[0] == "builtins"
    assert "jaxlib" in sources.packages_of(ids, Examples(_of("jaxlib", "Array")))
    assert "jaxlib" not in sources.packages_of(given, Examples(_of("jaxlib", "Array")))


# --- estimators ------------------------------------------------------------------------------------------------------


def test_a_forest_in_python_and_in_c(tmp_path: Path) -> None:
    pytest.importorskip("skl2onnx", reason="no skl2onnx")
    ensemble: Any = pytest.importorskip("sklearn.ensemble", reason="no scikit-learn")
    random = np.random.default_rng(3)
    x = random.normal(size=(80, 5)).astype(np.float32)
    names = np.array(["cat", "dog", "eel"])[np.argmax(x[:, :3], axis=1)]
    forest = ensemble.RandomForestClassifier(8, max_depth=4, random_state=1).fit(x, names)
    model = aotc.compile(forest)
    found = model(x)
    assert found["output_label"].tolist() == forest.predict(x).tolist()
    np.testing.assert_allclose(found["output_probability"], forest.predict_proba(x), atol=1e-6)
    typed = aotc.compile(forest, example_inputs=x[:1].astype(np.float64))
    assert typed.inputs[0].dtype == "float64"
    assert typed(x.astype(np.float64))["output_label"].tolist() == forest.predict(x).tolist()
    aotc.compile_to(forest, tmp_path, dims={"batch": 1}, name="forest")
    header = (tmp_path / "forest.h").read_text()
    assert all(f'"{name}"' in header for name in ("cat", "dog", "eel"))
    with pytest.raises(UsageError) as caught:
        aotc.compile(ensemble.RandomForestClassifier())
    assert ids(caught) == ["missing-example"]


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"\x1c\0\0\0TFL3", "TensorFlow Lite"),
        (b"PK\x03\x04", "archive"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"\x80\x02}", "pickle"),
        (b"GGUF\3\0\0\0", "GGUF"),
        (b"\x7fELF\2\1", "machine code"),
    ],
)
def test_a_file_of_another_format_is_told_by_its_first_bytes(start: bytes, what: str) -> None:
    with pytest.raises(CompileError, match=what) as caught:
        aotc.compile(start + bytes(64))
    assert ids(caught) == ["not-a-model"]
