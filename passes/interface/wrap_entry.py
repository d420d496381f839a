"""Add what the application sees: the entry in the convention that was asked for, and the descriptor of the model.

```mlir
func.func @aotc_kws_run(%x: !aot.ptr<f32>, %y: !aot.ptr<f32>, %resource_handle: !aot.ptr<i8>) -> i32
    attributes {aot.entry, aot.convention = #aot<convention micro>} { .. }
```
becomes, for `micro` (for `packed` the wrapper takes argument structures apart and checks them),
```mlir
func.func private @aotc_kws_run(..) -> i32 attributes {aot.entry, aot.convention = #aot<convention c>} { .. }
func.func @aotc_kws_run_micro(%inputs: !aot.ptr<!aot.ptr<i8>>, %outputs: .., %resource_handle: !aot.ptr<i8>) -> i32 {
  %0 = aot.element %inputs[0] : ..
  ..
  %s = func.call @aotc_kws_run(%x, %y, %resource_handle) : ..
  func.return %s
}
aot.global @aotc_kws_model_micro : !aot.struct<"AOTCTypedModel"> = [[@aotc_kws_run_micro, 1 : i32, 1 : i32]]
```
Extents that are open and used, and the number of rows of an input that comes by rows, are those of the DLTensors;
without these, of `micro`, they are an error.
A caller's workspace and weights come behind the tensors: further elements of `inputs`, further packed arguments.
A packed model also gets its metadata as tables, and a table of its packed functions by name. `packed-wrapper` adds the
packed entry to a model with a typed one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr, UnitAttr, i8, i16, i32, i64
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from aotc.dialects import aot
from aotc.dialects.aot import contract
from aotc.errors import CompileError
from aotc.model.conventions import entry_symbol, model_symbol, operator_symbol
from aotc.model.metadata import METADATA_VERSION
from aotc.model.naming import c_identifier
from aotc.passes.interface.packing import PACKED_NAMES, PACKED_TYPES, DLType, Unpacker, return_handle

_HANDLES: Final = aot.PtrType(aot.VOID_PTR)
_CALLER_MEMORY: Final = {"workspace": 1, "weights": 2}
"""The bits of the descriptor's `caller_memory` (kAOTCCallerWorkspace, kAOTCCallerWeights)."""


@dataclass(frozen=True)
class WrapEntryPass(ModulePass):
    name = "wrap-entry"

    packed_wrapper: bool = False
    """Also export a packed entry and its descriptor, so that what calls packed models can call this one."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = contract.entry(op)
        chosen = contract.CONVENTION.get(main)
        contract.CONVENTION.set(main, aot.Convention.C)
        if chosen is aot.Convention.C:
            _describe_typed(op, main, "c")
        else:
            main.properties["sym_visibility"] = StringAttr("private")
        if chosen is aot.Convention.MICRO:
            kinds, names = (_HANDLES, _HANDLES, aot.VOID_PTR), ("inputs", "outputs", "resource_handle")
            _wrap(op, main, "micro", kinds, names, _micro)
            _describe_typed(op, main, "micro")
        if chosen is aot.Convention.PACKED_ENTRY or self.packed_wrapper:
            _wrap(op, main, "packed", PACKED_TYPES, PACKED_NAMES, _packed)
            _describe_packed(op, main)


_Arguments = Callable[[Builder, FuncOp, Sequence[SSAValue]], list[SSAValue]]
"""Makes the arguments of the typed entry out of the wrapper's."""


def _wrap(
    module: ModuleOp,
    main: FuncOp,
    interface: str,
    kinds: Sequence[Attribute],
    names: Sequence[str],
    make: _Arguments,
) -> None:
    """Add the public function of `interface` that calls `main`."""

    def status(build: Builder, given: Sequence[SSAValue]) -> SSAValue:
        return build.insert(CallOp(main.sym_name.data, make(build, main, given), [i32])).results[0]

    wrapper = FuncOp(_symbol(module, main, interface), (kinds, [i32]))
    module.body.block.add_op(_filled(wrapper, names, aot.Convention.of_entry(interface), status))


def _symbol(module: ModuleOp, main: FuncOp, interface: str) -> str:
    return entry_symbol(contract.model_name(module), interface, contract.streamed_of(main))


def _filled(
    function: FuncOp,
    names: Sequence[str],
    convention: aot.Convention,
    status: Callable[[Builder, Sequence[SSAValue]], SSAValue],
) -> FuncOp:
    """A function, with names of its arguments, whose body is what makes its status of these."""
    contract.CONVENTION.set(function, convention)
    block = function.body.block
    for argument, name in zip(block.args, names, strict=True):
        argument.name_hint = name
    contract.set_signature(function, [contract.Argument(name=name) for name in names], [i32])
    build = Builder(InsertPoint.at_end(block))
    build.insert(ReturnOp(status(build, block.args)))
    return function


