"""Read a compiled model's metadata off its module, as it is after the phase `interface`."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from aotc.dialects.aot import StringOp
from aotc.dialects.aot.contract import (
    EXTERNAL,
    WEIGHT_LAYOUT,
    Tensor,
    convention,
    entry,
    has_tensors_in_workspace,
    interface_api,
    kernels,
    model_name,
    nodes_in_floats,
    plan_of,
    sizes_of,
    tensors_of,
    threads_of,
    weight_sizes,
    weights_place,
    workspace_place,
)
from aotc.dialects.dtypes import numpy_dtype
from aotc.model.conventions import CALL_PACKED
from aotc.model.locations import node_names
from aotc.model.metadata import KernelInfo, ModelInfo, TensorInfo
from aotc.model.naming import c_identifier


def model_info(module: ModuleOp) -> ModelInfo:
    """The metadata of the model in `module`; raises CompileError before `select-calling-convention` has run."""
    main = entry(module)
    tensors = tensors_of(main)
    taken = {"workspace", "weights", "resource_handle"}
    """Identifiers of the other arguments an entry can have."""
    inputs = _tensors(tensors, "input", taken)
    outputs = _tensors(tensors, "output", taken)
    plan = plan_of(module)
    ours = [kernel for kernel in kernels(module) if EXTERNAL.get(kernel) is None]
    operator_apis = [found.value for kernel in (ours or kernels(module)) if (found := convention(kernel)) is not None]
    return ModelInfo(
        name=model_name(module),
        inputs=inputs,
        outputs=outputs,
        interface_api=interface_api(module),
        operator_api=operator_apis[0] if operator_apis else "unpacked",
        workspace=workspace_place(module),
        weights=weights_place(module),
        workspace_bytes=plan.peak_bytes,
        workspace_alignment=_memory_alignment(module),
        weights_bytes=_weights_bytes(module),
        io_bytes=sum(_nbytes(tensor) for tensor in (*inputs, *outputs)),
        kernels=_kernels(module),
        plan=plan,
        io="workspace" if has_tensors_in_workspace(main) else "caller",
        threads=threads_of(module),
        in_floats=tuple(nodes_in_floats(module)),
        weight_offsets=_offsets_apart(module),
    )


def _memory_alignment(module: ModuleOp) -> int:
    """What memory of the caller's is a multiple of: the workspace, and weights where they are the caller's."""
    layout = WEIGHT_LAYOUT.get(module) if weights_place(module) == "caller" else None
    return max(plan_of(module).alignment, 1 if layout is None else layout.alignment)


def _offsets_apart(module: ModuleOp) -> tuple[int, ...]:
    layout = WEIGHT_LAYOUT.get(module)
    return tuple(layout.order) if layout is not None and layout.apart else ()


def _tensors(tensors: list[Tensor], io: str, taken: set[str]) -> tuple[TensorInfo, ...]:
    found: list[TensorInfo] = []
    for each in tensors:
        if each.io == io:
            symbol = c_identifier(each.name, taken)
            taken.add(symbol)
            more = each.scale, each.zero_point, each.offset, each.counted_axis
            found.append(TensorInfo(each.name, symbol, each.dtype, each.shape, *more))
    return tuple(found)


def kernel_nodes(module: ModuleOp) -> dict[str, tuple[str, ...]]:
    """The ONNX nodes of all calls of each kernel, by symbol; those of its body where no call has a location."""
    calls = _calls(module)
    found: dict[str, tuple[str, ...]] = {}
    for kernel in kernels(module):
        symbol = kernel.sym_name.data
        nodes = [name for call in calls.get(symbol, ()) for name in node_names(call.location)]
        found[symbol] = tuple(dict.fromkeys(nodes or _body_nodes(kernel)))
    return found


def _kernels(module: ModuleOp) -> tuple[KernelInfo, ...]:
    calls, nodes = _calls(module), kernel_nodes(module)
    found: list[KernelInfo] = []
    for kernel in kernels(module):
        symbol, sizes = kernel.sym_name.data, sizes_of(kernel)
        external = EXTERNAL.get(kernel)
        codegen = "" if external is None else external.codegen
        count = len(calls.get(symbol, ()))
        found.append(KernelInfo(symbol, nodes[symbol], count, sizes.workspace, sizes.io, sizes.constant, codegen))
    return tuple(found)


def _calls(module: ModuleOp) -> dict[str, list[CallOp]]:
    calls: dict[str, list[CallOp]] = {}
    for op in module.walk():
        if isinstance(op, CallOp):
            calls.setdefault(_callee(op), []).append(op)
    return calls


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
    layout = WEIGHT_LAYOUT.get(module)
    return sum(weight_sizes(module).values()) if layout is None else layout.size


def _nbytes(tensor: TensorInfo) -> int:
    return prod(tensor.shape) * numpy_dtype(tensor.dtype).itemsize
