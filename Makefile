# One command each, from a fresh clone: every target does its own set-up.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready

.PHONY: setup test lint demo bench clean

setup: $(STAMP)

# Rebuilt only when what is installed could differ: dependencies or native sources.
# torch comes first, with its bound, or another package may pull a CUDA build of several GB.
$(STAMP): pyproject.toml $(wildcard native/*)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet "torch>=2.4,<2.14"
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(STAMP)

test: setup
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

demo: setup
	$(BIN)/securefair demo

bench: setup
	$(BIN)/python -m pytest bench --benchmark-only

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache
