"""Writing at indices that are tensors, and selecting the largest elements, without a scratch buffer.

With one (`scatter_elements_in_memory`, `top_k_in_memory`) the work is no product: kernel strategies ask for that form.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, result_def

from aotc.dialects.graph.scattering import ScatteringElements, ScatteringSlices, Selecting


@irdl_op_definition
class ScatterElementsOp(ScatteringElements):
    """Element by element along `axis`, without a scratch buffer."""

    name = "graph.scatter_elements"
    result = result_def(TensorType)


@irdl_op_definition
class ScatterNdOp(ScatteringSlices):
    """Whole slices at index tuples, without a scratch buffer."""

    name = "graph.scatter_nd"
    result = result_def(TensorType)


@irdl_op_definition
class TopKOp(Selecting):
    """The `k` greatest elements along `axis`, without a scratch buffer: in k * n steps."""

    name = "graph.top_k"
    values = result_def(TensorType)
    positions = result_def(TensorType)
