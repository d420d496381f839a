"""Text of LLVM IR from the llvm dialect.

xDSL's own converter drops function attributes, alignments of globals and fast-math flags; this one prints them all, and
ten times faster, being one function for each operation class. Names are kept. What is left out is inline assembly.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, cast

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.target import Target

from aotc.dialects import llvm_ext
from aotc.errors import CompileError, Problem
from aotc.locations import node_names

Initializer = Callable[[llvm.GlobalOp], str | None]
"""Contents of a global as `TYPE VALUE`, None for what the operation itself says."""


def llvm_ir(module: ModuleOp, initializer: Initializer | None = None, data_layout: str = "") -> str:
    """The text of a module of llvm.func and llvm.mlir.global.

    `initializer` gives the contents of globals that have none in the IR (weights); without it they are declarations of
    external symbols. Raises CompileError for an operation that has no text.
    """
    return _ModuleText(initializer, data_layout).text(module)


@dataclass(frozen=True)
class LLVMTextTarget(Target):
    """`aotc-opt -t llvm-text`."""

    name = "llvm-text"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(llvm_ir(module))


# --- types and constants ---------------------------------------------------------------------------------------------

_FLOAT_NAMES = {Float16Type: "half", BFloat16Type: "bfloat", Float32Type: "float", Float64Type: "double"}
_type_text: dict[Attribute, str] = {}


def type_text(kind: Attribute) -> str:
    """A type in LLVM's syntax."""
    text = _type_text.get(kind)
    if text is None:
        text = _type_text[kind] = _format_type(kind)
    return text


def _format_type(kind: Attribute) -> str:
    match kind:
        case IntegerType():
            return f"i{kind.width.data}"
        case llvm.LLVMPointerType():
            return f"ptr addrspace({kind.addr_space.data})" if isinstance(kind.addr_space, IntAttr) else "ptr"
        case llvm.LLVMVoidType():
            return "void"
        case llvm.LLVMArrayType():
            return f"[{kind.size.data} x {type_text(kind.type)}]"
        case llvm.LLVMStructType():
            return "{ " + ", ".join(type_text(each) for each in kind.types) + " }"
        case llvm.LLVMFunctionType():
            inputs = [*map(type_text, kind.inputs), *(["..."] if kind.is_variadic else [])]
            return f"{type_text(kind.output)} ({', '.join(inputs)})"
        case VectorType():
            return f"<{kind.get_shape()[0]} x {type_text(kind.element_type)}>"
        case _ if (name := _FLOAT_NAMES.get(cast(Any, type(kind)))) is not None:
            return name
        case _:
            raise CompileError(Problem(f"type {kind} has no LLVM text"))


def float_text(value: float, kind: Attribute) -> str:
    """A float constant, exact: short decimals where they are, else the bits."""
    if isinstance(kind, Float16Type):
        return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    if isinstance(kind, BFloat16Type):
        return f"0xR{struct.unpack('<I', struct.pack('<f', value))[0] >> 16:04X}"
    if isinstance(kind, Float32Type):
        value = struct.unpack("<f", struct.pack("<f", value))[0] if abs(value) < 3.5e38 else value
    if abs(value) < 1e6 and (text := f"{value:.6e}") and float(text) == value:
        return text
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _constant_text(value: Attribute, kind: Attribute) -> str:
    match value:
        case IntegerAttr():
            number = value.value.data
            if isinstance(kind, llvm.LLVMArrayType):
                assert number == 0
                return "zeroinitializer"
            return ("true" if number else "false") if kind == IntegerType(1) else str(number)
        case FloatAttr():
            return float_text(value.value.data, kind)
        case DenseIntOrFPElementsAttr() if isinstance(kind, VectorType):
            element = kind.element_type
            items = [
                float_text(float(each), element) if not isinstance(element, IntegerType) else str(int(each))
                for each in value.get_values()
            ]
            if value.is_splat():
                items = items[:1] * kind.element_count()
            return "<" + ", ".join(f"{type_text(element)} {item}" for item in items) + ">"
        case StringAttr():
            return bytes_text(value.data.encode())
        case BytesAttr():
            return bytes_text(value.data)
        case _:
            raise CompileError(Problem(f"constant {value} has no LLVM text"))


