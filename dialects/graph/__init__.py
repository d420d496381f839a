"""The graph dialect: normalised tensor operations and one fused group.

Tensors have static shapes and SSA semantics; nothing aliases, nothing is laid out. Element types are those of
`dtypes.ELEMENT_TYPES`. Each file holds one family; each operation is one class that carries
everything the compiler asks of it (see `interfaces`).
"""

from types import ModuleType

from xdsl.ir import Dialect

from aotc.dialects.graph import (
    bits,
    canonicalization,
    conversion,
    convolution,
    elementwise,
    functions,
    indexing,
    logical,
    movement,
    normalization,
    random,
    reduction,
    scatter,
    structure,
)
from aotc.dialects.graph.compound import control_flow, external_kernel, staged
from aotc.dialects.graph.interfaces import GraphOp
from aotc.dialects.graph.matrices import determinant, inverse, matmul
from aotc.dialects.graph.packed import pack
from aotc.dialects.graph.packed.convolution import blocked_conv, inner_product_conv, regrouping, within_lanes
from aotc.dialects.graph.packed.integers import (
    channels_last,
    dot_depthwise,
    dot_products,
    paired_nibbles,
    paired_steps,
)
from aotc.dialects.graph.packed.products import few_bits_matmul, packed_matmul, strassen_matmul
from aotc.dialects.graph.packed.winograd import winograd_conv, winograd_weight
from aotc.dialects.graph.quantized import averages, doubling, fixed_add, flip, lookup, nibbles, requantization, softmax
from aotc.dialects.graph.recurrent import cells, rounded
from aotc.dialects.graph.schedules import ALGORITHM_ATTRIBUTES, SCHEDULE_ATTRIBUTES
from aotc.dialects.graph.selection import distinct, grams, positions, suppression
from aotc.dialects.graph.trees import branches, coupling, leaf_sums, leaves, masks
from aotc.dialects.graph.trees import packed as packed_trees
from aotc.dialects.graph.vision import deformation, folding, regions, sampling
from aotc.dialects.graph.windows import pooling, resampling

__all__ = ["GRAPH", "canonicalization"]  # the latter registers its patterns when it is imported

_FAMILIES = (
    structure,
    external_kernel,
    elementwise,
    functions,
    logical,
    conversion,
    reduction,
    normalization,
    packed_matmul,
    blocked_conv,
    within_lanes,
    regrouping,
    inner_product_conv,
    pack,
    paired_nibbles,
    channels_last,
    dot_products,
    dot_depthwise,
    paired_steps,
    few_bits_matmul,
    matmul,
    convolution,
    requantization,
    doubling,
    lookup,
    fixed_add,
    softmax,
    averages,
    flip,
    nibbles,
    resampling,
    cells,
    rounded,
    leaves,
    coupling,
    packed_trees,
    masks,
    branches,
    leaf_sums,
    strassen_matmul,
    pooling,
    winograd_conv,
    winograd_weight,
    movement,
    indexing,
    scatter,
    staged,
    control_flow,
    bits,
    random,
    determinant,
    inverse,
    sampling,
    deformation,
    folding,
    regions,
    positions,
    distinct,
    suppression,
    grams,
)
"""The modules of the dialect; a class defined in one of them with a name is an operation of the dialect."""


def _operations(family: ModuleType) -> list[type[GraphOp]]:
    classes = (value for value in vars(family).values() if isinstance(value, type) and issubclass(value, GraphOp))
    return [op for op in classes if op.__module__ == family.__name__ and "name" in vars(op)]


GRAPH = Dialect(
    "graph",
    [structure.YieldOp, structure.FusedOp, *(op for family in _FAMILIES for op in _operations(family))],
    [*SCHEDULE_ATTRIBUTES, *ALGORITHM_ATTRIBUTES, pack.LayoutAttr],
)
