"""Labels of classes: what is text, or a map, in ONNX is numbers in a compiled model.

Of an output of integers each element is a position in its labels, which are the text; of one of floats, as ZipMap makes
it, they are the keys of the maps that its rows are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

Labels: TypeAlias = "tuple[str, ...] | tuple[int, ...]"
"""Of an output; none: it is as in ONNX."""
_Array: TypeAlias = "np.ndarray[Any, Any]"


def is_text(dtype: str) -> bool:
    """Whether an output of this element type that has labels is text in ONNX, and not maps."""
    return "int" in dtype


def with_labels(numbers: _Array, labels: Labels) -> Any:
    """The value that onnxruntime returns for an output: an array of text, or a list of dictionaries, one for each
    row."""
    if not labels:
        return numbers
    import numpy as np

    if is_text(numbers.dtype.name):
        return np.array(labels, object)[numbers]
    return [dict(zip(labels, row, strict=True)) for row in numbers.reshape(-1, len(labels)).tolist()]


def without_labels(value: Any, labels: Labels) -> Any:
    """The numbers of what onnxruntime returned: -1 for text, NaN for a key, that is not among the labels."""
    import numpy as np

    if isinstance(value, list) and all(isinstance(each, Mapping) for each in value):
        return np.array([[row.get(key, np.nan) for key in labels] for row in value], np.float32)
    if labels and isinstance(value, np.ndarray) and value.dtype.kind in "OUS":
        places = {label: place for place, label in enumerate(labels)}
        return np.array([places.get(text, -1) for text in value.reshape(-1)], np.int64).reshape(value.shape)
    return value
