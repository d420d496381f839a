"""Commands without the start of an interpreter: a server that has imported everything is forked for each of them.

    folder = prefork.commands(environment)     (holds `ENTRIES`, for PATH)

A command in the folder is a client: it sends its arguments, environment, folder and streams to the server, whose child
runs the command's `main` in a process of its own, and ends with that one's exit code. The server ends with the process
that started it.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import importlib.util
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import NoReturn

ENTRIES = {
    "aotc": "aotc.cli.main",
    "aotc-opt": "aotc.cli.opt",
    "filecheck": "filecheck.main",
    "bench-worker": "aotc.measuring.bench.worker",
}
"""Command -> the module of its `main`."""
_PACKAGES = ("aotc.passes", "aotc.dialects", "aotc.frontend", "aotc.compiler", "aotc.emit", "aotc.pipeline")
"""Modules that are imported before the first command."""
_READ_AT_THE_START = ("PYTHON", "LD_", "LANG", "LC_")
"""The beginnings of variables that matter to the server itself."""
_WENT_WRONG = 70
"""The exit code of a command where the server died."""

_CLIENT = """#!{python} -IS
import array, json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    asked = json.dumps([{name!r}, sys.argv, dict(os.environ), os.getcwd()]).encode()
    streams = socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2])
    server.sendmsg([len(asked).to_bytes(8, "big")], [streams])
    server.sendall(asked)
    answer = server.recv(1)
sys.exit(answer[0] if answer else {died})
"""


def write_clients(folder: Path) -> None:
    """The commands, which ask the server at `folder / "server"`."""
    for name in ENTRIES:
        client = folder / name
        address = str(folder / "server")
        client.write_text(_CLIENT.format(python=sys.executable, address=address, name=name, died=_WENT_WRONG))
        client.chmod(0o755)


@functools.cache
def _started(environment: tuple[tuple[str, str], ...]) -> Path:
    place = tempfile.TemporaryDirectory(prefix="aotc-commands.")
    folder = Path(place.name)
    write_clients(folder)
    command = [sys.executable, __file__, str(folder / "server")]
    server = subprocess.Popen(command, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert server.stdout is not None
    with server.stdout as answer:
        assert answer.readline() == b"ready\n", "the server does not start"

    def end(process: int = os.getpid()) -> None:
        if os.getpid() == process:  # and not one that was forked from it
            server.terminate()
            server.wait()
            place.cleanup()

    atexit.register(end)
    return folder


def tool(name: str) -> ModuleType:
    """The module of a script of `tools`, which is no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[2] / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands(environment: Mapping[str, str] | None = None) -> Path:
    """The folder of the commands, whose server is started once.

    Commands bring an environment of their own. Of this one, or of that of this process, the server needs what an
    interpreter reads as it starts: the rest changes with every test, pytest writes its name there.
    """
    given = os.environ if environment is None else environment
    return _started(tuple(sorted(item for item in given.items() if item[0].startswith(_READ_AT_THE_START))))


def mains() -> dict[str, Callable[[], object]]:
    """The `main` of each command, where everything is imported."""
    for package in _PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
            importlib.import_module(module.name)
    return {name: importlib.import_module(module).main for name, module in ENTRIES.items()}


def serve(listening: socket.socket, mains: Mapping[str, Callable[[], object]]) -> None:
    """Fork for each command until the process that started this one is gone."""
    parent = os.getppid()
    ended, wakes = socket.socketpair()
    wakes.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)  # so that it wakes `select`
    running: dict[int, socket.socket] = {}
    with listening, ended, wakes:
        while os.getppid() == parent:
            ready = select.select([listening, ended], [], [], 1.0)[0]
            if ended in ready:
                ended.recv(4096)
                _answer(running)
            if listening in ready:
                connection, _ = listening.accept()
                if (child := os.fork()) == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for inherited in (listening, ended, wakes, *running.values()):
                        inherited.close()
                    _become(connection, mains)
                running[child] = connection


def listening_at(address: str) -> socket.socket:
    """A socket that clients can connect to from now on."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(64)
    return listening


def _answer(running: dict[int, socket.socket]) -> None:
    """Tell clients whose processes have ended their exit codes; of one that a signal ended it is 128 and its number."""
    while running:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            return
        code = os.waitstatus_to_exitcode(status)
        with running.pop(child) as connection, suppress(OSError):
            connection.sendall(bytes([code if code >= 0 else 128 - code]))


def _become(connection: socket.socket, mains: Mapping[str, Callable[[], object]]) -> NoReturn:
    """Be the command that a client asks for."""
    name, sys.argv, environment, folder = _asked(connection)
    connection.close()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    # what kinds of files they are was found out when they were opened
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    os._exit(_run(mains[name]))


def _asked(connection: socket.socket) -> tuple[str, list[str], dict[str, str], str]:
    """The command that a client asks for, whose streams are those of this process from now on."""
    size, streams, _, _ = socket.recv_fds(connection, 8, 3)
    for to, stream in enumerate(streams):
        os.dup2(stream, to)
        os.close(stream)
    data = bytearray()
    while len(data) < int.from_bytes(size, "big"):
        data += connection.recv(1 << 20)
    name, arguments, environment, folder = json.loads(data)
    return name, arguments, environment, folder


def _run(main: Callable[[], object]) -> int:
    """A command to its end; its exit code."""
    code: object
    try:
        code = main()
    except SystemExit as error:
        code = error.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    return int(code or 0)


if __name__ == "__main__":
    found = mains()
    gc.freeze()
    listening = listening_at(sys.argv[1])
    os.write(1, b"ready\n")
    serve(listening, found)
