"""The C runtime on the host: warnings, AddressSanitizer and UndefinedBehaviorSanitizer (B6-B14, B18, B20-B22, E17)."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RUNTIME = Path(str(files("aotc.runtime")))
SOURCES = sorted(RUNTIME.glob("*.c"))
WARNINGS = (
    *("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Wvla", "-Wstrict-prototypes"),
    *("-Wmissing-prototypes", "-Werror"),
)
SANITIZE = ("-g1", "-Og", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


def build(folder: Path, *sources: Path, flags: tuple[str, ...] = (), compiler: str = "gcc") -> Path:
    """The program made of `sources`, with sanitizers."""
    program = folder / "program"
    command = [compiler, *SANITIZE, *flags, f"-I{RUNTIME}", f"-I{HERE}", *map(str, sources), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def test_b9_b21_the_sources_are_in_the_package_and_short() -> None:
    names = {path.name for path in SOURCES}
    shim = {"aotc_runtime.c", "aotc_memory.c", "aotc_registry.c", "aotc_metadata.c"}
    assert names == {*shim, "aotc_threads.c", "aotc_vm.c", "aotc_vm_check.c", "aotc_vm_builtins.c"}
    files = [path for path in RUNTIME.glob("aotc_*") if not path.stem.startswith(("aotc_threads", "aotc_vm"))]
    lines = sum(len(path.read_text().splitlines()) for path in files)
    assert lines < 1000, "a shim"
    for path in RUNTIME.glob("aotc_*"):
        text = path.read_text()
        assert "malloc" not in text and "json" not in text.lower() and "#include <string.h>" not in text


def test_c5_files_have_a_prefix() -> None:
    """So that each can lie in an application's root; what they include and guard themselves with has it, too."""
    files = [path for path in RUNTIME.iterdir() if path.suffix not in ("", ".py", ".pyc")]
    assert len(files) > 8 and not [path.name for path in files if not path.name.startswith("aotc_")]
    for path in files:
        text = path.read_text()
        assert all(name.startswith("aotc_") for name in re.findall(r'^#include "(.*)"', text, re.MULTILINE)), path.name
        if path.suffix in (".h", ".hpp"):
            guard = f"{path.stem.upper()}_{path.suffix[1:].upper()}_"
            assert re.search(rf"^#ifndef {guard}\n#define {guard}\n", text, re.MULTILINE), path.name


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flag", ["-O2", "-DAOTC_MEMORY_NUM_PAGES=0", "-DAOTC_MEMORY_LIFO"])
def test_d31_no_warnings(tmp_path: Path, compiler: str, flag: str) -> None:
    """D31: of the files beside generated code; tests/models/test_generated_c.py has those of the code."""
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    for source in SOURCES:
        command = [compiler, *WARNINGS, "-Wcast-qual", flag, "-c", str(source), "-o", str(tmp_path / "x.o")]
        subprocess.run(command, check=True)


@pytest.mark.parametrize("pages", ["4", "(1<<3)", "0"])
@pytest.mark.parametrize("size", ["6", "12"])
@pytest.mark.parametrize("manager", ["-DAOTC_MEMORY_LIFO", "-UAOTC_MEMORY_LIFO"])
def test_b10_b11_b12_b13_memory(tmp_path: Path, pages: str, size: str, manager: str) -> None:
    flags = (f"-DAOTC_MEMORY_NUM_PAGES={pages}", f"-DAOTC_MEMORY_PAGE_SIZE_LOG2={size}", manager)
    subprocess.run([build(tmp_path, HERE / "memory.c", RUNTIME / "aotc_memory.c", flags=flags)], check=True)


@pytest.mark.parametrize("pages, log2", [(None, None), (3, None), (None, 10)])
def test_b10_the_static_memory_where_nobody_says_its_size(tmp_path: Path, pages: int | None, log2: int | None) -> None:
    """B10: 2^10 pages of 2^12 bytes, each number by itself; all can be had at once, and not a byte more."""
    source = tmp_path / "whole.c"
    source.write_text(
        """
        #include "aotc_runtime.h"
        #include "check.h"
        int main(void) {
          void *p = AOTCBackendAllocWorkspace(kDLCPU, 0, BYTES, kDLUInt, 8);
          CHECK(p != NULL && AOTCBackendFreeWorkspace(kDLCPU, 0, p) == 0);
          CHECK(AOTCBackendAllocWorkspace(kDLCPU, 0, BYTES + 1, kDLUInt, 8) == NULL);
          return 0;
        }
        """
    )
    flags = [f"-DBYTES={(pages or 1 << 10) << (log2 or 12)}"]
    flags += [f"-DAOTC_MEMORY_NUM_PAGES={pages}"] if pages else []
    flags += [f"-DAOTC_MEMORY_PAGE_SIZE_LOG2={log2}"] if log2 else []
    subprocess.run([build(tmp_path, source, RUNTIME / "aotc_memory.c", flags=tuple(flags))], check=True)