def bytes_text(content: bytes) -> str:
    """An array of bytes as `c"..."`."""
    return 'c"' + "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in content) + '"'


_PLAIN_NAME = re.compile(r"[A-Za-z$._-][A-Za-z$._0-9-]*")


def _quoted(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name):
        return name
    return (
        '"'
        + "".join(c if 32 <= ord(c) < 127 and c not in '"\\' else f"\\{b:02X}" for c in name for b in c.encode()[:1])
        + '"'
    )


def _symbol(name: str) -> str:
    return f"@{_quoted(name)}"


def _alignment(attribute: Attribute | None) -> str:
    return f", align {attribute.value.data}" if isinstance(attribute, IntegerAttr) else ""


# --- attributes ------------------------------------------------------------------------------------------------------

_PARAMETER_FLAGS = ("noalias", "readonly", "writeonly", "nonnull", "noundef", "signext", "zeroext", "inreg", "returned")
_PARAMETER_FORMATS: dict[str, str] = {
    **{f"llvm.{flag}": flag for flag in _PARAMETER_FLAGS},
    "llvm.nocapture": "captures(none)",
    "llvm.align": "align {}",
    "llvm.dereferenceable": "dereferenceable({})",
    "llvm.dereferenceable_or_null": "dereferenceable_or_null({})",
}
_BARE_FUNCTION_ATTRIBUTES = frozenset(
    [
        "alwaysinline",
        "cold",
        "convergent",
        "hot",
        "inlinehint",
        "minsize",
        "mustprogress",
        "naked",
        "nobuiltin",
        "nofree",
        "noinline",
        "norecurse",
        "noreturn",
        "nosync",
        "nounwind",
        "optnone",
        "optsize",
        "speculatable",
        "willreturn",
        "uwtable",
    ]
)


def _parameter_attributes(attributes: Mapping[str, Attribute]) -> str:
    parts: list[str] = []
    for name, value in sorted(attributes.items()):
        if (form := _PARAMETER_FORMATS.get(name)) is None:
            raise CompileError(Problem(f"parameter attribute {name} has no LLVM text"))
        parts.append(form.format(value.value.data if isinstance(value, IntegerAttr) else ""))
    return "".join(f" {part}" for part in parts)


def _function_attributes(op: llvm.FuncOp) -> str:
    parts: list[str] = []
    if op.no_unwind is not None:
        parts.append("nounwind")
    if op.no_inline is not None:
        parts.append("noinline")
    if op.optimize_none is not None:
        parts.append("optnone")
    for each in op.passthrough or ():
        if isinstance(each, StringAttr):
            parts.append(each.data if each.data in _BARE_FUNCTION_ATTRIBUTES else f'"{each.data}"')
        elif isinstance(each, ArrayAttr):
            key, value = (cast(StringAttr, item).data for item in each)
            parts.append(f"memory({value})" if key == "memory" else f'"{key}"="{value}"')
    if op.frame_pointer is not None:
        parts.append(f'"frame-pointer"="{op.frame_pointer.data.value}"')
    if op.target_cpu is not None:
        parts.append(f'"target-cpu"="{op.target_cpu.data}"')
    if op.tune_cpu is not None:
        parts.append(f'"tune-cpu"="{op.tune_cpu.data}"')
    if op.target_features is not None:
        parts.append(f'"target-features"="{",".join(each.data for each in op.target_features.features)}"')
    return " ".join(parts)


_FAST_MATH_NAMES = ("reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn")


def _fast_math(op: Operation) -> str:
    flags = op.properties.get("fastmathFlags")
    if not isinstance(flags, llvm.FastMathAttr) or not flags.data:
        return ""
    names = {flag.value for flag in flags.data}
    return "fast " if len(names) == len(_FAST_MATH_NAMES) else "".join(f"{n} " for n in _FAST_MATH_NAMES if n in names)


_UNNAMED_ADDR = {1: "local_unnamed_addr ", 2: "unnamed_addr "}
_VISIBILITY = {1: "hidden ", 2: "protected "}


def _keyword(table: Mapping[int, str], attribute: Attribute | None) -> str:
    return table.get(attribute.value.data, "") if isinstance(attribute, IntegerAttr) else ""


