"""The contract between phases: what is written is read back, and what cannot be meant is refused by name."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    Builtin,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    f32,
    i64,
)
from xdsl.dialects.func import Func, FuncOp
from xdsl.parser import Parser

from aotc.dialects.aot import AOT, Convention
from aotc.dialects.aot.contract import (
    CONVENTION,
    ENTRY,
    IN_PLACE,
    OPERATION_COUNT,
    OPERATOR_ARGUMENTS,
    PLAN,
    RECORDED,
    TENSORS,
    THREADS,
    WEIGHT_LAYOUT,
    WORKSPACE,
    Argument,
    Recorded,
    Sizes,
    Tensor,
    WeightLayout,
    append_argument,
    argument_of,
    arguments_of,
    entry,
    has_plan,
    has_tensors_in_workspace,
    is_kernel,
    kernels,
    mark_kernel,
    model_module,
    model_name,
    operator_arguments,
    plan_of,
    results_of,
    set_results,
    set_signature,
    set_sizes,
    shares_workspace,
    sizes_of,
    tensors_of,
    threads_of,
    weight_offsets,
    workspace_alignment,
)
from aotc.errors import CompileError
from aotc.model.metadata import BufferInfo, PlanInfo


def function(name: str = "main", inputs: int = 1, outputs: int = 0) -> FuncOp:
    return FuncOp(name, ([f32] * inputs, [f32] * outputs))


def read(text: str) -> ModuleOp:
    """The module of a text."""
    ctx = Context()
    for dialect in (Builtin, Func, AOT):
        ctx.load_dialect(dialect)
    return Parser(ctx, text).parse_module()


def reread(module: ModuleOp) -> ModuleOp:
    """The module from its text, where strings that are not ASCII are of another kind."""
    return read(str(module))


def test_arguments_are_read_back() -> None:
    main = function(outputs=1)
    given = Argument(name="größe", dtype="int8", io="input")
    given.shape, given.align, given.scale, given.zero_point = (2, 3), 16, 0.5, -1
    given.readonly = given.noalias = True
    set_signature(main, [given], [f32])
    set_results(main, [Argument(name="y")])
    ENTRY.set(main)
    back = entry(reread(ModuleOp([main])))
    (found,) = arguments_of(back)
    assert (found.name, found.dtype, found.io, found.shape) == ("größe", "int8", "input", (2, 3))
    assert (found.align, found.scale, found.zero_point, found.offset) == (16, 0.5, -1, None)
    assert (found.readonly, found.noalias, found.may_alias) == (True, True, False)
    assert [each.name for each in results_of(back)] == ["y"]
    assert argument_of(back.args[0]).dtype == "int8"
    assert tensors_of(back) == [Tensor("größe", "int8", "input", (2, 3), 0.5, -1, None)]


@pytest.mark.parametrize("labels", [("größe", 'a "b"'), (-1, 1 << 40)])
def test_labels_are_text_or_numbers(labels: tuple[str, ...] | tuple[int, ...]) -> None:
    main = function(outputs=1)
    given = Argument(name="y")
    given.labels = labels
    set_results(main, [given])
    ENTRY.set(main)
    (found,) = results_of(entry(reread(ModuleOp([main]))))
    assert found.labels == labels
    mixed = ArrayAttr([StringAttr("a"), IntegerAttr(0, i64)])
    for wrong in (mixed, ArrayAttr([]), StringAttr("a")):
        with pytest.raises(CompileError, match=r"aot\.labels.*\[invalid-contract\]"):
            _ = Argument(DictionaryAttr({"aot.labels": wrong})).labels


def test_what_is_set_to_nothing_is_gone() -> None:
    given = Argument(name="x")
    given.align, given.readonly = 8, True
    given.align, given.readonly = None, False
    assert given.dictionary() == DictionaryAttr({"aot.name": StringAttr("x")})


def test_arguments_are_not_changed_before_they_are_written() -> None:
    main = function()
    (given,) = arguments_of(main)
    given.name = "x"
    assert arguments_of(main)[0].name is None
    append_argument(main, f32, Argument(io="workspace"), "workspace")
    assert [each.io for each in arguments_of(main)] == [None, "workspace"]


def test_results_that_are_gone_have_no_attributes() -> None:
    main = function(outputs=1)
    set_results(main, [Argument(name="y")])
    set_signature(main, [Argument(name="x")], [])
    assert main.res_attrs is None and results_of(main) == []


def test_a_tensor_says_what_is_missing() -> None:
    with pytest.raises(CompileError, match=r"aot.shape.*\[invalid-contract\]"):
        Argument(name="x", dtype="float32", io="output").tensor()
    with pytest.raises(CompileError, match="invalid-contract"):
        Argument(name="w", io="weights").tensor()


def test_values_of_another_kind_are_refused() -> None:
    wrong = {"aot.io": StringAttr("elsewhere"), "aot.align": StringAttr("8"), "aot.shape": UnitAttr()}
    given = Argument(DictionaryAttr(wrong))
    for name in ("io", "align", "shape"):
        with pytest.raises(CompileError, match=rf"aot\.{name}.*\[invalid-contract\]"):
            getattr(given, name)
    kernel = function()
    kernel.attributes[IN_PLACE.name] = ArrayAttr([IntegerAttr(0, i64)])
    with pytest.raises(CompileError, match=r"aot\.in_place.*\[invalid-contract\]"):
        IN_PLACE.get(kernel)


def test_functions() -> None:
    main, kernel, other = function(), function("relu_0"), function("expf")
    ENTRY.set(main)
    mark_kernel(kernel, [[0, 1], []])
    set_sizes(kernel, Sizes(0, 8, 4))
    CONVENTION.set(kernel, Convention.CPACKED)
    OPERATION_COUNT.set(kernel, 7)
    module = reread(model_module([main, kernel, other], "kws"))
    (found,) = kernels(module)
    assert (found.sym_name.data, entry(module).sym_name.data, model_name(module)) == ("relu_0", "main", "kws")
    assert IN_PLACE.get(found) == ((0, 1), ()) and sizes_of(found) == Sizes(0, 8, 4)
    assert CONVENTION.get(found) is Convention.CPACKED and OPERATION_COUNT.get(found) == 7
    assert CONVENTION.get(main) is None and sizes_of(main) == Sizes() and not is_kernel(main)


@pytest.mark.parametrize("count", [0, 2])
def test_a_model_has_one_entry(count: int) -> None:
    functions = [function(f"main{n}") for n in range(count)]
    for each in functions:
        ENTRY.set(each)
    with pytest.raises(CompileError, match=rf"{count} .*aot\.entry.*\[invalid-contract\]"):
        entry(ModuleOp([*functions]))


def test_an_entry_is_no_kernel() -> None:
    main = function("main")
    ENTRY.set(main)
    mark_kernel(main, [])
    with pytest.raises(CompileError, match=r"@main.*aot.entry.*aot.kernel.*\[invalid-contract\]"):
        entry(ModuleOp([main]))


def test_choices_of_the_interface() -> None:
    module = ModuleOp([])
    with pytest.raises(CompileError, match=r"aot.workspace.*\[invalid-contract\]"):
        WORKSPACE.require(module)
    WORKSPACE.set(module, "caller")
    assert WORKSPACE.require(reread(module)) == "caller" and operator_arguments(module) == "tensors"
    OPERATOR_ARGUMENTS.set(module, "values")
    assert operator_arguments(module) == "values"


def test_the_plan() -> None:
    module = ModuleOp([])
    assert not has_plan(module) and workspace_alignment(module) == 16
    with pytest.raises(CompileError, match=r"aot.plan.*\[invalid-contract\]"):
        plan_of(module)
    plan = PlanInfo(64, 32, True, 32, ("Conv_0", "Relü"), (BufferInfo("a", 0, 64, 0, 1, ("Conv_0",)),))
    PLAN.set(module, plan)
    assert plan_of(reread(module)) == plan and workspace_alignment(module) == 32


@pytest.mark.parametrize("key", ["peak_bytes", "buffers", "offset", "nodes"])
def test_a_plan_that_lacks_something(key: str) -> None:
    buffer = ' {name = "a", offset = 0, size = 64, first = 0, last = 1, nodes = ["Conv_0"]}'
    text = f"peak_bytes = 64, lower_bound_bytes = 32, optimal = true, alignment = 32, order = [], buffers = [{buffer}]"
    module = read(f"module attributes {{aot.plan = {{{text}}}}} {{}}")
    assert plan_of(module).buffers[0].size == 64
    less = read(f"module attributes {{aot.plan = {{{text.replace(f'{key} =', f'other_{key} =')}}}}} {{}}")
    with pytest.raises(CompileError, match="invalid-contract"):
        plan_of(less)


def test_what_else_a_module_says() -> None:
    module = ModuleOp([])
    assert threads_of(module) == 1 and RECORDED.get(module) is None and weight_offsets(module) == {}
    recorded = Recorded(("x",), ("y", "z"), (0.0, 1e-3))
    layout = WeightLayout(96, 8, {"conv.w": 0, "b": 64})
    THREADS.set(module, 4)
    RECORDED.set(module, recorded)
    WEIGHT_LAYOUT.set(module, layout)
    back = reread(module)
    assert threads_of(back) == 4 and RECORDED.get(back) == recorded
    assert WEIGHT_LAYOUT.get(back) == layout and weight_offsets(back) == layout.offsets


def test_tensors_in_the_workspace() -> None:
    main = function(inputs=0)
    given = Argument(name="x", dtype="float32", io="input")
    given.shape, given.offset = (4,), 16
    assert not has_tensors_in_workspace(main) and tensors_of(main) == []
    TENSORS.set(main, [given])
    assert tensors_of(main) == [Tensor("x", "float32", "input", (4,), None, None, 16)]
    assert shares_workspace(ModuleOp([main]))
