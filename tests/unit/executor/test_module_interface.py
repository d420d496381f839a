"""The module-based runtime interface: a compiled model makes executors by name, as scripts for microTVM have it."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from onnx import helper
from quick_c import quick_flags, quickly
from xdsl.dialects.func import CallOp, FuncOp

import aotc
from aotc.compiler.driver import lower
from aotc.dialects.aot import WeightOp
from aotc.dialects.aot.contract import arguments_of, entry, kernels
from aotc.errors import UsageError
from aotc.executor import CompiledModel, NativeModel, RunError
from aotc.executor.native import CONVENTIONS, aligned_bytes
from aotc.executor.packed_metadata import FunctionInfo, _Model, _names, described
from aotc.measuring.routes import build_shared
from aotc.model.conventions import entry_symbol
from aotc.model.metadata import from_json
from aotc.pipeline.options import CompileOptions

RUNTIME = Path(aotc.__file__).parent / "runtime"
MODEL = Path(__file__).parents[2] / "models" / "data" / "kws_float"


@pytest.fixture(scope="module")
def recorded() -> tuple[str, np.ndarray, str, np.ndarray]:
    with np.load(MODEL / "inputs.npz") as inputs, np.load(MODEL / "outputs.npz") as outputs:
        ((name, x),), ((output, y),) = inputs.items(), outputs.items()
    return name, x, output, y


@pytest.fixture(scope="module", params=["in process", "loaded", "packed, loaded"])
def module(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CompiledModel:
    """Models compiled in process and those exported and loaded again have one interface."""
    if request.param == "in process":
        return aotc.compile(MODEL / "model.onnx", name="my_mod")
    folder = tmp_path_factory.mktemp("my_mod")
    packed = {"interface_api": "packed", "operator_api": "cpacked"} if "packed" in request.param else {}
    aotc.compile_to(MODEL / "model.onnx", folder, name="my_mod", emit="shared", **packed)
    return aotc.load(folder / "my_mod.so")


def test_e2_the_model_by_name_on_a_device_is_an_executor(
    module: CompiledModel, recorded: tuple[str, np.ndarray, str, np.ndarray]
) -> None:
    """A15: compiled in process, or exported and loaded again. E1, E3, E6, E7, E20: inputs by name or position; buffers
    are the executor's, as the signature says."""
    name, x, output, expected = recorded
    executor = module["my_mod"](aotc.cpu())
    assert executor.get_input(name).shape == x.shape and executor.get_input(name).dtype == x.dtype
    executor.set_input(name, x)
    executor.run()
    np.testing.assert_allclose(executor.get_output(0), expected, rtol=1e-4, atol=1e-5)
    assert np.array_equal(executor.get_output(output), executor.get_output(0))
    assert np.array_equal(executor.get_input(0), x)
    other = module["my_mod"]((1, 0))
    other.run()
    assert not np.array_equal(other.get_output(0), executor.get_output(0)), "an instance of its own"
    with pytest.raises(ValueError, match="no input 'nonsense'"):
        executor.set_input("nonsense", x)


def test_e4_runs_are_timed(module: CompiledModel) -> None:
    executor = module["my_mod"]()
    for evaluate in (
        executor.time_evaluator(number=2, repeat=3),
        executor.time_evaluator(2, 3),
        executor.time_evaluator("run", aotc.cpu(), 2, 3),
        executor["time_evaluator"](func_name="run", dev=aotc.cpu(), number=2, repeat=3),
    ):
        timing = evaluate()
        assert len(timing.results) == 3 and timing.mean > 0
    assert len(executor.time_evaluator("run", aotc.cpu(), number=2)().results) == 1, "E29: TVM's default"
    assert len(executor.time_evaluator("get_output", None, 5, 2)(0).results) == 2
    with pytest.raises(ValueError, match="cannot be put on"):
        executor.time_evaluator("run", (2, 0))
    with pytest.raises(TypeError, match="a device is a tuple"):
        executor.time_evaluator("run", 3)
    with pytest.raises(KeyError, match="no function 'walk'"):
        executor.time_evaluator("walk")


