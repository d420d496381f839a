#!/bin/sh
# llvmlite 0.50.0: close() of a module pass manager that a pass builder made gives nothing back.
#
# Guess before: close() frees the passes, as it does for modules, builders and target machines.
# Seen: 48 KB more resident memory for each manager of level 2, although it, its builder and its module were closed and
# collected; 1 to 2 KB if NewPassManager._dispose(manager) is called by name. ModulePassManager has two base classes
# with a _dispose, and the one that does nothing comes first in the order of methods.
# To know: a process that compiles for many shapes grows by this for each one.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q llvmlite==0.50.0
"$folder/venv/bin/python" - <<'END'
import gc

import llvmlite
import llvmlite.binding as llvm
from llvmlite.binding.newpassmanagers import NewPassManager

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
machine = llvm.Target.from_default_triple().create_target_machine()


def optimize(by_name):
    module = llvm.parse_assembly("define i32 @f(i32 %x) {\n  ret i32 %x\n}\n")
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    manager = builder.getModulePassManager()
    manager.run(module, builder)
    if by_name:
        NewPassManager._dispose(manager)
        manager.detach()
    else:
        manager.close()
    builder.close()
    module.close()


def growth(by_name, count=400):
    def resident():
        gc.collect()
        with open("/proc/self/statm") as numbers:
            return int(numbers.read().split()[1]) * 4

    for _ in range(50):
        optimize(by_name)
    before = resident()
    for _ in range(count):
        optimize(by_name)
    return (resident() - before) / count


by_name, closed = growth(True), growth(False)
print(f"llvmlite {llvmlite.__version__}: {closed:.0f} KB a manager that is closed, {by_name:.0f} KB by name")
assert closed > 25 and by_name < 8
END
