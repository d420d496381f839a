"""Wrong arguments of every kind for every public function: what is said is a sentence about the argument."""

from __future__ import annotations

import inspect
import io
import re
import traceback
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import aotc
import aotc.backend
from aotc.errors import AotcError, InternalError
from aotc.pipeline.signature import FileOptions, InProcessOptions

HEADER = '<ir_version: 10, opset_import: ["" : 18]>'
FIXED = onnx.parser.parse_model(f"{HEADER} m (float[4] x) => (float[4] y) {{ y = Relu(x) }}")
OPEN = onnx.parser.parse_model(f"{HEADER} m (float[n] x) => (float[n] y) {{ y = Relu(x) }}")
X = np.ones(4, np.float32)
INNER = {"computed"}
"""Methods that take arrays which are known to be right."""
PYTHONS_OWN = re.compile(
    "has no attribute|object is not|not subscriptable|unsupported operand|argument after|cannot unpack|unhashable|"
    "object cannot be|expected str, bytes or os|bytes-like object|invalid literal|could not convert|truth value|"
    "not enough values|too many values|not supported between|must be real number|isinstance|is not iterable|"
    "Cannot interpret"
)
"""Words of errors that tell of code, not of an argument."""


class Anything:
    """A class that takes what it is called with."""

    def __init__(self, *given: object) -> None:
        """Forget it."""


def wrong() -> list[Any]:
    scalars = [None, 3, -1, 2.5, float("nan"), True, "", "no such", "x", b"bytes", 10**30]
    containers = [(), [1], ["a"], {"a": 1}, {1: 2}, {"x": None}, io.BytesIO(b"x")]
    arrays = [np.zeros(5, np.int16), np.ones((2, 2), np.complex64), np.array("t")]
    return [*scalars, *containers, *arrays, object(), Anything, Path("no/such"), lambda *_: 0, aotc.cpu()]


@cache
def functions() -> dict[str, tuple[Callable[..., Any], dict[str, Any], type | None]]:
    """Each with what it needs to do something, and the options that it takes beside."""
    model, opened, session = aotc.compile(FIXED, name="m"), aotc.DynamicModel(OPEN), aotc.InferenceSession(FIXED)
    made = aotc.build(FIXED, emit=("c", "object"))
    found: dict[str, tuple[Callable[..., Any], dict[str, Any], type | None]] = {
        "compile": (aotc.compile, {"source": FIXED}, InProcessOptions),
        "build": (aotc.build, {"source": FIXED, "emit": "c"}, FileOptions),
        "compile_to": (aotc.compile_to, {"source": FIXED, "directory": "out", "emit": "c"}, FileOptions),
        "DynamicModel": (aotc.DynamicModel, {"source": OPEN}, InProcessOptions),
        "InferenceSession": (aotc.InferenceSession, {"path_or_bytes": FIXED}, InProcessOptions),
        "load": (aotc.load, {"path": "no.so"}, None),
        "cpu": (aotc.cpu, {}, None),
        "to_dlpack": (aotc.to_dlpack, {"array": X}, None),
    }
    for name in ("prepare", "run_model", "run_node", "supports_device"):
        found[f"backend.{name}"] = (getattr(aotc.backend, name), {}, None)
    for thing in (model, opened, session, session.io_binding(), made, made["model.c"]):
        for name in dir(type(thing)):
            method = getattr(thing, name)
            if (not name.startswith("_") or name in ("__call__", "__getitem__")) and callable(method):
                found[f"{type(thing).__name__}.{name}"] = (method, {}, None)
    return {name: each for name, each in found.items() if name.partition(".")[2] not in INNER}


def calls(function: Callable[..., Any], given: dict[str, Any], options: type | None) -> Iterator[tuple[str, Any]]:
    """Wrong arguments and the calls with them."""
    parameters = list(inspect.signature(function).parameters.values())
    own = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY or (given and each.name in given)]
    named = {*own, *(options.__annotations__ if options else ())}
    named |= {"x"} if not given and any(each.kind is each.VAR_KEYWORD for each in parameters) else set()
    places = [] if given else [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for value in wrong():
        for name in sorted(named):
            yield f"{name}={value!r}", lambda name=name, value=value: function(**{**given, name: value})
        for place, parameter in enumerate(places):
            usual = {"which": 0, "value": X, "func_name": "run"}
            least = max(place + 1, sum(each.default is each.empty for each in places))
            some = [value if at == place else usual.get(each.name, "x") for at, each in enumerate(places)][:least]
            yield f"{parameter.name}={value!r}", lambda some=some: function(*some)
        if any(each.kind is each.VAR_POSITIONAL for each in parameters):
            yield f"*{value!r}", lambda value=value: function(value)


@pytest.mark.parametrize("name", functions())
@pytest.mark.filterwarnings("ignore")
def test_what_is_wrong_is_said(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some values are names of files
    bad: dict[str, str] = {}
    for what, call in calls(*functions()[name]):
        try:
            call()
        except (TypeError, ValueError, LookupError, AotcError, OSError) as error:
            by_python = not isinstance(error, AotcError) and PYTHONS_OWN.search(str(error))
            inside = traceback.extract_tb(error.__traceback__)[-1].filename != __file__
            if not str(error) or isinstance(error, InternalError) or (by_python and inside):
                bad[what] = f"{type(error).__name__}: {error}"
        except Exception as error:
            bad[what] = f"{type(error).__name__}: {error}"
    assert not bad


def test_the_argument_and_what_it_takes_are_named() -> None:
    with pytest.raises(TypeError, match=r"dims is 3; it takes a mapping of str to int or 'any' \[wrong-argument\]"):
        aotc.compile(FIXED, dims=3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"path is None; it takes str or a path"):
        aotc.load(None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"extents is a list; it takes a mapping"):
        aotc.DynamicModel(OPEN).warm([1])  # pyright: ignore[reportArgumentType]


def test_what_has_the_kind_of_a_number_or_a_path_is_taken(tmp_path: Path) -> None:
    assert aotc.compile(FIXED, threads=np.int64(1), dump_phases=tmp_path)(X)
    assert aotc.compile(OPEN, dims={"n": np.int32(4)}, optimize=1)(X)


def test_what_holds_numbers_names_or_bytes_is_taken() -> None:
    level, flag = np.int64(1), np.bool_(True)
    built = aotc.build(
        OPEN, emit=np.array(["c"]), input_shapes={"x": np.array([4])}, optimize=level, check_indices=flag
    )  # pyright: ignore[reportArgumentType]
    assert len(type(built).of_blob(np.frombuffer(built.blob(), np.uint8))) == len(built)  # pyright: ignore
    opened = aotc.DynamicModel(OPEN, buckets=np.array([4, 8]))  # pyright: ignore[reportArgumentType]
    assert opened(X[:3])["y"].shape == (3,)
    session = aotc.InferenceSession(FIXED)
    assert len(session.run(np.array(["y"]), {"x": X})) == 1  # pyright: ignore[reportArgumentType]
    session.io_binding().bind_output("y", "cpu", 0, np.float32, np.array(X.shape), X.ctypes.data)  # pyright: ignore


def test_the_item_that_is_wrong_is_named() -> None:
    with pytest.raises(TypeError, match=r"dims\['n'\] is 2.0; it takes int or 'any'"):
        aotc.compile(OPEN, dims={"n": 2.0})  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"input_shapes\['x'\]\[1\] is None; it takes int"):
        aotc.compile(OPEN, input_shapes={"x": (4, None)})  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"a key of state is 1; it takes str"):
        aotc.compile(OPEN, state={1: "x"})  # pyright: ignore[reportArgumentType]
