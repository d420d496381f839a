"""An executable as a table in C, with the functions that it calls: what firmware links with aotc_vm.c."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from aotc.model.conventions import operator_symbol
from aotc.vm import Executable

_BUILTIN = "vm.builtin."
_PROTOTYPE = "int32_t {}(void *, void *, int32_t, void *, void *, void *);"
_MOST_COLUMNS = 120


def bytecode_table(executable: Executable, model: str) -> str:
    """The file: `aotc_NAME_vm` are the bytes, `aotc_NAME_vm_functions` the functions by number of their names."""
    table, functions = operator_symbol(model, "vm"), operator_symbol(model, "vm_functions")
    own = {function.name for function in executable.global_funcs}
    operators = [name for name in executable.func_names if name not in own and not name.startswith(_BUILTIN)]
    symbols = ["NULL" if name in own else _symbol(name) for name in executable.func_names] or ["NULL"]
    blob = executable.to_bytes()
    words = np.frombuffer(blob + bytes(-len(blob) % 8), "<u8").tolist()
    number, inputs = executable.global_funcs.index(executable.function("main")), executable.function("main").num_args
    lines = [
        f"/* The entry of {model} as bytecode, for aotc_vm.c:",
        " *",
        f" *     AOTCVM_Start(&vm, {table}, {functions}, memory, sizeof memory);",
        f" *     AOTCVM_Call(&vm, {number}, values, type_codes, {inputs}, &result);",
        " *",
        f" * {executable.workspace_bytes} bytes of the memory are its workspace.",
        " */",
        '#include "aotc_vm.h"',
        "",
        *map(_PROTOTYPE.format, operators),
        f"extern const AOTCPackedFunction {functions}[{len(symbols)}];",
        f"extern const uint64_t {table}[{len(words)}];",
        "",
        f"const AOTCPackedFunction {functions}[{len(symbols)}] = {{",
        *_rows(symbols),
        "};",
        "",
        "#if defined(__GNUC__)",
        "__attribute__((aligned(64)))",
        "#endif",
        f"const uint64_t {table}[{len(words)}] = {{",
        *_rows(f"0x{word:X}u" if word < 1 << 32 else f"0x{word:X}ull" for word in words),
        "};",
    ]
    return "\n".join((*lines, ""))


def _symbol(name: str) -> str:
    """The C function behind a name that bytecode calls."""
    return f"AOTCVM_{name.removeprefix(_BUILTIN)}" if name.startswith(_BUILTIN) else name


def _rows(items: Iterable[str]) -> Iterable[str]:
    """Initialisers, as many in a line as there is room for."""
    line = ""
    for item in items:
        if len(line) + len(item) + 2 > _MOST_COLUMNS:
            yield line
            line = ""
        line += f" {item}," if line else f"    {item},"
    yield line
