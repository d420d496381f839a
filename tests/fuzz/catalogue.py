"""From a seed to a model: which operators, how many, in which order."""

from __future__ import annotations

import numpy as np

from fuzz import draw_elementwise, draw_movement, draw_products, draw_rows
from fuzz.drafts import Draft, Drawer, Specimen
from fuzz.oracle import Refused

DRAWERS: dict[str, Drawer] = (
    draw_elementwise.DRAWERS | draw_movement.DRAWERS | draw_products.DRAWERS | draw_rows.DRAWERS
)

NOT_DRAWN = {
    "Scatter": "deprecated since version 11 of the operator set",
    "Upsample": "deprecated since version 10",
    "SwiGLU": "not in the operator sets that onnxruntime has",
    "CausalConvWithState": "not in the operator sets that onnxruntime has",
    **dict.fromkeys(
        ("Col2Im", "DFT", "DeformConv", "GridSample", "MaxRoiPool", "MelWeightMatrix", "RoiAlign", "STFT"),
        "tests/conformance/operators has its attributes and types",
    ),
    **dict.fromkeys(
        ("Det", "MaxUnpool", "NonMaxSuppression", "ReverseSequence", "TfIdfVectorizer", "Unique"),
        "tests/conformance/operators has its attributes and types",
    ),
    **dict.fromkeys(
        ("RotaryEmbedding", "SimplifiedLayerNormalization"), "tests/conformance has its attributes and types"
    ),
    **dict.fromkeys(("LinearAttention", "Scan"), "tests/support/random_control.py has models with loops at random"),
    **dict.fromkeys(
        ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
        "the generator of random numbers is ours",
    ),
    **dict.fromkeys(
        ("ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt", "SequenceMap"),
        "nothing is computed: sequences are gone when a model is imported",
    ),
    **dict.fromkeys(
        ("SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength", "SplitToSequence"),
        "nothing is computed: sequences are gone when a model is imported",
    ),
    **dict.fromkeys(("BitCast", "TensorScatter"), "not in the operator sets that onnxruntime has"),
}
"""Operators without a drawer, and why."""

_MOST_TRIES = 12
"""How often a node is drawn again before a model is finished with those it has."""


def draw(seed: int) -> Specimen:
    """The random model of a seed: one to eight nodes."""
    rng = np.random.default_rng(seed)
    draft = Draft(rng)
    names = list(DRAWERS)
    if draft.chance(0.3):  # one operator and what it is with a few others, again and again
        names = [draft.pick(names) for _ in range(4)]
    count = draft.pick((1, 1, 2, 2, 3, 3, 4, 5, 6, 8))
    while len(draft.nodes) < count:
        for _ in range(_MOST_TRIES):
            before = len(draft.values)
            try:
                DRAWERS[draft.pick(names)](draft)
                break
            except Refused:
                made = {name for node in draft.nodes for name in node.output}
                draft.values[before:] = [value for value in draft.values[before:] if value.name in made]
        else:
            if draft.nodes:
                break
            names = list(DRAWERS)
    return draft.finish(seed)
