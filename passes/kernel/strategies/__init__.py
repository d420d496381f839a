"""The kernel strategies of aotc: a module for each family of operators."""

from typing import Any

from aotc.dialects.graph.interfaces import GraphOp
from aotc.passes.kernel.strategies import (
    channels_last_strategy,
    conv_strategy,
    depthwise_strategy,
    dot_conv_strategy,
    layout_strategies,
    matmul_strategy,
    pooling_strategy,
    recurrent_strategy,
    rolled_strategy,
    row_strategy,
    scatter_strategy,
    staged_strategy,
    trees_strategy,
    winograd_strategy,
)
from aotc.passes.kernel.strategy import KernelStrategy, Strategies

_PRODUCTS = (matmul_strategy, conv_strategy, channels_last_strategy)
_MORE = (dot_conv_strategy, depthwise_strategy, winograd_strategy)
_ROWS = (row_strategy, recurrent_strategy, scatter_strategy, trees_strategy)
_PICTURES = (layout_strategies, pooling_strategy, staged_strategy, rolled_strategy)

STRATEGIES: dict[type[GraphOp], tuple[KernelStrategy[Any], ...]] = {}
"""Of all modules; those of one operator in the order of these."""

for module in (*_PRODUCTS, *_MORE, *_ROWS, *_PICTURES):
    own: Strategies = module.STRATEGIES
    for op_class, known in own.items():
        STRATEGIES[op_class] = (*STRATEGIES.get(op_class, ()), *known)