# --- modules and functions -------------------------------------------------------------------------------------------


class _ModuleText:
    """Attribute groups, loop metadata and the text so far of one module."""

    def __init__(self, initializer: Initializer | None, data_layout: str) -> None:
        self._initializer = initializer
        self._data_layout = data_layout
        self._groups: dict[str, int] = {}
        self._metadata: list[str] = []

    def text(self, module: ModuleOp) -> str:
        head: list[str] = []
        if isinstance(name := module.attributes.get("aot.name"), StringAttr):
            head.append(f"source_filename = {_string(name.data)}")
        if self._data_layout:
            head.append(f'target datalayout = "{self._data_layout}"')
        if isinstance(triple := module.attributes.get("llvm.target_triple"), StringAttr):
            head.append(f'target triple = "{triple.data}"')
        body: list[str] = []
        for op in module.ops:
            match op:
                case llvm.GlobalOp():
                    body.append(self._global(op))
                case llvm.FuncOp():
                    body.append(self._function(op))
                case _:
                    raise CompileError(Problem(f"{op.name} has no LLVM text at the top of a module"))
        groups = [f"attributes #{number} = {{ {text} }}" for text, number in self._groups.items()]
        parts = ["\n".join(head), *body, "\n".join(groups), "\n".join(self._metadata)]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _global(self, op: llvm.GlobalOp) -> str:
        contents = self._initializer(op) if self._initializer is not None else None
        if contents is None and op.body.blocks:
            contents = _initializer_region(op)
        elif contents is None and op.value is not None:
            contents = f"{type_text(op.global_type)} {_constant_text(op.value, op.global_type)}"
        linkage = op.linkage.linkage.data
        prefix = f"{linkage} " if contents is not None and linkage != "external" else ""
        if contents is None:
            prefix = "external "
            contents = type_text(op.global_type)
        elif "externally_initialized" in op.attributes:
            prefix += "externally_initialized "
        return (
            f"{_symbol(op.sym_name.data)} = {prefix}{_keyword(_VISIBILITY, op.visibility_)}"
            f"{'dso_local ' if op.dso_local is not None else ''}{_keyword(_UNNAMED_ADDR, op.unnamed_addr)}"
            f"{'constant' if op.constant is not None else 'global'} {contents}"
            + (f", section {_string(op.section.data)}" if op.section is not None else "")
            + _alignment(op.alignment)
        )

    def _function(self, op: llvm.FuncOp) -> str:
        kind = op.function_type
        attributes = [dict(each.data) for each in op.arg_attrs] if op.arg_attrs else [{} for _ in kind.inputs]
        result_attributes = _parameter_attributes(op.res_attrs.data[0].data).strip() if op.res_attrs else ""
        names = _Names(op)
        parameters = [
            type_text(each) + _parameter_attributes(given) + (f" {names[arg]}" if arg is not None else "")
            for each, given, arg in zip(
                kind.inputs,
                attributes,
                op.body.blocks[0].args if op.body.blocks else [None] * len(kind.inputs),
                strict=True,
            )
        ]
        if kind.is_variadic:
            parameters.append("...")
        linkage = op.linkage.linkage.data
        words = [
            "define" if op.body.blocks else "declare",
            linkage if linkage != "external" else "",
            _keyword(_VISIBILITY, op.visibility_).strip(),
            op.CConv.cconv_name if op.CConv.cconv_name != "ccc" else "",
            result_attributes,
            type_text(kind.output),
        ]
        head = " ".join(word for word in words if word) + f" {_symbol(op.sym_name.data)}({', '.join(parameters)})"
        head += " " + unnamed.strip() if (unnamed := _keyword(_UNNAMED_ADDR, op.unnamed_addr)) else ""
        if text := _function_attributes(op):
            head += f" #{self._groups.setdefault(text, len(self._groups))}"
        if not op.body.blocks:
            return head
        nodes = node_names(op.location)
        comment = "".join(f"; {_one_line(node)}\n" for node in nodes)
        return comment + head + " {\n" + "\n".join(_FunctionText(names, self).lines(op)) + "\n}"

    def loop_metadata(self, hints: DictionaryAttr) -> str:
        """A reference to new loop metadata: `vectorize.width = 16 : i64` is `llvm.loop.vectorize.width`."""
        number = len(self._metadata)
        items: list[str] = []
        self._metadata.append("")
        for name, value in sorted(hints.data.items()):
            operand = (
                f", {type_text(value.type)} {_constant_text(value, value.type)}"
                if isinstance(value, IntegerAttr)
                else ""
            )
            items.append(f"!{len(self._metadata)}")
            self._metadata.append(f'{items[-1]} = !{{!"llvm.loop.{name}"{operand}}}')
        self._metadata[number] = f"!{number} = distinct !{{{', '.join([f'!{number}', *items])}}}"
        return f", !llvm.loop !{number}"


