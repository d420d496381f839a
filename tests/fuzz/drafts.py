"""A random model under construction: the array of every value is known as soon as its node is drawn.

Beside each array goes how far rounding may move it: each node is run on its operands and again on operands moved by
what rounding may have moved them, and by the rounding of the node itself. That bounds the error to first order,
whatever the operator; where a result jumps, or little of it is left, the node is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper

from aotc.dialects.dtypes import number_kind, numpy_dtype
from fuzz.oracle import Array, Part, Refused, make_model, onnx_type

FLOATS = ("float32", "float32", "float32", "float32", "float64", "float16", "bfloat16")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
NUMBERS = (*FLOATS, *INTEGERS)
RARE = ("int4", "uint4", "int2", "uint2", "float8_e4m3fn", "float8_e5m2")
ANY = (*NUMBERS, "bool")

OPSETS = (8, 9, 10, 11, 12, 13, 15, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26)
MICROSOFT, LEARNED, TRAINING = "com.microsoft", "ai.onnx.ml", "ai.onnx.preview.training"
"""Domains of operators."""
MOST_ELEMENTS = 6000

SMOOTH, FAST, MOVES, STEPS = "smooth", "fast", "moves", "steps"
"""How a node rounds: like a function; like a long sum by whatever algorithm, or like nodes inside of it whose values
are not seen; not at all; not at all, but what comes in rounded may come out as another number."""

_UNIT = {"float64": 1e-12, "float32": 2e-6, "float16": 2e-3, "bfloat16": 2e-2}
_ALGORITHM = 1e-4
"""The error that an algorithm may make, of the greatest result (`--accuracy fast`)."""
_WORST = 0.02
"""The most error, of the greatest value, with which a comparison still says something; of narrow floats more."""


def is_float(array: Array) -> bool:
    """Whether elements are floats, of whatever width."""
    return number_kind(array.dtype) == "f"


@dataclass(frozen=True)
class Value:
    """A tensor of the model, its array, and how far each element may be from it: 0 is exactly this."""

    name: str
    array: Array
    error: float = 0.0
    constant: bool = False
    fixed: bool = False
    """Whether it is read like an attribute, so that nothing may move it."""
    last: bool = False
    """Whether no drawer takes it unasked: integers that may be off, or values of data-dependent extents."""

    @property
    def dtype(self) -> str:
        """The name of the element type."""
        return self.array.dtype.name

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self.array.shape

    @property
    def rank(self) -> int:
        """How many axes there are."""
        return self.array.ndim


def reads(node: NodeProto) -> set[str]:
    """The values that a node reads, those that its graphs take from around it among them."""
    found = {name for name in node.input if name}
    for attribute in node.attribute:
        inner = attribute.g.node
        found |= {name for each in inner for name in reads(each)} - {name for each in inner for name in each.output}
    return found


@dataclass
class Specimen:
    """A model with what goes in and what must come out; `values` are all tensors, for cutting the model smaller."""

    nodes: list[NodeProto]
    values: dict[str, Value]
    outputs: list[str]
    versions: Mapping[str, int]
    """Domain -> version of its operator set."""
    symbolic: frozenset[str] = frozenset()
    """Inputs whose first extent has a name in the model."""
    seed: int = 0

    def needed(self) -> set[str]:
        """The names of what the nodes and the model itself read."""
        return {name for node in self.nodes for name in reads(node)} | set(self.outputs)

    def inputs(self) -> list[Value]:
        """The values that a caller gives."""
        made = {name for node in self.nodes for name in node.output}
        read = self.needed()
        return [v for v in self.values.values() if v.name in read - made and not v.constant]

    def feed(self) -> dict[str, Array]:
        """The arrays of the inputs."""
        return {value.name: value.array for value in self.inputs()}

    def dims(self) -> dict[str, int]:
        """The extents that have names."""
        return {f"n_{v.name}": v.shape[0] for v in self.inputs() if v.name in self.symbolic and v.rank}

    def model(self) -> ModelProto:
        """The model as ONNX."""
        infos: list[ValueInfoProto] = []
        for value in self.inputs():
            shape: list[int | str] = [*value.shape]
            if value.name in self.symbolic and shape:
                shape[0] = f"n_{value.name}"
            infos.append(helper.make_tensor_value_info(value.name, onnx_type(value.array), shape))
        fixed = [
            numpy_helper.from_array(value.array, value.name)
            for value in self.values.values()
            if value.constant and value.name in self.needed()
        ]
        results = [self.values[name] for name in self.outputs]
        shapes = [None if v.last else v.shape for v in results]
        outputs = [
            helper.make_tensor_value_info(v.name, onnx_type(v.array), shape)
            for v, shape in zip(results, shapes, strict=True)
        ]
        return make_model(self.nodes, infos, outputs, fixed, self.versions)


@dataclass
class Draft:
    """Takes nodes one after the other; everything random comes from `rng`."""

    rng: np.random.Generator
    opset: int = 0
    values: list[Value] = field(default_factory=list[Value])
    nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    versions: dict[str, int] = field(default_factory=dict[str, int])
    """Domain -> version of its operator set."""
    inner: int = 0
    """How many graphs there are inside of graphs of nodes."""

    def __post_init__(self) -> None:
        self.opset = self.opset or int(self.pick(OPSETS))
        self.versions = {"": self.opset, MICROSOFT: 1, LEARNED: self.pick((1, 2, 3, 4, 5)), TRAINING: 1}

    # --- chance ---

    def pick(self, choices: Sequence[Any]) -> Any:
        """One of `choices`."""
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, share: float) -> bool:
        """True in this share of cases."""
        return bool(self.rng.random() < share)

    def number(self, low: int, high: int) -> int:
        """From `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def extent(self) -> int:
        """An extent: most are small, some are those at which vectors and tiles end."""
        return int(self.pick((1, 2, 3, 4, 5, 6, 7)) if self.chance(0.75) else self.pick((8, 9, 15, 16, 17, 31, 32, 33)))

    def shape(self, rank: int | None = None, low: int = 0, high: int = 5) -> tuple[int, ...]:
        """A shape of `rank` axes, or of some number from `low` to `high`."""
        rank = min(high, max(low, int(self.pick((0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5))))) if rank is None else rank
        while True:
            shape = tuple(self.extent() for _ in range(rank))
            if np.prod(shape) <= MOST_ELEMENTS:
                return shape

    def array(self, dtype: str, shape: Sequence[int], low: float = -4, high: float = 4) -> Array:
        """Random elements from `low` to `high`; of integers without bounds of one's own, the whole range at times."""
        kind = numpy_dtype(dtype)
        if dtype == "bool":
            return self.rng.integers(0, 2, shape).astype(bool)
        if number_kind(kind) in "iu":
            floor = max(low, 0) if dtype.startswith("u") else low
            return np.asarray(self.rng.integers(int(np.ceil(floor)), int(high) + 1, shape)).astype(kind)
        return np.asarray(self.rng.uniform(low, high, shape)).astype(kind)

    # --- values ---

    def fresh(
        self, dtype: str, shape: Sequence[int], low: float = -4, high: float = 4, constant: bool | None = None
    ) -> Value:
        """A new input, or a new initializer."""
        constant = self.chance(0.3) if constant is None else constant
        return self.known(self.array(dtype, shape, low, high), constant)

    def known(self, array: Array, constant: bool = True, fixed: bool = False) -> Value:
        """A new value of these elements, which the compiler knows too if it is constant."""
        name = f"{'c' if constant else 'x'}{len(self.values)}"
        value = Value(name, np.asarray(array), constant=constant, fixed=fixed)
        self.values.append(value)
        return value

    def indices(self, *numbers: int, dtype: str = "int64") -> Value:
        """A constant list of numbers, as axes and shapes are."""
        return self.known(np.array(numbers, dtype))

    def find(self, fits: Callable[[Value], bool]) -> Value | None:
        """Some value there is, those of nodes more often than inputs."""
        found = [value for value in self.values if value.array.size and not value.last and fits(value)]
        made = {name for node in self.nodes for name in node.output}
        later = [value for value in found if value.name in made]
        if not found:
            return None
        return self.pick(later if later and self.chance(0.8) else found)

    def take(
        self,
        dtypes: Sequence[str] = FLOATS,
        low: float = -4,
        high: float = 4,
        *,
        ranks: tuple[int, int] = (0, 5),
        exact: bool = False,
        bounded: bool = False,
    ) -> Value:
        """A value of one of these types: one that there is, or a new one from `low` to `high`.

        With `bounded`, no element may be out of that range."""

        def fits(value: Value) -> bool:
            if value.dtype not in dtypes or not ranks[0] <= value.rank <= ranks[1] or (exact and value.error):
                return False
            return not bounded or bool(np.all((value.array >= low) & (value.array <= high)))

        found = self.find(fits) if self.chance(0.75) else None
        return found or self.fresh(self.pick(dtypes), self.shape(low=ranks[0], high=ranks[1]), low, high)

    def beside(self, value: Value, low: float = -4, high: float = 4, **options: Any) -> Value:
        """A value of the same type whose shape broadcasts with that of `value`."""

        def fits(other: Value) -> bool:
            if other.dtype != value.dtype or (options.get("exact") and other.error):
                return False
            try:
                size = np.prod(np.broadcast_shapes(other.shape, value.shape))
            except ValueError:
                return False
            inside = bool(np.all((other.array >= low) & (other.array <= high))) if "inside" in options else True
            return bool(size <= MOST_ELEMENTS) and inside

        if self.chance(0.5) and (found := self.find(fits)) is not None:
            return found
        kept = value.shape[self.number(0, value.rank) :] if self.chance(0.5) else value.shape
        shape = [1 if self.chance(0.25) else extent for extent in kept]
        return self.fresh(value.dtype, shape, low, high)

    def axis(self, value: Value) -> int:
        """An axis, counted from the front or from the end."""
        return self.number(-value.rank, value.rank - 1)

    # --- nodes ---

    def later(self, version: int) -> None:
        """Nodes are of a version that onnxruntime does not have: a model without nodes may be. Raises Refused."""
        if self.opset < version:
            if self.nodes or self.opset < OPSETS[-1]:
                raise Refused("a later operator")
            self.opset = self.versions[""] = version

    def add(
        self,
        op_type: str,
        inputs: Sequence[Value | None],
        outputs: int | Sequence[bool] = 1,
        how: str = SMOOTH,
        domain: str = "",
        captured: Sequence[Value] = (),
        elsewhere: bool = False,
        slack: float = 0.0,
        **attributes: Any,
    ) -> list[Value]:
        """A node, whose graphs read `captured` too; its results are values from now on. Raises Refused.

        `outputs`: how many, or which of them there are. `elsewhere` onnxruntime is not asked what comes out. By
        `slack` a result may be off however it was computed, and nothing reads it then.
        """
        number = len(self.nodes)
        present = [True] * outputs if isinstance(outputs, int) else outputs
        names = [f"v{number}_{place}" if there else "" for place, there in enumerate(present)]
        given = [value.name if value is not None else "" for value in inputs]
        node = helper.make_node(op_type, given, names, name=f"{op_type}_{number}", domain=domain, **attributes)
        operands = [value for value in (*inputs, *captured) if value is not None]
        return self.put([node], [name for name in names if name], operands, how, elsewhere, slack)

    def put(
        self,
        nodes: Sequence[NodeProto],
        outputs: Sequence[str],
        operands: Sequence[Value],
        how: str = SMOOTH,
        elsewhere: bool = False,
        slack: float = 0.0,
    ) -> list[Value]:
        """Nodes that are computed together, and which tensors of theirs are values from now on. Raises Refused."""
        given = {value.name: value for value in operands}
        if how == STEPS and any(value.error for value in operands):
            raise Refused("a step of a value that is not exact")
        constant = {value.name for value in operands if value.constant}
        part = Part(nodes, outputs, {n: v.array for n, v in given.items()}, constant, self.versions, elsewhere)
        results = part.run({name: value.array for name, value in given.items()})
        if any(array.size > 4 * MOST_ELEMENTS for array in results):
            raise Refused("too large")
        if any(array.size == 0 for array in results) and not self.chance(0.05):
            raise Refused("empty")
        errors = self._errors(part, given, results, how)
        last = slack > 0 or any(value.last for value in operands)
        made = [
            Value(name, array, max(error, slack), last=last)
            for name, array, error in zip(outputs, results, errors, strict=True)
        ]
        self.nodes += nodes
        self.values += made
        return made

    def peek(self, nodes: Sequence[NodeProto], outputs: Sequence[str], operands: Sequence[Value]) -> list[Array]:
        """Results of nodes that are not taken yet. Raises Refused."""
        given = {value.name: value.array for value in operands}
        return Part(nodes, outputs, given, {v.name for v in operands if v.constant}, self.versions).run(given)

    def _errors(self, runner: Part, operands: dict[str, Value], results: list[Array], how: str) -> list[float]:
        """How far each result may be off."""
        for array in results:
            if is_float(array) and not np.isfinite(array.astype(np.float64)).all():
                raise Refused("not finite")
        if how == STEPS:
            return [0.0] * len(results)
        if how == MOVES:
            carried = max((value.error for value in operands.values()), default=0.0)
            return [carried if is_float(array) else 0.0 for array in results]
        moved = [0.0] * len(results)
        for _ in range(3):
            again = runner.run({name: self._moved(value) for name, value in operands.items()})
            for place, (array, other) in enumerate(zip(results, again, strict=True)):
                difference = _difference(array, other)
                if difference and not is_float(array):
                    raise Refused("an integer that depends on rounding")
                moved[place] = max(moved[place], difference)
        errors: list[float] = []
        for array, difference in zip(results, moved, strict=True):
            if not is_float(array):
                errors.append(0.0)
                continue
            greatest = float(np.abs(array.astype(np.float64)).max(initial=0.0))
            unit = _UNIT.get(array.dtype.name, 0.0)
            own = max(unit, _ALGORITHM) if how == FAST and array.dtype.name != "float64" else unit
            error = 4 * difference + own * greatest + unit * 1e-2
            if not error <= max(_WORST, 5 * unit) * max(greatest, 1e-3):
                raise Refused("little of it is left")
            errors.append(error)
        return errors

    def _moved(self, value: Value) -> Array:
        if value.fixed or not is_float(value.array):
            return value.array
        wide = value.array.astype(np.float64)
        far = value.error + _UNIT.get(value.dtype, 0.0) * 0.25 * np.abs(wide)
        return np.asarray(wide + self.rng.choice((-1.0, 1.0), wide.shape) * far).astype(value.array.dtype)

    def finish(self, seed: int) -> Specimen:
        """The model: its outputs are what nobody reads, and some of the rest."""
        read = {name for node in self.nodes for name in reads(node)}
        values = {value.name: value for value in self.values}
        made = [name for node in self.nodes for name in node.output if name in values]
        outputs = [name for name in made if name not in read or self.chance(0.1)]
        outputs = [name for name in outputs if values[name].array.size] or outputs
        symbolic = frozenset(name for name, v in values.items() if not v.constant) if self.chance(0.05) else frozenset()
        return Specimen(self.nodes, values, outputs, self.versions, symbolic, seed)


def _difference(one: Array, other: Array) -> float:
    if one.shape != other.shape:
        raise Refused("a shape that depends on rounding")
    wide = one.astype(np.float64), other.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return float(np.nan_to_num(np.abs(wide[0] - wide[1]), nan=np.inf).max(initial=0.0))


Drawer = Callable[[Draft], object]
"""Adds a node of its operator, with new operands as it needs them. Raises Refused."""
