"""Two kinds of work at the same time: numbers only."""

from __future__ import annotations


def overlapped(waiting: float, multiplying: float, sharpness: int) -> float:
    """Cycles of both, (w^p + m^p)^(1/p): those of the longer one, and more the less they differ; the greater the
    `sharpness` p, the less they disturb each other."""
    return (waiting**sharpness + multiplying**sharpness) ** (1 / sharpness)
