"""How results of groups that roll trail operands: begin so many bytes below them that every row is written only where
nothing is read any more, so that both have much of their memory in common (vMCU, MLSys 2024; DMO, arXiv:2010.01668)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from aotc.dialects.graph.interfaces import bytes_of, shape_of
from aotc.passes.kernel.rolling.stages import Rolling
from aotc.passes.kernel.row_map import RowMap
from aotc.passes.kernel.spatial_tiling import row_axis


def trail(rolling: Rolling, result: SSAValue, operand: SSAValue) -> int | None:
    """The least number of bytes by which a result of groups that roll must begin below an operand that is whole, such
    that it is written only where the operand has been read; None where rows of it may be read at any time.

    Within a step stages go on one after the other, and each row by row, or some rows at once; in which order elements
    of these are read and written is not known. What is reduced is written behind the last step.
    """
    writer = rolling.made_in(result)
    stage, progress = rolling.stages[writer], rolling.progress()
    if stage.reduction is None and not stage.gives_rows:
        return None
    size = 0 if stage.reduction is not None else _row_bytes(result)
    written = size * np.minimum(progress[writer], stage.rows)
    least = 0
    for reader, other in enumerate(rolling.stages):
        for value, rows in other.whole.get(operand, ()):
            if rows is None or not _are_outermost(rows, shape_of(value)):
                return None
            of_row = bytes_of(value) // rows.extent
            if reader == writer:
                row = np.arange(stage.rows)
                ahead = np.minimum(row + stage.at_once, stage.rows) * size - rows.first(row) * of_row
            else:
                made = progress[reader][1:] if reader < writer else progress[reader][:-1]  # when the writer goes on
                ahead = np.where(made < other.rows, written[1:] - rows.first(made) * of_row, 0)
            least = max(least, int(ahead.max()))
    return least


def _are_outermost(rows: RowMap, shape: Sequence[int]) -> bool:
    """Whether rows follow each other in memory."""
    return math.prod(shape[: rows.axis]) == 1 and shape[rows.axis] == rows.extent * rows.unit


def _row_bytes(value: SSAValue) -> int:
    shape = shape_of(value)
    return bytes_of(value) // shape[row_axis(shape)]
