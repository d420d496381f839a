# `make demo` and `make test` make their own virtual environment in .venv. `make test-embedded` needs root and apt once.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= 2

.PHONY: demo test lint types lit unit conformance fuzz mutants fingerprints test-math test-embedded \
    embedded-figures bench clean

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py

# Types are checked by one process, beside what uses JOBS of them.
test: lint
	$(MAKE) -j 2 --output-sync=target types lit
	$(MAKE) unit

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/basedpyright --pythonpath $(BIN)/python

lit: $(VENV)/.dev
	$(BIN)/lit -j $(JOBS) -q tests/lit examples/extension/tests

unit: $(VENV)/.dev
	$(BIN)/pytest -q -n $(JOBS) --dist loadfile --ignore tests/embedded

# Random models and damaged files for SECONDS=600; what fails is in build/fuzz, small. FUZZ: options of the fuzzer.
SECONDS ?= 600
fuzz: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS) $(FUZZ)

# Breaks the sources in one place after the other and sees whether the nearest tests notice: COUNT=200 mutants that
# SEED chooses, of those with K in their names, or ALL=1 of them. BOTH_WAYS=1: a guard is not negated, but always holds,
# and never does. The first run measures which tests are near.
mutants: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m mutants --jobs $(JOBS) $(if $(ALL),--all) $(if $(BOTH_WAYS),--both-ways) \
	    $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED)) $(if $(K),-k '$(K)')

# All cases of the onnx package, by LLVM and by C, and those with control flow by both executors.
KINDS := simple pytorch-converted pytorch-operator light
conformance: $(VENV)/.dev
	$(BIN)/python -m tests.conformance --summary --jobs $(JOBS)
	$(BIN)/python -m tests.conformance --summary --jobs $(JOBS) --route c
	$(BIN)/python -m tests.conformance --summary --jobs $(JOBS) -O 0
	$(BIN)/python -m tests.conformance --summary --jobs $(JOBS) --executor vm --control-flow
	$(BIN)/python -m tests.conformance --summary --jobs $(JOBS) --executor vm --control-flow --route c
	$(BIN)/python -m tests.conformance --summary --jobs $(JOBS) $(KINDS:%=--kind %)

# Hashes of all that models compile to; `make -s fingerprints > OLD.txt`, and later `make fingerprints COMPARE=OLD.txt`.
fingerprints: $(VENV)/.dev
	$(BIN)/python tests/fingerprints.py --jobs $(JOBS) $(if $(COMPARE),--compare $(COMPARE))

# The functions of `expand-math` on every float; minutes.
test-math: $(VENV)/.dev
	AOTC_EXHAUSTIVE=1 $(BIN)/pytest -q -n $(JOBS) tests/unit/kernel/test_expand_math.py -k error

# On emulated microcontrollers. Cross compilers and emulators come from apt where they are missing.
test-embedded: $(VENV)/.dev
	tests/embedded/install.sh
	AOTC_EMBEDDED=required $(BIN)/pytest -q -n $(JOBS) --dist worksteal tests/embedded

embedded-figures: $(VENV)/.dev
	tests/embedded/install.sh
	$(BIN)/python tests/embedded/figures.py

# Against every runtime that can be installed here.
bench: $(VENV)/.installed
	for package in onnxruntime openvino ncnn pnnx emx-onnx-cgen; do \
	    $(BIN)/python -m pip install -q --disable-pip-version-check $$package || true; \
	done
	$(BIN)/python benchmarks/run.py

# python3 -m venv needs a package of its own on Debian; virtualenv does not.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	    $(PYTHON) -m pip install --user --break-system-packages virtualenv && $(PYTHON) -m virtualenv $(VENV); }

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml $(wildcard examples/*/pyproject.toml examples/*/aotc_*/*.py)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	$(BIN)/python -m pip install -q --disable-pip-version-check ./examples/extension ./examples/blas ./examples/cmsis_nn
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build *.egg-info
