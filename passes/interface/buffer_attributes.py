"""Facts known of each buffer argument: never written through, not overlapping another, aligned to so many bytes."""

from collections.abc import Sequence
from math import gcd
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.transforms.canonicalization_patterns.utils import const_evaluate_operand

from aotc.dialects.aot import BufferOp, DataOp, TileStoreOp, WeightOp, WeightsOp, WordStoreOp, WorkspaceOp, contract
from aotc.dialects.dtypes import byte_width, dtype_name
from aotc.dialects.operations import walk
from aotc.model.naming import c_variable

_VIEWS = (memref.ViewOp, memref.ReinterpretCastOp, memref.CastOp)


def record_buffer_attributes(module: ModuleOp) -> None:
    """Say which buffer arguments of the entry and of every kernel are only read, overlap nothing, and are aligned, and
    what the buffers of a kernel are, whatever its arguments become.

    A kernel's arguments do not overlap unless the plan says that they may alias, and are as aligned as at the least
    aligned of its calls. An entry promises only what its documentation asks of the caller: outputs overlap nothing, and
    every pointer has the natural alignment of its element type.
    """
    main = contract.entry(module)
    _record_sizes(module, main)
    written = {kernel.sym_name.data: _written(kernel, {}) for kernel in contract.kernels(module)}
    alignments = _alignments_of_calls(module, main)
    for kernel in contract.kernels(module):
        symbol = kernel.sym_name.data
        attributes = contract.arguments_of(kernel)
        for position, (kind, given) in enumerate(zip(kernel.function_type.inputs, attributes, strict=True)):
            align = alignments.get(symbol, {}).get(position, _natural_alignment(kind))
            noalias, given.may_alias = not given.may_alias, False
            _record(given, position not in written[symbol], noalias, align)
        contract.set_arguments(kernel, attributes)
        _record_parameters(kernel, attributes)
    outputs = _written(main, written)
    attributes = contract.arguments_of(main)
    for position, (argument, given) in enumerate(zip(main.args, attributes, strict=True)):
        _record(given, position not in outputs, given.io == "output", _natural_alignment(argument.type))
    contract.set_arguments(main, attributes)


def _record_parameters(kernel: FuncOp, attributes: Sequence[contract.Argument]) -> None:
    """Keep names, element types and shapes of a kernel's buffers; what it writes comes last."""
    kinds = kernel.function_type.inputs
    first_output = contract.first_output(kernel)
    hints = [None for _ in kinds] if kernel.is_declaration else [argument.name_hint for argument in kernel.args]
    taken: set[str] = set()
    found: list[contract.Argument] = []
    for position, (kind, given) in enumerate(zip(kinds, attributes, strict=True)):
        assert isinstance(kind, MemRefType)
        is_output = position >= first_output
        unnamed = "scratch" if given.scratch else "out" if is_output else f"x{position}"
        name = c_variable(hints[position] or unnamed, taken)
        taken.add(name)
        dtype = given.dtype or dtype_name(kind.element_type)
        each = contract.Argument(name=name, dtype=dtype, io="output" if is_output else "input")
        each.shape = said_shape(kind)
        found.append(each)
    contract.PARAMETERS.set(kernel, found)


def _record_sizes(module: ModuleOp, main: FuncOp) -> None:
    """Bytes of workspace, inputs and outputs, and constants: on the entry in total, on a kernel of its largest call.

    The workspace of a kernel is its scratch buffers, which are in that of the entry.
    """
    sizes = {kernel.sym_name.data: contract.Sizes() for kernel in contract.kernels(module)}
    scratch = {
        kernel.sym_name.data: [given.scratch for given in contract.arguments_of(kernel)]
        for kernel in contract.kernels(module)
    }
    constants: dict[str, int] = {}
    for op in main.walk():
        if isinstance(op, WeightOp):
            constants[op.key.data] = _bytes(op.result)
        if isinstance(op, CallOp):
            symbol, (own, io, constant) = op.callee.string_value(), (0, 0, 0)
            for value, is_scratch in zip(op.operands, scratch[symbol], strict=True):
                if is_scratch:
                    own += _bytes(value)
                elif _is_weight(value):
                    constant += _bytes(value)
                else:
                    io += _bytes(value)
            known = sizes[symbol]
            sizes[symbol] = contract.Sizes(max(known.workspace, own), max(known.io, io), max(known.constant, constant))
    for kernel in contract.kernels(module):
        contract.set_sizes(kernel, sizes[kernel.sym_name.data])
    layout = contract.WEIGHT_LAYOUT.get(module)
    total = sum(constants.values()) if layout is None else layout.size
    workspace = contract.plan_of(module).peak_bytes if contract.has_plan(module) else 0
    io = sum(map(_bytes, main.args))
    contract.set_sizes(main, contract.Sizes(workspace, io, total))


