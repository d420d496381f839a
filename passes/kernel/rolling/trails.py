"""How results of groups that roll trail operands: begin so many bytes below them that every row is written only where
nothing is read any more, so that both have much of their memory in common (vMCU, MLSys 2024; DMO, arXiv:2010.01668)."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from aotc.dialects.graph.interfaces import bytes_of, shape_of, viewed_whole
from aotc.passes.kernel.rolling.stages import Rolling
from aotc.passes.kernel.spatial_tiling import row_axis


def trail(rolling: Rolling, result: SSAValue, operand: SSAValue) -> int | None:
    """The least number of bytes by which a result of groups that roll must begin below an operand that is whole, such
    that it is written only where the operand has been read; None where rows of it may be read at any time.

    Within a step stages go on one after the other, and each row by row; in which order elements of a row are read and
    written is not known. What is reduced is written behind the last step.
    """
    writer = rolling.made_in(result)
    stage, progress = rolling.stages[writer], rolling.progress()
    size = 0 if stage.reduction is not None else _row_bytes(result)
    written = size * np.minimum(progress[writer], stage.rows)
    least = 0
    for reader, other in enumerate(rolling.stages):
        for value, rows in other.others:
            if viewed_whole(value) is not operand:
                continue
            if rows is None or rows.axis != row_axis(shape_of(value)) or rows.extent != shape_of(value)[rows.axis]:
                return None
            if reader == writer:
                row = np.arange(stage.rows)
                ahead = (row + 1) * size - rows.first(row) * _row_bytes(value)
            else:
                made = progress[reader][1:] if reader < writer else progress[reader][:-1]  # when the writer goes on
                ahead = np.where(made < other.rows, written[1:] - rows.first(made) * _row_bytes(value), 0)
            least = max(least, int(ahead.max()))
    return least


def _row_bytes(value: SSAValue) -> int:
    shape = shape_of(value)
    return bytes_of(value) // shape[row_axis(shape)]