@pytest.mark.parametrize("number, repeat", [(1, 1), (1, 4), (5, 1), (7, 3)])
def test_e4_as_many_calls_as_are_asked_for(number: int, repeat: int) -> None:
    """E4: of `run` and of any other function, and one more that is not counted; a model that counts tells."""
    text = "m (float[1] x, float[1] n) => (float[1] next, float[1] y) { next = Add(n, x) y = Neg(next) }"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}')
    executor = aotc.compile(model, state={"next": "n"})
    for function, arguments in (("run", ()), ("set_input", ("x", Counted()))):
        executor.set_input("x", np.ones(1, np.float32))
        executor.reset()
        Counted.times = 0
        timing = executor.time_evaluator(function, None, number, repeat)(*arguments)
        assert len(timing.results) == repeat
        calls = -executor.get_output("y")[0] if function == "run" else Counted.times
        assert calls == 1 + number * repeat


class Counted:
    """A tensor that knows how often it was read."""

    times = 0

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        Counted.times += 1
        return np.ones(1, np.float32)


def test_e8_an_application_may_fill_the_inputs_itself(
    module: CompiledModel, recorded: tuple[str, np.ndarray, str, np.ndarray]
) -> None:
    """B17: the buffers of the call are where they are, nothing is copied in or out: what is in an input when a run
    begins is what it reads, and an output is where it was asked for, with the executor or without."""
    _, x, _, expected = recorded
    executor = module["my_mod"](aotc.cpu(0))
    given, found = executor.get_input(0), aligned_bytes(expected.nbytes).view(np.float32).reshape(expected.shape)
    executor.set_output_zero_copy(0, found)
    native: NativeModel = executor._native  # pyright: ignore[reportPrivateUsage]
    workspace = native.new_workspace()
    alone = native.call_on([given], [found], workspace)
    for run in (executor.run, alone, executor.run, alone):
        for filled, answer in ((0 * x, None), (x, expected)):
            given[...] = filled
            found[...] = np.nan
            assert run() in (None, 0) and np.array_equal(given, filled) and np.isfinite(found).all()
            assert answer is None or np.allclose(found, answer, rtol=1e-4, atol=1e-5)
            assert answer is not None or not np.allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert np.shares_memory(executor.get_input(0), given)


@pytest.mark.parametrize("device", [(2, 0), aotc.cpu(1)])
def test_e22_another_device_is_refused(module: CompiledModel, device: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"my_mod runs on .*device_type=1, device_id=0.* cannot be put on"):
        module["my_mod"](device)


def test_e9_e16_the_metadata_is_a_function_of_the_module(module: CompiledModel) -> None:
    """The tables of a packed library, and the JSON of any other, say the same."""
    metadata = module["get_model_metadata"]()
    assert metadata == described(module.metadata) and metadata.name == "my_mod"
    assert [tensor.dtype for tensor in (*metadata.inputs, *metadata.outputs)] == ["float32", "float32"]
    with pytest.raises(KeyError, match="'my_mod' and run, set_input"):
        module["default"]


def test_e16_a_packed_library_says_itself_what_it_is(tmp_path: Path) -> None:
    """Not the JSON beside it: a row of the library's table is another one here. E11."""
    compiled = aotc.compile_to(MODEL / "model.onnx", tmp_path, name="my_mod", interface_api="packed")
    assert compiled.info is not None
    source, kernel = tmp_path / "my_mod.c", compiled.info.kernels[0]
    counts = f"{len(kernel.inputs)}, {len(kernel.outputs)}"
    sizes = f"{kernel.workspace_bytes}, {kernel.io_bytes}, {kernel.constant_bytes}"
    row = f'{{"{kernel.symbol}", aotc_my_mod_params_1, {counts}, {sizes}}}'
    text = source.read_text()
    assert text.count(row) == 1
    source.write_text(text.replace(row, '{"aotc_other", NULL, 0, 0, 1, 2, 3}'))
    model = aotc.load(build_shared(source, [*quick_flags(), f"-I{RUNTIME}"]))
    entry, changed, *rest = model["get_model_metadata"]().functions
    assert changed == FunctionInfo("aotc_other", (), 0, 0, 1, 2, 3)
    assert (entry, *rest) == (lambda first, _, *others: (first, *others))(*described(compiled.info).functions)
    assert entry.num_inputs == entry.num_outputs == 1 and entry.params[0].shape == (1, 49, 10, 1)


