"""Builds bare-metal programs, runs them on emulated microcontrollers and measures them.

Nothing here knows about models except `run_model`, which feeds recorded inputs to one and returns what it answered.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent / "board"
_SCRATCH = TemporaryDirectory(prefix="aotc-rig.")
KIB, MIB = 1 << 10, 1 << 20
WARNINGS = (
    *("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Wvla", "-Wstrict-prototypes"),
    *("-Wmissing-prototypes", "-Werror"),
)
"""Warnings that generated code is clean under (docs/abi.md)."""


@dataclass(frozen=True)
class Board:
    """A machine that QEMU emulates; addresses and sizes in bytes."""

    name: str
    target: str
    """The name of its processor for `aotc --target`."""
    tools: str
    """The beginning of the names of its compiler and linker."""
    flags: tuple[str, ...]
    emulator: tuple[str, ...]
    flash: tuple[int, int]
    ram: tuple[int, int]
    start: str
    libraries: tuple[str, ...]
    """Flags that choose the C library when linking."""


def _arm(
    name: str, target: str, machine: str, *flags: str, at: tuple[int, int] = (0, 0x20000000), size: int = 4 * MIB
) -> Board:
    emulator = ("qemu-system-arm", "-M", machine)
    flash, ram = (at[0], size), (at[1], size)
    if machine == "microbit":
        flash, ram = (at[0], 256 * KIB), (at[1], 16 * KIB)
    return Board(
        *(name, target, "arm-none-eabi-", ("-mthumb", *flags), emulator, flash, ram, "start_arm.c"),
        ("--specs=nano.specs",),
    )


def _riscv(name: str, target: str, *flags: str) -> Board:
    emulator = ("qemu-system-riscv32", "-M", "virt", "-bios", "none")
    flags = (*flags, "-mcmodel=medany", "--specs=picolibc.specs")
    memory = (0x80000000, 8 * MIB), (0x80800000, 8 * MIB)
    return Board(name, target, "riscv64-unknown-elf-", flags, emulator, *memory, "start_riscv.c", ())


_M0 = ("-mcpu=cortex-m0", "-mfloat-abi=soft")

BOARDS = {
    board.name: board
    for board in (
        _arm("microbit", "cortex-m0", "microbit", *_M0),
        # The same code with room for larger models; a Cortex-M3 runs every instruction of a Cortex-M0.
        _arm("m0", "cortex-m0", "mps2-an385", *_M0),
        _arm("m3", "cortex-m3", "mps2-an385", "-mcpu=cortex-m3", "-mfloat-abi=soft"),
        _arm("m4f", "cortex-m4f", "mps2-an386", "-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"),
        _arm("m7", "cortex-m7", "mps2-an500", "-mcpu=cortex-m7", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"),
        _arm(
            *("m33", "cortex-m33", "mps2-an505", "-mcpu=cortex-m33", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"),
            at=(0x10000000, 0x38000000),
        ),
        _arm(
            *("m55", "cortex-m55", "mps3-an547", "-mcpu=cortex-m55", "-mfloat-abi=hard"),
            at=(0x10000000, 0x30000000),
            size=512 * KIB,
        ),
        _riscv("rv32", "rv32imac", "-march=rv32imac", "-mabi=ilp32"),
        _riscv("rv32f", "rv32imafc", "-march=rv32imafc", "-mabi=ilp32f"),
    )
}


BIG_ENDIAN = ("powerpc-linux-gnu-gcc", "qemu-ppc")
"""A compiler for a machine with the highest byte first, and the emulator of its programs."""


def missing_tools() -> list[str]:
    """The programs that the rig needs and this machine has not."""
    needed = {f"{board.tools}gcc" for board in BOARDS.values()} | {board.emulator[0] for board in BOARDS.values()}
    return sorted(tool for tool in needed | {"gcc", "cppcheck", *BIG_ENDIAN} if shutil.which(tool) is None)


@dataclass
class Sizes:
    """Bytes of one owner's part of a program after unused sections are gone."""

    code: int = 0
    constants: int = 0
    data: int = 0
    """Variables with a first value: they take flash and RAM."""
    zero: int = 0

    @property
    def text(self) -> int:
        """The size of text, as `size` counts it."""
        return self.code + self.constants


@dataclass(frozen=True)
class Program:
    """A linked program and its sizes by owner: model, runtime, library, program."""

    board: Board
    folder: Path
    sizes: dict[str, Sizes]

    @property
    def elf(self) -> Path:
        """The executable."""
        return self.folder / "program.elf"


@dataclass(frozen=True)
class Run:
    """The report of a program; `instructions` of everything it measured, None where it measured nothing."""

    reports: dict[str, int] = field(default_factory=dict[str, int])
    instructions: int | None = None


class BoardError(Exception):
    """A program that could not be built, or that failed on the board; the message is what the tool or board said."""


