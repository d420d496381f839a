"""Arrays in npz files: any name, the same bytes each time."""

from __future__ import annotations

from io import BytesIO

import numpy as np

from aotc.model.weight_store import npz_bytes


def test_any_name_comes_back() -> None:
    arrays = {"file": np.arange(6, dtype=np.int8).reshape(2, 3), "a/b": np.float32(1.5).reshape(()), "": np.zeros(0)}
    content = npz_bytes(arrays)
    with np.load(BytesIO(content), allow_pickle=False) as archive:
        assert set(archive.files) == set(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(archive[name], array)
            assert archive[name].dtype == array.dtype
    assert npz_bytes(arrays) == content
