"""The virtual machine: what runs, what is refused, built-in functions, shapes, memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from vm_programs import emit_fibonacci

import aotc
from aotc.model.dlpack import dtype_of
from aotc.vm import Allocator, ExecBuilder, Executable, ShapeTuple, VirtualMachine, VMError, place, register
from aotc.vm.values import VMState


@register("test.vm.add")
def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a + b


@register("test.vm.mul")
def mul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a * b


def program(emit: Callable[[ExecBuilder], None], num_inputs: int = 0) -> Executable:
    ib = ExecBuilder()
    with ib.function("main", num_inputs=num_inputs):
        emit(ib)
    return ib.get()


def one_call(name: str, operands: Callable[[ExecBuilder], Sequence[Any]], num_inputs: int = 0) -> Executable:
    def emit(ib: ExecBuilder) -> None:
        ib.emit_call(name, operands(ib), dst=ib.r(num_inputs))
        ib.emit_ret(ib.r(num_inputs))

    return program(emit, num_inputs)


def test_g17_several_functions() -> None:
    """G18: the document's last example, with functions of Python."""
    ib = ExecBuilder()
    for name, packed in (("func0", "test.vm.add"), ("func1", "test.vm.mul")):
        with ib.function(name, num_inputs=2):
            ib.emit_call(packed, args=[ib.r(0), ib.r(1)], dst=ib.r(2))
            ib.emit_ret(ib.r(2))
    vm = VirtualMachine(ib.get())
    a, b = np.random.default_rng(1).random((2, 4))
    np.testing.assert_array_equal(vm["func1"](a, b), a * b)
    np.testing.assert_array_equal(vm["func0"](a, b), a + b)
    for given in ((), (a,), (a, b, a), (a, b, a, b)):
        with pytest.raises(VMError, match=rf"func0: it has 2 inputs, got {len(given)} \[mismatched-call\]"):
            vm["func0"](*given)
    with pytest.raises(KeyError, match="no function 'func2'; there are func0, func1"):
        vm["func2"]


def test_g1_a_program_whose_length_and_shapes_are_known_when_it_runs() -> None:
    """G4: the rows of a tensor of any shape, summed in a loop by its extent."""
    ib = ExecBuilder()
    with ib.function("sum_rows", num_inputs=2):
        ib.emit_call("vm.builtin.alloc_shape_heap", [ib.imm(1)], dst=ib.r(2))
        ib.emit_call("vm.builtin.match_shape", [ib.r(0), ib.r(2), ib.imm(1), ib.imm(0), ib.imm(2), ib.imm(0)])
        ib.emit_call("rows", [ib.r(2)], dst=ib.r(3))
        head, end = ib.place(), ib.label()
        ib.emit_if(ib.r(3), end)
        ib.emit_call("vm.builtin.sub", [ib.r(3), ib.imm(1)], dst=ib.r(3))
        ib.emit_call("row", [ib.r(0), ib.r(3)], dst=ib.r(4))
        ib.emit_call("test.vm.add", [ib.r(1), ib.r(4)], dst=ib.r(1))
        ib.emit_goto(head)
        ib.place(end)
        ib.emit_ret(ib.r(1))
    module = {"rows": lambda heap: int(heap[0]), "row": lambda x, i: x[i]}
    vm = VirtualMachine(ib.get(), module)
    for rows, columns in ((3, 4), (0, 2), (100, 1)):
        x = np.arange(rows * columns).reshape(rows, columns)
        np.testing.assert_array_equal(vm["sum_rows"](x, np.zeros(columns, int)), x.sum(axis=0))


def test_g4_recursion() -> None:
    ib = ExecBuilder()
    with ib.function("fib", num_inputs=1):
        emit_fibonacci(ib, "fib")
    with ib.function("down", num_inputs=1):
        ib.emit_call("down", [ib.r(0)], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    vm = VirtualMachine(ib.get())
    assert [vm["fib"](n) for n in range(12)] == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]
    with pytest.raises(VMError, match=r"down, instruction 0 .*: more than 100000 calls within calls"):
        vm["down"](1)