@pytest.mark.parametrize("name", ["ic_resnet_float", "ic_resnet_int8"])
def test_e11_operators_are_called_as_their_parameters_say(name: str, tmp_path: Path) -> None:
    """E11: names, element types and shapes of each operator are in the tables, inputs first, scratch memory last; these
    are what the operator checks."""
    packed = {"interface_api": "packed", "operator_api": "packed", "runtime": "host"}
    aotc.compile_to(MODEL.parent / name / "model.onnx", tmp_path, name="m", emit=("c", "shared"), **packed)
    model = aotc.load(tmp_path / "m.so")
    native: NativeModel = model._native  # pyright: ignore[reportPrivateUsage]
    table = _Model.from_address(native.symbol("aotc_m_model_packed") or 0)
    _, *operators = model["get_model_metadata"]().functions
    assert name != "ic_resnet_float" or any(function.workspace_size_bytes for function in operators)
    for function in operators:
        address = table.functions[_names(table).index(function.function_name)].function
        call = ctypes.CFUNCTYPE(ctypes.c_int32)(address)
        arrays = [np.zeros(each.shape, each.dtype) for each in function.params]
        assert len(arrays) == function.num_inputs + function.num_outputs and function.num_outputs > 0
        assert call(*CONVENTIONS["packed"](arrays, [], [])) == 0
        for position, array in enumerate(arrays):
            for wrong in (array[None], array.view(f"V{array.itemsize}").view(_other(array.dtype))):
                given = [wrong if place == position else each for place, each in enumerate(arrays)]
                assert call(*CONVENTIONS["packed"](given, [], [])) == -1
        named = [each.tir_name_hint for each in function.params]
        assert len(set(named)) == len(named) and all(name in (tmp_path / "m.c").read_text() for name in named)


def _other(dtype: np.dtype) -> str:
    """An element type of the same width."""
    return f"uint{8 * dtype.itemsize}" if dtype.kind != "u" else f"int{8 * dtype.itemsize}"


@pytest.mark.parametrize("operators", ["unpacked", "cpacked"])
def test_e14_functions_that_became_one_are_listed_once(operators: str, tmp_path: Path) -> None:
    """With -Os kernels that are alike are one, which has no shapes of its own; tables and JSON say the same (E13)."""
    options = {"interface_api": "packed", "operator_api": operators, "target": "x86-64", "optimize": "s"}
    aotc.compile_to(MODEL.parent / "ic_resnet_int8/model.onnx", tmp_path, name="m", emit=("c", "shared"), **options)
    model = aotc.load(tmp_path / "m.so")
    metadata = model["get_model_metadata"]()
    assert metadata == described(model.metadata)
    _, *functions = metadata.functions
    assert any(not function.params for function in functions) == (operators == "unpacked")
    text = (tmp_path / "m.c").read_text()
    assert all(f"static AOTC_OPERATOR int32_t {function.function_name}(" in text for function in functions)


