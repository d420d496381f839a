"""A process that has imported a copy of the tree: each mutant, or measurement, gets a fork of it.

    python warm.py LOG     (in the copy's folder; requests come as lines of JSON, answers go as such)

In the fork functions get the code of the changed text in place, so that nothing is imported again. The file is changed,
too, for whatever starts an interpreter of its own. Where the change is not one of functions, tests start interpreters.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from inspect import CO_NEWLOCALS
from itertools import count
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NoReturn

ROOT = Path.cwd()
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support"), str(ROOT / "tests" / "conformance")]
MEMORY = 6 << 30
"""Bytes of addresses that a test may use: what a mutant repeats for ever must not take all of the machine's memory."""
SANITIZED = "tests/unit/runtime"
"""Tests whose programs need all addresses."""
PASSES, FAILS, LATE = 0, 1, 2


class Calls:
    """Which functions of the sources are called, as `FILE FUNCTION`; written to a file as they are."""

    def __init__(self) -> None:
        self._visited: set[CodeType] = set()
        self._files: dict[str, str] = {}
        self.names: set[str] = set()
        self.log = -1

    def label(self, line: str) -> None:
        """Begin a test: functions that were called before count again."""
        self._visited.clear()
        os.write(self.log, (line + "\n").encode())

    def trace(self, frame: FrameType, _event: str, _argument: object) -> None:
        """For `sys.settrace`."""
        code = frame.f_code
        if code not in self._visited:
            self._visited.add(code)
            if (name := self.name(code)) is not None:
                if self.log < 0:
                    self.names.add(name)
                else:
                    os.write(self.log, (name + "\n").encode())

    def name(self, code: CodeType) -> str | None:
        """Its file and outermost function, if it is one of the sources."""
        if (file := self._files.get(code.co_filename)) is None:
            path = os.path.realpath(code.co_filename) if code.co_filename.startswith("/") else ""
            inside = path.startswith(f"{ROOT}/") and not path.startswith(f"{ROOT}/tests/")
            file = self._files[code.co_filename] = os.path.relpath(path, ROOT) if inside else ""
        return f"{file} {code.co_qualname.partition('.<locals>')[0]}" if file else None


CALLS = Calls()


def _is_function(value: object) -> bool:
    """Whether a constant of a module or class is the code of a function with a name."""
    return isinstance(value, CodeType) and bool(value.co_flags & CO_NEWLOCALS) and not value.co_name.startswith("<")


def _outermost(code: CodeType) -> Iterator[CodeType]:
    """The functions and methods of a module, not those within functions."""
    for each in code.co_consts:
        if _is_function(each):
            yield each
        elif isinstance(each, CodeType):
            yield from _outermost(each)


def _outside(code: CodeType) -> tuple[object, ...]:
    """Statements of a module but definitions of functions."""
    rest = (each for each in code.co_consts if not _is_function(each))
    constants = tuple(_outside(each) if isinstance(each, CodeType) else repr(each) for each in rest)
    return code.co_code, code.co_names, constants


