"""How results of groups that roll trail operands: begin so many bytes below them that every row is written only where
nothing is read any more, so that both have much of their memory in common (vMCU, MLSys 2024; DMO, arXiv:2010.01668)."""

from __future__ import annotations

import math

import numpy as np
from xdsl.ir import SSAValue

from aotc.dialects.graph.interfaces import bytes_of, shape_of, viewed_whole
from aotc.passes.kernel.rolling.stages import Rolling


def trail(rolling: Rolling, result: SSAValue, operand: SSAValue) -> int | None:
    """The least number of bytes by which a result of groups that roll must begin below an operand that is whole, such
    that it is written only where the operand has been read; None where rows of it may be read at any time.

    Within a step stages go on one after the other, and each row by row, or some rows at once; in which order elements
    of these are read and written is not known. What is reduced is written behind the last step.
    """
    writers, progress = rolling.written_from(result), rolling.pace.progress
    stage = rolling.stages[writers[-1]]
    axis = stage.axis_of(result)
    size = 0 if stage.reduction is not None else None if axis is None else _row_bytes(result, axis)
    if size is None:
        return None
    written = size * progress[writers[-1]]
    least = 0
    for reader, other in enumerate(rolling.stages):
        for value, read in other.whole.get(operand, ()):
            read_size = None if read is None else _row_bytes(value, read.rows.axis, read.rows.unit)
            if read is None or read_size is None or viewed_whole(value) is not operand:
                return None
            if [reader] == [*writers]:
                row = np.arange(stage.rows)
                ahead = np.minimum(row + stage.at_once, stage.rows) * size - read.first(row) * read_size
            else:
                made = progress[reader][1:] if reader < writers[0] else progress[reader][:-1]  # when the writer goes on
                ahead = np.where(made < other.rows, written[1:] - read.first(made) * read_size, 0)
            least = max(least, int(ahead.max()))
    return least


def _row_bytes(value: SSAValue, axis: int, unit: int = 1) -> int | None:
    """Bytes of a row along an axis; None where its elements are not neighbours."""
    shape = shape_of(value)
    return None if math.prod(shape[:axis]) > 1 else bytes_of(value) // (shape[axis] // unit)
