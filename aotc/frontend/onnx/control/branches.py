"""Importing If: one branch in place where the condition is a constant, else both as regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Region, SSAValue

from aotc.dialects.constants import known_array
from aotc.dialects.graph.compound.control import IfOp, yield_of
from aotc.errors import Problem
from aotc.frontend.onnx.control.bodies import ControlNode
from aotc.frontend.onnx.registry import waiting
from aotc.frontend.onnx.scopes import Value


class If(ControlNode):
    """An If."""

    def values(self) -> Sequence[Value]:
        condition = self.inputs[0]
        if not isinstance(condition, SSAValue):
            self._fail("input 0 is not a tensor", "the operator requires a condition")
        known = known_array(condition, self.bodies.store)
        if known is not None and known.size == 1:
            branch = self._attribute("then_branch" if known.item() else "else_branch")
            inner = self._scope(branch, "")
            outputs = [value.name for value in branch.output]
            self.bodies.body(branch.node, outputs, inner)
            return [self.bodies.lookup(output, inner) for output in outputs]
        branches = [self._attribute(name) for name in ("then_branch", "else_branch")]
        mark = len(self.bodies.problems)
        regions = [self._region(branch, []) for branch in branches]
        if any(region is None for region in regions):
            names = waiting(Problem("a branch"), [condition], self.bodies.given).inputs
            inputs = " ".join(f"--constant {name}=VALUE" for name in names or ("NAME",))
            way_out = f"if this branch is never taken, fix the inputs that its condition depends on with {inputs}"
            for place, problem in enumerate(self.bodies.problems[mark:], mark):
                if not problem.fix:
                    self.bodies.problems[place] = replace(problem, fix=way_out, inputs=names)
            return self._poisoned()
        for output, *sides in zip(
            branches[0].output, *(yield_of(region.block).values for region in regions if region), strict=False
        ):
            if sides[0].type != sides[1].type:
                kinds = " and ".join(str(side.type) for side in sides)
                what = f"its output {output.name!r} has the types {kinds} by branch"
                self._fail_waiting(what, "shapes must be known when compiling", condition)
        found = [region for region in regions if region is not None]
        outside = list(dict.fromkeys(value for region in found for value in region.captures))
        for region in found:
            region.capture(outside)
        return self.bodies.insert(IfOp.of(condition, outside, *(Region(region.block) for region in found)), self.name)
