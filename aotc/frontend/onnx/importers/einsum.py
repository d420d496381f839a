"""Einstein sums: transposes, sums and matrix products of two operands at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from aotc.dialects.graph.elementwise import MulOp
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import SliceOp, TransposeOp
from aotc.dialects.graph.reduction import ReduceOp
from aotc.frontend.onnx.composition import cast, reshape, widen
from aotc.frontend.onnx.registry import Node, onnx_op


@dataclass(frozen=True)
class _Term:
    """A tensor whose axes have names."""

    value: SSAValue
    axes: str

    def extent(self, axis: str) -> int:
        """Elements along one."""
        return shape_of(self.value)[self.axes.index(axis)]

    def extents(self, axes: Sequence[str]) -> list[int]:
        """Elements along each of `axes`."""
        return [self.extent(axis) for axis in axes]


@onnx_op("Einsum")
def einsum(node: Node) -> SSAValue:
    inputs, output = _names(node)
    extents: dict[str, int] = {}
    for position, axes in enumerate(inputs):
        for axis, extent in zip(axes, node.shape(position), strict=True):
            if extents.setdefault(axis, extent) == 1:
                extents[axis] = extent
            elif extent not in (1, extents[axis]):
                what = f"input {position} has {extent} elements along an axis that has {extents[axis]} elsewhere"
                node.fail("invalid-shape", what)
    terms = [
        _squeezed(node, _without_diagonals(node, _Term(widen(node, node.input(position)), axes)), extents)
        for position, axes in enumerate(inputs)
    ]
    result = terms[0]
    for position, term in enumerate(terms[1:], 2):
        kept = set(output).union(*(later.axes for later in terms[position:]))
        result = _product(node, _summed(node, result, kept | set(term.axes)), term, kept, output)
    result = _arranged(node, _summed(node, result, set(output)), output)
    return cast(node, result.value, node.element_type(0))


def _names(node: Node) -> tuple[list[str], str]:
    """The axes of each input and of the output, a character for each; what `...` stands for gets digits."""
    equation: str = node.attr("equation", "").replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(node.inputs):
        node.fail("invalid-attribute", f'equation "{equation}" has {len(terms)} terms for {len(node.inputs)} inputs')
    given = [part for part in (*terms, right) if not part.replace("...", "", 1).isalpha() and part not in ("", "...")]
    if given:
        what = f'"{given[0]}" of equation "{equation}" is not a term'
        node.fail("invalid-attribute", what, "a term is letters and at most one ...")
    counts = [len(node.shape(position)) - len(term.replace("...", "")) for position, term in enumerate(terms)]
    for position, (term, count) in enumerate(zip(terms, counts, strict=True)):
        if count < 0 or (count and "..." not in term):
            what = f'term "{term}" does not fit input {position} of shape {list(node.shape(position))}'
            node.fail("invalid-shape", what)
    # Private code points, the last axes first: shorter ones are aligned at their ends.
    most = max((count for term, count in zip(terms, counts, strict=True) if "..." in term), default=0)
    more = "".join(chr(0xE000 + axis) for axis in range(most))
    inputs = [term.replace("...", more[most - count :]) for term, count in zip(terms, counts, strict=True)]
    if not arrow:
        seen = Counter("".join(terms).replace(".", ""))
        right = ("..." if any("..." in term for term in terms) else "") + "".join(
            sorted(axis for axis, times in seen.items() if times == 1)
        )
    output = right.replace("...", more)
    unknown = [axis for axis in right.replace("...", "") if not any(axis in axes for axes in inputs)]
    if unknown or len(set(output)) < len(output):
        what = f'the result "{right}" of equation "{equation}" must name axes of inputs, once each'
        node.fail("invalid-attribute", what)
    return inputs, output


def _without_diagonals(node: Node, term: _Term) -> _Term:
    """Axes of one name as one axis: every n + 1st element of them flattened."""
    for axis in sorted(set(term.axes)):
        while term.axes.count(axis) > 1:
            first = term.axes.index(axis)
            second = term.axes.index(axis, first + 1)
            rest = [k for k in range(len(term.axes)) if k not in (first, second)]
            size, other = shape_of(term.value)[first], shape_of(term.value)[second]
            if size != other:
                node.fail("invalid-shape", f"the axes {axis} of one input have {size} and {other} elements")
            turned = node.emit(TransposeOp, term.value, permutation=[*rest, first, second])
            outer = [shape_of(term.value)[k] for k in rest]
            flat = reshape(node, turned, [*outer, size * size])
            starts, steps = [0] * (len(rest) + 1), [1] * len(rest) + [size + 1]
            diagonal = node.emit(SliceOp, flat, starts=starts, steps=steps, shape=[*outer, size])
            term = _Term(diagonal, "".join(term.axes[k] for k in rest) + axis)
    return term


def _squeezed(node: Node, term: _Term, extents: dict[str, int]) -> _Term:
    """Without the axes of one element that are longer elsewhere: these broadcast."""
    kept = "".join(axis for axis in term.axes if term.extent(axis) == extents[axis])
    return _Term(reshape(node, term.value, term.extents(kept)), kept)


def _summed(node: Node, term: _Term, kept: set[str]) -> _Term:
    """The sum over all axes but those kept."""
    gone = [k for k, axis in enumerate(term.axes) if axis not in kept]
    if not gone:
        return term
    value = node.emit(ReduceOp, term.value, kind="sum", axes=gone, keepdims=False)
    return _Term(value, "".join(axis for axis in term.axes if axis in kept))


def _arranged(node: Node, term: _Term, axes: Sequence[str]) -> _Term:
    """The same axes in another order."""
    permutation = [term.axes.index(axis) for axis in axes]
    if permutation == list(range(len(axes))):
        return term
    return _Term(node.emit(TransposeOp, term.value, permutation=permutation), "".join(axes))


def _product(node: Node, lhs: _Term, rhs: _Term, kept: set[str], output: str) -> _Term:
    """Both multiplied, and summed over the axes that are not kept."""
    rhs = _summed(node, rhs, kept | set(lhs.axes))
    shared = [axis for axis in lhs.axes if axis in rhs.axes]
    batch, inner = [a for a in shared if a in kept], [a for a in shared if a not in kept]
    rows, columns = ([a for a in x.axes if a not in shared] for x in (lhs, rhs))
    if rows and columns and output.find(rows[-1]) > output.find(columns[-1]):
        return _product(node, rhs, lhs, kept, output)  # as the result wants them
    if not inner:
        axes = "".join([*batch, *rows, *columns])
        factors = [_aligned(node, x, axes) for x in (lhs, rhs)]
        return _Term(node.emit(MulOp, *factors), axes)
    left, right = _arranged(node, lhs, [*batch, *rows, *inner]), _arranged(node, rhs, [*batch, *inner, *columns])
    outer = [lhs.extent(axis) for axis in batch]
    height, depth, width = lhs.extents(rows), lhs.extents(inner), rhs.extents(columns)
    product = node.emit(
        MatMulOp,
        reshape(node, left.value, [*outer, prod(height), prod(depth)]),
        reshape(node, right.value, [*outer, prod(depth), prod(width)]),
    )
    return _Term(reshape(node, product, [*outer, *height, *width]), "".join([*batch, *rows, *columns]))


def _aligned(node: Node, term: _Term, axes: str) -> SSAValue:
    """The term as it broadcasts to `axes`."""
    arranged = _arranged(node, term, [axis for axis in axes if axis in term.axes])
    return reshape(node, arranged.value, [term.extent(axis) if axis in term.axes else 1 for axis in axes])
