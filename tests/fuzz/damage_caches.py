"""Hostile cache folders: entries cut, changed, exchanged, replaced by what hangs or leads elsewhere.

Whatever is in the folder, a compilation gives the right numbers or one of our errors, and hangs on nothing.
"""

from __future__ import annotations

import os
import random
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import aotc
from fuzz.catalogue import draw
from fuzz.drafts import Specimen
from fuzz.routes import Wrong, compared, source

FOLDER = "cache"
_TOGETHER = 4
"""Threads that compile into one folder."""


def _file(r: random.Random, root: Path) -> Path | None:
    """A file of an entry."""
    files = sorted(path for path in root.glob("*/*") if path.is_file() and not path.is_symlink())
    return r.choice(files) if files else None


def _cut(r: random.Random, path: Path) -> None:
    size = path.stat().st_size
    os.truncate(path, r.choice((0, size // 2, max(size - 1, 0))))


def _change(r: random.Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(r.choice((1, 1, 8)) if data else 0):
        data[r.randrange(len(data))] ^= 1 << r.randrange(8)
    path.write_bytes(bytes(data))


def _remove(_: random.Random, path: Path) -> None:
    path.unlink()


def _pipe(_: random.Random, path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(_: random.Random, path: Path) -> None:
    path.unlink()
    path.mkdir()


def _link(r: random.Random, path: Path) -> None:
    path.unlink()
    path.symlink_to(r.choice(("/dev/zero", "/etc/hostname", "none", ".")))


def _more(r: random.Random, path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(r.randbytes(100))


def _forbid(_: random.Random, path: Path) -> None:
    path.chmod(0)


def _exchange(r: random.Random, path: Path) -> None:
    """The file of the same name in another entry."""
    others = [each for each in sorted(path.parent.parent.glob(f"*/{path.name}")) if each.is_file() and each != path]
    if others:
        shutil.copyfile(r.choice(others), path)


def _entry(_: random.Random, path: Path) -> None:
    """A file where the entry's folder was."""
    shutil.rmtree(path.parent)
    path.parent.write_bytes(b"not a folder")


def _stray(r: random.Random, path: Path) -> None:
    root = path.parent.parent
    (root / r.choice(("f" * 64, ".aotc-unfinished", "note.txt"))).mkdir(exist_ok=True)


DAMAGES: tuple[Callable[[random.Random, Path], None], ...] = (
    *(_cut, _change, _change, _remove, _pipe, _folder, _link, _more, _forbid, _exchange, _entry, _stray),
)


@contextmanager
def _cache(root: Path) -> Iterator[None]:
    before = os.environ.get("AOTC_CACHE_DIR", "")
    os.environ["AOTC_CACHE_DIR"] = str(root)
    try:
        yield
    finally:
        os.environ["AOTC_CACHE_DIR"] = before
        shutil.rmtree(root, ignore_errors=True)


def _compile(specimen: Specimen, number: int) -> None:
    """By memory or by files, both of which are kept."""
    data = source(specimen)
    try:
        if number % 2:
            compared(specimen, aotc.compile(data, dims=specimen.dims())(specimen.feed()))
        else:
            aotc.compile_to(data, f"out{number}", name="m", dims=specimen.dims())
    except aotc.AotcError:
        return
    finally:
        shutil.rmtree(f"out{number}", ignore_errors=True)


def damaged_cache(seed: int) -> str:
    """Compile two models, break their entries, compile them again: alone, or from several threads at once."""
    r = random.Random(seed)
    root = Path(FOLDER).resolve()
    specimens = [draw(seed), draw(seed + 1)]
    together = seed % 3 == 0
    with _cache(root):
        for number, specimen in enumerate(specimens * 2):
            _compile(specimen, number)
        for _ in range(r.choice((1, 2, 4))):
            path = _file(r, root)
            if path is not None:
                r.choice(DAMAGES)(r, path)
        if together:
            _at_once(specimens)
        else:
            for number in range(4):
                _compile(specimens[number // 2], number)
    return "together" if together else "alone"


def _at_once(specimens: list[Specimen]) -> None:
    """Several threads compile the same models into the same folder. Raises what the first of them raised."""
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            _compile(specimens[number % 2], 2 * number + 1)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(_TOGETHER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3600)  # the case ends sooner
        if thread.is_alive():
            raise Wrong("a compilation hangs")
    if errors:
        raise errors[0]
