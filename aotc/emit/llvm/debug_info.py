"""Debug information in LLVM IR: a function or a call is a line of a listing, which has a node of the model in each.

The metadata are those of LLVM's Source Level Debugging (https://llvm.org/docs/SourceLevelDebugging.html).
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import LocationAttr, ModuleOp

from aotc.emit.llvm.syntax import one_line, string_text
from aotc.model.locations import node_names


def nodes_of(module: ModuleOp) -> list[str]:
    """The nodes that functions of a module compute, each once, in the order of the functions."""
    return list(dict.fromkeys(name for op in module.ops for name in node_names(op.location)))


def listing(module: ModuleOp) -> str:
    """The text of `NAME.nodes`: each node's name in a line of its own, line breaks and the like escaped."""
    return "".join(one_line(name) + "\n" for name in nodes_of(module))


class DebugInfo:
    """The metadata of one module, whose listing is `NAME.nodes`; line 0 is code of no node."""

    def __init__(self, name: str, nodes: list[str]) -> None:
        self._lines = {node: line for line, node in enumerate(nodes, 1)}
        self._metadata: dict[str, str] = {}
        self._file = self._add(f'!DIFile(filename: {string_text(name + ".nodes")}, directory: ".")')
        self._unit = self._add(
            f'distinct !DICompileUnit(language: DW_LANG_C99, file: {self._file}, producer: "aotc", '
            "isOptimized: true, emissionKind: FullDebug)"
        )
        self._type = self._add("!DISubroutineType(types: !{})")

    def _add(self, text: str) -> str:
        return self._metadata.setdefault(text, f"!{len(self._metadata)}")

    def _line(self, location: LocationAttr) -> int:
        names = node_names(location)
        return self._lines.get(names[0], 0) if names else 0

    def function(self, op: llvm.FuncOp) -> str:
        """The reference to a function with a body."""
        line, linkage = self._line(op.location), op.linkage.linkage.data
        local = "DISPFlagLocalToUnit | " if linkage == "internal" else ""
        return self._add(
            f"distinct !DISubprogram(name: {string_text(op.sym_name.data)}, scope: {self._file}, file: {self._file}, "
            f"line: {line}, scopeLine: {line}, type: {self._type}, unit: {self._unit}, "
            f"spFlags: {local}DISPFlagDefinition | DISPFlagOptimized)"
        )

    def place(self, function: str, *locations: LocationAttr) -> str:
        """The reference to the place of an instruction of a function: the first line that a location has."""
        line = next((line for each in locations if (line := self._line(each))), 0)
        return self._add(f"!DILocation(line: {line}, scope: {function})")

    @property
    def text(self) -> str:
        """All of it, at the end of a module."""
        flags = [
            self._add('!{i32 2, !"Debug Info Version", i32 3}'),
            self._add('!{i32 7, !"Dwarf Version", i32 4}'),
        ]
        named = f"!llvm.dbg.cu = !{{{self._unit}}}\n!llvm.module.flags = !{{{', '.join(flags)}}}\n"
        return named + "\n".join(f"{number} = {text}" for text, number in self._metadata.items())