def _string(text: str) -> str:
    return bytes_text(text.encode())[1:]


def _one_line(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")


def _initializer_region(op: llvm.GlobalOp) -> str:
    """A global whose region builds it with undef, zero, constant, addressof and insertvalue."""
    values: dict[SSAValue, list[Any] | str] = {}

    def typed(value: list[Any] | str, kind: Attribute) -> str:
        if isinstance(value, str):
            return f"{type_text(kind)} {value}"
        inner = ", ".join(typed(each, member) for each, member in zip(value, _members(kind), strict=True))
        return f"{type_text(kind)} " + (f"[ {inner} ]" if isinstance(kind, llvm.LLVMArrayType) else f"{{ {inner} }}")

    def empty(kind: Attribute) -> list[Any] | str:
        aggregate = isinstance(kind, llvm.LLVMStructType | llvm.LLVMArrayType)
        return [empty(member) for member in _members(kind)] if aggregate else "undef"

    for each in op.body.block.ops:
        match each:
            case llvm.UndefOp():
                values[each.res] = empty(each.res.type)
            case llvm.InsertValueOp():
                target = values[each.container]
                assert isinstance(target, list)
                values[each.res] = target  # each value has one use, so it may be filled in place
                *path, last = each.position.iter_values()
                for position in path:
                    target = target[position]
                target[last] = values[each.value]
            case llvm.ReturnOp() if each.arg is not None:
                return typed(values[each.arg], each.arg.type)
            case _ if (text := _inline_text(each)) is not None:
                values[each.results[0]] = text
            case _:
                break
    raise CompileError(Problem(f"the contents of {op.sym_name.data} have no LLVM text"))


def _members(kind: Attribute) -> list[Attribute]:
    if isinstance(kind, llvm.LLVMArrayType):
        return [kind.type] * kind.size.data
    assert isinstance(kind, llvm.LLVMStructType)
    return list(kind.types)


def _inline_text(op: Operation) -> str | None:
    """What LLVM writes as an operand and the dialect as an operation."""
    match op:
        case llvm.ConstantOp():
            return _constant_text(op.value, op.result.type)
        case llvm.AddressOfOp():
            return _symbol(op.global_name.string_value())
        case llvm.ZeroOp():
            return "null" if isinstance(op.res.type, llvm.LLVMPointerType) else "zeroinitializer"
        case llvm.UndefOp():
            return "undef"
        case _:
            return None


class _Names:
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
                owner = value.owner
                if isinstance(owner, Operation) and (text := _inline_text(owner)) is not None:
                    self._values[value] = text
                elif value.name_hint is not None:
                    self._values[value] = f"%{_quoted(_unique(value.name_hint, taken))}"
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
    for op in block.ops:
        yield from op.results


def _unique(name: str, taken: dict[str, int]) -> str:
    while name in taken:
        taken[name] += 1
        name = f"{name}.{taken[name]}"
    taken[name] = 0
    return name


class _FunctionText:
    """The lines of one function's body."""

    def __init__(self, names: _Names, module: _ModuleText) -> None:
        self.names = names
        self.module = module

    def lines(self, op: llvm.FuncOp) -> Iterator[str]:
        incoming: dict[Block, list[tuple[str, list[SSAValue]]]] = {}
        for block in op.body.blocks:
            for successor, arguments in _edges(block):
                incoming.setdefault(successor, []).append((self.names.block(block), arguments))
        for index, block in enumerate(op.body.blocks):
            yield f"{'' if index == 0 else chr(10)}{self.names.block(block)}:"
            if index:
                for position, arg in enumerate(block.args):
                    edges = ", ".join(
                        f"[ {self.names[values[position]]}, %{label} ]" for label, values in incoming.get(block, [])
                    )
                    yield f"  {self.names[arg]} = phi {type_text(arg.type)} {edges}"
            for each in block.ops:
                if type(each) in _INLINE:
                    continue
                form = _FORMATS.get(type(each))
                if form is None:
                    raise CompileError(Problem(f"{each.name} has no LLVM text"))
                text = form(self, each)
                yield f"  {self.names[each.results[0]]} = {text}" if each.results else f"  {text}"

    def typed(self, value: SSAValue) -> str:
        """`TYPE NAME` of an operand."""
        return f"{type_text(value.type)} {self.names[value]}"

    def arguments(self, values: Iterable[SSAValue]) -> str:
        """A list of typed operands."""
        return ", ".join(self.typed(value) for value in values)


_INLINE = frozenset({llvm.ConstantOp, llvm.AddressOfOp, llvm.ZeroOp, llvm.UndefOp})


def _edges(block: Block) -> list[tuple[Block, list[SSAValue]]]:
    match block.last_op:
        case llvm.BrOp() as op:
            return [(op.successor, list(op.arguments))]
        case llvm.CondBrOp() as op if op.then_block is op.else_block:
            assert list(op.then_arguments) == list(op.else_arguments), "two edges to one block carry different values"
            return [(op.then_block, list(op.then_arguments))] * 2
        case llvm.CondBrOp() as op:
            return [(op.then_block, list(op.then_arguments)), (op.else_block, list(op.else_arguments))]
        case _:
            return []


# --- instructions ----------------------------------------------------------------------------------------------------

_Format = Callable[[_FunctionText, Any], str]
_OVERFLOW = {0: "", 1: "nsw ", 2: "nuw ", 3: "nuw nsw "}


def _binary(t: _FunctionText, op: Operation) -> str:
    a, b = op.operands
    flags = op.properties.get("overflowFlags")
    text = _OVERFLOW[flags.value.data] if isinstance(flags, IntegerAttr) else _fast_math(op)
    for name, word in (("isExact", "exact "), ("isDisjoint", "disjoint ")):
        text += word if name in op.properties else ""
    return f"{op.name[5:]} {text}{t.typed(a)}, {t.names[b]}"


def _unary(t: _FunctionText, op: Operation) -> str:
    return f"{op.name[5:]} {_fast_math(op)}{t.typed(op.operands[0])}"


def _cast(t: _FunctionText, op: Operation) -> str:
    name = op.name.partition(".")[2]
    flags = "nneg " if "nonNeg" in op.properties else ""
    if isinstance(overflow := op.properties.get("overflowFlags"), llvm.OverflowAttr):
        flags = "".join(f"{flag.value} " for flag in sorted(overflow.data, reverse=True))
    return f"{name} {flags}{t.typed(op.operands[0])} to {type_text(op.results[0].type)}"


def _icmp(t: _FunctionText, op: llvm.ICmpOp) -> str:
    predicate = llvm.ICmpPredicateFlag.from_int(op.predicate.value.data)
    return f"icmp {predicate} {t.typed(op.lhs)}, {t.names[op.rhs]}"


def _fcmp(t: _FunctionText, op: llvm.FCmpOp) -> str:
    predicate = llvm.FCmpPredicateFlag.from_int(op.predicate.value.data).lstrip("_")
    return f"fcmp {_fast_math(op)}{predicate} {t.typed(op.lhs)}, {t.names[op.rhs]}"


def _gep(t: _FunctionText, op: llvm.GEPOp) -> str:
    dynamic = iter(op.ssa_indices)
    indices = [
        t.typed(next(dynamic)) if index == llvm.GEP_USE_SSA_VAL else f"i32 {index}"
        for index in op.rawConstantIndices.iter_values()
    ]
    inbounds = "inbounds " if op.inbounds is not None else ""
    return f"getelementptr {inbounds}{type_text(op.elem_type)}, {t.typed(op.ptr)}, {', '.join(indices)}"


def _alloca(t: _FunctionText, op: llvm.AllocaOp) -> str:
    return f"alloca {type_text(op.elem_type)}, {t.typed(op.size)}{_alignment(op.alignment)}"


def _load(t: _FunctionText, op: llvm.LoadOp) -> str:
    _refuse_atomic(op.ordering)
    return f"load {type_text(op.dereferenced_value.type)}, {t.typed(op.ptr)}{_alignment(op.alignment)}"


def _store(t: _FunctionText, op: llvm.StoreOp) -> str:
    _refuse_atomic(op.ordering)
    volatile = "volatile " if op.volatile_ is not None else ""
    return f"store {volatile}{t.typed(op.value)}, {t.typed(op.ptr)}{_alignment(op.alignment)}"


def _refuse_atomic(ordering: IntegerAttr[IntegerType] | None) -> None:
    if ordering is not None and ordering.value.data:
        raise CompileError(Problem("atomic accesses have no LLVM text"))


def _positions(positions: DenseArrayBase[Any]) -> str:
    return "".join(f", {position}" for position in positions.iter_values())


def _extract_value(t: _FunctionText, op: llvm.ExtractValueOp) -> str:
    return f"extractvalue {t.typed(op.container)}{_positions(op.position)}"


def _insert_value(t: _FunctionText, op: llvm.InsertValueOp) -> str:
    return f"insertvalue {t.typed(op.container)}, {t.typed(op.value)}{_positions(op.position)}"


def _shuffle(t: _FunctionText, op: llvm.ShuffleVectorOp) -> str:
    mask = [cast(int, each) for each in op.mask.iter_values()]
    lanes = ", ".join("i32 poison" if lane < 0 else f"i32 {lane}" for lane in mask)
    return f"shufflevector {t.typed(op.v1)}, {t.typed(op.v2)}, <{len(mask)} x i32> <{lanes}>"


def _select(t: _FunctionText, op: llvm.SelectOp) -> str:
    return f"select {_fast_math(op)}{t.arguments(op.operands)}"


def _intrinsic(t: _FunctionText, op: Operation) -> str:
    """`llvm.intr.NAME`: the intrinsic overloaded on its result type, or on what it takes."""
    kind = op.results[0].type if op.results else op.operands[0].type
    return f"call {_fast_math(op)}{type_text(kind)} @llvm.{op.name[10:]}.{_mangled(kind)}({t.arguments(op.operands)})"


def _reduction(t: _FunctionText, op: Operation) -> str:
    name = f"@llvm.{op.name[10:]}.{_mangled(op.operands[1].type)}"
    return f"call {_fast_math(op)}{type_text(op.results[0].type)} {name}({t.arguments(op.operands)})"


def _masked_store(t: _FunctionText, op: llvm.MaskedStoreOp) -> str:
    pointer = f"ptr align {op.alignment.value.data} {t.names[op.data]}"
    name = f"@llvm.masked.store.{_mangled(op.value.type)}.p0"
    return f"call void {name}({t.typed(op.value)}, {pointer}, {t.typed(op.mask)})"


def _stack(t: _FunctionText, op: Operation) -> str:
    result = type_text(op.results[0].type) if op.results else "void"
    return f"call {result} @llvm.{op.name[10:]}.p0({t.arguments(op.operands)})"


def _mangled(kind: Attribute) -> str:
    match kind:
        case VectorType():
            return f"v{kind.get_shape()[0]}{_mangled(kind.element_type)}"
        case llvm.LLVMPointerType():
            return "p0"
        case IntegerType():
            return f"i{kind.width.data}"
        case BFloat16Type():
            return "bf16"
        case _:
            return f"f{cast(Float32Type, kind).bitwidth}"


def _call_intrinsic(t: _FunctionText, op: llvm.CallIntrinsicOp) -> str:
    result = type_text(op.results[0].type) if op.results else "void"
    return f"call {_fast_math(op)}{result} @{op.intrin.data}({t.arguments(op.args)})"


def _call(t: _FunctionText, op: llvm.CallOp) -> str:
    result = type_text(op.results[0].type) if op.results else "void"
    if op.var_callee_type is not None:
        result = type_text(op.var_callee_type)
    values = list(op.args)
    callee = _symbol(op.callee.string_value()) if op.callee is not None else t.names[values.pop(0)]
    convention = "" if op.CConv.cconv_name == "ccc" else f"{op.CConv.cconv_name} "
    tail = "" if op.TailCallKind.data == llvm.TailCallKind.NONE else f"{op.TailCallKind.data.value} "
    return f"{tail}call {_fast_math(op)}{convention}{result} {callee}({t.arguments(values)})"


def _loop(t: _FunctionText, op: Operation) -> str:
    hints = op.attributes.get("loop_annotation")
    return t.module.loop_metadata(hints) if isinstance(hints, DictionaryAttr) else ""


def _br(t: _FunctionText, op: llvm.BrOp) -> str:
    return f"br label %{t.names.block(op.successor)}{_loop(t, op)}"


def _cond_br(t: _FunctionText, op: llvm.CondBrOp) -> str:
    then, otherwise = t.names.block(op.then_block), t.names.block(op.else_block)
    return f"br {t.typed(op.cond)}, label %{then}, label %{otherwise}{_loop(t, op)}"


def _return(t: _FunctionText, op: llvm.ReturnOp) -> str:
    return "ret void" if op.arg is None else f"ret {t.typed(op.arg)}"


_BINARY = (
    llvm.AddOp,
    llvm.SubOp,
    llvm.MulOp,
    llvm.UDivOp,
    llvm.SDivOp,
    llvm.URemOp,
    llvm.SRemOp,
    llvm.AndOp,
    llvm.OrOp,
    llvm.XOrOp,
    llvm.ShlOp,
    llvm.LShrOp,
    llvm.AShrOp,
    llvm.FAddOp,
    llvm.FSubOp,
    llvm.FMulOp,
    llvm.FDivOp,
    llvm.FRemOp,
)
_CASTS = (
    llvm.TruncOp,
    llvm.ZExtOp,
    llvm.SExtOp,
    llvm.BitcastOp,
    llvm.SIToFPOp,
    llvm.FPExtOp,
    llvm.FPTruncOp,
    llvm.IntToPtrOp,
    llvm.PtrToIntOp,
    llvm_ext.FPToSIOp,
    llvm_ext.FPToUIOp,
    llvm_ext.UIToFPOp,
)
_INTRINSICS = (
    llvm.FAbsOp,
    llvm.FCeilOp,
    llvm.FCopySignOp,
    llvm.FCosOp,
    llvm.FExpOp,
    llvm.FExp2Op,
    llvm.FFloorOp,
    llvm.FLogOp,
    llvm.FLog2Op,
    llvm.FMAOp,
    llvm.FPowOp,
    llvm.FSinOp,
    llvm.FSqrtOp,
    llvm.VectorFMaxOp,
    llvm.VectorFMinOp,
)

_FORMATS: dict[type[Operation], _Format] = {
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_CASTS, _cast),
    **dict.fromkeys(_INTRINSICS, _intrinsic),
    llvm.FNegOp: _unary,
    llvm.ICmpOp: _icmp,
    llvm.FCmpOp: _fcmp,
    llvm.GEPOp: _gep,
    llvm.AllocaOp: _alloca,
    llvm.LoadOp: _load,
    llvm.StoreOp: _store,
    llvm.ExtractValueOp: _extract_value,
    llvm.InsertValueOp: _insert_value,
    llvm.InsertElementOp: lambda t, op: f"insertelement {t.arguments(op.operands)}",
    llvm.ShuffleVectorOp: _shuffle,
    llvm.SelectOp: _select,
    llvm.VectorReduceFAddOp: _reduction,
    llvm.VectorReduceFMulOp: _reduction,
    llvm.MaskedStoreOp: _masked_store,
    llvm.StackSaveOp: _stack,
    llvm.StackRestoreOp: _stack,
    llvm.CallIntrinsicOp: _call_intrinsic,
    llvm.CallOp: _call,
    llvm.BrOp: _br,
    llvm.CondBrOp: _cond_br,
    llvm.ReturnOp: _return,
    llvm.UnreachableOp: lambda t, op: "unreachable",
}
