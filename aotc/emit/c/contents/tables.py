"""Constant tables in C: rows of integers or of the structures in aotc/runtime."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from xdsl.dialects.builtin import ArrayAttr, BytesAttr, IntegerAttr, IntegerType, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute

from aotc.dialects import aot
from aotc.emit.c.syntax.c_types import SIGNED, CType, integer_literal
from aotc.emit.c.syntax.text import string_literal

_TYPEDEFS = {"AOTCModel": "aotc_model_t"}
"""Structures whose C type has another name."""
TYPED_MODEL = "AOTCTypedModel"
"""The descriptor of a typed model: each model has a C type of its own for it."""


def element_ctype(kind: Attribute, model: str) -> CType:
    """The C type of a table's elements in the model of that name."""
    if isinstance(kind, aot.StructType):
        struct = kind.struct.data
        return CType(f"aotc_{model}_model_t" if struct == TYPED_MODEL else _TYPEDEFS.get(struct, struct), "struct")
    assert isinstance(kind, IntegerType)
    return SIGNED[kind.width.data]


def is_public(table: aot.GlobalOp) -> bool:
    """Whether a table has external linkage: the descriptors have."""
    return table.sym_visibility is None or table.sym_visibility.data != "private"


def definition(table: aot.GlobalOp, model: str) -> str:
    """The definition: an array, or for a descriptor, which is public and has one row, an object."""
    symbol = table.sym_name.data
    ctype = element_ctype(table.element, model)
    public = is_public(table)
    rows = [_row(table.element, value) for value in table.values]
    if public and len(rows) == 1:
        return f"const {ctype.declare(symbol)} = {rows[0]};\n"
    linkage = "" if public else "static "
    if isinstance(table.element, IntegerType):
        return f"{linkage}const {ctype.declare(symbol)}[] = {{{', '.join(rows)}}};\n"
    return f"{linkage}const {ctype.declare(symbol)}[] = {{\n" + "".join(f"    {row},\n" for row in rows) + "};\n"


def symbols(table: aot.GlobalOp) -> Iterator[str]:
    """The symbols that a table points to."""
    for row in table.values:
        for value in row if isinstance(row, ArrayAttr) else ():
            if isinstance(value, SymbolRefAttr):
                yield value.string_value()


def _row(element: Attribute, value: Attribute) -> str:
    if not isinstance(element, aot.StructType):
        return _value(value)
    assert isinstance(value, ArrayAttr)
    items: list[str] = []
    named = zip(element.fields, value, strict=True)
    for outer, members in groupby(named, key=lambda member: member[0].rpartition(".")[0]):
        texts = [_value(item) for _, item in members]
        items += [f"{{{', '.join(texts)}}}"] if outer else texts
    return f"{{{', '.join(items)}}}"


def _value(value: Attribute) -> str:
    match value:
        case IntegerAttr():
            return integer_literal(value.value.data)
        case StringAttr():
            return string_literal(value.data)
        case BytesAttr():
            return string_literal(value.data)
        case SymbolRefAttr():
            return value.string_value()
        case _:
            return "NULL"
