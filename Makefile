# One command each, from a fresh clone: every target does its own set-up.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready

# A wheel of openfhe imports under one Python only: ...22.4 under 3.10, ...24.4 under 3.12.
OPENFHE_PYTHON  ?= python3.10
OPENFHE_VERSION ?= 1.6.1.0.22.4
OPENFHE_VENV    := .venv-openfhe

# Each takes one core and up to 2 GB.
TEST_PROCESSES ?= 2

.PHONY: setup test lint demo docs bench openfhe clean

setup: $(STAMP)

# Rebuilt only when what is installed could differ: dependencies or native sources.
# torch comes first, with its bound, or another package may pull a CUDA build of several GB.
$(STAMP): pyproject.toml $(wildcard native/*)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet "torch>=2.4,<2.14"
	$(BIN)/python -m pip install --quiet --editable ".[dev,docs]" || { \
	  echo "Without the site's tools: its test is skipped."; \
	  $(BIN)/python -m pip install --quiet --editable ".[dev]"; }
	touch $(STAMP)

# Tests of one file stay in one process: they share what their fixtures have run.
test: setup
	$(BIN)/python -m pytest --numprocesses=$(TEST_PROCESSES) --dist=loadfile

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

demo: setup
	$(BIN)/securefair demo

# Strict: a broken link or a page that is missing ends it. Nothing is fetched, and no page fetches.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# One table an operation, so that its rows compare backends. Every run is kept in .benchmarks:
# `pytest-benchmark compare` puts two side by side.
bench: setup
	$(BIN)/python -m pytest bench --benchmark-only --benchmark-autosave \
	--benchmark-sort=min --benchmark-columns=min,median,stddev,rounds

# Only for the openfhe backend, an independent check (docs/backends.md). Nothing else needs it.
openfhe:
	@$(OPENFHE_PYTHON) -c "import venv" || { echo "openfhe $(OPENFHE_VERSION) needs \
	$(OPENFHE_PYTHON) with venv; docs/backends.md tells of other versions"; exit 1; }
	$(OPENFHE_PYTHON) -m venv $(OPENFHE_VENV)
	$(OPENFHE_VENV)/bin/python -m pip install --quiet numpy "openfhe==$(OPENFHE_VERSION)"
	$(OPENFHE_VENV)/bin/python -c "import numpy, openfhe"

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache
