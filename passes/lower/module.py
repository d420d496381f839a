"""The state that functions of a module share on their way to LLVM: weights, workspace, strings, tables,
declarations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, SSAValue

from aotc.dialects import aot
from aotc.dialects.aot.contract import (
    EMBEDDED,
    MINIMUM_BLOB,
    WEIGHTS,
    model_name_or,
    sections_of,
    shares_workspace,
    workspace_alignment,
)
from aotc.machines.targets import Target
from aotc.model.conventions import PREFIX, operator_symbol, pool_symbol, weights_symbol
from aotc.passes.lower.helpers import Helpers
from aotc.passes.lower.llvm_builder import PTR, UNIT, LLVMBuilder, TypeConverter

_ANY = Target("any", "any 64-bit machine", "", "", weight_alignment=1)


@dataclass(frozen=True)
class ModuleOptions:
    """The options of the pass; `target` None is any 64-bit machine."""

    target: Target | None = None
    index_bitwidth: int | None = None
    optimize_size: bool = False
    weights_section: str | None = None
    workspace_section: str | None = None


class ModuleLowering:
    """The state that functions of a module share: types, constants in memory, helpers, declarations."""

    def __init__(self, module: ModuleOp, options: ModuleOptions) -> None:
        target = options.target or _ANY
        self.types = TypeConverter(options.index_bitwidth or target.pointer_width)
        self.declarations: dict[str, llvm.FuncOp] = {}
        self._options = options
        self._target = target
        self.helpers = Helpers(target.instructions, self.function_properties())
        self._name = model_name_or(module, "model")
        external = WEIGHTS.get(module) == "external"
        self._blob = operator_symbol(self._name, "constants") if external else weights_symbol(self._name)
        self._shares_workspace = shares_workspace(module)
        self._workspace_alignment, self._sections = workspace_alignment(module), sections_of(module)
        self._symbols = {each.sym_name.data for each in module.ops if isinstance(each, func.FuncOp)}
        self._offsets: dict[str, int] = {}
        self._blob_end = 0
        self._strings: dict[bytes, llvm.GlobalOp] = {}
        self._globals: dict[str, llvm.GlobalOp] = {}
        self.attributes = dict(module.attributes)
        """Of the new module."""
        if options.target is not None:
            self.attributes["llvm.target_triple"] = StringAttr(target.triple)

    # Constants and memory of the module

    def weight(self, key: str, size: int, align: int) -> tuple[str, int]:
        """The blob's symbol and the offset in it of weight `key`, of `size` bytes in elements of `align` bytes."""
        if key not in self._offsets:
            unit = max(align, self._target.weight_alignment)
            offset = -(-self._blob_end // unit) * unit
            self._offsets[key] = offset
            self._blob_end = offset + size
        return self._blob, self._offsets[key]

    def external_weights(self, symbol: str, size: int) -> None:
        """Declare the weights that the application links."""
        if symbol not in self._globals:
            self._globals[symbol] = _global(symbol, "external", size, constant=True)

    def workspace(self, size: int, pool: str = "") -> str:
        """The symbol of the workspace, or of that in a pool."""
        symbol = pool_symbol(self._name, pool)
        if symbol not in self._globals:
            linkage = "external" if self._shares_workspace else "internal"
            section = self._sections.get(pool, self._options.workspace_section)
            array = _global(symbol, linkage, size, align=self._workspace_alignment, section=section)
            array.properties["value"] = IntegerAttr(0, i8)
            self._globals[symbol] = array
        return symbol

    def counters(self, symbol: str, count: int) -> None:
        """Define an exported array of 64-bit counters."""
        if symbol not in self._globals:
            self._globals[symbol] = _global(symbol, "external", 8 * count)
            self._globals[symbol].properties["value"] = IntegerAttr(0, i8)

    def string(self, text: str | bytes) -> str:
        """The symbol of a constant C string."""
        content = (text.encode() if isinstance(text, str) else text) + b"\0"
        if content not in self._strings:
            self._strings[content] = llvm.GlobalOp(
                llvm.LLVMArrayType(len(content), i8),
                f"{PREFIX}.str.{len(self._strings)}",
                "private",
                constant=True,
                value=BytesAttr(content),
                unnamed_addr=2,
                alignment=1,
            )
        return self._strings[content].sym_name.data

    def table(self, op: aot.GlobalOp) -> llvm.GlobalOp:
        """A constant table, built by a region of insertions."""
        block = Block()
        b = LLVMBuilder(block)
        element: Attribute = op.element
        paths: list[tuple[int, ...]] = [()]
        if isinstance(op.element, aot.StructType):
            element, fields = self.types.struct(op.element)
            paths = list(fields.values())
        kind = llvm.LLVMArrayType(len(op.values), element)
        contents = b.op(llvm.UndefOp, (), kind)
        for row, given in enumerate(op.values):
            for value, path in zip(given if isinstance(given, ArrayAttr) else [given], paths, strict=True):
                position = DenseArrayBase.from_list(i64, [row, *path])
                operands = (contents, self._table_value(b, value))
                contents = b.op(llvm.InsertValueOp, operands, kind, {"position": position})
        b.ret(contents)
        private = op.sym_visibility is not None and op.sym_visibility.data == "private"
        linkage = "internal" if private else "external"
        return llvm.GlobalOp(kind, op.sym_name.data, linkage, constant=True, body=b.finish(), alignment=8)

    def _table_value(self, b: LLVMBuilder, value: Attribute) -> SSAValue:
        match value:
            case IntegerAttr():
                return b.constant(value.value.data, self.types.value(value.type))
            case StringAttr() | BytesAttr():
                return b.address(self.string(value.data))
            case SymbolRefAttr():
                return b.address(value.string_value())
            case _:
                return b.op(llvm.ZeroOp, (), PTR)

    def globals(self) -> list[llvm.GlobalOp]:
        """Every global that is used."""
        result = [*self._globals.values(), *self._strings.values()]
        if self._offsets:
            align = max(8, self._target.weight_alignment)
            blob = _global(
                self._blob,
                "internal",
                max(self._blob_end, MINIMUM_BLOB),
                constant=True,
                align=align,
                section=self._options.weights_section,
            )
            EMBEDDED.set(blob, self._offsets)
            # The contents are patched into the object file, so no load from it may be folded.
            blob.attributes["externally_initialized"] = UNIT
            result.insert(0, blob)
        return result

    # Functions

    def declare_pure(self, symbol: str, inputs: Sequence[Attribute], output: Attribute) -> None:
        """Declare a function of the C library that reads and writes no memory (compiled models do not read errno)."""
        if symbol in self.declarations or symbol in self._symbols:
            return
        attributes: list[Attribute] = [StringAttr(each) for each in ("nofree", "nosync", "willreturn")]
        attributes.append(ArrayAttr([StringAttr("memory"), StringAttr("none")]))
        self.declarations[symbol] = llvm.FuncOp(
            symbol,
            llvm.LLVMFunctionType(inputs, output),
            llvm.LinkageAttr("external"),
            other_props={"no_unwind": UNIT, "passthrough": ArrayAttr(attributes)},
        )

    def function_properties(self, *, vectors: bool = False, small: bool = False) -> dict[str, Attribute | None]:
        """Attributes of every function with a body; `vectors` where it works on them, `small` where its code is to be
        small whatever the options."""
        attributes: list[Attribute] = []
        target = self._target
        if self._options.optimize_size or small:
            attributes += [StringAttr("optsize"), StringAttr("minsize")]
        if target.freestanding:
            attributes.append(StringAttr("no-builtins"))
        properties: dict[str, Attribute | None] = {"no_unwind": UNIT}
        if attributes:
            properties["passthrough"] = ArrayAttr(attributes)
        if target.cpu:
            properties["target_cpu"] = StringAttr(target.cpu)
        if vectors and target.tune:
            properties["tune_cpu"] = StringAttr(target.tune)
        if vectors and target.aligns_frames:
            properties["frame_pointer"] = llvm.FramePointerKindAttr(llvm.FramePointerKind.ALL)
        if target.features:
            properties["target_features"] = _features(target.features)
        return properties


@lru_cache
def _features(listed: str) -> llvm.TargetFeaturesAttr:
    """Features of a processor: a hundred for each function of a model, if they were not the same."""
    return llvm.TargetFeaturesAttr(ArrayAttr([StringAttr(each) for each in listed.split(",")]))


def _global(
    symbol: str, linkage: str, size: int, *, constant: bool = False, align: int = 8, section: str | None = None
) -> llvm.GlobalOp:
    kind = llvm.LLVMArrayType(size, i8)
    return llvm.GlobalOp(kind, symbol, linkage, constant=constant, alignment=align, section=section)