@pytest.mark.parametrize("memory", ["internal", "caller"])
@pytest.mark.parametrize("operators", ["packed", "cpacked", "unpacked"])
def test_e13_e16_a_packed_library_needs_no_json(
    tmp_path: Path, memory: str, operators: str, recorded: tuple[str, np.ndarray, str, np.ndarray]
) -> None:
    """E13: AOTCMetadata alone says how the model is called; E16: it is what `get_model_metadata` returns."""
    options = {"interface_api": "packed", "operator_api": operators, "workspace": memory}
    weights = "caller" if memory == "caller" else "embedded"
    aotc.compile_to(MODEL / "model.onnx", tmp_path, name="my_mod", weights=weights, **options)
    written = from_json((tmp_path / "my_mod.json").read_text())
    (tmp_path / "my_mod.json").unlink()
    more = [str(RUNTIME / "aotc_registry.c")] if operators == "packed" else []
    model = aotc.load(build_shared(tmp_path / "my_mod.c", [*quick_flags(), f"-I{RUNTIME}", *more]))
    name, x, _, expected = recorded
    (output,) = model({name: x}).values()
    np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)
    found = model.metadata
    for field in ("name", "interface_api", "workspace", "weights", "workspace_bytes", "weights_bytes", "io_bytes"):
        assert getattr(found, field) == getattr(written, field)
    assert [kernel.symbol for kernel in found.kernels] == [kernel.symbol for kernel in written.kernels]
    with pytest.raises(ValueError, match="has no metadata of a model"):
        aotc.compile_to(MODEL / "model.onnx", tmp_path / "typed", name="typed")
        (tmp_path / "typed" / "typed.json").unlink()
        aotc.load(build_shared(tmp_path / "typed" / "typed.c"))


def test_e27_metadata_of_another_version_are_refused(tmp_path: Path) -> None:
    """Where they are all that says what the model is, and where NAME.json beside them is of this version."""
    aotc.compile_to(MODEL / "model.onnx", tmp_path, name="my_mod", interface_api="packed")
    source = tmp_path / "my_mod.c"
    text = source.read_text()
    assert text.count("{1, aotc_my_mod_infos") == 1
    source.write_text(text.replace("{1, aotc_my_mod_infos", "{99, aotc_my_mod_infos"))
    library = build_shared(source, [*quick_flags(), f"-I{RUNTIME}"])
    model = aotc.load(library)
    with pytest.raises(UsageError, match=r"my_mod have version 99.*\[unsupported-version\]"):
        model["get_model_metadata"]()
    library.with_suffix(".json").unlink()
    with pytest.raises(UsageError, match=r"have version 99.*\[unsupported-version\]"):
        aotc.load(library)


@pytest.mark.parametrize("fault", ["status", "code", "name"])
def test_e16_a_library_that_does_not_say_is_an_error(tmp_path: Path, fault: str) -> None:
    aotc.compile_to(MODEL / "model.onnx", tmp_path, name="my_mod", interface_api="packed")
    source = tmp_path / "my_mod.c"
    head, mark, getter = source.read_text().rpartition("static int32_t aotc_my_mod_get_model_metadata(")
    broken = {
        "status": f"{head}{mark}{getter.replace('return 0;', 'return 5;', 1)}",
        "code": f"{head}{mark}{getter.replace('[0] = 3;', '[0] = 7;', 1)}",
        "name": head.replace('"get_model', '"get_other') + mark + getter,
    }[fault]
    assert broken != head + mark + getter
    source.write_text(broken)
    model = aotc.load(build_shared(source, [*quick_flags(), f"-I{RUNTIME}"]))
    with pytest.raises(RunError, match="get_model_metadata"):
        model["get_model_metadata"]()


