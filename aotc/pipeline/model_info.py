"""Read a compiled model's metadata off its module, as it is after the phase `interface`."""

from math import prod

from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp

from aotc.dialects import vm
from aotc.dialects.aot import StringOp, contract
from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.operations import walk
from aotc.model.conventions import CALL_PACKED
from aotc.model.locations import node_names
from aotc.model.metadata import BufferArgument, ConstantInfo, KernelInfo, ModelInfo, RowsInfo, StateInfo, TensorInfo
from aotc.model.naming import c_identifier
from aotc.model.weight_store import WeightStore


def model_info(module: ModuleOp) -> ModelInfo:
    """The metadata of the model in `module`; raises CompileError before `select-calling-convention` has run."""
    main = contract.entry(module)
    tensors = contract.tensors_of(main)
    plan, layout = contract.plan_of(module), contract.WEIGHT_LAYOUT.get(module)
    taken = {"workspace", "weights", "resource_handle", *plan.arenas}
    """Identifiers of the other arguments an entry can have."""
    inputs = _tensors(tensors, "input", taken)
    outputs = _tensors(tensors, "output", taken)
    weights = contract.WEIGHTS.require(module)
    # That of memory of the caller's: the workspace, and weights where they are the caller's.
    alignment = max(plan.alignment, layout.alignment if layout is not None and weights == "caller" else 1)
    if layout is not None:  # the blob is laid out
        weights_bytes = layout.size
    else:
        weights_bytes = sum((contract.weight_sizes(module) | _in_bytecode(module)).values())
    ours = [kernel for kernel in contract.kernels(module) if contract.EXTERNAL.get(kernel) is None]
    operator_apis = [
        found.value
        for kernel in (ours or contract.kernels(module))
        if (found := contract.CONVENTION.get(kernel)) is not None
    ]
    return ModelInfo(
        name=contract.model_name(module),
        inputs=inputs,
        outputs=outputs,
        interface_api=contract.INTERFACE.require(module),
        operator_api=operator_apis[0] if operator_apis else "unpacked",
        workspace=contract.WORKSPACE.require(module),
        weights=weights,
        workspace_bytes=plan.peak_bytes,
        workspace_alignment=alignment,
        weights_bytes=weights_bytes,
        io_bytes=sum(map(_bytes, (*inputs, *outputs))),
        kernels=_kernels(module),
        plan=plan,
        io="workspace" if contract.has_tensors_in_workspace(main) else "caller",
        executor="vm" if main.is_declaration else "aot",
        threads=contract.threads_of(module),
        in_floats=tuple(contract.IN_FLOATS.get(module) or ()),
        folded_channels=tuple(contract.FOLDED_CHANNELS.get(module) or ()),
        states=_states(contract.states_of(main), taken),
        weights_pool=contract.WEIGHTS_POOL.get(module) or "",
        weight_offsets=tuple(layout.order) if layout is not None and layout.apart else (),
    )


def constants(module: ModuleOp, store: WeightStore) -> tuple[ConstantInfo, ...]:
    """The arrays of weights that the model of `module` needs, in the order of their blob (`places_in_blob`)."""
    places = contract.places_in_blob(module).items()
    found = ((key, store.described(key), offset) for key, offset in places)
    return tuple(ConstantInfo(key, array.dtype.name, array.shape, offset) for key, array, offset in found)


def _tensors(tensors: list[contract.Tensor], io: str, taken: set[str]) -> tuple[TensorInfo, ...]:
    found: list[TensorInfo] = []
    for each in tensors:
        if each.io == io:
            symbol = c_identifier(each.name, taken)
            taken.add(symbol)
            more = each.scale, each.zero_point, each.offset, each.counted_axis, each.labels, each.layout
            tensor = each.name, symbol, each.dtype, each.shape
            found.append(TensorInfo(*tensor, *more, rows=_rows(each), pool=each.pool))
    return tuple(found)


