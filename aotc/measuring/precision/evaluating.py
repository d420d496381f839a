"""Models over a data set: how good their outputs are, by onnxruntime and compiled, and what they cost.

The first model is what others are compared with: its outputs by onnxruntime are the reference where there are no
labels, its inner values are those of which `layers` says how much noise another model's have.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np
import onnx

from aotc.compiler.checking.reference import reference_session
from aotc.compiler.driver import compile, measured
from aotc.errors import AotcError, UsageError
from aotc.measuring.precision.data import Array, Sample, count, function_at, inputs_of, read_model, samples
from aotc.model.files import write_files
from aotc.pipeline.options import CompileOptions

METRICS: Final = ("top1", "mse", "auc")
ROUTES: Final = ("onnxruntime", "compiled")
PIECE: Final = 32
"""Samples that one worker computes at a time, and that are not computed again by a run that goes on."""
MOST_WORST: Final = 5
LAYER_SAMPLES: Final = 8


@dataclass(frozen=True)
class Task:
    """Some samples through one model by one route: plain values, that another process can be given."""

    model: str
    reference: str
    data: str
    route: str
    start: int
    stop: int
    metric: str

    @property
    def key(self) -> str:
        """The name of the scores, by the contents of files."""
        files = [hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in (self.model, self.reference)]
        rest = (self.data, _stamp(self.data), self.route, self.start, self.stop, self.metric)
        return hashlib.sha256(json.dumps([files, rest]).encode()).hexdigest()


def _stamp(data: str) -> list[str]:
    """Marks of the files of a data set, which change where these do."""
    path = Path(data)
    files = sorted(path.glob("*.npz")) if path.is_dir() else [path] if path.is_file() else []
    return [f"{each.name} {each.stat().st_size} {each.stat().st_mtime_ns}" for each in files]


@dataclass
class Scores:
    """One number for each sample."""

    values: list[float] = field(default_factory=list[float])
    """Of the metric; for auc the score of the positive class."""
    labels: list[float] = field(default_factory=list[float])
    errors: list[float] = field(default_factory=list[float])
    """The mean squared difference from the reference model's outputs."""
    seconds: list[float] = field(default_factory=list[float])

    def add(self, other: Scores) -> None:
        """Append another's."""
        for name, values in vars(other).items():
            getattr(self, name).extend(values)


def computed(task: Task) -> dict[str, list[float]]:
    """The scores of a task, as plain lists. Raises AotcError, OSError."""
    run, expected = _runner(task.model, task.route), _runner(task.reference, "onnxruntime")
    metric = function_at(task.metric, "--metric") if ":" in task.metric else None
    scores = Scores()
    inputs = inputs_of(read_model(task.reference))
    for sample in samples(task.data, inputs, task.start, task.stop):
        start = perf_counter()
        found = run(sample.inputs)
        scores.seconds.append(perf_counter() - start)
        right = expected(sample.inputs)
        scores.errors.append(_mean_squared(found, right))
        value, label = _scored(task.metric, metric, found, right, sample)
        scores.values.append(value)
        scores.labels.append(label)
    return vars(scores)


def _scored(
    name: str, metric: Callable[..., Any] | None, found: Sequence[Array], right: Sequence[Array], sample: Sample
) -> tuple[float, float]:
    """The number of a sample, and its label; without one the reference's outputs are right."""
    label = sample.label
    if metric is not None:
        return float(metric(found, label)), 0.0
    if name == "top1":
        truth = int(np.argmax(right[0])) if label is None else int(np.reshape(label, -1)[0])
        return float(int(np.argmax(found[0])) == truth), float(truth)
    if name == "mse":
        truth = right[0] if label is None else np.reshape(label, found[0].shape)
        return _mean_squared(found[:1], [truth]), 0.0
    if label is None:
        raise UsageError("missing-array", "--metric auc without labels", "it says which samples are positive")
    return float(np.reshape(found[0], -1)[-1]), float(np.reshape(label, -1)[0])


def _mean_squared(found: Sequence[Array], right: Sequence[Array]) -> float:
    return float(np.mean([_squares(a, b) for a, b in zip(found, right, strict=True)]))


def _squares(found: Array, right: Array) -> float:
    difference = found.astype(np.float64) - right.astype(np.float64)
    return float(np.mean(np.square(difference))) if difference.size else 0.0


