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

.PHONY: demo test test-long lint format bench docs clean

demo: $(VENV)/installed
	$(BIN)/miserly demo --out out/demo

test: lint
	$(BIN)/pytest -n 2 --dist loadfile --durations=12

# Long fuzzing and simulations, then the tests of plans with bounds checks in compiled code.
test-long: $(VENV)/installed-dev
	$(BIN)/pytest -n 2 -m long --durations=12
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/out/boundscheck $(BIN)/pytest -n 2 tests/plan

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
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ $(VENV)/installed

$(VENV)/installed-bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	touch $@ $(VENV)/installed
