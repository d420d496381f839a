"""Einstein sums: transposes, sums and matrix products of two operands at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op


@dataclass(frozen=True)
class _Term:
    """A tensor whose axes have names."""

    value: Tensor
    axes: str

    def extent(self, axis: str) -> int:
        """Elements along one."""
        return self.value.shape[self.axes.index(axis)]

    def extents(self, axes: Sequence[str]) -> list[int]:
        """Elements along each of `axes`."""
        return [self.extent(axis) for axis in axes]


@onnx_op("Einsum")
def einsum(node: Node) -> Tensor:
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
        _squeezed(_without_diagonals(_Term(node.tensor(position).widened(), axes)), extents)
        for position, axes in enumerate(inputs)
    ]
    result = terms[0]
    for position, term in enumerate(terms[1:], 2):
        remaining = set(output).union(*(later.axes for later in terms[position:]))
        result = _product(_summed(result, remaining | set(term.axes)), term, remaining, output)
    return _arranged(_summed(result, set(output)), output).value.cast(node.element_type(0))


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
        occurrences = Counter("".join(terms).replace(".", ""))
        right = ("..." if any("..." in term for term in terms) else "") + "".join(
            sorted(axis for axis, times in occurrences.items() if times == 1)
        )
    output = right.replace("...", more)
    unknown = [axis for axis in right.replace("...", "") if not any(axis in axes for axes in inputs)]
    if unknown or len(set(output)) < len(output):
        what = f'the result "{right}" of equation "{equation}" must name axes of inputs, once each'
        node.fail("invalid-attribute", what)
    return inputs, output


def _without_diagonals(term: _Term) -> _Term:
    """Axes of one name as one axis: every n + 1st element of them flattened."""
    for axis in sorted(set(term.axes)):
        while term.axes.count(axis) > 1:
            shape, first = term.value.shape, term.axes.index(axis)
            second = term.axes.index(axis, first + 1)
            rest = [k for k in range(len(term.axes)) if k not in (first, second)]
            size, other = shape[first], shape[second]
            if size != other:
                what = f"the axes {axis} of one input have {size} and {other} elements"
                term.value.node.fail("invalid-shape", what)
            outer = [shape[k] for k in rest]
            flat = term.value.transpose([*rest, first, second]).reshape([*outer, size * size])
            starts, steps = [0] * (len(rest) + 1), [1] * len(rest) + [size + 1]
            diagonal = flat.emit("slice", starts=starts, steps=steps, shape=[*outer, size])
            term = _Term(diagonal, "".join(term.axes[k] for k in rest) + axis)
    return term


def _squeezed(term: _Term, extents: dict[str, int]) -> _Term:
    """Without the axes of one element that are longer elsewhere: these broadcast."""
    remaining = "".join(axis for axis in term.axes if term.extent(axis) == extents[axis])
    return _Term(term.value.reshape(term.extents(remaining)), remaining)


def _summed(term: _Term, remaining: set[str]) -> _Term:
    """The sum over all axes but those kept."""
    gone = [k for k, axis in enumerate(term.axes) if axis not in remaining]
    if not gone:
        return term
    left = "".join(axis for axis in term.axes if axis in remaining)
    return _Term(term.value.reduce("sum", gone, keepdims=False), left)


def _arranged(term: _Term, axes: Sequence[str]) -> _Term:
    """The same axes in another order."""
    permutation = [term.axes.index(axis) for axis in axes]
    if permutation == list(range(len(axes))):
        return term
    return _Term(term.value.transpose(permutation), "".join(axes))


def _product(lhs: _Term, rhs: _Term, remaining: set[str], output: str) -> _Term:
    """Both multiplied, and summed over the axes that are not kept."""
    rhs = _summed(rhs, remaining | set(lhs.axes))
    shared = [axis for axis in lhs.axes if axis in rhs.axes]
    batch, inner = [a for a in shared if a in remaining], [a for a in shared if a not in remaining]
    rows, columns = ([a for a in x.axes if a not in shared] for x in (lhs, rhs))
    if rows and columns and output.find(rows[-1]) > output.find(columns[-1]):
        return _product(rhs, lhs, remaining, output)  # as the result wants them
    axes = "".join([*batch, *rows, *columns])
    if not inner:
        return _Term(_aligned(lhs, axes) * _aligned(rhs, axes), axes)
    left, right = _arranged(lhs, [*batch, *rows, *inner]), _arranged(rhs, [*batch, *inner, *columns])
    outer = [lhs.extent(axis) for axis in batch]
    height, depth, width = lhs.extents(rows), lhs.extents(inner), rhs.extents(columns)
    matrix = left.value.reshape([*outer, prod(height), prod(depth)])
    product = matrix @ right.value.reshape([*outer, prod(depth), prod(width)])
    return _Term(product.reshape([*outer, *height, *width]), axes)


def _aligned(term: _Term, axes: str) -> Tensor:
    """The term as it broadcasts to `axes`."""
    arranged = _arranged(term, [axis for axis in axes if axis in term.axes])
    return arranged.value.reshape([term.extent(axis) if axis in term.axes else 1 for axis in axes])
