"""DLPack: types of elements, here by their user-visible names, devices, and the tensors of other packages.

Here is also what tells tensors from bare pointers among packed arguments.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

CPU: Final = 1
"""The device type of main memory, `kDLCPU`."""

HANDLE_CODE: Final = 3
"""The type code of a packed argument that is a bare pointer (kAOTCOpaqueHandle of aotc_packed.h)."""
TENSOR_CODE: Final = 7
"""The type code of a packed argument that is a DLTensor (kAOTCDLTensorHandle)."""

DLPACK_TYPES: Final[dict[str, tuple[int, int]]] = {
    **{f"int{bits}": (0, bits) for bits in (2, 4, 8, 16, 32, 64)},
    **{f"uint{bits}": (1, bits) for bits in (2, 4, 8, 16, 32, 64)},
    **{f"float{bits}": (2, bits) for bits in (16, 32, 64)},
    "bfloat16": (4, 16),
    "bool": (6, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
    "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6),
    "float4_e2m1fn": (17, 4),
}
"""Name -> type code (`DLDataTypeCode` of DLPack 1.1) and bits of an element.

Elements of fewer than 8 bits are padded to a byte each in memory, what DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED says
where there are flags.
"""


def dtype_of(name: str) -> np.dtype[Any]:
    """The numpy type of a user-visible element type; what numpy does not have is of ml_dtypes."""
    if name in np.sctypeDict:
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))
