"""The predicate of fusion on a group, against the kernel that the group becomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp, VectorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.parser import Parser

from aotc.compiler.lowering import new_context
from aotc.dialects.aot import TileLoadOp
from aotc.dialects.graph.scatter import ScatterNdInMemoryOp
from aotc.dialects.graph.schedules import ScatterSchedule
from aotc.dialects.graph.structure import ConstantOp
from aotc.model.weight_store import WeightStore
from aotc.passes.fuse.groups import make_group
from aotc.passes.fuse.vectorizable import Form, VectorForms
from aotc.passes.kernel import strategy
from aotc.passes.kernel.nest import Accesses, AccessPattern, WritePattern
from aotc.passes.kernel.strategy import KernelStrategy
from aotc.pipeline.phases import PassRunner

PRODUCTS = "schedule = #graph.matmul_schedule<lanes = 4, mr = 4, nr = 2, unroll = 1, order = rows>"
ROWS = "schedule = #graph.row_schedule<lanes = 4, registers = 2, steps = 1, rows = 2, stages = 1>"
PAIRS = ROWS.replace("registers = 2", "registers = 1")


@dataclass(frozen=True)
class Case:
    """Lines `name: result type = operation of named operands`, types written `8x4xf32`; the last is the output."""

    form: Form
    arguments: dict[str, str]
    lines: tuple[str, ...]

    def module(self) -> ModuleOp:
        """The entry function; results are computed in order."""
        kinds = dict(self.arguments)
        body: list[str] = []
        for line in self.lines:
            head, operation = line.split(" = ", 1)
            name, result = head.split(": ")
            op, _, rest = operation.partition(" ")
            operands, brace, attributes = rest.partition("{")
            types = ", ".join(f"tensor<{kinds[each.strip()]}>" for each in operands.split(",") if each.strip())
            given = ", ".join(f"%{each.strip()}" for each in operands.split(",") if each.strip())
            if op == "constant":
                body.append(f"%{name} = graph.constant {attributes.rstrip('}')} : tensor<{result}>")
            else:
                body.append(f"%{name} = graph.{op} {given} {brace}{attributes} : ({types}) -> tensor<{result}>")
            kinds[name] = result
        last = self.lines[-1].split(":")[0]
        arguments = ", ".join(
            f'%{name}: tensor<{kind}> {{aot.name = "{name}"}}' for name, kind in self.arguments.items()
        )
        result = f'(tensor<{kinds[last]}> {{aot.name = "y"}})'
        head = f"func.func @main({arguments}) -> {result} attributes {{aot.entry}}"
        text = f"{head} {{ {chr(10).join(body)}\n func.return %{last} : tensor<{kinds[last]}> }}"
        return Parser(new_context(), text).parse_module()


def product(form: Form, *before: str, lhs: str = "a", rhs: str = "b", after: tuple[str, ...] = (), **more: str) -> Case:
    """A product p of [8, 5] and [5, 8], with operations before and after it."""
    arguments = {"a": "8x5xf32", "b": "5x8xf32"} | more
    return Case(form, arguments, (*before, f"p: 8x8xf32 = matmul {lhs}, {rhs} {{{PRODUCTS}}}", *after))


TURNED = "permutation = array<i64: 1, 0>"
CASES = {
    "alone": product(Form.DENSE),
    # Rows are broadcast element by element, so they may lie in any order.
    "transposed_rows": product(Form.DENSE, f"t: 8x5xf32 = transpose a {{{TURNED}}}", lhs="t", a="5x8xf32"),
    "transposed_columns": product(Form.GATHERED, f"t: 5x8xf32 = transpose b {{{TURNED}}}", rhs="t", b="8x5xf32"),
    "every_second_column": product(
        Form.GATHERED,
        "t: 5x8xf32 = slice b {starts = array<i64: 0, 0>, steps = array<i64: 1, 2>, shape = array<i64: 5, 8>}",
        rhs="t",
        b="5x16xf32",
    ),
    "every_second_row": product(
        Form.DENSE,
        "t: 5x8xf32 = slice b {starts = array<i64: 0, 0>, steps = array<i64: 2, 1>, shape = array<i64: 5, 8>}",
        rhs="t",
        b="10x8xf32",
    ),
    # Whether an element is padding differs from lane to lane.
    "padded_columns": product(
        Form.NONE,
        "c: f32 = constant {dense<0.0>}",
        'z: 5x8xf32 = pad b, c {pads = array<i64: 0, 1, 0, 1>, mode = "constant"}',
        rhs="z",
        b="5x6xf32",
    ),
    # Along the reduction it is the same for all of them.
    "padded_depth": product(
        Form.DENSE,
        "c: f32 = constant {dense<0.0>}",
        'z: 5x8xf32 = pad b, c {pads = array<i64: 1, 0, 1, 0>, mode = "constant"}',
        rhs="z",
        b="3x8xf32",
    ),
    # A position is divided by an extent.
    "reshaped_columns": product(Form.NONE, "r: 5x8xf32 = reshape b {shape = array<i64: 5, 8>}", rhs="r", b="4x10xf32"),
    "relu_before": product(Form.DENSE, "r: 5x8xf32 = relu b", rhs="r"),
    "half_precision_before": product(Form.DENSE, "w: 5x8xf32 = cast b {to = f32}", rhs="w", b="5x8xf16"),
    "bytes_before": product(Form.DENSE, "w: 5x8xf32 = cast b {to = f32}", rhs="w", b="5x8xi8"),
    "bias": product(Form.DENSE, after=("y: 8x8xf32 = add p, v",), v="8xf32"),
    "bias_of_rows": product(Form.DENSE, after=("y: 8x8xf32 = add p, v",), v="8x1xf32"),
    "square": product(Form.DENSE, after=("e: f32 = constant {dense<2.0>}", "y: 8x8xf32 = pow p, e")),
    "three_quarters": product(Form.DENSE, after=("e: f32 = constant {dense<0.75>}", "y: 8x8xf32 = pow p, e")),
    # No multiple of a quarter, and no constant.
    "cube_root": product(Form.NONE, after=("e: f32 = constant {dense<0.3>}", "y: 8x8xf32 = pow p, e")),
    "power": product(Form.NONE, after=("y: 8x8xf32 = pow p, v",), v="8xf32"),
    "wide_after": product(Form.DENSE, after=("y: 8x8xf64 = cast p {to = f64}",)),
    "narrow_after": product(Form.DENSE, after=("y: 8x8xi8 = cast p {to = i8}",)),
    "half_precision_after": product(Form.DENSE, after=("y: 8x8xf16 = cast p {to = f16}",)),
    # No vectors of them are stored.
    "minifloat_after": product(Form.NONE, after=("y: 8x8xf8E4M3FN = cast p {to = f8E4M3FN}",)),
    "tails": Case(
        Form.GATHERED,
        {"a": "9x5xf32", "b": "7x5xf32"},
        (f"t: 5x7xf32 = transpose b {{{TURNED}}}", f"p: 9x7xf32 = matmul a, t {{{PRODUCTS}}}"),
    ),
    "turned_rows": Case(
        Form.GATHERED,
        {"a": "10x6xf32"},
        (f"t: 6x10xf32 = transpose a {{{TURNED}}}", f"y: 6x10xf32 = softmax t {{axes = array<i64: 1>, {ROWS}}}"),
    ),
    # Two rows of one register are loaded as four registers and transposed; an odd one out is gathered.
    "turned_pairs": Case(
        Form.DENSE,
        {"a": "10x6xf32"},
        (f"t: 6x10xf32 = transpose a {{{TURNED}}}", f"y: 6x10xf32 = softmax t {{axes = array<i64: 1>, {PAIRS}}}"),
    ),
    "turned_pairs_and_one": Case(
        Form.GATHERED,
        {"a": "10x7xf32"},
        (f"t: 7x10xf32 = transpose a {{{TURNED}}}", f"y: 7x10xf32 = softmax t {{axes = array<i64: 1>, {PAIRS}}}"),
    ),
    # Sums are written one by one, where everything can be computed.
    "power_of_sums": Case(
        Form.DENSE,
        {"a": "6x10xf32", "v": "6xf32"},
        (
            f's: 6xf32 = reduce a {{kind = "sum", axes = array<i64: 1>, keepdims = false, {ROWS}}}',
            "y: 6xf32 = pow s, v",
        ),
    ),
    "half_precision_product": Case(
        Form.DENSE, {"a": "8x5xf16", "b": "5x8xf16"}, (f"p: 8x8xf16 = matmul a, b {{{PRODUCTS}}}",)
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_form_is_that_of_the_kernel(name: str) -> None:
    """Form and kernel are found apart: by the patterns of the anchor, and by lowering everything."""
    case = CASES[name]
    module = case.module()
    entry = module.body.block.first_op
    assert isinstance(entry, FuncOp)
    end = entry.body.block.last_op
    assert isinstance(end, ReturnOp)
    ops = [op for op in entry.body.block.ops if not isinstance(op, ConstantOp | ReturnOp)]
    assert VectorForms(WeightStore()).of(ops, list(end.operands)) is case.form
    make_group(ops, list(end.operands))
    assert _form_of_kernel(_kernel(module)) is case.form


ROW = AccessPattern((1, 4), None, ((), ((1, 1),)))
COLUMN = AccessPattern((1, 4), None, (((1, 1),), ()))


@pytest.mark.parametrize(
    ("dtype", "read", "form"), [("f32", ROW, Form.DENSE), ("f32", COLUMN, Form.GATHERED), ("f16", ROW, Form.DENSE)]
)
def test_scratch_buffers_are_read_on_tiles(
    dtype: str, read: AccessPattern, form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _form_with_scratch(Accesses(((), (), (), (read,)), ((), ())), dtype, monkeypatch) is form


@pytest.mark.parametrize(("dtype", "form"), [("f32", Form.DENSE), ("f16", Form.DENSE)])
def test_scratch_buffers_are_written_on_tiles(dtype: str, form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    written = WritePattern(COLUMN, f32, VectorType(f32, [1, 4]))
    assert _form_with_scratch(Accesses(((), (), (), ()), ((), (written,))), dtype, monkeypatch) is form


def _form_with_scratch(accesses: Accesses, dtype: str, monkeypatch: pytest.MonkeyPatch) -> Form:
    """The form of an operation with a scratch buffer whose strategy has these accesses."""

    class Scattering(KernelStrategy[ScatterNdInMemoryOp]):
        SCHEDULES = (ScatterSchedule,)

        def accesses(self, op: ScatterNdInMemoryOp, schedule: Any) -> Accesses:
            return accesses

    monkeypatch.setattr(strategy, "strategies_of", lambda op_class: (Scattering(),))
    kinds = f"(tensor<8x8x{dtype}>, tensor<2x1xi64>, tensor<2x8x{dtype}>) -> (tensor<8x8x{dtype}>, tensor<8x8x{dtype}>)"
    text = f"""func.func @main(%x: tensor<8x8x{dtype}>, %i: tensor<2x1xi64>, %u: tensor<2x8x{dtype}>) {{
      %y, %m = graph.scatter_nd_in_memory %x, %i, %u
        {{reduction = "add", schedule = #graph.scatter_schedule<lanes = 1>}} : {kinds}
      func.return
    }}"""
    ops = Parser(new_context(), text).parse_module().walk()
    op = next(op for op in ops if isinstance(op, ScatterNdInMemoryOp))
    return VectorForms(WeightStore()).of([op], [op.result])


def test_cast_to_minifloats_alone_is_scalar() -> None:
    module = Case(Form.NONE, {"a": "64x64xf32"}, ("y: 64x64xf8E4M3FN = cast a {to = f8E4M3FN}",)).module()
    kernel = _kernel(module, "outline-kernels,attach-target{target=x86-64-v4},choose-schedule")
    assert str(kernel.attributes["aot.scalar_fallback"]) == '"tiles of f8E4M3FN"'


def _kernel(module: ModuleOp, pipeline: str = "outline-kernels") -> FuncOp:
    """The only kernel, as loops."""
    PassRunner(new_context()).run("test", f"{pipeline},bufferize,convert-graph-to-loops", module)
    (kernel,) = (op for op in module.walk() if isinstance(op, FuncOp) and "aot.kernel" in op.attributes)
    return kernel


def _form_of_kernel(kernel: FuncOp) -> Form:
    if "aot.scalar_fallback" in kernel.attributes:
        return Form.NONE
    lanes = [op.strides.get_values()[-1] for op in kernel.walk() if isinstance(op, TileLoadOp)]
    assert lanes
    return Form.DENSE if set(lanes) <= {0, 1} else Form.GATHERED
