"""A model library archive: what is generated, in the folders of TVM's Model Library Format.

Tools that unpack one find `metadata.json`, `codegen/host/src`, `codegen/host/include`, `codegen/host/lib` and
`parameters` where they look. `read_model_library` finds the artefacts again.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from math import prod
from typing import Any

from aotc.dialects.dtypes import numpy_dtype
from aotc.errors import UsageError
from aotc.model.artifacts import ArtifactSet, file_names, listed_as, require_digest
from aotc.model.dlpack import CPU
from aotc.model.metadata import ModelInfo, PoolInfo, StateInfo, TensorInfo

FORMAT_VERSION = 7
"""Of the Model Library Format."""

_FOLDERS = {
    ".c": "codegen/host/src/",
    ".ll": "codegen/host/src/",
    ".s": "codegen/host/src/",
    ".h": "codegen/host/include/",
    ".o": "codegen/host/lib/",
    ".a": "codegen/host/lib/",
    ".so": "codegen/host/lib/",
    ".bin": "parameters/",
    ".json": "",
}
_OTHERS = "codegen/other/"
"""Artefacts of code generators from outside."""
_PARAMETERS = "parameters/{}.weights.bin"
_LARGEST = 1 << 34
"""Bytes of a member that is read."""


def model_library(artifacts: ArtifactSet, info: ModelInfo, weights: bytes | bytearray) -> bytes:
    """The archive of a set: a tar file that does not depend on time or user.

    `weights` are in `parameters/` also where the code embeds them.
    """
    members = {_path(name): artifact.read() for name, artifact in artifacts.files.items()}
    members.setdefault(_PARAMETERS.format(info.name), bytes(weights))
    metadata = _metadata(info, artifacts, hashlib.sha256(members[_PARAMETERS.format(info.name)]).hexdigest())
    members["metadata.json"] = (json.dumps(metadata, indent=2) + "\n").encode()
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name in sorted(members):
            member = tarfile.TarInfo(name)
            member.size = len(members[name])
            archive.addfile(member, io.BytesIO(members[name]))
    return stream.getvalue()


def read_model_library(archive: bytes) -> ArtifactSet:
    """The set that `model_library` wrote. Raises ValueError where there is none, UsageError where an artefact is not
    what was written."""
    with _members(archive) as read:
        listed: list[dict[str, Any]] = _described(read)["aotc"]["artifacts"]
        names = file_names((each["codegen"], each["name"]) for each in listed)
        return ArtifactSet(tuple(listed_as(each, read(_path(name))) for name, each in zip(names, listed, strict=True)))


def _described(read: Callable[[str], bytes]) -> dict[str, Any]:
    """The contents of `metadata.json`. Raises ValueError where it is of another version."""
    metadata = json.loads(read("metadata.json"))
    if (version := metadata["version"]) != FORMAT_VERSION:
        raise ValueError(f"it is of version {version}, this is aotc for version {FORMAT_VERSION}")
    return metadata


def read_parameters(archive: bytes) -> bytes:
    """The blob of weights that `model_library` wrote, be they embedded in the code or not. Raises as
    `read_model_library`."""
    with _members(archive) as read:
        metadata = _described(read)
        (name,) = metadata["modules"]
        weights = read(path := _PARAMETERS.format(name))
        require_digest(path, hashlib.sha256(weights).hexdigest(), metadata["aotc"]["parameters"]["sha256"])
        return weights


@contextmanager
def _members(archive: bytes) -> Generator[Callable[[str], bytes]]:
    """The reader of a file of the archive by its path."""
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as opened:
            files = {member.name: member for member in opened if member.isfile() and member.size < _LARGEST}

            def content(path: str) -> bytes:
                stream = opened.extractfile(files[path])
                assert stream is not None
                return stream.read()

            yield content
    except UsageError:
        raise
    except (tarfile.TarError, KeyError, TypeError, ValueError, EOFError, RecursionError) as error:
        raise ValueError(f"this is not a model library of aotc: {error!r}") from error


def _path(name: str) -> str:
    suffix = name[name.rindex(".") :] if "." in name else ""
    return _FOLDERS.get(suffix, _OTHERS) + name


def _metadata(info: ModelInfo, artifacts: ArtifactSet, parameters: str) -> dict[str, object]:
    """`metadata.json`: sizes in total under `main`, then of each operator, in bytes; under `aotc` the artefacts, and
    `parameters`, the SHA-256 of the weights."""
    main: dict[str, object] = {
        "device": CPU,
        "workspace_size_bytes": info.workspace_bytes,
        "io_size_bytes": info.io_bytes,
        "constants_size_bytes": info.weights_bytes,
        "inputs": {tensor.name: _tensor(tensor) for tensor in info.inputs},
        "outputs": {tensor.name: _tensor(tensor) for tensor in info.outputs},
    }
    if info.states:
        main["states"] = {state.name: _tensor(state) | _place(state) for state in info.states}
    if info.weights_pool:
        main["constants_pool"] = info.weights_pool
    if info.plan.pools:
        main["workspace_pools"] = [_pool(pool) for pool in info.plan.pools]
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
        "target": [target for target in artifacts.by_target() if target],
        "interface_api": info.interface_api,
        "operator_api": info.operator_api,
        "memory": {"functions": {"main": [main], "operator_functions": operators}},
    }
    ours = {"artifacts": [artifact.listed() for artifact in artifacts], "parameters": {"sha256": parameters}}
    return {"version": FORMAT_VERSION, "modules": {info.name: model}, "aotc": ours}


def _place(state: StateInfo) -> dict[str, object]:
    """Where a state is in the workspace."""
    offset: dict[str, object] = {"offset": state.offset}
    return offset | ({"pool": state.pool} if state.pool else {})


def _pool(pool: PoolInfo) -> dict[str, object]:
    """A memory that the workspace is in: the bytes of it, and those that the model takes."""
    found: dict[str, object] = {"device": CPU, "pool": pool.name, "speed": pool.speed, "size_bytes": pool.size}
    found["workspace_size_bytes"] = pool.peak_bytes
    return found | ({"section": pool.section} if pool.section else {})


def _tensor(tensor: TensorInfo) -> dict[str, object]:
    size = prod(tensor.shape) * numpy_dtype(tensor.dtype).itemsize
    return {"dtype": tensor.dtype, "shape": list(tensor.shape), "size": size}