class Functions:
    """All functions of the sources, by file, name and line."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], list[FunctionType]] = defaultdict(list)
        for each in gc.get_objects():
            if isinstance(each, FunctionType) and (name := CALLS.name(each.__code__)) is not None:
                self._found[name, each.__code__.co_firstlineno].append(each)

    def change(self, file: str, old: str, new: str) -> bool:
        """Give functions the code of a new text of their file; whether that is all that the change is."""
        before, after = (compile(text, file, "exec", dont_inherit=True) for text in (old, new))
        pairs = list(zip(_outermost(before), _outermost(after), strict=True))
        if _outside(before) != _outside(after):
            return False
        for one, other in pairs:
            if one.co_code == other.co_code and one.co_consts == other.co_consts and one.co_names == other.co_names:
                continue
            if one.co_freevars != other.co_freevars:
                return False
            found = self._found.get((f"{file} {one.co_qualname}", one.co_firstlineno), [])
            for function in found:
                function.__code__ = other.replace(co_filename=function.__code__.co_filename)
        return True


def _wait(process: int, seconds: float) -> int:
    """How a child ends, or `LATE`. Where nobody waits for this process any more, all that it started ends."""
    handle = os.pidfd_open(process)
    parent, last = os.getppid(), time.monotonic() + seconds
    try:
        while not select.select([handle], [], [], 1.0)[0]:
            if os.getppid() != parent:
                os.killpg(0, signal.SIGKILL)
            if time.monotonic() > last:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                return LATE
        return PASSES if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0 else FAILS
    finally:
        os.close(handle)


def _forked(run: Callable[[], int], seconds: float) -> int:
    """The answer of `run` in a process of its own."""
    if (child := os.fork()) == 0:
        _end(run)
    return _wait(child, seconds)


def _end(run: Callable[[], int]) -> NoReturn:
    code = FAILS
    try:
        code = run()
    except SystemExit as error:
        code = int(error.code or 0) if isinstance(error.code, int | None) else FAILS
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


class Labels:
    """A plugin of pytest that says in the log which test begins, and how long it took."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._outcome = "ok"

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._seconds, self._outcome = time.monotonic(), "ok"
        CALLS.label(f"= {nodeid}")
        sys.settrace(CALLS.trace)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self._outcome = "failed"
        elif report.skipped:
            self._outcome = "skipped"

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        CALLS.label(f"! {time.monotonic() - self._seconds:.3f} {self._outcome}")


