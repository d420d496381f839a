"""Read a compiled model's metadata off its module, as it is after the phase `interface`."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, FloatAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp

from aotc.dialects.aot import StringOp
from aotc.dialects.dtypes import numpy_dtype
from aotc.model.locations import node_names
from aotc.model.metadata import KernelInfo, ModelInfo, TensorInfo
from aotc.model.naming import c_identifier
from aotc.model.plan import plan_info, text_of
from aotc.passes.interface.packing import CALL_PACKED
from aotc.passes.interface.place_weights import weight_sizes
from aotc.passes.interface.signature import (
    TENSORS,
    Attributes,
    convention,
    entry,
    kernels,
    model_name,
    option,
    tensor_attributes,
)
from aotc.passes.loops.split_parallel_loops import threads_of


def model_info(module: ModuleOp) -> ModelInfo:
    """The metadata of the model in `module`; raises CompileError before `select-calling-convention` has run."""
    main = entry(module)
    tensors = tensor_attributes(main)
    taken = {"workspace", "weights", "resource_handle"}
    """Identifiers of the other arguments an entry can have."""
    inputs = _tensors(tensors, "input", taken)
    outputs = _tensors(tensors, "output", taken)
    plan = plan_info(module)
    operator_apis = [found.value for kernel in kernels(module) if (found := convention(kernel)) is not None]
    return ModelInfo(
        name=model_name(module),
        inputs=inputs,
        outputs=outputs,
        interface_api=option(module, "aot.interface"),
        operator_api=operator_apis[0] if operator_apis else "unpacked",
        workspace=option(module, "aot.workspace"),
        weights=option(module, "aot.weights"),
        workspace_bytes=plan.peak_bytes,
        workspace_alignment=plan.alignment,
        weights_bytes=_weights_bytes(module),
        io_bytes=sum(_nbytes(tensor) for tensor in (*inputs, *outputs)),
        kernels=_kernels(module),
        plan=plan,
        io="workspace" if TENSORS in main.attributes else "caller",
        threads=threads_of(module),
    )


def _tensors(arguments: list[Attributes], io: str, taken: set[str]) -> tuple[TensorInfo, ...]:
    tensors: list[TensorInfo] = []
    for given in arguments:
        if given.get("aot.io") != StringAttr(io):
            continue
        name, shape = text_of(given["aot.name"]), given["aot.shape"]
        assert isinstance(shape, DenseArrayBase)
        scale, zero_point, offset = (given.get(f"aot.{each}") for each in ("scale", "zero_point", "offset"))
        tensor = TensorInfo(
            name=name,
            symbol=c_identifier(name, taken),
            dtype=text_of(given["aot.dtype"]),
            shape=tuple(int(extent) for extent in shape.get_values()),
            scale=scale.value.data if isinstance(scale, FloatAttr) else None,
            zero_point=zero_point.value.data if isinstance(zero_point, IntegerAttr) else None,
            offset=offset.value.data if isinstance(offset, IntegerAttr) else None,
        )
        taken.add(tensor.symbol)
        tensors.append(tensor)
    return tuple(tensors)


def _kernels(module: ModuleOp) -> tuple[KernelInfo, ...]:
    """Each kernel with the nodes of all its calls; those of its body where no call has a location."""
    calls: dict[str, list[CallOp]] = {}
    for op in module.walk():
        if isinstance(op, CallOp):
            calls.setdefault(_callee(op), []).append(op)
    found: list[KernelInfo] = []
    for kernel in kernels(module):
        symbol = kernel.sym_name.data
        sites = calls.get(symbol, [])
        nodes = [name for call in sites for name in node_names(call.location)] or _body_nodes(kernel)
        sizes = [_size(kernel, f"aot.{what}_bytes") for what in ("workspace", "io", "constant")]
        found.append(KernelInfo(symbol, tuple(dict.fromkeys(nodes)), len(sites), *sizes))
    return tuple(found)


def _callee(call: CallOp) -> str:
    """The symbol of the function that is called; an operator called by name through the registry has it in a string."""
    symbol = call.callee.string_value()
    if symbol == CALL_PACKED and isinstance(name := call.operands[1].owner, StringOp):
        return name.value.data
    return symbol


def _body_nodes(kernel: FuncOp) -> list[str]:
    return [name for op in kernel.walk() for name in node_names(op.location)]


def _weights_bytes(module: ModuleOp) -> int:
    """Bytes of the constants: of the blob `place-weights` laid out, else of every array referred to, once."""
    layout = module.attributes.get("aot.weight_layout")
    if isinstance(layout, DictionaryAttr):
        size = layout.data["size"]
        assert isinstance(size, IntegerAttr)
        return size.value.data
    return sum(weight_sizes(module).values())


def _size(function: FuncOp, name: str) -> int:
    """Bytes, as `record_buffer_attributes` left them."""
    size = function.attributes.get(name)
    return size.value.data if isinstance(size, IntegerAttr) else 0


def _nbytes(tensor: TensorInfo) -> int:
    return prod(tensor.shape) * numpy_dtype(tensor.dtype).itemsize