def test_b14_own_hooks_take_the_place_of_the_default_ones(tmp_path: Path) -> None:
    """B14: of the workspace functions and of a model's run, which hand on what they are given; there is no static
    memory then."""
    source = tmp_path / "own.c"
    source.write_text(
        """
        #include "aotc_runtime.h"
        #include "check.h"
        static int64_t mine[8];
        static size_t asked;
        static DLDevice device;
        static int given, taken;
        aotc_error_t AOTCPlatformMemoryAllocate(size_t n, DLDevice d, void **out) {
          asked = n;
          device = d;
          if (n > sizeof mine) return kAOTCErrorOutOfMemory;
          ++given;
          *out = mine;
          return kAOTCErrorNone;
        }
        aotc_error_t AOTCPlatformMemoryFree(void *p, DLDevice d) {
          device = d;
          if (p != mine) return kAOTCErrorNotAllocated;
          ++taken;
          return kAOTCErrorNone;
        }
        static int32_t Run(void *args, void *codes, int32_t n, void *value, void *code, void *handle) {
          (void)codes, (void)value, (void)code, (void)handle;
          CHECK(n == 1 && ((AOTCValue *)args)[0].v_handle == mine && given == taken + 1);
          return 0;
        }
        static const AOTCFunctionInfo info = {"run", NULL, 0, 0, 40, 0, 0};
        static const AOTCMetadata metadata = {AOTC_METADATA_VERSION, &info, "m", 1};
        static const aotc_model_t model = {Run, 0, 0, kAOTCCallerWorkspace, &metadata, NULL};
        int main(void) {
          void *p = AOTCBackendAllocWorkspace(7, 5, 64, kDLUInt, 8);
          CHECK(p == mine && asked == 64 && device.device_type == 7 && device.device_id == 5);
          CHECK(AOTCBackendFreeWorkspace(8, 6, p) == 0 && device.device_type == 8 && device.device_id == 6);
          CHECK(AOTCBackendFreeWorkspace(kDLCPU, 0, mine + 1) == kAOTCErrorNotAllocated);
          CHECK(AOTCBackendAllocWorkspace(kDLCPU, 0, 65, kDLUInt, 8) == NULL);
          CHECK(given == 1 && taken == 1);
          CHECK(AOTCRuntime_Run(&model, NULL, 0, NULL, 0) == 0 && asked == 40 && given == 2 && taken == 2);
          CHECK(device.device_type == kDLCPU && device.device_id == 0);
          return 0;
        }
        """
    )
    flags = ("-DAOTC_CUSTOM_PLATFORM_MEMORY",)
    used = (source, RUNTIME / "aotc_memory.c", RUNTIME / "aotc_runtime.c")
    subprocess.run([build(tmp_path, *used, flags=flags)], check=True)
    command = ["gcc", *flags, "-c", str(used[1]), "-o", "memory.o"]
    subprocess.run(command, check=True, cwd=tmp_path)
    sizes = subprocess.run(["size", "memory.o"], check=True, cwd=tmp_path, capture_output=True, text=True).stdout
    assert sizes.split("\n")[1].split()[1:3] == ["0", "0"], "data and bss"


def test_b3_b6_b7_b20_run_and_metadata(tmp_path: Path) -> None:
    subprocess.run([build(tmp_path, HERE / "run.c", *SOURCES)], check=True)


def test_d13_registry(tmp_path: Path) -> None:
    subprocess.run([build(tmp_path, HERE / "registry.c", RUNTIME / "aotc_registry.c")], check=True)


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Those of all sources, with sanitizers."""
    folder = tmp_path_factory.mktemp("objects")
    subprocess.run(["gcc", *SANITIZE, "-c", *map(str, SOURCES)], check=True, cwd=folder)
    return sorted(folder.glob("*.o"))


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("standard", ["c++11", "c++17"])
def test_b8_cplusplus(tmp_path: Path, standard: str, objects: list[Path]) -> None:
    flags = (f"-std={standard}", "-Wall", "-Wextra", "-pedantic", "-Werror")
    subprocess.run([build(tmp_path, HERE / "wrapper.cpp", *objects, flags=flags, compiler="g++")], check=True)


def test_dlpack_of_the_application_is_used_where_it_is_included_first(tmp_path: Path) -> None:
    (tmp_path / "dlpack").mkdir()
    (tmp_path / "dlpack" / "dlpack.h").write_text(
        """
        #ifndef DLPACK_DLPACK_H_
        #define DLPACK_DLPACK_H_
        #include <stdint.h>
        typedef enum { kDLCPU = 1 } DLDeviceType;
        typedef struct { DLDeviceType device_type; int32_t device_id; } DLDevice;
        typedef enum { kDLInt, kDLUInt, kDLFloat, kDLBfloat = 4, kDLBool = 6 } DLDataTypeCode;
        typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;
        typedef struct { void *data; DLDevice device; int32_t ndim; DLDataType dtype; int64_t *shape, *strides;
                         uint64_t byte_offset; } DLTensor;
        #endif
        """
    )
    for source in ("aotc_runtime.c", "aotc_metadata.c"):
        command = ["gcc", "-std=c99", "-DAOTC_USE_DLPACK", f"-I{tmp_path}", "-c", str(RUNTIME / source)]
        subprocess.run([*command, "-o", str(tmp_path / "x.o")], check=True)


def test_b27_the_micro_header_stands_alone(tmp_path: Path) -> None:
    """D20: AOTCExecute."""
    source = tmp_path / "micro.c"
    source.write_text(
        """
        #include "aotc_micro.h"
        #include "check.h"
        static int32_t f(void **in, void **out, void *h) { *(int *)out[0] = *(int *)in[0] + 1; return h != NULL; }
        int main(void) {
          int x = 1, y = 0;
          void *in[] = {&x}, *out[] = {&y};
          CHECK(AOTCExecute(f, in, out, NULL) == 0 && y == 2);
          CHECK(AOTCExecute(f, in, out, &x) == 1 && AOTCExecute(NULL, in, out, NULL) == -2);
          return 0;
        }
        """
    )
    (tmp_path / "alone").mkdir()
    shutil.copy(RUNTIME / "aotc_micro.h", tmp_path / "alone")
    program = tmp_path / "program"
    command = [
        "gcc",
        "-std=c99",
        *WARNINGS[:-2],
        f"-I{tmp_path / 'alone'}",
        f"-I{HERE}",
        str(source),
        "-o",
        str(program),
    ]
    subprocess.run(command, check=True)
    subprocess.run([program], check=True)
