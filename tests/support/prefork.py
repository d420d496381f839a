"""Commands without the start of an interpreter: a server that has imported everything is forked for each of them.

    folder = prefork.commands(environment)     (holds aotc, aotc-opt and filecheck, for PATH)

A command in the folder is a client: it sends its arguments, environment, folder and streams to the server, whose child
runs the command's `main` in a process of its own, and ends with that one's exit code. The server ends with the process
that started it.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
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

ENTRIES = {"aotc": "aotc.cli.main", "aotc-opt": "aotc.cli.opt", "filecheck": "filecheck.main"}
"""Command -> the module of its `main`."""
_PACKAGES = ("aotc.passes", "aotc.dialects", "aotc.frontend", "aotc.compiler", "aotc.emit", "aotc.pipeline")
"""What is imported before the first command."""
_WENT_WRONG = 70
"""The exit code of a command whose process died."""

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


@functools.cache
def _started(environment: tuple[tuple[str, str], ...]) -> Path:
    place = tempfile.TemporaryDirectory(prefix="aotc-commands.")
    atexit.register(place.cleanup)
    folder = Path(place.name)
    for name in ENTRIES:
        client = folder / name
        address = str(folder / "server")
        client.write_text(_CLIENT.format(python=sys.executable, address=address, name=name, died=_WENT_WRONG))
        client.chmod(0o755)
    command = [sys.executable, __file__, str(folder / "server")]
    server = subprocess.Popen(command, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert server.stdout is not None and server.stdout.readline() == b"ready\n", "the server does not start"
    return folder


def commands(environment: Mapping[str, str] | None = None) -> Path:
    """The folder of the commands; its server starts with this environment, or with that of this process."""
    return _started(tuple(sorted((os.environ if environment is None else environment).items())))


def _serve(address: str) -> None:
    """Fork for each command until the process that started this one is gone."""
    for package in _PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
            importlib.import_module(module.name)
    mains = {name: importlib.import_module(module).main for name, module in ENTRIES.items()}
    parent = os.getppid()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        os.write(1, b"ready\n")
        while os.getppid() == parent:
            if not select.select([listening], [], [], 1.0)[0]:
                continue
            connection, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                name, sys.argv, environment, folder = _asked(connection)
                os.environ.clear()
                os.environ.update(environment)
                os.chdir(folder)
                code = _run(mains[name])
                with suppress(OSError):
                    connection.sendall(bytes([code & 255]))
                os._exit(0)
            connection.close()


def _asked(connection: socket.socket) -> tuple[str, list[str], dict[str, str], str]:
    """What a client asks for, whose streams are those of this process from now on."""
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
    _serve(sys.argv[1])
