"""Convert the module of the `interface` phase to the llvm dialect, for one target.

`convert-to-llvm{target=cortex-m4}`:
```mlir
func.func @aotc_m_run(%x: !aot.ptr<f32> {aot.noalias, aot.readonly}, %y: !aot.ptr<f32> {aot.noalias}) -> i32 {
  %a = aot.buffer %x : !aot.ptr<f32> to memref<4x8xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %a[%i, %c2] : memref<4x8xf32>
    ...
```
becomes
```mlir
llvm.func @aotc_m_run(%x: !llvm.ptr {llvm.noalias, llvm.readonly, llvm.dereferenceable = 128}, %y: ...) -> i32 {
  llvm.br ^for(%c0 : i32)
^for(%i: i32):
  %more = llvm.icmp "slt" %i, %c4 : i32
  llvm.cond_br %more, ^body, ^done
^body:
  %0 = llvm.mul %i, %c8 overflow<nsw> : i32
  %1 = llvm.add %0, %c2 overflow<nsw> : i32
  %2 = llvm.getelementptr inbounds %x[%1] : (!llvm.ptr, i32) -> !llvm.ptr, f32
  %v = llvm.load %2 {alignment = 4} : !llvm.ptr -> f32
  ...
```
Embedded weights become one constant without contents whose attribute `aot.weights` says which array of the WeightStore
lies where; the workspace becomes a zero-initialised global. Without a target, code is 64-bit and fits every processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func, llvm, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from aotc.conventions import PREFIX, weights_symbol
from aotc.dialects import aot
from aotc.errors import CompileError, Problem
from aotc.passes.lower import llvm_arith, llvm_memory
from aotc.passes.lower.llvm_builder import NSW, PTR, UNIT, LLVMBuilder
from aotc.passes.lower.llvm_helpers import Helpers
from aotc.passes.lower.llvm_types import TypeConverter
from aotc.targets import Target, lookup

MINIMUM_BLOB = 32
"""Bytes; a blob of weights is at least this long, so that an object file can be searched for its beginning."""
_WORKSPACE_ALIGNMENT = 16


@dataclass(frozen=True)
class ConvertToLLVMPass(ModulePass):
    """See the module."""

    name = "convert-to-llvm"

    target: str | None = None
    """A target in the syntax of `--target`."""
    index_bitwidth: int | None = None
    """Bits of an index; the target's pointer width if not given."""
    optimize_size: bool = False
    weights_section: str | None = None
    workspace_section: str | None = None
    """Linker sections of the embedded weights and of the workspace."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        converted = self.convert(op)
        for each in list(op.ops):
            each.detach()
        op.attributes = dict(converted.attributes)
        for each in list(converted.ops):
            each.detach()
            op.body.block.add_op(each)

    def convert(self, module: ModuleOp) -> ModuleOp:
        """A new module; the given one stays as it is. Raises CompileError that lists what has no lowering."""
        _require_supported(module)
        lowering = ModuleLowering(module, self, None if self.target is None else lookup(self.target))
        functions = [FunctionLowering(lowering, each).lower() for each in module.ops if isinstance(each, func.FuncOp)]
        tables = [lowering.table(each) for each in module.ops if isinstance(each, aot.GlobalOp)]
        parts = [*lowering.globals(), *tables, *lowering.helpers.functions.values(), *functions]
        return ModuleOp([*parts, *lowering.declarations.values()], lowering.attributes)


def _require_supported(module: ModuleOp) -> None:
    unknown = {
        op.name
        for function in module.ops
        for op in function.walk()
        if type(op) not in _LOWERINGS and not isinstance(op, func.FuncOp | scf.YieldOp | aot.GlobalOp)
    }
    if unknown:
        raise CompileError([Problem(f"{name} cannot be lowered to LLVM") for name in sorted(unknown)])


class ModuleLowering:
    """What the functions of a module share: types, constants in memory, helpers, declarations."""

    def __init__(self, module: ModuleOp, options: ConvertToLLVMPass, target: Target | None) -> None:
        native = frozenset[str]() if target is None else target.native
        width = options.index_bitwidth or (64 if target is None else target.pointer_width)
        self.types = TypeConverter(width, half="convert-f16" in native)
        self.declarations: dict[str, llvm.FuncOp] = {}
        self._options = options
        self._target = target
        self.helpers = Helpers(native, self.function_properties())
        self._name = name.data if isinstance(name := module.attributes.get("aot.name"), StringAttr) else "model"
        self._plan = module.attributes.get("aot.plan")
        self._symbols = {each.sym_name.data for each in module.ops if isinstance(each, func.FuncOp)}
        self._offsets: dict[str, int] = {}
        self._blob_end = 0
        self._strings: dict[bytes, llvm.GlobalOp] = {}
        self._globals: dict[str, llvm.GlobalOp] = {}
        self.attributes = dict(module.attributes)
        """Of the new module."""
        if target is not None:
            self.attributes["llvm.target_triple"] = StringAttr(target.triple)

    # Constants and memory of the module

    def weight(self, key: str, size: int, align: int) -> tuple[str, int]:
        """The blob's symbol and the offset in it of weight `key`, of `size` bytes in elements of `align` bytes."""
        if key not in self._offsets:
            step = max(align, 1 if self._target is None else self._target.weight_alignment)
            offset = -(-self._blob_end // step) * step
            self._offsets[key] = offset
            self._blob_end = offset + size
        return weights_symbol(self._name), self._offsets[key]

    def external_weights(self, symbol: str, size: int) -> None:
        """Declare the weights that the application links."""
        if symbol not in self._globals:
            self._globals[symbol] = _global(symbol, "external", size, constant=True)

    def workspace(self, size: int) -> str:
        """The symbol of the arena."""
        symbol = f"{PREFIX}_{self._name}_workspace"
        if symbol not in self._globals:
            align = _WORKSPACE_ALIGNMENT
            if isinstance(self._plan, DictionaryAttr) and isinstance(
                planned := self._plan.data.get("alignment"), IntegerAttr
            ):
                align = planned.value.data
            arena = _global(symbol, "internal", size, align=align, section=self._options.workspace_section)
            arena.properties["value"] = IntegerAttr(0, i8)
            self._globals[symbol] = arena
        return symbol

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
            align = max(8, 1 if self._target is None else self._target.weight_alignment)
            blob = _global(
                weights_symbol(self._name),
                "internal",
                max(self._blob_end, MINIMUM_BLOB),
                constant=True,
                align=align,
                section=self._options.weights_section,
            )
            blob.attributes["aot.weights"] = DictionaryAttr(
                {key: IntegerAttr(offset, i64) for key, offset in self._offsets.items()}
            )
            # The contents are patched into the object file, so no load from it may be folded.
            blob.attributes["externally_initialized"] = UNIT
            result.insert(0, blob)
        return result

    # Functions

    def declare_pure(self, symbol: str, inputs: Sequence[Attribute], output: Attribute) -> None:
        """Declare a function of the C library that reads and writes no memory (errno is nobody's business here)."""
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

    def function_properties(self) -> dict[str, Attribute | None]:
        """Attributes of every function with a body."""
        attributes: list[Attribute] = []
        if self._options.optimize_size:
            attributes += [StringAttr("optsize"), StringAttr("minsize")]
        if self._target is not None and self._target.freestanding:
            attributes.append(StringAttr("no-builtins"))
        properties: dict[str, Attribute | None] = {"no_unwind": UNIT}
        if attributes:
            properties["passthrough"] = ArrayAttr(attributes)
        if self._target is not None and self._target.cpu:
            properties["target_cpu"] = StringAttr(self._target.cpu)
        if self._target is not None and self._target.features:
            features = [StringAttr(each) for each in self._target.features.split(",")]
            properties["target_features"] = llvm.TargetFeaturesAttr(ArrayAttr(features))
        return properties


def _global(
    symbol: str, linkage: str, size: int, *, constant: bool = False, align: int = 8, section: str | None = None
) -> llvm.GlobalOp:
    kind = llvm.LLVMArrayType(size, i8)
    return llvm.GlobalOp(kind, symbol, linkage, constant=constant, alignment=align, section=section)


class FunctionLowering:
    """One function, in one walk. `known` holds the indices that are constant."""

    def __init__(self, module: ModuleLowering, function: func.FuncOp) -> None:
        self.module = module
        self.types = module.types
        self.known: dict[SSAValue, int] = {}
        self._function = function
        self._values: dict[SSAValue, SSAValue] = {}
        self._exit: Block | None = None
        inputs = function.function_type.inputs.data
        entry = Block(arg_types=[self.types.value(each) for each in inputs])
        self.b = LLVMBuilder(entry)

    def get(self, value: SSAValue) -> SSAValue:
        """The llvm value of a value."""
        return self._values[value]

    def set(self, value: SSAValue, to: SSAValue) -> None:
        """Map a value; its name goes along."""
        self._values[value] = to
        if to.name_hint is None:
            to.name_hint = value.name_hint

    def lower(self) -> llvm.FuncOp:
        """The llvm.func."""
        function = self._function
        outputs = function.function_type.outputs.data
        defined = bool(function.body.blocks)
        private = function.sym_visibility is not None and function.sym_visibility.data == "private"
        properties = self.module.function_properties() if defined else {"no_unwind": UNIT}
        properties["arg_attrs"] = self._argument_attributes()
        lowered = llvm.FuncOp(
            function.sym_name.data,
            llvm.LLVMFunctionType(
                [self.types.value(each) for each in function.function_type.inputs],
                self.types.value(outputs[0]) if outputs else None,
            ),
            llvm.LinkageAttr("internal" if private and defined else "external"),
            body=self._body() if defined else None,
            other_props=properties,
        )
        lowered.location = function.location
        return lowered

    def _body(self) -> Region:
        function = self._function
        if len(function.body.blocks) != 1:
            raise CompileError(Problem(f"{function.sym_name.data} has control flow that is not structured"))
        for old, new in zip(function.args, self.b.entry.args, strict=True):
            self.set(old, new)
        self.lower_block(function.body.block)
        if self._exit is not None:
            self.b.start(self._exit)
            self.b.ret(self._exit.args[0])
        return self.b.finish()

    def lower_block(self, block: Block) -> None:
        """Emit the operations of a block at the insertion point, up to its terminator's lowering."""
        for op in block.ops:
            if (lowering := _LOWERINGS.get(type(op))) is not None:
                lowering(self, op)

    def leave_if(self, condition: SSAValue, status: SSAValue) -> None:
        """Return `status` where the condition holds, else go on."""
        rest = Block()
        self.b.branch_if(condition, self._leave(status), rest, then_arguments=(status,))
        self.b.start(rest)

    def leave_unless(self, condition: SSAValue, status: SSAValue) -> None:
        """Return `status` where the condition does not hold, else go on."""
        rest = Block()
        self.b.branch_if(condition, rest, self._leave(status), otherwise_arguments=(status,))
        self.b.start(rest)

    def _leave(self, status: SSAValue) -> Block:
        if self._exit is None:
            self._exit = Block(arg_types=[status.type])
            self._exit.name_hint = "leave"
            self._exit.args[0].name_hint = "status"
        return self._exit

    def _argument_attributes(self) -> ArrayAttr[DictionaryAttr]:
        given = self._function.arg_attrs
        collected: list[DictionaryAttr] = []
        for position, kind in enumerate(self._function.function_type.inputs):
            attributes: dict[str, Attribute] = {}
            old = {} if given is None else given.data[position].data
            if isinstance(kind, aot.PtrType):
                attributes = {new: old[name] for name, new in _ARGUMENT_ATTRIBUTES.items() if name in old}
                if self._function.body.blocks and (size := self._buffer_size(self._function.args[position])):
                    attributes["llvm.dereferenceable"] = IntegerAttr(size, i64)
                attributes["llvm.noundef"] = UNIT
            collected.append(DictionaryAttr(attributes))
        return ArrayAttr(collected)

    def _buffer_size(self, argument: BlockArgument) -> int:
        """Bytes that are there behind a pointer argument, 0 where that is not known or it is tested for null."""
        size = 0
        for use in argument.uses:
            if isinstance(use.operation, aot.IsNullOp):
                return 0
            if isinstance(use.operation, aot.BufferOp):
                kind = cast(MemRefType[Attribute], use.operation.result.type)
                if kind.has_static_shape():
                    size = max(size, kind.element_count() * self.types.size(kind.element_type))
        return size


_ARGUMENT_ATTRIBUTES = {"aot.noalias": "llvm.noalias", "aot.readonly": "llvm.readonly", "aot.align": "llvm.align"}


# --- control ---------------------------------------------------------------------------------------------------------


def _for(f: FunctionLowering, op: scf.ForOp) -> None:
    """A loop tested at its head; LLVM rotates it."""
    b, types = f.b, f.types
    body = op.body.block
    head = Block(arg_types=[types.value(arg.type) for arg in body.args])
    inside, after = Block(), Block()
    head.name_hint, inside.name_hint, after.name_hint = "for", "body", "done"
    b.branch(head, [f.get(op.lb), *(f.get(value) for value in op.iter_args)])
    b.start(head)
    for old, new in zip(body.args, head.args, strict=True):
        f.set(old, new)
    b.branch_if(b.icmp("slt", head.args[0], f.get(op.ub)), inside, after)
    b.start(inside)
    f.lower_block(body)
    terminator = body.last_op
    assert isinstance(terminator, scf.YieldOp)
    following = b.integer_op(llvm.AddOp, head.args[0], f.get(op.step), NSW)
    latch = b.branch(head, [following, *(f.get(value) for value in terminator.arguments)])
    if (hints := op.attributes.get("aot.loop")) is not None:
        latch.attributes["loop_annotation"] = hints
    b.start(after)
    for result, value in zip(op.results, head.args[1:], strict=True):
        f.set(result, value)


def _if(f: FunctionLowering, op: scf.IfOp) -> None:
    b = f.b
    then, after = Block(), Block(arg_types=[f.types.value(result.type) for result in op.results])
    otherwise = Block() if op.false_region.blocks else after
    then.name_hint, after.name_hint = "then", "endif"
    b.branch_if(f.get(op.cond), then, otherwise)
    for block, region in ((then, op.true_region), (otherwise, op.false_region)):
        if block is after:
            continue
        block.name_hint = "then" if block is then else "else"
        b.start(block)
        f.lower_block(region.block)
        last = region.block.last_op
        b.branch(after, [f.get(value) for value in last.operands] if isinstance(last, scf.YieldOp) else [])
    b.start(after)
    for result, value in zip(op.results, after.args, strict=True):
        f.set(result, value)


def _call(f: FunctionLowering, op: func.CallOp) -> None:
    results = op.results
    if len(results) > 1:
        raise CompileError(Problem(f"a call of {op.callee.string_value()} has {len(results)} results"))
    arguments = [f.get(value) for value in op.arguments]
    returned = f.b.call(op.callee.string_value(), arguments, f.types.value(results[0].type) if results else None)
    for old, new in zip(results, returned, strict=True):
        f.set(old, new)


def _return(f: FunctionLowering, op: func.ReturnOp) -> None:
    f.b.ret(f.get(op.arguments[0]) if op.arguments else None)


_LOWERINGS: dict[type[Operation], llvm_arith.Lowering] = {
    scf.ForOp: _for,
    scf.IfOp: _if,
    func.CallOp: _call,
    func.ReturnOp: _return,
    **llvm_arith.LOWERINGS,
    **llvm_memory.LOWERINGS,
}