def _tool(command: Sequence[str | Path], folder: Path, timeout: int | None = None) -> str:
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise BoardError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(
    board: Board,
    folder: Path,
    *,
    model: Iterable[Path] = (),
    program: Iterable[Path] = (),
    runtime: Iterable[Path] = (),
    flags: Sequence[str] = ("-Os",),
    program_flags: Sequence[str] = (),
    stack: int = 2 * KIB,
) -> Program:
    """Compile C files (objects are taken as they are) and link them for `board` in `folder`.

    `flags` go to the model and the runtime, under `WARNINGS`; `program_flags` to the rest. Each owner's files keep
    apart: the linker script counts them apart. `stack` bytes of RAM are kept for the stack. Raises BoardError, also
    where the program does not fit.
    """
    gcc = (f"{board.tools}gcc", *board.flags, "-ffunction-sections", "-fdata-sections")
    program = (*program, *(HERE / name for name in ("board.c", "hooks.c", board.start)))
    owners = {"model": tuple(model), "runtime": tuple(runtime), "program": program}
    includes = [f"-I{path}" for path in sorted({file.parent for files in owners.values() for file in files})]
    objects: list[str] = []
    for owner, files in owners.items():
        (folder / owner).mkdir(parents=True, exist_ok=True)
        for file in files:
            made = f"{owner}/{file.stem}.o"
            if file.suffix == ".o":
                shutil.copyfile(file, folder / made)
            else:
                chosen = ("-std=gnu99", "-Os", *program_flags) if owner == "program" else (*WARNINGS, *flags)
                _tool((*gcc, *chosen, *includes, "-c", file, "-o", made), folder)
            objects.append(made)
    layout = {"flash": board.flash[0], "flash_size": board.flash[1], "ram": board.ram[0], "ram_size": board.ram[1]}
    script = Template((HERE / "link.ld.in").read_text()).substitute(layout, stack=stack)
    (folder / "link.ld").write_text(script)
    link = ("-nostartfiles", "-Wl,--gc-sections", "-Wl,--no-warn-rwx-segments", "-T", "link.ld")
    libraries = ("-Wl,--start-group", "-lm", "-lc", "-lgcc", "-Wl,--end-group")
    _tool((*gcc, *board.libraries, *link, *objects, *libraries, "-o", "program.elf"), folder)
    return Program(board, folder, _sizes(board, folder))


def compile_objects(board: Board, folder: Path, files: Iterable[Path], flags: Sequence[str]) -> tuple[Path, ...]:
    """Objects of files of C that are not ours, for `build` to link. Raises BoardError."""
    gcc = (f"{board.tools}gcc", *board.flags, "-ffunction-sections", "-fdata-sections", *flags)
    made: list[Path] = []
    for file in files:
        made.append(folder / f"{file.stem}.o")
        _tool((*gcc, "-c", file, "-o", made[-1]), folder)
    return tuple(made)


def _sizes(board: Board, folder: Path) -> dict[str, Sizes]:
    sizes: defaultdict[str, Sizes] = defaultdict(Sizes)
    for line in _tool((f"{board.tools}size", "-A", "-d", "program.elf"), folder).splitlines():
        name, _, rest = line.partition(" ")
        owner, _, kind = name.removeprefix(".").partition(".")
        if kind in ("code", "constants", "data", "zero"):
            setattr(sizes[owner], kind, int(rest.split()[0]))
    return dict(sizes)


@cache
def _plugin() -> Path:
    """The counting plugin, built once; an error of the compiler is an error of the rig."""
    library = Path(_SCRATCH.name) / "count.so"
    _tool(("gcc", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-o", library, HERE / "count.c"), HERE)
    return library


def run(program: Program, timeout: int = 300) -> Run:
    """Run a program in its folder to its end; raise BoardError with what it printed unless it ends well."""
    symbols = {
        name: int(address, 16) & ~1
        for address, _, name in (
            line.split() for line in _tool((f"{program.board.tools}nm", program.elf), program.folder).splitlines()
        )
    }
    counted = program.folder / "count.txt"
    counted.unlink(missing_ok=True)
    console = ("-nographic", "-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on,target=native")
    command = [*program.board.emulator, *console, "-kernel", str(program.elf)]
    if "board_count_begin" in symbols:
        marks = f"begin={symbols['board_count_begin']:#x},end={symbols['board_count_end']:#x}"
        command += ["-plugin", f"{_plugin()},{marks},out={counted}"]
    done = subprocess.run(command, cwd=program.folder, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise BoardError(f"{program.board.name}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    reports: dict[str, int] = {}
    for line in (done.stdout + done.stderr).splitlines():  # semihosting prints to either
        name, equals, value = line.partition("=")
        if equals and value.isdigit():
            reports[name] = int(value)
    return Run(reports, int(counted.read_text()) if counted.exists() else None)
