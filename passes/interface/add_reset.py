"""Add a function that gives the states, which the workspace keeps from one call to the next, their first values, and
forgets the rows of an input that have come.

```mlir
func.func @aotc_kws_run(%x: !aot.ptr<f32> {aot.io = "input", ..}, ..) -> i32
    attributes {aot.states = [{aot.name = "h", aot.offset = 64, aot.shape = array<i64: 8>, ..}], ..} {
  %ws = aot.workspace : memref<256xi8>
  ..
```
becomes
```mlir
func.func @aotc_kws_run(..) -> i32 { .. }
func.func @aotc_kws_reset() -> i32 {
  %ws = aot.workspace : memref<256xi8>
  %h = memref.view %ws[%c64][] : memref<256xi8> to memref<8xf32>
  scf.for %i = .. { memref.store %zero, %h[%i] }      // or what `aot.weight` of `aot.initial` has there
  func.return %c0 : i32
}
```
Where the workspace is the caller's, it is the function's argument. Constants of first values are not the model's
weights: they stay embedded.
"""

from math import prod

from xdsl.builder import ImplicitBuilder
from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, MemRefType, ModuleOp, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from aotc.dialects.aot import VOID_PTR, WeightOp, contract
from aotc.dialects.dtypes import element_type, storage_type
from aotc.model.conventions import reset_symbol
from aotc.passes.interface.element_loops import buffer_at, copy_elements, element_loop, index_constant, workspace


class AddResetPass(ModulePass):
    name = "add-reset"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if contract.is_stateful(contract.entry(op)):
            op.body.block.add_op(_reset(op))


def _reset(module: ModuleOp) -> FuncOp:
    main = contract.entry(module)
    sizes = contract.plan_of(module).arenas
    arguments = contract.workspace_arguments(module) if contract.WORKSPACE.require(module) == "caller" else []
    function = FuncOp(reset_symbol(contract.model_name(module)), ([VOID_PTR for _ in arguments], [i32]))
    contract.set_signature(function, arguments, [i32])
    for given, argument in zip(function.args, arguments, strict=True):
        given.name_hint = argument.pool or "workspace"
    with ImplicitBuilder(function.body):
        found = dict[str, SSAValue]()

        def arena(pool: str) -> SSAValue:
            if pool not in found:
                given = function.args[list(sizes).index(pool)] if arguments else None
                found[pool] = workspace(sizes[pool], given, pool)
            return found[pool]

        for state in contract.states_of(main):
            if count := prod(state.shape):
                _restore(arena(state.pool), state, count)
        if (place := contract.PUSHED.get(main)) is not None:
            pushed = buffer_at(arena(place.pool), place.offset, MemRefType(i32, [3]))
            memref.StoreOp.get(arith.ConstantOp.from_int_and_width(0, 32), pushed, [index_constant(contract.CAME)])
        ReturnOp(arith.ConstantOp.from_int_and_width(0, 32))
    return function


def _restore(arena: SSAValue, state: contract.State, count: int) -> None:
    """Store the first value of one state."""
    kind = MemRefType(storage_type(element_type(state.dtype)), [count])
    buffer = buffer_at(arena, state.offset, kind)
    if state.initial is None:
        value = arith.ConstantOp(_zero(kind.element_type)).result
        with ImplicitBuilder(element_loop(count).body) as (place,):
            memref.StoreOp.get(value, buffer, [place])
            scf.YieldOp()
        return
    first = WeightOp(state.initial, kind).result
    first.name_hint = "first"
    copy_elements(first, buffer, count)


def _zero(kind: Attribute) -> IntegerAttr | FloatAttr:
    if isinstance(kind, IntegerType):
        return IntegerAttr(0, kind)
    assert isinstance(kind, AnyFloat)
    return FloatAttr(0.0, kind)
