"""`aotc verify`: outputs against a reference, and where a difference begins."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import ModelProto

from aotc.cli.arguments import options_from
from aotc.cli.commands import print_json, progress
from aotc.compiler.checking.interface import Interface
from aotc.compiler.checking.quantized_reference import quanta, read_without_weights
from aotc.compiler.checking.recordings import read_inputs
from aotc.compiler.checking.reference import comparable_session, first_values, reference_sequence
from aotc.compiler.checking.submodels import NodeByNode
from aotc.compiler.checking.tflite_reference import Interpreter, interpreter
from aotc.compiler.lowering import read_once
from aotc.dialects.dtypes import number_kind
from aotc.errors import EXIT_OK, EXIT_WRONG, UsageError, show
from aotc.frontend import tflite
from aotc.frontend.onnx.labels import labels_of
from aotc.measuring import differences
from aotc.measuring.routes import open_model
from aotc.model.conventions import FIRST, LAST
from aotc.model.labels import Labels, is_text
from aotc.model.metadata import StateInfo, TensorInfo
from aotc.model.model_file import ModelFile
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Comparison:
    """How one output tensor compares with its reference."""

    name: str
    ok: bool
    max_difference: float
    tolerance: float
    """The largest absolute difference allowed: rtol * max|reference| + atol, 1 for integers, 0 for booleans and text.
    """
    mismatch: str = ""

    @property
    def excess(self) -> float:
        """The difference as a multiple of the tolerance."""
        return float("inf") if self.mismatch or not self.tolerance else self.max_difference / self.tolerance

    def line(self) -> str:
        """One line for people."""
        verdict = "ok" if self.ok else "DIFFERS"
        return f"{self.name}: {verdict}, " + (
            self.mismatch or f"max difference {self.max_difference:.3g} (allowed {self.tolerance:.3g})"
        )


def compare(name: str, actual: Array, reference: Array, *, rtol: float, atol: float, exact: bool = False) -> Comparison:
    """Compare `actual` with `reference` of the same shape; NaN equals NaN, infinities must agree exactly.

    Floats may differ by `rtol * max|finite reference| + atol`; integers by one unit (a rounding boundary of
    quantisation that float evaluation order may cross); booleans not at all, nor what is to be `exact`, as labels.
    """
    if actual.shape != reference.shape or actual.dtype != reference.dtype:
        what = f"{actual.dtype} {list(actual.shape)}, expected {reference.dtype} {list(reference.shape)}"
        return Comparison(name, False, float("inf"), 0.0, what)
    if not reference.size:
        return Comparison(name, True, 0.0, 0.0)
    kind = number_kind(reference.dtype)
    wide_actual, wide_reference = (array.astype(np.float64) for array in (actual, reference))
    finite = np.isfinite(wide_reference)
    if kind == "b" or exact:
        tolerance = 0.0
    elif kind in "iu":
        tolerance = 1.0
    else:
        tolerance = rtol * float(np.abs(wide_reference[finite]).max(initial=0.0)) + atol
    same_special = bool(np.array_equal(wide_actual[~finite], wide_reference[~finite], equal_nan=True))
    difference = float(np.abs(wide_actual[finite] - wide_reference[finite]).max(initial=0.0))
    mismatch = "" if same_special else "infinities or NaNs differ"
    return Comparison(name, same_special and difference <= tolerance, difference, tolerance, mismatch)


Arrays = Mapping[str, Array]
_STEPS: Final = 4
"""Calls one after the other that are compared where states go from one to the next."""


@dataclass(frozen=True)
class _Reference:
    """A reference: the right outputs of a model."""

    kind: str
    options: CompileOptions
    labels: Mapping[str, Labels] = field(default_factory=dict[str, Labels])
    """Meanings of a compiled model's numbers where its ONNX model has text or maps."""
    why: str = ""
    """Why it is not onnxruntime, which was to be preferred."""
    interpreter: Interpreter | None = None
    """Of a .tflite model."""

    def sequence(
        self, source: Any, steps: Sequence[Arrays], states: Sequence[StateInfo], tensors: Sequence[TensorInfo]
    ) -> list[dict[str, Array]]:
        """The outputs by name of calls one after the other, which keep the `states`, of a model of `tensors`."""
        if self.kind == "loops":
            return differences.loops_outputs(source, self.options, steps)
        readable = source.reread() if isinstance(source, ModelFile) else source
        interface = Interface(tensors, self.options, FIRST if self.interpreter is None else LAST)
        hidden = {state.output for state in states}
        if self.interpreter is not None:
            found = self.interpreter.sequence(steps, states, interface)
        else:
            session = comparable_session(readable) if self.kind == "onnxruntime" else NodeByNode(_loaded(readable))
            found = reference_sequence(session, steps, states, self.options.known_constants, self.labels, interface)
        return [{name: array for name, array in each.items() if name not in hidden} for each in found]

    def __str__(self) -> str:
        name = _NAMES.get(self.kind, self.kind)
        return f"{name} ({self.why})" if self.why else name


