"""Work in several processes. Every case is a program of its own, as only a process without other threads is copied."""

from __future__ import annotations

import subprocess
import sys

import pytest

_BEFORE = """
import os, signal, sys, threading
from aotc.errors import CompileError, InternalError, Problem
from aotc.pipeline.workers import MOST_ITEMS, bystander, in_parallel
signal.signal(signal.SIGINT, signal.default_int_handler)  # which the tests may have been started without
here = os.getpid()
told, tell = os.pipe()

def until_a_copy_has_one():
    assert os.read(told, 1) == b"!"

def pid(number):
    if os.getpid() != here:
        os.write(tell, b"!")
    return number, os.getpid()

def no_process_is_left():
    try:
        os.waitpid(-1, 0)
    except ChildProcessError:
        return True
    return False
"""


def printed(program: str) -> str:
    """The output of a program, in which the names above are defined; it must end well."""
    done = subprocess.run(
        [sys.executable, "-c", _BEFORE + program], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("jobs", [1, 2, 3, 7])
def test_results_come_in_order(jobs: int) -> None:
    program = f"print(in_parallel(lambda number: number * number, 5, {jobs}), no_process_is_left())"
    assert printed(program) == "[0, 1, 4, 9, 16] True"


def test_a_copy_computes_while_this_process_does_something_else() -> None:
    program = """
found = in_parallel(pid, MOST_ITEMS, 2, until_a_copy_has_one)
assert [number for number, _ in found] == list(range(MOST_ITEMS))
print(found[0][1] != here)
"""
    assert printed(program) == "True"


def test_what_is_done_meanwhile_is_done_without_copies() -> None:
    assert printed('print(in_parallel(pid, 1, 4, lambda: print("done"))[0][1] == here)') == "done\nTrue"


def test_a_process_with_another_thread_is_not_copied() -> None:
    program = """
end = threading.Event()
thread = threading.Thread(target=end.wait)
thread.start()
copies = []
os.register_at_fork(before=lambda: copies.append(0))
in_parallel(pid, 9, 2)
print(len(copies))
with bystander():
    print(in_parallel(pid, 9, 2, until_a_copy_has_one)[0][1] != here, len(copies))
in_parallel(pid, 9, 2)
print(len(copies))
end.set()
"""
    assert printed(program) == "0\nTrue 1\n1"


def test_a_fault_in_a_copy_is_one_of_this_process() -> None:
    """Kernels that failed in a copy are computed here again, and raised with where it happened."""
    program = """
def work(number):
    pid(number)
    raise KeyError(os.getpid() == here)
try:
    in_parallel(work, 2, 2, until_a_copy_has_one)
except KeyError as error:
    print(error.args, no_process_is_left())
"""
    assert printed(program) == "(True,) True"


@pytest.mark.parametrize("jobs", [1, 3])
def test_problems_of_all_items_are_raised_together(jobs: int) -> None:
    program = f"""
def work(number):
    if number != 1:
        raise CompileError([Problem("usage", f"a{{number}}"), Problem("usage", f"b{{number}}")])
try:
    in_parallel(work, 3, {jobs})
except CompileError as error:
    print([each.what for each in error.problems])
"""
    assert printed(program) == "['a0', 'b0', 'a2', 'b2']"


def test_what_has_failed_here_is_not_done_again() -> None:
    """Its first try may have left things half done."""
    program = """
go, release = os.pipe()
seen = []
def work(number):
    pid(number)
    if os.getpid() != here:
        return os.read(go, 1)
    seen.append(number)
    os.write(release, b"!")
    raise CompileError("usage", "here")
try:
    in_parallel(work, 2, 2, until_a_copy_has_one)
except CompileError:
    print(seen)
"""
    assert printed(program) == "[1]"


def test_a_copy_that_is_killed_is_one_error() -> None:
    program = """
def work(number):
    pid(number)
    if os.getpid() != here:
        os.kill(os.getpid(), signal.SIGKILL)
try:
    in_parallel(work, 9, 3, until_a_copy_has_one)
except InternalError as error:
    print(error, no_process_is_left())
"""
    assert printed(program) == (
        "a process that compiled kernels; it was ended by SIGKILL, as where memory is short; "
        "use --jobs 1 [internal-error] True"
    )


def test_a_copy_that_ends_without_an_answer_is_an_error() -> None:
    program = """
def work(number):
    pid(number)
    return lambda: number  # which cannot be pickled
try:
    in_parallel(work, 2, 2, until_a_copy_has_one)
except InternalError as error:
    print(error)
"""
    assert printed(program) == "a process that compiled kernels; it ended with status 1; use --jobs 1 [internal-error]"


def test_an_interrupt_ends_copies() -> None:
    program = """
def work(number):
    pid(number)
    if os.getpid() != here:
        signal.pause()

def interrupted():
    until_a_copy_has_one()
    os.kill(here, signal.SIGINT)

try:
    in_parallel(work, 9, 3, interrupted)
except KeyboardInterrupt:
    print(no_process_is_left())
"""
    assert printed(program) == "True"


def test_copies_end_where_this_process_is_killed() -> None:
    """They take no further item; the pipe that only they have then is at its end when they are gone, and has a dot for
    each item that was begun."""
    program = """
end, ends = os.pipe()
starter = os.fork()
if starter == 0:
    os.close(end)
    here = os.getpid()
    def work(number):
        os.write(ends, b".")
        pid(number)
        while os.getppid() == here:
            pass
    in_parallel(work, 9, 3, lambda: (until_a_copy_has_one(), os.kill(here, signal.SIGKILL)))
os.close(ends)
os.waitpid(starter, 0)
print(len(open(end, "rb").read()))
"""
    assert int(printed(program)) <= 2  # which the two copies had begun


def test_a_copy_says_nothing() -> None:
    program = """
os.dup2(1, 2)
def work(number):
    if os.getpid() != here:
        print("said", flush=True)
        print("said", file=sys.stderr, flush=True)
    return pid(number)
in_parallel(work, 2, 2, until_a_copy_has_one)
"""
    assert printed(program) == ""


def test_work_aside() -> None:
    """When it has ended, the process is one that can be copied, and threads take turns as before."""
    program = """
from aotc.pipeline.workers import aside
interval, done = sys.getswitchinterval(), []
for _ in range(20):
    aside(lambda: done.append(threading.get_ident()))()
    in_parallel(pid, 2, 2, until_a_copy_has_one)
assert len(done) == 20 and threading.get_ident() not in done
assert sys.getswitchinterval() == interval
try:
    aside(lambda: 1 / 0)()
except ZeroDivisionError:
    print("raised")
"""
    assert printed(program) == "raised"