def _runner(path: str, route: str) -> Callable[[Mapping[str, Array]], list[Array]]:
    """A function that computes the outputs of a model in order."""
    if route == "onnxruntime":
        session = reference_session(path)
        return lambda inputs: [np.asarray(each) for each in session.run(None, dict(inputs))]
    model = compile(path)
    names = [each.name for each in model.outputs]
    return lambda inputs: [found[name] for found in [model(dict(inputs))] for name in names]


def area(values: Sequence[float], labels: Sequence[float]) -> float:
    """The area under the curve of true over false positives: how probably a positive sample has a greater score than
    another one, ties half (the Mann-Whitney statistic). NaN where all are of one kind."""
    order = np.argsort(values, kind="stable")
    ordered = np.asarray(values)[order]
    _, first, counts = np.unique(ordered, return_index=True, return_counts=True)
    ranks = np.empty(len(values))
    ranks[order] = np.repeat(first + (counts + 1) / 2, counts)
    positive = np.asarray(labels) > 0.5
    of, rest = int(positive.sum()), int((~positive).sum())
    return float("nan") if not of or not rest else float((ranks[positive].sum() - of * (of + 1) / 2) / (of * rest))


@dataclass(frozen=True)
class Row:
    """A model by a route."""

    model: str
    route: str
    score: float
    error: float
    """The mean squared difference from the reference's outputs."""
    worst: tuple[int, ...]
    """Numbers of the samples with the greatest difference, that first."""
    microseconds: float
    """Of a call on this machine, the median."""
    ram: int | None = None
    """Bytes on the target; None where the model is not compiled for it."""
    flash: int | None = None
    why: str = ""
    """Why it is not."""


@dataclass(frozen=True)
class Layer:
    """A value inside two models."""

    model: str
    name: str
    decibels: float
    """The signal to noise ratio of the second against the first."""


@dataclass(frozen=True)
class Evaluation:
    """The result of a comparison."""

    metric: str
    samples: int
    rows: tuple[Row, ...]
    layers: tuple[Layer, ...]
    """The noisiest first."""

    def as_json(self) -> dict[str, Any]:
        """Plain values; NaN, which JSON lacks, as None."""
        rows = [{**asdict(each), "score": None if np.isnan(each.score) else each.score} for each in self.rows]
        return {**asdict(self), "rows": rows}


@dataclass
class Journal:
    """Scores that a run which was interrupted has left."""

    path: Path | None

    @cached_property
    def known(self) -> dict[str, dict[str, list[float]]]:
        """By the key of a task. Raises UsageError for another file, OSError."""
        if self.path is None or not self.path.exists():
            return {}
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            return {str(key): {name: list(map(float, found[key][name])) for name in vars(Scores())} for key in found}
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            what = f"--resume {self.path} is no record of an evaluation"
            raise UsageError("invalid-file", what, fix="name a file that aotc evaluate wrote, or a new one") from error

    def note(self, key: str, scores: dict[str, list[float]]) -> None:
        """Add to the file, which is never half written. Raises OSError."""
        self.known[key] = scores
        if self.path is not None:
            write_files(self.path.parent, {self.path.name: json.dumps(self.known).encode()})


def evaluate(
    models: Sequence[str],
    data: str,
    options: CompileOptions,
    *,
    metric: str = "top1",
    most: int | None = None,
    executor: Executor | None = None,
    resume: Path | None = None,
    report: Callable[[str], None] | None = None,
) -> Evaluation:
    """Compare models over at most `most` samples: `options` say what RAM and flash are counted for. Pieces of the data
    are computed by the workers of an `executor`, or here; those in the file `resume` are not computed again.

    Raises AotcError, OSError.
    """
    said = report or (lambda text: None)
    if metric not in METRICS and ":" not in metric:
        fix = f"use {', '.join(METRICS)} or module:function"
        raise UsageError("unknown-choice", f"--metric {metric}", "there is no such metric", fix)
    total = count(data, inputs_of(read_model(models[0])), most)
    starts = range(0, total, PIECE)
    tasks = [
        Task(model, models[0], data, route, start, min(start + PIECE, total), metric)
        for model in models
        for route in ROUTES
        for start in starts
    ]
    found = _all_scores(tasks, Journal(resume), executor, said)
    rows = [
        _row(model, route, metric, [found[task] for task in tasks if (task.model, task.route) == (model, route)])
        for model in models
        for route in ROUTES
    ]
    costs = {model: _cost(model, options, said) for model in models}
    rows = [row if row.route == "onnxruntime" else Row(**{**asdict(row), **costs[row.model]}) for row in rows]
    layers = [each for model in models[1:] for each in layer_noise(models[0], model, data, said)]
    return Evaluation(metric, total, tuple(rows), tuple(sorted(layers, key=lambda each: each.decibels)))