_NAMES: Final = {
    "onnxruntime": "onnxruntime",
    "onnx": "onnxruntime node by node, and onnx.reference where it has no kernel",
    "loops": "our operators' own loops",
}


@dataclass
class _Tolerance:
    """How far floats may be off."""

    rtol: float
    atol: float
    quantum: dict[str, float] = field(default_factory=dict[str, float])
    """By how much more a value that stands for integers."""

    def compared(self, name: str, actual: Array, right: Array, *, exact: bool) -> Comparison:
        atol = self.atol + self.quantum.get(name, 0.0)
        return compare(name, actual, right, rtol=self.rtol, atol=atol, exact=exact)


def verify_command(arguments: argparse.Namespace) -> int:
    """Run and compare; with `--per-op` and `--bisect` say where the first difference is."""
    options = options_from(arguments)
    if arguments.steps is not None and arguments.steps < 1:
        raise UsageError("out-of-range", f"--steps {arguments.steps}", "there is nothing to compare", "use 1 or more")
    source: Any = read_once(arguments.model, options)
    tolerance = _Tolerance(arguments.rtol, arguments.atol)
    labels: dict[str, Labels] = {}

    content = tflite.content_of(source) if options.start_at is None else None
    is_own = content is not None and options.requantize in ("", "tflite")

    def compared(name: str, actual: Array, right: Array) -> Comparison:
        exact = (name in labels and is_text(actual.dtype.name)) or (is_own and number_kind(right.dtype) in "iu")
        return tolerance.compared(name, actual, right, exact=exact)

    with progress() as report:
        model = open_model(source, arguments.emit, options, report, arguments.loader)
        if options.start_at is None and content is None:  # of a model that the importer has accepted
            tolerance.quantum |= quanta(read_without_weights(source.reread()))
        if report is not None:
            report("reference")
        count = arguments.steps or (_STEPS if model.states else 1)
        calls = [read_inputs(arguments.inputs, model.inputs, step) for step in range(count)]
        labels |= {each.name: each.labels for each in model.outputs if each.labels}
        given = content if content is not None else source
        reference, expected = _expected(arguments, given, options, calls, model, labels)
        found = [
            compared(name, actual[name], right)
            for inputs, outputs in zip(calls, expected, strict=True)
            for actual in [differences.cut_to_counts(model(inputs), outputs)]
            for name, right in outputs.items()
        ]
        comparisons = [
            max((each for each in found if each.name == name), key=lambda each: (not each.ok, each.excess))
            for name in expected[0]
        ]
        wrong = [comparison for comparison in comparisons if not comparison.ok]
        where: dict[str, str] = {}
        if arguments.per_op:
            alone, given = replace(options, state={}), {**first_values(model.states), **calls[0]}
            where["per_op"] = _per_op(arguments, source, alone, given, tolerance)
        if arguments.bisect and wrong:

            def differ(outputs: Arrays) -> bool:
                outputs = differences.cut_to_counts(outputs, expected[0])
                return not all(compared(name, outputs[name], right).ok for name, right in expected[0].items())

            where["bisect"] = differences.first_pass(source, options, differ, calls[0])
    if arguments.json:
        shown = [
            {name: None if value == float("inf") else value for name, value in asdict(each).items()}  # JSON has none
            for each in comparisons
        ]
        print_json({"ok": not wrong, "reference": reference.kind, "outputs": shown, **where})
    else:
        if reference.kind != "onnxruntime":
            show(f"reference: {reference}")
        for comparison in comparisons:
            show(comparison.line())
        for sentence in where.values():
            show(sentence)
    if wrong:
        worst = max(wrong, key=lambda comparison: comparison.excess)
        show(f"error: {worst.name} differs most from {reference.kind}: {worst.line()}", file=sys.stderr)
        return EXIT_WRONG
    return EXIT_OK