def test_code_that_never_ends_is_stopped() -> None:
    executable = program(lambda ib: ib.emit_goto(0))
    with pytest.raises(VMError, match=r"main, instruction 0 .*: more than 1000 jumps and calls"):
        VirtualMachine(executable, most_jumps=1000)["main"]()


# --- names and errors ------------------------------------------------------------------------------------------------


def test_g18_a_module_comes_before_what_is_registered() -> None:
    executable = one_call("test.vm.add", lambda ib: [ib.r(0), ib.r(1)], 2)
    assert VirtualMachine(executable)["main"](3, 4) == 7
    assert VirtualMachine(executable, {"test.vm.add": lambda a, b: a - b})["main"](3, 4) == -1


def test_g18_names_are_registered_once() -> None:
    with pytest.raises(VMError, match=r"test\.vm\.add: a function of this name is registered; say override=True"):
        register("test.vm.add", add)
    register("test.vm.add", add, override=True)
    with pytest.raises(VMError, match="is no name"):
        register("two words", add)


def test_all_unknown_functions_and_wrong_numbers_of_operands_are_named_at_once() -> None:
    def emit(ib: ExecBuilder) -> None:
        ib.emit_call("nobody", [ib.imm(1)], dst=ib.r(0))
        ib.emit_call("test.vm.add", [ib.r(0)], dst=ib.r(1))
        ib.emit_call("vm.builtin.match_shape", [ib.r(0)])
        ib.emit_ret(ib.r(1))

    with pytest.raises(VMError) as caught:
        VirtualMachine(program(emit))
    assert [(problem.node, problem.id) for problem in caught.value.problems] == [
        ("main, instruction 0 (call nobody in: i1 dst: %0)", "unknown-function"),
        ("main, instruction 1 (call test.vm.add in: %0 dst: %1)", "mismatched-call"),
        ("main, instruction 2 (call vm.builtin.match_shape in: %0 dst: void)", "mismatched-call"),
    ]


def test_errors_of_packed_functions_say_where() -> None:
    executable = one_call("test.vm.add", lambda ib: [ib.r(0), ib.r(1)], 2)
    with pytest.raises(
        VMError, match=r"main, instruction 0 \(call test\.vm\.add .*\): ValueError: .*broadcast"
    ) as caught:
        VirtualMachine(executable)["main"](np.zeros(3), np.zeros(4))
    assert isinstance(caught.value.__cause__, ValueError)


BUILTIN = "vm.builtin."


