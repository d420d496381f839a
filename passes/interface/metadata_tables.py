"""A packed model's metadata as constant tables, and the packed function that returns them."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    ArrayAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute
from xdsl.rewriter import InsertPoint

from aotc.dialects.aot import (
    Convention,
    GlobalOp,
    PtrType,
    StructType,
    SymbolOp,
    integers,
)
from aotc.dialects.aot.contract import (
    Argument,
    Tensor,
    arguments_of,
    kernels,
    model_name,
    set_convention,
    set_signature,
    sizes_of,
)
from aotc.model.conventions import operator_symbol
from aotc.model.metadata import METADATA_VERSION
from aotc.model.naming import c_identifier
from aotc.passes.interface.packing import PACKED_NAMES, PACKED_TYPES, DLType, return_handle


def add_metadata(module: ModuleOp, main: FuncOp, run: str) -> tuple[str, str]:
    """Add the tables for the entry `run` and the operators; returns the symbols of the metadata and of its getter."""
    name = model_name(module)
    metadata, getter = operator_symbol(name, "metadata"), operator_symbol(name, "get_model_metadata")
    tensors = [given.tensor() for given in arguments_of(main) if given.io in ("input", "output")]
    params = operator_symbol(name, "params")
    functions = [_function_row(run, params if tensors else None, tensors, _sizes(main))]
    functions += [_function_row(kernel.sym_name.data, None, [], _sizes(kernel)) for kernel in kernels(module)]
    block = module.body.block
    if tensors:
        shapes, rows = _parameter_rows(name, tensors)
        block.add_ops(shapes)
        block.add_op(GlobalOp(params, StructType("AOTCParameterInfo"), rows))
    infos = operator_symbol(name, "infos")
    block.add_op(GlobalOp(infos, StructType("AOTCFunctionInfo"), functions))
    version, count = integers(i32, METADATA_VERSION, len(functions))
    row = ArrayAttr([version, SymbolRefAttr(infos), StringAttr(name), count])
    block.add_op(GlobalOp(metadata, StructType("AOTCMetadata"), [row]))
    block.add_op(_getter(getter, metadata))
    return metadata, getter


def _parameter_rows(name: str, tensors: list[Tensor]) -> tuple[list[GlobalOp], list[Attribute]]:
    """The rows of the inputs and outputs in the order of the entry's arguments, and the tables of their shapes."""
    shapes: list[GlobalOp] = []
    rows: list[Attribute] = []
    taken = {"workspace", "weights", "resource_handle"}
    for position, tensor in enumerate(tensors):
        extents, dtype = tensor.shape, DLType.of(tensor.dtype)
        symbol = c_identifier(tensor.name, taken)
        taken.add(symbol)
        where: Attribute = UnitAttr()
        if extents:
            shapes.append(GlobalOp(operator_symbol(name, f"shape_{position}"), i64, integers(i64, *extents)))
            where = SymbolRefAttr(shapes[-1].sym_name.data)
        code, bits = integers(i8, dtype.code, dtype.bits)
        (lanes,) = integers(i16, dtype.lanes)
        (ndim,) = integers(i64, len(extents))
        rows.append(ArrayAttr([StringAttr(tensor.name), StringAttr(symbol), where, ndim, code, bits, lanes]))
    return shapes, rows


def _sizes(function: FuncOp) -> list[Attribute]:
    """Bytes of workspace, inputs and outputs, and constants, as `record_buffer_attributes` left them."""
    sizes = sizes_of(function)
    return integers(i64, sizes.workspace, sizes.io, sizes.constant)


def _function_row(symbol: str, params: str | None, tensors: list[Tensor], sizes: list[Attribute]) -> Attribute:
    io = [tensor.io for tensor in tensors]
    counts = integers(i32, io.count("input"), io.count("output"))
    where: Attribute = UnitAttr() if params is None else SymbolRefAttr(params)
    return ArrayAttr([StringAttr(symbol), where, *counts, *sizes])


def _getter(symbol: str, metadata: str) -> FuncOp:
    """A packed function without arguments that returns the address of the metadata as a handle."""
    function = FuncOp(symbol, (PACKED_TYPES, [i32]), visibility="private")
    set_convention(function, Convention.PACKED)
    block = function.body.block
    for argument, name in zip(block.args, PACKED_NAMES, strict=True):
        argument.name_hint = name
    set_signature(function, [Argument(name=name) for name in PACKED_NAMES], [i32])
    build = Builder(InsertPoint.at_end(block))
    tables = build.insert(SymbolOp(metadata, PtrType(StructType("AOTCMetadata"))))
    return_handle(build, block.args, tables.result)
    done = build.insert(arith.ConstantOp.from_int_and_width(0, 32))
    build.insert(ReturnOp(done))
    return function