def _expected(
    arguments: argparse.Namespace,
    source: Any,
    options: CompileOptions,
    steps: Sequence[Arrays],
    model: Any,
    labels: Mapping[str, Labels],
) -> tuple[_Reference, list[dict[str, Array]]]:
    """The reference and its outputs of each step: onnxruntime if it is asked for, or can compute them; if only it lacks
    a kernel, the onnx package for that. Of the bytes of a .tflite model, the interpreter that is installed."""
    whys, more = list[str](), (model.states, (*model.inputs, *model.outputs))
    if tflite.content_of(source) is not None and arguments.reference != "loops":
        if arguments.reference == "onnxruntime":
            what = "--reference onnxruntime with a .tflite model"
            raise UsageError("option-conflict", what, "it runs ONNX models", "leave it out")
        found = interpreter(source)
        reference = _Reference(found.kind, options, interpreter=found)
        return reference, reference.sequence(source, steps, *more)
    for kind in ("onnxruntime", "onnx"):
        if arguments.reference == "loops" or any("[missing-tool]" in why for why in whys):
            break
        reference = _Reference(kind, options, labels, "; ".join(whys))
        try:
            return reference, reference.sequence(source, steps, *more)
        except UsageError as error:
            if arguments.reference == "onnxruntime":
                raise
            whys.append("; ".join(map(str, error.problems)))
    why = "; ".join(whys[:1])
    if options.optimize == "0" and arguments.emit == "jit" and options.threads == 1:
        what = "there is nothing to compare with"
        raise UsageError("nothing-to-compare", what, why or "-O0 is the reference", "leave -O0 out, or use --emit c")
    reference = _Reference("loops", options, why=why)
    return reference, reference.sequence(source, steps, *more)


def _loaded(readable: str | os.PathLike[str] | bytes) -> ModelProto:
    return onnx.load_model_from_string(readable) if isinstance(readable, bytes) else onnx.load(os.fspath(readable))


def _per_op(
    arguments: argparse.Namespace, source: ModelFile, options: CompileOptions, inputs: Arrays, tolerance: _Tolerance
) -> str:
    """Which operator's result differs first."""
    if options.changes_interface:
        what = "--per-op with --io quantized or layouts of inputs and outputs"
        raise UsageError("option-conflict", what, "operators are those of the model", "leave out either")
    if options.start_at is not None or tflite.content_of(source) is not None:
        what = f"--per-op with {'--start-at' if options.start_at is not None else 'a .tflite model'}"
        raise UsageError("option-conflict", what, "operators are those of an ONNX model")
    proto = _loaded(source.reread())
    labels = labels_of(proto.graph)

    def compiled(model: ModelProto, given: Arrays) -> Arrays:
        with tempfile.TemporaryDirectory(prefix="aotc-") as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(model.SerializeToString())
            compiled = open_model(str(path), arguments.emit, options, loader=arguments.loader)
        return compiled({info.name: given[info.name] for info in compiled.inputs})

    def differs(name: str, actual: Array, right: Array) -> str:
        found = tolerance.compared(name, actual, right, exact=number_kind(right.dtype) in "iu")
        return "" if found.ok else found.line().partition(": ")[2]

    groups = differences.values_between_kernels(proto, options)
    found: dict[str, Array] = {}
    for group in groups:
        found |= compiled(differences.with_outputs(proto, group), inputs)
    judge = differences.Judge(proto, labels, differs)
    values = list(dict.fromkeys(name for group in groups for name in group))
    wrong = differences.first_operator(judge, values, found, inputs, compiled)
    if wrong is not None:
        return wrong.line()
    unjudged = f", but for {', '.join(sorted(judge.unjudged))}, which nothing else computes" if judge.unjudged else ""
    return f"no operator's result differs, in {len(values)} values between kernels{unjudged}"
