"""Rooms and what they may import, as docs/architecture.md draws them; no circles; sizes that can be read.

Every import counts: at the top of a module, in a function, and for annotations alone (TYPE_CHECKING).
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

# --- rooms -----------------------------------------------------------------------------------------------------------

LEAVES = ("errors", "mathematics", "model", "machines")
BELOW = ("dialects", *LEAVES)
KERNELS = ("passes/kernel", *BELOW)
FLOW = ("pipeline", *BELOW)

MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "errors": (),
    "mathematics": (),
    "model": ("errors",),
    "machines": ("errors",),
    "dialects": ("errors", "mathematics", "model", "machines"),
    "vm": ("errors", "model"),
    "passes/kernel": BELOW,
    "passes/graph": BELOW,
    "passes/integers": KERNELS,
    "passes/schedule": KERNELS,
    "passes/memory": BELOW,
    "passes/loops": KERNELS,
    "passes/fuse": KERNELS,
    "passes/interface": BELOW,
    "passes/lower": BELOW,
    "pipeline": BELOW,
    "frontend": BELOW,
    "emit": ("pipeline", "vm", *BELOW),
    "executor": ("emit", "vm", "pipeline", *BELOW),
    "compiler": ("executor", "emit", "frontend", "vm", *FLOW),
    "aotc": ("compiler", "executor", "model", "errors"),
    "backend": ("compiler", "executor", "model", "errors"),
    "measuring": ("compiler", "executor", "passes/kernel", *FLOW),
    "cli": ("measuring", "aotc", "compiler", "executor", "frontend", "passes/memory", *FLOW),
}
"""Room -> the rooms it may import, from the bottom to the top. Of passes everybody else knows names in the universe."""

ONLY = {
    ("measuring", "passes/kernel"): {"aotc.passes.kernel.model_weights", "aotc.passes.kernel.strategy"},
    ("cli", "passes/memory"): {"aotc.passes.memory.planner.placement"},
}
"""Two rooms -> the modules that the first may import of the second, where these are few: the search for schedules asks
strategies what there is to choose from, as passes do; `aotc plan` places buffers from elsewhere as passes do."""

FOREIGN: dict[str, set[str]] = {
    "dialects": {"xdsl", "numpy", "ml_dtypes"},
    "passes/memory/planner": set(),
    "aotc/errors.py": set(),
    "aotc/mathematics": {"numpy"},
    "aotc/vm": {"numpy"},
}
"""Folder or file -> third-party packages it may import, where that is limited."""

WIDE: dict[str, str] = {}
"""Folder of more than MOST_FILES files -> why no part of it is a family: the number is a signal, not a wall."""

MOST_LINES = 500
MOST_COLUMNS = 120
MOST_FILES = 20
MOST_ENTRIES = 17
CODE = ("aotc", "dialects", "passes")
PRAGMA = re.compile(r"  # (?:pyright|type|noqa)\b.*$")
"""At the end of a line, not counted, as ruff does."""
ARROW = re.compile(r"^ +[|:]$", re.MULTILINE)
"""Between two levels of the figure."""
URL = re.compile(r"https?://\S+")


@cache
def _modules() -> dict[str, Path]:
    """Every module of the project by name; `aotc/dialects` and `aotc/passes` are links."""
    found: dict[str, Path] = {}
    for top in CODE:
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if parts[:2] in (("aotc", "dialects"), ("aotc", "passes")):
                continue
            name = ".".join(parts if top == "aotc" else ("aotc", *parts))
            found[name.removesuffix(".__init__")] = path
    return found


@cache
def _imported(path: Path) -> frozenset[str]:
    """The names a file imports, wherever in it: of modules, and of what it takes out of them."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module is not None, f"{path}: import absolutely"
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return frozenset(found)


@cache
def _imports() -> dict[str, set[str]]:
    """Every module and the modules of the project that it imports."""
    modules = _modules()

    def module_of(name: str) -> str | None:
        while name and name not in modules:
            name = name.rpartition(".")[0]
        return name or None

    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        targets = {module_of(each) for each in _imported(path)}
        found[name] = {target for target in targets if target is not None} - {name}
    return found


def _room(module: str) -> str:
    _, *parts = module.split(".")
    if not parts:
        return "aotc"
    return "/".join(parts[:2]) if parts[0] == "passes" and len(parts) > 1 else parts[0]


