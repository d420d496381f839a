"""Add a function that runs the model on recorded inputs and compares its outputs with recorded ones.

```mlir
builtin.module attributes {aot.selftest = {inputs = ["selftest_x"], outputs = ["selftest_y"], tolerances = [1e-3]}} {
  func.func @aotc_kws_run(%x: !aot.ptr<f32> {aot.io = "input", ..}, %y: !aot.ptr<f32> {aot.io = "output", ..}) -> i32 {
    %ws = aot.workspace : memref<256xi8>
    ..
```
becomes
```mlir
  func.func @aotc_kws_run(..) -> i32 { %ws = aot.workspace : memref<288xi8> .. }
  func.func @aotc_kws_selftest() -> i32 attributes {aot.selftest} {
    %x = aot.weight "selftest_x" : memref<64xf32>
    %ws = aot.workspace : memref<288xi8>
    %y = memref.view %ws[%c256][] : memref<288xi8> to memref<8xf32>
    %s = func.call @aotc_kws_run(%x, %y)
    aot.check %s
    %want = aot.weight "selftest_y" : memref<8xf32>
    %wrong = scf.for %i = .. iter_args(%first = 0) -> (i32) { .. }     // the first element that differs, from 1
    aot.check %wrong
```
Outputs get room at the end of the workspace; with inputs and outputs in the workspace they are used where they are.
States are reset first. The function takes what else the entry takes (workspace, weights, resource handle) and returns
0, the entry's status, or the number of the first element that differs, counted from 1 through all outputs. Floats may
differ by their tolerance, quantised integers of up to 16 bits by one unit, others not at all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import cast

from xdsl.builder import ImplicitBuilder
from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, Float64Type, FloatAttr, IntegerType, MemRefType, ModuleOp, f32, i1, i32
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.aot import CheckOp, DataOp, NullOp, PtrType, WeightOp, WorkspaceOp, contract
from aotc.dialects.dtypes import byte_width, element_type, storage_type
from aotc.model.conventions import operator_symbol, reset_symbol
from aotc.model.metadata import BufferInfo
from aotc.passes.interface.element_loops import buffer_at, copy_elements, element_loop, index_constant, workspace


class AddSelftestPass(ModulePass):
    name = "add-selftest"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if (recorded := contract.RECORDED.get(op)) is not None:
            op.body.block.add_op(_Selftest(op, recorded).function())


@dataclass(frozen=True)
class _Tensor:
    """An input or output: the key of its recorded value, dtype, number of elements, and place in the workspace."""

    key: str
    dtype: str
    count: int
    io: str
    quantized: bool
    tolerance: float
    offset: int | None

    @property
    def element(self) -> Attribute:
        """The type of an element in memory, where integers have no sign."""
        return storage_type(element_type(self.dtype))

    @property
    def kind(self) -> MemRefType:
        """The type of the tensor as a flat buffer."""
        return MemRefType(self.element, [self.count])

    def recorded(self) -> SSAValue:
        """Its recorded value."""
        value = WeightOp(self.key, self.kind).result
        value.name_hint = "recorded"
        return value


class _Selftest:
    def __init__(self, module: ModuleOp, recorded: contract.Recorded) -> None:
        self.module = module
        self.main = contract.entry(module)
        self.inside = contract.has_tensors_in_workspace(self.main)
        self.tensors = list(_tensors(self.main, recorded))
        if not self.inside:
            self._make_room()

    def _make_room(self) -> None:
        """Give each output a place at the end of the workspace."""
        plan = contract.plan_of(self.module)
        end = plan.peak_bytes
        buffers = list(plan.buffers)
        for position, tensor in enumerate(self.tensors):
            if tensor.io == "output":
                start = -(-end // plan.alignment) * plan.alignment
                end = start + tensor.count * byte_width(tensor.element)
                self.tensors[position] = replace(tensor, offset=start)
                last = max(0, len(plan.order) - 1)
                buffers.append(BufferInfo(tensor.key, start, end - start, 0, last, ()))
        grown, count = end - plan.peak_bytes, len(plan.buffers)
        lower_bound = plan.lower_bound_bytes + grown
        behind = len(buffers) - count
        values = tuple(replace(each, buffer=each.buffer + behind * (each.buffer >= count)) for each in plan.values)
        plan = replace(plan, peak_bytes=end, lower_bound_bytes=lower_bound, buffers=tuple(buffers), values=values)
        contract.PLAN.set(self.module, plan)
        contract.set_sizes(self.main, replace(contract.sizes_of(self.main), workspace=end))
        for op in [op for op in self.module.walk() if isinstance(op, WorkspaceOp)]:
            Rewriter.replace_op(op, WorkspaceOp(end))

    def function(self) -> FuncOp:
        """The self-test."""
        arguments = contract.arguments_of(self.main)
        passed = [(n, each.io) for n, each in enumerate(arguments) if each.dimension is None]
        others = {n: io for n, io in passed if io not in ("input", "output")}
        kinds = [self.main.args[n].type for n in others]
        function = FuncOp(operator_symbol(contract.model_name(self.module), "selftest"), (kinds, [i32]))
        contract.SELFTEST.set(function)
        for argument, io in zip(function.args, others.values(), strict=True):
            argument.name_hint = io
        contract.set_signature(function, [arguments[n] for n in others], [i32])
        with ImplicitBuilder(function.body):
            self._write(dict(zip(others.values(), function.args, strict=True)), others)
        return function

    def _write(self, given: Mapping[str | None, SSAValue], others: Mapping[int, str | None]) -> None:
        """The body: `given` are the arguments, by their roles; `others` the roles of those of the entry that it takes,
        too."""
        buffers = self._buffers(given.get("workspace"))
        if self.inside:
            for tensor, buffer in zip(self.tensors, buffers, strict=True):
                if tensor.io == "input" and tensor.count:
                    copy_elements(tensor.recorded(), buffer, tensor.count)
        passed, arguments = iter(buffers), contract.arguments_of(self.main)
        values = [
            given[others[n]] if n in others else _data(next(passed), argument.type)
            for n, argument in enumerate(self.main.args)
            if arguments[n].dimension is None
        ]
        if contract.is_stateful(self.main):
            arena = [given["workspace"]] if "workspace" in given else []
            CheckOp(CallOp(reset_symbol(contract.model_name(self.module)), arena, [i32]).results[0])
        self._run(values)
        number = 0
        for tensor, buffer in zip(self.tensors, buffers, strict=True):
            if tensor.io == "output":
                if tensor.count:
                    CheckOp(_first_difference(tensor, buffer, number))
                number += tensor.count
        ReturnOp(arith.ConstantOp.from_int_and_width(0, 32))

    def _run(self, values: list[SSAValue]) -> None:
        """Call the entry, with what comes by rows as often as that takes."""
        arguments = contract.arguments_of(self.main)
        place = next((place for place, each in enumerate(arguments) if each.rows is not None), None)
        if place is None:
            CheckOp(CallOp(self.main.sym_name.data, values, [i32]).results[0])
            return
        tensor = arguments[place].tensor()
        most, count = tensor.rows, tensor.row_count
        data = values[place].owner
        assert most is not None and isinstance(data, DataOp)
        recorded = data.buffer
        kind = cast(MemRefType, recorded.type)
        row = kind.element_count() // count
        low, high, step = map(index_constant, (0, count, most))
        loop = scf.ForOp(low, high, step, [], Region(Block(arg_types=[low.type])))
        with ImplicitBuilder(loop.body) as (first,):
            start = arith.MuliOp(first, index_constant(row))
            some = MemRefType(kind.element_type, [most * row])
            view = memref.ReinterpretCastOp(recorded, [start.result], [], [], [DYNAMIC_INDEX], [most * row], [1], some)
            left = arith.SubiOp(high, first)
            rows = arith.IndexCastOp(arith.MinSIOp(left, step), i32)
            given = [*values[:place], DataOp(view.result).result, rows.result, *values[place + 1 :]]
            status = CallOp(self.main.sym_name.data, given, [i32]).results[0]
            CheckOp(arith.MinSIOp(status, arith.ConstantOp.from_int_and_width(0, 32)))
            scf.YieldOp()

    def _buffers(self, given: SSAValue | None) -> list[SSAValue]:
        """The buffer of each tensor: its recorded value, or its place in the workspace."""
        arena: SSAValue | None = None
        buffers: list[SSAValue] = []
        for tensor in self.tensors:
            if tensor.offset is None:
                buffers.append(tensor.recorded())
                continue
            arena = arena or workspace(contract.plan_of(self.module).peak_bytes, given)
            buffers.append(buffer_at(arena, tensor.offset, tensor.kind))
        return buffers


def _tensors(main: FuncOp, recorded: contract.Recorded) -> Iterator[_Tensor]:
    keys = {"input": iter(recorded.inputs), "output": iter(recorded.outputs)}
    tolerances = iter(recorded.tolerances)
    for tensor in contract.tensors_of(main):
        yield _Tensor(
            key=next(keys[tensor.io]),
            dtype=tensor.dtype,
            count=prod(tensor.shape),
            io=tensor.io,
            quantized=tensor.scale is not None,
            tolerance=next(tolerances) if tensor.io == "output" else 0.0,
            offset=tensor.offset,
        )


def _data(buffer: SSAValue, kind: Attribute) -> SSAValue:
    assert isinstance(kind, PtrType) and isinstance(buffer.type, MemRefType)
    return (NullOp(kind) if buffer.type.element_count() == 0 else DataOp(buffer)).result


# --- comparisons -----------------------------------------------------------------------------------------------------


def _first_difference(tensor: _Tensor, got: SSAValue, before: int) -> SSAValue:
    """The number of the first element that differs from the recorded one, `before` elements having come before the
    tensor; 0 for none."""
    want, zero = tensor.recorded(), arith.ConstantOp.from_int_and_width(0, 32)
    loop = element_loop(tensor.count, [zero.result])
    with ImplicitBuilder(loop.body) as (place, found):
        differs = _differs(tensor, *(memref.LoadOp.get(buffer, [place]).res for buffer in (got, want)))
        none_yet = arith.CmpiOp(found, zero, "eq")
        number = arith.AddiOp(arith.IndexCastOp(place, i32), arith.ConstantOp.from_int_and_width(before + 1, 32))
        scf.YieldOp(arith.SelectOp(arith.AndIOp(differs, none_yet), number, found))
    return loop.results[0]


def _differs(tensor: _Tensor, got: SSAValue, want: SSAValue) -> SSAValue:
    if not isinstance(tensor.element, IntegerType):
        return _floats_differ(tensor.tolerance, got, want)
    if not tensor.quantized or tensor.element.width.data > 16:
        return arith.CmpiOp(got, want, "ne").result
    # a minifloat's neighbour is the next encoding
    widen = arith.ExtSIOp if tensor.dtype.startswith("int") else arith.ExtUIOp
    x, y = (widen(value, i32) for value in (got, want))
    one, two = (arith.ConstantOp.from_int_and_width(value, 32) for value in (1, 2))
    return arith.CmpiOp(arith.AddiOp(arith.SubiOp(x, y), one), two, "ugt").result


def _floats_differ(tolerance: float, got: SSAValue, want: SSAValue) -> SSAValue:
    """Neither equal, nor both not a number, nor within the tolerance."""
    if byte_width(got.type) < 4:
        got, want = (arith.ExtFOp(value, f32).result for value in (got, want))
    kind = cast(Float64Type, got.type)
    most, least = (arith.ConstantOp(FloatAttr(sign * tolerance, kind)) for sign in (1, -1))
    difference = arith.SubfOp(got, want)
    is_near = arith.AndIOp(arith.CmpfOp(difference, most, "ole"), arith.CmpfOp(difference, least, "oge"))
    is_equal = arith.CmpfOp(got, want, "oeq")
    are_nan = arith.AndIOp(arith.CmpfOp(got, got, "uno"), arith.CmpfOp(want, want, "uno"))
    agree = arith.OrIOp(arith.OrIOp(is_near, is_equal), are_nan)
    return arith.XOrIOp(agree, arith.ConstantOp.from_int_and_width(1, i1)).result
