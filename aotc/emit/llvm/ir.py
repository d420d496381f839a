"""Text of LLVM IR from the llvm dialect.

xDSL's own converter drops function attributes, alignments of globals and fast-math flags; this one prints them all, and
ten times faster, being one function for each operation class. Names are kept. What is left out is inline assembly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.target import Target

from aotc.dialects.aot.contract import EMBEDDED, model_name_or
from aotc.emit.llvm import syntax
from aotc.emit.llvm.debug_info import DebugInfo
from aotc.emit.llvm.instructions import FORMATS, Operands
from aotc.errors import CompileError
from aotc.model.locations import node_names

Initializer = Callable[[llvm.GlobalOp], str | None]
"""Contents of a global as `TYPE VALUE`, None for what the operation itself says."""


def llvm_ir(
    module: ModuleOp, initializer: Initializer | None = None, data_layout: str = "", debug: DebugInfo | None = None
) -> str:
    """The text of a module of llvm.func and llvm.mlir.global, with debug information where that is given.

    `initializer` gives the contents of globals that have none in the IR (weights); without it they are declarations of
    external symbols, those of embedded weights in the same library. Raises CompileError for an operation without text.
    """
    return _ModuleText(initializer, data_layout, debug).text(module)


@dataclass(frozen=True)
class LLVMTextTarget(Target):
    """`aotc-opt -t llvm-text`."""

    name = "llvm-text"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(llvm_ir(module))


class _ModuleText:
    """Attribute groups and the text so far of one module."""

    def __init__(self, initializer: Initializer | None, data_layout: str, debug: DebugInfo | None) -> None:
        self._initializer = initializer
        self._debug = debug
        self._data_layout = data_layout
        self._groups: dict[str, int] = {}

    def text(self, module: ModuleOp) -> str:
        head: list[str] = []
        if name := model_name_or(module, ""):
            head.append(f"source_filename = {syntax.string_text(name)}")
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
                    raise CompileError("no-form-in-llvm", f"{op.name} has no LLVM text at the top of a module")
        groups = [f"attributes #{number} = {{ {text} }}" for text, number in self._groups.items()]
        sections = ["\n".join(head), *body, "\n".join(groups), "" if self._debug is None else self._debug.text]
        return "\n\n".join(block for block in sections if block) + "\n"

    def _global(self, op: llvm.GlobalOp) -> str:
        contents = self._initializer(op) if self._initializer is not None else None
        if contents is None and op.body.blocks:
            contents = _initializer_region(op)
        elif contents is None and op.value is not None:
            contents = f"{syntax.type_text(op.global_type)} {syntax.constant_text(op.value, op.global_type)}"
        linkage = op.linkage.linkage.data
        keywords = [
            "external" if contents is None else linkage if linkage != "external" else "",
            "dso_local" if op.dso_local is not None else "",
            "hidden"
            if contents is None and EMBEDDED.get(op) is not None
            else syntax.keyword(syntax.VISIBILITY, op.visibility_),
            syntax.keyword(syntax.UNNAMED_ADDR, op.unnamed_addr),
            "externally_initialized" if contents is not None and "externally_initialized" in op.attributes else "",
            "constant" if op.constant is not None else "global",
            syntax.type_text(op.global_type) if contents is None else contents,
        ]
        section = f", section {syntax.string_text(op.section.data)}" if op.section is not None else ""
        text = f"{syntax.symbol(op.sym_name.data)} = {' '.join(one for one in keywords if one)}"
        return text + section + syntax.alignment(op.alignment)

    def _function(self, op: llvm.FuncOp) -> str:
        kind = op.function_type
        attributes = [dict(each.data) for each in op.arg_attrs] if op.arg_attrs else [{} for _ in kind.inputs]
        result_attributes = syntax.parameter_attributes(op.res_attrs.data[0].data).strip() if op.res_attrs else ""
        operands = Operands(op)
        names = operands.names
        parameters = [
            syntax.type_text(each) + syntax.parameter_attributes(given) + (f" {names[arg]}" if arg is not None else "")
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
        keywords = [
            "define" if op.body.blocks else "declare",
            linkage if linkage != "external" else "",
            syntax.keyword(syntax.VISIBILITY, op.visibility_),
            op.CConv.cconv_name if op.CConv.cconv_name != "ccc" else "",
            result_attributes,
            syntax.type_text(kind.output),
        ]
        head = " ".join(one for one in keywords if one) + f" {syntax.symbol(op.sym_name.data)}({', '.join(parameters)})"
        if unnamed := syntax.keyword(syntax.UNNAMED_ADDR, op.unnamed_addr):
            head += f" {unnamed}"
        if text := syntax.function_attributes(op):
            head += f" #{self._groups.setdefault(text, len(self._groups))}"
        if not op.body.blocks:
            return head
        nodes = node_names(op.location)
        comment = "".join(f"; {syntax.one_line(node)}\n" for node in nodes)
        if self._debug is None:
            lines = (line for line, _ in _lines(op, operands))
        else:
            function = self._debug.function(op)
            head += f" !dbg {function}"
            lines = (
                line if each is None else f"{line}, !dbg {self._debug.place(function, each.location, op.location)}"
                for line, each in _lines(op, operands)
            )
        return comment + head + " {\n" + "\n".join(lines) + "\n}"


def _initializer_region(op: llvm.GlobalOp) -> str:
    """A global whose region builds it with undef, zero, constant, addressof and insertvalue."""
    values: dict[SSAValue, list[Any] | str] = {}

    def typed(value: list[Any] | str, kind: Attribute) -> str:
        if isinstance(value, str):
            return f"{syntax.type_text(kind)} {value}"
        inner = ", ".join(typed(each, member) for each, member in zip(value, _members(kind), strict=True))
        return f"{syntax.type_text(kind)} " + (
            f"[ {inner} ]" if isinstance(kind, llvm.LLVMArrayType) else f"{{ {inner} }}"
        )

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
            case _ if (text := syntax.inline_text(each)) is not None:
                values[each.results[0]] = text
            case _:
                break
    raise CompileError("no-form-in-llvm", f"the contents of {op.sym_name.data} have no LLVM text")


def _members(kind: Attribute) -> list[Attribute]:
    if isinstance(kind, llvm.LLVMArrayType):
        return [kind.type] * kind.size.data
    assert isinstance(kind, llvm.LLVMStructType)
    return list(kind.types)


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


def _lines(op: llvm.FuncOp, operands: Operands) -> Iterator[tuple[str, Operation | None]]:
    """The text of a body, with each instruction its operation."""
    names = operands.names
    incoming: dict[Block, list[tuple[str, list[SSAValue]]]] = {}
    for block in op.body.blocks:
        for successor, arguments in _edges(block):
            incoming.setdefault(successor, []).append((names.block(block), arguments))
    for index, block in enumerate(op.body.blocks):
        yield f"{'' if index == 0 else chr(10)}{names.block(block)}:", None
        if index:
            for position, arg in enumerate(block.args):
                edges = ", ".join(
                    f"[ {names[values[position]]}, %{label} ]" for label, values in incoming.get(block, [])
                )
                yield f"  {names[arg]} = phi {syntax.type_text(arg.type)} {edges}", None
        for each in block.ops:
            if type(each) in syntax.INLINE:
                continue
            form = FORMATS.get(type(each))
            if form is None:
                raise CompileError("no-form-in-llvm", f"{each.name} has no LLVM text")
            text = form(operands, each)
            yield f"  {names[each.results[0]]} = {text}" if each.results else f"  {text}", each
