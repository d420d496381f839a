"""An executable as a table in C, with the functions that it calls: what firmware links with aotc_vm.c."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap

import numpy as np

from aotc.model.conventions import entry_symbol, operator_symbol
from aotc.vm import Executable
from aotc.vm.instructions import Call

_BUILTIN = "vm.builtin."
_TENSORS = {"move": 0, "view": 1, "alloc_view": 1}
"""Built-in functions that take memory for a tensor, and whether for its shape, too."""
_TENSOR, _VALUE, _FRAME, _LINE = 48, 16, 16, 64
"""Bytes at most of a DLTensor, of a value with its type, of what lies below registers; and what memory is taken by."""
_PROTOTYPE = "int32_t {}(void *, void *, int32_t, void *, void *, void *);"
_PAGE = 4096
"""Where static memory of a page or more begins on Linux: elsewhere a large network takes some percent longer, or not,
as the linker happens to lay things out."""
_MOST_COLUMNS = 120


def bytecode_table(executable: Executable, model: str) -> str:
    """The file: `aotc_NAME_vm` are the bytes, `aotc_NAME_vm_functions` the functions by number of their names."""
    table, functions = operator_symbol(model, "vm"), operator_symbol(model, "vm_functions")
    own = {function.name for function in executable.global_funcs}
    operators = [name for name in executable.func_names if name not in own and not name.startswith(_BUILTIN)]
    symbols = ["NULL" if name in own else _symbol(name) for name in executable.func_names] or ["NULL"]
    blob = executable.to_bytes()
    eights = np.frombuffer(blob + bytes(-len(blob) % 8), "<u8").tolist()
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
        f"extern const uint64_t {table}[{len(eights)}];",
        "",
        f"const AOTCPackedFunction {functions}[{len(symbols)}] = {{",
        *_rows(symbols),
        "};",
        "",
        "#if defined(__GNUC__)",
        "__attribute__((aligned(64)))",
        "#endif",
        f"const uint64_t {table}[{len(eights)}] = {{",
        *_rows(f"0x{eight:X}u" if eight < 1 << 32 else f"0x{eight:X}ull" for eight in eights),
        "};",
    ]
    return "\n".join((*lines, ""))


def packed_entry(executable: Executable, model: str) -> str:
    """The packed function that the application calls: the machine runs `main` in memory that is static, or where the
    model has no workspace, so that calls may be made at the same time, on the stack."""
    table, functions = operator_symbol(model, "vm"), operator_symbol(model, "vm_functions")
    number = executable.global_funcs.index(executable.function("main"))
    static = executable.workspace_bytes > 0
    place = "static " if static else ""
    paged = executable.workspace_bytes >= _PAGE
    lines = [
        "",
        _PROTOTYPE.format(entry_symbol(model, "packed")),
        "",
        f"int32_t {entry_symbol(model, 'packed')}(void *args, void *arg_type_ids, int32_t num_args,",
        "        void *out_ret_value, void *out_ret_tcode, void *resource_handle)",
        "{",
        *(["#if defined(__GNUC__) && defined(__linux__)", f"    __attribute__((aligned({_PAGE})))", "#endif"] * paged),
        f"    {place}uint64_t memory[{-(-memory_bytes(executable) // 8)}];",
        f"    {place}AOTCVM vm;",
        "    AOTCVMValue result;",
        "    aotc_error_t status = kAOTCErrorNone;",
        "    (void)out_ret_value;",
        "    (void)out_ret_tcode;",
        *(["    if (vm.executable == NULL)"] if static else []),
        f"    {'    ' if static else ''}status = AOTCVM_Start(&vm, {table}, {functions}, memory, sizeof memory);",
        "    if (status != kAOTCErrorNone) return status;",
        "    vm.resource_handle = resource_handle;",
        f"    return AOTCVM_Call(&vm, {number}, (const AOTCValue *)args, (const int32_t *)arg_type_ids,",
        "        (uint32_t)num_args, &result);",
        "}",
    ]
    return "\n".join((*lines, ""))


def memory_bytes(executable: Executable) -> int:
    """The most memory that a call of `main` needs, on any target: the workspace, registers, the tensors of one
    call of a function, and those that live until the end, one for each instruction that makes some."""
    main = executable.function("main")
    calls = [each for each in executable.body(main) if isinstance(each, Call)]
    values = max((len(call.args) for call in calls), default=0) * (_TENSOR + _VALUE)
    lasting = 0
    for call in calls:
        shape = _TENSORS.get(executable.func_names[call.function].removeprefix(_BUILTIN))
        if shape is not None and call.dst is not None:
            lasting += _up(_VALUE + _TENSOR + (8 * len(call.args) if shape else 0))
    names = 2 * len(executable.func_names) + 8
    frame = _FRAME + main.register_file_size * _VALUE
    return _LINE + _up(executable.workspace_bytes) + names + frame + values + _LINE + lasting


def _up(size: int) -> int:
    return -(-size // _LINE) * _LINE


def _symbol(name: str) -> str:
    """The C function behind a name that bytecode calls."""
    return f"AOTCVM_{name.removeprefix(_BUILTIN)}" if name.startswith(_BUILTIN) else name


def _rows(items: Iterable[str]) -> Iterable[str]:
    """Initialisers, as many in a line as there is room for."""
    return wrap(" ".join(f"{item}," for item in items), _MOST_COLUMNS, initial_indent="    ", subsequent_indent="    ")
