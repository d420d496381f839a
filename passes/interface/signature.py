"""What the interface passes share: finding the entry and the kernels, and arguments with their attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument

from aotc.dialects.aot import Convention, ConventionAttr
from aotc.errors import CompileError

Attributes = dict[str, Attribute]

TENSORS: Final = "aot.tensors"
"""On an entry whose inputs and outputs are in the workspace: their attributes, in order."""


def model_name(module: ModuleOp) -> str:
    """The model's name, from the module's `aot.name`."""
    name = module.attributes.get("aot.name")
    if not isinstance(name, StringAttr):
        raise CompileError("the module has no attribute aot.name")
    return name.data


def option(module: ModuleOp, name: str, default: str | None = None) -> str:
    """A choice that `select-calling-convention` left on the module: `aot.interface`, `aot.workspace`, `aot.weights`."""
    value = module.attributes.get(name, None if default is None else StringAttr(default))
    if not isinstance(value, StringAttr):
        raise CompileError(f"the module has no attribute {name}; run select-calling-convention first")
    return value.data


def entry(module: ModuleOp) -> FuncOp:
    """The one function that carries `aot.entry`."""
    found = [op for op in module.ops if isinstance(op, FuncOp) and "aot.entry" in op.attributes]
    if len(found) != 1:
        raise CompileError(f"the module has {len(found)} functions with aot.entry; it must have one")
    return found[0]


def kernels(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions that carry `aot.kernel`, in order."""
    return (op for op in module.ops if isinstance(op, FuncOp) and "aot.kernel" in op.attributes)


def convention(function: FuncOp) -> Convention | None:
    """The function's `aot.convention`, None where it has none."""
    value = function.attributes.get("aot.convention")
    return value.data if isinstance(value, ConventionAttr) else None


def argument_attributes(function: FuncOp) -> list[Attributes]:
    """A dictionary of attributes for each argument, free to change; `set_signature` writes them back."""
    if function.arg_attrs is None:
        return [{} for _ in function.function_type.inputs]
    return [dict(attributes.data) for attributes in function.arg_attrs]


def tensor_attributes(main: FuncOp) -> list[Attributes]:
    """The attributes of each input, then output: of the entry's arguments, or where those are in the workspace, of its
    `aot.tensors`, with `aot.offset`."""
    inside = main.attributes.get(TENSORS)
    if isinstance(inside, ArrayAttr):
        return [dict(given.data) for given in inside if isinstance(given, DictionaryAttr)]
    io = (StringAttr("input"), StringAttr("output"))
    return [given for given in argument_attributes(main) if given.get("aot.io") in io]


def shares_workspace(module: ModuleOp) -> bool:
    """Whether the application reaches into the model's own workspace, because inputs and outputs are there."""
    return any(TENSORS in op.attributes for op in module.ops if isinstance(op, FuncOp))


def set_signature(function: FuncOp, attributes: Sequence[Attributes], results: Sequence[Attribute]) -> None:
    """Make the function's type what its block arguments and `results` are, with these argument attributes."""
    function.properties["function_type"] = FunctionType.from_lists([arg.type for arg in function.args], results)
    function.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(each) for each in attributes])
    function.properties.pop("res_attrs", None)


def append_argument(function: FuncOp, kind: Attribute, attributes: Attributes, name: str) -> BlockArgument:
    """A new last argument; its attributes are recorded at once, results stay as they are."""
    block = function.body.block
    both = [*argument_attributes(function), attributes]
    argument = block.insert_arg(kind, len(block.args))
    argument.name_hint = name
    set_signature(function, both, function.function_type.outputs.data)
    return argument
