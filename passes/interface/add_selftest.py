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

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import Float64Type, FloatAttr, IntegerAttr, IntegerType, MemRefType, ModuleOp, f32, i1, i32
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot import BufferOp, CheckOp, DataOp, NullOp, PtrType, WeightOp, WorkspaceOp, contract
from aotc.dialects.dtypes import byte_width, element_type, storage_type
from aotc.model.conventions import operator_symbol, reset_symbol
from aotc.model.metadata import BufferInfo
from aotc.passes.interface.element_loops import copy_elements, element_loop


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
        grown = end - plan.peak_bytes
        lower_bound = plan.lower_bound_bytes + grown
        plan = replace(plan, peak_bytes=end, lower_bound_bytes=lower_bound, buffers=tuple(buffers))
        contract.PLAN.set(self.module, plan)
        contract.set_sizes(self.main, replace(contract.sizes_of(self.main), workspace=end))
        for op in [op for op in self.module.walk() if isinstance(op, WorkspaceOp)]:
            Rewriter.replace_op(op, WorkspaceOp(end))

    def function(self) -> FuncOp:
        """The self-test."""
        arguments = contract.arguments_of(self.main)
        others = {n: each.io for n, each in enumerate(arguments) if each.io not in ("input", "output")}
        kinds = [self.main.args[n].type for n in others]
        function = FuncOp(operator_symbol(contract.model_name(self.module), "selftest"), (kinds, [i32]))
        contract.SELFTEST.set(function)
        block = function.body.block
        for argument, io in zip(block.args, others.values(), strict=True):
            argument.name_hint = io
        contract.set_signature(function, [arguments[n] for n in others], [i32])
        build = Builder(InsertPoint.at_end(block))
        given = dict(zip(others.values(), block.args, strict=True))
        buffers = self._buffers(build, given.get("workspace"))
        if self.inside:
            for tensor, buffer in zip(self.tensors, buffers, strict=True):
                if tensor.io == "input" and tensor.count:
                    copy_elements(build, _recorded(build, tensor), buffer, tensor.count)
        passed = iter(buffers)
        values = [
            given[others[n]] if n in others else _data(build, next(passed), argument.type)
            for n, argument in enumerate(self.main.args)
        ]
        if contract.states_of(self.main):
            workspace = [given[io] for io in others.values() if io == "workspace"]
            reset = CallOp(reset_symbol(contract.model_name(self.module)), workspace, [i32])
            build.insert(CheckOp(build.insert(reset).results[0]))
        status = build.insert(CallOp(self.main.sym_name.data, values, [i32])).results[0]
        build.insert(CheckOp(status))
        number = 0
        for tensor, buffer in zip(self.tensors, buffers, strict=True):
            if tensor.io == "output":
                if tensor.count:
                    build.insert(CheckOp(_first_difference(build, tensor, buffer, _recorded(build, tensor), number)))
                number += tensor.count
        build.insert(ReturnOp(build.insert(arith.ConstantOp.from_int_and_width(0, 32)).result))
        return function

    def _buffers(self, build: Builder, workspace: SSAValue | None) -> list[SSAValue]:
        """The buffer of each tensor: its recorded value, or its place in the workspace."""
        size = contract.plan_of(self.module).peak_bytes
        arena: SSAValue | None = None
        buffers: list[SSAValue] = []
        for tensor in self.tensors:
            if tensor.offset is None:
                buffers.append(_recorded(build, tensor))
                continue
            if arena is None:
                kind = WorkspaceOp(size).result.type
                holder = WorkspaceOp(size) if workspace is None else BufferOp(workspace, kind)
                arena = build.insert(holder).result
            place = build.insert(arith.ConstantOp(IntegerAttr.from_index_int_value(tensor.offset)))
            buffers.append(build.insert(memref.ViewOp(arena, place, [], tensor.kind)).result)
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


