# Every target sets up what it needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DATA   := ../shared/data

# The folder of real data sets. Without it, tests and benchmarks that need them are skipped.
ifneq ($(wildcard $(DATA)/*.npz),)
export MISERLY_DATA ?= $(abspath $(DATA))
endif
export NUMBA_NUM_THREADS ?= 2
export OMP_NUM_THREADS ?= 2

.PHONY: demo test test-long lint compiled format bench docs clean

demo: $(VENV)/installed
	$(BIN)/miserly demo --out out/demo

# OpenBLAS picks its code by the processor, and the last bits of its sums differ. Documents show figures that such bits
# can change, so they and the tests use the code for one type, which runs on all x86-64 processors of the last decade.
test test-long docs: export OPENBLAS_CORETYPE = Haswell

# Two processes run the tests, so BLAS and OpenMP of other libraries get one thread in each, and threads that wait do
# not spin. The package's own threads stay two. Bytecode is kept: many tests start processes that import the package.
test test-long: export OMP_NUM_THREADS = 1
test test-long: export OMP_WAIT_POLICY = passive
test test-long: export PYTHONDONTWRITEBYTECODE =

# The linters and the compiler run side by side, then the tests in two processes that find everything compiled.
test: $(VENV)/installed-dev
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint compiled
	$(BIN)/pytest -n 2 --dist loadfile --durations=12

# Long fuzzing and simulations, then the tests of plans with bounds checks in compiled code.
test-long: $(VENV)/installed-dev
	$(BIN)/pytest -n 2 -m long --durations=12
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/out/boundscheck $(BIN)/pytest -n 2 tests/plan

# Compile once what the tests of learners need. Otherwise both processes of the tests compile it.
compiled: $(VENV)/installed-dev
	$(BIN)/python -m tests.compiled

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.docstrings
	$(BIN)/python -m tests.words
	$(BIN)/python -m tests.sizes

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed-bench
	$(BIN)/python benchmarks/run.py

docs: $(VENV)/installed-dev
	$(BIN)/python -m tests.documents README.md CONTRIBUTING.md docs/*.md

clean:
	rm -rf $(VENV) out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[report,serve]"
	touch $@

$(VENV)/installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --no-compile --editable ".[dev]"
	$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true  # bytecode, in as many processes as there are cores
	touch $@ $(VENV)/installed

$(VENV)/installed-bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	touch $@ $(VENV)/installed