def test_e19_metadata_first_then_arguments_then_weights(
    tmp_path: Path, recorded: tuple[str, np.ndarray, str, np.ndarray]
) -> None:
    """E15: metadata and constants are two things, each loaded on its own; E13: one structure says all the rest. E19:
    metadata say what memory arguments take and which weights are looked for; without these there is no model."""
    name, x, _, expected = recorded
    aotc.compile_to(
        MODEL / "model.onnx",
        tmp_path,
        name="my_mod",
        emit="shared",
        runtime="host",
        interface_api="c",
        workspace="caller",
        weights="caller",
    )
    info = from_json((tmp_path / "my_mod.json").read_text())
    address = ctypes.cast(
        getattr(ctypes.CDLL(str(tmp_path / "my_mod.so")), entry_symbol("my_mod", "c")), ctypes.c_void_p
    )
    assert address.value is not None
    with pytest.raises(ValueError, match=f"takes {info.weights_bytes} bytes of weights"):
        NativeModel(info, address.value)
    weights = np.fromfile(tmp_path / "my_mod.weights.bin", np.uint8)
    assert weights.nbytes == info.weights_bytes
    (output,) = CompiledModel(NativeModel(info, address.value, weights))(x).values()
    np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)

    library, blob = tmp_path / "my_mod.so", tmp_path / "my_mod.weights.bin"
    blob.unlink()
    with pytest.raises(FileNotFoundError, match=r"my_mod\.weights\.bin"):
        aotc.load(library)
    blob.write_bytes(weights.tobytes()[:-1])
    with pytest.raises(UsageError, match=r"my_mod\.weights\.bin.*\[invalid-file\]"):
        aotc.load(library)
    blob.write_bytes(weights.tobytes())
    executor = aotc.load(library)["my_mod"]()
    (given,), (wanted,) = info.inputs, info.outputs
    assert (given.name, given.shape, given.dtype) == (name, x.shape, str(x.dtype))
    for array, tensor in ((executor.get_input(0), given), (executor.get_output(0), wanted)):
        assert (array.shape, str(array.dtype)) == (tensor.shape, tensor.dtype) and not array.any()
    executor.run(**{name: x})
    np.testing.assert_allclose(executor.get_output(0), expected, rtol=1e-4, atol=1e-5)


def test_e5_the_runner_and_its_symbol_are_marked_in_the_ir() -> None:
    """A4, A5, A12: a compilation holds runner and operators as functions of one module and one kind, weights apart."""
    compilation = lower(MODEL / "model.onnx", CompileOptions.of(name="my_mod", interface_api="packed"))
    functions = {op.sym_name.data: op for op in compilation.module.ops if isinstance(op, FuncOp)}
    marked = {name: {"aot.entry", "aot.kernel"} & {*op.attributes} for name, op in functions.items()}
    runner = entry(compilation.module)
    assert runner.sym_name.data == "aotc_my_mod_run"
    assert [name for name, marks in marked.items() if "aot.entry" in marks] == ["aotc_my_mod_run"]
    operators_marked = {name for name, marks in marked.items() if marks == {"aot.kernel"}}
    symbol = entry_symbol("my_mod", "packed")
    assert symbol == "aotc_my_mod_run_packed" and not marked[symbol]
    exported = {name for name, op in functions.items() if op.sym_visibility is None}
    assert symbol in exported and not exported & {"aotc_my_mod_run", *operators_marked}
    into = [op.callee.string_value() for op in functions[symbol].walk() if isinstance(op, CallOp)]
    assert into == ["aotc_my_mod_run"], "what is exported calls the runner, and nothing else"
    assert compilation.phase == "interface" and compilation.name == "my_mod"
    called = [op.callee.string_value() for op in runner.body.block.ops if op.name == "func.call"]
    operators = {kernel.sym_name.data: kernel for kernel in kernels(compilation.module)}
    assert called and set(called) == set(operators) == operators_marked
    assert {type(operator) for operator in operators.values()} == {type(runner)}
    weights = [op.key.data for op in compilation.module.walk() if isinstance(op, WeightOp)]
    assert weights and all(key in compilation.store for key in weights)
    handles = [given.io for given in arguments_of(runner)]
    assert handles[-1] == "resource_handle", "B19: also where nobody asked for it"


@pytest.mark.parametrize("target", ["c --runtime=aot", "c -runtime=c --link-params", "llvm -executor=aot"])
def test_d9_conventions_are_options_and_no_part_of_the_target(target: str, tmp_path: Path) -> None:
    """A10, E24: `--runtime`, `--interface-api` and the others stand beside `--target`."""
    with pytest.raises(UsageError, match="unknown-target"):
        aotc.compile_to(MODEL / "model.onnx", tmp_path, target=target)
    assert {"runtime", "interface_api", "operator_api", "workspace", "weights", "target"} <= set(vars(CompileOptions()))