@pytest.mark.parametrize(
    "name, arguments, wrong",
    [
        ("shape_of", (3,), r"operand 0 \(%0\): expected a tensor, got 3"),
        ("alloc_shape_heap", (-1,), r"operand 0 \(%0\): -1 is not within 0 to 65536"),
        ("alloc_shape_heap", (1 << 40,), "is not within 0 to 65536"),
        (
            "store_shape",
            (np.zeros(2), np.zeros(2, "int64"), 0, 1),
            r"operand 0 .*expected a shape, got a tensor float64",
        ),
        ("store_shape", (ShapeTuple([2]), np.zeros(2, "int64"), 0, 1), "a shape of 1 extents for 2 places"),
        ("store_shape", (ShapeTuple([2]), np.zeros(2, "int64"), 2), r"operand 2 .*place 2 is not on a shape heap of 2"),
        ("store_shape", (ShapeTuple([2]), np.zeros(2, "int64"), -1), "place -1 is not on"),
        ("store_shape", (ShapeTuple([2]), np.zeros(2), 0), r"operand 1 .*expected a shape heap"),
        ("load_shape", (np.full(2, -1, "int64"), 1), r"operand 1 .*place 1 of the shape heap has no extent"),
        ("match_shape", (np.zeros((2, 3)), np.zeros(1, "int64"), 0, 2), r"has 2 dimensions, expected 1"),
        ("match_shape", (np.zeros(3), np.zeros(1, "int64"), 0, 2), r"dimension 0 of \[3\] is 3, expected 2"),
        ("match_shape", (np.zeros(3), np.zeros(1, "int64"), 3, 0), r"dimension 0 of \[3\] is 3, expected 0"),
        ("match_shape", (np.zeros(3), np.zeros(1, "int64"), 9, 0), "9 is no code of match_shape"),
        ("match_shape", (np.zeros(3), np.zeros(1, "int64"), 1, 5), "place 5 is not on a shape heap of 1"),
        ("make_shape", (2, -3), r"operand 1 .*-3 is not within"),
        ("alloc_storage", (3, 4), r"operand 0 .*expected the state of the machine, got 3"),
        ("alloc_tensor", (3, 0, ShapeTuple([1]), np.dtype("f4")), "expected storage"),
        ("read", (np.zeros(2, "int64"),), "expected a tensor of one integer or boolean"),
        ("write", (np.zeros(1), 3), "expected a tensor of one integer or boolean, got a tensor float64"),
        ("view", (np.zeros(4, "int8"), 2, np.dtype("int16"), 2), r"ends at byte 6 of a tensor int8\[4\], which has 4"),
        ("view", (np.zeros(4, "int8"), 1, np.dtype("int16"), 1), r"operand 1 .*byte 1 is no multiple of 2"),
        ("view_in", (3, np.zeros(4, "int8"), 0, np.dtype("int8"), 4), "operand 0 .*expected room for a view of 1"),
        ("match_tensor", (np.zeros(4, "int8"), np.dtype("int8"), 3), r"expected a tensor int8\[3\], got .* int8\[4\]"),
        ("match_tensor", (np.zeros(4, "int8"), np.dtype("uint8"), 4), r"expected a tensor uint8\[4\], got a tensor"),
        ("match_tensor", (np.zeros((4, 2), "int8")[:, :1], np.dtype("int8"), 4, 1), "expected a contiguous tensor"),
        ("div", (1, 0), r"operand 1 .*division by zero"),
        ("add", (1.5, 2), r"operand 0 .*expected an integer, got a float"),
    ],
)
def test_wrong_operands_of_builtins_are_named(name: str, arguments: tuple[Any, ...], wrong: str) -> None:
    executable = one_call(BUILTIN + name, lambda ib: [ib.r(i) for i in range(len(arguments))], len(arguments))
    with pytest.raises(VMError, match=rf"main, instruction 0 \(call {BUILTIN}{name} .*\).*{wrong}"):
        VirtualMachine(executable)["main"](*arguments)


