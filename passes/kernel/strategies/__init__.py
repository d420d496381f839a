"""The kernel strategies of aotc: a module for each family of operators."""

from __future__ import annotations

from aotc.passes.kernel.strategies import (
    depthwise,
    elementwise,
    movement,
    normalization,
    pooling,
    products,
    recurrent,
    reduction,
    regrouping,
    resampling,
    scatter,
    staged,
)
from aotc.passes.kernel.strategies.integers import quantized
from aotc.passes.kernel.strategies.matrices import elimination
from aotc.passes.kernel.strategies.trees import masks as masked_trees
from aotc.passes.kernel.strategies.trees import walks
from aotc.passes.kernel.strategy import Strategies

STRATEGIES: Strategies = {
    **depthwise.STRATEGIES,
    **elimination.STRATEGIES,
    **elementwise.STRATEGIES,
    **movement.STRATEGIES,
    **normalization.STRATEGIES,
    **pooling.STRATEGIES,
    **products.STRATEGIES,
    **quantized.STRATEGIES,
    **recurrent.STRATEGIES,
    **reduction.STRATEGIES,
    **regrouping.STRATEGIES,
    **resampling.STRATEGIES,
    **scatter.STRATEGIES,
    **staged.STRATEGIES,
    **walks.STRATEGIES,
    **masked_trees.STRATEGIES,
}
