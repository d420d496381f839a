"""Whether a random model compiles to what it means: by default and by one more route."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import aotc
from aotc.errors import InternalError
from fuzz.drafts import Specimen, is_float
from fuzz.oracle import Array
from fuzz.routes import DEFAULT, Route, Wrong, compared, routes


class Failure(Exception):
    """A route that failed, and how."""

    def __init__(self, route: str, kind: str, message: str) -> None:
        super().__init__(f"{route}: {kind}: {message}")
        self.route, self.kind = route, kind


def chosen(specimen: Specimen, every: bool = False) -> Sequence[Route]:
    """The routes that a model is tried by."""
    others = routes()
    if every:
        return (DEFAULT, *others)
    rng = np.random.default_rng(specimen.seed + (1 << 40))
    weights = np.array([route.weight for route in others])
    return DEFAULT, others[int(rng.choice(len(others), p=weights / weights.sum()))]


def check(specimen: Specimen, tried: Sequence[Route] | None = None) -> str:
    """Compile and run a model by several routes; "refused" where it is not supported by any, else the last route.

    Raises Failure: a wrong number, an error that is none of ours, a refusal by some routes only.
    """
    refused: dict[str, str] = {}
    first: dict[str, Array] = {}
    tried = chosen(specimen) if tried is None else tried
    for route in tried:
        try:
            found = route.run(specimen)
            compared(specimen, found)
            first = first or found
            _require_same_zeros(specimen, found, first)
        except InternalError as error:
            raise Failure(route.name, "internal", str(error)) from error
        except aotc.AotcError as error:
            refused[route.name] = str(error)
            if "; " not in str(error) and "):" not in str(error):
                raise Failure(route.name, "message", f"names neither a node nor what to do: {error}") from None
        except Wrong as error:
            raise Failure(route.name, "wrong", str(error)) from None
        except Exception as error:
            raise Failure(route.name, type(error).__name__, str(error)) from error
    if refused and len(refused) < len(tried):
        route, message = next(iter(refused.items()))
        if not route.startswith("board") or "does not fit" not in message:
            raise Failure(route, "refused", message)
    return "refused" if refused else tried[-1].name


def _require_same_zeros(specimen: Specimen, found: dict[str, Array], first: dict[str, Array]) -> None:
    """Raise Wrong where an exact result of a route has a zero of another sign than that of the first."""
    for name in specimen.outputs:
        one, other = found[name], first[name]
        if not specimen.values[name].error and is_float(one) and one.shape == other.shape:
            zeros = (one == 0) & (np.signbit(one.astype(np.float64)) != np.signbit(other.astype(np.float64)))
            if zeros.any():
                raise Wrong(f"{name} has zeros of another sign than the first route: {np.argwhere(zeros)[:4].tolist()}")