class Warm:
    """See the module."""

    def __init__(self, log: Path) -> None:
        self._commands = Path(tempfile.mkdtemp(prefix="aotc-mutants."))
        os.environ |= {"AOTC_TEST_COMMANDS": str(self._commands), "AOTC_CACHE_DIR": "", "PYTHONPATH": str(ROOT)}
        self._log = log
        sys.settrace(CALLS.trace)
        import prefork

        self._prefork = prefork
        self._mains = prefork.mains()
        sys.settrace(None)
        self.at_import = sorted(CALLS.names)
        prefork.write_clients(self._commands)
        self._functions = Functions()
        self._lit = self._lit_tests()
        import pytest

        self._pytest = pytest
        sys.path[:] = [each for each in sys.path if each != str(ROOT / "tests" / "mutants")]
        gc.freeze()

    def _lit_tests(self) -> dict[str, Any]:
        """Those of lit, by their paths."""
        import lit.discovery
        import lit.LitConfig

        values = dict.fromkeys(("useValgrind", "noExecute", "debug", "isWindows"), False)
        self._lit_config = lit.LitConfig.LitConfig(
            "lit",
            [],
            diagnostic_level="error",
            valgrindArgs=[],
            valgrindLeakCheck=False,
            order=None,
            params={},
            **values,
        )
        found = lit.discovery.find_tests_for_inputs(self._lit_config, ["tests/lit"])
        return {os.path.relpath(each.getSourcePath(), ROOT): each for each in found}

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Run the tests that are asked for in a fork, with the text of one file changed, if one is named."""
        receiving, sending = os.pipe()
        if (child := os.fork()) == 0:
            os.close(receiving)
            os.setsid()
            _end(lambda: self._run(asked, sending))
        os.close(sending)
        with open(receiving) as stream:
            said = stream.readline()
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return json.loads(said) if said else {"result": "the process of the tests died"}

    def _run(self, asked: dict[str, Any], sending: int) -> int:
        nothing = os.open(os.devnull, os.O_RDWR)
        output = nothing
        if "output" in asked:
            output = os.open(asked["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for stream, to in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(stream, to)
        is_fresh = bool(asked.get("fresh"))
        if not is_fresh and "new" in asked:
            try:
                is_fresh = not self._functions.change(asked["file"], asked["old"], asked["new"])
            except (SyntaxError, ValueError):
                is_fresh = True
        if asked.get("measure"):
            CALLS.log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC)
            sys.settrace(CALLS.trace)
        self._serve_commands()
        for tests, seconds in asked["tests"]:
            result = self._result(tests, seconds, is_fresh, bool(asked.get("measure")))
            if result != PASSES and not asked.get("measure"):
                return said(sending, {"result": "caught", "by": tests[0], "late": result == LATE})
        return said(sending, {"result": "survived", "fresh": is_fresh})

    def _serve_commands(self) -> None:
        address = self._commands / "server"
        address.unlink(missing_ok=True)
        listening = self._prefork.listening_at(str(address))
        if os.fork() == 0:
            sys.path.insert(1, str(ROOT / "tests" / "support" / "codegens"))  # as tests/lit/lit.cfg.py has it
            warnings.simplefilter("error")
            _end(lambda: self._prefork.serve(listening, self._mains) or 0)
        listening.close()

    def _result(self, tests: Sequence[str], seconds: float, is_fresh: bool, is_measured: bool) -> int:
        """Of several tests of one file."""
        if is_fresh:
            return _started(tests, seconds)
        if tests[0].startswith("tests/lit"):
            if not is_measured:
                return _forked(lambda: self._lit_result(tests[0]), seconds)
            for test in tests:
                start = time.monotonic()
                CALLS.label(f"= {test}")
                found = _forked(lambda test=test: self._lit_result(test), seconds)
                CALLS.label(f"! {time.monotonic() - start:.3f} {'failed' if found else 'ok'}")
            return PASSES
        return _forked(lambda: self._pytest_result(tests, is_measured), seconds)

    def _lit_result(self, test: str) -> int:
        """One file, or a folder of them."""
        _limit_memory()
        chosen = [each for path, each in self._lit.items() if path == test or path.startswith(f"{test}/")]
        results = [each.config.test_format.execute(each, self._lit_config) for each in chosen]
        codes = [result.code if hasattr(result, "code") else result[0] for result in results]
        for result in results:
            print(result.output if hasattr(result, "output") else result[1], flush=True)
        return PASSES if codes and not any(code.isFailure for code in codes) else FAILS

    def _pytest_result(self, tests: Sequence[str], is_measured: bool) -> int:
        if not tests[0].startswith(SANITIZED):
            _limit_memory()
        plugins = [Labels()] if is_measured else []
        options = ["-q", "-p", "no:cacheprovider", "--tb=short" if is_measured else "--tb=no"]
        found = self._pytest.main([*options, *([] if is_measured else ["-x"]), *tests], plugins=plugins)
        return PASSES if found == 0 else FAILS


def said(sending: int, answer: dict[str, Any]) -> int:
    """A whole line: who reads it need not wait for the end of commands, which a mutant may repeat for ever."""
    os.write(sending, f"{json.dumps(answer)}\n".encode())
    return PASSES


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _started(tests: Sequence[str], seconds: float) -> int:
    """Of interpreters that are started for them."""
    folder = Path(sys.executable).parent
    lit = [folder / "lit", "-q", "-j1"]
    command = lit if tests[0].startswith("tests/lit") else [folder / "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    environment = {name: value for name, value in os.environ.items() if name != "AOTC_TEST_COMMANDS"}
    process = subprocess.Popen([*command, *tests], env=environment)
    return _wait(process.pid, seconds)


_TIMES = count(int(time.time()))


def _written(path: Path, text: str) -> None:
    """No two texts of a file have the same time: code that an interpreter kept is of the text that it says."""
    path.write_text(text)
    now = next(_TIMES)
    os.utime(path, (now, now))


def main() -> None:
    """Answer until there are no more requests."""
    said = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warm = Warm(Path(sys.argv[1]))
    print(json.dumps({"at_import": warm.at_import, "lit": sorted(warm._lit)}), file=said, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if "new" in asked:
            _written(Path(asked["file"]), asked["new"])
        try:
            found = warm.answer(asked)
        finally:
            if "new" in asked:
                _written(Path(asked["file"]), asked["old"])
        print(json.dumps(found), file=said, flush=True)


if __name__ == "__main__":
    main()
