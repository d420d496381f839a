"""Importing If: one branch in place where the condition is a constant, else both as regions, of which one runs.

Where what a branch reads or gives has a data-dependent extent both are computed, and one of the results is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from onnx import GraphProto
from xdsl.ir import Region, SSAValue

from aotc.dialects.constants import known_array
from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.compound.control_flow import IfOp, yield_of
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.errors import CompileError, Problem
from aotc.frontend.onnx.control.bodies import ControlNode
from aotc.frontend.onnx.node import Bound, waiting
from aotc.frontend.onnx.scopes import Poison, Value


class If(ControlNode):
    """An If."""

    def values(self) -> Sequence[Value]:
        condition = self.inputs[0]
        if not isinstance(condition, SSAValue):
            self._fail("invalid-type", "input 0 is not a tensor", "the operator requires a condition")
        known = known_array(condition, self.bodies.store)
        if known is not None and known.size == 1:
            branch = self._attribute("then_branch" if known.item() else "else_branch")
            inner = self._scope(branch, "")
            outputs = [value.name for value in branch.output]
            self.bodies.body(branch.node, outputs, inner)
            return [self.bodies.lookup(output, inner) for output in outputs]
        mark = len(self.bodies.problems)
        failed: CompileError | None = None
        try:
            values = self._regions(condition)
        except CompileError as error:
            failed, values = error, self._poisoned()
        if not any(isinstance(value, Poison) for value in values):
            return values
        if (both := self._both(condition)) is not None:
            del self.bodies.problems[mark:]
            return both
        if failed is not None:
            raise failed
        self.bodies.problems[mark:] = map(self._with_way_out(condition), self.bodies.problems[mark:])
        return values

    def _with_way_out(self, condition: SSAValue) -> Callable[[Problem], Problem]:
        """The addition to the problem of a branch that there is none where the branch is never taken."""
        names = waiting(Problem("unknown-value", "a branch"), [condition], self.bodies.given).inputs
        inputs = " ".join(f"--constant {name}=VALUE" for name in names or ("NAME",))
        way_out = f"if this branch is never taken, fix the inputs that its condition depends on with {inputs}"

        def added(problem: Problem) -> Problem:
            if problem.inputs or (problem.fix and not names):
                return problem
            return replace(problem, fix=f"{problem.fix}; {way_out}" if problem.fix else way_out, inputs=names)

        return added

    def _both(self, condition: SSAValue) -> Sequence[Value] | None:
        """Both branches in place, and of their results those that the condition chooses: they may read values of a
        data-dependent extent, and have one. None where a branch cannot be imported, or has a loop, which need not end
        where the branch is not taken."""
        branches = [self._attribute(name) for name in ("then_branch", "else_branch")]
        if any(map(_has_loop, branches)):
            return None
        mark, imported = len(self.bodies.problems), self.bodies.imported
        try:
            sides = [self._in_place(branch, name) for branch, name in zip(branches, ("then/", "else/"), strict=True)]
            picked = self._emit("reshape", condition, shape=[])
            return [self._chosen(picked, *sources) for sources in zip(*sides, strict=True)]
        except CompileError:
            del self.bodies.problems[mark:]
            self.bodies.imported = imported
            return None

    def _in_place(self, branch: GraphProto, suffix: str) -> list[SSAValue]:
        """The tensors that a branch gives; raises CompileError."""
        inner = self._scope(branch, suffix)
        outputs = [value.name for value in branch.output]
        self.bodies.body(branch.node, outputs, inner)
        found = [self.bodies.lookup(output, inner) for output in outputs]
        tensors = [value for value in found if isinstance(value, SSAValue)]
        if len(tensors) < len(found):
            self._fail("sequence-at-run-time", "a branch gives something else than tensors")
        return tensors

    def _chosen(self, picked: SSAValue, then: SSAValue, other: SSAValue) -> SSAValue:
        """One of two values, which may differ in the extent along one axis; raises CompileError where more differs."""
        sides = then, other
        shapes, bounds = [shape_of(side) for side in sides], [self.bodies.bounds.get(side) for side in sides]
        if len(shapes[0]) != len(shapes[1]) or element_type_of(then) != element_type_of(other):
            self._fail("unstable-type", "its branches give different types")
        axes = {axis for axis, (one, two) in enumerate(zip(*shapes, strict=True)) if one != two}
        axes |= {bound.axis for bound in bounds if bound is not None}
        if len(axes) > 1:
            self._fail("unstable-type", "its branches differ along several axes")
        if not axes:
            return self._emit("where", picked, *sides)
        (axis,) = axes
        most = max(shape[axis] for shape in shapes)
        padded = [self._padded(side, axis, most) for side in sides]
        counts = [
            self._number(shape[axis]) if bound is None else bound.count
            for shape, bound in zip(shapes, bounds, strict=True)
        ]
        value = self._emit("where", picked, *padded)
        asked = all(bound is None or bound.asked for bound in bounds)
        self.bodies.bounds[value] = Bound(axis, self._emit("where", picked, *counts), asked)
        return value

    def _padded(self, value: SSAValue, axis: int, extent: int) -> SSAValue:
        """The value with zeros behind it along an axis."""
        shape = [*shape_of(value)]
        shape[axis] = extent - shape[axis]
        if not shape[axis]:
            return value
        dtype = numpy_dtype(element_type_of(value))
        self.bodies.store.require_room(math.prod(shape) * dtype.itemsize, self.name)
        zeros = self._constant(np.zeros(shape, dtype))
        empty = shape[axis] == extent
        return zeros if empty else self._emit("concat", [value, zeros], axis=axis)

    def _regions(self, condition: SSAValue) -> Sequence[Value]:
        """Both branches as regions, of which one runs."""
        branches = [self._attribute(name) for name in ("then_branch", "else_branch")]
        regions = [self._region(branch, []) for branch in branches]
        if any(region is None for region in regions):
            return self._poisoned()
        for output, *sides in zip(
            branches[0].output, *(yield_of(region.block).values for region in regions if region), strict=False
        ):
            if sides[0].type != sides[1].type:
                kinds = " and ".join(str(side.type) for side in sides)
                what = f"its output {output.name!r} has the types {kinds} by branch"
                self._fail_waiting("unknown-value", what, "shapes must be known when compiling", condition)
        found = [region for region in regions if region is not None]
        outside = list(dict.fromkeys(value for region in found for value in region.captures))
        for region in found:
            region.capture(outside)
        return self.bodies.insert(IfOp.of(condition, outside, *(Region(region.block) for region in found)), self.name)


def _has_loop(body: GraphProto) -> bool:
    """Whether a body has a loop, or a body within it."""
    return any(
        node.op_type in ("Loop", "Scan") or any(_has_loop(each.g) for each in node.attribute if each.HasField("g"))
        for node in body.node
    )
