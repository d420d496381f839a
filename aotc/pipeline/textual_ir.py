"""IR as files: what `--stop-after` and `--dump-phases` write and `--start-at` reads, with the weights in an npz."""

import math
import os
import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from zipfile import BadZipFile

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, ModuleOp, TensorType, VectorType, f64
from xdsl.ir import Attribute, Operation, TypeAttribute
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from aotc.dialects.aot.contract import CONVENTION, EXTERNAL, MODEL_SHA256, entry, has_plan, kernels
from aotc.dialects.constants import weight_keys
from aotc.dialects.graph.interfaces import GraphOp
from aotc.errors import CompileError, UsageError
from aotc.model.files import Content
from aotc.model.metadata import Origin
from aotc.model.weight_store import WeightStore
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PHASE_NAMES, phase_index
from aotc.pipeline.verification import verify


def ir_text(module: ModuleOp) -> str:
    """A module as text, with the names of the ONNX nodes."""
    stream = StringIO()
    IRPrinter(stream, print_debuginfo=True).print_op(module)
    return stream.getvalue() + "\n"


class IRPrinter(Printer):
    """Prints vectors of floats so that they are read back as they were.

    xDSL prints what is not finite, or has many digits and no fraction, as a number in hexadecimal, which within dense<>
    it reads as an integer; and zeros of both signs as zeros of one. A `scf.while` has its type before its regions,
    where no location can be read.
    """

    def print_operation_type(self, op: Operation) -> None:
        if isinstance(op, scf.WhileOp) and not self.print_generic_format:
            self.print_function_type(op.operand_types, op.result_types)
        else:
            super().print_operation_type(op)

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, DenseIntOrFPElementsAttr) and isinstance(attribute.type, VectorType):
            data = attribute.data.data
            kind = attribute.get_element_type()
            if isinstance(kind, AnyFloat) and not _reads_back(list(kind.iter_unpack(data)), kind):
                one = data[: kind.compile_time_size]
                text = one if one * (len(data) // len(one)) == data else data
                self.print_string(f'dense<"0x{text.hex().upper()}"> : ')
                self.print_attribute(attribute.type)
                return
        super().print_attribute(attribute)


_SHAPED = re.compile(r"(?:vector|memref|tensor)<(?:\d+x)*[a-z]+\d*>|!aot\.ptr<[a-z]+\d+>")
"""A type of scalars without attributes: always the same one, whatever surrounds it."""


class IRParser(Parser):
    """Reads each type of a module once: most of the characters of IR on vectors are types, of which there are few."""

    def __init__(self, ctx: Context, text: str, name: str) -> None:
        self._types: dict[str, TypeAttribute] = {}
        super().__init__(ctx, text, name)

    def parse_optional_type(self) -> TypeAttribute | None:
        token = self._current_token.span
        found = _SHAPED.match(token.input.content, token.start)
        if found is None:
            return super().parse_optional_type()
        if (known := self._types.get(found[0])) is not None:
            self._resume_from(found.end())
        elif (known := super().parse_optional_type()) is not None:
            self._types[found[0]] = known
        return known


def _reads_back(values: Sequence[float], kind: AnyFloat) -> bool:
    digits = 17 if kind == f64 else 9
    has_form = all(float(f"{value:.5e}") == value or "." in f"{value:.{digits}g}" for value in values)
    return (
        has_form
        and all(map(math.isfinite, values))
        and len({math.copysign(1, value) for value in values if value == 0}) < 2
    )


def ir_files(compilation: Compilation, stem: str) -> dict[str, Content]:
    """The files STEM.mlir and STEM.npz."""
    return {f"{stem}.mlir": _ir_file(compilation), f"{stem}.npz": compilation.store.to_bytes()}


def _ir_file(compilation: Compilation) -> str:
    """The module as text, with the digest of the model that it was made of."""
    module, origin = compilation.module, compilation.origin
    MODEL_SHA256.set(module, None if origin is None else origin.model_sha256)
    try:
        return ir_text(module)
    finally:
        MODEL_SHA256.set(module, None)


def _taken_digest(module: ModuleOp) -> str | None:
    """The digest of the model that a module in a file was made of, which is removed; None where it has none."""
    digest = MODEL_SHA256.get(module)
    MODEL_SHA256.set(module, None)
    return digest if digest is not None and re.fullmatch("[0-9a-f]{64}", digest) else None


def read_ir(source: object, start_at: str, options: CompileOptions, ctx: Context) -> Compilation:
    """The IR after the phase `start_at` in the file `source`; its weights are `FILE.npz` or `weights.npz` beside it.

    Its origin is no more than the digest of its model. Raises OSError, CompileError where it cannot be read or weights
    are missing, UsageError where it is the IR of another phase.
    """
    if not isinstance(source, str | os.PathLike):
        raise UsageError("wrong-function", "--start-at reads a file of textual IR")
    path = Path(source)
    text = path.read_bytes()
    store = _read_weights(path, ctx)
    try:
        module = IRParser(ctx, text.decode(), str(path)).parse_module()
        verify(module)
    except (ParseError, VerifyException, UnicodeDecodeError) as error:
        raise CompileError("invalid-ir", f"{path} is not IR that can be read", str(error)) from error
    if missing := sorted(weight_keys(module) - set(store)):
        why = f"neither {path.with_suffix('.npz').name} nor weights.npz beside it holds them"
        raise CompileError("missing-array", f"{path} has no weights {', '.join(missing)}", why)
    if start_at not in (given := _stages(module)):
        why = f"it looks like IR after {' or '.join(given)}"
        raise UsageError("wrong-phase", f"{path} is not IR after {start_at}", why)
    undefined = [kernel for kernel in kernels(module) if kernel.is_declaration and EXTERNAL.get(kernel) is None]
    if empty := [f"@{kernel.sym_name.data}" for kernel in undefined]:
        what = f"{path} declares the kernel {', '.join(empty)} without a body"
        fix = f"give it one, or say in {EXTERNAL.name} which code generator defines it"
        raise CompileError("invalid-ir", what, "a kernel is compiled with its model", fix)
    return Compilation(options, ctx, module, store, start_at, origin=Origin("", "", (), _taken_digest(module)))


def _read_weights(path: Path, ctx: Context) -> WeightStore:
    for beside in (path.with_suffix(".npz"), path.with_name("weights.npz")):
        if beside.exists():
            try:
                WeightStore.load(beside).attach(ctx)
            except (ValueError, EOFError, BadZipFile) as error:
                raise CompileError("invalid-file", f"{beside} is not an npz file of weights", str(error)) from error
            break
    return WeightStore.of(ctx)


def _stages(module: ModuleOp) -> Sequence[str]:
    """The phases that `module` may have just been through, by what later ones leave (docs/ir.md)."""
    function = entry(module)
    signature = function.function_type
    bodies = list(kernels(module))
    if CONVENTION.get(function) is not None:
        return _between("interface", None)
    if any(isinstance(kind, TensorType) for kind in (*signature.inputs, *signature.outputs)):
        return _between("outline", "bufferize") if bodies else _between("import", "outline")
    if not has_plan(module):
        return _between("bufferize", "plan")
    is_graph = any(isinstance(op, GraphOp) for body in bodies for op in body.walk())
    return _between("plan", "loops") if is_graph else _between("loops", "interface")


def _between(first: str, end: str | None) -> Sequence[str]:
    """The phases from `first` on, before `end`."""
    return PHASE_NAMES[phase_index(first) : None if end is None else phase_index(end)]
