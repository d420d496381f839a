"""Our strategies: a module for each family of operators."""

from __future__ import annotations

from aotc.passes.kernel.strategies import layout_elementwise, layout_movement
from aotc.passes.kernel.strategy import Strategies

STRATEGIES: Strategies = {
    **layout_elementwise.STRATEGIES,
    **layout_movement.STRATEGIES,
}
