"""A packed model's metadata as constant tables, and the packed function that returns them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr, UnitAttr, i8, i16, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute
from xdsl.rewriter import InsertPoint

from aotc.dialects.aot import Convention, GlobalOp, PtrType, StructType, SymbolOp, contract, integers
from aotc.model.conventions import operator_symbol
from aotc.model.metadata import METADATA_VERSION
from aotc.model.naming import c_identifier
from aotc.passes.interface.packing import PACKED_NAMES, PACKED_TYPES, DLType, return_handle


def add_metadata(module: ModuleOp, main: FuncOp, run: str) -> tuple[str, str]:
    """Add the tables for the entry `run` and the operators; returns the symbols of the metadata and of its getter."""
    name = contract.model_name(module)
    metadata, getter = operator_symbol(name, "metadata"), operator_symbol(name, "get_model_metadata")
    tables = _Tables(name)
    tensors = [given.tensor() for given in contract.arguments_of(main) if given.io in ("input", "output")]
    functions = [tables.function(run, tensors, contract.sizes_of(main))]
    for kernel in contract.kernels(module):
        functions.append(
            tables.function(kernel.sym_name.data, contract.parameters_of(kernel) or (), contract.sizes_of(kernel))
        )
    block = module.body.block
    block.add_ops(tables.globals)
    infos = operator_symbol(name, "infos")
    block.add_op(GlobalOp(infos, StructType("AOTCFunctionInfo"), functions))
    version, count = integers(i32, METADATA_VERSION, len(functions))
    row = ArrayAttr([version, SymbolRefAttr(infos), StringAttr(name), count])
    block.add_op(GlobalOp(metadata, StructType("AOTCMetadata"), [row]))
    block.add_op(_getter(getter, metadata))
    return metadata, getter


class _Tables:
    """Constant tables of shapes and of parameters; those that are alike are one."""

    def __init__(self, name: str) -> None:
        self.globals: list[GlobalOp] = []
        self._name = name
        self._shapes: dict[tuple[int, ...], str] = {}
        self._parameters: dict[tuple[Attribute, ...], str] = {}

    def function(self, symbol: str, tensors: Sequence[contract.Tensor], sizes: contract.Sizes) -> Attribute:
        """The row of a function: its parameters, inputs, then outputs; bytes of workspace, these, and constants."""
        io = [tensor.io for tensor in tensors]
        counts = integers(i32, io.count("input"), io.count("output"))
        rows = tuple(self._rows(tensors))
        if rows and rows not in self._parameters:
            self._parameters[rows] = operator_symbol(self._name, f"params_{len(self._parameters)}")
            self.globals.append(GlobalOp(self._parameters[rows], StructType("AOTCParameterInfo"), rows))
        where: Attribute = SymbolRefAttr(self._parameters[rows]) if rows else UnitAttr()
        return ArrayAttr(
            [StringAttr(symbol), where, *counts, *integers(i64, sizes.workspace, sizes.io, sizes.constant)]
        )

    def _rows(self, tensors: Sequence[contract.Tensor]) -> Iterator[Attribute]:
        taken = {"workspace", "weights", "resource_handle"}
        for tensor in tensors:
            dtype = DLType.of(tensor.dtype)
            symbol = c_identifier(tensor.name, taken)
            taken.add(symbol)
            code, bits = integers(i8, dtype.code, dtype.bits)
            (lanes,) = integers(i16, dtype.lanes)
            (ndim,) = integers(i64, len(tensor.shape))
            names = StringAttr(tensor.name), StringAttr(symbol)
            yield ArrayAttr([*names, self._shape(tensor.shape), ndim, code, bits, lanes])

    def _shape(self, extents: tuple[int, ...]) -> Attribute:
        if not extents:
            return UnitAttr()
        if extents not in self._shapes:
            self._shapes[extents] = operator_symbol(self._name, f"shape_{len(self._shapes)}")
            self.globals.append(GlobalOp(self._shapes[extents], i64, integers(i64, *extents)))
        return SymbolRefAttr(self._shapes[extents])


def _getter(symbol: str, metadata: str) -> FuncOp:
    """A packed function without arguments that returns the address of the metadata as a handle."""
    function = FuncOp(symbol, (PACKED_TYPES, [i32]), visibility="private")
    contract.CONVENTION.set(function, Convention.PACKED)
    block = function.body.block
    for argument, name in zip(block.args, PACKED_NAMES, strict=True):
        argument.name_hint = name
    contract.set_signature(function, [contract.Argument(name=name) for name in PACKED_NAMES], [i32])
    build = Builder(InsertPoint.at_end(block))
    tables = build.insert(SymbolOp(metadata, PtrType(StructType("AOTCMetadata"))))
    return_handle(build, block.args, tables.result)
    done = build.insert(arith.ConstantOp.from_int_and_width(0, 32))
    build.insert(ReturnOp(done))
    return function