def _rows(tensor: contract.Tensor) -> RowsInfo | None:
    if tensor.rows is None:
        return None
    size = prod(tensor.shape[tensor.row_axis + 1 :]) * numpy_dtype(tensor.dtype).itemsize
    return RowsInfo(tensor.row_axis, tensor.row_count, tensor.rows, size)


def _bytes(tensor: TensorInfo) -> int:
    """The bytes that callers have of it at once."""
    if tensor.rows is not None:
        return tensor.rows.most * tensor.rows.bytes
    return prod(tensor.shape) * numpy_dtype(tensor.dtype).itemsize


def _states(states: list[contract.State], taken: set[str]) -> tuple[StateInfo, ...]:
    found: list[StateInfo] = []
    for each in states:
        symbol = c_identifier(each.name, taken)
        taken.add(symbol)
        tensor = each.name, symbol, each.dtype, each.shape, each.scale, each.zero_point, each.offset
        found.append(StateInfo(*tensor, output=each.output, pool=each.pool))
    return tuple(found)


def kernel_nodes(module: ModuleOp) -> dict[str, tuple[str, ...]]:
    """The ONNX nodes of all calls of each kernel, by symbol; those of its body where no call has a location."""
    calls = _calls(module)
    found: dict[str, tuple[str, ...]] = {}
    for kernel in contract.kernels(module):
        symbol = kernel.sym_name.data
        nodes = [name for call in calls.get(symbol, ()) for name in node_names(call.location)]
        nodes = nodes or [name for op in kernel.walk() for name in node_names(op.location)]
        found[symbol] = tuple(dict.fromkeys(nodes))
    return found


def _kernels(module: ModuleOp) -> tuple[KernelInfo, ...]:
    calls, nodes = _calls(module), kernel_nodes(module)
    found: list[KernelInfo] = []
    for kernel in contract.kernels(module):
        symbol, sizes = kernel.sym_name.data, contract.sizes_of(kernel)
        external = contract.EXTERNAL.get(kernel)
        codegen = "" if external is None else external.codegen
        count = len(calls.get(symbol, ()))
        totals = sizes.workspace, sizes.io, sizes.constant
        ends = _buffers(kernel, "input"), _buffers(kernel, "output")
        form = contract.form_of(contract.FORMS.get(module), nodes[symbol])
        found.append(KernelInfo(symbol, nodes[symbol], count, *totals, codegen, *ends, form=form))
    return tuple(found)


def _buffers(kernel: FuncOp, io: str) -> tuple[BufferArgument, ...]:
    given = contract.parameters_of(kernel) or ()
    return tuple(BufferArgument(each.name, each.dtype, each.shape) for each in given if each.io == io)


def _calls(module: ModuleOp) -> dict[str, list[CallOp | vm.CallOp]]:
    """The calls of each function by the entry, in bytecode where it is no code."""
    calls: dict[str, list[CallOp | vm.CallOp]] = {}
    in_bytecode = contract.entry(module).is_declaration
    for op in walk(module):
        if isinstance(op, CallOp):
            calls.setdefault(_callee(op), []).append(op)
        elif isinstance(op, vm.CallOp) and in_bytecode:
            calls.setdefault(op.callee.data, []).append(op)
    return calls


def _callee(call: CallOp) -> str:
    """The symbol of the function that is called; an operator called by name through the registry has it in a string."""
    symbol = call.callee.string_value()
    if symbol == CALL_PACKED and isinstance(name := call.operands[1].owner, StringOp):
        return name.value.data
    return symbol


def _in_bytecode(module: ModuleOp) -> dict[str, int]:
    """Bytes of each weight that an entry in bytecode has, by key."""
    found: dict[str, int] = {}
    for op in module.walk() if contract.entry(module).is_declaration else ():
        if isinstance(op, vm.ConstantOp) and isinstance(weight := op.value, DenseResourceAttr):
            kind = weight.get_type()
            assert isinstance(kind, TensorType)
            size = prod(kind.get_shape()) * numpy_dtype(kind.element_type).itemsize
            found[weight.resource_handle.data] = size
    return found