@cache
def _arrows() -> dict[tuple[str, str], list[str]]:
    """Room and room it imports -> the imports."""
    found: dict[tuple[str, str], list[str]] = {}
    for module, targets in _imports().items():
        for target in sorted(targets):
            if (here := _room(module)) != (there := _room(target)):
                found.setdefault((here, there), []).append(f"{module} imports {target}")
    return found


def _circles(edges: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """The largest sets whose members all lead to each other (Tarjan's strongly connected components), of two or more.

    A package and what its `__init__` takes out of its own modules is none.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in edges.get(node, ()):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            component = set(stack[stack.index(node) :])
            del stack[stack.index(node) :]
            if len(component) > 1:
                found.append(component)

    for node in edges:
        if node not in index:
            visit(node)
    return found


def test_circles_are_found() -> None:
    """The search itself: two circles, one through another's member, and a path that is none."""
    edges = {"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": ["e"], "e": ["d"], "f": ["a"]}
    assert sorted(map(sorted, _circles(edges))) == [["a", "b", "c"], ["d", "e"]]


def test_imports_of_every_kind_count(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "import a.b\nfrom c import d\n"
        "if TYPE_CHECKING:\n    from e import f\n"
        "def later():\n    from g import h\n    import i\n"
    )
    assert _imported(path) == {"a.b", "c.d", "e.f", "g.h", "i"}


# --- what imports what -----------------------------------------------------------------------------------------------


def test_every_module_stands_in_a_room() -> None:
    rooms = {_room(module) for module in _modules()}
    assert rooms - {"passes", "runtime"} == set(MAY_IMPORT)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_rooms_import_from_below(room: str) -> None:
    """Among them: dialects know no builders of kernels, emitters no strategies, nobody the command line."""
    wrong = [
        line
        for (here, there), imports in _arrows().items()
        if here == room and there not in MAY_IMPORT[room]
        for line in imports
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("rooms", ONLY, ids="-".join)
def test_some_rooms_import_few_modules_of_another(rooms: tuple[str, str]) -> None:
    imported = {line.split()[-1] for line in _arrows()[rooms]}
    assert imported <= ONLY[rooms]


def test_rooms_form_no_circle() -> None:
    edges: dict[str, set[str]] = {room: set() for room in MAY_IMPORT}
    for here, there in _arrows():
        edges[here].add(there)
    assert not _circles(edges)


def test_the_table_of_rooms_goes_from_the_bottom_to_the_top() -> None:
    order = list(MAY_IMPORT)
    wrong = [(room, below) for room in order for below in MAY_IMPORT[room] if order.index(below) >= order.index(room)]
    assert not wrong


def test_modules_form_no_circle() -> None:
    circles = _circles(_imports())
    assert not circles, "\n".join(" ".join(sorted(circle)) for circle in circles)


def _inside(package: str) -> dict[str, set[str]]:
    """The modules and folders of a package, and which of these they import; a folder stands for all that is in it."""
    edges: dict[str, set[str]] = {}
    start = package + "."
    for module, targets in _imports().items():
        if module.startswith(start):
            here = module.removeprefix(start).split(".")[0]
            there = {target.removeprefix(start).split(".")[0] for target in targets if target.startswith(start)}
            edges.setdefault(here, set()).update(there - {here})
    return edges


def test_folders_within_a_room_form_no_circle() -> None:
    packages = {module.rpartition(".")[0] for module in _modules()} - {"", "aotc"}
    found = {package: circles for package in packages if (circles := _circles(_inside(package)))}
    assert not found


def test_no_folder_is_for_one_module() -> None:
    folders = {path.parent for path in _modules().values()} - {ROOT / top for top in CODE}
    parents = {folder.parent for folder in folders}
    files = {folder: [path for path in folder.iterdir() if path.suffix in TEXTS] for folder in folders - parents}
    assert not [str(folder) for folder, found in files.items() if len(found) < 3], "one module, and __init__"


@pytest.mark.parametrize("place", FOREIGN)
def test_few_packages_from_outside(place: str) -> None:
    path = ROOT / place
    files = path.rglob("*.py") if path.is_dir() else [path]
    names = {name.split(".")[0] for each in files for name in _imported(each)}
    assert names - sys.stdlib_module_names - {"aotc"} <= FOREIGN[place]


def test_nobody_imports_the_tools() -> None:
    assert not [path for path in _modules().values() for name in _imported(path) if name.split(".")[0] == "tools"]


def test_the_contract_is_spelt_in_one_place() -> None:
    """`aot.io` and the like are attributes that `dialects/aot/contract` reads and writes for everybody."""
    home = ROOT / "dialects/aot"
    spelt = [
        f"{path.relative_to(ROOT)}: {found}"
        for path in _modules().values()
        if not path.is_relative_to(home)
        for found in re.findall(r"""["']aot\.[a-z_]+["']""", path.read_text(encoding="utf-8"))
    ]
    assert not spelt, "\n".join(spelt)


# --- the figure ------------------------------------------------------------------------------------------------------


def _drawn() -> list[list[str]]:
    """The rooms of the figure on docs/architecture.md, level by level from the top, as they are called here."""
    figure = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("```")[1]
    levels = [
        re.findall(r"^ +((?:aotc|passes|dialects)\b[\w/.]*)", level, re.MULTILINE) for level in ARROW.split(figure)
    ]
    return [[name.removeprefix("aotc/").removesuffix(".py") for name in level] for level in levels]


def test_the_figure_has_every_room_above_those_it_imports() -> None:
    level = {room: number for number, rooms in enumerate(_drawn()) for room in rooms}
    assert sorted(level) == sorted(MAY_IMPORT)
    wrong = [(room, each) for room in level for each in MAY_IMPORT[room] if level[each] <= level[room]]
    assert not wrong, "drawn above the room that imports it, or beside"


# --- sizes -----------------------------------------------------------------------------------------------------------

TEXTS = {".py", ".c", ".cpp", ".h", ".hpp", ".ll", ".md", ".toml", ".cmake", ".sh"}
"""Files that people read line by line; lines of IR in tests are as long as their types."""
FOLDERS = (*CODE, "tests", "benchmarks", "examples", "docs")
TESTS = {".py", ".c", ".cpp", ".h", ".sh", ".mlir"}
"""Files of code of the tests."""


@cache
def _files() -> list[Path]:
    """The files in the tree, without what is built beside them."""
    beside = {"__pycache__", "Output", "build"}
    found = [path for path in ROOT.iterdir() if path.is_file()]
    for top in FOLDERS:
        for folder, folders, names in os.walk(ROOT / top):
            folders[:] = [name for name in folders if name not in beside and not name.startswith(".")]
            found += [Path(folder, name) for name in names]
    return found


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_files_are_short() -> None:
    long = {path: len(_lines(path)) for path in _files() if path.suffix == ".py"}
    assert not {str(path.relative_to(ROOT)): count for path, count in long.items() if count > MOST_LINES}


def test_folders_are_small() -> None:
    counts: dict[str, int] = {}
    for path in _files():
        suffixes = TESTS if path.is_relative_to(ROOT / "tests") else {".py"}
        if path.suffix in suffixes and path.name != "__init__.py":
            folder = str(path.parent.relative_to(ROOT))
            counts[folder] = counts.get(folder, 0) + 1
    assert not {folder: count for folder, count in counts.items() if count > MOST_FILES and folder not in WIDE}
    assert all(counts.get(folder, 0) > MOST_FILES for folder in WIDE)
    no_room = {"__pycache__", "py.typed"}  # the latter is an empty file for type checkers
    entries = [path.name for path in (ROOT / "aotc").iterdir() if path.name not in no_room]
    assert len(entries) <= MOST_ENTRIES, sorted(entries)


def test_test_files_have_names_of_their_own() -> None:
    """In folders that are no packages pytest imports a file by its bare name; two alike end the run."""
    paths: dict[str, list[str]] = {}
    for path in _files():
        if path.name.startswith("test_") and path.suffix == ".py":
            paths.setdefault(path.name, []).append(str(path.relative_to(ROOT)))
    assert paths and not [alike for alike in paths.values() if len(alike) > 1]


def _too_long(path: Path, line: str) -> bool:
    if path.suffix == ".md" and line.startswith("|"):  # the row of a table
        return False
    return len(URL.sub("", PRAGMA.sub("", line))) > MOST_COLUMNS


def test_lines_are_short() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in _files()
        if path.suffix in TEXTS or path.name == "Makefile"
        for number, line in enumerate(_lines(path), 1)
        if _too_long(path, line)
    ]
    assert not long, "\n".join(long)


def test_long_lines_are_seen() -> None:
    words = "x" * (MOST_COLUMNS + 1)
    assert _too_long(Path("a.c"), words) and _too_long(Path("a.md"), words)
    assert not _too_long(Path("a.md"), f"| {words} |") and not _too_long(Path("a.c"), f"// https://{words}")
    assert not _too_long(Path("a.py"), f"{words[2:]}  # noqa: F401")
