"""Instructions in LLVM's syntax: one function for each form, one table from operation class to form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation

from aotc.dialects import llvm_ext
from aotc.dialects.llvm_ext import suffix
from aotc.emit.llvm.syntax import alignment, fast_math, inline_text, quoted, symbol, type_text
from aotc.errors import CompileError


class Names:
    """Every value and block of a function with its text: hints where there are some, made unique, else numbers."""

    def __init__(self, op: llvm.FuncOp) -> None:
        self._values: dict[SSAValue, str] = {}
        self._blocks: dict[Block, str] = {}
        taken: dict[str, int] = {}
        number = 0
        for index, block in enumerate(op.body.blocks):
            self._blocks[block] = _unique(block.name_hint or ("entry" if index == 0 else "next"), taken)
        for block in op.body.blocks:
            for value in _defined(block):
                if isinstance(value, OpResult) and (text := inline_text(value.op)) is not None:
                    self._values[value] = text
                elif value.name_hint is not None:
                    self._values[value] = f"%{quoted(_unique(value.name_hint, taken))}"
                else:
                    self._values[value] = f"%{number}"
                    number += 1

    def __getitem__(self, value: SSAValue) -> str:
        return self._values[value]

    def block(self, block: Block) -> str:
        """The label of a block."""
        return self._blocks[block]


def _defined(block: Block) -> Iterator[SSAValue]:
    yield from block.args
    op = block.first_op
    while op is not None:
        yield from op.results
        op = op.next_op


def _unique(name: str, taken: dict[str, int]) -> str:
    while name in taken:
        taken[name] += 1
        name = f"{name}.{taken[name]}"
    taken[name] = 0
    return name


class Operands:
    """References in the text of an instruction: names of values and blocks."""

    def __init__(self, op: llvm.FuncOp) -> None:
        self.names = Names(op)
        self._types: dict[int, str] = {}
        """By the identity of a type, which recurs; hashing one means hashing all that is in it."""

    def typed(self, value: SSAValue) -> str:
        """`TYPE NAME` of an operand."""
        text = self._types.get(id(kind := value.type))
        if text is None:
            text = self._types[id(kind)] = type_text(kind)
        return f"{text} {self.names[value]}"

    def arguments(self, values: Iterable[SSAValue]) -> str:
        """A list of typed operands."""
        return ", ".join(self.typed(value) for value in values)


_Format = Callable[[Operands, Any], str]
_OVERFLOW = {0: "", 1: "nsw ", 2: "nuw ", 3: "nuw nsw "}


def _binary(t: Operands, op: Operation) -> str:
    a, b = op.operands
    flags = op.properties.get("overflowFlags")
    text = _OVERFLOW[flags.value.data] if isinstance(flags, IntegerAttr) else fast_math(op)
    for name, keyword in (("isExact", "exact "), ("isDisjoint", "disjoint ")):
        text += keyword if name in op.properties else ""
    return f"{op.name[5:]} {text}{t.typed(a)}, {t.names[b]}"


def _cast(t: Operands, op: Operation) -> str:
    name = op.name.partition(".")[2]
    flags = "nneg " if "nonNeg" in op.properties else ""
    if isinstance(overflow := op.properties.get("overflowFlags"), llvm.OverflowAttr):
        flags = "".join(f"{flag.value} " for flag in sorted(overflow.data, reverse=True))
    return f"{name} {flags}{t.typed(op.operands[0])} to {type_text(op.results[0].type)}"


def _icmp(t: Operands, op: llvm.ICmpOp) -> str:
    predicate = llvm.ICmpPredicateFlag.from_int(op.predicate.value.data)
    return f"icmp {predicate} {t.typed(op.lhs)}, {t.names[op.rhs]}"


def _fcmp(t: Operands, op: llvm.FCmpOp | llvm_ext.FCmpOp) -> str:
    number = op.predicate if isinstance(op, llvm_ext.FCmpOp) else op.predicate.value.data
    predicate = llvm.FCmpPredicateFlag.from_int(number).lstrip("_")
    return f"fcmp {fast_math(op)}{predicate} {t.typed(op.lhs)}, {t.names[op.rhs]}"


def _gep(t: Operands, op: llvm.GEPOp) -> str:
    dynamic = iter(op.ssa_indices)
    indices = [
        t.typed(next(dynamic)) if index == llvm.GEP_USE_SSA_VAL else f"i32 {index}"
        for index in op.rawConstantIndices.iter_values()
    ]
    inbounds = "inbounds " if op.inbounds is not None else ""
    return f"getelementptr {inbounds}{type_text(op.elem_type)}, {t.typed(op.ptr)}, {', '.join(indices)}"


def _load(t: Operands, op: llvm.LoadOp) -> str:
    _refuse_atomic(op.ordering)
    return f"load {type_text(op.dereferenced_value.type)}, {t.typed(op.ptr)}{alignment(op.alignment)}"


def _store(t: Operands, op: llvm.StoreOp) -> str:
    _refuse_atomic(op.ordering)
    volatile = "volatile " if op.volatile_ is not None else ""
    return f"store {volatile}{t.typed(op.value)}, {t.typed(op.ptr)}{alignment(op.alignment)}"


def _refuse_atomic(ordering: IntegerAttr[IntegerType] | None) -> None:
    if ordering is not None and ordering.value.data:
        raise CompileError("no-form-in-llvm", "atomic accesses have no LLVM text")


def _positions(positions: DenseArrayBase[Any]) -> str:
    return "".join(f", {position}" for position in positions.iter_values())


def _shuffle(t: Operands, op: llvm.ShuffleVectorOp) -> str:
    mask = list(op.mask.iter_values())
    if not any(mask):
        return f"shufflevector {t.typed(op.v1)}, {t.typed(op.v2)}, <{len(mask)} x i32> zeroinitializer"
    lanes = ", ".join("i32 poison" if lane < 0 else f"i32 {lane}" for lane in mask)
    return f"shufflevector {t.typed(op.v1)}, {t.typed(op.v2)}, <{len(mask)} x i32> <{lanes}>"


def _intrinsic(t: Operands, op: Operation) -> str:
    """`llvm.intr.NAME`: the intrinsic overloaded on its result type, or on what it takes."""
    kind = op.results[0].type if op.results else op.operands[0].type
    return f"call {fast_math(op)}{type_text(kind)} @llvm.{op.name[10:]}.{suffix(kind)}({t.arguments(op.operands)})"


def _reduction(t: Operands, op: Operation) -> str:
    name = f"@llvm.{op.name[10:]}.{suffix(op.operands[1].type)}"
    return f"call {fast_math(op)}{type_text(op.results[0].type)} {name}({t.arguments(op.operands)})"


def _masked_load(t: Operands, op: llvm_ext.MaskedLoadOp) -> str:
    pointer = f"ptr align {op.alignment} {t.names[op.pointer]}"
    name = f"@llvm.masked.load.{suffix(op.res.type)}.p0"
    return f"call {type_text(op.res.type)} {name}({pointer}, {t.typed(op.mask)}, {t.typed(op.rest)})"


def _masked_store(t: Operands, op: llvm.MaskedStoreOp | llvm_ext.MaskedStoreOp) -> str:
    value, address, mask = op.operands
    pointer = f"ptr align {op.alignment} {t.names[address]}"
    return f"call void @llvm.masked.store.{suffix(value.type)}.p0({t.typed(value)}, {pointer}, {t.typed(mask)})"


def _stack(t: Operands, op: Operation) -> str:
    result = type_text(op.results[0].type) if op.results else "void"
    return f"call {result} @llvm.{op.name[10:]}.p0({t.arguments(op.operands)})"


def _call_intrinsic(t: Operands, op: llvm.CallIntrinsicOp) -> str:
    result = type_text(op.results[0].type) if op.results else "void"
    return f"call {fast_math(op)}{result} @{op.intrin.data}({t.arguments(op.args)})"


def _call(t: Operands, op: llvm.CallOp) -> str:
    result = type_text(op.results[0].type) if op.results else "void"
    if op.var_callee_type is not None:
        result = type_text(op.var_callee_type)
    values = list(op.args)
    callee = symbol(op.callee.string_value()) if op.callee is not None else t.names[values.pop(0)]
    convention = "" if op.CConv.cconv_name == "ccc" else f"{op.CConv.cconv_name} "
    tail = "" if op.TailCallKind.data == llvm.TailCallKind.NONE else f"{op.TailCallKind.data.value} "
    return f"{tail}call {fast_math(op)}{convention}{result} {callee}({t.arguments(values)})"


def _cond_br(t: Operands, op: llvm.CondBrOp) -> str:
    then, otherwise = t.names.block(op.then_block), t.names.block(op.else_block)
    return f"br {t.typed(op.cond)}, label %{then}, label %{otherwise}"


_BINARY = (
    *(llvm.ArithmeticBinOperation, llvm.ArithmeticBinOpOverflow, llvm.ArithmeticBinOpExact),
    *(llvm.ArithmeticBinOpDisjoint, llvm.AbstractFloatArithOp),
)
_CASTS = (
    *(llvm.IntegerConversionOp, llvm.IntegerConversionOpNNeg, llvm.IntegerConversionOpOverflow, llvm.GenericCastOp),
    *(llvm.IntToPtrOp, llvm.PtrToIntOp, llvm_ext.ConversionOp),
)
_ALL = [each for module in (llvm, llvm_ext) for each in vars(module).values() if isinstance(each, type)]
_OPERATIONS = [each for each in _ALL if issubclass(each, IRDLOperation) and "name" in vars(each)]

FORMATS: dict[type[Operation], _Format] = {
    **{each: _binary for each in _OPERATIONS if issubclass(each, _BINARY)},
    **{each: _cast for each in _OPERATIONS if issubclass(each, _CASTS)},
    **{each: _intrinsic for each in _OPERATIONS if each.name.startswith("llvm.intr.")},
    llvm.FNegOp: lambda t, op: f"fneg {fast_math(op)}{t.typed(op.operands[0])}",
    llvm.ICmpOp: _icmp,
    llvm.FCmpOp: _fcmp,
    llvm_ext.FCmpOp: _fcmp,
    llvm.GEPOp: _gep,
    llvm.AllocaOp: lambda t, op: f"alloca {type_text(op.elem_type)}, {t.typed(op.size)}{alignment(op.alignment)}",
    llvm.LoadOp: _load,
    llvm.StoreOp: _store,
    llvm.ExtractValueOp: lambda t, op: f"extractvalue {t.typed(op.container)}{_positions(op.position)}",
    llvm.InsertValueOp: lambda t, op: f"insertvalue {t.arguments(op.operands)}{_positions(op.position)}",
    llvm.InsertElementOp: lambda t, op: f"insertelement {t.arguments(op.operands)}",
    llvm.ShuffleVectorOp: _shuffle,
    llvm_ext.ExtractElementOp: lambda t, op: f"extractelement {t.arguments(op.operands)}",
    **dict.fromkeys(
        (llvm.SelectOp, llvm_ext.SelectOp), lambda t, op: f"select {fast_math(op)}{t.arguments(op.operands)}"
    ),
    llvm.VectorReduceFAddOp: _reduction,
    llvm.VectorReduceFMulOp: _reduction,
    llvm_ext.MaskedLoadOp: _masked_load,
    llvm.MaskedStoreOp: _masked_store,
    llvm_ext.MaskedStoreOp: _masked_store,
    llvm.StackSaveOp: _stack,
    llvm.StackRestoreOp: _stack,
    llvm.CallIntrinsicOp: _call_intrinsic,
    llvm.CallOp: _call,
    llvm.BrOp: lambda t, op: f"br label %{t.names.block(op.successor)}",
    llvm.CondBrOp: _cond_br,
    llvm.ReturnOp: lambda t, op: "ret void" if op.arg is None else f"ret {t.typed(op.arg)}",
    llvm.UnreachableOp: lambda t, op: "unreachable",
}