def test_conditions() -> None:
    def emit(ib: ExecBuilder) -> None:
        ib.emit_if(ib.r(0), 3)
        ib.emit_call("vm.builtin.move", [ib.imm(1)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
        ib.emit_call("vm.builtin.move", [ib.imm(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))

    main = VirtualMachine(program(emit, 1))["main"]
    for true in (1, -5, True, np.array(True), np.array([[2]])):
        assert main(true) == 1
    for false in (0, False, np.array([False]), np.zeros((1, 1), "int8")):
        assert main(false) == 0
    for neither in (np.zeros(2), "yes", np.array([0.5])):
        with pytest.raises(VMError, match=r"main, instruction 0 \(if %0 else \+3\)"):
            main(neither)


# --- shapes ----------------------------------------------------------------------------------------------------------


def test_g20_shapes_through_the_heap() -> None:
    """G22: the document's example; the tensor is an operand, and what comes back is a shape."""
    x = np.zeros((32, 16))

    def emit(ib: ExecBuilder) -> None:
        ib.emit_call("vm.builtin.alloc_shape_heap", args=[ib.imm(2)], dst=ib.r(0))
        ib.emit_call("vm.builtin.shape_of", args=[x], dst=ib.r(1))
        ib.emit_call("vm.builtin.store_shape", args=[ib.r(1), ib.r(0), ib.imm(0), ib.imm(1)])
        ib.emit_call("vm.builtin.load_shape", args=[ib.r(0), ib.imm(1), ib.imm(0)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))

    shape = VirtualMachine(program(emit))["main"]()
    assert isinstance(shape, ShapeTuple) and shape == (16, 32) and repr(shape) == "ShapeTuple([16, 32])"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e5m2"])
def test_tensors_of_other_packages_are_taken_where_they_are(dtype: str) -> None:
    """Of every element type, also of those that numpy's own protocol does not have."""
    array = np.ones((2, 3)).astype(dtype_of(dtype))
    found = VirtualMachine(one_call("vm.builtin.move", lambda ib: [ib.r(0)], 1))["main"](aotc.to_dlpack(array))
    assert (found.dtype, found.shape) == (array.dtype, (2, 3)) and np.shares_memory(found, array)


@pytest.mark.parametrize("places", [1, 3])
def test_g20_each_extent_has_one_place(places: int) -> None:
    def emit(ib: ExecBuilder) -> None:
        ib.emit_call("vm.builtin.alloc_shape_heap", [ib.imm(4)], dst=ib.r(0))
        ib.emit_call("vm.builtin.make_shape", [ib.imm(5), ib.imm(6)], dst=ib.r(1))
        ib.emit_call("vm.builtin.store_shape", [ib.r(1), ib.r(0), *map(ib.imm, range(places))])
        ib.emit_ret(ib.r(0))

    with pytest.raises(VMError, match=rf"operand 0 \(%1\): a shape of 2 extents for {places} places"):
        VirtualMachine(program(emit))["main"]()


def test_g22_shapes_are_values() -> None:
    executable = one_call("vm.builtin.make_shape", lambda ib: [ib.r(0), ib.imm(7)], 1)
    shape = VirtualMachine(executable)["main"](np.int64(3))
    assert shape == ShapeTuple([3, 7])
    for extent in (-1, -2, -(1 << 63)):
        with pytest.raises(VMError, match=rf"operand 0 \(%0\): {extent} is not within 0 to"):
            VirtualMachine(executable)["main"](extent)
    move = VirtualMachine(one_call("vm.builtin.move", lambda ib: [ib.r(0)], 1))["main"]
    assert move(shape) is shape
    for wrong in ([-1], [1 << 63]):
        with pytest.raises(ValueError, match="is no shape"):
            ShapeTuple(wrong)


def test_g20_match_shape_with_every_code() -> None:
    def emit(ib: ExecBuilder) -> None:
        ib.emit_call("vm.builtin.alloc_shape_heap", [ib.imm(3)], dst=ib.r(1))
        pairs = [(1, 2), (3, 2), (0, 5), (2, 0)]
        ib.emit_call("vm.builtin.match_shape", [ib.r(0), ib.r(1), *(ib.imm(n) for pair in pairs for n in pair)])
        ib.emit_call("vm.builtin.load_shape", [ib.r(1), ib.imm(2)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))

    main = VirtualMachine(program(emit, 1))["main"]
    assert main(np.zeros((4, 4, 5, 9))) == (4,) and main(ShapeTuple([6, 6, 5, 0])) == (6,)
    for wrong in ((4, 3, 5, 9), (4, 4, 6, 9)):
        with pytest.raises(VMError, match="expected"):
            main(np.zeros(wrong))


def test_g21_a_compiled_function_computes_shapes_on_the_heap() -> None:
    """(j, k) = (m + 1, 2 n): m and n are stored, compiled code computes on the whole heap, j and k are loaded."""
    heap, out = (helper.make_tensor_value_info(name, TensorProto.INT64, [4]) for name in ("heap", "out"))
    constants = {"m": [0], "n": [1], "one": [1], "two": [2]}
    nodes = [
        helper.make_node("Gather", ["heap", "m"], ["hm"]),
        helper.make_node("Gather", ["heap", "n"], ["hn"]),
        helper.make_node("Add", ["hm", "one"], ["j"]),
        helper.make_node("Mul", ["hn", "two"], ["k"]),
        helper.make_node("Concat", ["hm", "hn", "j", "k"], ["out"], axis=0),
    ]
    initializers = [helper.make_tensor(name, TensorProto.INT64, [1], value) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "shapes", [heap], [out], initializers)
    compiled = aotc.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))

    def compute(values: np.ndarray) -> None:
        values[...] = compiled(values)["out"]

    def emit(ib: ExecBuilder) -> None:
        ib.emit_call("vm.builtin.alloc_shape_heap", [ib.imm(4)], dst=ib.r(1))
        ib.emit_call("vm.builtin.match_shape", [ib.r(0), ib.r(1), *map(ib.imm, (1, 0, 1, 1))])
        ib.emit_call("shape_func", [ib.r(1)])
        ib.emit_call("vm.builtin.load_shape", [ib.r(1), ib.imm(2), ib.imm(3)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))

    main = VirtualMachine(program(emit, 1), {"shape_func": compute})["main"]
    assert main(np.zeros((3, 5))) == (4, 10) and main(np.zeros((0, 7))) == (1, 14)


# --- memory ----------------------------------------------------------------------------------------------------------


def test_g19_the_state_has_allocators_with_statistics(collect: Callable[[], object]) -> None:
    """G20: storage of an allocator by number, tensors on it; memory counts until the last tensor is gone."""

    def emit(ib: ExecBuilder) -> None:
        ib.emit_call("vm.builtin.alloc_storage", [ib.vm_state(), ib.imm(64), ib.imm(1)], dst=ib.r(1))
        ib.emit_call("vm.builtin.alloc_tensor", [ib.r(1), ib.imm(16), ib.r(0), np.dtype("float32")], dst=ib.r(2))
        ib.emit_ret(ib.r(2))

    vm = VirtualMachine(program(emit, 1), allocators=[Allocator(), Allocator(limit=100)])
    first, second = (allocator.statistics for allocator in vm.state.allocators)
    tensor = vm["main"](ShapeTuple([3, 4]))
    assert tensor.shape == (3, 4) and tensor.dtype == np.float32 and not tensor.any()
    assert (second.allocations, second.live, second.peak, first.allocations) == (1, 64, 64, 0)
    with pytest.raises(VMError, match=r"operand 1 \(i64\): there is no memory: 64 bytes beside 64 are more than"):
        vm["main"](ShapeTuple([1]))
    del tensor
    collect()
    assert (second.live, second.peak, second.total) == (0, 64, 64)
    with pytest.raises(VMError, match=r"operand 2 .*float32\[4, 4\] ends at byte 80 of storage of 64"):
        vm["main"](ShapeTuple([4, 4]))


@pytest.mark.parametrize(
    "operands, wrong",
    [
        ((1, 1), "there is no allocator 1; the machine has 1"),
        ((5, 1), "there is no allocator 5; the machine has 1"),
        ((-1, 1), "no allocator -1"),
        ((0, -1), "is not within"),
    ],
)
def test_g19_what_no_allocator_gives(operands: tuple[int, int], wrong: str) -> None:
    which, size = operands
    executable = one_call("vm.builtin.alloc_storage", lambda ib: [ib.vm_state(), ib.imm(size), ib.imm(which)])
    with pytest.raises(VMError, match=wrong):
        VirtualMachine(executable)["main"]()


def test_g23_a_users_function_takes_the_state_of_the_machine() -> None:
    """G23: at any place among its operands; it is the state of the machine that calls, whose allocators it may use."""

    @register("test.vm.scratch", override=True)
    def scratch(size: int, state: VMState, which: int) -> np.ndarray:
        return state.allocators[which].allocate(size).memory

    def emit(ib: ExecBuilder) -> None:
        ib.emit_call("test.vm.scratch", [ib.imm(24), ib.vm_state(), ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))

    executable = program(emit, 1)
    machines = [VirtualMachine(executable, allocators=[Allocator(), Allocator(limit=30)]) for _ in range(2)]
    found = machines[1]["main"](1)
    assert found.nbytes == 24
    used = [[each.statistics.live for each in machine.state.allocators] for machine in machines]
    assert used == [[0, 0], [0, 24]]
    with pytest.raises(VMError, match=r"test\.vm\.scratch.*MemoryError: 24 bytes beside 24"):
        machines[1]["main"](1)
    with pytest.raises(VMError, match=r"main, instruction 0.*IndexError"):
        machines[0]["main"](2)


def test_g20_more_than_there_is_of_memory() -> None:
    executable = one_call("vm.builtin.alloc_storage", lambda ib: [ib.vm_state(), ib.imm((1 << 63) - 1)])
    with pytest.raises(VMError, match="there is no memory"):
        VirtualMachine(executable)["main"]()


def test_tensors_are_aligned_within_storage() -> None:
    def emit(ib: ExecBuilder) -> None:
        ib.emit_call("vm.builtin.alloc_storage", [ib.vm_state(), ib.imm(64)], dst=ib.r(1))
        ib.emit_call("vm.builtin.alloc_tensor", [ib.r(1), ib.imm(2), ib.r(0), np.dtype("float32")], dst=ib.r(1))
        ib.emit_ret(ib.r(1))

    with pytest.raises(VMError, match="byte 2 is no multiple of 4"):
        VirtualMachine(program(emit, 1))["main"](ShapeTuple([1]))


def test_g20_move_and_print(capsys: pytest.CaptureFixture[str]) -> None:
    def emit(ib: ExecBuilder) -> None:
        ib.emit_call("vm.builtin.move", [ib.r(0)], dst=ib.r(1))
        ib.emit_call("vm.builtin.print", [ib.r(1)])
        ib.emit_ret(ib.r(1))

    value = np.arange(3)
    assert VirtualMachine(program(emit, 1))["main"](value) is value
    assert capsys.readouterr().out == "[0 1 2]\n"


def test_g17_a_compiled_model_is_a_packed_function() -> None:
    """The kernels are compiled; bytecode says which shape runs which."""
    models = {}
    for size in (4, 8):
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [size]) for name in ("x", "y"))
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", [x], [y])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.checker.check_model(model)
        compiled = aotc.compile(model)
        models[f"relu{size}"] = lambda x, compiled=compiled: compiled(x)["y"]
    ib = ExecBuilder()
    with ib.function("relu", num_inputs=1):
        ib.emit_call("vm.builtin.shape_of", [ib.r(0)], dst=ib.r(1))
        ib.emit_call("vm.builtin.alloc_shape_heap", [ib.imm(1)], dst=ib.r(2))
        ib.emit_call("vm.builtin.store_shape", [ib.r(1), ib.r(2), ib.imm(0)])
        ib.emit_call("vm.builtin.read", [ib.r(2)], dst=ib.r(3))
        ib.emit_call("vm.builtin.equal", [ib.r(3), ib.imm(4)], dst=ib.r(3))
        ib.emit_if(ib.r(3), 3)
        ib.emit_call("relu4", [ib.r(0)], dst=ib.r(4))
        ib.emit_ret(ib.r(4))
        ib.emit_call("relu8", [ib.r(0)], dst=ib.r(4))
        ib.emit_ret(ib.r(4))
    relu = VirtualMachine(ib.get(), models)["relu"]
    for size in (4, 8):
        x = np.linspace(-1, 1, size, dtype="float32")
        np.testing.assert_array_equal(relu(x), np.maximum(x, 0))
    with pytest.raises(VMError, match=r"relu, instruction 8 \(call relu8 .*has shape \[5\], expected float32\[8\]"):
        relu(np.zeros(5, "float32"))


def test_places_are_in_one_workspace() -> None:
    """Tensors that overlap there share memory; it counts as the first allocator's."""

    def emit(ib: ExecBuilder) -> None:
        ib.emit_call("fill", [place(8, "int16", [4])])
        ib.emit_call("vm.builtin.move", [place(8, "int8", [2, 2])], dst=ib.r(0))
        ib.emit_ret(ib.r(0))

    def fill(x: np.ndarray) -> None:
        x[...] = [0x0102, 0x0304, 5, 6]

    vm = VirtualMachine(program(emit), {"fill": fill})
    assert vm.executable.workspace_bytes == 16 and vm["main"]().tolist() == [[2, 1], [4, 3]]
    with pytest.raises(VMError, match="no workspace of 16 bytes"):
        VirtualMachine(vm.executable, {"fill": fill}, allocators=[Allocator(limit=10)])
    with pytest.raises(ValueError, match="byte 3 of the workspace is no place for int16"):
        place(3, "int16", [1])
