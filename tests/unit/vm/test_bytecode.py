"""IR to bytecode: entries of real models run by the machine, registers allocated to random programs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region, SSAValue

import aotc
from aotc.compiler.lowering import import_source, new_context, run_phases
from aotc.dialects import vm
from aotc.emit.bytecode import executable_of
from aotc.errors import UsageError
from aotc.executor import RunError
from aotc.model.weight_store import WeightStore
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PassRunner
from aotc.vm import Executable, VirtualMachine, VMError

MODELS = Path(__file__).parents[2] / "models" / "data"
TO_BYTECODE = "convert-entry-to-vm,allocate-registers"


def bytecode_of(path: Path, options: CompileOptions) -> Executable:
    """The entry of a model after `plan` as bytecode; kernels by their symbols in C."""
    compilation = import_source(path, options)
    run_phases(compilation)
    named = "select-calling-convention{interface-api=packed operator-api=cpacked},mangle-symbols{export-operators=true}"
    PassRunner(compilation.ctx).run("interface", f"{named},{TO_BYTECODE}", compilation.module)
    return executable_of(compilation.module, compilation.store)


@pytest.mark.parametrize("name", ["kws_int8", "micro_speech_int8", "ic_resnet_float"])
def test_g17_the_entry_of_a_model_in_bytecode_calls_its_compiled_kernels(name: str, tmp_path: Path) -> None:
    """The same bits as the compiled entry; the executable goes through a file."""
    model = MODELS / name / "model.onnx"
    options = {"interface_api": "packed", "operator_api": "cpacked", "export_operators": True}
    aotc.compile_to(model, tmp_path, name="m", emit="shared", **options)
    library = aotc.load(tmp_path / "m.so")
    executable = bytecode_of(model, CompileOptions(name="m", stop_after="plan", **options))
    executable.save(tmp_path / "m.vm")
    machine = VirtualMachine(Executable.load(tmp_path / "m.vm"), library)
    with np.load(MODELS / name / "inputs.npz") as inputs:
        given = [inputs[tensor.name] for tensor in library.inputs]
    results = [np.empty(tensor.shape, tensor.dtype) for tensor in library.outputs]
    expected = library(*given)
    for _ in range(2):
        returned = machine[executable.global_funcs[0].name](*given, *results)
    assert returned is results[0]
    for tensor, result in zip(library.outputs, results, strict=True):
        assert result.tobytes() == expected[tensor.name].tobytes()
    with pytest.raises(VMError, match=r"instruction 0.*operand 0.*\[failed-call\]"):
        machine[executable.global_funcs[0].name](*(np.zeros(3, each.dtype) for each in given), *results)


def test_kernels_refuse_tensors_that_they_are_not_compiled_for(tmp_path: Path) -> None:
    options = {"interface_api": "packed", "operator_api": "cpacked"}
    model = MODELS / "kws_int8" / "model.onnx"
    aotc.compile_to(model, tmp_path, name="m", emit="shared", export_operators=True, **options)
    functions = aotc.load(tmp_path / "m.so").packed_functions()
    softmax = next(function for name, function in functions.items() if "softmax" in name)
    with pytest.raises(RunError, match="failed-run"):
        softmax(np.zeros(3, "int8"))
    with pytest.raises(ValueError, match="takes contiguous tensors"):
        softmax(np.zeros((4, 4), "int8")[:, 1:])
    with pytest.raises(UsageError, match="not-callable"):
        aotc.compile(model).packed_functions()


# --- registers -------------------------------------------------------------------------------------------------------


def random_function(rng: random.Random) -> vm.FuncOp:
    """A loop that ends, around random calls, branches and values that change places; it returns one of them."""
    body = Region(Block(arg_types=[vm.REGISTER] * rng.randint(1, 4)))
    first = body.block

    def block(arguments: int) -> Block:
        made = Block(arg_types=[vm.REGISTER] * arguments)
        body.add_block(made)
        return made

    def calls(at: Block, values: list[SSAValue]) -> None:
        for _ in range(rng.randint(0, 4)):
            number = vm.ImmediateOp(rng.randint(-3, 3))
            call = vm.CallOp("vm.builtin." + rng.choice(["add", "sub", "mul"]), [rng.choice(values), number.result])
            both = vm.CallOp("vm.builtin.add", [rng.choice(values), rng.choice(values)])
            at.add_ops([number, call, both])
            assert call.result is not None and both.result is not None
            values += [call.result, both.result]

    values: list[SSAValue] = list(first.args)
    calls(first, values)
    zero = vm.ImmediateOp(0)
    start = vm.CallOp("vm.builtin.move", [zero.result])
    assert start.result is not None
    first.add_ops([zero, start])
    carried = rng.randint(1, 4)
    head, then, otherwise, after, end = block(1 + carried), block(0), block(0), block(carried), block(0)
    first.add_op(vm.GotoOp(head, [start.result, *rng.choices(values, k=carried)]))
    most = vm.ImmediateOp(rng.randint(0, 3))
    more = vm.CallOp("vm.builtin.less", [head.args[0], most.result])
    assert more.result is not None
    in_loop = [*values, *head.args[1:]]
    head.add_ops([most, more])
    calls(head, in_loop)
    inner = block(0)
    head.add_op(vm.IfOp(more.result, inner, end))
    inner.add_op(vm.IfOp(rng.choice(in_loop), then, otherwise))
    for side in (then, otherwise):
        mine = list(in_loop)
        calls(side, mine)
        side.add_op(vm.GotoOp(after, rng.sample(mine, carried) if len(mine) >= carried else [mine[0]] * carried))
    one = vm.ImmediateOp(1)
    following = vm.CallOp("vm.builtin.add", [head.args[0], one.result])
    assert following.result is not None
    after.add_ops([one, following])
    passed = list(after.args)
    rng.shuffle(passed)
    after.add_op(vm.GotoOp(head, [following.result, *passed]))
    end.add_op(vm.ReturnOp(rng.choice(in_loop)))
    return vm.FuncOp("main", body)


def interpreted(function: vm.FuncOp, arguments: list[int]) -> int:
    """The result of a function in SSA form, without any registers."""
    known: dict[SSAValue, int] = dict(zip(function.args, arguments, strict=True))
    block = function.body.blocks.first
    assert block is not None
    compute = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}
    compute |= {"less": lambda a, b: int(a < b), "move": lambda a: a}
    while True:
        for op in block.ops:
            match op:
                case vm.ImmediateOp():
                    known[op.result] = op.value
                case vm.CallOp():
                    assert op.result is not None
                    value = compute[op.callee.data.split(".")[-1]](*(known[each] for each in op.arguments))
                    known[op.result] = (value + (1 << 63)) % (1 << 64) - (1 << 63)
                case vm.GotoOp():
                    known |= dict(zip(op.target.args, [known[each] for each in op.arguments], strict=True))
                    following: Any = op.target
                case vm.IfOp():
                    following = op.then_block if known[op.condition] else op.else_block
                case vm.ReturnOp():
                    return known[op.value]
                case _:
                    raise AssertionError(op.name)
        block = following


@pytest.mark.parametrize("seed", range(40))
def test_g8_registers_of_random_programs(seed: int) -> None:
    """A program runs with registers as the SSA form says, and there are about as many as values alive at once."""
    rng = random.Random(seed)
    function = random_function(rng)
    module = ModuleOp([function])
    module.verify()
    count = len(function.args)
    cases = [[rng.randint(-5, 5) for _ in range(count)] for _ in range(4)]
    expected = [interpreted(function, case) for case in cases]
    PassRunner(new_context()).run("test", "allocate-registers", module)
    module.verify()
    executable = executable_of(module, WeightStore())
    machine = VirtualMachine(executable, most_jumps=1000)
    assert [machine["main"](*case) for case in cases] == expected


def test_g8_a_long_straight_function_takes_few_registers() -> None:
    block = Block(arg_types=[vm.REGISTER])
    value: SSAValue = block.args[0]
    for _ in range(1000):
        call = vm.CallOp("vm.builtin.add", [value, value])
        block.add_op(call)
        assert call.result is not None
        value = call.result
    block.add_op(vm.ReturnOp(value))
    module = ModuleOp([vm.FuncOp("main", Region(block))])
    PassRunner(new_context()).run("test", "allocate-registers", module)
    assert executable_of(module, WeightStore()).function("main").register_file_size == 1