@pytest.mark.parametrize("emit", ["shared", "c"])
def test_a_packed_entry_refuses_memory_that_is_not_aligned(emit: str, tmp_path: Path) -> None:
    packed = {"interface_api": "packed", "operator_api": "unpacked", "workspace": "caller", "weights": "caller"}
    files = aotc.compile_to(MODEL / "model.onnx", tmp_path, name="m", emit=emit, **packed).files
    source = next(path for path in files if path.suffix in (".c", ".so"))
    library = build_shared(source, [*quick_flags(), f"-I{RUNTIME}"]) if emit == "c" else source
    model = aotc.load(library)
    native: NativeModel = model._native  # pyright: ignore[reportPrivateUsage]
    arrays = [np.zeros(info.shape, info.dtype) for info in model.inputs]
    outputs = [np.zeros(info.shape, info.dtype) for info in model.outputs]
    memory = aligned_bytes(model.metadata.workspace_bytes + 64)
    assert native.call_on(arrays, outputs, memory[:-64])() == 0
    for offset in (1, 8, model.metadata.workspace_alignment // 2):
        assert native.call_on(arrays, outputs, memory[offset:])() == -1


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "float32"])
def test_d15_operators_take_the_models_own_types(dtype: str, tmp_path: Path) -> None:
    """D15: an operator found by its name takes the element type of the model, and no other of the same width."""
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    ends = [helper.make_tensor_value_info(name, kind, [2, 3]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Transpose", ["x"], ["y"])], "g", ends[:1], ends[1:])
    graph.output[0].CopyFrom(helper.make_tensor_value_info("y", kind, [3, 2]))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    packed = {"interface_api": "packed", "operator_api": "packed", "runtime": "host"}
    loaded = quickly(aotc.build(model, name="m", emit="c", **packed)).load()
    x = np.arange(6).astype(dtype).reshape(2, 3)
    np.testing.assert_array_equal(loaded(x)["y"], x.T)
    native: NativeModel = getattr(loaded, "_native")  # noqa: B009
    (kernel,) = loaded.metadata.kernels
    table = _Model.from_address(native.symbol("aotc_m_model_packed") or 0)
    address = table.functions[_names(table).index(kernel.symbol)].function
    function = ctypes.CFUNCTYPE(ctypes.c_int32)(address)
    out = np.zeros((3, 2), dtype)
    assert function(*CONVENTIONS["packed"]([x], [out], [])) == 0
    np.testing.assert_array_equal(out, x.T)
    other = {"uint8": "int8", "int8": "uint8", "uint16": "int16", "float32": "int32"}[dtype]
    assert function(*CONVENTIONS["packed"]([x.view(other)], [out], [])) == -1


class _OfTvm:
    """As a device of apache-tvm-ffi."""

    index = 0

    def dlpack_device_type(self) -> int:
        return 1


class _OfTorch:
    """As a torch.device."""

    type, index = "cpu", None


@pytest.mark.parametrize("device", ["cpu", "cpu:0", 0, None, (1, 0), _OfTvm(), _OfTorch()])
def test_e2_a_device_is_what_other_packages_call_one(module: CompiledModel, device: object) -> None:
    assert module["my_mod"](device) is not module


@pytest.mark.parametrize("device", ["cuda:1", "cpu:1", 1])
def test_e22_another_device_is_refused_by_any_name(module: CompiledModel, device: object) -> None:
    with pytest.raises(ValueError, match="cannot be put on"):
        module["my_mod"](device)


@pytest.mark.parametrize("device", ["gpu", "cpu:x", 1.5, object(), (1, 2, 3)])
def test_what_is_no_device_is_said(module: CompiledModel, device: object) -> None:
    with pytest.raises(TypeError, match="is no device"):
        module["my_mod"](device)