def _bytes(value: SSAValue) -> int:
    kind = cast(MemRefType[Attribute], value.type)
    return 0 if DYNAMIC_INDEX in kind.get_shape() else kind.element_count() * byte_width(kind.element_type)


def _is_weight(value: SSAValue) -> bool:
    while isinstance(value.owner, _VIEWS):
        value = value.owner.source
    return isinstance(value.owner, WeightOp | WeightsOp)


def _record(given: contract.Argument, readonly: bool, noalias: bool, align: int) -> None:
    if readonly:
        given.readonly = True
    if noalias:
        given.noalias = True
    given.align = align


def _written(function: FuncOp, callees: dict[str, set[int]]) -> set[int]:
    """The positions of the arguments that `function` stores through, or passes to a callee that does.

    A kernel from outside writes to its results and its scratch buffer.
    """
    found: set[int] = set()
    if function.is_declaration:
        return {*range(contract.first_output(function), len(function.function_type.inputs))}

    def note(value: SSAValue) -> None:
        while not isinstance(value, BlockArgument):
            op = value.owner
            if isinstance(op, _VIEWS):
                value = op.source
            elif isinstance(op, DataOp):
                value = op.buffer
            elif isinstance(op, BufferOp):
                value = op.pointer
            else:
                return
        if value.block is function.body.block:
            found.add(value.index)

    for op in walk(function):
        if isinstance(op, memref.StoreOp):
            note(op.memref)
        elif isinstance(op, TileStoreOp | WordStoreOp):
            note(op.buffer)
        elif isinstance(op, memref.CopyOp):
            note(op.destination)
        elif isinstance(op, CallOp):
            for position in callees.get(op.callee.string_value(), ()):
                note(op.operands[position])
    return found


def _natural_alignment(kind: Attribute) -> int:
    return byte_width(cast(MemRefType[Attribute], kind).element_type)


def _alignments_of_calls(module: ModuleOp, main: FuncOp) -> dict[str, dict[int, int]]:
    """Per callee and position of a buffer, the largest power-of-two alignment that all calls agree on."""
    base = contract.workspace_alignment(module)

    def alignment(value: SSAValue) -> int:
        op = value.owner
        if isinstance(op, WorkspaceOp):
            return base
        natural = _natural_alignment(value.type)
        if isinstance(op, memref.ViewOp):
            shift = const_evaluate_operand(op.byte_shift)
            assert shift is not None
            return max(gcd(alignment(op.source), shift), natural)
        if isinstance(op, memref.ReinterpretCastOp) and not op.offsets:
            (offset,) = op.static_offsets.get_values()
            return max(gcd(alignment(op.source), int(offset) * natural), natural)
        return natural

    found: dict[str, dict[int, int]] = {}
    for call in main.walk():
        if isinstance(call, CallOp):
            of_callee = found.setdefault(call.callee.string_value(), {})
            for position, operand in enumerate(call.operands):
                of_callee[position] = gcd(of_callee.get(position, 0), alignment(operand))
    return found


def said_shape(kind: MemRefType) -> tuple[int, ...]:
    """The shape of a buffer as arguments have it that are pointers: an extent of the run time is -1."""
    return tuple(-1 if extent == DYNAMIC_INDEX else extent for extent in kind.get_shape())
