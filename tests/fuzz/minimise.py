"""A model that fails made small: fewer outputs, fewer nodes, values that were computed given instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fuzz.drafts import Specimen, reads


def without_dead_nodes(specimen: Specimen) -> Specimen:
    """The same model without nodes that nothing needs."""
    needed = set(specimen.outputs)
    kept = []
    for node in reversed(specimen.nodes):
        if needed.intersection(node.output):
            kept.append(node)
            needed |= reads(node)
    return replace(specimen, nodes=kept[::-1])


def _smaller(specimen: Specimen) -> list[Specimen]:
    """Models one step smaller, the smallest first."""
    found: list[Specimen] = []
    for name in specimen.outputs:
        if len(specimen.outputs) > 1:
            found.append(replace(specimen, outputs=[name]))
    made = list(specimen.nodes)
    for place, node in enumerate(made):
        # its results are given instead; those that were outputs are outputs no longer
        outputs = [name for name in specimen.outputs if name not in node.output]
        rest = made[:place] + made[place + 1 :]
        given = {name for name in node.output if name} <= specimen.values.keys()  # sequences are not
        if outputs and rest and given:
            found.append(replace(specimen, nodes=rest, outputs=outputs))
    for node in made:  # an earlier value as the only output
        tensors = [name for name in node.output if name in specimen.values]
        if len(made) > 1 and tensors and list(node.output) != specimen.outputs:
            found.append(replace(specimen, outputs=tensors[:1]))
    if specimen.symbolic:
        found.append(replace(specimen, symbolic=frozenset()))
    shrunk = [without_dead_nodes(each) for each in found]
    return sorted(shrunk, key=lambda each: (len(each.nodes), len(each.outputs)))


def minimised(specimen: Specimen, fails: Callable[[Specimen], bool]) -> Specimen:
    """The smallest model found, step by step, of which `fails` is still true."""
    while True:
        size = len(specimen.nodes), len(specimen.outputs), len(specimen.symbolic)
        for candidate in _smaller(specimen):
            if (len(candidate.nodes), len(candidate.outputs), len(candidate.symbolic)) < size and fails(candidate):
                specimen = candidate
                break
        else:
            return specimen
