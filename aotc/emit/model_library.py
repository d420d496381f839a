"""A model library archive: what is generated, in the folders of TVM's Model Library Format.

Tools that unpack one find `metadata.json`, `codegen/host/src`, `codegen/host/include` and `parameters` where they look.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from math import prod

from aotc.dialects.dtypes import numpy_dtype
from aotc.model.dlpack import CPU
from aotc.model.metadata import ModelInfo, TensorInfo
from aotc.pipeline.files import Content

FORMAT_VERSION = 7
"""Of the Model Library Format."""

_FOLDERS = {
    ".c": "codegen/host/src/",
    ".h": "codegen/host/include/",
    ".bin": "parameters/",
}


def model_library(info: ModelInfo, target: str, files: Mapping[str, Content]) -> bytes:
    """The archive of what the compiler wrote (`files` by name): a tar file that does not depend on time or user."""
    members = {_FOLDERS.get(name[name.rindex(".") :], "") + name: _bytes(content) for name, content in files.items()}
    members["metadata.json"] = (json.dumps(_metadata(info, target), indent=2) + "\n").encode()
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(members):
            member = tarfile.TarInfo(name)
            member.size = len(members[name])
            archive.addfile(member, io.BytesIO(members[name]))
    return stream.getvalue()


def _metadata(info: ModelInfo, target: str) -> dict[str, object]:
    """`metadata.json`: sizes in total under `main`, then of each operator, in bytes."""
    main = {
        "device": CPU,
        "workspace_size_bytes": info.workspace_bytes,
        "io_size_bytes": info.io_bytes,
        "constants_size_bytes": info.weights_bytes,
        "inputs": {tensor.name: _tensor(tensor) for tensor in info.inputs},
        "outputs": {tensor.name: _tensor(tensor) for tensor in info.outputs},
    }
    operators = [
        {
            "function_name": kernel.symbol,
            "workspace": [{"device": CPU, "workspace_size_bytes": kernel.workspace_bytes}],
            "io_size_bytes": kernel.io_bytes,
            "constants_size_bytes": kernel.constant_bytes,
        }
        for kernel in info.kernels
    ]
    model = {
        "model_name": info.name,
        "style": "full-model",
        "executors": ["aot"],
        "target": [target],
        "interface_api": info.interface_api,
        "operator_api": info.operator_api,
        "memory": {"functions": {"main": [main], "operator_functions": operators}},
    }
    return {"version": FORMAT_VERSION, "modules": {info.name: model}}


def _tensor(tensor: TensorInfo) -> dict[str, object]:
    size = prod(tensor.shape) * numpy_dtype(tensor.dtype).itemsize
    return {"dtype": tensor.dtype, "shape": list(tensor.shape), "size": size}


def _bytes(content: Content) -> bytes:
    if isinstance(content, str | bytes):
        content = (content,)
    return b"".join(piece.encode() if isinstance(piece, str) else piece for piece in content)