def _micro(build: Builder, main: FuncOp, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    inputs, outputs, handle = arguments
    taken = {"input": 0, "output": 0}
    passed: list[SSAValue] = []
    for argument, given in zip(main.args, contract.arguments_of(main), strict=True):
        if given.io == "resource_handle":
            passed.append(handle)
            continue
        if given.dimension is not None:
            what, why = f"an extent of {main.sym_name.data} that is open", "pointers do not carry it"
            raise CompileError("open-shapes", what, why, "use the interface c or packed")
        side = "output" if given.io == "output" else "input"
        pointer = build.insert(aot.ElementOp(outputs if side == "output" else inputs, taken[side])).result
        passed.append(_cast(build, pointer, argument.type))
        taken[side] += 1
    return passed


def _packed(build: Builder, main: FuncOp, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    attributes = contract.arguments_of(main)
    given_packed = [each for each in attributes if each.io != "resource_handle" and each.dimension is None]
    unpacker = Unpacker(build, arguments, len(given_packed))
    positions = iter(range(len(given_packed)))
    passed: list[SSAValue] = []
    extents: dict[int, SSAValue] = {}
    for place, (argument, given) in enumerate(zip(main.args, attributes, strict=True)):
        if given.io == "resource_handle":
            passed.append(arguments[-1])
        elif given.dimension is not None:
            passed.append(build.insert(arith.IndexCastOp(extents[given.dimension], i32)).result)
        elif given.io in ("input", "output"):
            assert isinstance(argument.type, aot.PtrType)
            tensor, pointee = given.tensor(), argument.type.pointee
            used: list[int] = []
            for following in attributes[place + 1 :]:
                if following.dimension is None:
                    break
                used.append(following.dimension)
            shape = _shape_of_call(tensor, -1)
            data, extents = unpacker.tensor(next(positions), shape, DLType.of(tensor.dtype), pointee, used)
            passed.append(data)
        else:
            assert given.align is not None
            passed.append(unpacker.pointer(next(positions), given.align))
    return passed


def _shape_of_call(tensor: contract.Tensor, rows: int | None) -> tuple[int, ...]:
    """The shape of what a call is given: of an input that comes by rows, some."""
    if tensor.rows is None or rows is None:
        return tensor.shape
    return *tensor.shape[: tensor.row_axis], rows, *tensor.shape[tensor.row_axis + 1 :]


def _cast(build: Builder, pointer: SSAValue, kind: Attribute) -> SSAValue:
    assert isinstance(kind, aot.PtrType)
    return pointer if pointer.type == kind else build.insert(aot.PtrCastOp(pointer, kind)).result


# --- descriptors -----------------------------------------------------------------------------------------------------


def _counts(main: FuncOp) -> list[Attribute]:
    """The numbers of inputs and outputs."""
    io = [tensor.io for tensor in contract.tensors_of(main)]
    return aot.integers(i32, io.count("input"), io.count("output"))


def _describe_typed(module: ModuleOp, main: FuncOp, interface: str) -> None:
    name = contract.model_name(module)
    row = ArrayAttr([SymbolRefAttr(_symbol(module, main, interface)), *_counts(main)])
    module.body.block.add_op(aot.GlobalOp(model_symbol(name, interface), aot.StructType("AOTCTypedModel"), [row], None))


def _describe_packed(module: ModuleOp, main: FuncOp) -> None:
    """The descriptor, the metadata, and the table of packed functions: entry, operators by name, get_model_metadata."""
    name = contract.model_name(module)
    run, functions = _symbol(module, main, "packed"), operator_symbol(name, "functions")
    metadata, getter = _add_metadata(module, main, run)
    packed = [kernel for kernel in contract.kernels(module) if contract.CONVENTION.get(kernel) is aot.Convention.PACKED]
    operators = [kernel.sym_name.data for kernel in packed if not kernel.is_declaration]
    rows = [("run", run), ("get_model_metadata", getter), *((symbol, symbol) for symbol in operators)]
    table = [ArrayAttr([StringAttr(key), SymbolRefAttr(symbol)]) for key, symbol in rows]
    end = ArrayAttr([UnitAttr(), UnitAttr()])
    block = module.body.block
    block.add_op(aot.GlobalOp(functions, aot.StructType("AOTCFunctionEntry"), [*table, end]))
    io = [given.io for given in contract.arguments_of(main)]
    memory = aot.integers(i32, sum(bit for what, bit in _CALLER_MEMORY.items() if what in io))
    row = ArrayAttr([SymbolRefAttr(run), *_counts(main), *memory, SymbolRefAttr(metadata), SymbolRefAttr(functions)])
    block.add_op(aot.GlobalOp(model_symbol(name, "packed"), aot.StructType("AOTCModel"), [row], None))


# --- metadata ---------------------------------------------------------------------------------------------------------


def _add_metadata(module: ModuleOp, main: FuncOp, run: str) -> tuple[str, str]:
    """Add the tables for the entry `run` and the operators; returns the symbols of the metadata and of its getter."""
    name = contract.model_name(module)
    metadata, getter = operator_symbol(name, "metadata"), operator_symbol(name, "get_model_metadata")
    tables = _Tables(name, contract.plan_of(module).arenas if contract.has_plan(module) else ())
    tensors = [given.tensor() for given in contract.arguments_of(main) if given.io in ("input", "output")]
    functions = [tables.function(run, tensors, contract.sizes_of(main))]
    for kernel in contract.kernels(module):
        functions.append(
            tables.function(kernel.sym_name.data, contract.parameters_of(kernel) or (), contract.sizes_of(kernel))
        )
    block = module.body.block
    block.add_ops(tables.globals)
    infos = operator_symbol(name, "infos")
    block.add_op(aot.GlobalOp(infos, aot.StructType("AOTCFunctionInfo"), functions))
    version, count = aot.integers(i32, METADATA_VERSION, len(functions))
    row = ArrayAttr([version, SymbolRefAttr(infos), StringAttr(name), count])
    block.add_op(aot.GlobalOp(metadata, aot.StructType("AOTCMetadata"), [row]))
    block.add_op(_getter(getter, metadata))
    return metadata, getter


class _Tables:
    """Constant tables of shapes and of parameters; those that are alike are one."""

    def __init__(self, name: str, pools: Iterable[str]) -> None:
        self._taken = {"workspace", "weights", "resource_handle", *pools}
        self.globals: list[aot.GlobalOp] = []
        self._name = name
        self._shapes: dict[tuple[int, ...], str] = {}
        self._parameters: dict[tuple[Attribute, ...], str] = {}

    def function(self, symbol: str, tensors: Sequence[contract.Tensor], sizes: contract.Sizes) -> Attribute:
        """The row of a function: its parameters, inputs, then outputs; bytes of workspace, these, and constants."""
        io = [tensor.io for tensor in tensors]
        counts = aot.integers(i32, io.count("input"), io.count("output"))
        rows = tuple(self._rows(tensors))
        if rows and rows not in self._parameters:
            self._parameters[rows] = operator_symbol(self._name, f"params_{len(self._parameters)}")
            self.globals.append(aot.GlobalOp(self._parameters[rows], aot.StructType("AOTCParameterInfo"), rows))
        where: Attribute = SymbolRefAttr(self._parameters[rows]) if rows else UnitAttr()
        return ArrayAttr(
            [StringAttr(symbol), where, *counts, *aot.integers(i64, sizes.workspace, sizes.io, sizes.constant)]
        )

    def _rows(self, tensors: Sequence[contract.Tensor]) -> Iterator[Attribute]:
        taken = set(self._taken)
        for tensor in tensors:
            dtype = DLType.of(tensor.dtype)
            symbol = c_identifier(tensor.name, taken)
            taken.add(symbol)
            code, bits = aot.integers(i8, dtype.code, dtype.bits)
            (lanes,) = aot.integers(i16, dtype.lanes)
            (ndim,) = aot.integers(i64, len(tensor.shape))
            names = StringAttr(tensor.name), StringAttr(symbol)
            yield ArrayAttr([*names, self._shape(_shape_of_call(tensor, tensor.rows)), ndim, code, bits, lanes])

    def _shape(self, extents: tuple[int, ...]) -> Attribute:
        if not extents:
            return UnitAttr()
        if extents not in self._shapes:
            self._shapes[extents] = operator_symbol(self._name, f"shape_{len(self._shapes)}")
            self.globals.append(aot.GlobalOp(self._shapes[extents], i64, aot.integers(i64, *extents)))
        return SymbolRefAttr(self._shapes[extents])


def _getter(symbol: str, metadata: str) -> FuncOp:
    """A packed function without arguments that returns the address of the metadata as a handle."""

    def status(build: Builder, given: Sequence[SSAValue]) -> SSAValue:
        tables = build.insert(aot.SymbolOp(metadata, aot.PtrType(aot.StructType("AOTCMetadata"))))
        return_handle(build, given, tables.result)
        return build.insert(arith.ConstantOp.from_int_and_width(0, 32)).result

    function = FuncOp(symbol, (PACKED_TYPES, [i32]), visibility="private")
    return _filled(function, PACKED_NAMES, aot.Convention.PACKED, status)
