"""The installed package is the tree."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())
MAPPED = {"aotc/dialects": "dialects", "aotc/passes": "passes"}


def packages_in_the_tree() -> set[str]:
    found: set[str] = set()
    for top in ("aotc", "dialects", "passes"):
        for init in (ROOT / top).rglob("__init__.py"):
            if any(part.is_symlink() for part in (init, *init.parents) if ROOT in part.parents):
                continue
            relative = init.parent.relative_to(ROOT)
            name = relative if top == "aotc" else Path("aotc") / relative
            found.add(".".join(name.parts))
    return found


def test_every_package_is_listed() -> None:
    assert set(CONFIG["tool"]["setuptools"]["packages"]) == packages_in_the_tree()


@pytest.mark.parametrize("link, target", MAPPED.items())
def test_links_point_to_the_top_level(link: str, target: str) -> None:
    assert (ROOT / link).is_symlink() and (ROOT / link).resolve() == (ROOT / target).resolve()


def test_wheel_holds_one_top_level_package_and_the_runtime(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    names = set(zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"aotc"}
    expected = {
        f"{package.replace('.', '/')}/{path.name}"
        for package in packages_in_the_tree()
        for path in (ROOT / package.replace(".", "/")).iterdir()
        if path.suffix in (".py", ".c", ".h", ".typed")
    }
    assert expected <= names
    assert not [name for name in names if name.split("/")[-1].startswith("test_") or "tests" in name.split("/")]