def _all_scores(
    tasks: Sequence[Task], journal: Journal, executor: Executor | None, said: Callable[[str], None]
) -> dict[Task, dict[str, list[float]]]:
    found = {task: journal.known[task.key] for task in tasks if task.key in journal.known}
    missing = [task for task in tasks if task not in found]

    def note(task: Task, scores: dict[str, list[float]]) -> None:
        found[task] = scores
        journal.note(task.key, scores)
        said(f"{Path(task.model).name} by {task.route}: {len(found)} of {len(tasks)} pieces")

    if executor is None:
        for task in missing:
            note(task, computed(task))
        return found
    waiting = {executor.submit(computed, task): task for task in missing}
    for future in as_completed(waiting):
        note(waiting[future], future.result())
    return found


def _row(model: str, route: str, metric: str, pieces: Sequence[dict[str, list[float]]]) -> Row:
    scores = Scores()
    for each in pieces:
        scores.add(Scores(**each))
    score = area(scores.values, scores.labels) if metric == "auc" else float(np.mean(scores.values))
    worst = sorted(range(len(scores.errors)), key=lambda place: -scores.errors[place])[:MOST_WORST]
    worst = tuple(place for place in worst if scores.errors[place] > 0)
    return Row(model, route, score, float(np.mean(scores.errors)), worst, float(np.median(scores.seconds)) * 1e6)


def _cost(model: str, options: CompileOptions, said: Callable[[str], None]) -> dict[str, Any]:
    """RAM and flash of a model on the target, or why there is none."""
    said(f"{Path(model).name} for {options.target}")
    try:
        info = measured(model, options)
    except AotcError as error:
        return {"why": str(error.problems[0])}
    flash = None if info.footprint is None else info.footprint.flash_bytes
    return {"ram": info.ram_bytes, "flash": flash}


def layer_noise(first: str, second: str, data: str, said: Callable[[str], None] | None = None) -> list[Layer]:
    """How much noise the second model's inner values have against those of the same name in the first, over a few
    samples: 10 log10 of the signal's power over the difference's. Raises UsageError, OSError."""
    models = [read_model(path) for path in (first, second)]
    computed = [{name for node in model.graph.node for name in node.output if name} for model in models]
    stored = _stored(models[1])
    names = sorted(computed[0] & (computed[1] | stored.keys()))
    others: list[str] = [stored.get(name, name) for name in names]
    if said is not None:
        said(f"layers of {Path(second).name}")
    one, two = (
        reference_session(_with_outputs(model, wanted).SerializeToString(), optimize=False)
        for model, wanted in zip(models, (names, others), strict=True)
    )
    signal, noise = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    for sample in samples(data, inputs_of(models[0]), stop=LAYER_SAMPLES):
        found = zip(one.run(names, dict(sample.inputs)), two.run(others, dict(sample.inputs)), strict=True)
        for name, (right, value) in zip(names, found, strict=True):
            if right.shape == value.shape and right.dtype.kind == "f":
                signal[name] += float(np.square(right.astype(np.float64)).sum())
                noise[name] += _squares(value, right) * value.size
    return [
        Layer(second, name, float(10 * np.log10(signal[name] / noise[name])))
        for name in names
        if noise[name] > 0 and signal[name] > 0
    ]


def _stored(model: onnx.ModelProto) -> dict[str, str]:
    """Of values that become integers the names of what these stand for: an activation may be in the clamping."""
    integers = {node.output[0]: node.input[0] for node in model.graph.node if node.op_type == "QuantizeLinear"}
    return {
        integers[node.input[0]]: node.output[0]
        for node in model.graph.node
        if node.op_type == "DequantizeLinear" and node.input[0] in integers
    }


def _with_outputs(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    there = {each.name for each in made.graph.output}
    made.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in there)
    return made
