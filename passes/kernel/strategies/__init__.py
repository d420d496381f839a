"""The kernel strategies of aotc: a module for each family of operators."""

from __future__ import annotations

from aotc.passes.kernel.strategies import (
    elementwise_strategy,
    elimination_strategy,
    movement_strategy,
    normalization_strategy,
    pooling_strategy,
    product_strategies,
    recurrent_strategy,
    reduction_strategy,
    regrouping_strategy,
    resampling_strategy,
    scatter_strategy,
    staged_strategy,
)
from aotc.passes.kernel.strategies.convolution import depthwise_strategy
from aotc.passes.kernel.strategies.integers import quantized_strategy
from aotc.passes.kernel.strategies.trees import masks_strategy, walks_strategy
from aotc.passes.kernel.strategy import Strategies

STRATEGIES: Strategies = {
    **depthwise_strategy.STRATEGIES,
    **elimination_strategy.STRATEGIES,
    **elementwise_strategy.STRATEGIES,
    **movement_strategy.STRATEGIES,
    **normalization_strategy.STRATEGIES,
    **pooling_strategy.STRATEGIES,
    **product_strategies.STRATEGIES,
    **quantized_strategy.STRATEGIES,
    **recurrent_strategy.STRATEGIES,
    **reduction_strategy.STRATEGIES,
    **regrouping_strategy.STRATEGIES,
    **resampling_strategy.STRATEGIES,
    **scatter_strategy.STRATEGIES,
    **staged_strategy.STRATEGIES,
    **walks_strategy.STRATEGIES,
    **masks_strategy.STRATEGIES,
}