def _recorded(build: Builder, tensor: _Tensor) -> SSAValue:
    value = build.insert(WeightOp(tensor.key, tensor.kind)).result
    value.name_hint = "recorded"
    return value


def _data(build: Builder, buffer: SSAValue, kind: Attribute) -> SSAValue:
    assert isinstance(kind, PtrType) and isinstance(buffer.type, MemRefType)
    if buffer.type.element_count() == 0:
        return build.insert(NullOp(kind)).result
    return build.insert(DataOp(buffer)).result


# --- comparisons -----------------------------------------------------------------------------------------------------


def _first_difference(build: Builder, tensor: _Tensor, got: SSAValue, want: SSAValue, before: int) -> SSAValue:
    """The number of the first element that differs, `before` elements having come before the tensor; 0 for none."""
    zero = build.insert(arith.ConstantOp.from_int_and_width(0, 32)).result
    loop, body = element_loop(build, tensor.count, [zero])
    index, found = loop.body.block.args
    values = [body.insert(memref.LoadOp.get(buffer, [index])).res for buffer in (got, want)]
    differs = _differs(body, tensor, *values)
    none_yet = body.insert(arith.CmpiOp(found, zero, "eq")).result
    position = body.insert(arith.IndexCastOp(index, i32)).result
    offset = body.insert(arith.ConstantOp.from_int_and_width(before + 1, 32)).result
    number = body.insert(arith.AddiOp(position, offset)).result
    is_first = body.insert(arith.AndIOp(differs, none_yet)).result
    body.insert(scf.YieldOp(body.insert(arith.SelectOp(is_first, number, found)).result))
    return loop.results[0]


def _differs(build: Builder, tensor: _Tensor, got: SSAValue, want: SSAValue) -> SSAValue:
    if not isinstance(tensor.element, IntegerType):
        return _floats_differ(build, tensor.tolerance, got, want)
    if not tensor.quantized or tensor.element.width.data > 16:
        return build.insert(arith.CmpiOp(got, want, "ne")).result
    widen = (
        arith.ExtSIOp if tensor.dtype.startswith("int") else arith.ExtUIOp
    )  # a minifloat's neighbour is the next encoding
    wide = [build.insert(widen(value, i32)).result for value in (got, want)]
    one, two = (build.insert(arith.ConstantOp.from_int_and_width(value, 32)).result for value in (1, 2))
    difference = build.insert(arith.AddiOp(build.insert(arith.SubiOp(wide[0], wide[1])).result, one)).result
    return build.insert(arith.CmpiOp(difference, two, "ugt")).result


def _floats_differ(build: Builder, tolerance: float, got: SSAValue, want: SSAValue) -> SSAValue:
    """Neither equal, nor both not a number, nor within the tolerance."""
    if byte_width(got.type) < 4:
        got, want = (build.insert(arith.ExtFOp(value, f32)).result for value in (got, want))
    kind = cast(Float64Type, got.type)
    most, least = (build.insert(arith.ConstantOp(FloatAttr(sign * tolerance, kind))).result for sign in (1, -1))
    difference = build.insert(arith.SubfOp(got, want)).result
    is_near = build.insert(
        arith.AndIOp(
            build.insert(arith.CmpfOp(difference, most, "ole")).result,
            build.insert(arith.CmpfOp(difference, least, "oge")).result,
        )
    ).result
    is_equal = build.insert(arith.CmpfOp(got, want, "oeq")).result
    are_nan = build.insert(
        arith.AndIOp(
            build.insert(arith.CmpfOp(got, got, "uno")).result, build.insert(arith.CmpfOp(want, want, "uno")).result
        )
    ).result
    agree = build.insert(arith.OrIOp(build.insert(arith.OrIOp(is_near, is_equal)).result, are_nan)).result
    return build.insert(arith.XOrIOp(agree, build.insert(arith.ConstantOp.from_int_and_width(1, i1)).result)).result
