"""Our strategies: a module for each family of operators."""

from __future__ import annotations

from aotc.passes.kernel.strategies import products
from aotc.passes.kernel.strategy import Strategies

STRATEGIES: Strategies = {
    **products.STRATEGIES,
}
